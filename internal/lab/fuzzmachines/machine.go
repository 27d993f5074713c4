package fuzzmachines

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// promise is what a state says about an optional field.
type promise uint8

const (
	free promise = iota
	present
	absent
)

type field struct {
	name, kind string
	optional   bool
	constant   string // its default; empty: none
}

type state struct {
	name     string
	terminal bool
	promises map[string]promise
	should   map[string]promise
	facts    map[string]fact // by field: what its invariant says of it
	counted  map[string]bool // counters that its invariant says are 1 at least
}

// fact is what an invariant says of one field, and values that keep it.
type fact struct {
	text   string
	values []string
}

// machine is one random machine on its way to become text.
type machine struct {
	*rand.Rand
	names    []string // not yet used
	fields   []field
	counters map[string][]string // counter to the operations that change it
	sets     map[string][]string
	states   []*state
	caps     map[string]int    // counter to the most that the machine's invariant allows
	capped   map[string]string // ... and to the guard that keeps it
	guards   []string          // that callers can require
	clauses  []string          // that everybody can require: no actor
	own      []string          // the texts of guards that one operation needs
	probes   []string
	text     strings.Builder
	ops      []string // their texts
	group    string   // a mandatory text field that makes groups; empty: none

	// Of motifs: fields, what creations set them to, states, facts of all states and
	// rules across records.
	extras, initial, places, facts, uniques []string
	ruled                                   []string // facts of all states that are no texts
}

// pool holds ordinary names and some that get in the way of Go or of each other.
var pool = strings.Fields(`
	open taken parked shipped lost won idle busy ready warm cold north south draft review signed sealed frozen
	owner due weight colour note size tries likes parts room floor buyer seller price paid flag level mode track
	take give drop push pull lift sink turn bind join split merge close begin stop pass hold free call ring
	value text data list item core row key target input_x kind cell step table index order_x query check_x
	store actor_x event state_x record replay result amount rate batch stage phase round wave shift lane
	dock gate yard crate pallet label stamp brand shade form shape edge corner width height depth speed`)

// colours are the words of enums, as they stand in a text in single quotes.
var colours = []string{"red", "green", "blue", "EUR", "''dark red; or''"}

// worth writes a word as the value of a field.
func worth(word string) string {
	if inner, ok := strings.CutPrefix(word, "''"); ok {
		return `"'` + strings.TrimSuffix(inner, "''") + `'"`
	}
	return word
}

// texts are what people write into documents and messages.
var texts = []string{
	"plain words", "a 100% sure `thing`", `with "quotes" and \back\slashes`, "über größe, naïve: 日本", "ends with a colon:", "# no comment",
	"two  blanks and a */ end", "{braces} [and] more, yes", "'single' it's", "%d %s %v",
}

// bounded are types of texts with a length; "it is" fits each.
var bounded = []string{"string 1..9", "string 5..5", "string 2..", "string 1..255"}

// isText reports whether a field of the kind holds a text.
func isText(kind string) bool { return kind == "string" || strings.HasPrefix(kind, "string ") }

// takesActor reports whether every caller fits a text of the kind.
func takesActor(kind string) bool { return kind == "string" || kind == "string 1..255" }

// sized gives a text a length, sometimes.
func (m *machine) sized(kind, name string) string {
	if r := beside(name + m.names[0]); kind == "string" && r.IntN(3) == 0 {
		return bounded[r.IntN(len(bounded))]
	}
	return kind
}

// Random returns the text of a random specification.
func Random(r *rand.Rand) string {
	m := &machine{Rand: r, counters: map[string][]string{}, sets: map[string][]string{}, caps: map[string]int{}, capped: map[string]string{}}
	for _, i := range r.Perm(len(pool)) {
		m.names = append(m.names, pool[i])
	}
	m.declare()
	m.motifs()
	m.operations()
	for _, unused := range []map[string][]string{m.counters, m.sets} {
		maps.DeleteFunc(unused, func(_ string, by []string) bool { return len(by) == 0 })
	}
	m.head()
	m.declarations()
	m.text.WriteString("operations:\n" + strings.Join(m.ops, ""))
	m.rest()
	return m.givesUp(m.stepped(m.ended(m.grouped(m.text.String()))))
}

