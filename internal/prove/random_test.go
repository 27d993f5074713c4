package prove_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// kinds are the types of the fields and inputs of random machines.
var kinds = []string{"string", "int", "time", "bool", "enum", "json", "set", "duration"}

// fieldsByKind and inputsByKind name what random machines have of each kind.
// Those that end in o are optional, and those that begin with d have a default.
var (
	fieldsByKind = map[string][]string{
		"string": {"s1", "s2o", "s3o", "d1", "d2"}, "int": {"n1", "n2o", "n3", "c1", "c2", "q1"}, "time": {"t1", "t2o", "t3o"},
		"bool": {"b1", "b2o"}, "enum": {"e1", "e2o"}, "json": {"j1o", "j2o"}, "set": {"m1", "m2"},
		"duration": {"g1", "g2o", "g3", "dg"},
	}
	inputsByKind = map[string][]string{
		"string": {"is", "iso"}, "int": {"ik", "iko"}, "time": {"it", "ito"},
		"bool": {"ib", "ibo"}, "enum": {"ie", "ieo"}, "json": {"ij", "ijo"}, "duration": {"ig", "igo"},
	}
)

const declared = `fsm: 1
machine: random
entity: Random
otherwise: reject
fields:
  s1: string
  s2o: optional string
  s3o: optional string 2..
  d1: {type: string, default: a}
  d2: {type: string, default: Zz}
  n1: int 0..3
  n2o: optional int -1..
  n3: int
  c1: counter
  c2: counter
  q1: sequence
  t1: time
  t2o: optional time
  t3o: optional time
  b1: bool
  b2o: optional bool
  e1: red|green|blue
  e2o: optional red|green|blue
  j1o: optional json
  j2o: optional json
  m1: set
  m2: set
  g1: duration
  g2o: optional duration 500ms..2s
  g3: duration 0s..3s
  dg: {type: duration 500ms.., default: 1s}
`

const inputs = "    input: {is: string, iso: optional string 1..40, ik: int, iko: optional int, it: time, ito: optional time, ib: bool, ibo: optional bool, " +
	"ie: red|green|blue, ieo: optional red|green|blue, ij: json, ijo: optional json, " +
	"ig: duration 0s..5s, igo: optional duration}\n"

// writer writes one random machine.
type writer struct {
	branch          bool     // the effects are those of a branch
	raised, counted []string // counters that the operation raises, and those that the last effects do
	*rand.Rand
	strings.Builder
}

func one[T any](w *writer, list []T) T { return list[w.IntN(len(list))] }

func (w *writer) optional(name string) bool { return strings.HasSuffix(name, "o") }

// term is a random term of a kind. Invariants have fields and numbers only.
func (w *writer) term(kind string, invariant bool) string {
	n := w.IntN(10)
	switch {
	case kind != "set" && !invariant && n < 3:
		return "input." + one(w, inputsByKind[kind])
	case kind == "string" && !invariant && n == 3:
		return "actor"
	case kind == "time" && !invariant && n == 3:
		return "now"
	case kind == "time" && n == 4:
		return one(w, []string{"created_at", "updated_at"})
	}
	if invariant && kind == "duration" {
		return one(w, []string{"g1", "g2o", "g3"}) // whatever the default is
	}
	return one(w, fieldsByKind[kind])
}

func (w *writer) constant(kind string) string {
	switch kind {
	case "int":
		return fmt.Sprint(w.IntN(6) - 1)
	case "bool":
		return one(w, []string{"true", "false"})
	case "enum":
		return one(w, []string{"red", "green", "blue"})
	case "duration":
		return w.span()
	}
	return ""
}

