package enginetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsmcases"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// patience is how long a test waits for what should take milliseconds.
const patience = 20 * time.Second

// theWorker is the actor of the workers that are tested.
const theWorker = "the worker"

// workerOf runs a worker over one record: it claims it, keeps it alive wherever the
// work takes it, is told of the failure of the work, and hands back what it stops
// in the midst of.
func workerOf[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	h := s.NewHarness(t, st)
	w, ok := h.D.Worker.(*Working[R])
	if !ok {
		t.Skip("no workers run over this machine: it has no `next` that leads to a state which an operation keeps alive until a deadline")
	}
	for _, path := range alive(h, w) {
		name := ""
		for _, o := range path {
			name += " after " + o.Name
		}
		for _, end := range []string{"failed", "released"} {
			t.Run(end+name, func(t *testing.T) { workOn(s, t, st, end, path) })
		}
	}
	work := Work[R]{
		Do:     func(context.Context, *fsm.Held[R]) error { return nil },
		Failed: func(context.Context, R, error) error { return nil },
	}
	o := worker.Options{Lease: time.Minute}
	if _, err := w.New("w", o, Work[R]{Failed: work.Failed}); err == nil {
		t.Error("there is a worker that does no work")
	}
	if _, err := w.New("w", o, Work[R]{Do: work.Do}); err == nil {
		t.Error("there is a worker that says nothing of failures")
	}
	if _, err := w.New("w", worker.Options{}, work); err == nil {
		t.Error("there is a worker without a lease")
	}
}

// alive lists how the work can go on without leaving the states in which the
// worker keeps its record alive: to each of them by the fewest operations. The
// first way stays where the pick leads to.
func alive[R any](h *world.Harness[R], w *Working[R]) [][]*oracle.Op {
	beat := h.M.OpNamed(w.Beat)
	pick := h.M.OpNamed(w.Pick)
	at := pick.Cells[h.M.Allowed(pick)[0]].To
	ways, order := map[string][]*oracle.Op{at: nil}, []string{at}
	for n := 0; n < len(order); n++ {
		for _, o := range h.M.Ops {
			c := o.Cells[order[n]]
			if _, known := ways[c.To]; known || c.Kind != oracle.CellMove || o.Then != "" || h.D.Operations[o.Name].Held == nil || beat.Cells[c.To].To != c.To {
				continue
			}
			ways[c.To] = append(slices.Clone(ways[order[n]]), o)
			order = append(order, c.To)
		}
	}
	var list [][]*oracle.Op
	for _, name := range order {
		list = append(list, ways[name])
	}
	return list
}

// step looks for a call by which the actor moves the record, and returns what
// becomes of it.
func step[R any](h *world.Harness[R], o *oracle.Op, row driver.Row, actor string) (oracle.Call, driver.Row, bool) {
	for c := range h.M.Cases(o, h.M.StateOf(row.State)) {
		c.Call.Actor, c.Call.At, c.Call.Peers = actor, h.Clock, nil
		if v := h.M.Decide(o, row, c.Call); oracle.Moves(v) {
			return c.Clone().Call, v.Row, true
		}
	}
	return oracle.Call{}, driver.Row{}, false
}

// walk makes the calls of a way by the newest handle of the record.
func walk[R any](ctx context.Context, h *world.Harness[R], held *fsm.Held[R], path []*oracle.Op) error {
	for _, o := range path {
		rec := held.EngineNewest().Record()
		row := h.S.D.Descriptor.Encode(&rec)
		from := h.M.StateOf(row.State)
		call, _, ok := step(h, o, row, held.Actor())
		if !ok {
			return fmt.Errorf("no call of %s is found for %s", o.Name, h.M.ShowRow(row))
		}
		out, end, err := h.D.Operations[o.Name].Held(ctx, held.EngineNewest(), call)
		if err != nil {
			return err
		}
		if is := h.M.StateOf(h.S.D.Descriptor.Encode(&out.Record).State).Name; end != is || is != o.Cells[from.Name].To {
			return fmt.Errorf("%s led from %s to %s, the handle is of %s", o.Name, from.Name, is, end)
		}
	}
	return nil
}

