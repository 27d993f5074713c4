package gen

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// held is the layer of handles of one machine in the making: a type per state
// that has operations of callers, with those only.
type held struct {
	m     *spec.Machine
	n     *names
	ways  map[*spec.Operation]*ways
	offer map[*spec.State][]*spec.Operation // by state, in the order of the specification
}

func newHeld(m *spec.Machine, n *names) *held {
	h := &held{m: m, n: n, ways: make(map[*spec.Operation]*ways), offer: make(map[*spec.State][]*spec.Operation)}
	for _, o := range m.Operations {
		if o.By != spec.ByCaller || creates(o) {
			continue
		}
		for _, s := range states(o.From) {
			h.offer[s] = append(h.offer[s], o)
		}
	}
	return h
}

// heldFile returns the handles; nothing for a machine that can have none,
// because its calls name no revision or no caller ever has a second one.
func heldFile(m *spec.Machine, n *names, _ Options) ([]byte, error) {
	h := newHeld(m, n)
	if !h.any() {
		return nil, nil
	}
	f := newFile(n)
	h.holder(f)
	for _, o := range m.Operations {
		h.entry(f, o)
	}
	h.handle(f)
	h.anyState(f)
	for _, s := range m.States {
		if h.has(s) {
			h.state(f, s)
		}
	}
	for _, o := range m.Operations {
		if h.variants(o) != nil {
			h.result(f, o)
		}
	}
	if w := h.workShape(); w != nil {
		h.worker(f, w)
	}
	return render(f)
}

// any reports whether the machine has handles. They carry the revision, so a
// machine that looks at none would let one state's handle act in another state.
func (h *held) any() bool {
	return !h.n.unheld && h.m.ExpectedRev != spec.None && slices.ContainsFunc(h.m.States, h.has)
}

// has reports whether a state has a handle.
func (h *held) has(s *spec.State) bool { return len(h.offer[s]) > 0 }

// offers reports whether the handle of a state has an operation.
func (h *held) offers(s *spec.State, o *spec.Operation) bool { return slices.Contains(h.offer[s], o) }

// typ is the type of a state's handle: ClaimedJob.
func (h *held) typ(s *spec.State) string { return spec.GoName(s.Name) + h.n.Record }

// after is the type of what an operation led to, where that is no one state:
// AfterReview.
func (h *held) after(o *spec.Operation) string { return "After" + h.n.op(o).Method }

// anyType is the type of a handle in whatever state.
func (h *held) anyType() string { return "Any" + h.n.Record }

// ways is what a call of an operation may lead to, worked out once: an operation
// is asked about as often as it has sources, and each of them adds to the answer.
type ways struct {
	ends     map[*spec.State][]*spec.State // by source; nil: into any state
	recorded map[*spec.State]bool          // sources in which a call may be recorded only
	variants []*spec.State
}

// waysOf works out the ways of an operation when they are first asked for.
func (h *held) waysOf(o *spec.Operation) *ways {
	w, ok := h.ways[o]
	if ok {
		return w
	}
	w = &ways{recorded: make(map[*spec.State]bool)}
	h.ways[o] = w
	for _, s := range states(o.From) {
		w.recorded[s] = mayRecord(o, s)
	}
	if o.Then != nil && (o.Effect == nil || o.Effect.Atomic) || o.DedupeBy != nil {
		return w
	}
	w.ends = make(map[*spec.State][]*spec.State)
	for _, mv := range movesOf(o) {
		w.ends[mv.from] = append(w.ends[mv.from], mv.to)
	}
	if o.By == spec.ByCaller && !creates(o) {
		w.variants = w.union(o)
	}
	return w
}

// union lists, in the order of the specification, all states that some source may
// lead to; nil where each source has one way at most.
func (w *ways) union(o *spec.Operation) []*spec.State {
	var list []*spec.State
	several := false
	for _, s := range states(o.From) {
		several = several || len(w.ends[s]) > 1 || w.recorded[s]
		list = append(list, w.ends[s]...)
	}
	if !several {
		return nil
	}
	slices.SortFunc(list, func(a, b *spec.State) int { return a.Index - b.Index })
	return slices.Compact(list)
}

// ends lists where a call of an operation may leave a record that was in from;
// nil for a creation. It is nil when steps of its own follow in the same
// transaction: then the record may be in any state. It is empty, and not nil,
// where every branch refuses.
func (h *held) ends(o *spec.Operation, from *spec.State) []*spec.State {
	w := h.waysOf(o)
	if list := w.ends[from]; list != nil || w.ends == nil {
		return list
	}
	return []*spec.State{}
}

// variants lists the states between which the result of an operation tells;
// nil when it needs no type of its own.
func (h *held) variants(o *spec.Operation) []*spec.State { return h.waysOf(o).variants }

