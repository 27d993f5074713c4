package fuzzmachines

import (
	"fmt"
	"strings"
)

// operations draws the guards and the operations: one creation or two, a way
// into each state and out of each that is not terminal, and some more.
func (m *machine) operations() {
	m.guardsBefore()
	if m.chance(4) {
		m.creation()
	}
	m.creation()
	left := map[*state]bool{}
	for i, s := range m.states {
		if i == 0 {
			continue
		}
		from := m.states[0]
		if earlier := m.open(i); len(earlier) > 0 {
			from = one(m, earlier)
		}
		m.move([]*state{from}, s)
		left[from] = true
	}
	for _, s := range m.open(len(m.states)) {
		if !left[s] {
			m.move([]*state{s}, one(m, m.states))
		}
	}
	for range m.IntN(4) {
		m.move(some(m, m.open(len(m.states))), one(m, m.states))
	}
	if m.chance(2) {
		m.stay(some(m, m.open(len(m.states))))
	}
	if m.chance(2) {
		m.branching(some(m, m.open(len(m.states))))
	}
}

// open are the states among the first n that may be left.
func (m *machine) open(n int) []*state {
	var out []*state
	for _, s := range m.states[:n] {
		if !s.terminal {
			out = append(out, s)
		}
	}
	return out
}

