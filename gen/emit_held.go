package gen

import (
	"fmt"
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
	alike map[string][]*spec.State          // by the fields that are present; made when asked for
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
	h.anyState(f)
	h.handle(f)
	for _, s := range m.States {
		h.state(f, s)
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

// has reports whether the handle of a state has operations.
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
	if len(o.Followers()) > 0 || o.DedupeBy != nil {
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

// union lists, in the order of the specification, all states in which a call may leave
// a record; nil where each source has one at most.
func (w *ways) union(o *spec.Operation) []*spec.State {
	var list []*spec.State
	several := false
	for _, s := range states(o.From) {
		ends := w.ends[s]
		if w.recorded[s] {
			ends = append(slices.Clone(ends), s)
		}
		ends = distinct(ends)
		several = several || len(ends) > 1
		list = append(list, ends...)
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

// holder adds the machine as one actor has it, and Hold.
func (h *held) holder(f *jen.File) {
	f.Line()
	f.Add(doc(fmt.Sprintf("Holder is the machine as one actor uses it: each %s that it makes or picks comes as a handle.", h.n.Record),
		"Handles have a type for each state, with the operations that a caller has there: what the state forbids does not compile. "+
			"A handle gives revision, actor and request id to its calls; an fsm.Call behind the inputs adds a reason, labels or another request id. "+
			"To retry after a lost answer, make the same call of the same handle. "+
			"A handle is an fsm.Target, for operations that only Machine has.")).
		Type().Id("Holder").Struct(raw("m *Machine"), jen.Id("actor").String())
	f.Line()
	f.Add(doc(h.n.ours("machine", "As") + " returns the machine for calls by the actor.")).
		Func().Params(raw("m *Machine")).Id(h.n.ours("machine", "As")).Params(raw("actor string")).Id("Holder").Block(
		jen.Return(raw("Holder{m, actor}")),
	)
	hold := h.n.ours("package", "Hold")
	f.Line()
	f.Add(doc(fmt.Sprintf("%s returns the handle of a stored %s, such as one that the actor held before its process restarted. "+
		"It does not read the store: an operation finds out whether the %s has changed. It refuses a record without a valid state.",
		hold, h.n.Record, h.n.Record))).
		Func().Id(hold).Params(raw("m *Machine, j %s, actor string", h.n.Record)).Params(raw(h.anyType()), raw("error")).Block(
		jen.Return(raw("handleAs[%s](m.core.Hold(j, actor), nil)", h.anyType())),
	)
}

// entry adds how a handle is come by: a creation, or a pick.
func (h *held) entry(f *jen.File, o *spec.Operation) {
	if o.By != spec.ByCaller || !creates(o) && o.Next == nil {
		return
	}
	c := h.n.op(o)
	result := h.entryResult(o)
	call := "h.m.core.EngineCall(h.actor, c)"
	method := func(name, text string, params []jen.Code, result *jen.Statement, body ...jen.Code) {
		f.Line()
		f.Add(doc(text)).Func().Params(raw("h Holder")).Id(name).Params(append([]jen.Code{ctx()}, params...)...).
			Params(result, raw("error")).Block(body...)
	}
	taken, given := raw(callArgs(o, c, "id string", "in "+c.Input, "c ...fsm.Call")), callArgs(o, c, "id", "in", call)
	method(c.Method, fmt.Sprintf("%s is [Machine.%s] by the holder's actor. It returns the handle of the %s.", c.Method, c.Method, h.n.Record), []jen.Code{taken}, raw(result),
		raw("out, err := h.m.%s(ctx, %s)", c.Method, given),
		jen.Return(raw("handleAs[%s](h.m.core.HoldOutcome(out, h.actor), err)", result)),
	)
	if o.Next == nil {
		return
	}
	method(c.N, fmt.Sprintf("%s is [Machine.%s] by the holder's actor. It returns handles.", c.N, c.N), []jen.Code{raw("n int"), taken}, raw("[]"+result),
		raw("outs, err := h.m.%s(ctx, n, %s)", c.N, given),
		raw("list := make([]%s, len(outs))", result),
		jen.For(raw("i, out := range outs")).Block(
			jen.If(
				raw("list[i], err = handleAs[%s](h.m.core.HoldOutcome(out, h.actor), nil)", result),
				raw("err != nil"),
			).Block(jen.Break()),
		),
		jen.Return(raw("list, err")),
	)
}

// entryResult is the type that a creation or a pick returns.
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
	if all = distinct(all); len(all) == 1 {
		return h.typ(all[0])
	}
	return h.anyType()
}

// anyState adds the handle in whatever state.
func (h *held) anyState(f *jen.File) {
	var types []string
	for _, s := range h.m.States {
		types = append(types, h.typ(s))
	}
	methods := []jen.Code{raw("fsm.Target")}
	if name := h.n.ours("handle", "Ref"); name != "Ref" {
		methods = []jen.Code{docIndented(1, name+" "+refText).Id(name).Params().Add(raw("fsm.Ref"))}
	}
	for _, x := range []struct{ name, text, result string }{
		{"Record", recordText(h.n), h.n.Record},
		{"Outcome", outcomeText, h.n.outcome()},
	} {
		name := h.n.ours("handle", x.name)
		methods = append(methods, docIndented(1, name+" "+x.text).Id(name).Params().Add(raw(x.result)))
	}
	f.Line()
	f.Add(doc(fmt.Sprintf("%s is a handle of %s in whatever state it is: %s. Switch over its type.",
		h.anyType(), withArticle(h.n.Record), brief(types, "or")),
		"The linter go-check-sumtype reports a switch that leaves a state out and has no default.")).
		Comment("//\n//sumtype:decl").Line().
		Type().Id(h.anyType()).Interface(append(methods, raw("any%s()", h.n.Record))...)
}

// handle adds what every handle is made of, and the function that gives it its type.
func (h *held) handle(f *jen.File) {
	f.Line()
	f.Add(doc(fmt.Sprintf("held is %s in the hands of one actor, as the engine knows it.", withArticle(h.n.Record)))).
		Type().Id("held").Op("=").Add(raw("fsm.Held[%s]", h.n.Record))
	f.Line()
	f.Add(doc("handle is what the handles of all states have.")).Type().Id("handle").Struct(raw("held *held"))
	for _, x := range []struct{ name, text, result string }{
		{"Record", recordText(h.n), h.n.Record}, {"Outcome", outcomeText, h.n.outcome()}, {"Ref", refText, "fsm.Ref"},
	} {
		name := h.n.ours("handle", x.name)
		f.Line()
		f.Add(doc(name + " " + x.text)).
			Func().Params(raw("j handle")).Id(name).Params().Add(raw(x.result)).Block(jen.Return(raw("j.held.%s()", x.name)))
	}
	f.Line()
	f.Func().Params(raw("handle")).Id("any" + h.n.Record).Params().Block()
	var cases []jen.Code
	for _, s := range h.m.States {
		cases = append(cases, jen.Case(raw(h.n.state(s))).Block(jen.Return(raw(h.made(s, "h")))))
	}
	f.Line()
	f.Add(doc("handleOf returns a handle in the type of its state; nil where it is in none.")).
		Func().Id("handleOf").Params(raw("h *held")).Id(h.anyType()).Block(
		jen.Switch(raw("h.Record().State")).Block(cases...), jen.Return(jen.Nil()))
	f.Line()
	f.Add(doc("handleAs returns the handle that a call led to, if it is of the type that the call may lead to.")).
		Func().Id("handleAs").Types(raw("T any")).Params(raw("h *held, err error")).Params(raw("T"), raw("error")).Block(
		jen.List(raw("j"), raw("ok")).Op(":=").Add(raw("handleOf(h).(T)")),
		jen.If(raw("err == nil && !ok")).Block(raw("err = h.EngineMisfit()")),
		jen.Return(raw("j, err")))
}

// What the methods of every handle return.
const (
	outcomeText = "returns the outcome of the handle's last call, or of the call that made the handle."
	refText     = "returns id and revision: a handle is the target of an operation."
)

func recordText(n *names) string { return "returns the " + n.Record + " as the handle last saw it." }

// made is the handle of a state, made of a *held.
func (h *held) made(s *spec.State, value string) string {
	value = "handle{" + value + "}"
	if shared := h.shared(s); shared != nil {
		value = h.fieldsType(shared) + "{" + value + "}"
	}
	return h.typ(s) + "{" + value + "}"
}

// state adds the handle of one state.
func (h *held) state(f *jen.File, s *spec.State) {
	typ := h.typ(s)
	text := fmt.Sprintf("%s is the handle of %s that is %s.", typ, withArticle(h.n.Record), s.Name)
	if d := sentence(s.Doc); d != "" {
		text += " " + d
	}
	embeds, shared := "handle", h.shared(s)
	if shared != nil {
		embeds = h.fieldsType(shared)
	}
	f.Line()
	f.Add(doc(text)).Type().Id(typ).Struct(raw(embeds))
	switch {
	case shared == nil:
		for _, x := range h.present(s) {
			h.field(f, typ, []*spec.State{s}, x)
		}
	case shared[0] == s:
		typ := h.fieldsType(shared)
		f.Line()
		f.Add(doc(fmt.Sprintf("%s are the fields that are present while the %s is %s.", typ, h.n.Record, brief(stateNames(shared), "or")))).
			Type().Id(typ).Struct(raw("handle"))
		for _, x := range h.present(s) {
			h.field(f, typ, shared, x)
		}
	}
	for _, o := range h.offer[s] {
		h.method(f, s, o)
	}
}

// present lists the fields that the handle of a state has methods for.
func (h *held) present(s *spec.State) []*spec.Field {
	var fields []*spec.Field
	for _, ref := range s.Present {
		if h.has(s) && h.reads(ref.Field) {
			fields = append(fields, ref.Field)
		}
	}
	return fields
}

// shared lists the states whose handles have the same methods for fields; nil where no
// other one has them.
func (h *held) shared(s *spec.State) []*spec.State {
	key := func(s *spec.State) string {
		var names []string
		for _, x := range h.present(s) {
			names = append(names, x.Name)
		}
		return strings.Join(names, " ")
	}
	if h.alike == nil {
		h.alike = map[string][]*spec.State{}
		for _, other := range h.m.States {
			h.alike[key(other)] = append(h.alike[key(other)], other)
		}
	}
	in := h.alike[key(s)]
	if key(s) == "" || len(in) < 2 {
		return nil
	}
	return in
}

// fieldsType is the type that has the methods for fields that several states share.
func (h *held) fieldsType(in []*spec.State) string {
	return lowerFirst(spec.GoName(in[0].Name)) + "Fields"
}

// field adds a field that is present in the states, as a plain value.
func (h *held) field(f *jen.File, typ string, in []*spec.State, x *spec.Field) {
	name := h.n.field(x)
	f.Line()
	f.Add(doc(fmt.Sprintf("%s returns %s, which is present while the %s is %s.", name, x.Name, h.n.Record, brief(stateNames(in), "or")))).
		Func().Params(raw("j %s", typ)).Id(name).Params().Add(typeCode(h.n.goType(x.Type, h.n.fieldEnum(x)))).Block(
		raw("v, _ := j.held.Record().%s.Get()", name),
		jen.Return(raw("v")),
	)
}

// reads reports whether a handle has a method for a field that is present. The
// other fields are read off the record.
func (h *held) reads(x *spec.Field) bool {
	return isOptional(x.Type) && !slices.Contains([]string{"Record", "Outcome", "Ref"}, h.n.field(x))
}

// method adds one operation to the handle of a state.
func (h *held) method(f *jen.File, s *spec.State, o *spec.Operation) {
	c := h.n.op(o)
	params := []jen.Code{ctx()}
	if c.Input != "" {
		params = append(params, raw("in %s", c.Input))
	}
	params = append(params, raw("c ...fsm.Call"))
	call := fmt.Sprintf("%s(%s, %s)", c.Call, c.Desc, callArgs(o, c, "", "in", "j.held.EngineCall(c)"))
	ends := h.ends(o, s)
	text := prose(fmt.Sprintf("%s %s.", c.Method, h.leads(s, o, ends)), sentence(o.Doc), refusalsText(h.m, h.n, o))
	method := func(result *jen.Statement, body jen.Code) {
		f.Line()
		f.Add(doc(text)).Func().Params(raw("j %s", h.typ(s))).Id(c.Method).Params(params...).Add(result).Block(jen.Return(body))
	}
	if typ := h.leadsTo(s, o); typ != "" {
		method(jen.Params(raw(typ), raw("error")), raw("handleAs[%s](j.held.EngineMove(ctx, %s))", typ, call))
		return
	}
	method(jen.Error(), raw("j.held.EngineStay(ctx, %s)", call))
}

// leadsTo is the type of the handle that an operation leads to; empty where the handle
// stays what it is.
func (h *held) leadsTo(s *spec.State, o *spec.Operation) string {
	ends := h.ends(o, s)
	switch {
	case ends == nil:
		return h.anyType()
	case h.variants(o) != nil:
		return h.after(o)
	case len(ends) == 0 || ends[0] == s:
		return ""
	}
	return h.typ(ends[0])
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
		return fmt.Sprintf("is refused while %s is %s", it, s.Name)
	}
	return fmt.Sprintf("moves %s to %s", it, brief(stateNames(ends), "or"))
}

// result adds the closed set of what an operation may lead to.
func (h *held) result(f *jen.File, o *spec.Operation) {
	c := h.n.op(o)
	typ, mark := h.after(o), "after"+c.Method
	var types []string
	for _, s := range h.variants(o) {
		types = append(types, h.typ(s))
	}
	text := fmt.Sprintf("%s is the result of %s: %s.", typ, c.Method, brief(types, "or"))
	for _, s := range states(o.From) {
		if h.recorded(o, s) {
			text += " Its Outcome has RecordOnly set if the call was recorded and changed nothing."
			break
		}
	}
	f.Line()
	f.Add(doc(text)).Comment("//\n//sumtype:decl").Line().
		Type().Id(typ).Interface(raw(h.anyType()), raw(mark+"()"))
	f.Line()
	for _, s := range h.variants(o) {
		f.Func().Params(raw(h.typ(s))).Id(mark).Params().Block()
	}
}

// typeCode returns a type whose packages are imported where they are named.
func typeCode(typ string) *jen.Statement {
	if generic, inner, ok := strings.Cut(typ, "["); ok {
		return jen.Id(generic).Index(typeCode(strings.TrimSuffix(inner, "]")))
	}
	if name, ok := strings.CutPrefix(typ, "time."); ok {
		return jen.Qual("time", name)
	}
	return jen.Id(typ)
}
