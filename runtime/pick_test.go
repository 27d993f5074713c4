package fsm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A record that turns out not to be takeable after something was written is
// passed over, and the others are taken all the same.
func TestPickPassesOverLateRefusals(t *testing.T) {
	t.Parallel()
	d := storetest.Descriptor(storetest.Schema())
	var expel *fsmimpl.Operation[storetest.Parcel]
	for i, op := range d.Operations {
		if op.Name == "expel" {
			picking := *op
			picking.Picks = true
			d.Operations[i], expel = &picking, &picking
		}
	}
	store := newStore()
	open(t, store, storetest.Schema())
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"p1", "p2", "p3", "p4"} {
		in := in(id)
		if i%2 == 0 { // what is weighed is not discarded, so the step of `then` refuses it
			in.Weight = fsm.Some(int64(1))
		}
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in)))
		must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	}
	before := len(log(t, m, ""))
	call := storetest.Expel(meta("r"))
	call.Operation = expel
	outs, err := m.Pick(t.Context(), 4, call)
	if err != nil || len(outs) != 2 || outs[0].Record.ID != "p2" || outs[1].Record.ID != "p4" {
		t.Fatalf("got %v, %v, want p2 and p4", outs, err)
	}
	if outs[0].Events[0].RequestN != 0 || outs[1].Events[0].RequestN != 1 {
		t.Error("the numbers of the batch have a gap")
	}
	if n := len(log(t, m, "")) - before; n != 4 {
		t.Errorf("%d new events, want two for each of two records", n)
	}
	again, err := m.Pick(t.Context(), 1, call)
	if err != nil || len(again) != 2 || !again[1].Replayed || again[1].Record.Rev != outs[1].Record.Rev {
		t.Errorf("replay: %v, %v", again, err)
	}
	_, err = m.Pick(t.Context(), 1, func() fsmimpl.Call[storetest.Parcel] { c := call; c.RequestID = "s"; return c }())
	if !errors.Is(err, fsm.ErrNothingToDo) {
		t.Errorf("got %v, want ErrNothingToDo", err)
	}
	if list := findings(t, m); list != nil {
		t.Errorf("audit: %v", list)
	}
}

// A place that is taken makes the pick go on with the next record.
func TestPickPassesOverTakenPlaces(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	for _, id := range []string{"p1", "p2", "p3"} {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
	}
	call := storetest.Hold(meta("r"), "a", start)
	hold := call.Decide
	call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		if _, err := hold(p, id, peers, now); err != nil {
			return fsmimpl.Step{}, err
		}
		p.State, p.Holder, p.Slot = "shelved", fsm.Optional[string]{}, fsm.Some("s") // all into one slot
		return fsmimpl.Step{From: "waiting", To: "shelved"}, nil
	}
	outs, err := m.Pick(t.Context(), 3, call)
	if err != nil || len(outs) != 1 || outs[0].Record.ID != "p1" {
		t.Errorf("got %v, %v, want p1 only", outs, err)
	}
	call.RequestID = "s"
	if _, err := m.Pick(t.Context(), 3, call); !errors.Is(err, fsm.ErrNothingToDo) {
		t.Errorf("got %v, want ErrNothingToDo", err)
	}
}

// A refusal of the call itself ends the pick: no other record would take it.
func TestPickReturnsRefusalsOfTheCall(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	call := storetest.Hold(meta("r"), "a", start)
	call.Decide = func(*storetest.Parcel, string, []int64, time.Time) (fsmimpl.Step, error) {
		return fsmimpl.Step{}, &fsm.Refusal{Code: fsm.ErrInvalidInput, Machine: "parcel", Operation: "hold", Name: "due"}
	}
	_, err := m.Pick(t.Context(), 1, call)
	code(t, err, fsm.ErrInvalidInput, "due")
}