func (w *writer) fact(invariant bool) string {
	kind := one(w, kinds)
	left := w.term(kind, invariant)
	if kind == "set" {
		switch n := w.IntN(4); {
		case n == 0:
			return left + " covers " + w.term(kind, invariant)
		case n == 1:
			return left + one(w, []string{" is present", " is absent"})
		}
		return w.term("string", invariant) + one(w, []string{" in ", " not in "}) + left
	}
	if w.optional(left) && w.IntN(3) == 0 {
		return left + one(w, []string{" is present", " is absent"})
	}
	ops := []string{"==", "!=", "<", "<=", ">", ">="}
	if kind == "bool" || kind == "enum" || kind == "json" {
		ops = ops[:2]
	}
	right := w.term(kind, invariant)
	if c := w.constant(kind); c != "" && w.IntN(2) == 0 {
		right = c
	}
	if kind == "int" && w.IntN(2) == 0 {
		left = w.sum(func() string { return w.term(kind, invariant) })
		if w.IntN(4) == 0 {
			right = w.sum(func() string { return w.term(kind, invariant) })
		}
	}
	if (kind == "time" || kind == "duration") && w.IntN(2) == 0 {
		left = w.instant(kind, func(kind string) string { return w.term(kind, invariant) })
		if w.IntN(4) == 0 {
			right = w.instant(kind, func(kind string) string { return w.term(kind, invariant) })
		}
	}
	return left + " " + one(w, ops) + " " + right
}

func (w *writer) span() string {
	return one(w, []string{"0s", "500ms", "1s", "2s", "3s"})
}

// instant is a random sum that makes a time or a length.
func (w *writer) instant(kind string, name func(kind string) string) string {
	reach := func() string {
		switch w.IntN(5) {
		case 0, 1:
			return one(w, []string{"500ms", "1s", "2s", "3s"})
		case 2:
			base, longest := one(w, []string{"500ms", "1s"}), one(w, []string{"2s", "3s"})
			if w.IntN(8) == 0 {
				base = name("duration")
			}
			if w.IntN(8) == 0 {
				longest = name("duration")
			}
			return "backoff " + base + " to " + longest + " by " + one(w, []string{"c1", "c2"})
		}
		return name("duration")
	}
	signs := []string{" + ", " - "}
	switch {
	case kind == "time":
		return name("time") + one(w, signs) + reach()
	case w.IntN(2) == 0:
		return name("time") + " - " + name("time")
	}
	return name("duration") + one(w, signs) + reach()
}

// sum is a random sum of names and a number.
func (w *writer) sum(name func() string) string {
	text := name()
	for range 1 + w.IntN(2) {
		text += one(w, []string{" + ", " - "}) + name()
	}
	if w.IntN(3) == 0 {
		text += one(w, []string{" + ", " - "}) + fmt.Sprint(w.IntN(4))
	}
	return text
}

