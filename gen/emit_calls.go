package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// operation adds the static part of an operation, as the engine knows it.
func (s *store) operation(g *jen.Group, o *spec.Operation) error {
	c := s.n.op(o)
	fields := []jen.Code{}
	pair := func(name string, value jen.Code) {
		fields = append(fields, jen.Line().Id(name).Op(":").Add(value))
	}
	by := map[spec.Actor]string{spec.ByCaller: "fsmimpl.ByCaller", spec.BySystem: "fsmimpl.BySystem", spec.ByOperator: "fsmimpl.ByOperator"}[o.By]
	fields = append(fields, jen.Line().Add(raw("Name: %q, Stored: %q, Event: %q, By: %s", o.Name, o.Stored(), o.StoredEvent(), by)))
	if creates(o) {
		pair("Creates", jen.True())
	} else {
		pair("From", raw(stringsExpr(storedStates(states(o.From)))))
	}
	pair("Moves", jen.Index().Add(raw("fsmimpl.Move")).ValuesFunc(func(g *jen.Group) {
		const most = 4 // on one line
		moves := movesOf(o)
		for _, mv := range moves {
			line(g, len(moves) > most).Add(raw(moveExpr(mv)))
		}
		if len(moves) > most {
			g.Line()
		}
	}))
	if feeds := s.m.Feeds(o); len(feeds) > 0 {
		pair("Feeds", jen.Index().Add(raw("fsmimpl.Feed")).ValuesFunc(func(g *jen.Group) {
			for _, f := range feeds {
				line(g, len(feeds) > 2).Add(raw("{Input: %q, Column: %q}", f.Input.Name, f.Field.Stored()))
			}
			if len(feeds) > 2 {
				g.Line()
			}
		}))
	}
	if recorded := recordedIn(s.m, o); len(recorded) > 0 {
		pair("Recorded", raw(stringsExpr(storedStates(recorded))))
	}
	if needsActor(o) {
		pair("NeedActor", jen.True())
	}
	if len(o.Triggers) > 0 {
		pair("Triggers", jen.Index().Add(raw("fsmimpl.Trigger")).ValuesFunc(func(g *jen.Group) {
			for _, t := range o.Triggers {
				g.Add(raw(triggerExpr(t)))
			}
		}))
	}
	s.asks(o, pair)
	if o.DedupeBy != nil {
		pair("Dedupe", jen.Lit(dedupeRule(o)))
	}
	if o.Each != nil {
		pair("Each", jen.Lit(int(o.Each.Most)))
	}
	if o.Next != nil {
		pair("Picks", jen.True())
		if order := pickOrder(o); len(order) > 0 {
			pair("Order", jen.Index().Add(raw("driver.Order")).ValuesFunc(func(g *jen.Group) {
				for _, x := range order {
					g.Add(raw(orderExpr(x, nil)))
				}
			}))
		}
		if p := parkingOf(s.m, o); p != nil {
			i := slices.IndexFunc(parkings(s.m), func(x *parking) bool { return x.op == o })
			pair("Parking", raw(fmt.Sprintf("&schema.Parkings[%d]", i)))
			if len(p.own) > 0 {
				pair("Own", jen.Func().Params(raw("j *"+s.n.Record)).Bool().Block(jen.Return(raw(scope{n: s.n}.facts(p.own).String()))))
			}
		}
	}
	if s.engineCalls(o) && !hasSource(o) {
		pair("System", jen.Func().Params(raw("*"+s.n.Record), jen.Qual("time", "Time")).
			Params(raw("fsmimpl.Call[%s]", s.n.Record), raw("error")).Block(
			jen.Return(raw("%s(nil, %s), nil", c.Call, callArgs(o, c, `""`, c.Input+"{}", "fsm.Call{}"))),
		))
	}
	if s.takesError(o) {
		in := c.Input + "{" + s.n.input(o.Input(spec.ErrorInput)) + ": problem}"
		if o.Input(spec.ErrorInput).Type.Optional {
			in = c.Input + "{" + s.n.input(o.Input(spec.ErrorInput)) + ": fsm.Some(problem)}"
		}
		pair("GaveUp", jen.Func().Params(raw("problem string")).Add(raw("fsmimpl.Call[%s]", s.n.Record)).Block(
			jen.Return(raw("%s(nil, %s)", c.Call, callArgs(o, c, `""`, in, "fsm.Call{}"))),
		))
	}
	s.named(o, pair)
	fields = append(fields, jen.Line())
	g.Id(c.Desc).Op("=").Add(raw("&fsmimpl.Operation[%s]", s.n.Record)).Values(fields...)
	return nil
}

