package gen

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// ctx is the first parameter of everything that reads or writes.
func ctx() *jen.Statement { return jen.Id("ctx").Qual("context", "Context") }

// machine adds the type of the durable layer.
func (s *store) machine(f *jen.File) {
	f.Line()
	f.Add(doc(
		"Machine is the machine over a store. It is safe for use by any number of goroutines.",
		fmt.Sprintf("An operation is one transaction. It writes the %s, its event and the request id, or nothing, and returns what it wrote.", s.n.Record)+fmt.Sprintf(" Its target, where it has one, is the %s as the caller has seen it: the record, an outcome or an fsm.Ref.", s.n.Record)+s.retry(),
		"An operation that fails returns a *fsm.Refusal, *fsm.AmbiguousError, *fsm.EffectError or the error of the store; errors.Is tells them apart. "+
			"Apart from the machine's own errors, a refusal is fsm.ErrWrongState or fsm.ErrTerminal where the state does not allow the operation, fsm.ErrInvalidInput"+s.stale()+".")).
		Type().Id("Machine").StructFunc(func(g *jen.Group) {
		g.Add(raw("core *fsm.Machine[%s]", s.n.Record))
		for _, o := range s.sourced() {
			g.Id(s.n.op(o).Desc).Add(raw("*fsmimpl.Operation[%s]", s.n.Record))
		}
	})
}

// stale ends the list of refusals.
func (s *store) stale() string {
	if s.m.ExpectedRev == spec.None {
		return " or fsm.ErrNotFound"
	}
	return ", fsm.ErrNotFound, or fsm.ErrStale where the record has left the target's revision"
}

// retry says what becomes of a call that is made again.
func (s *store) retry() string {
	if s.m.RequestID == spec.None {
		return ""
	}
	return " A retry, the same call with the same request id, returns the outcome of the first call with Replayed set."
}

