package fsm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A call may have MaxCall bytes of reason, labels and inputs together, and not
// one more.
func TestSizeOfCalls(t *testing.T) {
	t.Parallel()
	m := open(t, newStore(), storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	empty := must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", "x")))
	left := driver.MaxCall - len(empty.Events[0].Inputs.String())
	for name, fill := range map[string]func(c *fsmimpl.Call[storetest.Parcel], n int){
		"reason": func(c *fsmimpl.Call[storetest.Parcel], n int) { c.Reason = strings.Repeat("r", n) },
		"label": func(c *fsmimpl.Call[storetest.Parcel], n int) {
			c.Labels = map[string]string{"k": strings.Repeat("v", n-1)}
		},
		"key of label": func(c *fsmimpl.Call[storetest.Parcel], n int) {
			c.Labels = map[string]string{strings.Repeat("k", n-1): "v"}
		},
	} {
		call := note("", "x")
		fill(&call, left+1)
		_, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, call)
		var r *fsm.Refusal
		want := fmt.Sprintf("it has %d bytes, at most %d are possible", driver.MaxCall+1, driver.MaxCall)
		if !errors.As(err, &r) || r.Code != fsm.ErrTooLarge || r.Message != want {
			t.Errorf("%s: one byte too many: %v, want it too large: %s", name, err, want)
		}
		fill(&call, left)
		must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, call))
	}
}

// Times lie in the years that every store and format can hold.
func TestYearsOfCalls(t *testing.T) {
	t.Parallel()
	last := func() time.Time { return time.Date(9999, 6, 1, 0, 0, 0, 0, time.UTC) }
	m := open(t, newStore(), storetest.Schema(), fsm.WithClock(last), fsm.WithCallerTime())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	for year, good := range map[int]bool{-1: false, 0: false, 1: true, 9999: true, 10000: false} {
		call := note("", "x")
		call.At = time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		_, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, call)
		if good && err != nil {
			t.Errorf("the year %d: %v", year, err)
		}
		if !good {
			code(t, err, fsm.ErrInvalidInput, "at")
		}
	}
}

// Nobody decides on a stored record that no operation can have made, neither by
// its reference nor with a copy of it in hand, and the refusal says what is wrong.
func TestUnsoundRecords(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(p *storetest.Parcel){
		"holder is present (must)":          func(p *storetest.Parcel) { p.Holder = fsm.Optional[string]{} },
		"moves is -1, which nothing counts": func(p *storetest.Parcel) { p.Moves = -1 },
	} {
		store := newStore()
		m := open(t, store, storetest.Schema(), fixed())
		out := must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
		held := must(t)(m.Apply(t.Context(), out, storetest.Hold(meta(""), "a", start)))
		bad := held.Record
		bad.Rev++
		spoil(&bad)
		row := storetest.Encode(&bad)
		table, err := store.Table(storetest.Schema())
		if err != nil {
			t.Fatal(err)
		}
		w := &driver.Write{Prev: held.Ref(), PrevState: bad.State, Row: &row, Event: held.Events[0]}
		w.Event.Rev, w.Event.RequestID = bad.Rev, ""
		if err := table.Commit(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		for name, at := range map[string]fsm.Target{"reference": bad.Ref(), "record": bad} {
			_, err := m.Apply(t.Context(), at, note("", "x"))
			var r *fsm.Refusal
			if !errors.As(err, &r) || r.Code != fsm.ErrQuarantined || r.Message == "" && r.Cause == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("by %s: got %v, want it quarantined: %s", name, err, want)
			}
		}
	}
}

// A store that cannot say whether an id is free makes no record.
func TestCreateWithoutASight(t *testing.T) {
	t.Parallel()
	failed := errors.New("no sight")
	blind := true
	store := hooking(func(tx fsm.Tx) fsm.Tx {
		return &hooked{Tx: tx, row: func(id string) (driver.Row, error) {
			if blind {
				return driver.Row{}, failed
			}
			return tx.Row(id)
		}}
	})
	m := open(t, store, storetest.Schema(), fixed())
	call := storetest.Register(meta("r"), in("p1"))
	call.Peers = func(*storetest.Parcel, string) []driver.PeerQuery { return nil } // so that it is no single write
	if _, err := m.Create(t.Context(), call); !errors.Is(err, failed) {
		t.Errorf("got %v, want the store's error", err)
	}
	blind = false
	if out := must(t)(m.Create(t.Context(), call)); out.Replayed {
		t.Error("it was made without a sight")
	}
}

// The engine's refusals name a state as the specification does, not by the word
// that is stored; what is in no state has none.
func TestRefusalsNameTheState(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	for i := range schema.States {
		if s := &schema.States[i]; s.Stored == "waiting" {
			s.Name = "waiting room"
		}
	}
	m := open(t, newStore(), schema, fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta("r1"), in("p1"))))
	var r *fsm.Refusal
	if _, err := m.Create(t.Context(), storetest.Register(meta("r2"), in("p1"))); !errors.As(err, &r) || r.Code != fsm.ErrExists || r.State != "waiting room" {
		t.Errorf("got %v, want it refused by what is in the waiting room", err)
	}
	if _, err := m.Pick(t.Context(), 1, storetest.Hold(meta("r3"), "nowhere", start)); !errors.As(err, &r) || r.Code != fsm.ErrNothingToDo || r.State != "" {
		t.Errorf("got %v, want it refused in no state", err)
	}
}