func moveExpr(mv move) string {
	if mv.from == nil {
		return fmt.Sprintf("{To: %q}", mv.to.Stored())
	}
	return fmt.Sprintf("{From: %q, To: %q}", mv.from.Stored(), mv.to.Stored())
}

// recordedIn returns the states in which a call of the operation may be
// recorded only: by the cell, by a branch or for a guard.
func recordedIn(m *spec.Machine, o *spec.Operation) []*spec.State {
	var list []*spec.State
	if creates(o) {
		return nil
	}
	for i, class := range m.Row(o) {
		if st := m.States[i]; class == spec.RecordOnly || class == spec.Transition && mayRecord(o, st) {
			list = append(list, st)
		}
	}
	return list
}

// mayRecord reports whether a call in one of the operation's own states may be
// recorded only.
func mayRecord(o *spec.Operation, from *spec.State) bool {
	return o.OnRefusalRecordOnly || slices.ContainsFunc(o.Branches(from), func(b *spec.Branch) bool { return b.RecordOnly })
}

// engineCalls reports whether the engine itself issues the operation without an error: by a
// trigger, as the `then` of another one, or where an effect gave up whose error it does not take.
func (s *store) engineCalls(o *spec.Operation) bool {
	return len(o.Triggers) > 0 || slices.ContainsFunc(s.m.Leaders(o), func(l spec.Leader) bool {
		return l.AtOnce || l.Later || l.GaveUp && !s.takesError(o)
	})
}

// takesError reports whether the engine tells the operation why an effect gave up.
func (s *store) takesError(o *spec.Operation) bool {
	return o.Input(spec.ErrorInput) != nil && slices.ContainsFunc(s.m.Leaders(o), func(l spec.Leader) bool { return l.GaveUp })
}

// hasSource reports whether somebody must make up the inputs of the calls that
// a trigger issues.
func hasSource(o *spec.Operation) bool { return len(o.Triggers) > 0 && len(o.Inputs) > 0 }

func triggerExpr(t spec.Trigger) string {
	switch {
	case t.Startup:
		return "{Startup: true}"
	case t.By != nil:
		return fmt.Sprintf("{After: %q, By: %q}", t.After.Stored(), t.By.Stored())
	case t.Plus == 0:
		return fmt.Sprintf("{After: %q}", t.After.Stored())
	}
	return fmt.Sprintf("{After: %q, Plus: %s}", t.After.Stored(), durationExpr(t.Plus))
}

// dedupeRule is the unique rule by which a creation finds an existing record.
func dedupeRule(o *spec.Operation) string {
	if o.DedupeBy.Unique != nil {
		return o.DedupeBy.Unique.Name
	}
	return "dedupe_" + o.Name
}

// keyText returns the key of an effect as a text.
func (s *store) keyText(e *spec.Effect) *jen.Statement {
	var parts []jen.Code
	for _, k := range e.Key {
		switch f := k.Field; {
		case f == s.m.ID && len(e.Key) == 1:
			return raw("j.ID")
		case f == s.m.ID:
			parts = append(parts, raw("j.ID"))
		case f == s.m.Rev:
			parts = append(parts, raw("j.Rev"))
		case f.Type.Kind == spec.KindString && !f.Type.Optional && len(e.Key) == 1:
			return raw("j.%s", s.n.field(f))
		default:
			parts = append(parts, raw(s.rows.storedColumn(f)))
		}
	}
	return raw("fsmimpl.EffectKey").Call(parts...)
}

