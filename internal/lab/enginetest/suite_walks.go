package enginetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// How long the walks are, and how many records some of them begin with.
const (
	walkCount = 4
	walkSteps = 120
	walkSeeds = 24
)

// walks runs long sequences of calls on a few records: what one call leaves behind, the next one
// meets. Every other one begins with records in all states. They are the same in every run.
func walks[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for n := range walkCount {
		if !t.Run(fmt.Sprint(n+1), func(t *testing.T) { walk(s, t, st, n) }) || testing.Short() && n > 0 {
			return
		}
	}
}

// walker makes the calls of one walk.
type walker[R any] struct {
	*world.Harness[R]
	r     *rand.Rand
	ops   []*spec.Operation // that can be called
	calls map[*spec.Operation][]interp.Call
	wrong map[*spec.Operation][]interp.Call // whose inputs the operation cannot take
	past  []func(what string)
	made  int
}

func walk[R any](s *world.Suite[R], t *testing.T, st world.Store, n int) {
	w := &walker[R]{
		Harness: s.NewHarness(t, st), r: rand.New(rand.NewPCG(uint64(n+1), 7)),
		calls: map[*spec.Operation][]interp.Call{}, wrong: map[*spec.Operation][]interp.Call{},
	}
	for _, o := range s.M.Operations {
		for _, c := range s.Cases.Calls(o) {
			if _, refusal := interp.Accept(s.M, c); refusal == nil {
				w.calls[o] = append(w.calls[o], c)
			} else if refusal.Code == interp.CodeInvalidInput {
				w.wrong[o] = append(w.wrong[o], c)
			}
		}
		if exported(s.M, o) && w.calls[o] != nil {
			w.ops = append(w.ops, o)
		}
	}
	if n%2 == 1 {
		crowd(w.Harness, w.r)
		w.several()
	}
	for step := range walkSteps {
		w.Clock = w.Clock.Add(time.Duration(w.r.IntN(400)) * time.Second)
		what := fmt.Sprintf("step %d", step+1)
		if w.step(what); t.Failed() {
			t.Fatalf("the walk ends at %s", what)
		}
		s.DurableCount++
	}
	w.Same("at the end")
	audited(w.Harness)
}

// several picks a few records at once in a crowd: some stand aside, and some stay where they
// are picked from.
func (w *walker[R]) several() {
	for _, o := range w.ops {
		for n := 6; n > 1 && (o.Next != nil || o.Each != nil); n-- {
			c := w.New(w.call(o), "")
			c.At = time.Time{}
			w.Pick(fmt.Sprintf("%s of %d", o.Name, n), c, n)
		}
	}
}

// crowd puts records in all states into the store, as far as they can stand beside each other.
func crowd[R any](h *world.Harness[R], r *rand.Rand) {
	h.T.Helper()
	states := r.Perm(len(h.M.States))
	for n := range walkSeeds {
		known := h.S.Cases.Sound(h.M.States[states[n%len(states)]])
		if len(known) == 0 {
			continue
		}
		x := known[r.IntN(len(known))]
		x.ID = fmt.Sprintf("seed-%d", n)
		x.CreatedAt = x.CreatedAt.Add(-time.Duration(r.IntN(3)) * time.Minute)
		x.UpdatedAt = x.CreatedAt // as an audit wants it of one that was put there
		if x = numbered(h.M, x, int64(n+1)); r.IntN(2) == 0 {
			x = apart(h.M, x, fmt.Sprintf(" #%d", n%3))
		}
		if !h.Fits(x) {
			x = apart(h.M, x, " of "+x.ID)
		}
		if h.Fits(x) && walksOn(h.M, x, int64(n+1)) {
			h.Seed(x)
		}
	}
}

// walksOn reports whether a walk can go on from a record: no counter is near its end, and its
// numbers follow those of the records before it, since a store counts up to them.
func walksOn(m *spec.Machine, r interp.Record, number int64) bool {
	for i, f := range m.Fields {
		n := r.Fields[i].Num
		if f.Type.Kind == spec.KindCounter && n > 1<<40 || f.Type.Kind == spec.KindSequence && n != number {
			return false
		}
	}
	return true
}

// ending returns an effect that may give up, or nil.
func (w *walker[R]) ending() *spec.Effect {
	list := slices.DeleteFunc(w.M.AllAsks(), func(e *spec.Effect) bool { return e.Failed == nil })
	if len(list) == 0 {
		return nil
	}
	return list[w.r.IntN(len(list))]
}