// recorded reports whether a call in one of the operation's own states may be
// recorded only.
func (h *held) recorded(o *spec.Operation, s *spec.State) bool { return h.waysOf(o).recorded[s] }

// maybeRecorded is recorded for any state.
func (h *held) maybeRecorded(o *spec.Operation) bool {
	for _, is := range h.waysOf(o).recorded {
		if is {
			return true
		}
	}
	return false
}

// holder adds the machine as one actor has it, and Hold.
func (h *held) holder(f *jen.File) {
	f.Line()
	f.Add(doc(fmt.Sprintf("Holder is the machine as one actor uses it: each %s that it makes or picks comes as a handle.", h.n.Record),
		"A handle has a type of its own for each state, with the operations that a caller has there and no other: what the state forbids does not compile. "+
			"It carries revision, actor and request ids along. The same call of the same handle once more, because an answer was lost, replays. "+
			"A handle is an fsm.Target, so Machine takes it for what is not offered here.")).
		Type().Id("Holder").Struct(raw("m *Machine"), jen.Id("actor").String())
	f.Line()
	f.Add(doc(h.n.ours("machine", "As") + " returns the machine as the actor uses it.")).
		Func().Params(raw("m *Machine")).Id(h.n.ours("machine", "As")).Params(raw("actor string")).Id("Holder").Block(
		jen.Return(raw("Holder{m, actor}")),
	)
	hold := h.n.ours("package", "Hold")
	f.Line()
	f.Add(doc(fmt.Sprintf("%s returns the handle of a stored %s, such as one that the actor held before it was started again. It asks nothing of the store: each operation finds out whether the %s is still so.",
		hold, h.n.Record, h.n.Record))).
		Func().Id(hold).Params(raw("m *Machine, j %s, actor string", h.n.Record)).Id(h.anyType()).Block(
		jen.Return(jen.Id(h.anyType()).Values(jen.Id("handle").Values(raw("m.core.Hold(j, actor)")))),
	)
}

// entry adds how a handle is come by: a creation, or a pick.
func (h *held) entry(f *jen.File, o *spec.Operation) {
	if o.By != spec.ByCaller || !creates(o) && o.Next == nil {
		return
	}
	c := h.n.op(o)
	result := h.entryResult(o)
	if result == "" {
		return
	}
	fill := []jen.Code{raw("c.Actor = h.actor")}
	text := "The holder is its actor."
	if hasRequestID(h.m, o) {
		fill = append(fill, jen.If(raw(`c.RequestID == ""`)).Block(raw("c.RequestID = ").Add(raw("driver.NewID").Call())))
		text = "The holder is its actor. A call without a request id gets a new one each time; give it one of your own to make a retry safe."
	}
	method := func(name, doctext string, params []jen.Code, result *jen.Statement, body ...jen.Code) {
		f.Line()
		f.Add(doc(doctext+" "+text)).Func().Params(raw("h Holder")).Id(name).Params(append([]jen.Code{ctx()}, params...)...).
			Params(result, raw("error")).Block(append(slices.Clone(fill), body...)...)
	}
	taken, given := raw(callArgs(o, c, "id string", "in "+c.Input, "c fsm.Call")), callArgs(o, c, "id", "in", "c")
	method(c.Method, fmt.Sprintf("%s is the machine's, with a handle for result.", c.Method), []jen.Code{taken}, raw(result),
		raw("out, err := h.m.%s(ctx, %s)", c.Method, given),
		jen.If(raw("err != nil")).Block(jen.Return(raw("%s{}, err", result))),
		jen.Return(h.made(result), jen.Nil()),
	)
	if o.Next == nil {
		return
	}
	method(c.N, fmt.Sprintf("%s is the machine's, with handles for result.", c.N), []jen.Code{raw("n int"), taken}, raw("[]"+result),
		raw("outs, err := h.m.%s(ctx, n, %s)", c.N, given),
		jen.If(raw("err != nil")).Block(jen.Return(raw("nil, err"))),
		raw("list := make([]%s, len(outs))", result),
		jen.For(raw("i, out := range outs")).Block(
			raw("list[i] = ").Add(h.made(result)),
		),
		jen.Return(raw("list, nil")),
	)
}

// made is the handle of an outcome.
func (h *held) made(typ string) *jen.Statement {
	return raw(typ).Values(jen.Id("handle").Values(raw("h.m.core.HoldOutcome(out, h.actor)")))
}

