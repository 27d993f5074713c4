package fsmtest

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// verdict is what has to happen to one record by one call.
type verdict struct {
	// Of a refusal.
	code    fsm.Code // empty: the call is taken
	guard   string   // with CodeGuard: the guard, or the branch's error
	names   []string // with CodeInvariant, CodeOverflow and CodeInvalidInput: what may be named
	error   string   // the name of the machine's own sentinel
	allowed []string // with CodeWrongState and CodeTerminal

	// Of a call that is taken.
	row        driver.Row
	recordOnly bool
	kept       string // the guard that failed, where the refusal is recorded only

	failing []string // all guards that fail, also behind the first
	way     string   // how it was decided, for counting
}

func refused(code fsm.Code, names ...string) verdict {
	return verdict{code: code, names: names, way: string(code)}
}

// decide says what an operation does to a record. For a creation r is zero.
func (m *model) decide(o *operation, r driver.Row, c Call) verdict {
	c.At = driver.Time(c.At)
	if o.By == "system" {
		c.Actor = driver.SystemActor
	}
	if v := m.accept(o, c); v.code != "" {
		return v
	}
	from := m.stateOf(r.State)
	at := cell{}
	if o.creates {
		at = o.cells[newColumn]
		r = m.blank(c.ID)
	} else {
		at = o.cells[from.Name]
	}
	switch at.kind {
	case cellRecordOnly:
		return verdict{row: r, recordOnly: true, way: "record only"}
	case cellMove, cellChoose:
	default:
		v := refused(fsm.ErrWrongState)
		if from.Terminal {
			v = refused(fsm.ErrTerminal)
		}
		v.allowed = m.allowed(o)
		return v
	}
	var failing []string
	for _, g := range o.require {
		if !m.passes(g, o, r, c) {
			failing = append(failing, g.Name)
		}
	}
	if len(failing) > 0 {
		g := m.guards[failing[0]]
		if o.OnRefusal == "record only" {
			return verdict{row: r, recordOnly: true, kept: g.Name, failing: failing, way: "record only, guard " + g.Name}
		}
		return verdict{code: fsm.ErrGuard, guard: g.Name, error: g.Error, failing: failing, way: "guard " + g.Name}
	}
	v := m.move(o, at, from, r, c)
	return v
}

// move applies the effects, chooses and looks at the invariants.
func (m *model) move(o *operation, at cell, from *state, r driver.Row, c Call) verdict {
	after := r
	after.Values = slices.Clone(r.Values)
	if o.creates { // a branch may look at the number
		after.CreatedAt = c.At
		for _, name := range m.order {
			if f := m.fields[name]; f.kind == driver.KindSequence {
				if c.Peers[name] < 1 {
					return refused(fsm.ErrOverflow, name)
				}
				after.Values[f.index] = c.Peers[name]
			}
		}
	}
	if over := m.apply(o, o.effects, r, &after, c); over != "" {
		return refused(fsm.ErrOverflow, over)
	}
	to, way := at.to, "move"
	if at.kind == cellChoose {
		i := slices.IndexFunc(o.branches, func(b *branch) bool {
			if b.From != "" && (from == nil || !slices.Contains(list(b.From), from.Name)) {
				return false
			}
			return m.allHold(b.when, o, after, c)
		})
		if i < 0 {
			return refused(fsm.ErrInvariant, "choose")
		}
		b := o.branches[i]
		way = "branch " + strconv.Itoa(i+1)
		switch {
		case b.Reject != "":
			return verdict{code: fsm.ErrGuard, guard: b.Reject, error: b.Reject, way: way}
		case b.RecordOnly:
			return verdict{row: r, recordOnly: true, way: way}
		}
		if over := m.apply(o, b.effects, r, &after, c); over != "" {
			return refused(fsm.ErrOverflow, over)
		}
		if to = b.To; to == "same" {
			to = from.Name
		}
	}
	after.State = m.states[to].stored
	after.Rev = r.Rev + 1
	if c.At.After(after.UpdatedAt) {
		after.UpdatedAt = c.At
	}
	if broken := m.broken(after); len(broken) > 0 {
		v := refused(fsm.ErrInvariant)
		for _, b := range broken {
			f := m.fields[b.Rule]
			if f != nil && !o.creates && (f.kind == driver.KindCounter || f.kind == driver.KindSequence) {
				continue // no step can break it: a corrupt one is found when it is loaded
			}
			if b.Must {
				v.names = append(v.names, b.Rule)
			}
		}
		if len(v.names) > 0 {
			return v
		}
	}
	return verdict{row: after, way: way}
}