// open adds the function that opens a machine, with the parameters that its
// effects and sources ask for.
func (s *store) open(f *jen.File) {
	effects, sources := s.m.Performed(), s.sourced()
	name, create := s.n.ours("package", "Open"), s.n.ours("package", "Migrate")
	text := name + " opens the machine over a store that " + create + " has prepared. It refuses another store with fsm.ErrSchemaMismatch."
	declaration := func() *jen.Statement {
		f.Line()
		return f.Add(doc(text)).Func().Id(name)
	}
	params := []jen.Code{ctx()}
	types := &jen.Statement{}
	if s.atomic() {
		types.Types(raw("T any"))
		params = append(params, raw("store").Add(raw("driver.Transactional")).Index(raw("T")), raw("effects Effects[T]"))
	} else {
		params = append(params, raw("store").Add(raw("fsm.Store")))
		if effects != nil {
			params = append(params, raw("effects Effects"))
		}
	}
	for _, u := range s.m.Uses {
		if alias := useAlias(u); alias == path.Base(u.Package) {
			f.ImportName(u.Package, alias)
		} else {
			f.ImportAlias(u.Package, alias)
		}
		params = append(params, jen.Id(useParam(u)).Op("*").Qual(u.Package, "Machine"))
	}
	if sources != nil {
		params = append(params, raw("sources Sources"))
	}
	params = append(params, raw("opts ...fsm.Option"))
	if len(s.m.Uses) > 0 {
		text += " Records of " + list(useNames(s.m), "and") + " move in the same transactions, so all are over one store."
	}
	declaration().Add(types).Params(params...).Params(raw("*Machine"), raw("error")).BlockFunc(func(g *jen.Group) {
		if effects != nil {
			g.If(raw("effects == nil")).Block(jen.Return(jen.Nil(), jen.Qual("errors", "New").Call(
				jen.Lit(fmt.Sprintf("open %s: the machine has effects, but none were handed in", s.m.Name)))))
		}
		for _, o := range sources {
			g.If(raw("sources.%s == nil", s.n.op(o).Method)).Block(jen.Return(jen.Nil(), jen.Qual("errors", "New").Call(
				jen.Lit(fmt.Sprintf("open %s: %s has a trigger and inputs, but sources.%s is nil", s.m.Name, o.Name, s.n.op(o).Method)))))
		}
		for _, u := range s.m.Uses {
			g.If(raw("%s == nil", useParam(u))).Block(jen.Return(jen.Nil(), jen.Qual("errors", "New").Call(
				jen.Lit(fmt.Sprintf("open %s: the machine %s was not handed in", s.m.Name, u.Name)))))
		}
		functions := jen.Nil()
		if effects != nil {
			functions = raw("functions")
			g.Id("functions").Op(":=").Map(jen.String()).Add(raw("fsmimpl.EffectFunc[%s]", s.n.Record)).ValuesFunc(func(g *jen.Group) {
				for _, e := range effects {
					g.Line().Lit(e.Name).Op(":").Add(s.effectFunction(e))
				}
				g.Line()
			})
		}
		if len(s.m.Uses) == 0 {
			s.opening(g, sources, functions)
			return
		}
		var with []jen.Code
		for _, u := range s.m.Uses {
			with = append(with, raw("%s.%s().Used()", useParam(u), validate.Ours(u.Machine)("machine", "Core")))
		}
		args := []jen.Code{raw("ctx"), raw("store"), functions}
		if sources != nil {
			args = append(args, raw("sources"))
		}
		g.Return(jen.Id("openWith").Call(append(args, jen.Append(jen.Index().Add(raw("fsm.Option")).Values(with...), raw("opts...")).Op("..."))...))
	})
	if len(s.m.Uses) == 0 {
		return
	}
	params = []jen.Code{ctx(), raw("store fsm.Store"), raw("functions map[string]fsmimpl.EffectFunc[%s]", s.n.Record)}
	if sources != nil {
		params = append(params, raw("sources Sources"))
	}
	f.Line()
	f.Add(doc("openWith opens the machine with the functions of its effects.")).Func().Id("openWith").
		Params(append(params, raw("opts ...fsm.Option"))...).Params(raw("*Machine"), raw("error")).BlockFunc(func(g *jen.Group) {
		s.opening(g, sources, raw("functions"))
	})
}

// opening opens the machine with functions for its effects.
func (s *store) opening(g *jen.Group, sources []*spec.Operation, functions *jen.Statement) {
	d := "&descriptor"
	if sources != nil {
		d = "&d"
		g.Add(raw("d := descriptor"))
		g.Add(raw("d.Operations")).Op("=").Qual("slices", "Clone").Call(raw("descriptor.Operations"))
		for _, o := range sources {
			s.sourcedOperation(g, o)
		}
	}
	g.List(raw("core"), raw("err")).Op(":=").Add(raw("fsm.NewMachine")).Call(raw("ctx"), raw("store"), raw(d), functions, raw("opts..."))
	g.If(raw("err != nil")).Block(jen.Return(raw("nil, err")))
	g.Return(raw("&Machine").ValuesFunc(func(g *jen.Group) {
		g.Add(raw("core: core"))
		for _, o := range sources {
			g.Add(raw("%s: &%s", s.n.op(o).Desc, "own"+s.n.op(o).Method))
		}
	}), jen.Nil())
}

// takenWords are what the code of a package calls otherwise.
var takenWords = strings.Fields("ctx store effects sources opts functions core err d step schema encode decode descriptor held handle move now " +
	"fsm fsmimpl driver sqldriver errors slices context time strings iter cmp json sql embed fmt maps strconv")

// useParam is the parameter of Open for a machine that is used.
func useParam(u *spec.Use) string {
	if slices.Contains(takenWords, u.Name) {
		return u.Name + "Machine"
	}
	return u.Name
}

// useAlias is the name of its package where it is imported.
func useAlias(u *spec.Use) string { return strings.ToLower(useParam(u)) }