// step is one step of a walk.
func (w *walker[R]) step(what string) {
	if len(w.past) > 0 && w.r.IntN(5) == 0 {
		w.past[w.r.IntN(len(w.past))](what + ", what was asked before") // a retry, however late
		return
	}
	switch w.r.IntN(24) {
	case 0:
		w.Sweep(what)
		return
	case 1:
		if e := w.ending(); e != nil && w.r.IntN(3) == 0 {
			w.GiveUp(e.Name + ": no answer")
		}
		w.Deliver(what)
		return
	case 2:
		w.Recover(what)
		return
	}
	o := w.ops[w.r.IntN(len(w.ops))]
	if len(w.W.Records) == 0 || w.r.IntN(8) == 0 {
		if i := slices.IndexFunc(w.ops, func(o *spec.Operation) bool { return len(o.Creates) > 0 }); i >= 0 {
			o = w.ops[i]
		}
	}
	c := w.call(o)
	switch {
	case len(o.Creates) > 0:
		w.made++
		c = w.New(c, fmt.Sprintf("record-%d", w.made))
		if w.r.IntN(12) == 0 {
			c.ID = w.anyID()
		}
	case (o.Next != nil || o.Each != nil) && w.r.IntN(2) == 0:
		c = w.New(c, "")
		n := w.r.IntN(4)
		w.past = append(w.past, func(what string) { w.Pick(what, w.again(c), n) })
		w.Pick(what, c, n)
		return
	default:
		id := w.anyID()
		for range 40 { // most calls are refused, so that one that moves the record is looked for
			r := w.W.Records[id]
			if d, refusal := interp.Decide(w.M, r, c, w.W.Others(w.M, r, c)); r.State != nil && refusal == nil && !d.RecordOnly {
				break
			}
			c, id = w.call(o), w.anyID()
		}
		c = w.New(c, id)
	}
	if w.r.IntN(6) == 0 {
		c = w.spoilt(c)
	}
	w.past = append(w.past, func(what string) { w.Call(what, w.again(c)) })
	w.Call(what, c)
}

// anyID is the id of a record; one that is not there where there is none.
func (w *walker[R]) anyID() string {
	ids := slices.Sorted(maps.Keys(w.W.Records))
	if len(ids) == 0 {
		return "nobody"
	}
	return ids[w.r.IntN(len(ids))]
}

// call makes up a call: each input is that of a case, as it stands to the time of the call.
func (w *walker[R]) call(o *spec.Operation) interp.Call {
	known := w.calls[o]
	c := known[w.r.IntN(len(known))]
	inputs := map[string]interp.Value{}
	for _, in := range o.Inputs {
		from := c
		if w.r.IntN(2) == 0 {
			from = known[w.r.IntN(len(known))]
		}
		v := from.Inputs[in.Name]
		switch {
		case v.Kind == interp.KindTime && v.AsTime().Year() > 1 && v.AsTime().Year() < 9000:
			v = interp.Time(v.AsTime().Add(w.Clock.Sub(from.At)))
		case v.Kind == interp.KindString && v.Text != "" && w.r.IntN(4) == 0:
			v = interp.String([]string{"k1", "k2"}[w.r.IntN(2)])
		}
		if v.Kind != interp.KindAbsent {
			inputs[in.Name] = v
		}
	}
	c.Inputs = inputs
	if o.By != spec.BySystem && w.r.IntN(3) > 0 {
		c.Actor = []string{"ann", "ben"}[w.r.IntN(2)]
	}
	switch w.r.IntN(16) {
	case 0:
		c.At = w.Clock.Add(-time.Hour) // a clock that went back
	case 1, 2, 3, 4, 5, 6, 7:
		c.At = time.Time{} // the engine's
	default:
		c.At = w.Clock
	}
	return c
}

// spoilt is a call that is wrong in one thing.
func (w *walker[R]) spoilt(c interp.Call) interp.Call {
	system := c.Op.By == spec.BySystem
	switch w.r.IntN(10) {
	case 0:
		c.ExpectedRev = max(0, c.ExpectedRev-1)
	case 1:
		if c.ExpectedRev > 0 {
			c.ExpectedRev = 99
		}
	case 2:
		if len(c.Op.Creates) == 0 {
			c.ID = "nobody"
		}
	case 3:
		c.Actor = ""
	case 4:
		c.Reason = ""
	case 5:
		c.RequestID = ""
	case 6:
		if !system && w.M.RequestID != spec.None {
			c.RequestID = "sys:" + c.Op.Stored() + ":1"
		}
	case 7:
		c.Labels = map[string]string{"trace": "t1"}
	case 8:
		if log := w.W.Log; !system && len(log) > 0 { // a request that is known
			if id := log[w.r.IntN(len(log))].RequestID; id != "" && !strings.HasPrefix(id, "sys:") {
				c.RequestID = id
			}
		}
	case 9:
		if wrong := w.wrong[c.Op]; wrong != nil {
			c.Inputs = wrong[w.r.IntN(len(wrong))].Inputs
		}
	}
	return c
}

// again is a call that comes once more, in half of the cases with one thing changed.
func (w *walker[R]) again(c interp.Call) interp.Call {
	switch w.r.IntN(12) {
	case 0:
		c.Reason += " again"
	case 1:
		if c.Op.By != spec.BySystem {
			c.Actor = "somebody else"
		}
	case 2:
		c.Labels = map[string]string{"trace": "t2"}
	case 3:
		c.At = w.Clock
	case 4, 5:
		if len(c.Op.Inputs) > 0 {
			in := c.Op.Inputs[w.r.IntN(len(c.Op.Inputs))]
			c.Inputs = maps.Clone(c.Inputs)
			c.Inputs[in.Name] = world.Another(in.Type, c.Inputs[in.Name])
		}
	case 6:
		o := w.ops[w.r.IntN(len(w.ops))] // its request for another operation
		if c.Op.By != spec.BySystem && o.By != spec.BySystem && len(o.Creates) == 0 && len(c.Op.Creates) == 0 && c.ID != "" {
			other := w.call(o)
			other.ID, other.ExpectedRev, other.RequestID = c.ID, c.ExpectedRev, c.RequestID
			return other
		}
	}
	return c
}