// callArgs are the arguments that the function which makes the engine's call takes
// behind the operation.
func callArgs(o *spec.Operation, c *opNames, id, in, call string) string {
	var args []string
	if creates(o) {
		args = append(args, id)
	}
	if c.Input != "" {
		args = append(args, in)
	}
	return strings.Join(append(args, call), ", ")
}

// manyStates is from how many states on a machine is written so that it compiles fast.
const manyStates = 200

// call adds the function that makes the engine's call of an operation. A large machine
// calls it from thousands of handles, each of which would have a copy of it.
func (s *store) call(f *jen.File, o *spec.Operation) error {
	c := s.n.op(o)
	fields := []jen.Code{}
	pair := func(name string, value jen.Code) {
		fields = append(fields, jen.Line().Id(name).Op(":").Add(value))
	}
	head := "Operation: op, Caller: fsmimpl.Caller(c)"
	if creates(o) {
		head += ", ID: id"
	}
	fields = append(fields, jen.Line().Add(raw(head)))
	if len(o.Inputs) > 0 {
		pair("Inputs", jen.Index().Add(raw("driver.Input")).ValuesFunc(func(g *jen.Group) {
			for _, in := range o.Inputs {
				line(g, len(o.Inputs) > 1).Add(raw(s.inputExpr(o, in)))
			}
			if len(o.Inputs) > 1 {
				g.Line()
			}
		}))
	}
	pair("Decide", s.decide(o))
	if c.Peers != "" || len(heldGroups(s.m, o)) > 0 {
		peers, err := s.peers(o)
		if err != nil {
			return err
		}
		pair("Peers", peers)
	}
	if o.DedupeBy != nil {
		values, err := s.groupValues(o, fieldsOf(o.DedupeBy.Fields))
		if err != nil {
			return err
		}
		pair("Dedupe", raw("[]any{%s}", strings.Join(values, ", ")))
	}
	if o.Next != nil || o.Each != nil {
		s.narrow(o, pair)
	}
	fields = append(fields, jen.Line())
	f.Line()
	if len(s.m.States) >= manyStates {
		f.Comment("//go:noinline")
	}
	f.Func().Id(c.Call).Params(raw("op *fsmimpl.Operation[%s]", s.n.Record), raw(callArgs(o, c, "id string", "in "+c.Input, "c fsm.Call"))).
		Add(raw("fsmimpl.Call[%s]", s.n.Record)).BlockFunc(func(g *jen.Group) {
		for _, in := range cutForChoice(o) {
			name, cut := "in."+s.n.input(in), "driver.Time"
			if isOptional(in.Type) {
				cut = "fsmimpl.CutTime"
			}
			g.Add(raw("%s = %s(%s)", name, cut, name))
		}
		g.Return(raw("fsmimpl.Call[%s]", s.n.Record).Values(fields...))
	})
	return nil
}

// cutForChoice lists the times that the choice of records reads past the store: they are compared as they are logged.
func cutForChoice(o *spec.Operation) (list []*spec.Input) {
	if o.Next == nil && o.Each == nil {
		return nil
	}
	if _, complete := asks(o); complete {
		return nil
	}
	for _, f := range spec.Leaves(o.Chosen()) {
		for _, t := range f.Names() {
			if in := t.Input; in != nil && in.Type.Kind == spec.KindTime && !slices.Contains(list, in) {
				list = append(list, in)
			}
		}
	}
	return list
}

func (s *store) inputExpr(o *spec.Operation, in *spec.Input) string {
	value := s.rows.column(scope{n: s.n}.input(in), true)
	text := fmt.Sprintf("{Name: %q, Value: %s, Kind: driver.%s", in.Name, value, kindName(in.Type.Kind))
	if loose(s.m, o, in) {
		text += ", Loose: true"
	}
	return text + "}"
}