func useNames(m *spec.Machine) (names []string) {
	for _, u := range m.Uses {
		names = append(names, u.Name)
	}
	return names
}

// sourcedOperation gives the machine an operation of its own, whose calls ask
// the source.
func (s *store) sourcedOperation(g *jen.Group, o *spec.Operation) {
	c := s.n.op(o)
	g.Add(raw("%s := *%s", "own"+c.Method, c.Desc))
	g.Add(raw("%s.System", "own"+c.Method)).Op("=").Func().Params(raw("j *%s, now time.Time", s.n.Record)).
		Params(raw("fsmimpl.Call[%s]", s.n.Record), raw("error")).Block(
		raw("in, err := sources.%s(*j, now)", c.Method),
		jen.Return(raw("%s(nil, in, fsm.Call{}), err", c.Call)),
	)
	g.Add(raw("d.Operations[%d] = &%s", slices.Index(s.m.Operations, o), "own"+c.Method))
}

// effectFunction adapts a method of Effects to the engine.
func (s *store) effectFunction(e *spec.Effect) *jen.Statement {
	method := "effects." + spec.MethodName(e.Name)
	tx, args := "_", "ctx, j, key, e"
	if e.Atomic {
		tx, args = "tx", "ctx, store.Transaction(tx), j, key, e"
	}
	return jen.Func().Params(ctx(), raw("%s fsm.Tx", tx), raw("j %s", s.n.Record), raw("key string"), raw("e fsm.Event")).Error().Block(
		jen.Return(raw("%s(%s)", method, args)),
	)
}

func (s *store) migrate(f *jen.File) {
	name, open := s.n.ours("package", "Migrate"), s.n.ours("package", "Open")
	f.Line()
	f.Add(doc(name+" creates what the store lacks for the machine, such as tables, or brings it to this version of the specification. Call it before "+open+".")).
		Func().Id(name).Params(ctx(), raw("store fsm.Store")).Error().Block(
		jen.Return(raw("fsmimpl.Migrate").Call(raw("ctx"), raw("store"), raw("schema"))),
	)
	if len(s.opt.Beside) == 0 {
		return
	}
	end := s.n.ours("package", "EndRollOut")
	f.Line()
	f.Add(doc(end+" ends a roll-out: programs of earlier versions are refused from now on, when they open the machine. Stop the last of them first.")).
		Func().Id(end).Params(ctx(), raw("store fsm.Store")).Error().Block(
		jen.Return(raw("fsmimpl.EndRollOut").Call(raw("ctx"), raw("store"), raw("schema"))),
	)
}

func (s *store) fold(f *jen.File) {
	name := s.n.ours("package", "Fold")
	f.Line()
	f.Add(doc(fmt.Sprintf("%s makes %s from its log. It applies the events and checks no rule, so an old log folds under a new specification.", name, withArticle(s.n.Record)))).
		Func().Id(name).Params(raw("events []fsm.Event")).Params(raw(s.n.Record), raw("error")).Block(
		jen.Return(raw("fsmimpl.Fold").Call(raw("&descriptor"), raw("events"))),
	)
}

// desc is the operation that a method hands to the engine.
func (n *names) desc(o *spec.Operation) string {
	if hasSource(o) {
		return "m." + n.op(o).Desc
	}
	return n.op(o).Desc
}