// entryResult is the type that a creation or a pick returns; empty when it
// leads to a state without a handle.
func (h *held) entryResult(o *spec.Operation) string {
	sources := []*spec.State{nil}
	if !creates(o) {
		sources = states(o.From)
	}
	var all []*spec.State
	for _, s := range sources {
		ends := h.ends(o, s)
		if ends == nil || s != nil && h.recorded(o, s) {
			return h.anyType()
		}
		all = append(all, ends...)
	}
	switch all = distinct(all); {
	case len(all) > 1:
		return h.anyType()
	case len(all) == 1 && h.has(all[0]):
		return h.typ(all[0])
	}
	return ""
}

// anyState adds the handle in whatever state, and its switch.
func (h *held) anyState(f *jen.File) {
	f.Line()
	f.Add(doc(fmt.Sprintf("%s is a handle of %s in whatever state it is. Switch tells which.", h.anyType(), withArticle(h.n.Record)))).
		Type().Id(h.anyType()).Struct(raw("handle"))
	h.toSwitch(f, h.anyType(), h.m.States, false)
}

// handle adds what every handle has.
func (h *held) handle(f *jen.File) {
	f.Line()
	f.Add(doc("handle is what all handles have.")).Type().Id("handle").Struct(raw("held *fsm.Held[%s]", h.n.Record))
	method := func(name, text string, result *jen.Statement, body string) {
		f.Line()
		f.Add(doc(text)).Func().Params(raw("h handle")).Id(name).Params().Add(result).Block(jen.Return(raw(body)))
	}
	named := method
	method = func(name, text string, result *jen.Statement, body string) {
		named(name, text, result, body)
		if engine := h.n.ours("handle", name); engine != name {
			named(engine, engine+" is "+name+" where an operation has that name.", result, body)
		}
	}
	method("Record", fmt.Sprintf("Record returns the %s as it is held.", h.n.Record), raw(h.n.Record), "h.held.Held()")
	method("Outcome", fmt.Sprintf("Outcome returns what the newest call of the handle led to; before it, what led to the handle. Its Record is the %s as it is held.", h.n.Record), raw(h.n.outcome()), "h.held.Outcome()")
	method("Ref", "Ref returns id and revision, so that a handle is an fsm.Target.", raw("fsm.Ref"), "h.held.Ref()")
	method("Held", "Held is Record: a machine that is given a handle need not read what it holds.", raw(h.n.Record), "h.held.Held()")
}

// toSwitch adds the method that calls the function of the state.
func (h *held) toSwitch(f *jen.File, typ string, list []*spec.State, recorded bool) {
	var params, cases []jen.Code
	for _, s := range list {
		arg, value := h.n.Record, "j.held.Held()"
		if h.has(s) {
			arg, value = h.typ(s), h.typ(s)+"{j.handle}"
		}
		name := h.local(s.Name)
		params = append(params, jen.Line().Add(raw("%s func(%s) error", name, arg)))
		cases = append(cases, jen.Case(raw(h.n.state(s))).Block(
			jen.If(raw("%s != nil", name)).Block(jen.Return(raw("%s(%s)", name, value)))))
	}
	text := "Switch calls the function of the state that the " + h.n.Record + " is in and returns what it returns; nil stands for nothing to do. " +
		"A state that is added to the machine, or to what the operation may lead to, is a parameter more, so no caller overlooks it."
	body := []jen.Code{jen.Switch(raw("j.held.Held().State")).Block(cases...), jen.Return(jen.Nil())}
	if recorded {
		params = append(params, jen.Line().Add(raw("recorded func(%s) error", h.anyType())))
		text += " A call that was recorded and changed nothing goes to recorded, with a handle for the next try."
		body = append([]jen.Code{
			jen.If(raw("j.held.Outcome().RecordOnly")).Block(
				jen.If(raw("recorded != nil")).Block(jen.Return(raw("recorded(%s{j.handle})", h.anyType()))),
				jen.Return(jen.Nil()),
			),
		}, body...)
	}
	params = append(params, jen.Line())
	f.Line()
	f.Add(doc(text)).Func().Params(raw("j %s", typ)).Id("Switch").Params(params...).Error().Block(body...)
}

// state adds the handle of one state.
func (h *held) state(f *jen.File, s *spec.State) {
	typ := h.typ(s)
	text := fmt.Sprintf("%s is %s that is %s, in the hands of one actor.", typ, withArticle(h.n.Record), s.Name)
	if d := sentence(s.Doc); d != "" {
		text += " " + d
	}
	f.Line()
	f.Add(doc(text)).Type().Id(typ).Struct(raw("handle"))
	for _, ref := range s.Present {
		h.field(f, typ, s, ref.Field)
	}
	for _, o := range h.offer[s] {
		h.method(f, s, o)
	}
}

