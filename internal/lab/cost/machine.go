package cost

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Shape is a family of machines that grow with one number.
type Shape struct {
	Name    string
	Source  func(n int) string // the specification of size n
	Open    string             // what is known to grow faster than cells, and is only told
	Refused bool               // check finds errors, so nothing is generated
}

// Shapes are the families. Each lets another part of a machine grow: what costs
// nothing in one of them may be all the cost of another.
var Shapes = []Shape{
	{Name: "moves", Source: func(n int) string { return Dense(n, 10) }},
	{Name: "fields", Source: func(n int) string { return Dense(12, n) }},
	{Name: "branches", Source: branches},
	{Name: "variants", Source: variants},
	{Name: "guards", Source: guards},
	{Name: "chain", Source: chain},
	{Name: "wide", Source: wide},
	{Name: "unreachable", Source: unreachable, Refused: true},
	{Name: "records", Source: records},
	{Name: "triggers", Source: triggers},
	{Name: "lists", Source: lists},
	{Name: "ring", Source: Ring},
}

const head = "fsm: 1\nmachine: big\nentity: Thing\nrequests: {request_id: required, expected_rev: required}\notherwise: reject\n"

// page is a text in the making.
type page struct{ strings.Builder }

func (p *page) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// each joins what is written for 0 … n-1.
func each(n int, write func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = write(i)
	}
	return strings.Join(parts, ", ")
}

// names is s0, s1 … with another letter.
func names(letter string, n int) string {
	return each(n, func(i int) string { return fmt.Sprint(letter, i) })
}

// kinds are the types of the fields of [Dense], in turn, with what a creation sets.
var kinds = []struct{ typ, first string }{
	{"string", "input"}, {"int 0..9", "0"}, {"optional string", ""}, {"bool", "false"}, {"int", "0"},
	{"optional time", ""}, {"a|b|c", "a"}, {"int 0..", "input"},
}

// Dense writes a machine of so many states, as many operations and so many fields.
// An operation leads from some states that were drawn to one state, which may ask
// for a field, promise something about a number, or be kept by a guard.
func Dense(states, fields int) string {
	rnd := rand.New(rand.NewPCG(1, uint64(states*100_000+fields))) //nolint:gosec // no secret
	var p page
	p.WriteString(head)
	var optional, small []int
	made := []string{}
	if fields > 0 {
		p.add("fields:")
	}
	for i := range fields {
		k := i % len(kinds)
		p.add("  f%d: %s", i, kinds[k].typ)
		switch {
		case k == 2:
			optional = append(optional, i)
		case k == 1:
			small = append(small, i)
		}
		if first := kinds[k].first; first != "" {
			made = append(made, fmt.Sprintf("f%d: %s", i, first))
		}
	}
	set := make([][]string, states) // what leads into each state sets
	p.add("states:")
	for i := range states {
		var parts []string
		last := i == states-1
		if last {
			parts = append(parts, "final: true")
		}
		if !last && i%3 == 1 && len(optional) > 0 {
			f := optional[rnd.IntN(len(optional))]
			parts, set[i] = append(parts, fmt.Sprintf("present: [f%d]", f)), append(set[i], fmt.Sprintf("f%d: input", f))
		}
		if !last && i%5 == 1 && len(small) > 0 {
			f := small[rnd.IntN(len(small))]
			parts, set[i] = append(parts, fmt.Sprintf("invariant: [f%d >= 1]", f)), append(set[i], fmt.Sprintf("f%d: 1", f))
		}
		p.add("  s%d: {%s}", i, strings.Join(parts, ", "))
	}
	if len(small) > 0 {
		p.add("guards:")
		for _, f := range small {
			p.add("  g%d: {when: f%d <= 5, error: too_big_%d}", f, f, f)
		}
	}
	p.add("operations:\n  make: {creates: s0, set: {%s}}", strings.Join(made, ", "))
	for i := 1; i < states; i++ {
		from := map[int]bool{rnd.IntN(i): true, rnd.IntN(states - 1): true, rnd.IntN(states - 1): true}
		p.add("  o%d: {from: [%s], to: s%d", i, sources(from, states), i)
		if len(set[i]) > 0 {
			p.add("    , set: {%s}", strings.Join(set[i], ", "))
		}
		if len(small) > 0 && i%4 == 1 {
			p.add("    , require: [g%d]", small[rnd.IntN(len(small))])
		}
		p.add("    }")
	}
	p.add("  finish: {from: [%s], to: s%d}", names("s", states-1), states-1)
	return p.String()
}

