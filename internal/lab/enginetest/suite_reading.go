package enginetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// reading seeds two records in every state and reads them back in every way;
// then the audit asks its probes.
func reading[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	if d, err := s.D.Open(t.Context(), st.Open(t), &fsmcases.Effects{}); !errors.Is(err, fsm.ErrSchemaMismatch) || d != nil {
		t.Errorf("Open before Migrate: %v, want ErrSchemaMismatch", err)
	}
	h := s.NewHarness(t, st)
	if slices.ContainsFunc(s.M.Operations, func(o *spec.Operation) bool { return len(o.AllAsks()) > 0 }) && h.D.Bare(t.Context(), h.Store) == nil {
		t.Error("Open without effects works, but the machine has some")
	}
	want := map[string][]string{} // ids by state
	for i, from := range s.M.States {
		for j := range 2 {
			r, ok := s.Cases.Whole(from)
			r.ID, r.UpdatedAt = fmt.Sprintf("record-%02d", 2*i+j), r.CreatedAt
			if ok {
				r = numbered(s.M, apart(s.M, r, fmt.Sprint(" #", 2*i+j)), int64(2*i+j+1))
			}
			if ok && h.Fits(r) {
				h.Seed(r)
				want[from.Name] = append(want[from.Name], r.ID)
			}
		}
	}
	s.DurableCount++
	for _, id := range sortedKeys(h.W.Records) {
		readBack(h, "after all", id)
	}
	if _, err := h.D.Record(h.Ctx, "nobody"); !errors.Is(err, fsm.ErrNotFound) {
		t.Errorf("Record of nobody: %v, want ErrNotFound", err)
	}
	var names []string
	for _, from := range s.M.States {
		names = append(names, from.Name)
	}
	listed(h, want, nil, names)
	for i := range names {
		listed(h, want, names[i:i+1], names[i:i+1])
		listed(h, want, names[i:], names[i:])
	}
	over, cancel := context.WithCancel(h.Ctx)
	cancel()
	if counts, err := h.D.Count(over); !errors.Is(err, context.Canceled) || len(counts) > 0 {
		t.Errorf("Count with a context that has ended: %v, %v", counts, err)
	}
	probed(h)
}

// listed compares List and Count for some states.
func listed[R any](h *world.Harness[R], want map[string][]string, asked, states []string) {
	h.T.Helper()
	var ids, got []string
	for _, name := range states {
		ids = append(ids, want[name]...)
	}
	slices.Sort(ids)
	for r, err := range h.D.List(h.Ctx, asked...) {
		if err != nil {
			h.T.Fatal(err)
		}
		got = append(got, h.S.D.Descriptor.Encode(&r).ID)
	}
	if !slices.Equal(ids, got) {
		h.T.Errorf("List(%s) gives %v, want %v", strings.Join(asked, ", "), got, ids)
	}
	counts, err := h.D.Count(h.Ctx, asked...)
	if err != nil {
		h.T.Fatal(err)
	}
	if len(counts) != len(states) {
		h.T.Errorf("Count(%s) = %v, want the states %v", strings.Join(asked, ", "), counts, states)
	}
	for _, name := range states {
		if counts[name] != int64(len(want[name])) {
			h.T.Errorf("Count(%s) has %d in %s, want %d", strings.Join(asked, ", "), counts[name], name, len(want[name]))
		}
	}
}

// probed lets the audit ask its probes: one that says no is a finding for each
// record in the states that name it, and for no other.
func probed[R any](h *world.Harness[R]) {
	h.T.Helper()
	asks := func(id, name string) bool {
		return slices.ContainsFunc(h.W.Records[id].State.Probes, func(p *spec.Probe) bool { return p.Name == name })
	}
	names, all := []string{""}, 0
	for _, p := range h.M.Probes {
		names = append(names, p.Name)
	}
	for _, no := range names {
		var want, got []string
		for _, id := range sortedKeys(h.W.Records) {
			if asks(id, no) {
				want = append(want, id)
			}
		}
		all += len(want)
		for f, err := range asking(h, func(name string) (bool, error) { return name != no, nil }) {
			switch {
			case err != nil:
				h.T.Fatal(err)
			case f.Check != audit.CheckProbe:
				h.T.Errorf("audit of sound records: %v", f)
			case !strings.HasPrefix(f.Message+" ", no+" ") || !f.Must:
				h.T.Errorf("audit, probe %s says no: %v", no, f)
			}
			got = append(got, f.ID)
		}
		if !slices.Equal(want, got) {
			h.T.Errorf("audit, probe %q says no: findings for %v, want %v", no, got, want)
		}
	}
	failed := errors.New("the probe cannot be asked")
	got := 0
	for f, err := range asking(h, func(string) (bool, error) { return true, failed }) {
		if err != nil || !strings.HasSuffix(f.Message, failed.Error()) {
			h.T.Errorf("audit with probes that fail: %v, %v", f, err)
		}
		got++
	}
	if got != all {
		h.T.Errorf("audit with probes that fail: %d findings, want %d", got, all)
	}
}

// asking audits the machine. Its probes, if it has any, answer as told.
func asking[R any](h *world.Harness[R], answer func(name string) (bool, error)) iter.Seq2[audit.Finding, error] {
	if h.D.Probes == nil {
		return audit.Run(h.Ctx, h.D.Core)
	}
	return audit.Run(h.Ctx, h.D.Core, h.D.Probes(answer)...)
}

// audited says what breaks a MUST after a walk.
func audited[R any](h *world.Harness[R]) {
	for f, err := range audit.Run(h.Ctx, h.D.Core) {
		if err != nil {
			h.T.Fatal(err)
		}
		if f.Must {
			h.T.Errorf("audit: %v", f)
		}
	}
}
