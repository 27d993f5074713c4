package world

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

// A machine can be called in three ways: by the methods of its package, by names with the
// package, and by names without it. A harness makes its calls by turns in each of them, and
// each has to answer as the world does. Whether they are the same request, the calls say that
// are made again.

// openLive opens the machine without its package, over the same store.
func (h *Harness[R]) openLive(opts []fsm.Option) {
	h.T.Helper()
	schema, err := live.Schema(h.M, "", h.S.D.Descriptor.Schema.Enforce)
	if err == nil {
		schema.SQL = h.S.D.Descriptor.Schema.SQL
		h.live, err = fsm.NewMachine(h.Ctx, h.Store, live.Descriptor(h.M, schema), nil, append(opts, fsm.WithOpenCheck(-1))...)
	}
	if err != nil {
		h.T.Fatalf("Open without the package: %v", err)
	}
}

// do makes a call in the way whose turn it is. What cannot be called by its name is called by
// its method. A refusal reads the same with the package and without it.
func (h *Harness[R]) do(what string, at fsm.Target, c interp.Call) (out fsm.Outcome[R], err error) {
	h.T.Helper()
	h.turn++
	alone := h.D == h.opened // else in a transaction, which the machine without the package is not in
	switch h.turn % 3 {
	case 1:
		if out, done, err := byName(h, what, h.D.Core, at, c); done {
			return out, err
		}
	case 2:
		if !alone {
			break
		}
		if out, done, err := byName(h, what, h.live, at, c); done {
			return h.packaged(what, out), h.ownError(what, err)
		}
	}
	out, err = h.D.Do(h.Ctx, c.Op.Name, at, Sent(c))
	var refused, again *fsm.Refusal
	if alone && errors.As(err, &refused) {
		if _, done, err := byName(h, what, h.live, at, c); done && errors.As(err, &again) && refused.Code == fsm.ErrInvalidInput {
			again.Message = refused.Message // which may have other words
		}
		if again != nil && again.Error() != refused.Error() {
			h.T.Errorf("%s: %s without the package is refused as\n\t%v, want\n\t%v", what, c.Op.Name, again, refused)
		}
	}
	return out, err
}

// packaged is an outcome as the package has it.
func (h *Harness[R]) packaged(what string, out fsm.Outcome[interp.Record]) fsm.Outcome[R] {
	h.T.Helper()
	made := fsm.Outcome[R]{
		Events: out.Events, Replayed: out.Replayed, RecordOnly: out.RecordOnly, Existing: out.Existing,
		Current: out.Current, CurrentState: out.CurrentState,
	}
	if out.Record.State == nil {
		return made
	}
	r, err := h.S.D.Descriptor.Decode(h.live.Descriptor().Encode(&out.Record))
	if err != nil {
		h.T.Errorf("%s: the record without the package: %v", what, err)
	}
	made.Record = r
	return made
}

// ownError is a refusal with the package's own error behind it.
func (h *Harness[R]) ownError(what string, err error) error {
	h.T.Helper()
	var refused *fsm.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	if _, is := refused.Cause.(interface{ ErrorName() string }); !is {
		return err
	}
	own := h.S.D.Errors[refused.ErrorName()]
	if own == nil || own.Error() != refused.Cause.Error() {
		h.T.Errorf("%s: the error behind %v without the package is %q, want %q", what, err, refused.Cause, own)
		return err
	}
	refused.Cause = own
	return err
}

// byName makes a call by its name. done is false where that is not possible.
func byName[R, X any](
	h *Harness[R], what string, m *fsm.Machine[X], at fsm.Target, c interp.Call,
) (out fsm.Outcome[X], done bool, err error) {
	h.T.Helper()
	sent := Sent(c)
	call, err := m.Descriptor().Named(c.Op.Name, c.ID, sent.Inputs, fsmimpl.Caller(sent.Given()))
	if err != nil {
		if why := unnamed(h.M, m.Descriptor(), c, sent, err); why != "" {
			h.T.Errorf("%s: %s by its name: %v, %s", what, c.Op.Name, err, why)
		}
		return out, false, nil
	}
	h.S.NamedCount++
	out, err = called(h.Ctx, m, at, call)
	return out, true, err
}

// called makes a call.
func called[X any](ctx context.Context, m *fsm.Machine[X], at fsm.Target, call fsmimpl.Call[X]) (fsm.Outcome[X], error) {
	switch {
	case call.Operation.Creates:
		return m.Create(ctx, call)
	case at != nil:
		return m.Apply(ctx, at.Ref(), call)
	}
	if call.Operation.Each > 0 {
		outs, err := m.Each(ctx, call)
		if err != nil {
			return fsm.Outcome[X]{}, err
		}
		return outs[0], nil
	}
	outs, err := m.Pick(ctx, 1, call)
	if err != nil {
		return fsm.Outcome[X]{}, err
	}
	return outs[0], nil
}

// unnamed says why an error of Named is wrong; empty where it is right.
func unnamed[X any](m *spec.Machine, d *fsmimpl.Descriptor[X], c interp.Call, sent fsmcases.Call, err error) string {
	var input *fsmimpl.InputError
	_, refusal := interp.Accept(m, c)
	switch op := operationOf(d, c.Op.Name); {
	case !errors.As(err, &input):
		if c.Op.By == spec.BySystem || op.Needs != "" && len(needed(c.Op)) > 0 {
			return ""
		}
		return "but it can be called"
	case c.Op.By == spec.BySystem:
		return "but the machine runs it"
	case c.Op.Input(input.Input) == nil:
		return "want the name of an input"
	case sent.Inputs[input.Input] == nil && !c.Op.Input(input.Input).Type.Optional:
		return "" // a method takes 0, false and the empty set for what is left out
	case refusal == nil:
		return "but the operation takes its inputs"
	}
	return ""
}

func operationOf[X any](d *fsmimpl.Descriptor[X], name string) *fsmimpl.Operation[X] {
	for _, op := range d.Operations {
		if op.Name == name {
			return op
		}
	}
	return nil
}

// needed lists the effects that a call may ask for.
func needed(o *spec.Operation) (list []*spec.Effect) {
	seen := map[*spec.Operation]bool{}
	for queue := []*spec.Operation{o}; len(queue) > 0; queue = queue[1:] {
		if x := queue[0]; !seen[x] {
			seen[x] = true
			list = append(list, x.AllAsks()...)
			for _, next := range x.Followers() {
				queue = append(queue, next.Operation)
			}
		}
	}
	return list
}