// ended adds, sometimes, that nothing follows the last state, which is an end.
func (m *machine) ended(text string) string {
	last := m.states[len(m.states)-1].name
	if beside(last).IntN(2) > 0 {
		return text
	}
	const head = "forbidden:\n"
	return strings.Replace(text, head, fmt.Sprintf("%s  - {after: %s, to: %s}\n", head, last, m.states[0].name), 1)
}

// stateLists finds lists of two and more states.
var stateLists = regexp.MustCompile(`(from|in|record_only_in): (\[[a-z_]+(?:, [a-z_]+)+\])`)

// grouped gives a name to one list of states, sometimes, and writes it wherever the list stands.
func (m *machine) grouped(text string) string {
	lists := stateLists.FindAllStringSubmatch(text, -1)
	if len(lists) == 0 || !m.chance(2) {
		return text
	}
	group := one(m, lists)[2]
	form := group
	var others []string
	for _, s := range m.states {
		if !slices.Contains(strings.FieldsFunc(group, func(c rune) bool { return strings.ContainsRune("[], ", c) }), s.name) {
			others = append(others, s.name)
		}
	}
	if len(m.places) == 0 && len(others) > 0 && m.chance(2) {
		form = "{except: [" + strings.Join(others, ", ") + "]}"
	}
	if beside(text).IntN(3) == 0 {
		form = strings.TrimSuffix(form, "}")
		if strings.HasPrefix(form, "[") {
			form = "{states: " + form
		}
		form += ", enter: {name: on_enter_some, key: [id, rev]}}"
	}
	text = stateLists.ReplaceAllStringFunc(text, func(found string) string {
		return strings.Replace(found, group, "[some_of_them]", 1)
	})
	return text + "state_groups:\n  some_of_them: " + form + "\n"
}

// chance is true once in n times.
func (m *machine) chance(n int) bool { return m.IntN(n) == 0 }

func (m *machine) nextName() string {
	n := m.names[0]
	m.names = m.names[1:]
	return n
}

func one[T any](m *machine, list []T) T { return list[m.IntN(len(list))] }

// some returns some elements, at least one.
func some[T any](m *machine, list []T) []T {
	var out []T
	for _, i := range m.Perm(len(list))[:1+m.IntN(len(list))] {
		out = append(out, list[i])
	}
	return out
}

// quoted writes a text as YAML.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func (m *machine) printf(format string, args ...any) { fmt.Fprintf(&m.text, format, args...) }

// declare draws fields and states.
func (m *machine) declare() {
	kinds := []string{"string", "int", "int 0..", "int -3..4", "bool", "time", "json", strings.Join(colours[:2+m.IntN(4)], "|")}
	for range 1 + m.IntN(5) {
		name := m.nextName()
		m.fields = append(m.fields, field{name: name, kind: m.sized(one(m, kinds), name), optional: !m.chance(3)})
	}
	if !m.chance(3) {
		m.fields = append(m.fields, field{name: m.nextName(), kind: "time", optional: true}, field{name: m.nextName(), kind: "string", optional: true})
	}
	if m.chance(2) {
		m.group = m.nextName()
		m.fields = append(m.fields, field{name: m.group, kind: m.sized("string", m.group)})
	}
	for i := range m.fields {
		if f := &m.fields[i]; !f.optional && m.chance(3) {
			f.constant = m.defaultOf(f.kind)
		}
	}
	for range m.IntN(3) {
		c := m.nextName()
		m.counters[c] = nil
		if m.chance(2) {
			m.caps[c], m.capped[c] = 2+m.IntN(3), m.nextName()
		}
	}
	for range m.IntN(3) {
		m.probes = append(m.probes, m.nextName())
	}
	for m.chance(3) {
		m.sets[m.nextName()] = nil
	}
	n := 2 + m.IntN(4)
	for i := range n {
		s := &state{
			name: m.nextName(), promises: map[string]promise{}, should: map[string]promise{}, facts: map[string]fact{},
			counted: map[string]bool{}, terminal: i == n-1 || i > 1 && m.chance(4),
		}
		for _, f := range m.fields {
			switch {
			case f.optional && m.chance(2):
				s.promises[f.name] = one(m, []promise{present, absent})
			case f.optional && m.chance(4):
				s.should[f.name] = one(m, []promise{present, absent})
			}
			if (!f.optional || s.promises[f.name] == present) && m.chance(4) {
				m.promiseFact(s, f)
			}
		}
		for _, c := range sortedKeys(m.counters) {
			s.counted[c] = i > 0 && m.chance(5)
		}
		m.states = append(m.states, s)
	}
}

