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

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/worker"
	"github.com/fsmgen/fsmgen/spec"
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
func alive[R any](h *world.Harness[R], w *Working[R]) [][]*spec.Operation {
	beat, pick := h.M.Operation(w.Beat), h.M.Operation(w.Pick)
	at := leads(h.M, pick, world.Starts(h.M, pick)[0])
	ways, order := map[*spec.State][]*spec.Operation{at: nil}, []*spec.State{at}
	for n := 0; n < len(order); n++ {
		for _, o := range h.M.Operations {
			to := leads(h.M, o, order[n])
			if _, known := ways[to]; known || to == nil || len(o.Followers()) > 0 || h.D.Operations[o.Name].Held == nil || leads(h.M, beat, to) != to {
				continue
			}
			ways[to] = append(slices.Clone(ways[order[n]]), o)
			order = append(order, to)
		}
	}
	var list [][]*spec.Operation
	for _, st := range order {
		list = append(list, ways[st])
	}
	return list
}

// leads is the state that an operation always takes a record to; nil where it does not.
func leads(m *spec.Machine, o *spec.Operation, from *spec.State) *spec.State {
	switch {
	case m.Class(from, o) != spec.Transition || len(o.Choose) > 0:
		return nil
	case o.Same:
		return from
	}
	return o.To.State
}

// moving looks for a call by which the actor moves the record, and returns what
// becomes of it.
func moving[R any](h *world.Harness[R], o *spec.Operation, r interp.Record, actor string) (interp.Call, interp.Record, bool) {
	for _, c := range h.S.Cases.Calls(o) {
		c.Actor, c.At = actor, h.Clock
		if d, refusal := interp.Decide(h.M, r, c, interp.Others{}); refusal == nil && !d.RecordOnly {
			return c, d.Record, true
		}
	}
	return interp.Call{}, interp.Record{}, false
}

// goOn makes the calls of a way by the newest handle of the record.
func goOn[R any](ctx context.Context, h *world.Harness[R], held *fsm.Held[R], path []*spec.Operation) error {
	for _, o := range path {
		rec := held.EngineNewest().Record()
		r, err := world.Record(h.M, h.S.D.Descriptor.Encode(&rec))
		if err != nil {
			return err
		}
		call, want, ok := moving(h, o, r, held.Actor())
		if !ok {
			return fmt.Errorf("no call of %s is found for %v", o.Name, r)
		}
		out, end, err := h.D.Operations[o.Name].Held(ctx, held.EngineNewest(), world.Sent(call))
		if err != nil {
			return err
		}
		if is := h.S.D.Descriptor.Encode(&out.Record).State; is != want.State.Stored() || end != want.State.Name {
			return fmt.Errorf("%s led from %s to %s, the handle is of %s", o.Name, r.State.Name, is, end)
		}
	}
	return nil
}

// claimable is a record that a worker can claim, and then take on a way.
func claimable[R any](h *world.Harness[R], pick *spec.Operation, path []*spec.Operation) (interp.Record, bool) {
	for _, from := range world.Starts(h.M, pick) {
		for _, first := range h.S.Cases.Sound(from) {
			r, ok := first, true
			for i, o := range append([]*spec.Operation{pick}, path...) {
				call, next, moves := moving(h, o, r, theWorker)
				if ok = moves; !ok {
					break
				}
				call = h.New(call, "")
				if _, _, refusal := interp.Step(h.M, interp.World{}.With(first), call); i == 0 && refusal != nil {
					ok = false
				}
				r = next
			}
			if ok && h.Fits(first) {
				return first, true
			}
		}
	}
	return interp.Record{}, false
}

func workOn[R any](s *world.Suite[R], t *testing.T, st world.Store, end string, path []*spec.Operation) {
	h := s.NewHarness(t, st)
	w := h.D.Worker.(*Working[R])
	first, ok := claimable(h, s.M.Operation(w.Pick), path)
	if !ok {
		t.Skip("no record is found that a worker can claim and take there")
	}
	h.Seed(first)
	ctx, stop := context.WithTimeout(h.Ctx, 2*patience)
	defer stop()
	id, broke := first.ID, errors.New("broke")
	rev := func(r R) int64 { return s.D.Descriptor.Encode(&r).Rev }
	work := func(ctx context.Context, held *fsm.Held[R]) error {
		if err := goOn(ctx, h, held, path); err != nil {
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
func workLog[R any](h *world.Harness[R], id string, w *Working[R], path []*spec.Operation, lease time.Duration) {
	h.T.Helper()
	n, beats := 0, 0 // beats: since the last step of the work
	for e, err := range h.D.History(h.Ctx, id) {
		if err != nil {
			h.T.Fatal(err)
		}
		n++
		want := h.M.Operation(w.Beat)
		switch {
		case n == 1:
			continue // how the record came here
		case n == 2:
			want = h.M.Operation(w.Pick)
		case len(path) > 0 && e.Operation == path[0].Stored():
			want, path, beats = path[0], path[1:], 0
		default:
			beats++
		}
		if e.Operation != want.Stored() || e.Actor != theWorker || strings.HasPrefix(e.RequestID, "sys:") != (h.M.RequestID == spec.None) {
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
	r, err := world.Record(h.M, h.S.D.Descriptor.Encode(&rec))
	if err != nil {
		h.T.Fatal(err)
	}
	until := interp.Time(fsmcases.AsSent(h.Clock).Add(lease))
	if got := r.Value(h.M, h.M.Field(w.Deadline)); got != until {
		h.T.Errorf("it is held until %v, want %v", got, until)
	}
}