func stateNames(list []*state) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.name
	}
	if len(names) == 1 {
		return names[0]
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// guardsBefore draws the names of the guards; rest writes them.
func (m *machine) guardsBefore() {
	for range m.IntN(3) {
		m.guards = append(m.guards, m.nextName())
	}
	for range m.IntN(2) {
		m.clauses = append(m.clauses, m.nextName())
	}
}

// writer collects one operation.
type writer struct {
	*machine
	name       string
	by         string
	creates    bool
	set, clear []string
	increments []string
	adds       []string
	inputs     []string
	lines      []string
}

func (m *machine) operation(by string) *writer {
	return &writer{machine: m, name: m.nextName(), by: by}
}

func (w *writer) line(format string, args ...any) {
	w.lines = append(w.lines, "    "+fmt.Sprintf(format, args...))
}

// value draws what a field is set to. An absent value is for those that may have
// none.
func (w *writer) value(f field, mayBeAbsent bool) string {
	ways := []string{"input", "input"}
	if f.optional && mayBeAbsent {
		ways = append(ways, "input or absent")
	}
	if f.optional && mayBeAbsent && !w.creates {
		ways = append(ways, "input or same")
	}
	switch {
	case f.kind == "string" && w.by != "system":
		ways = append(ways, "actor", "actor")
	case f.kind == "time":
		ways = append(ways, "now", fmt.Sprintf("now + %d%s", 1+w.IntN(90), one(w.machine, []string{"s", "m", "h", "d"})))
	case f.kind == "bool":
		ways = append(ways, "true", "false")
	case strings.HasPrefix(f.kind, "int"):
		ways = append(ways, fmt.Sprint(w.IntN(4)))
	case strings.Contains(f.kind, "|"):
		ways = append(ways, one(w.machine, strings.Split(f.kind, "|")))
	}
	return one(w.machine, ways)
}

// enter draws the effects that make the promises of the target hold when the
// record comes from one of the sources; none means that it is made.
func (w *writer) enter(from []*state, to *state) {
	for _, f := range w.fields {
		if w.creates && !f.optional {
			w.set = append(w.set, f.name+": "+w.value(f, false))
			continue
		}
		known := free
		if len(from) > 0 {
			known = from[0].promises[f.name]
		}
		for _, s := range from {
			if s.promises[f.name] != known {
				known = free
			}
		}
		if w.creates {
			known = absent
		}
		switch want := to.promises[f.name]; {
		case want == present && (known != present || w.chance(3)):
			w.set = append(w.set, f.name+": "+w.value(f, false))
		case want == absent && known != absent:
			w.clear = append(w.clear, f.name)
		case want == free && w.chance(5) && f.name != w.group:
			if f.optional && !w.creates && w.chance(3) {
				w.clear = append(w.clear, f.name)
			} else {
				w.set = append(w.set, f.name+": "+w.value(f, true))
			}
		}
	}
}

// counts draws which counters and sets the operation changes.
func (w *writer) counts() {
	for _, c := range sortedKeys(w.counters) {
		if !w.creates && w.chance(2) {
			w.counters[c] = append(w.counters[c], w.name)
			w.increments = append(w.increments, c)
		}
	}
	for _, s := range sortedKeys(w.sets) {
		if w.chance(2) {
			w.sets[s] = append(w.sets[s], w.name)
			if w.creates {
				w.set = append(w.set, s+": input")
			} else {
				w.adds = append(w.adds, s+": input")
			}
		}
	}
}

// done writes the operation.
func (w *writer) done() {
	head := []string{"  " + w.name + ":"}
	if w.chance(3) {
		head = append(head, "    doc: "+quoted(one(w.machine, texts)))
	}
	if w.by != "caller" {
		head = append(head, "    by: "+w.by)
	}
	w.counts()
	if len(w.inputs) > 0 {
		w.line("input: {%s}", strings.Join(w.inputs, ", "))
	}
	if len(w.set) > 0 {
		w.line("set: {%s}", strings.Join(w.set, ", "))
	}
	if len(w.clear) > 0 {
		w.line("clear: [%s]", strings.Join(w.clear, ", "))
	}
	if len(w.increments) > 0 {
		w.line("increment: [%s]", strings.Join(w.increments, ", "))
	}
	if len(w.adds) > 0 {
		w.line("add: {%s}", strings.Join(w.adds, ", "))
	}
	if w.chance(3) {
		w.line("event: %s_happened", w.name)
	}
	if w.chance(12) {
		w.line("was: former_%s", w.name)
	}
	w.ops = append(w.ops, strings.Join(append(head, w.lines...), "\n")+"\n")
}

// creation draws an operation that makes a record.
func (m *machine) creation() {
	w := m.operation("caller")
	w.creates = true
	w.line("creates: %s", m.states[0].name)
	w.enter(nil, m.states[0])
	if m.group != "" && m.chance(4) {
		w.line("dedupe_by: %s", m.group)
	}
	w.done()
}

// who draws who runs an operation, and the guards that it requires.
func (w *writer) who() {
	var require []string
	if w.by == "caller" {
		require = append(require, w.guards...)
	}
	require = append(require, w.clauses...)
	if len(require) > 0 && w.chance(2) {
		w.line("require: [%s]", strings.Join(some(w.machine, require), ", "))
		if w.chance(4) {
			w.line("on_refusal: record_only")
		}
	}
}

func (m *machine) move(from []*state, to *state) {
	w := m.operation(one(m, []string{"caller", "caller", "caller", "operator", "system"}))
	w.line("from: %s", stateNames(from))
	w.line("to: %s", to.name)
	w.enter(from, to)
	w.who()
	switch {
	case w.by == "system":
		w.trigger()
	case m.chance(4):
		w.line("next: {order: [%s]}", one(m, []string{"created_at", "-updated_at", "id"}))
	}
	w.outside(from)
	w.done()
}

// trigger draws what fires an operation of the system.
func (w *writer) trigger() {
	var times []string
	for _, f := range w.fields {
		if f.kind == "time" {
			times = append(times, f.name)
		}
	}
	switch {
	case len(times) == 0 || w.chance(4):
		w.line("trigger: [startup]")
	case w.chance(2):
		w.line("trigger: [after %s]", one(w.machine, times))
	default:
		w.line("trigger: [startup, after %s + %dm]", one(w.machine, times), 1+w.IntN(90))
	}
}

// outside draws an effect, and the states in which a call is only recorded.
func (w *writer) outside(from []*state) {
	if w.chance(5) {
		key := ""
		if w.group != "" && w.chance(2) {
			key = ", key: " + w.group
		}
		w.line("effect: {name: %s_effect%s, atomic: %t}", w.name, key, w.chance(2))
	}
	if !w.chance(4) {
		return
	}
	for _, s := range w.states {
		listed := s.terminal
		for _, f := range from {
			listed = listed || f == s
		}
		if !listed {
			w.line("record_only_in: [%s]", s.name)
			return
		}
	}
}

// stay draws an operation that stays where the record is.
func (m *machine) stay(from []*state) {
	w := m.operation("caller")
	w.line("from: %s", stateNames(from))
	w.line("to: same")
	for _, f := range m.fields {
		mayBeAbsent, keep := true, f.name == m.group || !m.chance(2)
		for _, s := range from {
			mayBeAbsent = mayBeAbsent && s.promises[f.name] == free
			keep = keep || s.promises[f.name] == absent
		}
		if !keep {
			w.set = append(w.set, f.name+": "+w.value(f, mayBeAbsent))
		}
	}
	w.who()
	w.done()
}

// branching draws an operation that leads to one of several states.
func (m *machine) branching(from []*state) {
	w := m.operation("caller")
	words := colours[:2+m.IntN(3)]
	w.inputs = append(w.inputs, "way: "+strings.Join(words, "|"))
	w.line("from: %s", stateNames(from))
	w.line("choose:")
	for i, word := range words {
		when := "when: input.way == " + word + ", "
		if i == len(words)-1 {
			when = ""
		}
		switch m.IntN(6) {
		case 0:
			w.line("  - {%sreject: no_%s}", when, word)
		case 1:
			w.line("  - {%srecord_only: true}", when)
		default:
			to := one(m, m.states)
			b := &writer{machine: m, name: w.name}
			b.enter(from, to)
			parts := when + "to: " + to.name
			if len(b.set) > 0 {
				parts += ", set: {" + strings.Join(b.set, ", ") + "}"
			}
			if len(b.clear) > 0 {
				parts += ", clear: [" + strings.Join(b.clear, ", ") + "]"
			}
			w.line("  - {%s}", parts)
		}
	}
	w.who()
	w.done()
}