// A record that goes to another group takes its number of a sequence with it.
// Where that is taken it is refused at once, for looking again helps only a
// creation, and a pick passes over it.
func TestNumberTakenElsewhere(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	schema.Columns[schema.Column("weight")].Kind = driver.KindSequence
	schema.Uniques = append(schema.Uniques, driver.UniqueRule{Name: "sequence_weight", Columns: []string{"lane", "weight"}})
	m := open(t, newStore(), schema, fixed())
	for i, id := range []string{"p1", "p2", "p3"} {
		in := in(id)
		in.Lane, in.Weight = []string{"a", "b", "a"}[i], fsm.Some([]int64{1, 1, 2}[i])
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in)))
	}
	asked := 0
	call := storetest.Hold(meta("r"), "a", start)
	call.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
		asked++
		p.Lane, p.Rev = "b", p.Rev+1
		return fsmimpl.Step{From: "waiting", To: "waiting"}, nil
	}
	_, err := m.Apply(t.Context(), fsm.Ref{ID: "p1", Rev: 1}, call)
	if code(t, err, fsm.ErrNotUnique, "sequence_weight"); asked != 1 {
		t.Errorf("decided %d times, want once", asked)
	}
	outs, err := m.Pick(t.Context(), 1, call)
	if err != nil || len(outs) != 1 || outs[0].Record.ID != "p3" {
		t.Errorf("got %v, %v, want p3", outs, err)
	}
}

// A record that may be taken again where it is, is taken once by one pick.
func TestPickTakesEachRecordOnce(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	for i := range 4 {
		input := in(string(rune('a' + i)))
		input.Weight = fsm.Some(int64(9 - i))
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), input)))
	}
	call := storetest.Hold(meta("r"), "a", start)
	call.Fits = func(p *storetest.Parcel, _ time.Time) bool { return p.ID != "b" } // the look has to become wider
	call.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
		p.Rev++
		return fsmimpl.Step{From: "waiting", To: "waiting"}, nil
	}
	outs, err := m.Pick(t.Context(), 2, call)
	if err != nil || len(outs) != 2 || outs[0].Record.ID != "a" || outs[1].Record.ID != "c" {
		t.Errorf("got %v, %v, want a and c", outs, err)
	}
}

// A pick whose commit lands only after the look for it is met by the next try.
func TestPickThatLandsLate(t *testing.T) {
	t.Parallel()
	var late func(fsm.Tx) error
	hold, updates := false, 0
	store := &wrapped{Store: newStore(), update: func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if !hold {
			return table.Update(ctx, f)
		}
		if updates++; updates == 1 {
			late = f
			never := errors.New("not yet")
			if err := table.Update(ctx, func(tx fsm.Tx) error { return errors.Join(f(tx), never) }); !errors.Is(err, never) {
				t.Errorf("the first try ended with %v", err)
			}
			return &fsm.AmbiguousError{Err: errors.New("lost")}
		}
		if late != nil {
			landing := late
			late = nil
			if err := table.Update(ctx, landing); err != nil {
				return err
			}
		}
		return table.Update(ctx, f)
	}}
	m := open(t, store, storetest.Schema(), fixed())
	for _, id := range []string{"p1", "p2"} {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
	}
	hold = true
	outs, err := m.Pick(t.Context(), 1, storetest.Hold(meta(""), "a", start))
	if err != nil || len(outs) != 1 || outs[0].Record.ID != "p1" || outs[0].Replayed {
		t.Errorf("got %v, %v, want p1 by the try that landed late", outs, err)
	}
	counts, err := m.Count(t.Context(), "held")
	if err != nil || counts["held"] != 1 {
		t.Errorf("%v are held (%v), want one", counts, err)
	}
}

// An atomic effect may fail with a refusal of another machine, which says
// nothing about the record: all is taken back.
func TestPickWithAnEffectThatIsRefused(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"hold": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{{Name: "charge", Atomic: true}}
		},
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
		if p.ID == "p1" {
			return &fsm.Refusal{Code: fsm.ErrGuard, Machine: "account", Guard: "covered"}
		}
		return nil
	}), fixed())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"p1", "p2"} {
		must(t)(m.Create(t.Context(), storetest.Register(meta(""), in(id))))
	}
	call := storetest.Hold(meta("r"), "a", start)
	call.Operation = ops["hold"]
	outs, err := m.Pick(t.Context(), 1, call)
	if !errors.Is(err, fsm.ErrEffect) || outs != nil {
		t.Errorf("got %v, %v, want the effect's failure", outs, err)
	}
	counts, err := m.Count(t.Context(), "held")
	if err != nil || counts["held"] != 0 {
		t.Errorf("%v are held (%v), want none", counts, err)
	}
}
