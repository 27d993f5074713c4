package interp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// A walk is a hostile environment: any worker sends any operation to any record
// at any time, with old revisions, repeated request ids and inputs of all kinds.
// What the language promises holds at every step.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lifecycle", "execution", "ingest", "jobstate", "task"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := shipped(t, name)
			accepted := make(map[string]int)
			for seed := range uint64(40) {
				walk(t, m, rand.New(rand.NewPCG(seed, 1)), accepted)
			}
			for _, op := range m.Operations {
				if accepted[op.Name] == 0 && (!interp.Internal(m, op) || len(op.Triggers) > 0) {
					t.Errorf("no walk took %s: the walks are too tame", op.Name)
				}
			}
		})
	}
}

func walk(t *testing.T, m *spec.Machine, rnd *rand.Rand, accepted map[string]int) {
	var w interp.World
	var made []interp.Call
	outcomes := map[string]interp.Record{} // by call: what the first answer was
	for n := range 120 {
		if len(w.Outbox) > 0 && rnd.IntN(4) == 0 {
			if _, next, refusal := interp.Deliver(m, w, w.Outbox[rnd.IntN(len(w.Outbox))], at(n)); refusal == nil {
				promises(t, m, w, next)
				w = next
			}
			continue
		}
		again := len(made) > 0 && rnd.IntN(6) == 0
		c := randomCall(m, w, rnd, n)
		if again {
			c = made[rnd.IntN(len(made))]
		}
		out, next, refusal := interp.Step(m, w, c)
		if refusal != nil {
			if refusal.Code == interp.CodeInvariant {
				t.Errorf("%s: %v; a proven specification never gets there", m.Name, refusal)
			}
			continue
		}
		promises(t, m, w, next)
		wrote := len(next.Log) != len(w.Log)
		w = next
		key := fmt.Sprint(c.Op.Name, c.ID, c.RequestID)
		switch first, known := outcomes[key]; {
		case out.Replayed && known && !first.Equal(out.Record):
			t.Errorf("%s: the replay of %s gives another outcome", m.Name, key)
		case out.Replayed && wrote:
			t.Errorf("%s: the replay of %s wrote", m.Name, key)
		case again && !out.Replayed && !out.Existing && c.RequestID != "" && known:
			t.Errorf("%s: the retry of %s was applied again", m.Name, key)
		}
		if !out.Existing && c.RequestID != "" && !out.Replayed {
			outcomes[key] = out.Record
			made = append(made, c)
		}
		accepted[c.Op.Name]++
		for _, e := range out.Events { // a step of `then` may be possible after its cause only
			accepted[e.Op.Name]++
		}
	}
}

// promises checks one step from world to world.
func promises(t *testing.T, m *spec.Machine, before, after interp.World) {
	t.Helper()
	for id, r := range after.Records {
		for _, v := range interp.Check(m, r) {
			t.Errorf("%s %s breaks %s", m.Name, id, v.Rule)
		}
		folded, err := interp.Fold(m, after.History(id))
		if err != nil || !folded.Equal(r) {
			t.Fatalf("%s %s is not the fold of its log: %v", m.Name, id, err)
		}
		old, ok := before.Records[id]
		if !ok {
			continue
		}
		if old.State.Terminal && !old.Equal(r) {
			t.Errorf("%s %s changed after its end", m.Name, id)
		}
		if r.Rev < old.Rev || r.UpdatedAt.Before(old.UpdatedAt) || !r.CreatedAt.Equal(old.CreatedAt) {
			t.Errorf("%s %s: revision or time went back", m.Name, id)
		}
		for i, f := range m.Fields {
			switch f.Type.Kind {
			case spec.KindCounter:
				if d := r.Fields[i].Num - old.Fields[i].Num; d < 0 || d > r.Rev-old.Rev {
					t.Errorf("%s %s: counter %s went up by %d", m.Name, id, f.Name, d)
				}
			case spec.KindSet:
				if !r.Fields[i].Covers(old.Fields[i]) {
					t.Errorf("%s %s: set %s lost a member", m.Name, id, f.Name)
				}
			case spec.KindSequence:
				if r.Fields[i] != old.Fields[i] {
					t.Errorf("%s %s: sequence %s changed", m.Name, id, f.Name)
				}
			}
		}
		if old.State != r.State && slices.ContainsFunc(m.Forbidden, func(f *spec.Forbidden) bool {
			return r.Rev == old.Rev+1 && f.From.State == old.State && f.To.State == r.State
		}) {
			t.Errorf("%s %s made a forbidden move", m.Name, id)
		}
	}
	for _, u := range m.Unique {
		seen := map[interp.Value]string{}
		for id, r := range after.Records {
			v := r.Value(m, u.Fields[0].Field) // the shipped rules have one field
			if !slices.ContainsFunc(u.In, func(s spec.StateRef) bool { return s.State == r.State }) || !v.IsPresent() {
				continue
			}
			if other, taken := seen[v]; taken {
				t.Errorf("%s: %s and %s break %s", m.Name, id, other, u.Name)
			}
			seen[v] = id
		}
	}
}

func randomCall(m *spec.Machine, w interp.World, rnd *rand.Rand, n int) interp.Call {
	var public []*spec.Operation
	for _, op := range m.Operations {
		if !interp.Internal(m, op) || len(op.Triggers) > 0 { // a trigger may fire at any time
			public = append(public, op)
		}
	}
	c := interp.Call{
		Op: public[rnd.IntN(len(public))], ID: string(rune('a' + rnd.IntN(5))), Actor: []string{"w1", "w2"}[rnd.IntN(2)],
		Reason: "because", At: at(n*5 + rnd.IntN(10)), Inputs: in{},
	}
	if rnd.IntN(20) == 0 {
		c.At = c.At.Add(15 * time.Minute) // a pause that lets leases end
	}
	if c.Op.By != spec.BySystem && m.RequestID != spec.None {
		c.RequestID = fmt.Sprint("r", n)
		if rnd.IntN(15) == 0 {
			c.RequestID = fmt.Sprint("r", rnd.IntN(n+1)) // somebody else's
		}
	}
	if c.Op.Next != nil && rnd.IntN(2) == 0 {
		c.ID = ""
	}
	if r, ok := w.Records[c.ID]; ok {
		c.ExpectedRev = max(1, r.Rev-int64(rnd.IntN(8)/7))
	}
	for _, i := range c.Op.Inputs {
		if i.Type.Optional && rnd.IntN(2) == 0 {
			continue
		}
		word := []string{"x", "y", "z"}[rnd.IntN(3)]
		switch i.Type.Kind {
		case spec.KindString:
			c.Inputs[i.Name] = interp.String(word)
		case spec.KindTime:
			c.Inputs[i.Name] = interp.Time(c.At.Add(time.Duration(rnd.IntN(120)) * time.Second))
		case spec.KindJSON:
			c.Inputs[i.Name] = interp.JSON(`"` + word + `"`)
		case spec.KindSet:
			c.Inputs[i.Name] = interp.Set([]string{"x", "y", "z"}[:rnd.IntN(4)]...)
		case spec.KindEnum:
			c.Inputs[i.Name] = interp.Word(i.Type.Values[rnd.IntN(len(i.Type.Values))].Name)
		}
	}
	return c
}