func sources(from map[int]bool, states int) string {
	var list []string
	for i := range states {
		if from[i] {
			list = append(list, fmt.Sprintf("s%d", i))
		}
	}
	return strings.Join(list, ", ")
}

// branches is one operation with a branch per state.
func branches(n int) string {
	var p page
	p.WriteString(head + "fields: {a: int 0..9}\nstates:\n")
	for i := range n {
		p.add("  s%d: {}", i)
	}
	p.add("  over: {final: true}\noperations:\n  make: {creates: s0, set: {a: input}}")
	p.add("  step:\n    from: [%s]\n    choose:", names("s", n))
	for i := range n {
		p.add("      - {from: s%d, to: s%d}", i, (i+1)%n)
	}
	p.add("  finish: {from: [%s], to: over}", names("s", n))
	return p.String()
}

// variants is one operation that leads from each state to one of several.
func variants(n int) string {
	var p page
	p.WriteString(head + "fields: {a: int 0..9}\nstates:\n")
	for i := range n {
		p.add("  s%d: {}", i)
	}
	p.add("  over: {final: true}\noperations:\n  make: {creates: s0, set: {a: input}}")
	p.add("  step:\n    from: [%s]\n    choose:", names("s", n))
	for i := range n {
		p.add("      - {from: s%d, when: a == 1, to: s%d}", i, (i+1)%n)
		p.add("      - {from: s%d, when: a == 2, to: s%d}", i, (i+7)%n)
	}
	p.add("      - {reject: stuck}\n  set_a: {from: [%s], to: same, set: {a: input}}", names("s", n))
	p.add("  finish: {from: [%s], to: over}", names("s", n))
	return p.String()
}

// guards is a chain of guards, each of which is required with its neighbour.
func guards(n int) string {
	var p page
	p.WriteString(head + "fields:\n")
	for i := range n + 1 {
		p.add("  f%d: int", i)
	}
	p.add("states: {open: {}, over: {final: true}}\nguards:")
	for i := range n {
		p.add("  g%d: {when: f%d <= f%d, error: e%d}", i, i, i+1, i)
	}
	p.add("operations:\n  make: {creates: open, set: {%s}}", each(n+1, func(i int) string { return fmt.Sprintf("f%d: input", i) }))
	for i := range n {
		p.add("  o%d: {from: open, to: same, require: [g%d, g%d], set: {f%d: input}}", i, i, (i+1)%n, i)
	}
	p.add("  all: {from: open, to: over, require: [%s]}", names("g", n))
	return p.String()
}

// chain is fields in an order that every state keeps, and an operation that moves
// each of them.
func chain(n int) string {
	var p page
	p.WriteString(head + "fields:\n")
	for i := range n + 1 {
		p.add("  f%d: int", i)
	}
	p.add("invariant: [%s]", each(n, func(i int) string { return fmt.Sprintf("f%d <= f%d", i, i+1) }))
	p.add("states: {open: {}, over: {final: true}}\nguards:")
	p.add("  sorted: {when: [%s], error: disorder}", each(n, func(i int) string { return fmt.Sprintf("input.f%d <= input.f%d", i, i+1) }))
	for i := 1; i < n; i++ {
		p.add("  g%d: {when: [f%d <= input.f%d, input.f%d <= f%d], error: e%d}", i, i-1, i, i, i+1, i)
	}
	p.add("operations:\n  make: {creates: open, require: [sorted], set: {%s}}", each(n+1, func(i int) string { return fmt.Sprintf("f%d: input", i) }))
	for i := 1; i < n; i++ {
		p.add("  o%d: {from: open, to: same, require: [g%d], set: {f%d: input}}", i, i, i)
	}
	p.add("  finish: {from: open, to: over}")
	return p.String()
}