// methods adds the durable forms of one operation.
func (s *store) methods(f *jen.File, o *spec.Operation) {
	c := s.n.op(o)
	method := func(text, name string, result *jen.Statement, params []jen.Code, body ...jen.Code) {
		paragraphs := []string{text}
		if name == c.Method {
			paragraphs = callDoc(s.m, s.n, o, text)
		}
		f.Line()
		f.Add(doc(paragraphs...)).Func().Params(raw("m *Machine")).Id(name).Params(append([]jen.Code{ctx()}, params...)...).
			Params(result, raw("error")).Block(body...)
	}
	one, many := raw(s.n.outcome()), raw("[]"+s.n.outcome())
	taken := raw(callArgs(o, c, "id string", "in "+c.Input, "c fsm.Call"))
	call := fmt.Sprintf("%s(%s, %s)", c.Call, s.n.desc(o), callArgs(o, c, "id", "in", "c"))
	switch {
	case creates(o):
		text := fmt.Sprintf("%s %s. An empty id stands for a new one; an id that is taken is refused with fsm.ErrExists.", c.Method, operationMove(s.m, o))
		if o.DedupeBy != nil {
			text += fmt.Sprintf(" An existing record with the same %s is returned as it is, with Existing set.", list(fieldNames(o.DedupeBy.Fields), "and"))
		}
		method(text, c.Method, one, []jen.Code{taken}, jen.Return(raw("m.core.Create(ctx, %s)", call)))
	case o.Next != nil:
		method(fmt.Sprintf("%s picks the first %s%s and %s. Without one it returns fsm.ErrNothingToDo.", c.Method, s.n.Record, pickText(o), moveOf("it", o)),
			c.Method, one, []jen.Code{taken},
			raw("outs, err := m.core.Pick(ctx, 1, %s)", call),
			jen.If(raw("err != nil")).Block(jen.Return(raw(s.n.outcome()+"{}, err"))),
			jen.Return(raw("outs[0], nil")))
		method(fmt.Sprintf("%s is %s for up to n records at once, under one request id. Without any it returns fsm.ErrNothingToDo.", c.N, c.Method),
			c.N, many, []jen.Code{raw("n int"), taken}, jen.Return(raw("m.core.Pick(ctx, n, %s)", call)))
		method(fmt.Sprintf("%s is %s for the %s that the caller names.", c.Of, c.Method, s.n.Record),
			c.Of, one, []jen.Code{raw("at fsm.Target"), taken}, jen.Return(raw("m.core.Apply(ctx, at, %s)", call)))
	default:
		if o.Each != nil {
			method(fmt.Sprintf("%s is %s for each %s%s, in one transaction: all or none. "+
				"Without one it returns fsm.ErrNothingToDo, with more than %d fsm.ErrTooLarge.", c.Each, c.Method, s.n.Record, eachText(o), o.Each.Most),
				c.Each, many, []jen.Code{taken}, jen.Return(raw("m.core.Each(ctx, %s)", call)))
		}
		method(fmt.Sprintf("%s %s.", c.Method, operationMove(s.m, o)), c.Method, one, []jen.Code{raw("at fsm.Target"), taken}, jen.Return(raw("m.core.Apply(ctx, at, %s)", call)))
	}
}

// eachText says which records a call on each takes.
func eachText(o *spec.Operation) string {
	text := " in " + list(stateNames(states(o.From)), "or")
	if len(o.Each.Where) > 0 {
		text += " with " + list(spec.FactTexts(o.Each.Where), "and")
	}
	return text
}

// pickText says which record a pick takes: where, and in which order.
func pickText(o *spec.Operation) string {
	text := ""
	if len(o.Next.Where) > 0 {
		text = " with " + list(spec.FactTexts(o.Next.Where), "and")
	}
	var keys []string
	for _, x := range o.Next.Order {
		keys = append(keys, x.Field.Name+map[bool]string{true: " (greatest first)"}[x.Descending])
	}
	if keys != nil {
		text += ", by " + list(keys, "then") + ","
	}
	return " that fits" + text
}

// due lists what a sweep runs, and when.
func (s *store) due() (list []string) {
	for _, o := range s.m.Operations {
		for _, t := range o.Triggers {
			if !t.Startup {
				list = append(list, s.n.op(o).Method+" "+t.Text)
			}
		}
	}
	return list
}