// defaultOf draws a default of a kind.
func (m *machine) defaultOf(kind string) string {
	switch {
	case kind == "bool":
		return one(m, []string{"true", "false"})
	case isText(kind):
		text := quoted(one(m, texts))
		if kind != "string" {
			text = "größe"
		}
		return text
	case kind == "time":
		return one(m, []string{"2026-01-31T12:00:00Z", "1999-12-31T23:59:59.999999-11:30"})
	case kind == "json":
		return one(m, []string{`'{"a": [1, null]}'`, "'[null]'", `'"it''s"'`})
	case strings.HasPrefix(kind, "int"):
		return fmt.Sprint(m.IntN(4))
	}
	return worth(one(m, strings.Split(kind, "|")))
}

// promiseFact draws what the invariant of a state says of a field that is present.
func (m *machine) promiseFact(s *state, f field) {
	n := m.IntN(3)
	switch words := strings.Split(f.kind, "|"); {
	case f.kind == "bool":
		v := one(m, []string{"true", "false"})
		s.facts[f.name] = fact{f.name + " == " + v, []string{v}}
	case len(words) > 1 && m.chance(2):
		word := one(m, words)
		s.facts[f.name] = fact{f.name + " == " + word, []string{worth(word)}}
	case len(words) > 1:
		s.facts[f.name] = fact{f.name + " != " + words[0], []string{worth(one(m, words[1:]))}}
	case isText(f.kind) && f.name != m.group && m.chance(2):
		s.facts[f.name] = fact{f.name + " == ''it is''", []string{`"'it is'"`}}
	case strings.HasPrefix(f.kind, "int"):
		s.facts[f.name] = one(m, []fact{
			{fmt.Sprintf("%s >= %d", f.name, n), []string{fmt.Sprint(n), fmt.Sprint(n + 1)}},
			{fmt.Sprintf("%s < %d", f.name, n+1), []string{fmt.Sprint(n), "0"}},
			{fmt.Sprintf("%s != %d", f.name, n), []string{fmt.Sprint(n + 1)}},
			{fmt.Sprintf("%d == %s", n, f.name), []string{fmt.Sprint(n)}},
		})
	}
}

// head writes what stands above the fields.
func (m *machine) head() {
	m.printf("fsm: 1\nmachine: random\nentity: Thing\ndoc: %s\n", quoted(one(m, texts)))
	if m.chance(2) {
		m.printf("version: %d\n", 1+m.IntN(9))
	}
	if !m.chance(3) {
		m.printf("requests: {request_id: %s, expected_rev: %s}\n", one(m, []string{"required", "optional", "none"}), one(m, []string{"required", "optional", "none"}))
	}
	m.printf("otherwise: %s\n", one(m, []string{"reject", "reject", "record_only"}))
	facts := m.facts
	for _, c := range sortedKeys(m.counters) {
		if m.chance(4) {
			facts = append(facts, c+" >= 0") // says what the type says
		}
		if most, ok := m.caps[c]; ok {
			facts = append(facts, fmt.Sprintf("%s <= %d", c, most))
		}
	}
	for _, f := range m.fields {
		if f.kind == "int 0.." && !f.optional && m.chance(2) {
			facts = append(facts, f.name+one(m, []string{" > -1", " >= -5", " >= 0"}))
		}
	}
	if m.chance(5) {
		facts = append(facts, "created_at <= updated_at")
	}
	for i := range facts {
		facts[i] = "'" + facts[i] + "'"
	}
	if facts = append(facts, m.ruled...); len(facts) > 0 {
		m.printf("invariant: [%s]\n", strings.Join(facts, ", "))
	}
}