// wide is fields that all hang on one other, and may be absent.
func wide(n int) string {
	var p page
	p.WriteString(head + "fields:\n  top: int 0..\n")
	for i := range n {
		p.add("  f%d: optional int 0..9", i)
	}
	p.add("states:\n  open: {absent: [%s]}\n  full: {invariant: [%s]}\n  over: {final: true}\nguards:", names("f", n),
		each(n, func(i int) string { return fmt.Sprintf("f%d <= top", i) }))
	p.add("  fits: {when: [%s], error: too_big}", each(n, func(i int) string { return fmt.Sprintf("input.f%d <= top", i) }))
	for i := range n {
		p.add("  g%d: {when: input.f%d <= top, error: e%d}", i, i, i)
	}
	p.add("operations:\n  make: {creates: open, set: {top: input}}")
	p.add("  fill: {from: open, to: full, require: [fits], set: {%s}}", each(n, func(i int) string { return fmt.Sprintf("f%d: input", i) }))
	for i := range n {
		p.add("  o%d: {from: full, to: same, require: [g%d], set: {f%d: input}}", i, i, i)
	}
	p.add("  finish: {from: full, to: over}")
	return p.String()
}

// unreachable is a crowd of states that nothing leads to.
func unreachable(n int) string {
	var p page
	p.WriteString(head + "states:\n  open: {}\n  over: {final: true}\n")
	for i := range n {
		p.add("  s%d: {}", i)
	}
	p.add("operations:\n  make: {creates: open}\n  finish: {from: open, to: over}")
	return p.String()
}

// records is unique rules, guards on other records and effects, many of each.
func records(n int) string {
	var p page
	p.WriteString(head + "fields:\n")
	for i := range n {
		p.add("  f%d: string", i)
	}
	p.add("states: {open: {}, busy: {}, over: {final: true}}\nunique:")
	for i := range n {
		p.add("  u%d: {fields: f%d, in: [busy], error: taken_%d}", i, i, i)
	}
	p.add("guards:")
	for i := range n {
		p.add("  g%d: {fewer: {than: 2, same: f%d, in: [open]}, error: full_%d}", i, i, i)
	}
	p.add("operations:\n  make: {creates: open, set: {%s}}", each(n, func(i int) string { return fmt.Sprintf("f%d: input", i) }))
	for i := range n {
		p.add("  o%d: {from: open, to: busy, require: [g%d], effect: {name: e%d, key: f%d}}", i, i, i, i)
	}
	p.add("  finish: {from: busy, to: over}")
	return p.String()
}

// triggers is many deadlines, each with an operation of the system.
func triggers(n int) string {
	var p page
	p.WriteString(head + "fields:\n")
	for i := range n {
		p.add("  t%d: time", i)
	}
	p.add("states:\n  open: {}\n  over: {final: true}\noperations:\n  make: {creates: open, set: {%s}}",
		each(n, func(i int) string { return fmt.Sprintf("t%d: input", i) }))
	for i := range n {
		p.add("  o%d: {by: system, from: open, to: over, trigger: [after t%d]}", i, i)
	}
	return p.String()
}

// lists is states, forbidden moves, a projection, and lists of what is recorded.
func lists(n int) string {
	var p page
	p.WriteString(head + "states:\n")
	for i := range n {
		p.add("  s%d: {}", i)
	}
	p.add("  over: {final: true}\nforbidden:")
	for i := range n {
		p.add("  - {from: s%d, to: s%d, reason: not backwards}", (i+2)%n, i)
	}
	p.add("operations:\n  make: {creates: s0}")
	for i := range n {
		p.add("  o%d: {from: s%d, to: s%d, record_only_in: [s%d, over]}", i, i, (i+1)%n, (i+1)%n)
	}
	p.add("  finish: {from: [%s], to: over}", names("s", n))
	return p.String()
}

// Ring is states that only the owner moves a record along, and something to prove of
// each of them: a count that has risen.
func Ring(n int) string {
	var p page
	p.WriteString(head + "fields: {owner: optional string, steps: {type: counter, changed_by: [o0]}}\n")
	p.add("guards: {owner_only: {when: owner == actor, error: not_owner}}\nstates:\n  s0: {absent: [owner]}")
	for i := 1; i < n; i++ {
		p.add("  s%d: {present: [owner], invariant: [steps >= 1]}", i)
	}
	p.add("operations:\n  make: {creates: s0}\n  o0: {from: s0, to: s1, set: {owner: actor}, increment: [steps]}")
	for i := 1; i < n; i++ {
		cleared := ""
		if i == n-1 {
			cleared = ", clear: [owner]"
		}
		p.add("  o%d: {from: s%d, to: s%d, require: [owner_only]%s}", i, i, (i+1)%n, cleared)
	}
	p.add("  drop: {by: operator, from: [%s], to: s0, clear: [owner]}", each(n-1, func(i int) string { return fmt.Sprint("s", i+1) }))
	return p.String()
}
