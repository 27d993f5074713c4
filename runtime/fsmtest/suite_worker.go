package fsmtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// patience is how long a test waits for what should take milliseconds.
const patience = 20 * time.Second

// theWorker is the actor of the workers that are tested.
const theWorker = "the worker"

// worker runs a worker over one record: it claims it, keeps it alive wherever the
// work takes it, is told of the failure of the work, and hands back what it stops
// in the midst of.
func (s *suite[R]) worker(t *testing.T, st Store) {
	if s.newHarness(t, st).d.Worker == nil {
		t.Skip("no workers run over this machine: it has no `next` that leads to a state which an operation keeps alive until a deadline")
	}
	h := s.newHarness(t, st)
	w := h.d.Worker
	for _, path := range h.alive(w) {
		name := ""
		for _, o := range path {
			name += " after " + o.Name
		}
		for _, end := range []string{"failed", "released"} {
			t.Run(end+name, func(t *testing.T) { s.workOn(t, st, end, path) })
		}
	}
	work := func(context.Context, *fsm.Held[R]) error { return nil }
	failed := func(context.Context, R, error) error { return nil }
	o := worker.Options{Lease: time.Minute}
	if _, err := w.New("w", o, nil, nil, failed); err == nil {
		t.Error("there is a worker that does no work")
	}
	if _, err := w.New("w", o, work, nil, nil); err == nil {
		t.Error("there is a worker that says nothing of failures")
	}
	if _, err := w.New("w", worker.Options{}, work, nil, failed); err == nil {
		t.Error("there is a worker without a lease")
	}
}

// alive lists how the work can go on without leaving the states in which the
// worker keeps its record alive: to each of them by the fewest operations. The
// first way stays where the pick leads to.
func (h *harness[R]) alive(w *Working[R]) [][]*operation {
	beat := h.m.operation(w.Beat)
	pick := h.m.operation(w.Pick)
	at := pick.cells[h.m.allowed(pick)[0]].to
	ways, order := map[string][]*operation{at: nil}, []string{at}
	for n := 0; n < len(order); n++ {
		for _, o := range h.m.operations {
			c := o.cells[order[n]]
			if _, known := ways[c.to]; known || c.kind != cellMove || o.Then != "" || h.d.Operations[o.Name].Held == nil || beat.cells[c.to].to != c.to {
				continue
			}
			ways[c.to] = append(slices.Clone(ways[order[n]]), o)
			order = append(order, c.to)
		}
	}
	var list [][]*operation
	for _, name := range order {
		list = append(list, ways[name])
	}
	return list
}

// step looks for a call by which the actor moves the record, and returns what
// becomes of it.
func (h *harness[R]) step(o *operation, row driver.Row, actor string) (Call, driver.Row, bool) {
	for c := range h.m.cases(o, h.m.stateOf(row.State)) {
		c.call.Actor, c.call.At, c.call.Peers = actor, h.clock, nil
		if v := h.m.decide(o, row, c.call); moves(v) {
			return c.clone().call, v.row, true
		}
	}
	return Call{}, driver.Row{}, false
}

// walk makes the calls of a way by the newest handle of the record.
func (h *harness[R]) walk(ctx context.Context, held *fsm.Held[R], path []*operation) error {
	for _, o := range path {
		rec := held.Newest().Held()
		row := h.s.d.Descriptor.Encode(&rec)
		from := h.m.stateOf(row.State)
		call, _, ok := h.step(o, row, held.Actor())
		if !ok {
			return fmt.Errorf("no call of %s is found for %s", o.Name, h.m.showRow(row))
		}
		out, end, err := h.d.Operations[o.Name].Held(ctx, held.Newest(), call)
		if err != nil {
			return err
		}
		if is := h.m.stateOf(h.s.d.Descriptor.Encode(&out.Record).State).Name; end != is || is != o.cells[from.Name].to {
			return fmt.Errorf("%s led from %s to %s, the handle is of %s", o.Name, from.Name, is, end)
		}
	}
	return nil
}

func (s *suite[R]) workOn(t *testing.T, st Store, end string, path []*operation) {
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
	row := c.row
	for _, o := range append([]*operation{pick}, path...) {
		_, next, ok := h.step(o, row, theWorker)
		if !ok {
			t.Skipf("no record is found of which a worker can %s", o.Name)
		}
		row = next
	}
	h.seed(c.row)
	ctx, stop := context.WithTimeout(h.ctx, 2*patience)
	defer stop()
	id, broke := c.row.ID, errors.New("broke")
	rev := func(r R) int64 { return s.d.Descriptor.Encode(&r).Rev }
	work := func(ctx context.Context, held *fsm.Held[R]) error {
		if err := h.walk(ctx, held, path); err != nil {
			return err
		}
		r := held.Newest().Held()
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
			if row := s.d.Descriptor.Encode(&r); row.ID != id || row.Rev < int64(4+len(path)) {
				t.Errorf("%s: told of %v", how, row.Ref())
			}
			if how == "failed" && !errors.Is(cause, broke) {
				t.Errorf("told of another failure: %v", cause)
			}
			stop()
			return nil
		}
	}
	o := worker.Options{Lease: time.Hour, Beat: 2 * time.Millisecond, Grace: -1, Log: slog.New(slog.DiscardHandler)}
	o.Observe = func(e worker.Event) {
		if e.Took > 0 { // it has ended, whether anybody was told or not
			stop()
		}
	}
	release := told("released")
	worker, err := w.New(theWorker, o, work, func(ctx context.Context, r R) error { return release(ctx, r, nil) }, told("failed"))
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got != end {
		t.Errorf("the end of the work was %q, want %q", got, end)
	}
	h.workLog(id, w, path, o.Lease)
}

// workLog looks at what a worker has written.
func (h *harness[R]) workLog(id string, w *Working[R], path []*operation, lease time.Duration) {
	h.t.Helper()
	n, beats := 0, 0 // beats: since the last step of the work
	for e, err := range h.d.History(h.ctx, id) {
		if err != nil {
			h.t.Fatal(err)
		}
		n++
		want := h.m.operation(w.Beat)
		switch {
		case n == 1:
			continue // how the record came here
		case n == 2:
			want = h.m.operation(w.Pick)
		case len(path) > 0 && e.Operation == path[0].stored:
			want, path, beats = path[0], path[1:], 0
		default:
			beats++
		}
		if e.Operation != want.stored || e.Actor != theWorker || strings.HasPrefix(e.RequestID, "sys:") != (h.m.RequestID == "none") {
			h.t.Errorf("event %d is %s of %q under request %q; want %s of the worker", n, e.Operation, e.Actor, e.RequestID, want.Name)
		}
	}
	if beats < 2 || len(path) > 0 {
		h.t.Errorf("%d heartbeats since the last step of the work, want two at least; %d steps are not in the log", beats, len(path))
	}
	if w.Deadline == "" {
		return
	}
	rec, err := h.d.Record(h.ctx, id)
	if err != nil {
		h.t.Fatal(err)
	}
	row := h.s.d.Descriptor.Encode(&rec)
	until := driver.Time(asSent(h.clock).Add(lease))
	if v, ok := row.Values[h.m.fields[w.Deadline].index].(time.Time); !ok || !v.Equal(until) {
		h.t.Errorf("it is held until %v, want %v", row.Values[h.m.fields[w.Deadline].index], until)
	}
}
