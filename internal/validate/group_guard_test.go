package validate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// A guard over a group is refused where it can never refuse, and only there: every
// record that the source states allow is asked beside others of the same group.
func TestGroupGuardCanRefuse(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(36, 7))
	refused := 0
	for range 300 {
		keys := []string{"f", "[f, g]", "g", "{f: actor}", "{f: g}", "{f: actor, g: g}", `{g: "'x'"}`}[rnd.IntN(7)]
		var from []string
		var b strings.Builder
		b.WriteString("fsm: 1\nmachine: thing\nentity: Thing\notherwise: reject\n")
		b.WriteString("fields: {f: optional string, g: optional string}\nstates:\n  full: {final: true}\n")
		for i := range 3 {
			says := map[string][]string{}
			for _, f := range []string{"f", "g"} {
				if key := []string{"present", "absent", ""}[rnd.IntN(3)]; key != "" {
					says[key] = append(says[key], f)
				}
			}
			fmt.Fprintf(&b, "  s%d: {present: [%s], absent: [%s]}\n", i, strings.Join(says["present"], ", "), strings.Join(says["absent"], ", "))
			if rnd.IntN(2) == 0 || i == 2 && len(from) == 0 {
				from = append(from, fmt.Sprintf("s%d", i))
			}
		}
		guard := []string{"none: {", "fewer: {than: 1, ", "fewer: {than: 2, ", "some: {"}[rnd.IntN(4)]
		creates := rnd.IntN(4) == 0
		step := fmt.Sprintf("{from: [%s], to: full, require: [few], set: {f: input, g: input}}", strings.Join(from, ", "))
		if creates {
			step = "{creates: full, require: [few]" + []string{"}", ", set: {f: input}}", ", set: {f: input, g: input or absent}}"}[rnd.IntN(3)]
		}
		fmt.Fprintf(&b, "guards:\n  few: {%ssame: %s, in: [full]}, error: too_many}\n", guard, keys)
		fmt.Fprintf(&b, "operations:\n  make: {creates: full}\n  step: %s\n", step)

		m, ds := spec.Parse("thing.yaml", []byte(b.String()))
		if m == nil {
			t.Fatalf("%v\n%s", ds, b.String())
		}
		told := slices.ContainsFunc(validate.Run(m), func(d spec.Diagnostic) bool { return d.Code == "FSM510" })
		refuses, passes := answers(m, creates)
		can := refuses
		if m.Guards[0].Peers.Some {
			can = passes
		}
		if can == told {
			t.Fatalf("the guard can refuse: %t, and pass: %t, and FSM510 is reported: %t\n%s", refuses, passes, told, b.String())
		}
		if told {
			refused++
		}
	}
	if refused < 30 {
		t.Errorf("%d of 300 guards never refuse: the draw says little", refused)
	}
}

// answers reports whether the guard of step refuses some record beside two others
// that share all of its values, and whether it lets one pass.
func answers(m *spec.Machine, creates bool) (refuses, passes bool) {
	op, full, x := m.Operation("step"), m.States[0], interp.String("x")
	others := map[string]interp.Record{}
	for _, id := range []string{"o1", "o2"} {
		r := interp.NewRecord(m, id).In(full).With(m, "f", x).With(m, "g", x)
		r.Rev = 1
		others[id] = r
	}
	inputs := map[string]interp.Value{}
	for _, in := range op.Inputs {
		inputs[in.Name] = x
	}
	call := interp.Call{Op: op, ID: "a", RequestID: "r", Actor: "x", At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Inputs: inputs}
	ask := func() {
		_, _, refusal := interp.Step(m, interp.World{Records: others}, call)
		refused := refusal != nil && refusal.Code == interp.CodeGuard
		refuses, passes = refuses || refused, passes || !refused
	}
	if creates {
		ask()
		return refuses, passes
	}
	call.ExpectedRev = 1
	for _, s := range op.From {
		for mask := range 4 {
			r := interp.NewRecord(m, "a").In(s.State)
			r.Rev = 1
			for i, f := range []string{"f", "g"} {
				if mask>>i&1 == 1 {
					r = r.With(m, f, x)
				}
			}
			if len(interp.Check(m, r)) > 0 {
				continue // no record of the state looks so
			}
			others["a"] = r
			ask()
		}
	}
	return refuses, passes
}
