package fsmtest

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// patience is how long a test waits for what should take milliseconds.
const patience = 20 * time.Second

// worker runs a worker over one record: it claims it, keeps it alive, is told of
// the failure of the work, and hands back what it stops in the midst of.
func (s *suite[R]) worker(t *testing.T, st Store) {
	if s.newHarness(t, st).d.Worker == nil {
		t.Skip("no workers run over this machine: it has no `next` that leads to a state which an operation keeps alive until a deadline")
	}
	for _, end := range []string{"failed", "released"} {
		t.Run(end, func(t *testing.T) { s.workOn(t, st, end) })
	}
	w := s.newHarness(t, st).d.Worker
	work := func(context.Context, R) error { return nil }
	failed := func(context.Context, R, error) error { return nil }
	o := fsm.WorkerOptions{Lease: time.Minute}
	if _, err := w.New("w", o, nil, nil, failed); err == nil {
		t.Error("there is a worker that does no work")
	}
	if _, err := w.New("w", o, work, nil, nil); err == nil {
		t.Error("there is a worker that says nothing of failures")
	}
	if _, err := w.New("w", fsm.WorkerOptions{}, work, nil, failed); err == nil {
		t.Error("there is a worker without a lease")
	}
}

func (s *suite[R]) workOn(t *testing.T, st Store, end string) {
	h := s.newHarness(t, st)
	w := h.d.Worker
	pick := s.m.operation(w.Pick)
	var c theCase
	for _, name := range s.m.allowed(pick) {
		if found, ok := s.m.pickable(pick, s.m.states[name], nil); ok {
			c = found
			break
		}
	}
	if c.row.ID == "" {
		t.Skip("no record is found that a worker can claim")
	}
	h.seed(c.row)
	ctx, stop := context.WithTimeout(h.ctx, 2*patience)
	defer stop()
	id, broke := c.row.ID, errors.New("broke")
	rev := func(r R) int64 { return s.d.Descriptor.Encode(&r).Rev }
	work := func(ctx context.Context, r R) error {
		for begun := time.Now(); ; time.Sleep(time.Millisecond) { // until it was kept alive twice
			now, err := h.d.Record(context.WithoutCancel(ctx), id)
			if err != nil {
				return err
			}
			if rev(now) >= rev(r)+2 {
				break
			}
			if time.Since(begun) > patience {
				return errors.New("nobody kept the record alive")
			}
		}
		if end == "failed" {
			return broke
		}
		stop()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	got := ""
	told := func(how string) func(context.Context, R, error) error {
		return func(_ context.Context, r R, cause error) error {
			got = how
			if row := s.d.Descriptor.Encode(&r); row.ID != id || row.Rev < 4 {
				t.Errorf("%s: told of %v", how, row.Ref())
			}
			if how == "failed" && !errors.Is(cause, broke) {
				t.Errorf("told of another failure: %v", cause)
			}
			stop()
			return nil
		}
	}
	o := fsm.WorkerOptions{Lease: time.Hour, Beat: 2 * time.Millisecond, Grace: -1, Log: slog.New(slog.DiscardHandler)}
	release := told("released")
	worker, err := w.New("the worker", o, work, func(ctx context.Context, r R) error { return release(ctx, r, nil) }, told("failed"))
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got != end {
		t.Errorf("the end of the work was %q, want %q", got, end)
	}
	h.workLog(id, w, o.Lease)
}

// workLog looks at what a worker has written.
func (h *harness[R]) workLog(id string, w *Working[R], lease time.Duration) {
	h.t.Helper()
	n := 0
	for e, err := range h.d.History(h.ctx, id) {
		if err != nil {
			h.t.Fatal(err)
		}
		want := w.Beat
		switch n++; n {
		case 1:
			continue // how the record came here
		case 2:
			want = w.Pick
		}
		if e.Operation != h.m.operation(want).stored || e.Actor != "the worker" || strings.HasPrefix(e.RequestID, "sys:") != (h.m.RequestID == "none") {
			h.t.Errorf("event %d is %s of %q under request %q; want %s of the worker", n, e.Operation, e.Actor, e.RequestID, want)
		}
	}
	if n < 4 {
		h.t.Errorf("%d events, want the claim and two heartbeats at least", n-1)
	}
	if w.Deadline == "" {
		return
	}
	rec, err := h.d.Record(h.ctx, id)
	if err != nil {
		h.t.Fatal(err)
	}
	row := h.s.d.Descriptor.Encode(&rec)
	until := fsm.Time(asSent(h.clock).Add(lease))
	if v, ok := row.Values[h.m.fields[w.Deadline].index].(time.Time); !ok || !v.Equal(until) {
		h.t.Errorf("it is held until %v, want %v", row.Values[h.m.fields[w.Deadline].index], until)
	}
}
