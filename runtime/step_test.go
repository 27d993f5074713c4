package fsm_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// What a pure method says and what it did must agree.
func TestWrongPureMethods(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	for name, wrong := range map[string]func(p *storetest.Parcel, s *fsmimpl.Step){
		"another record":   func(p *storetest.Parcel, _ *fsmimpl.Step) { p.ID = "p2" },
		"two revisions":    func(p *storetest.Parcel, _ *fsmimpl.Step) { p.Rev++ },
		"no revision":      func(p *storetest.Parcel, _ *fsmimpl.Step) { p.Rev-- },
		"another state":    func(p *storetest.Parcel, _ *fsmimpl.Step) { p.State = "shelved" },
		"out of elsewhere": func(_ *storetest.Parcel, s *fsmimpl.Step) { s.From = "shelved" },
	} {
		call := storetest.Hold(meta("r"), "a", start)
		decide := call.Decide
		call.Decide = func(p *storetest.Parcel, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
			s, err := decide(p, id, peers, now)
			wrong(p, &s)
			return s, err
		}
		if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, call); err == nil || !strings.Contains(err.Error(), "the pure method is wrong") {
			t.Errorf("%s: got %v, want it to be called wrong", name, err)
		}
	}
	create := storetest.Register(meta("c"), in("p2"))
	create.Decide = func(*storetest.Parcel, string, []int64, time.Time) (fsmimpl.Step, error) {
		return fsmimpl.Step{RecordOnly: true}, nil
	}
	if _, err := m.Create(t.Context(), create); err == nil || !strings.Contains(err.Error(), "a creation cannot be recorded only") {
		t.Errorf("got %v, want that nothing can be recorded of what is not there", err)
	}
	grown(t, m, 0)
}

// A revision does not wrap. Only manual changes store the greatest one, where no database stands against it.
func TestLastRevision(t *testing.T) {
	t.Parallel()
	store := newStore()
	m := open(t, store, storetest.Schema(), fixed())
	p := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1")))).Record
	p.Rev = math.MaxInt64
	table, err := store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	row := storetest.Encode(&p)
	err = table.Update(t.Context(), func(tx fsm.Tx) error {
		return tx.Restore(&row, &fsm.Event{ID: "p1", Rev: p.Rev, Operation: "__repair", Name: "__repair", From: p.State, To: p.State, At: start})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []fsmimpl.Target{p, fsm.Ref{ID: "p1"}} {
		_, err := m.Apply(t.Context(), at, storetest.Hold(meta(""), "a", start))
		var r *fsm.Refusal
		if !errors.As(err, &r) || r.Code != fsm.ErrOverflow || r.Name != "rev" || r.State != "waiting" {
			t.Errorf("got %v, want an overflow of rev", err)
		}
	}
}

// A step that needs nothing but the record is one conditional write, and an
// effect that comes after the commit, with what follows it, changes nothing in that.
func TestOneWrite(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	if _, err := m.Startup(t.Context()); err != nil {
		t.Fatal(err)
	}
	updates := 0
	store.update = func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		updates++
		return table.Update(ctx, f)
	}
	one := func(name string, out outcome, err error) outcome {
		t.Helper()
		if err != nil || updates > 0 {
			t.Fatalf("%s: %v after %d transactions, want a single write", name, err, updates)
		}
		return out
	}
	shelved := func(id string) outcome {
		out, err := m.Create(t.Context(), storetest.Register(meta(""), in(id)))
		one("register", out, err)
		out, err = m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start))
		one("hold", out, err)
		out = must(t)(m.Apply(t.Context(), out, storetest.Shelve(meta(""), id, "t"))) // which counts others
		updates = 0
		return out
	}
	out, err := m.Apply(t.Context(), shelved("p1"), storetest.Send(meta("")))
	one("send", out, err)
	out, err = m.Apply(t.Context(), shelved("p2"), storetest.Dispatch(meta("")))
	one("dispatch", out, err)
}

