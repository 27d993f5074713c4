package gen

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// handles writes how the tests hold a record, and what it then offers. Nothing
// for a machine without handles.
func (e *testEmitter) handles() {
	h := e.held
	if !h.any() {
		return
	}
	e.line("Hold: func(r %s, actor string) (held fsmtest.Holding[%s]) {", e.n.Record, e.n.Record)
	e.line("j := %s(m, r, actor)", e.n.ours("package", "Hold"))
	e.line("_ = j.Switch(")
	for _, s := range e.m.States {
		if !h.has(s) {
			e.line("func(r %s) error {", e.n.Record)
			e.line("held = fsmtest.Holding[%s]{State: %q, Handle: j.held, Record: r, Ref: j.Ref()}", e.n.Record, s.Name)
			e.line("return nil")
			e.line("},")
			continue
		}
		e.line("func(j %s) error {", h.typ(s))
		e.line("held = fsmtest.Holding[%s]{State: %q, Handle: j.held, Record: j.%s(), Ref: j.%s(), Target: %s%s}",
			e.n.Record, s.Name, e.ofHandle("Record"), e.ofHandle("Ref"), e.target(), e.heldFields(h, s))
		e.line("return nil")
		e.line("},")
	}
	e.line(")")
	e.line("return held")
	e.line("},")
	if w := h.workShape(); w != nil && w.plain() {
		e.working(h, w)
	}
}

// working writes how the tests run a worker.
func (e *testEmitter) working(h *held, w *workShape) {
	record := e.n.Record
	e.line("Worker: &fsmtest.Working[%s]{", record)
	deadline := ""
	if w.claim != nil {
		deadline = fmt.Sprintf(", Deadline: %q", w.deadline.Name)
	}
	e.line("Pick: %q, Beat: %q%s,", w.pick.Name, w.beat.Name, deadline)
	e.line("New: func(actor string, o worker.Options, work func(context.Context, *fsm.Held[%s]) error, release func(context.Context, %s) error, failed func(context.Context, %s, error) error) (*worker.Worker[%s], error) {", record, record, record, record)
	e.line("c := WorkerConfig{Options: o}")
	e.line("if work != nil {")
	e.line("c.Work = func(ctx context.Context, j %s) error { return work(ctx, j.held) }", h.typ(w.ends[0]))
	e.line("}")
	e.line("if failed != nil {")
	e.line("c.Failed = func(ctx context.Context, j %s, cause error) error { return failed(ctx, j.Record(), cause) }", h.anyType())
	e.line("}")
	e.line("if release != nil {")
	e.line("c.Release = func(ctx context.Context, j %s) error { return release(ctx, j.Record()) }", h.anyType())
	e.line("}")
	e.line("return NewWorker(m, actor, c)")
	e.line("},")
	e.line("},")
}

func (e *testEmitter) heldFields(h *held, s *spec.State) string {
	var pairs []string
	for _, ref := range s.Present {
		if h.reads(ref.Field) {
			pairs = append(pairs, fmt.Sprintf("%q: fsm.Some(j.%s()) == r.%s", ref.Field.Name, e.n.field(ref.Field), e.n.field(ref.Field)))
		}
	}
	if pairs == nil {
		return ""
	}
	return ", Fields: map[string]bool{" + strings.Join(pairs, ", ") + "}"
}

// heldly writes the adapters to what handles offer of one operation.
func (e *testEmitter) heldly(o *spec.Operation) {
	h := e.held
	if !h.any() || o.By != spec.ByCaller {
		return
	}
	c := e.n.op(o)
	outcome := fmt.Sprintf("fsm.Outcome[%s]", e.n.Record)
	if (creates(o) || o.Next != nil) && h.entryResult(o) != "" {
		e.line("Enter: func(ctx context.Context, n int, c fsmtest.Call) ([]%s, error) {", outcome)
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
	e.line("Held: func(ctx context.Context, h *fsm.Held[%s], c fsmtest.Call) (out %s, end string, err error) {", e.n.Record, outcome)
	e.told(h, o)
	e.line("switch h.Held().State {")
	for _, s := range states(o.From) {
		e.line("case %s:", e.n.state(s))
		e.line("j := %s{handle{h}}", h.typ(s))
		e.heldCall(h, s, o)
	}
	e.line("}")
	e.line("return out, end, err")
	e.line("},")
}

// told writes, once for all sources, how the result of an operation that may end in
// several ways tells its end.
func (e *testEmitter) told(h *held, o *spec.Operation) {
	if h.variants(o) == nil {
		return
	}
	e.line("told := func(next %s) error {", h.after(o))
	e.line("return next.Switch(")
	for _, to := range h.variants(o) {
		if h.has(to) {
			e.line("func(j %s) error { out, end = j.%s(), %q; return nil },", h.typ(to), e.ofHandle("Outcome"), to.Name)
		} else {
			e.line("func(r %s) error { out, end = next.Outcome(), %q; out.Record = r; return nil },", e.n.Record, to.Name)
		}
	}
	if h.maybeRecorded(o) {
		e.line("func(j %s) error { out, end = j.Outcome(), \"recorded\"; return nil },", h.anyType())
	}
	e.line(")")
	e.line("}")
}

// heldCall writes the call of one operation by the handle of one state.
func (e *testEmitter) heldCall(h *held, s *spec.State, o *spec.Operation) {
	args := "ctx"
	if len(o.Inputs) > 0 {
		args += ", " + e.inputFunc(o) + "(c)"
	}
	call := fmt.Sprintf("j.%s(%s)", e.n.op(o).Method, args)
	ends := h.ends(o, s)
	switch {
	case ends == nil:
		e.line("next, err := %s", call)
		e.line("return next.Outcome(), next.Record().State.String(), err")
	case h.variants(o) != nil:
		e.line("next, err := %s", call)
		e.line("if err != nil {")
		e.line("return out, end, err")
		e.line("}")
		e.line("err = told(next)")
		e.line("return out, end, err")
	case len(ends) == 0 || ends[0] == s:
		e.line("err := %s", call)
		e.line("return j.%s(), %q, err", e.ofHandle("Outcome"), s.Name)
	case h.has(ends[0]):
		e.line("next, err := %s", call)
		e.line("return next.%s(), %q, err", e.ofHandle("Outcome"), ends[0].Name)
	default:
		e.line("next, err := %s", call)
		e.line("return next, %q, err", ends[0].Name)
	}
}

// ofHandle is the method of every handle, also where an operation has its name.
func (e *testEmitter) ofHandle(name string) string { return e.n.ours("handle", name) }

// target is a handle as the target of a call: what it embeds where an operation
// hides one of the methods of targets.
func (e *testEmitter) target() string {
	if e.ofHandle("Ref") != "Ref" || e.ofHandle("Held") != "Held" {
		return "j.handle"
	}
	return "j"
}