// loose reports whether a retry may compute an input anew: it moves a deadline,
// or nobody but a trigger's source gives it.
func loose(m *spec.Machine, o *spec.Operation, in *spec.Input) bool {
	if len(o.Triggers) > 0 {
		return true
	}
	deadlines := make(map[*spec.Field]bool)
	for _, p := range m.Operations {
		for _, t := range p.Triggers {
			if !t.Startup {
				deadlines[t.After] = true
			}
		}
	}
	for _, e := range allEffects(o) {
		for _, a := range e.Set {
			if a.Value.Input == in && deadlines[a.Field] {
				return true
			}
		}
	}
	return false
}

// decide is the function that runs the pure method.
func (s *store) decide(o *spec.Operation) *jen.Statement {
	c := s.n.op(o)
	args := pureArgs(c, o, "in", "known", "c.Actor", "c.Reason", "now")
	peers := "_"
	if c.Peers != "" {
		peers = "peers"
	}
	id := "_"
	if creates(o) {
		id = "id"
	}
	if c.Peers == "" && !creates(o) {
		return raw("func(j *%s, _ string, _ []int64, now time.Time) (fsmimpl.Step, error) { return step(j.%s(%s)) }", s.n.Record, c.Method, args)
	}
	return jen.Func().Params(raw("j *%s, %s string, %s []int64, now", s.n.Record, id, peers).Qual("time", "Time")).
		Params(raw("fsmimpl.Step"), raw("error")).BlockFunc(func(g *jen.Group) {
		if c.Peers != "" {
			g.Id("known").Op(":=").Id(c.Peers).ValuesFunc(func(g *jen.Group) {
				i := 0
				for _, x := range peerGuards(o) {
					g.Add(raw("%s: peers[%d]", s.n.peer(x), i))
					i++
				}
				for _, x := range sequences(s.m, o) {
					g.Add(raw("%s: peers[%d]", s.n.sequence(s.m, x), i))
					i++
				}
			})
		}
		if creates(o) {
			g.Add(raw("made, e, err := %s(id, %s)", c.Method, args))
			g.Add(raw("*j = made"))
			g.Return(raw("step(e, err)"))
			return
		}
		g.Return(raw("step(j.%s(%s))", c.Method, args))
	})
}

// peers is the function that lists what the operation must know of others, and what it may leave.
func (s *store) peers(o *spec.Operation) (*jen.Statement, error) {
	var queries []jen.Code
	usesRecord := false
	query := func(head string, group []*spec.Field, of []*spec.Fact, in []*spec.State) error {
		text := head
		if len(group) > 0 {
			values, err := s.groupValues(o, group)
			if err != nil {
				return err
			}
			for i := range group {
				if i < len(of) && of[i].Right.Field != group[i] {
					if values[i], err = s.memberValue(o, of[i]); err != nil {
						return err
					}
				}
				usesRecord = usesRecord || !creates(o) && (i >= len(of) || of[i].Right.Field != nil)
			}
			text += ", Columns: " + stringsExpr(storedFields(group)) + ", Values: []any{" + strings.Join(values, ", ") + "}"
		}
		if in != nil {
			text += ", States: " + stringsExpr(storedStates(in))
		}
		queries = append(queries, jen.Line().Add(raw(text+", Except: id}")))
		return nil
	}
	locked := ""
	if countsLocked(s.m, o) {
		locked = ", Locked: true"
	}
	for _, q := range peerRequirements(o) {
		g := q.Guard
		if err := query(fmt.Sprintf("{Name: %q", g.Name)+locked, fieldsOf(g.Peers.Same), q.Of, states(g.Peers.In)); err != nil {
			return nil, err
		}
	}
	for _, x := range sequences(s.m, o) {
		if err := query(fmt.Sprintf("{Name: %q, Sequence: true", x.Name), x.Per, nil, nil); err != nil {
			return nil, err
		}
	}
	for _, h := range heldGroups(s.m, o) {
		if err := query(fmt.Sprintf("{Name: %q, Hold: true", h.Guard.Name), fieldsOf(h.Guard.Peers.Same), nil, h.States); err != nil {
			return nil, err
		}
	}
	j := "_"
	if usesRecord {
		j = "j"
	}
	return jen.Func().Params(raw("%s *%s, id string", j, s.n.Record)).Index().Add(raw("driver.PeerQuery")).Block(
		jen.Return(jen.Index().Add(raw("driver.PeerQuery")).Values(append(queries, jen.Line())...)),
	), nil
}

