package gen

import (
	"fmt"
	"slices"
	"time"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// workShape is what makes a machine one that workers run: a pick, and perhaps an
// operation that keeps alive what was picked.
type workShape struct {
	pick, beat *spec.Operation // beat is nil where nothing is kept alive
	ends       []*spec.State   // that the pick leads to
	deadline   *spec.Field     // that the worker sets; nil when the machine says how long, or nothing ends the stay
	claim      *spec.Input     // of the pick: the deadline; nil when the worker does not set it
	extend     *spec.Input     // of the beat: the same
	lease      time.Duration   // that the machine gives; zero: the worker says
}

// plain reports whether the machine has the shape that the generated tests know: a pick
// of one state, a beat there, and no other inputs.
func (w *workShape) plain() bool {
	return w.beat != nil && len(w.ends) == 1 && slices.Contains(states(w.beat.From), w.ends[0]) && w.lease == 0 && !w.asks()
}

// asks reports whether the pick has inputs that the worker does not fill in itself.
func (w *workShape) asks() bool {
	return len(w.pick.Inputs) > 1 || len(w.pick.Inputs) == 1 && w.pick.Inputs[0] != w.claim
}

// holds lists the states in which a record is in the worker's hands.
func (w *workShape) holds() []*spec.State {
	if w.beat == nil {
		return w.ends
	}
	return distinct(append(states(w.beat.From), w.ends...))
}

// workShape finds what a worker does: the first operation with next that a caller has,
// unless a step that follows it may lead anywhere. What keeps alive is an operation that
// stays where the pick leads to, or else where work can come from there, and moves a deadline.
func (h *held) workShape() *workShape {
	for _, pick := range h.m.Operations {
		if pick.By != spec.ByCaller || pick.Next == nil || creates(pick) {
			continue
		}
		w := &workShape{pick: pick}
		for _, s := range states(pick.From) {
			ends := h.ends(pick, s)
			if ends == nil {
				w.ends = nil
				break
			}
			w.ends = append(w.ends, ends...)
		}
		if w.ends = distinct(w.ends); len(w.ends) == 0 {
			continue
		}
		if h.deadlines(w.ends, func(t spec.Trigger) bool {
			in, d, ok := postpones(pick, t)
			if ok {
				w.claim, w.lease = in, d
			}
			return ok
		}) && w.claim != nil {
			w.deadline = set(pick, w.claim)
		}
		h.keepsAlive(w)
		return w
	}
	return nil
}

// deadlines asks for each deadline that ends a stay in one of the states, until one does.
func (h *held) deadlines(in []*spec.State, does func(t spec.Trigger) bool) bool {
	for _, due := range h.m.Operations {
		for _, t := range due.Triggers {
			if t.Startup || !slices.ContainsFunc(in, func(s *spec.State) bool { return h.m.Class(s, due) == spec.Transition }) {
				continue
			}
			if does(t) {
				return true
			}
		}
	}
	return false
}

// reach lists the states to which work can come: those that the pick leads to, and where
// callers take a record from there, but for a state in which it would be picked again.
func (h *held) reach(w *workShape) []*spec.State {
	list, free := slices.Clone(w.ends), states(w.pick.From)
	for i := 0; i < len(list); i++ {
		for _, move := range h.m.Moves() {
			if move.Source() != list[i] || move.Operation.By != spec.ByCaller {
				continue
			}
			if !slices.Contains(free, move.To) && !slices.Contains(list, move.To) {
				list = append(list, move.To)
			}
		}
	}
	return list
}

// keepsAlive finds the beat.
func (h *held) keepsAlive(w *workShape) {
	reach := h.reach(w)
	for _, near := range []bool{true, false} {
		for _, beat := range h.m.Operations {
			if beat.By != spec.ByCaller || beat.Next != nil || creates(beat) || !h.stays(beat) ||
				near && !slices.ContainsFunc(w.ends, func(s *spec.State) bool { return h.offers(s, beat) }) ||
				!slices.ContainsFunc(states(beat.From), func(s *spec.State) bool { return slices.Contains(reach, s) }) {
				continue
			}
			if h.deadlines(states(beat.From), func(t spec.Trigger) bool {
				if t.After.Name == "updated_at" && (!near || w.claim != nil) {
					return false // anything that stays would do
				}
				in, d, ok := postpones(beat, t)
				if !ok || len(beat.Inputs) > 1 || len(beat.Inputs) == 1 && beat.Inputs[0] != in {
					return false
				}
				w.beat, w.extend = beat, in
				if d > 0 && (w.lease == 0 || d < w.lease) {
					w.lease = d
				}
				return true
			}) {
				return
			}
		}
	}
}

// stays reports whether an operation leaves every record where it is.
func (h *held) stays(o *spec.Operation) bool {
	for _, s := range states(o.From) {
		if ends := h.ends(o, s); len(ends) != 1 || ends[0] != s || h.recorded(o, s) || !h.offers(s, o) {
			return false
		}
	}
	return true
}

// postpones reports whether an operation moves a deadline: to what an input says, or to a
// time that it counts itself from now on.
func postpones(o *spec.Operation, t spec.Trigger) (in *spec.Input, lease time.Duration, ok bool) {
	if t.After.Name == "updated_at" {
		return nil, t.Plus, true
	}
	if in := sets(o, t.After); in != nil {
		return in, 0, true
	}
	for _, e := range allEffects(o) {
		for _, a := range e.Set {
			switch {
			case a.Field != t.After:
			case addsNow(a.Value), a.Value.Kind == spec.ValueNow && t.By != nil: // for how long, the record says
				return nil, 0, true
			case a.Value.Kind == spec.ValueNow && a.Value.Plus+t.Plus > 0:
				return nil, a.Value.Plus + t.Plus, true
			}
		}
	}
	return nil, 0, false
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
	typ := h.anyType()
	work := "handleOf(h)"
	if len(w.ends) == 1 {
		typ, work = h.typ(w.ends[0]), h.made(w.ends[0], "h")
	}
	anyType := h.anyType()
	pick := h.n.op(w.pick)
	ends := fmt.Sprintf("Its context ends when the worker stops, or loses the %s; then context.Cause is a *worker.LostError.", h.n.Record)
	if w.beat != nil {
		ends += fmt.Sprintf(" Heartbeats keep the lease alive while the %s is %s.", h.n.Record, list(stateNames(states(w.beat.From)), "or"))
	}
	fields := []jen.Code{raw("worker.Options")}
	if w.asks() {
		text := fmt.Sprintf("Claim holds the inputs of each call of %s; for several queues run several workers.", pick.Method)
		if w.claim != nil {
			text += fmt.Sprintf(" The worker itself sets %s.", h.n.input(w.claim))
		}
		fields = append(fields, jen.Line(), docIndented(1, text).Id("Claim").Id(pick.Input))
	}
	fields = append(fields,
		jen.Line(),
		docIndented(1, fmt.Sprintf("Work does the work and moves the %s out of %s. ", h.n.Record, list(stateNames(w.holds()), "and"))+ends).
			Id("Work").Func().Params(raw("ctx context.Context"), raw("j %s", typ)).Error(),
		jen.Line(),
		docIndented(1, fmt.Sprintf("Failed records that Work returned an error, panicked (*fsm.PanicError) or left the %s as it was (worker.ErrUnfinished). Required.", h.n.Record)).
			Id("Failed").Func().Params(raw("ctx context.Context"), raw("j %s", anyType), raw("cause error")).Error(),
		jen.Line(),
		docIndented(1, "Release hands back a "+h.n.Record+" that a stopping worker did not finish. If nil, it waits for the end of its lease.").
			Id("Release").Func().Params(raw("ctx context.Context"), raw("j %s", anyType)).Error(),
	)
	f.Line()
	f.Add(doc(fmt.Sprintf("WorkerConfig says what a worker does with each %s that it claims.", h.n.Record))).
		Type().Id("WorkerConfig").Struct(fields...)

	until := func(in *spec.Input) string {
		if isOptional(in.Type) {
			return "fsm.Some(until)"
		}
		return "until"
	}
	unused := func(in *spec.Input) string {
		if in == nil {
			return "_"
		}
		return "until"
	}
	head := "fsm.Call{Actor: actor}"
	if hasRequestID(h.m, w.pick) {
		head = "fsm.Call{RequestID: driver.NewID(), Actor: actor}"
	}
	fn := func(name string, params []jen.Code, result *jen.Statement, body ...jen.Code) jen.Code {
		return jen.Line().Id(name).Op(":").Func().Params(params...).Add(result).Block(body...)
	}
	ctxParam := raw("ctx").Qual("context", "Context")
	var claim []jen.Code
	switch {
	case w.asks() && w.claim != nil:
		claim = append(claim, raw("in := c.Claim"), raw("in.%s = %s", h.n.input(w.claim), until(w.claim)))
		head = "in, " + head
	case w.asks():
		head = "c.Claim, " + head
	case w.claim != nil:
		head = fmt.Sprintf("%s{%s: %s}, %s", pick.Input, h.n.input(w.claim), until(w.claim), head)
	}
	claim = append(claim, jen.Return(raw("m.%s(ctx, n, %s)", pick.N, head)))
	values := []jen.Code{
		fn("Claim", []jen.Code{ctxParam, raw("n int"), raw(unused(w.claim)).Qual("time", "Time")}, jen.Params(raw("[]"+h.n.outcome()), raw("error")), claim...),
	}
	in := func(list []*spec.State) jen.Code {
		text := ""
		for i, s := range list {
			if i > 0 {
				text += " || "
			}
			text += "j.State == " + h.n.state(s)
		}
		return jen.Return(raw(text))
	}
	record := []jen.Code{raw("j *%s", h.n.Record)}
	holds := w.holds()
	text := fmt.Sprintf("NewWorker returns a worker that claims with %s.", pick.Method)
	if w.beat != nil {
		beat := h.n.op(w.beat)
		call := "h.EngineCall(nil)"
		if w.extend != nil {
			call = fmt.Sprintf("%s{%s: %s}, %s", beat.Input, h.n.input(w.extend), until(w.extend), call)
		}
		alive := states(w.beat.From)
		values = append(values,
			fn("Beat", []jen.Code{ctxParam, raw("h *held"), raw(unused(w.extend)).Qual("time", "Time")}, jen.Error(),
				jen.Return(raw("h.EngineStay(ctx, %s(%s, %s))", beat.Call, beat.Desc, call))),
			fn("Beats", record, jen.Bool(), in(alive)))
		if len(holds) == len(alive) {
			holds = nil
		}
		text = fmt.Sprintf("NewWorker returns a worker that claims with %s and keeps its claims alive with %s.", pick.Method, beat.Method)
	}
	if holds != nil {
		values = append(values, fn("Holds", record, jen.Bool(), in(holds)))
	}
	if w.lease > 0 {
		values = append(values, jen.Line().Id("Lease").Op(":").Add(raw(durationExpr(w.lease))))
	}
	values = append(values, jen.Line())
	f.Line()
	f.Add(doc(text+" Any number of workers may run, each with an actor of its own. See [worker.Run].", leaseNote(w))).
		Func().Id("NewWorker").Params(raw("m *Machine, actor string, c WorkerConfig")).
		Params(raw("*worker.Worker[%s]", h.n.Record), raw("error")).Block(
		raw("do := ").Add(raw("worker.Funcs")).Index(raw(h.n.Record)).Values(values...),
		jen.If(raw("c.Work != nil")).Block(
			raw("do.Work = func(ctx context.Context, h *held) error { return c.Work(ctx, %s) }", work)),
		jen.If(raw("c.Failed != nil")).Block(
			raw("do.Failed = func(ctx context.Context, h *held, cause error) error { return c.Failed(ctx, handleOf(h), cause) }")),
		jen.If(raw("c.Release != nil")).Block(
			raw("do.Release = func(ctx context.Context, h *held) error { return c.Release(ctx, handleOf(h)) }")),
		jen.Return(raw("worker.New").Call(raw("m.core, actor, do, c.Options"))),
	)
}

func leaseNote(w *workShape) string {
	switch {
	case w.lease > 0:
		return fmt.Sprintf("The machine lets a claim last for %v. Lease may be shorter, and need not be given.", w.lease)
	case w.claim == nil && w.beat != nil:
		return "The machine says how long a claim lasts. Lease must not be longer."
	case w.claim == nil:
		return "Nothing ends a claim by itself. With a Lease, the context of longer work ends."
	}
	return ""
}