func workOn[R any](s *world.Suite[R], t *testing.T, st world.Store, end string, path []*oracle.Op) {
	h := s.NewHarness(t, st)
	w := h.D.Worker.(*Working[R])
	pick := s.M.OpNamed(w.Pick)
	var c oracle.Case
	for _, name := range s.M.Allowed(pick) {
		if found, ok := pickable(s.M, pick, s.M.StateByName[name], nil); ok {
			c = found
			break
		}
	}
	if c.Row.ID == "" {
		t.Skip("no record is found that a worker can claim")
	}
	row := c.Row
	for _, o := range append([]*oracle.Op{pick}, path...) {
		_, next, ok := step(h, o, row, theWorker)
		if !ok {
			t.Skipf("no record is found of which a worker can %s", o.Name)
		}
		row = next
	}
	seed(h, c.Row)
	ctx, stop := context.WithTimeout(h.Ctx, 2*patience)
	defer stop()
	id, broke := c.Row.ID, errors.New("broke")
	rev := func(r R) int64 { return s.D.Descriptor.Encode(&r).Rev }
	work := func(ctx context.Context, held *fsm.Held[R]) error {
		if err := walk(ctx, h, held, path); err != nil {
			return err
		}
		r := held.EngineNewest().Record()
		for begun := time.Now(); ; time.Sleep(time.Millisecond) { // until it was kept alive twice
			now, err := h.D.Record(context.WithoutCancel(ctx), id)
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
			if row := s.D.Descriptor.Encode(&r); row.ID != id || row.Rev < int64(4+len(path)) {
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
	worker, err := w.New(theWorker, o, Work[R]{
		Do: work, Release: func(ctx context.Context, r R) error { return release(ctx, r, nil) }, Failed: told("failed"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got != end {
		t.Errorf("the end of the work was %q, want %q", got, end)
	}
	workLog(h, id, w, path, o.Lease)
}

// workLog looks at what a worker has written.
func workLog[R any](h *world.Harness[R], id string, w *Working[R], path []*oracle.Op, lease time.Duration) {
	h.T.Helper()
	n, beats := 0, 0 // beats: since the last step of the work
	for e, err := range h.D.History(h.Ctx, id) {
		if err != nil {
			h.T.Fatal(err)
		}
		n++
		want := h.M.OpNamed(w.Beat)
		switch {
		case n == 1:
			continue // how the record came here
		case n == 2:
			want = h.M.OpNamed(w.Pick)
		case len(path) > 0 && e.Operation == path[0].StoredName:
			want, path, beats = path[0], path[1:], 0
		default:
			beats++
		}
		if e.Operation != want.StoredName || e.Actor != theWorker || strings.HasPrefix(e.RequestID, "sys:") != (h.M.RequestID == "none") {
			h.T.Errorf("event %d is %s of %q under request %q; want %s of the worker", n, e.Operation, e.Actor, e.RequestID, want.Name)
		}
	}
	if beats < 2 || len(path) > 0 {
		h.T.Errorf("%d heartbeats since the last step of the work, want two at least; %d steps are not in the log", beats, len(path))
	}
	if w.Deadline == "" {
		return
	}
	rec, err := h.D.Record(h.Ctx, id)
	if err != nil {
		h.T.Fatal(err)
	}
	row := h.S.D.Descriptor.Encode(&rec)
	until := driver.Time(fsmcases.AsSent(h.Clock).Add(lease))
	if v, ok := row.Values[h.M.FieldByName[w.Deadline].Index].(time.Time); !ok || !v.Equal(until) {
		h.T.Errorf("it is held until %v, want %v", row.Values[h.M.FieldByName[w.Deadline].Index], until)
	}
}