// field adds a field that is present in the state, as a plain value.
func (h *held) field(f *jen.File, typ string, s *spec.State, x *spec.Field) {
	if !h.reads(x) {
		return
	}
	name := h.n.field(x)
	f.Line()
	f.Add(doc(fmt.Sprintf("%s returns %s, which is present while the %s is %s.", name, x.Name, h.n.Record, s.Name))).
		Func().Params(raw("j %s", typ)).Id(name).Params().Add(typeCode(goType(x.Type, h.n.fieldEnum(x)))).Block(
		raw("v, _ := j.held.Held().%s.Get()", name),
		jen.Return(raw("v")),
	)
}

// reads reports whether a handle has a method for a field that is present. The
// other fields are read off the record.
func (h *held) reads(x *spec.Field) bool {
	return isOptional(x.Type) && !slices.Contains([]string{"Record", "Outcome", "Ref", "Held"}, h.n.field(x))
}

// method adds one operation to the handle of a state.
func (h *held) method(f *jen.File, s *spec.State, o *spec.Operation) {
	c := h.n.op(o)
	params := []jen.Code{ctx()}
	if c.Input != "" {
		params = append(params, raw("in %s", c.Input))
	}
	call := fmt.Sprintf("%s(%s, %s)", c.Call, c.Desc, callArgs(o, c, "", "in", "fsm.Call{Actor: j.held.Actor()}"))
	ends := h.ends(o, s)
	text := fmt.Sprintf("%s %s.", c.Method, h.leads(s, o, ends))
	if d := sentence(o.Doc); d != "" {
		text += " " + d
	}
	method := func(result *jen.Statement, body ...jen.Code) {
		f.Line()
		f.Add(doc(text)).Func().Params(raw("j %s", h.typ(s))).Id(c.Method).Params(params...).Add(result).Block(body...)
	}
	move := func(result, value string) {
		method(jen.Params(raw(result), raw("error")),
			raw("next, err := j.held.Move(ctx, %s)", call),
			jen.Return(raw("%s, err", value)))
	}
	switch {
	case ends == nil:
		move(h.anyType(), h.anyType()+"{handle{next}}")
	case h.variants(o) != nil:
		move(h.after(o), h.after(o)+"{handle{next}}")
	case len(ends) == 0 || ends[0] == s:
		method(jen.Error(), jen.Return(raw("j.held.Stay(ctx, %s)", call)))
	case h.has(ends[0]):
		move(h.typ(ends[0]), h.typ(ends[0])+"{handle{next}}")
	default:
		move(h.n.outcome(), "next.Outcome()")
	}
}

// leads says what an operation does with a record that is in a state.
func (h *held) leads(s *spec.State, o *spec.Operation, ends []*spec.State) string {
	it := "the " + h.n.Record
	switch {
	case ends == nil:
		return "moves " + it + " on; steps of its own follow in the same transaction"
	case len(ends) == 1 && ends[0] == s && !h.recorded(o, s):
		return fmt.Sprintf("keeps %s %s; the handle holds the new revision", it, s.Name)
	case len(ends) == 0 && h.recorded(o, s):
		return "looks at " + it
	case len(ends) == 0:
		return fmt.Sprintf("is refused as long as %s is %s", it, s.Name)
	}
	return fmt.Sprintf("moves %s to %s", it, list(stateNames(ends), "or"))
}

// result adds the closed set of what an operation may lead to.
func (h *held) result(f *jen.File, o *spec.Operation) {
	c := h.n.op(o)
	typ := h.after(o)
	f.Line()
	f.Add(doc(fmt.Sprintf("%s is what %s led to. Switch tells which it is.", typ, c.Method))).
		Type().Id(typ).Struct(raw("handle"))
	h.toSwitch(f, typ, h.variants(o), h.maybeRecorded(o))
}

// local returns a parameter's name: never a keyword, a predeclared name, or one
// that the methods use.
func (h *held) local(name string) string {
	id := lowerFirst(spec.GoName(name))
	taken := []string{"j", "h", "ctx", "fsm", "driver", "fsmimpl", "time", "context", "next", "err", "out", "recorded", "handle"}
	if token.IsKeyword(id) || types.Universe.Lookup(id) != nil || slices.Contains(taken, id) || strings.HasPrefix(id, "op") {
		id += "Value"
	}
	return id
}

// typeCode returns a type whose packages are imported where they are named.
func typeCode(typ string) *jen.Statement {
	if inner, ok := strings.CutPrefix(typ, "fsm.Optional["); ok {
		return raw("fsm.Optional").Index(typeCode(strings.TrimSuffix(inner, "]")))
	}
	if name, ok := strings.CutPrefix(typ, "fsm."); ok {
		return raw("fsm." + name)
	}
	if name, ok := strings.CutPrefix(typ, "time."); ok {
		return jen.Qual("time", name)
	}
	return jen.Id(typ)
}