// reading adds what reads records and logs.
func (s *store) reading(f *jen.File) {
	word := s.stateWord()
	f.Line()
	f.Add(doc(fmt.Sprintf("%s returns the stored %s, or fsm.ErrNotFound. If it breaks a rule, the error is fsm.ErrQuarantined beside it.", s.method("Record"), s.n.Record))).
		Func().Params(raw("m *Machine")).Id(s.method("Record")).Params(ctx(), raw("id string")).Params(raw(s.n.Record), raw("error")).Block(
		jen.Return(raw("m.core.Record(ctx, id)")),
	)
	f.Line()
	f.Add(doc(s.method("List")+" returns the records in the given states, or all, by id. It reads them page by page; the machine may be used meanwhile. "+
		"Do not decide on them what you write: another transaction may change them before yours commits.")).
		Func().Params(raw("m *Machine")).Id(s.method("List")).Params(ctx(), raw("states ...State")).Qual("iter", "Seq2").Index(raw("%s, error", s.n.Record)).Block(
		jen.Return(raw("m.core.List(ctx, driver.Query{States: fsmimpl.Words(State.%s, states)})", word)),
	)
	f.Line()
	f.Add(doc(s.method("History")+" returns the events of a record, the oldest first.")).
		Func().Params(raw("m *Machine")).Id(s.method("History")).Params(ctx(), raw("id string")).Qual("iter", "Seq2").Index(raw("fsm.Event, error")).Block(
		jen.Return(raw("m.core.History(ctx, id)")),
	)
	for _, form := range []struct{ name, text string }{
		{"Log", s.method("Log") + " returns the events of all records after a cursor, in the order of their commits, and ends at the newest. The empty cursor is the beginning; a stored one continues later, also in another process."},
		{"Watch", s.method("Watch") + " is " + s.method("Log") + ", but waits for further events until ctx ends. It misses none."},
	} {
		f.Line()
		f.Add(doc(form.text)).
			Func().Params(raw("m *Machine")).Id(s.method(form.name)).Params(ctx(), raw("after fsm.Cursor")).Qual("iter", "Seq2").Index(raw("fsm.Entry, error")).Block(
			jen.Return(raw("m.core.%s(ctx, after)", form.name)),
		)
	}
	f.Line()
	f.Add(doc(s.method("Count")+" returns the number of records in each of the given states, or in every state, at one instant.")).
		Func().Params(raw("m *Machine")).Id(s.method("Count")).Params(ctx(), raw("states ...State")).Params(raw("map[State]int64"), raw("error")).Block(
		jen.If(raw("len(states) == 0")).Block(raw("states = States()")),
		jen.Return(raw("fsmimpl.Count(ctx, m.core.Count, State.%s, states)", word)),
	)
}

