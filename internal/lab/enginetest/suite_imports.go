package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// importsIn is how many sound records are imported in each state, and how many that are not.
const importsIn = 4

// imports runs importsTo over every store that the machine has a schema for. One whose effects
// are part of transactions opens over the stores of its tests only.
func imports[R any](s *world.Suite[R], t *testing.T) {
	bound := slices.ContainsFunc(s.M.Ops, func(o *oracle.Op) bool { return o.Atomic })
	for _, st := range append([]world.Store{world.Memory}, strict...) {
		tested := slices.ContainsFunc(s.Stores, func(o world.Store) bool { return o.Name == st.Name })
		if st.Name == world.Memory.Name || tested || !bound && s.D.Descriptor.Schema.SQL[st.Name] != "" {
			t.Run(st.Name, func(t *testing.T) { importsTo(s, t, st) })
		}
	}
}

// importsTo takes made-up records of every state over from elsewhere: those that keep the
// rules of their state, and others.
func importsTo[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	h := s.NewHarness(t, st)
	var taken []driver.Row
	should := map[string]int{} // by record: what an audit has to warn of
	for i, state := range s.M.StateOrder {
		sound := soundIn(s.M, state, importsIn)
		if len(sound) == 0 {
			oracle.Unseen(t, state.Witnesses, "sound", "no record breaks no rule in "+state.Name)
		}
		for j, r := range sound {
			n := importsIn*i + j
			r.ID, r.UpdatedAt = fmt.Sprintf("record-%02d", n), r.CreatedAt
			apart(s.M, &oracle.Op{}, &oracle.Case{Row: r, Call: oracle.Call{Inputs: map[string]any{}}}, n)
			numberOf(s.M, &r, int64(n+1))
			if enters(h, r, verdict(s.M, r, taken)) {
				taken = append(taken, r)
				should[r.ID] = len(s.M.Broken(r))
			}
		}
		for _, r := range broken(s.M, state) {
			enters(h, r, verdict(s.M, r, nil))
		}
	}
	if len(h.Fx.Done()) > 0 {
		t.Errorf("imports performed the effects %v", h.Fx.Done())
	}
	for f, err := range audit.Run(h.Ctx, h.D.Core) {
		if should[f.ID]--; err != nil || f.Must || should[f.ID] < 0 {
			t.Errorf("audit: %v, %v", f, err)
		}
	}
	for id, n := range should {
		if n > 0 {
			t.Errorf("the audit is silent about %d SHOULD of %s", n, id)
		}
	}
}

// verdict is what an import of a record has to say, after those that were taken.
func verdict(m *world.Model, r driver.Row, taken []driver.Row) error {
	switch {
	case unwritten(m, r):
		return fsm.ErrInvalidInput
	case !m.MustHold(r):
		return fsm.ErrInvariant
	case slices.ContainsFunc(taken, func(o driver.Row) bool { return len(clashes(m, o, r)) > 0 }):
		return fsm.ErrNotUnique
	}
	return nil
}

// enters imports a record and compares what became of it with what should.
func enters[R any](h *world.Harness[R], r driver.Row, want error) bool {
	h.T.Helper()
	h.S.DurableCount++
	rec, err := h.S.D.Descriptor.Decode(r)
	if err != nil {
		h.T.Fatal(err)
	}
	call := fsm.Call{RequestID: h.RequestID(), Actor: "importer", Reason: "moves in"}
	first, err := h.D.Core.Import(h.Ctx, rec, call)
	if want != nil {
		if !errors.Is(err, want) {
			h.T.Errorf("%s of %v: %v, want %v", r.State, r.Values, err, want)
		}
		return false
	}
	if err != nil {
		h.T.Errorf("%s of %v: %v", r.State, r.Values, err)
		return false
	}
	r.Rev = 1
	if d := h.M.DiffRows(r, h.S.D.Descriptor.Encode(&first.Record)); d != "" {
		h.T.Errorf("%s: the outcome: %s", r.ID, d)
	}
	if stored, err := h.D.Record(h.Ctx, r.ID); err != nil || !h.S.D.Equal(stored, first.Record) {
		h.T.Errorf("%s is stored as %v, %v, want %v", r.ID, stored, err, first.Record)
	}
	again, err := h.D.Core.Import(h.Ctx, rec, call)
	if call.RequestID == "" {
		if !errors.Is(err, fsm.ErrExists) {
			h.T.Errorf("%s again: %v, want ErrExists", r.ID, err)
		}
	} else if err != nil || !again.Replayed || !h.S.D.Equal(again.Record, first.Record) {
		h.T.Errorf("%s again: %+v, %v, want a replay", r.ID, again, err)
	}
	return true
}

// broken returns made-up records in a state that break a MUST of it.
func broken(m *world.Model, st *oracle.StateInfo) []driver.Row {
	rows := recordsIn(m, st, 16*importsIn)
	for i := range rows {
		rows[i].ID, rows[i].UpdatedAt = "broken", rows[i].CreatedAt
	}
	rows = slices.DeleteFunc(rows, m.MustHold)
	return rows[:min(importsIn, len(rows))]
}

// unwritten reports whether a record has a value that no input can bring.
func unwritten(m *world.Model, r driver.Row) bool {
	return slices.ContainsFunc(m.Order, func(name string) bool {
		f := m.FieldByName[name]
		switch v := r.Values[f.Index].(type) {
		case string:
			return f.Kind == driver.KindString && !f.Optional && v == "" || f.Kind == driver.KindSet && strings.Contains(v, `""`)
		case time.Time:
			return v.IsZero()
		case int64:
			return f.Kind == driver.KindSequence && v < 1
		}
		return false
	})
}
