package fsm_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// asked is a request that was made and the answer it got.
type asked struct {
	id    string // of the record; empty: a pick or a creation
	call  fsmimpl.Call[storetest.Parcel]
	n     int
	first []outcome
}

// answer is what two answers to one request have in common.
func answer(outs []outcome) []string {
	var lines []string
	for _, out := range outs {
		lines = append(lines, fmt.Sprintf("%+v %v", storetest.Encode(&out.Record), out.RecordOnly))
		for _, e := range out.Events {
			lines = append(lines, fmt.Sprintf("%+v", e))
		}
	}
	return lines
}

// TestRandomCalls makes random calls with random repeats. Whatever was accepted
// once is answered the same for ever, whatever is refused leaves no trace, and
// at the end every record is the fold of its log.
func TestRandomCalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		store := newStore()
		now := start
		m := open(t, store, storetest.Schema(), fsm.WithClock(func() time.Time { return now }))
		if _, err := m.Startup(t.Context()); err != nil {
			rt.Fatal(err)
		}
		var requests []asked
		do := func(a asked) ([]outcome, error) {
			switch {
			case a.call.Operation.Creates:
				return one(m.Create(t.Context(), a.call))
			case a.id == "":
				return m.Pick(t.Context(), a.n, a.call)
			}
			return one(m.Apply(t.Context(), fsm.Ref{ID: a.id}, a.call))
		}
		id := rapid.SampledFrom([]string{"p1", "p2", "p3", "p4"})
		actor := rapid.SampledFrom([]string{"ann", "bob"})
		lane := rapid.SampledFrom([]string{"a", "b"})
		slot := rapid.SampledFrom([]string{"s1", "s2", "s3", "s4"})
		call := func() {
			mt := storetest.Meta{RequestID: fmt.Sprint("r", len(requests)), Actor: actor.Draw(rt, "actor"), Reason: "x"}
			due := now.Add(time.Duration(rapid.IntRange(-1, 3).Draw(rt, "due")) * time.Second)
			a := asked{id: id.Draw(rt, "id")}
			switch rapid.IntRange(0, 9).Draw(rt, "call") {
			case 0, 1:
				in := storetest.RegisterInput{ID: a.id, Lane: lane.Draw(rt, "lane")}
				if rapid.Bool().Draw(rt, "label") {
					in.Label = fsm.Some(slot.Draw(rt, "label text"))
				}
				a.call = storetest.Register(mt, in)
			case 2:
				a.call, a.id, a.n = storetest.Hold(mt, lane.Draw(rt, "lane"), due), "", rapid.IntRange(1, 3).Draw(rt, "n")
			case 3:
				a.call = storetest.Hold(mt, "a", due)
			case 4:
				a.call = storetest.Touch(mt, due)
			case 5:
				a.call = storetest.Annotate(mt, fsm.Some(fsm.MustJSON("null")), fsm.Optional[string]{}, fsm.Some(true))
			case 6:
				a.call = storetest.Shelve(mt, slot.Draw(rt, "slot"), slot.Draw(rt, "tag"))
			case 7:
				a.call = storetest.Bill(mt)
			case 8:
				a.call = storetest.Expel(mt)
			case 9:
				a.call = rapid.SampledFrom([]func(storetest.Meta) fsmimpl.Call[storetest.Parcel]{storetest.Send, storetest.Dispatch}).Draw(rt, "end")(mt)
			}
			before := log(t, m, "")
			outs, err := do(a)
			if err != nil {
				var r *fsm.Refusal
				if !errors.As(err, &r) {
					rt.Fatalf("%s: %v", a.call.Operation.Name, err)
				}
				if diff := cmp.Diff(before, log(t, m, ""), cmp.AllowUnexported(fsm.JSON{})); diff != "" {
					rt.Fatalf("a refused %s left a trace (-before +after):\n%s", a.call.Operation.Name, diff)
				}
				return
			}
			if !outs[0].Existing {
				a.first = outs
				requests = append(requests, a)
			}
		}
		again := func() {
			if len(requests) == 0 {
				return
			}
			a := requests[rapid.IntRange(0, len(requests)-1).Draw(rt, "again")]
			before := len(log(t, m, ""))
			outs, err := do(a)
			if err != nil {
				rt.Fatalf("replay of %s: %v", a.call.Operation.Name, err)
			}
			if diff := cmp.Diff(answer(a.first), answer(outs)); diff != "" {
				rt.Fatalf("replay of %s (-first +again):\n%s", a.call.Operation.Name, diff)
			}
			for _, out := range outs {
				p, err := m.Record(t.Context(), out.Record.ID)
				if err != nil || !out.Replayed || out.Current != p.Ref() || out.CurrentState != p.State {
					rt.Fatalf("replay of %s: %+v, the record is at %v in %s (%v)", a.call.Operation.Name, out, p.Ref(), p.State, err)
				}
			}
			if after := len(log(t, m, "")); after != before {
				rt.Fatalf("replay of %s wrote %d events", a.call.Operation.Name, after-before)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"call":  func(*rapid.T) { call() },
			"call2": func(*rapid.T) { call() },
			"again": func(*rapid.T) { again() },
			"tick":  func(*rapid.T) { now = now.Add(time.Second) },
			"sweep": func(*rapid.T) {
				if _, err := m.Sweep(t.Context()); err != nil {
					rt.Fatal(err)
				}
			},
			"deliver": func(*rapid.T) {
				if _, err := m.Deliver(t.Context()); err != nil {
					rt.Fatal(err)
				}
			},
			"": func(*rapid.T) {
				for f, err := range audit.Run(t.Context(), m) {
					rt.Fatalf("audit: %v %v", f, err)
				}
				for p, err := range m.List(t.Context(), driver.Query{}) {
					if err != nil {
						rt.Fatal(err)
					}
					folded, err := fsmimpl.Fold(storetest.Descriptor(storetest.Schema()), log(t, m, p.ID))
					if err != nil {
						rt.Fatal(err)
					}
					if diff := cmp.Diff(storetest.Encode(&p), storetest.Encode(&folded)); diff != "" {
						rt.Fatalf("record and fold (-record +fold):\n%s", diff)
					}
				}
			},
		})
	})
}