// What follows an atomic effect follows in its transaction, and nothing follows
// what was recorded only.
func TestThenOfStepsWithEffects(t *testing.T) {
	t.Parallel()
	store := newStore()
	open(t, store, storetest.Schema())
	d, ops := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"expel": func(op *fsmimpl.Operation[storetest.Parcel]) {
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{{Name: "charge", Atomic: true}}
		},
	})
	performed := 0
	m, err := fsm.NewMachine(t.Context(), store, d, effects(
		func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { performed++; return nil }), fixed())
	if err != nil {
		t.Fatal(err)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	out = must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
	call := storetest.Expel(meta("r"))
	call.Operation = ops["expel"]
	only := call
	only.RequestID = "only"
	only.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
		return fsmimpl.Step{From: p.State, To: p.State, RecordOnly: true}, nil
	}
	recorded := must(t)(m.Apply(t.Context(), out, only))
	if len(recorded.Events) != 1 || !recorded.RecordOnly || performed != 0 || recorded.Record.State != "held" {
		t.Errorf("got %+v and %d effects, want it recorded and no more", recorded, performed)
	}
	out = must(t)(m.Apply(t.Context(), out, call))
	if len(out.Events) != 2 || out.Record.State != "sent" || performed != 1 {
		t.Errorf("got %+v and %d effects, want two steps and one effect", out, performed)
	}
}

// A creation that meets its own dedupe rule, or a number that somebody else has
// just been given, looks again; any other rule refuses it at once.
func TestConflictsOfCreations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, rule string
		kind       driver.Kind // of weight
		again      bool
	}{
		{"dedupe", "dedupe_register", driver.KindInt, true},
		{"a sequence", "sequence_weight", driver.KindSequence, true},
		{"the name of a sequence", "sequence_weight", driver.KindInt, false},
		{"another rule beside a sequence", "one_per_slot", driver.KindSequence, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			store := hooking(func(tx fsm.Tx) fsm.Tx {
				return &hooked{Tx: tx, write: func(w *driver.Write) error {
					if writes++; writes == 1 {
						return &driver.ConflictError{Rule: tt.rule}
					}
					return tx.Write(w)
				}}
			})
			schema := storetest.Schema()
			schema.Columns[schema.Column("weight")].Kind = tt.kind
			m := open(t, store, schema, fixed())
			call := storetest.Register(meta("r"), in("p1"))
			call.Peers = func(*storetest.Parcel, string) []driver.PeerQuery { return nil } // so that it is no single write
			out, err := m.Create(t.Context(), call)
			if tt.again {
				if err != nil || out.Record.ID != "p1" || writes != 2 {
					t.Errorf("got %+v, %v after %d writes, want p1 after two", out, err, writes)
				}
				return
			}
			if code(t, err, fsm.ErrNotUnique, tt.rule); writes != 1 {
				t.Errorf("%d writes, want one", writes)
			}
		})
	}
}

// Only a step leaves a revision, whose effect is of no use any more then where
// each effect has something that follows it.
func TestLeave(t *testing.T) {
	t.Parallel()
	store := &wrapped{Store: newStore()}
	open(t, store, storetest.Schema())
	d, _ := changed(map[string]func(*fsmimpl.Operation[storetest.Parcel]){
		"send": func(op *fsmimpl.Operation[storetest.Parcel]) { op.Asks = nil },
	})
	m, err := fsm.NewMachine(t.Context(), store, d, effects(nil), fixed())
	if err != nil {
		t.Fatal(err)
	}
	var leaves []bool
	store.commit = func(table driver.Table, ctx context.Context, w *driver.Write) error {
		leaves = append(leaves, w.Leave)
		return table.Commit(ctx, w)
	}
	out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	must(t)(m.Apply(t.Context(), out, note("", "x")))
	if len(leaves) != 2 || leaves[0] || !leaves[1] {
		t.Errorf("left %v, want the step only to leave something", leaves)
	}
}