// memberValue returns the value that a field of a group has: another field's, or one of the call.
func (s *store) memberValue(o *spec.Operation, f *spec.Fact) (string, error) {
	v, from, to := scope{n: s.n, caller: "c.Actor"}.term(f.Right, f.Left), s.n.termEnum(f.Right), s.n.fieldEnum(f.Left.Field)
	convertible := from != nil && !sameWords(from.Values, to.Values)
	switch {
	case f.Right.Field != nil && creates(o) && convertible:
		return "", fmt.Errorf("field %s of %s makes a group with other words; give both fields the same words", f.Right.Field.Name, o.Name)
	case f.Right.Field != nil && creates(o):
		return s.rows.created(o, f.Right.Field)
	case convertible && v.here == maybe:
		word := fmt.Sprintf("func(w %s) string { return %s.%s() }", from.Type, convert(from, to, "w"), wordOf(to.Values))
		return fmt.Sprintf("fsmimpl.ColumnOf(%s, %s)", v.opt, word), nil
	case convertible:
		v = plain(spec.KindEnum, to, convert(from, to, v.val))
	}
	return s.rows.column(v, f.Right.Kind == spec.TermInput), nil
}

// groupValues returns the columns that make a group: of the record that is
// made, or of the stored one.
func (s *store) groupValues(o *spec.Operation, group []*spec.Field) ([]string, error) {
	var values []string
	for _, f := range group {
		if !creates(o) {
			values = append(values, s.rows.storedColumn(f))
			continue
		}
		v, err := s.rows.created(o, f)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

func fieldsOf(refs []spec.FieldRef) []*spec.Field {
	var fields []*spec.Field
	for _, r := range refs {
		fields = append(fields, r.Field)
	}
	return fields
}

// narrow adds which records `next` may pick, or `each` take. What a store can compare goes into
// Where; when something is left, Fits decides it.
func (s *store) narrow(o *spec.Operation, pair func(string, jen.Code)) {
	list, complete := asks(o)
	if list != nil {
		pair("Where", jen.Index().Add(raw("driver.Cond")).ValuesFunc(func(g *jen.Group) {
			for _, a := range list {
				g.Line().Add(raw(s.condition(a)))
			}
			g.Line()
		}))
	}
	if complete {
		return
	}
	now := "_"
	if lookAtNow(spec.Leaves(o.Chosen())) {
		now = "now"
	}
	pair("Fits", jen.Func().Params(raw("j *%s, %s time.Time", s.n.Record, now)).Bool().Block(
		jen.Return(raw(scope{n: s.n, caller: "c.Actor"}.facts(o.Chosen()).String())),
	))
}

// condition returns what a store compares a column with.
func (s *store) condition(a asked) string {
	switch a.op {
	case spec.Present:
		return fmt.Sprintf("{Column: %q, Op: driver.OpPresent}", a.field.Stored())
	case spec.Absent:
		return fmt.Sprintf("{Column: %q, Op: driver.OpAbsent}", a.field.Stored())
	}
	if a.now {
		return fmt.Sprintf("{Column: %q, Op: driver.%s, Now: true}", a.field.Stored(), condOps[a.op])
	}
	value := s.rows.column(scope{n: s.n, caller: "c.Actor"}.term(a.value, a.left), a.value.Kind == spec.TermInput)
	return fmt.Sprintf("{Column: %q, Op: driver.%s, Value: %s}", a.field.Stored(), condOps[a.op], value)
}

var condOps = map[spec.FactOp]string{
	spec.Eq: "OpEq", spec.Ne: "OpNe", spec.Lt: "OpLt", spec.Le: "OpLe", spec.Gt: "OpGt", spec.Ge: "OpGe",
}

// line begins an item of a list, on a line of its own where they are many.
func line(g *jen.Group, many bool) *jen.Statement {
	if many {
		return g.Line()
	}
	return g.Null()
}
