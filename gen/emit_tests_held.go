package gen

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// handles writes how the tests hold a record, and what it then offers. Nothing
// for a machine without handles.
func (e *engineEmitter) handles() {
	h := e.held
	if !h.any() {
		return
	}
	e.line("Hold: func(r %s, actor string) (got enginetest.Holding[%s]) {", e.n.Record, e.n.Record)
	e.line("j, err := %s(m, r, actor)", e.n.ours("package", "Hold"))
	e.line("if err != nil {")
	e.line("return got")
	e.line("}")
	e.line("got.Record, got.Ref = j.%s(), j.%s()", e.ofHandle("Record"), e.ofHandle("Ref"))
	e.line("switch j := j.(type) {")
	for _, s := range e.m.States {
		e.line("case %s:", h.typ(s))
		e.line("got.State, got.Handle, got.Target = %q, j.held, %s", s.Name, e.target())
		if fields := e.heldFields(h, s); fields != "" {
			e.line("got.Fields = %s", fields)
		}
	}
	e.line("}")
	e.line("return got")
	e.line("},")
	if w := h.workShape(); w != nil && w.plain() {
		e.working(h, w)
	}
}

// working writes how the tests run a worker.
func (e *engineEmitter) working(h *held, w *workShape) {
	record := e.n.Record
	e.line("Worker: &enginetest.Working[%s]{", record)
	deadline := ""
	if w.claim != nil {
		deadline = fmt.Sprintf(", Deadline: %q", w.deadline.Name)
	}
	e.line("Pick: %q, Beat: %q%s,", w.pick.Name, w.beat.Name, deadline)
	e.line("New: func(actor string, o worker.Options, do enginetest.Work[%s]) (*worker.Worker[%s], error) {", record, record)
	e.line("c := WorkerConfig{Options: o}")
	e.line("if do.Do != nil {")
	e.line("c.Work = func(ctx context.Context, j %s) error { return do.Do(ctx, j.held) }", h.typ(w.ends[0]))
	e.line("}")
	e.line("if do.Failed != nil {")
	e.line("c.Failed = func(ctx context.Context, j %s, cause error) error { return do.Failed(ctx, j.Record(), cause) }", h.anyType())
	e.line("}")
	e.line("if do.Release != nil {")
	e.line("c.Release = func(ctx context.Context, j %s) error { return do.Release(ctx, j.Record()) }", h.anyType())
	e.line("}")
	e.line("return NewWorker(m, actor, c)")
	e.line("},")
	e.line("},")
}

func (e *engineEmitter) heldFields(h *held, s *spec.State) string {
	var pairs []string
	for _, x := range h.present(s) {
		pairs = append(pairs, fmt.Sprintf("%q: fsm.Some(j.%s()) == r.%s", x.Name, e.n.field(x), e.n.field(x)))
	}
	if pairs == nil {
		return ""
	}
	return "map[string]bool{" + strings.Join(pairs, ", ") + "}"
}

// heldly writes the adapters to what handles offer of one operation.
func (e *engineEmitter) heldly(o *spec.Operation) {
	h, c, outcome := e.held, e.n.op(o), e.n.outcome()
	if creates(o) || o.Next != nil {
		e.line("Enter: func(ctx context.Context, n int, c fsmcases.Call) ([]%s, error) {", outcome)
		e.line("h := m.%s(c.Actor)", e.n.ours("machine", "As"))
		e.line("c.Actor = \"\"")
		if o.Next != nil {
			e.line("if n > 0 {")
			e.line("list, err := h.%s(ctx, n, %s)", c.N, e.given(o))
			e.line("var outs []%s", outcome)
			e.line("for _, j := range list {")
			e.line("outs = append(outs, j.%s())", e.ofHandle("Outcome"))
			e.line("}")
			e.line("return outs, err")
			e.line("}")
		}
		e.line("j, err := h.%s(ctx, %s)", c.Method, e.given(o))
		e.line("if err != nil {")
		e.line("return nil, err")
		e.line("}")
		e.line("return []%s{j.%s()}, nil", outcome, e.ofHandle("Outcome"))
		e.line("},")
	}
	if creates(o) {
		return
	}
	e.line("Held: func(ctx context.Context, h *fsm.Held[%s], c fsmcases.Call) (out %s, end string, err error) {", e.n.Record, outcome)
	if list := h.variants(o); list != nil {
		e.line("told := func(next %s) string {", h.after(o))
		e.line("switch next.(type) {")
		for _, to := range list {
			e.line("case %s:", h.typ(to))
			e.line("return %q", to.Name)
		}
		e.line("}")
		e.line("return \"\"")
		e.line("}")
	}
	e.line("switch h.Record().State {")
	for _, s := range states(o.From) {
		e.line("case %s:", e.n.state(s))
		e.heldCall(h, s, o)
	}
	e.line("}")
	e.line("return out, end, err")
	e.line("},")
}

// heldCall writes the call of one operation by the handle of one state.
func (e *engineEmitter) heldCall(h *held, s *spec.State, o *spec.Operation) {
	args := "ctx"
	if len(o.Inputs) > 0 {
		args += ", " + e.inputsOf(o)
	}
	e.line("j := %s", h.made(s, "h"))
	call := fmt.Sprintf("j.%s(%s)", e.n.op(o).Method, args)
	typ := h.leadsTo(s, o)
	if typ == "" {
		e.line("err = %s", call)
		e.line("return j.%s(), %q, err", e.ofHandle("Outcome"), s.Name)
		return
	}
	e.line("next, err := %s", call)
	e.line("if err != nil {")
	e.line("return out, end, err")
	e.line("}")
	outcome := e.ofHandle("Outcome")
	switch ends := h.ends(o, s); {
	case ends == nil:
		e.line("return next.%s(), next.%s().State.String(), nil", outcome, e.ofHandle("Record"))
	case h.variants(o) != nil:
		e.line("return next.%s(), told(next), nil", outcome)
	default:
		e.line("return next.%s(), %q, nil", outcome, ends[0].Name)
	}
}

// ofHandle is the method of every handle, also where an operation has its name.
func (e *engineEmitter) ofHandle(name string) string { return e.n.ours("handle", name) }

// target is a handle as the target of a call: what it holds where an operation
// hides one of the methods of targets.
func (e *engineEmitter) target() string {
	if e.ofHandle("Ref") != "Ref" || e.ofHandle("Outcome") != "Outcome" {
		return "j.held"
	}
	return "j"
}