// facts is a list of random facts, none of them twice.
func (w *writer) facts(least, most int, invariant bool) string {
	var list []string
	for range least + w.IntN(most-least+1) {
		if f := `"` + w.fact(invariant) + `"`; !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (w *writer) value(kind, field string, creation bool) string {
	var ways []string
	for _, in := range inputsByKind[kind] {
		if !w.optional(in) || w.branch || w.IntN(8) == 0 {
			ways = append(ways, "input."+in)
		}
		switch {
		case !w.optional(in):
		case w.optional(field):
			ways = append(ways, "input."+in+" or absent")
		case field[0] == 'd':
			ways = append(ways, "input."+in+" or default")
		}
		if w.optional(in) && w.branch {
			ways = append(ways, "input."+in+" or reject", "input."+in+" or same")
		}
	}
	if kind == "int" && w.IntN(2) == 0 {
		part := func() string {
			names := []string{"input.ik", "input.ik", "input.iko"}
			if !creation {
				names = append(names, "n1", "n3", "n1", "n3", "c1", "q1", "n2o")
			}
			return one(w, names)
		}
		return w.sum(part)
	}
	if kind == "time" && !creation && w.IntN(3) == 0 || kind == "duration" && !creation && w.IntN(8) == 0 {
		return w.instant(kind, func(kind string) string {
			if kind == "time" {
				return one(w, []string{"now", "now", "t1", "input.it", "t2o", "created_at"})
			}
			return one(w, []string{"g1", "g3", "dg", "input.ig", "g2o"})
		})
	}
	for _, f := range fieldsByKind[kind] {
		if kind == "duration" && w.IntN(6) > 0 {
			continue // its bounds may be others
		}
		if !creation && f[0] != 'q' && (!w.optional(f) || w.optional(field)) {
			ways = append(ways, f)
		}
	}
	switch kind {
	case "string":
		ways = append(ways, "actor")
	case "time":
		ways = append(ways, "now", "now + 1s")
	default:
		if c := w.constant(kind); c != "" && (kind != "duration" || c == "1s" || c == "2s") && (kind != "int" || field != "n1" || c < "4" && c != "-1") {
			ways = append(ways, c)
		}
	}
	if w.optional(field) {
		ways = append(ways, "input or absent", "input or absent")
	}
	return one(w, ways)
}

// effects writes some effects, each field at most once.
func (w *writer) effects(least int, creation bool) string {
	members := []string{"input.is", "actor", "s1"}
	switch {
	case creation:
		members = members[:2] // no field
	case w.branch:
		members = append(members, "input.iso", "input.iso or reject")
	}
	var set, cleared, increment, add, reset, decrement, remove, counted []string
	for _, kind := range kinds {
		for _, f := range fieldsByKind[kind] {
			if !creation && (w.IntN(6) > 0 || kind == "duration" && w.IntN(2) == 0) && least == 0 {
				continue
			}
			switch {
			case f[0] == 'q', f[0] == 'd' && creation && w.IntN(2) == 0:
			case slices.Contains(w.raised, f):
			case !creation && (f[0] == 'c' || kind == "set") && w.IntN(8) == 0:
				counted, reset = append(counted, f), append(reset, f)
			case !creation && f[0] == 'c' && w.IntN(12) == 0:
				counted, decrement = append(counted, f), append(decrement, f)
			case f[0] == 'c':
				if creation && w.IntN(3) == 0 {
					set = append(set, f+": "+fmt.Sprint(w.IntN(3)))
				} else if !creation {
					counted, increment = append(counted, f), append(increment, f)
				}
			case kind == "set" && !creation && w.IntN(5) == 0:
				counted, remove = append(counted, f), append(remove, f+": "+one(w, members))
				if w.IntN(3) == 0 {
					add = append(add, f+": "+one(w, members))
				}
			case kind == "set":
				counted = append(counted, f)
				if !creation || w.IntN(2) == 0 {
					add = append(add, f+": "+one(w, members))
				} else {
					set = append(set, f+": input")
				}
			case w.optional(f) && w.IntN(3) == 0:
				if !creation {
					cleared = append(cleared, f)
				}
			case creation && !w.optional(f):
				set = append(set, f+": "+map[string]string{"string": "input", "int": "input", "time": one(w, []string{"input", "now"}), "bool": "input", "enum": "input", "duration": "input"}[kind])
			default:
				set = append(set, f+": "+w.value(kind, f, creation))
			}
		}
	}
	w.counted = counted
	text := ""
	for _, e := range []struct{ key, open, close string }{
		{"set", "{" + strings.Join(set, ", "), "}"}, {"clear", "[" + strings.Join(cleared, ", "), "]"},
		{"increment", "[" + strings.Join(increment, ", "), "]"}, {"add", "{" + strings.Join(add, ", "), "}"},
		{"reset", "[" + strings.Join(reset, ", "), "]"}, {"decrement", "[" + strings.Join(decrement, ", "), "]"},
		{"remove", "{" + strings.Join(remove, ", "), "}"},
	} {
		if len(e.open) > 1 {
			text += ", " + e.key + ": " + e.open + e.close
		}
	}
	return strings.TrimPrefix(text, ", ")
}

var states = []string{"alpha", "beta", "gamma"}

// presence picks optional fields for present and absent.
func (w *writer) presence() string {
	var present, absent []string
	for _, kind := range kinds {
		for _, f := range fieldsByKind[kind] {
			if w.optional(f) || kind == "set" && w.IntN(3) == 0 {
				switch w.IntN(8) {
				case 0:
					present = append(present, f)
				case 1:
					absent = append(absent, f)
				}
			}
		}
	}
	return "present: [" + strings.Join(present, ", ") + "], absent: [" + strings.Join(absent, ", ") + "]"
}

// machine writes a machine.
func (w *writer) machine() string {
	w.WriteString(declared)
	fmt.Fprintf(w, "invariant: %s\nstates:\n", w.facts(0, 1, true))
	for _, s := range states {
		fmt.Fprintf(w, "  %s: {%s, should: {%s}, invariant: %s}\n", s, w.presence(), w.presence(), w.facts(0, 2, true))
	}
	w.WriteString("guards:\n")
	for i := range 5 {
		fmt.Fprintf(w, "  guard%d: {when: %s, error: refused}\n", i, w.facts(1, 2, false))
	}
	w.WriteString("operations:\n")
	for i := range 4 {
		w.operation(fmt.Sprintf("op%d", i))
	}
	w.create("make")
	return w.String()
}

func (w *writer) create(name string) {
	fmt.Fprintf(w, "  %s:\n    creates: %s\n%s    require: [guard%d]\n", name, one(w, states), inputs, w.IntN(5))
	for _, line := range lines(w.effects(1, true)) {
		fmt.Fprintf(w, "    %s\n", line)
	}
}

func (w *writer) operation(name string) {
	from := states[:1+w.IntN(3)]
	fmt.Fprintf(w, "  %s:\n    from: [%s]\n%s", name, strings.Join(from, ", "), inputs)
	if n := w.IntN(3); n > 0 {
		fmt.Fprintf(w, "    require: [guard%d]\n", w.IntN(5))
	}
	w.raised = nil
	for _, line := range lines(w.effects(0, false)) {
		fmt.Fprintf(w, "    %s\n", line)
	}
	w.branch = true
	defer func() { w.branch = false }()
	w.raised = w.counted // a branch raises another counter
	if w.IntN(2) == 0 {
		fmt.Fprintf(w, "    to: %s\n", one(w, append([]string{"same"}, states...)))
		return
	}
	w.WriteString("    choose:\n")
	for range 1 + w.IntN(3) {
		parts := []string{"when: " + w.facts(1, 2, false)}
		if w.IntN(5) == 0 {
			parts = append(parts, "from: "+one(w, from))
		}
		switch w.IntN(8) {
		case 0:
			parts = append(parts, "reject: refused")
		default:
			parts = append(parts, "to: "+one(w, append([]string{"same"}, states...)))
			if e := w.effects(0, false); e != "" && w.IntN(2) == 0 {
				parts = append(parts, e)
			}
		}
		fmt.Fprintf(w, "      - {%s}\n", strings.Join(parts, ", "))
	}
	if w.IntN(3) > 0 {
		fmt.Fprintf(w, "      - {to: %s}\n", one(w, append([]string{"same"}, states...)))
	}
}

// lines puts each effect on a line of its own.
func lines(effects string) []string {
	if effects == "" {
		return nil
	}
	text := effects
	for _, key := range []string{"clear", "increment", "add", "reset", "decrement", "remove"} {
		text = strings.Replace(text, ", "+key+": ", "\n"+key+": ", 1)
	}
	return strings.Split(text, "\n")
}

// randomMachine is the machine of a seed, and nil when it cannot be resolved.
func randomMachine(t *testing.T, seed uint64) (*spec.Machine, string) {
	t.Helper()
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 7))}
	src := w.machine()
	m, found := spec.Parse("random.yaml", []byte(src))
	if found.HasErrors() {
		return nil, fmt.Sprint(found)
	}
	return m, src
}