func (m *model) passes(g *guard, o *operation, r driver.Row, c Call) bool {
	if g.Fewer > 0 {
		return c.Peers[g.Name] < g.Fewer
	}
	return m.allHold(g.when, o, r, c)
}

func (m *model) allHold(facts []fact, o *operation, r driver.Row, c Call) bool {
	for _, f := range facts {
		if !m.holds(f, o, r, c) {
			return false
		}
	}
	return true
}

// apply writes the effects on target; right sides read the stored record. It names the
// first field that cannot hold its new value.
func (m *model) apply(o *operation, e effects, stored driver.Row, target *driver.Row, c Call) (over string) {
	for _, a := range e.set {
		f := m.fields[a.field]
		v := m.value(o, f, a, stored, c)
		if v == nil {
			v = f.empty()
		}
		if at, ok := v.(time.Time); ok && strings.HasPrefix(a.value, "now + ") && at.Year() > 9999 && over == "" {
			over = a.field
		}
		target.Values[f.index] = v
	}
	for _, name := range e.clear {
		f := m.fields[name]
		target.Values[f.index] = f.empty()
	}
	for _, name := range e.increment {
		f := m.fields[name]
		n, _ := target.Values[f.index].(int64)
		if n == math.MaxInt64 && over == "" {
			over = name
		}
		target.Values[f.index] = n + 1
	}
	for _, a := range e.add {
		f := m.fields[a.field]
		added := m.value(o, f, a, stored, c)
		items := members(target.Values[f.index])
		if in := o.input(strings.TrimPrefix(or(map[bool]string{true: a.field}[a.value == "input"], a.value), "input.")); in != nil && in.kind == driver.KindSet {
			items = append(items, members(added)...)
		} else if g := m.fields[a.value]; g != nil && g.kind == driver.KindSet {
			items = append(items, members(added)...)
		} else if s, ok := added.(string); ok {
			items = append(items, s)
		}
		target.Values[f.index] = setOf(items...)
	}
	return over
}

// value reads the right side of an assignment.
func (m *model) value(o *operation, f *field, a assign, stored driver.Row, c Call) any {
	sent := func(name string) any {
		v := c.Inputs[name]
		if in := o.input(name); v == nil && in != nil {
			v = in.empty()
		}
		return v
	}
	switch v := a.value; {
	case v == "input", v == "input or absent":
		return sent(a.field)
	case v == "input or same":
		if s := sent(a.field); s != nil {
			return s
		}
		return stored.Values[f.index]
	case strings.HasPrefix(v, "input."):
		return sent(strings.TrimPrefix(v, "input."))
	case strings.HasPrefix(v, "'"):
		return f.constant(strings.TrimSuffix(v[1:], "'"))
	case v == "actor":
		return c.Actor
	case v == "now":
		return c.At
	case strings.HasPrefix(v, "now + "):
		return c.At.Add(duration(strings.TrimPrefix(v, "now + ")))
	case v == "true", v == "false":
		return v == "true"
	case v == "created_at":
		return stored.CreatedAt
	case v == "updated_at":
		return stored.UpdatedAt
	case m.fields[v] != nil:
		return stored.Values[m.fields[v].index]
	default:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		return f.storedWord(v)
	}
}

// accept looks at the call by itself.
func (m *model) accept(o *operation, c Call) verdict {
	if v := m.acceptCaller(o, c); v.code != "" {
		return v
	}
	return m.acceptInputs(o, c)
}

// acceptCaller is accept for who calls and why, acceptInputs for the rest.
func (m *model) acceptCaller(o *operation, c Call) verdict {
	switch {
	case o.By == "system":
	case c.Actor == "" && (o.By == "operator" || o.readsActor):
		return refused(fsm.ErrActorMissing)
	case c.Reason == "" && o.By == "operator":
		return refused(fsm.ErrReasonMissing)
	case (o.By == "operator" || o.readsActor) && !isID(c.Actor):
		return refused(fsm.ErrInvalidInput, "actor")
	case o.By == "operator" && !isText(c.Reason):
		return refused(fsm.ErrInvalidInput, "reason")
	}
	return verdict{}
}

