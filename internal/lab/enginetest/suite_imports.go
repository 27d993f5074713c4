package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/spec"
)

// importsIn is how many sound records are imported in each state, and how many that are not.
const importsIn = 4

// imports runs importsTo over every store that the machine has a schema for. One whose effects
// are part of transactions opens over the stores of its tests only.
func imports[R any](s *world.Suite[R], t *testing.T) {
	bound := slices.ContainsFunc(s.M.Operations, func(o *spec.Operation) bool { return o.MayAsk(true) })
	for _, st := range append([]world.Store{world.Memory}, strict...) {
		tested := slices.ContainsFunc(s.Stores, func(o world.Store) bool { return o.Name == st.Name })
		if st.Name == world.Memory.Name || tested || !bound && s.D.Descriptor.Schema.SQL[st.Name] != "" {
			t.Run(st.Name, func(t *testing.T) { importsTo(s, t, st) })
		}
	}
}

// importsTo takes records of every state over from elsewhere: those that keep the
// rules of their state, and others.
func importsTo[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	h := s.NewHarness(t, st)
	taken := interp.World{}
	should := map[string]int{} // by record: what an audit has to warn of
	n := 0
	enter := func(r interp.Record) {
		n++
		r.ID, r.UpdatedAt = fmt.Sprintf("record-%02d", n), r.CreatedAt
		r = numbered(s.M, apart(s.M, r, fmt.Sprint(" #", n)), int64(n))
		if enters(h, r, verdict(s.M, r, taken)) {
			taken = taken.With(r)
			should[r.ID] = len(interp.Check(s.M, r))
		}
	}
	for _, state := range s.M.States {
		for _, list := range [][]interp.Record{s.Cases.Sound(state), s.Cases.Broken(state)} {
			for _, r := range list[:min(importsIn, len(list))] {
				enter(r)
			}
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
func verdict(m *spec.Machine, r interp.Record, taken interp.World) error {
	switch {
	case unwritten(m, r):
		return fsm.ErrInvalidInput
	case !world.MustHold(m, r):
		return fsm.ErrInvariant
	case taken.With(r).Clash(m):
		return fsm.ErrNotUnique
	}
	return nil
}

// enters imports a record and compares what became of it with what should.
func enters[R any](h *world.Harness[R], r interp.Record, want error) bool {
	h.T.Helper()
	h.S.DurableCount++
	rec, err := h.S.D.Descriptor.Decode(world.Row(h.M, r))
	if err != nil {
		h.T.Fatal(err)
	}
	call := fsm.Call{RequestID: h.RequestID(), Actor: "importer", Reason: "moves in"}
	first, err := h.D.Core.Import(h.Ctx, rec, call)
	if want != nil {
		if !errors.Is(err, want) {
			h.T.Errorf("%s of %v: %v, want %v", r.State.Name, r.Fields, err, want)
		}
		return false
	}
	if err != nil {
		h.T.Errorf("%s of %v: %v", r.State.Name, r.Fields, err)
		return false
	}
	r.Rev = 1
	if d := world.DiffRow(h.M, r, h.S.D.Descriptor.Encode(&first.Record)); d != "" {
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

// unwritten reports whether a record has a value that no input can bring.
func unwritten(m *spec.Machine, r interp.Record) bool {
	for i, f := range m.Fields {
		v := r.Fields[i]
		if v == interp.String("") && !f.Type.Optional || v.Kind == interp.KindSet && slices.Contains(v.Members(), "") ||
			v.Kind == interp.KindTime && v.AsTime().IsZero() || f.Type.Kind == spec.KindSequence && v.Num < 1 {
			return true
		}
	}
	return false
}
