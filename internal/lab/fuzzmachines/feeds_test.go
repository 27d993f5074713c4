package fuzzmachines_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/spec"
)

// Whatever stands in a field because an input brought it is told by Feeds. Each operation is
// called with random values. What each call of a branch finds true of an input and a field, before
// or after the step, is no chance: they are equal, or one holds the other.
func TestFeedsTellWhatFlows(t *testing.T) {
	t.Parallel()
	first, machines := uint64(90), uint64(15) // among them one with sets within sets
	if campaign.On() {
		first, machines = 0, 1500
	}
	flows := 0
	for n := range machines {
		seed := first + n
		texts := []string{flowing(rand.New(rand.NewPCG(seed, 78)))}
		if seed%3 == 0 {
			texts = append(texts, fuzzmachines.Random(rand.New(rand.NewPCG(seed, 77))))
		}
		for _, text := range texts {
			m, found := spec.Parse("flow.yaml", []byte(text))
			if m == nil {
				if len(texts) == 1 {
					t.Fatalf("%v in\n%s", found, text)
				}
				continue // what is drawn there is not always allowed
			}
			for _, op := range m.Operations {
				flows += judge(t, m, op, rand.New(rand.NewPCG(seed, 79)))
			}
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, text)
			}
		}
	}
	if flows < 3*int(machines) {
		t.Errorf("%d flows in %d machines", flows, machines)
	}
}

// flowing returns a machine whose operation compares and copies in many ways.
func flowing(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	texts, sets, numbers := []string{"a", "b", "c"}, []string{"p", "q"}, []string{"n", "m"}
	inputs := func(list []string) (all []string) {
		for _, name := range list {
			all = append(all, "input."+name)
		}
		return all
	}
	firm := append(inputs(texts[:2]), append(texts, "actor")...) // never absent
	anyText := append(firm, "input.c")
	anySet := append(inputs(sets), sets...)
	fact := func() string {
		switch r.IntN(5) {
		case 0, 1:
			return pick(anyText...) + pick(" == ", " == ", " != ") + pick(anyText...)
		case 2:
			return pick(anyText...) + pick(" in ", " not in ") + pick(anySet...)
		case 3:
			return pick(anySet...) + " covers " + pick(anySet...)
		}
		return pick(append(inputs(numbers), numbers...)...) + pick(" <= ", " >= ", " < ", " > ", " == ") + pick(append(inputs(numbers), numbers...)...)
	}
	when := func() string {
		facts := []string{fact()}
		for range r.IntN(3) {
			if f := fact(); !slices.Contains(facts, f) {
				facts = append(facts, f)
			}
		}
		return "'" + strings.Join(facts, "', '") + "'"
	}
	grown := map[string]bool{} // sets that the operation itself adds to
	effects := func(branch bool) string {
		var set, add []string
		for _, f := range texts {
			if r.IntN(3) == 0 {
				value := pick(firm...)
				if f == "c" && r.IntN(2) == 0 {
					value = "input or same"
				}
				set = append(set, f+": "+value)
			}
		}
		for _, f := range sets {
			if r.IntN(4) == 0 && !(branch && grown[f]) {
				add = append(add, f+": "+pick(firm...))
				grown[f] = !branch
			}
		}
		return ", set: {" + strings.Join(set, ", ") + "}, add: {" + strings.Join(add, ", ") + "}"
	}
	empty := strings.NewReplacer(", set: {}", "", ", add: {}", "")
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: flow\nentity: Flow\notherwise: reject\nfields: {a: string, b: string, c: string, p: set, q: set, n: int, m: int}\n")
	fmt.Fprintf(&b, "states: {s: {}, t: {}}\nguards:\n  g: {when: [%s], error: nope}\noperations:\n  make: {creates: s, set: {a: input, b: input, c: input, n: input, m: input}}\n", when())
	b.WriteString("  op:\n    from: s\n    input: {a: string, b: string, c: optional string, p: set, q: set, n: int, m: int}\n")
	if r.IntN(2) == 0 {
		b.WriteString("    require: [g]\n")
	}
	e := strings.TrimPrefix(empty.Replace(effects(false)), ", ")
	if e != "" {
		b.WriteString("    " + strings.ReplaceAll(e, ", add:", "\n    add:") + "\n")
	}
	switch {
	case r.IntN(3) == 0:
		b.WriteString("    to: t\n")
	default:
		b.WriteString("    choose:\n")
		for range 1 + r.IntN(2) {
			fmt.Fprintf(&b, "      - {when: [%s], %s}\n", when(), pick("reject: nope", "record_only: true", "to: t"+empty.Replace(effects(true))))
		}
		b.WriteString("      - {to: t" + empty.Replace(effects(true)) + "}\n")
	}
	return b.String()
}

