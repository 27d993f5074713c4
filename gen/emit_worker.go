package gen

import (
	"fmt"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// workShape is what makes a machine one that workers run: a pick, and an
// operation that keeps alive what was picked.
type workShape struct {
	pick, beat *spec.Operation
	state      *spec.State // that the pick leads to
	deadline   *spec.Field
	claim      *spec.Input // of the pick: the deadline; nil when the store's own times are it
	extend     *spec.Input // of the beat: the same
}

// workShape finds the shape of workers: a caller picks, which leads to one
// state; a deadline ends the stay there; and an operation that stays there
// moves the deadline. The deadline is the one input of both, or it is counted
// from updated_at, and both have no input.
func (h *held) workShape() *workShape {
	for _, due := range h.m.Operations {
		for _, t := range due.Triggers {
			if t.Startup {
				continue
			}
			for _, pick := range h.m.Operations {
				for _, beat := range h.m.Operations {
					if w := h.fits(pick, beat, due, t); w != nil {
						return w
					}
				}
			}
		}
	}
	return nil
}

func (h *held) fits(pick, beat, due *spec.Operation, t spec.Trigger) *workShape {
	if pick.By != spec.ByCaller || pick.Next == nil || creates(pick) {
		return nil
	}
	w := &workShape{pick: pick, beat: beat, deadline: t.After}
	for _, s := range states(pick.From) {
		ends := h.ends(pick, s)
		if len(ends) != 1 || h.recorded(pick, s) || w.state != nil && w.state != ends[0] {
			return nil
		}
		w.state = ends[0]
	}
	if w.state == nil || !h.offers(w.state, beat) || h.m.Class(w.state, due) != spec.Transition {
		return nil
	}
	for _, s := range states(beat.From) {
		if ends := h.ends(beat, s); len(ends) != 1 || ends[0] != s || h.recorded(beat, s) {
			return nil
		}
	}
	if t.After.Name == "updated_at" {
		if len(pick.Inputs) > 0 || len(beat.Inputs) > 0 {
			return nil
		}
		return w
	}
	if t.Plus != 0 || len(pick.Inputs) != 1 || len(beat.Inputs) != 1 {
		return nil
	}
	w.claim, w.extend = sets(pick, t.After), sets(beat, t.After)
	if w.claim != pick.Inputs[0] || w.extend != beat.Inputs[0] {
		return nil
	}
	return w
}

// sets returns the input that an operation puts into a field.
func sets(o *spec.Operation, f *spec.Field) *spec.Input {
	for _, e := range allEffects(o) {
		for _, a := range e.Set {
			if a.Field == f {
				return a.Value.Input
			}
		}
	}
	return nil
}

// worker adds NewWorker.
func (h *held) worker(f *jen.File, w *workShape) {
	typ := h.typ(w.state)
	anyType := h.anyType()
	pick, beat := h.n.op(w.pick), h.n.op(w.beat)
	f.Line()
	f.Add(doc(fmt.Sprintf("WorkerConfig says what a worker does with each %s that it claims, and how.", h.n.Record))).
		Type().Id("WorkerConfig").Struct(
		raw("worker.Options"),
		jen.Line(),
		docIndented(1, fmt.Sprintf("Work does the work and ends the stay of the %s with the worker. Its context ends when the %s is lost or the worker stops. "+
			"The lease is kept alive while it runs, whatever handle it has come to.", h.n.Record, h.n.Record)).
			Id("Work").Func().Params(raw("ctx context.Context"), raw("j %s", typ)).Error(),
		jen.Line(),
		docIndented(1, fmt.Sprintf("Failed writes down that Work returned an error, panicked (*fsm.PanicError) or left the %s as it was (worker.ErrUnfinished). Required.", h.n.Record)).
			Id("Failed").Func().Params(raw("ctx context.Context"), raw("j %s", anyType), raw("cause error")).Error(),
		jen.Line(),
		docIndented(1, "Release hands back what a worker that stops did not finish; nil leaves it to the end of the lease.").
			Id("Release").Func().Params(raw("ctx context.Context"), raw("j %s", anyType)).Error(),
	)

	given := func(o *spec.Operation, in *spec.Input, call string) string {
		value := "until"
		if in == nil {
			return call
		}
		if isOptional(in.Type) {
			value = "fsm.Some(until)"
		}
		return fmt.Sprintf("%s{%s: %s}, %s", h.n.op(o).Input, h.n.input(in), value, call)
	}
	head := "Actor: actor"
	if hasRequestID(h.m, w.pick) {
		head = "RequestID: driver.NewID(), " + head
	}
	unused := func(in *spec.Input) string {
		if in == nil {
			return "_"
		}
		return "until"
	}
	alive := ""
	for i, s := range states(w.beat.From) {
		if i > 0 {
			alive += " || "
		}
		alive += "j.State == " + h.n.state(s)
	}
	fn := func(name string, params []jen.Code, result *jen.Statement, body ...jen.Code) jen.Code {
		return jen.Line().Id(name).Op(":").Func().Params(params...).Add(result).Block(body...)
	}
	heldType := fmt.Sprintf("*fsm.Held[%s]", h.n.Record)
	ctxParam := raw("ctx").Qual("context", "Context")
	values := []jen.Code{
		fn("Claim", []jen.Code{ctxParam, raw("n int"), raw(unused(w.claim)).Qual("time", "Time")}, jen.Params(raw("[]"+h.n.outcome()), raw("error")),
			jen.Return(raw("m.%s(ctx, n, %s)", pick.N, given(w.pick, w.claim, "fsm.Call{"+head+"}")))),
		fn("Beat", []jen.Code{ctxParam, raw("h %s", heldType), raw(unused(w.extend)).Qual("time", "Time")}, jen.Error(),
			jen.Return(raw("h.Stay(ctx, %s(%s, %s))", beat.Call, beat.Desc, given(w.beat, w.extend, "fsm.Call{Actor: h.Actor()}")))),
		fn("Beats", []jen.Code{raw("j *%s", h.n.Record)}, jen.Bool(),
			jen.Return(raw(alive))),
	}
	values = append(values, jen.Line())
	f.Line()
	f.Add(doc(fmt.Sprintf("NewWorker returns a worker that claims with %s and keeps what it works on alive with %s. Run it with Run; "+
		"any number of workers may run, each with an actor of its own.", pick.Method, beat.Method),
		leaseNote(w))).
		Func().Id("NewWorker").Params(raw("m *Machine, actor string, c WorkerConfig")).
		Params(raw("*worker.Worker[%s]", h.n.Record), raw("error")).Block(
		raw("do := ").Add(raw("worker.Funcs")).Index(raw(h.n.Record)).Values(values...),
		jen.If(raw("c.Work != nil")).Block(
			raw("do.Work = func(ctx context.Context, h %s) error { return c.Work(ctx, %s{handle{h}}) }", heldType, typ)),
		jen.If(raw("c.Failed != nil")).Block(
			raw("do.Failed = func(ctx context.Context, h %s, cause error) error { return c.Failed(ctx, %s{handle{h}}, cause) }", heldType, anyType)),
		jen.If(raw("c.Release != nil")).Block(
			raw("do.Release = func(ctx context.Context, h %s) error { return c.Release(ctx, %s{handle{h}}) }", heldType, anyType)),
		jen.Return(raw("worker.New").Call(raw("m.core, actor, do, c.Options"))),
	)
}

func leaseNote(w *workShape) string {
	if w.claim != nil {
		return ""
	}
	return "The machine itself says how long a claim lasts; Lease is to be no longer than that."
}