func (m *model) acceptInputs(o *operation, c Call) verdict {
	for _, in := range o.inputs {
		if !m.acceptable(o, in, c.Inputs[in.Name]) {
			return refused(fsm.ErrInvalidInput, in.Name)
		}
	}
	if o.creates && !isID(c.ID) {
		return refused(fsm.ErrInvalidInput, "id")
	}
	return verdict{}
}

func (m *model) acceptable(o *operation, in *input, v any) bool {
	if v == nil {
		v = in.empty()
	}
	switch v := v.(type) {
	case nil:
		return in.optional
	case string:
		if in.kind == driver.KindString {
			return (v != "" || in.optional) && isText(v)
		}
		if in.kind == driver.KindSet {
			return !slices.ContainsFunc(members(v), func(x string) bool { return x == "" || !isText(x) })
		}
		return utf8.ValidString(v) && (in.kind != driver.KindJSON || v != "")
	case time.Time:
		return (!v.IsZero() || in.optional) && v.Year() >= 1 && v.Year() <= 9999
	case int64:
		return within(in.typ, v) && m.fitsFields(o, in, v)
	}
	return true
}

// isText says whether every store can hold a text, and isID whether it can name
// a record, a request or an actor.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func isID(s string) bool { return s != "" && len(s) <= 255 && isText(s) }

// fitsFields says whether an int input keeps the bounds of the fields it is set into.
func (m *model) fitsFields(o *operation, in *input, n int64) bool {
	for _, a := range sets(o) {
		from := strings.TrimPrefix(a.value, "input.")
		if a.value == "input" || a.value == "input or absent" || a.value == "input or same" {
			from = a.field
		}
		if from == in.Name && strings.HasPrefix(a.value, "input") && !within(m.fields[a.field].typ, n) {
			return false
		}
	}
	return true
}

func within(y typ, n int64) bool {
	return (y.min == nil || n >= *y.min) && (y.max == nil || n <= *y.max) && (y.kind != driver.KindCounter || n >= 0)
}

// lawful reports whether a record breaks no MUST: one that does is nowhere, so what a
// call on it comes to shows nothing about the machine. A SHOULD may be broken.
func (m *model) lawful(r driver.Row) bool {
	return !slices.ContainsFunc(m.broken(r), func(v fsm.Violation) bool { return v.Must })
}

// broken lists the rules that a record breaks. A broken type is named by the
// field alone.
func (m *model) broken(r driver.Row) []fsm.Violation {
	s := m.stateOf(r.State)
	var list []fsm.Violation
	for i, v := range r.Values {
		if n, isInt := v.(int64); isInt {
			f := m.fields[m.order[i]]
			if !within(f.typ, n) || f.kind == driver.KindSequence && n < 1 {
				list = append(list, fsm.Violation{Rule: f.Name, Must: true})
			}
		}
	}
	presence := func(must bool) {
		for _, p := range s.presence {
			if p.must == must && m.present(term{field: p.field.Name}, nil, r.Values[p.field.index]) != p.want {
				rule := p.field.Name + " is absent"
				if p.want {
					rule = p.field.Name + " is present"
				}
				list = append(list, fsm.Violation{Rule: rule, Must: must})
			}
		}
	}
	presence(true)
	for _, facts := range [][]fact{m.invariant, s.invariant} {
		for _, f := range facts {
			if !m.holds(f, nil, r, Call{}) {
				list = append(list, fsm.Violation{Rule: f.text, Must: true})
			}
		}
	}
	presence(false)
	return list
}

// allowed lists the states in which the operation is a transition.
func (m *model) allowed(o *operation) []string {
	if o.froms == nil {
		o.froms = []string{}
		for _, s := range m.stateOrder {
			if k := o.cells[s.Name].kind; k == cellMove || k == cellChoose {
				o.froms = append(o.froms, s.Name)
			}
		}
	}
	return slices.Clone(o.froms)
}

// starts are the states out of which an operation has a step; nil for a creation,
// which has one out of none.
func (m *model) starts(o *operation) []*state {
	if o.creates {
		return []*state{nil}
	}
	var from []*state
	for _, name := range m.allowed(o) {
		from = append(from, m.states[name])
	}
	return from
}

// blank is a record before its creation.
func (m *model) blank(id string) driver.Row {
	r := driver.Row{ID: id, Values: make([]any, len(m.order))}
	for i, name := range m.order {
		switch m.fields[name].kind {
		case driver.KindCounter:
			r.Values[i] = int64(0)
		case driver.KindSet:
			r.Values[i] = "[]"
		}
	}
	return r
}