// pair is an input and a field between which something was true in all calls of a branch.
type pair struct {
	in *spec.Input
	f  *spec.Field
}

type seen struct {
	calls  int
	values map[pair]map[interp.Value]bool // of the input, while all calls agree
	broken map[pair]bool
}

// judge calls an operation and returns how many flows it saw.
func judge(t *testing.T, m *spec.Machine, op *spec.Operation, r *rand.Rand) (flows int) {
	t.Helper()
	if len(op.Inputs) == 0 {
		return 0
	}
	told := map[pair]bool{}
	for _, feed := range m.Feeds(op) {
		told[pair{feed.Input, feed.Field}] = true
	}
	branches := map[*spec.Branch]*seen{}
	for range 3000 {
		before, c := drawn(m, op, r)
		d, refusal := interp.Decide(m, before, c, interp.Others{})
		if refusal != nil || d.RecordOnly && d.Branch == nil {
			continue
		}
		s := branches[d.Branch]
		if s == nil {
			s = &seen{values: map[pair]map[interp.Value]bool{}, broken: map[pair]bool{}}
			branches[d.Branch] = s
		}
		s.calls++
		for _, in := range op.Inputs {
			v := c.Inputs[in.Name]
			if !v.IsPresent() {
				continue
			}
			for i, f := range m.Fields {
				p := pair{in, f}
				if f.Builtin || s.broken[p] {
					continue
				}
				if !related(v, before.Fields[i]) && !related(v, d.Record.Fields[i]) {
					s.broken[p] = true
					continue
				}
				if s.values[p] == nil {
					s.values[p] = map[interp.Value]bool{}
				}
				s.values[p][v] = true
			}
		}
	}
	for _, s := range branches {
		for p, values := range s.values {
			if s.broken[p] || s.calls < 40 || len(values) < 3 {
				continue
			}
			flows++
			if !told[p] {
				t.Errorf("%s: in %d calls %s was what %s held or would hold, and Feeds does not say so", op.Name, s.calls, p.in.Name, p.f.Name)
			}
		}
	}
	return flows
}

// related reports whether two values are equal, or one holds the other.
func related(a, b interp.Value) bool {
	if !a.IsPresent() || !b.IsPresent() {
		return false
	}
	sets := [2]bool{a.Kind == interp.KindSet, b.Kind == interp.KindSet}
	switch {
	case sets[0] && sets[1]:
		return a.Covers(b) || b.Covers(a)
	case a.Kind == interp.KindSet && b.Kind == interp.KindString:
		return a.Has(b.Text)
	case b.Kind == interp.KindSet && a.Kind == interp.KindString:
		return b.Has(a.Text)
	}
	return a == b
}

// drawn returns a record in a state from which the operation goes, and a call of it. Few values
// are drawn, so that facts hold often enough.
func drawn(m *spec.Machine, op *spec.Operation, r *rand.Rand) (interp.Record, interp.Call) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	word := func() string { return fmt.Sprint("w", r.IntN(5)) }
	value := func(ty *spec.Type) interp.Value {
		if ty.Optional && r.IntN(6) == 0 {
			return interp.Absent
		}
		switch ty.Kind {
		case spec.KindString:
			return interp.String(ty.Fitted(word()))
		case spec.KindInt, spec.KindCounter:
			return interp.Int(r.Int64N(5))
		case spec.KindBool:
			return interp.Bool(r.IntN(2) == 0)
		case spec.KindTime:
			return interp.Time(now.Add(time.Duration(r.IntN(5)) * time.Second))
		case spec.KindJSON:
			return interp.JSON(`"` + word() + `"`)
		case spec.KindEnum:
			return interp.Word(ty.Values[r.IntN(len(ty.Values))].Name)
		case spec.KindSet:
			return interp.Set([]string{word(), word()}[:1+r.IntN(2)]...)
		}
		return interp.Int(r.Int64N(5))
	}
	record := interp.NewRecord(m, "r")
	if len(op.Creates) == 0 {
		record = record.WithAll(m, func(f *spec.Field) interp.Value { return value(&f.Type) })
		record.Rev, record.CreatedAt, record.UpdatedAt = 1, now, now
		if len(op.From) > 0 {
			record = record.In(op.From[r.IntN(len(op.From))].State)
		}
	}
	c := interp.Call{Op: op, ID: "r", Actor: word(), Reason: "because", At: now, Inputs: map[string]interp.Value{}}
	for _, in := range op.Inputs {
		c.Inputs[in.Name] = value(&in.Type)
	}
	return record, c
}