// declarations writes fields, states and guards.
func (m *machine) declarations() {
	m.printf("fields:\n")
	for _, f := range m.fields {
		kind := f.kind
		if f.optional {
			kind = "optional " + kind
		}
		switch {
		case f.constant != "":
			m.printf("  %s: {type: '%s', default: %s}\n", f.name, kind, f.constant)
		case m.chance(3):
			m.printf("  %s: {type: '%s', doc: %s}\n", f.name, kind, quoted(one(m, texts)))
		default:
			m.printf("  %s: '%s'\n", f.name, kind)
		}
	}
	for _, list := range []struct {
		kind string
		of   map[string][]string
	}{{"counter", m.counters}, {"set", m.sets}} {
		for _, name := range sortedKeys(list.of) {
			m.printf("  %s: {type: %s, changed_by: [%s]}\n", name, list.kind, strings.Join(list.of[name], ", "))
		}
	}
	m.text.WriteString(strings.Join(m.extras, ""))
	if m.group != "" && m.chance(2) {
		m.printf("  %s: {type: sequence, per: %s}\n", m.nextName(), m.group)
	}
	m.printf("states:\n")
	asked := map[string]bool{}
	for _, s := range m.states {
		m.state(s, asked)
	}
	m.text.WriteString(strings.Join(m.places, ""))
	if len(asked) > 0 {
		m.printf("probes:\n")
	}
	for _, p := range sortedKeys(asked) {
		m.printf("  %s: {doc: %s, message: %s}\n", p, quoted(one(m, texts)), quoted(one(m, texts)))
	}
	if m.chance(4) {
		m.printf("removed:\n  gone: {to: %s}\n", m.states[0].name)
	}
}

// presence writes the fields that are to be present, and those that are not.
func presence(promises map[string]promise) []string {
	var parts []string
	for _, p := range []struct {
		key string
		is  promise
	}{{"present", present}, {"absent", absent}} {
		var names []string
		for _, name := range sortedKeys(promises) {
			if promises[name] == p.is {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s: [%s]", p.key, strings.Join(names, ", ")))
		}
	}
	return parts
}

// state writes a state, and notes the probes that it asks.
func (m *machine) state(s *state, asked map[string]bool) {
	m.printf("  %s:\n    doc: %s\n", s.name, quoted(one(m, texts)))
	for _, line := range presence(s.promises) {
		m.printf("    %s\n", line)
	}
	if should := presence(s.should); len(should) > 0 {
		m.printf("    should: {%s}\n", strings.Join(should, ", "))
	}
	var facts []string
	for _, name := range sortedKeys(s.facts) {
		facts = append(facts, s.facts[name].text)
	}
	for _, c := range sortedKeys(s.counted) {
		if s.counted[c] && m.counters[c] != nil {
			facts = append(facts, c+" >= 1")
		}
	}
	if len(facts) > 0 {
		m.printf("    invariant: ['%s']\n", strings.Join(facts, "', '"))
	}
	if len(m.probes) > 0 && m.chance(3) {
		p := one(m, m.probes)
		asked[p] = true
		m.printf("    probe: [%s]\n", p)
	}
	if s.terminal {
		m.printf("    terminal: true\n")
	} else if m.chance(6) {
		m.printf("    final: true\n")
	}
	if m.chance(8) {
		m.printf("    otherwise: %s\n", one(m, []string{"reject", "record_only"}))
	}
	m.border(s)
	if m.chance(10) {
		m.printf("    was: former_%s\n", s.name)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