// running adds what the machine does without a caller, where it does something.
func (s *store) running(f *jen.File) {
	has := func(test func(*spec.Operation) bool) bool { return slices.ContainsFunc(s.m.Operations, test) }
	method := func(text, name string) {
		f.Line()
		f.Add(doc(s.method(name)+text)).Func().Params(raw("m *Machine")).Id(s.method(name)).Params(ctx()).Params(raw("int"), raw("error")).Block(
			jen.Return(raw("m.core.%s(ctx)", name)),
		)
	}
	if has(func(o *spec.Operation) bool {
		return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return !t.Startup })
	}) {
		method(" runs what is due, and returns how many steps it took: "+list(s.due(), "and")+". Call it regularly, from any number of processes, or let worker.Run do so.", "Sweep")
	}
	startup := has(func(o *spec.Operation) bool {
		return slices.ContainsFunc(o.Triggers, func(t spec.Trigger) bool { return t.Startup })
	})
	if startup {
		method(" recovers what a crash has left behind and returns how many steps it took. Call it once, before anything else, while no other process works on the machine.", "Startup")
	}
	if has(func(o *spec.Operation) bool { return o.MayAsk(false) }) {
		text := " performs the effects that are due and returns how many succeeded. Call it regularly, from any number of processes, or let worker.Run do so."
		if startup {
			text += " It refuses until " + s.method("Startup") + " has run."
		}
		method(text, "Deliver")
	}
	f.Line()
	f.Add(doc(s.method("In")+" returns the machine within a transaction of the caller, which fsm.Join names. Its methods work in that transaction; the caller commits what they write.",
		"The caller has three duties. Look at Outcome.Replayed before doing anything beside a call. An error takes back what its call wrote; roll back after any but a refusal. After an error of the commit, repeat the transaction with the same request ids. See [fsm.Machine.In].")).
		Func().Params(raw("m *Machine")).Id(s.method("In")).Params(ctx(), raw("tx fsm.Joined")).Params(raw("*Machine"), raw("error")).Block(
		raw("core, err := m.core.In(ctx, tx)"),
		jen.If(raw("err != nil")).Block(jen.Return(raw("nil, err"))),
		jen.Return(raw("m.over(core), nil")),
	)
	f.Line()
	f.Add(doc(s.method("Batch")+" makes all calls that collect makes on the machine it is given, in one transaction: all of them or none. It returns one outcome for each, in their order. The calls themselves return a zero Outcome: nothing is decided before collect returns. A batch holds creations or calls on records, not both, and no picks.")).
		Func().Params(raw("m *Machine")).Id(s.method("Batch")).Params(ctx(), raw("collect func(*Machine) error")).Params(raw("[]"+s.n.outcome()), raw("error")).Block(
		jen.Return(raw("m.core.Batch(ctx, func(core *fsm.Machine[%s]) error { return collect(m.over(core)) })", s.n.Record)),
	)
	f.Line()
	f.Add(doc("over returns the machine over another engine.")).
		Func().Params(raw("m *Machine")).Id("over").Params(raw("core *fsm.Machine[%s]", s.n.Record)).Add(raw("*Machine")).Block(
		raw("in := *m"),
		raw("in.core = core"),
		jen.Return(raw("&in")),
	)
	f.Line()
	f.Add(doc(s.method("Core") + " returns the engine, for methods that do not depend on this package's types.")).
		Func().Params(raw("m *Machine")).Id(s.method("Core")).Params().Add(raw("*fsm.Machine[%s]", s.n.Record)).Block(
		jen.Return(raw("m.core")),
	)
	s.picture(f)
}

// probe adds the list of what an audit asks about records.
func (s *store) probe(f *jen.File) {
	if len(s.m.Probes) == 0 {
		return
	}
	list := raw("fsmimpl.Probe[%s]", s.n.Record)
	f.Line()
	f.Add(doc(s.method("Probes")+" are what audit.Run asks the world about records in the states that name them. They are none without a world.")).
		Func().Params(raw("*Machine")).Id(s.method("Probes")).Params(raw("world Probes")).Index().Add(list).Block(
		jen.If(raw("world == nil")).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Index().Add(list).ValuesFunc(func(g *jen.Group) {
			for _, p := range s.m.Probes {
				var in []cond
				for _, st := range s.probed(p) {
					in = append(in, call("j.State == "+s.n.state(st)))
				}
				if in == nil {
					continue
				}
				name := raw("Name: %q", p.Name)
				if text := phrase(p.Message); text != "" {
					name = raw("Name: %q, Message: %q", p.Name, text)
				}
				g.Line().Values(
					jen.Line().Add(name),
					jen.Line().Id("In").Op(":").Func().Params(raw("j *%s", s.n.Record)).Bool().Block(jen.Return(raw(or(in...).String()))),
					jen.Line().Add(raw("Ask: world.%s", spec.MethodName(p.Name))),
					jen.Line(),
				)
			}
			g.Line()
		})),
	)
}

// method is what a method of the engine is called on this Machine.
func (s *store) method(name string) string { return s.n.ours("machine", name) }
