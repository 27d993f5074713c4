package fsmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// reading seeds two records in every state and reads them back in every way;
// then the audit asks its probes.
func (s *suite[R]) reading(t *testing.T, st Store) {
	if d, err := s.d.Open(t.Context(), st.Open(t), &Effects{}); !errors.Is(err, fsm.ErrSchemaMismatch) || d != nil {
		t.Errorf("Open before Migrate: %v, want ErrSchemaMismatch", err)
	}
	h := s.newHarness(t, st)
	if slices.ContainsFunc(s.m.operations, func(o *operation) bool { return o.Effect != "" }) {
		if d, err := s.d.Open(t.Context(), h.store, nil); err == nil || d != nil {
			t.Error("Open without effects works, but the machine has some")
		}
	}
	want := map[string][]string{} // ids by state
	for i, from := range s.m.stateOrder {
		for j := range 2 {
			r, ok := s.m.soundRow(from)
			if !ok {
				unseen(t, from.Witnesses, "sound", "no record breaks no rule in "+from.Name)
				break
			}
			r.ID, r.UpdatedAt = fmt.Sprintf("record-%02d", 2*i+j), r.CreatedAt
			if !s.m.apart(&operation{}, &theCase{row: r, call: Call{Inputs: map[string]any{}}}, 2*i+j) && j > 0 {
				continue
			}
			s.m.number(&r, int64(2*i+j+1))
			h.seed(r)
			want[from.Name] = append(want[from.Name], r.ID)
		}
	}
	s.durableCount++
	for _, id := range sortedKeys(h.w.rows) {
		r, err := h.d.Record(h.ctx, id)
		if err != nil {
			t.Errorf("Record(%s): %v", id, err)
		} else if d := s.m.diffRows(h.w.rows[id], s.d.Descriptor.Encode(&r)); d != "" {
			t.Errorf("Record(%s): %s", id, d)
		}
		var events []fsm.Event
		for e, err := range h.d.History(h.ctx, id) {
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, e)
		}
		h.sameLog("History", id, h.w.logs()[id], events)
	}
	if _, err := h.d.Record(h.ctx, "nobody"); !errors.Is(err, fsm.ErrNotFound) {
		t.Errorf("Record of nobody: %v, want ErrNotFound", err)
	}
	var names []string
	for _, from := range s.m.stateOrder {
		names = append(names, from.Name)
	}
	h.listed(want, nil, names)
	for i := range names {
		h.listed(want, names[i:i+1], names[i:i+1])
		h.listed(want, names[i:], names[i:])
	}
	over, cancel := context.WithCancel(h.ctx)
	cancel()
	if counts, err := h.d.Count(over); !errors.Is(err, context.Canceled) || len(counts) > 0 {
		t.Errorf("Count with a context that has ended: %v, %v", counts, err)
	}
	h.probed()
}

// listed compares List and Count for some states.
func (h *harness[R]) listed(want map[string][]string, asked, states []string) {
	h.t.Helper()
	var ids, got []string
	for _, name := range states {
		ids = append(ids, want[name]...)
	}
	slices.Sort(ids)
	for r, err := range h.d.List(h.ctx, asked...) {
		if err != nil {
			h.t.Fatal(err)
		}
		got = append(got, h.s.d.Descriptor.Encode(&r).ID)
	}
	if !slices.Equal(ids, got) {
		h.t.Errorf("List(%s) gives %v, want %v", strings.Join(asked, ", "), got, ids)
	}
	counts, err := h.d.Count(h.ctx, asked...)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(counts) != len(states) {
		h.t.Errorf("Count(%s) = %v, want the states %v", strings.Join(asked, ", "), counts, states)
	}
	for _, name := range states {
		if counts[name] != int64(len(want[name])) {
			h.t.Errorf("Count(%s) has %d in %s, want %d", strings.Join(asked, ", "), counts[name], name, len(want[name]))
		}
	}
}

// probed lets the audit ask its probes: one that says no is a finding for each
// record in the states that name it, and for no other.
func (h *harness[R]) probed() {
	h.t.Helper()
	names := map[string]bool{"": true}
	for _, st := range h.m.stateOrder {
		for _, p := range list(st.Probes) {
			names[p] = true
		}
	}
	for no := range names {
		var want, got []string
		for _, id := range sortedKeys(h.w.rows) {
			if slices.Contains(list(h.m.stateOf(h.w.rows[id].State).Probes), no) && no != "" {
				want = append(want, id)
			}
		}
		for f, err := range h.d.Audit(h.ctx, func(name string) (bool, error) { return name != no, nil }) {
			switch {
			case err != nil:
				h.t.Fatal(err)
			case f.Check != audit.CheckProbe:
				h.t.Errorf("audit of sound records: %v", f)
			case !strings.HasPrefix(f.Message+" ", no+" ") || !f.Must:
				h.t.Errorf("audit, probe %s says no: %v", no, f)
			}
			got = append(got, f.ID)
		}
		if !slices.Equal(want, got) {
			h.t.Errorf("audit, probe %q says no: findings for %v, want %v", no, got, want)
		}
	}
	failed := errors.New("the probe cannot be asked")
	if len(names) == 1 {
		return
	}
	var last error
	for _, err := range h.d.Audit(h.ctx, func(string) (bool, error) { return true, failed }) {
		last = err
	}
	if !errors.Is(last, failed) {
		h.t.Errorf("audit with a probe that fails ends with %v, want its error", last)
	}
}
