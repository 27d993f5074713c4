package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// How long a process has a piece of a run without saying that it is alive, and how often it says so.
const (
	workLease = time.Minute
	workKeep  = 15 * time.Second
)

// work makes the steps of a run, piece by piece, until none is left that nobody works on. An error ends it: the page of the run
// says so when the lease of its piece is over, and somebody goes on. It outlives the request that began it. A process works on a
// run once at a time.
func (h *Handler) work(m *Machine, id string) {
	if _, at := h.running.LoadOrStore(id, nil); at {
		return
	}
	defer h.running.Delete(id)
	w := &worker{h: h, m: m, name: "console-" + driver.NewID(), now: h.o.Runs.Core().Engine().Now}
	for ctx := context.Background(); ; {
		list, err := w.pieces(ctx, id)
		if err != nil {
			return
		}
		found := false
		for i := range list {
			piece, mine, err := w.take(ctx, &list[i])
			if err != nil {
				return
			}
			if !mine {
				continue
			}
			if found = true; w.piece(ctx, piece) != nil {
				return
			}
		}
		if !found {
			return
		}
	}
}

// pieces reads the run, within the time that a step has.
func (w *worker) pieces(ctx context.Context, id string) ([]run.Piece, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	return piecesOf(ctx, w.h.o.Runs, id)
}

// worker works on pieces.
type worker struct {
	h    *Handler
	m    *Machine
	name string
	now  func() time.Time
	kept time.Time // when it last said that it is alive
}

// call is a call of the worker's own on a piece. Each has a request id of its own: a worker takes and keeps a piece more than once.
func (w *worker) call() fsm.Call {
	return fsm.Call{Actor: w.name, RequestID: w.name + " " + driver.NewID()}
}

// take takes a piece that waits, or whose process has died.
func (w *worker) take(ctx context.Context, p *run.Piece) (piece *run.Piece, mine bool, err error) {
	var out run.Outcome
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	w.kept = w.now()
	switch {
	case p.State == run.StateWaiting:
		out, err = w.h.o.Runs.Take(ctx, fsm.Ref{ID: p.ID}, run.TakeInput{Lease: w.kept.Add(workLease)}, w.call())
	case p.State == run.StateWorking && !p.Lease.Or(w.kept).After(w.kept):
		out, err = w.h.o.Runs.TakeOver(ctx, fsm.Ref{ID: p.ID}, run.TakeOverInput{Lease: w.kept.Add(workLease)}, w.call())
	default:
		return nil, false, nil
	}
	if wrongState(err) || errors.Is(err, run.ErrInWork) {
		return nil, false, nil // somebody else has it
	}
	return &out.Record, err == nil, err
}

// piece makes the steps of a piece. A step that was made by a process that died is answered as it was.
func (w *worker) piece(ctx context.Context, p *run.Piece) error {
	s := w.m.step(p.Operation)
	var items []target
	var in settled
	text := p.Inputs.Or(fsm.JSON{})
	if err := errors.Join(p.Items.Decode(&items), json.Unmarshal([]byte(text.String()), &in)); err != nil {
		return err
	}
	t := told{Refused: map[string][]string{}}
	var values map[string]any
	none := "" // why no step can be made: the specification has changed since the run began
	if s == nil || s.needs != "" {
		none = "operation " + p.Operation
	} else if v, err := valuesOf(s, in.Made, func(name string) string { return in.Inputs[name] }); err != nil {
		none = "inputs"
	} else {
		values = v
	}
	for i := range items {
		if none != "" {
			t.Refused[none] = append(t.Refused[none], items[i].ID)
			continue
		}
		if err := w.keep(ctx, p); err != nil {
			return err
		}
		a := &asked{operation: s.name, values: values, caller: fsmimpl.Caller{
			RequestID: fmt.Sprintf("console-run %s %d.%d", p.Run, p.Number, i), Actor: p.Starter.Or(""), Reason: p.Reason.Or(""),
			Labels: map[string]string{"run": p.Run},
		}}
		switch word, err := w.step(ctx, driver.Ref{ID: items[i].ID, Rev: items[i].Rev}, a); {
		case err != nil:
			return err
		case word == "":
			t.Done++
		case word == string(fsm.ErrStale):
			t.Moved = append(t.Moved, items[i].ID)
		default:
			t.Refused[word] = append(t.Refused[word], items[i].ID)
		}
	}
	report, err := fsm.MarshalValue(t)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, actTime)
		defer cancel()
		_, err = w.h.o.Runs.Finish(ctx, fsm.Ref{ID: p.ID}, run.FinishInput{Report: report}, w.call())
	}
	return err
}

// keep says from time to time that the worker is alive.
func (w *worker) keep(ctx context.Context, p *run.Piece) error {
	if w.now().Sub(w.kept) <= workKeep {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	w.kept = w.now()
	_, err := w.h.o.Runs.Keep(ctx, fsm.Ref{ID: p.ID}, run.KeepInput{Lease: w.kept.Add(workLease)}, w.call())
	return err
}

// step makes one step and returns the error's name where it was refused. The error is one that says nothing of the step: it is
// tried again for a while.
func (w *worker) step(ctx context.Context, at driver.Ref, a *asked) (refused string, err error) {
	for wait := 100 * time.Millisecond; wait < 5*time.Second; wait *= 2 {
		if refused, err = w.once(ctx, at, a); err == nil {
			return refused, nil
		}
		time.Sleep(wait)
	}
	return "", err
}

func (w *worker) once(ctx context.Context, at driver.Ref, a *asked) (refused string, err error) {
	defer func() { // no server of HTTP is around it, which would do that
		if recover() != nil {
			refused, err = "panic", nil
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	_, err = w.m.once(ctx, at, a)
	var r *fsm.Refusal
	var effect *fsm.EffectError
	var invalid *fsmimpl.InputError
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, fsm.ErrBusy), errors.Is(err, fsm.ErrFull), errors.Is(err, fsm.ErrAmbiguous),
		errors.Is(err, fsm.ErrPoisoned), errors.Is(err, fsm.ErrSchemaMismatch): // they say nothing of the record
		return "", err
	case errors.Is(err, driver.ErrNotFound):
		return string(fsm.ErrNotFound), nil
	case errors.As(err, &effect):
		return "effect " + effect.Effect, nil
	case errors.As(err, &r):
		return r.ErrorName(), nil
	case errors.As(err, &invalid):
		return "input " + invalid.Input, nil
	}
	return "", err
}
