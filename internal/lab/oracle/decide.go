package oracle

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
)

// Verdict is what has to happen to one record by one call.
type Verdict struct {
	// Of a refusal.
	Code    fsm.Code // empty: the call is taken
	guard   string   // with CodeGuard: the guard, or the branch's error
	Names   []string // with CodeInvariant, CodeOverflow and CodeInvalidInput: what may be named
	Error   string   // the name of the machine's own sentinel
	allowed []string // with CodeWrongState and CodeTerminal

	// Of a call that is taken.
	Row        driver.Row
	RecordOnly bool
	Kept       string // the guard that failed, where the refusal is recorded only

	Failing []string // all guards that fail, also behind the first
	Way     string   // how it was decided, for counting
}

// Refused is the verdict of a refusal.
func Refused(code fsm.Code, names ...string) Verdict {
	return Verdict{Code: code, Names: names, Way: string(code)}
}

// Decide says what an operation does to a record. For a creation r is zero.
func (m *Model) Decide(o *Op, r driver.Row, c Call) Verdict {
	c.At = driver.Time(c.At)
	if o.By == "system" {
		c.Actor = driver.SystemActor
	}
	if v := m.AcceptCaller(o, c); v.Code != "" {
		return v
	}
	if v := m.AcceptInputs(o, c); v.Code != "" {
		return v
	}
	from := m.StateOf(r.State)
	at := Cell{}
	if o.Creates {
		at = o.Cells[NewColumn]
		r = m.Blank(c.ID)
	} else {
		at = o.Cells[from.Name]
	}
	switch at.Kind {
	case CellRecordOnly:
		if g := m.stranger(o, r, c); g != nil {
			return Verdict{Code: fsm.ErrGuard, guard: g.Name, Error: g.Error, Failing: []string{g.Name}, Way: "record only, guard " + g.Name}
		}
		return Verdict{Row: r, RecordOnly: true, Way: "record only"}
	case CellMove, CellChoose:
	default:
		v := Refused(fsm.ErrWrongState)
		if from.Terminal {
			v = Refused(fsm.ErrTerminal)
		}
		v.allowed = m.Allowed(o)
		return v
	}
	var failing []string
	for _, g := range o.Guards {
		if !m.passes(g, o, r, c) {
			failing = append(failing, g.Name)
		}
	}
	if len(failing) > 0 {
		g := m.guards[failing[0]]
		if o.OnRefusal == "record only" {
			return Verdict{Row: r, RecordOnly: true, Kept: g.Name, Failing: failing, Way: "record only, guard " + g.Name}
		}
		return Verdict{Code: fsm.ErrGuard, guard: g.Name, Error: g.Error, Failing: failing, Way: "guard " + g.Name}
	}
	v := m.move(o, at, from, r, c)
	return v
}

// move applies the effects, chooses and looks at the invariants.
func (m *Model) move(o *Op, at Cell, from *StateInfo, r driver.Row, c Call) Verdict {
	after, over := m.begun(o, r, c)
	if over != "" {
		return Refused(fsm.ErrOverflow, over)
	}
	to, way := at.To, "move"
	if at.Kind == CellChoose {
		i := slices.IndexFunc(o.Branches, func(b *BranchInfo) bool {
			return b.In(from) && m.AllHold(b.Facts, o, after, c)
		})
		if i < 0 {
			return Refused(fsm.ErrInvariant, "choose")
		}
		b := o.Branches[i]
		way = "branch " + strconv.Itoa(i+1)
		switch {
		case b.Reject != "":
			return Verdict{Code: fsm.ErrGuard, guard: b.Reject, Error: b.Reject, Way: way}
		case b.RecordOnly:
			return Verdict{Row: r, RecordOnly: true, Way: way}
		}
		if over := m.Apply(o, b.Does, r, &after, c); over != "" {
			return Refused(fsm.ErrOverflow, over)
		}
		if to = b.To; to == "same" {
			to = from.Name
		}
	}
	after.State = m.StateByName[to].StoredName
	after.Rev = r.Rev + 1
	if c.At.After(after.UpdatedAt) {
		after.UpdatedAt = c.At
	}
	if broken := m.Broken(after); len(broken) > 0 {
		v := Refused(fsm.ErrInvariant)
		for _, b := range broken {
			f := m.FieldByName[b.Rule]
			if f != nil && !o.Creates && (f.Kind == driver.KindCounter || f.Kind == driver.KindSequence) {
				continue // no step can break it: a corrupt one is found when it is loaded
			}
			if b.Must {
				v.Names = append(v.Names, b.Rule)
			}
		}
		if len(v.Names) > 0 {
			return v
		}
	}
	return Verdict{Row: after, Way: way}
}

// begun is the record that branches look at: a creation has its numbers, and what is
// always done is done. It names the first field that cannot hold its new value.
func (m *Model) begun(o *Op, r driver.Row, c Call) (after driver.Row, over string) {
	after = r
	after.Values = slices.Clone(r.Values)
	if o.Creates {
		after.CreatedAt = c.At
		for _, f := range m.Sequences {
			if after.Values[f.Index] = c.Peers[f.Name]; c.Peers[f.Name] < 1 && over == "" {
				over = f.Name
			}
		}
	}
	over = Or(over, m.Apply(o, o.Always, r, &after, c))
	return after, over
}

func (m *Model) passes(g *GuardInfo, o *Op, r driver.Row, c Call) bool {
	if g.Fewer > 0 {
		return c.Peers[g.Name] < g.Fewer
	}
	return m.AllHold(g.Facts, o, r, c)
}

// stranger returns the guard that refuses a call which would be recorded only: one that
// compares a field with the actor, where the record names somebody else.
func (m *Model) stranger(o *Op, r driver.Row, c Call) *GuardInfo {
	for _, g := range o.Guards {
		for _, f := range g.Facts {
			who, field := f.Left, f.Right
			if who.word != "actor" {
				who, field = field, who
			}
			asks := f.Op == "==" && who.word == "actor" && field.Field != "" && o.OnRefusal != "record only"
			if v := m.TermValue(field, o, r, c); asks && v != nil && v != any(c.Actor) {
				return g
			}
		}
	}
	return nil
}

// AllHold reports whether each of the facts holds.
func (m *Model) AllHold(facts []fact, o *Op, r driver.Row, c Call) bool {
	for _, f := range facts {
		if !m.holds(f, o, r, c) {
			return false
		}
	}
	return true
}

// Apply writes the effects on target; right sides read the stored record. It names the
// first field that cannot hold its new value.
func (m *Model) Apply(o *Op, e EffectSet, stored driver.Row, target *driver.Row, c Call) (over string) {
	for _, a := range e.Set {
		f := m.FieldByName[a.Field]
		v := m.value(o, f, a, stored, c)
		if v == nil {
			v = f.Empty()
		}
		if at, ok := v.(time.Time); ok && strings.HasPrefix(a.Value, "now + ") && at.Year() > 9999 && over == "" {
			over = a.Field
		}
		target.Values[f.Index] = v
	}
	for _, name := range e.Clear {
		f := m.FieldByName[name]
		target.Values[f.Index] = f.Empty()
	}
	for _, name := range e.Increment {
		f := m.FieldByName[name]
		n, _ := target.Values[f.Index].(int64)
		if n == math.MaxInt64 && over == "" {
			over = name
		}
		target.Values[f.Index] = n + 1
	}
	for _, a := range e.Add {
		f := m.FieldByName[a.Field]
		added, ok := m.value(o, f, a, stored, c).(string)
		if !ok {
			continue
		}
		items := []string{added}
		if t := m.termType(m.source(a), o); t != nil && t.Kind == driver.KindSet {
			items = Members(added)
		}
		target.Values[f.Index] = SetOf(append(Members(target.Values[f.Index]), items...)...)
	}
	return over
}

// value reads the right side of an assignment.
func (m *Model) value(o *Op, f *FieldInfo, a Assign, stored driver.Row, c Call) any {
	if name := a.Input(); name != "" {
		sent := c.Inputs[name]
		if in := o.InputNamed(name); sent == nil && in != nil {
			sent = in.Empty()
		}
		if sent == nil && a.Value == "input or same" {
			return stored.Values[f.Index]
		}
		return sent
	}
	switch v := a.Value; {
	case strings.HasPrefix(v, "'"):
		return f.constant(strings.TrimSuffix(v[1:], "'"))
	case v == "actor":
		return c.Actor
	case v == "now":
		return c.At
	case strings.HasPrefix(v, "now + "):
		return c.At.Add(Duration(strings.TrimPrefix(v, "now + ")))
	case v == "true", v == "false":
		return v == "true"
	case v == "created_at":
		return stored.CreatedAt
	case v == "updated_at":
		return stored.UpdatedAt
	case m.FieldByName[v] != nil:
		return stored.Values[m.FieldByName[v].Index]
	default:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		return f.storedWord(v)
	}
}

// AcceptCaller looks at who calls and why, and AcceptInputs at the rest of a call by itself.
func (m *Model) AcceptCaller(o *Op, c Call) Verdict {
	switch {
	case o.By == "system":
	case c.Actor == "" && (o.By == "operator" || o.ReadsActor):
		return Refused(fsm.ErrActorMissing)
	case c.Reason == "" && o.By == "operator":
		return Refused(fsm.ErrReasonMissing)
	case (o.By == "operator" || o.ReadsActor) && !isID(c.Actor):
		return Refused(fsm.ErrInvalidInput, "actor")
	case o.By == "operator" && !isText(c.Reason):
		return Refused(fsm.ErrInvalidInput, "reason")
	}
	return Verdict{}
}

// AcceptInputs looks at the inputs, and at the id of a creation.
func (m *Model) AcceptInputs(o *Op, c Call) Verdict {
	for _, in := range o.InputList {
		if !m.Acceptable(o, in, c.Inputs[in.Name]) {
			return Refused(fsm.ErrInvalidInput, in.Name)
		}
	}
	if o.Creates && !isID(c.ID) {
		return Refused(fsm.ErrInvalidInput, "id")
	}
	return Verdict{}
}

// Acceptable reports whether an input may have the value.
func (m *Model) Acceptable(o *Op, in *InputInfo, v any) bool {
	if v == nil {
		v = in.Empty()
	}
	switch v := v.(type) {
	case nil:
		return in.Optional
	case string:
		switch in.Kind {
		case driver.KindString:
			return v != "" && isText(v)
		case driver.KindEnum:
			return v != fsmcases.NoWord
		}
		if in.Kind == driver.KindSet {
			return !slices.ContainsFunc(Members(v), func(x string) bool { return x == "" || !isText(x) })
		}
		return utf8.ValidString(v) && (in.Kind != driver.KindJSON || v != "" && v != "null" && isText(unescaped(v)))
	case time.Time:
		return (!v.IsZero() || in.Optional) && v.Year() >= 1 && v.Year() <= 9999
	case int64:
		return within(in.Typ, v) && m.fitsFields(o, in, v)
	}
	return true
}

// isText says whether every store can hold a text, and isID whether it can name
// a record, a request or an actor.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// unescaped returns the strings and names of a JSON text.
func unescaped(text string) string {
	var all strings.Builder
	dec := json.NewDecoder(strings.NewReader(text))
	for dec.UseNumber(); ; { // a number may be greater than any float
		t, err := dec.Token()
		if s, ok := t.(string); ok {
			all.WriteString(s)
		}
		if err != nil {
			return all.String()
		}
	}
}

func isID(s string) bool { return s != "" && len(s) <= 255 && isText(s) }

// fitsFields says whether an int input keeps the bounds of the fields it is set into.
func (m *Model) fitsFields(o *Op, in *InputInfo, n int64) bool {
	return !slices.ContainsFunc(o.sets(), func(a Assign) bool {
		return a.Input() == in.Name && !within(m.FieldByName[a.Field].Typ, n)
	})
}

func within(y Typ, n int64) bool {
	return (y.Min == nil || n >= *y.Min) && (y.Max == nil || n <= *y.Max) && (y.Kind != driver.KindCounter || n >= 0) &&
		(y.Kind != driver.KindSequence || n >= 1)
}

// Broken lists the rules that a record breaks. A broken type is named by the
// field alone.
func (m *Model) Broken(r driver.Row) []fsm.Violation {
	s := m.StateOf(r.State)
	var list []fsm.Violation
	for i, v := range r.Values {
		if n, isInt := v.(int64); isInt {
			if f := m.FieldByName[m.Order[i]]; !within(f.Typ, n) {
				list = append(list, fsm.Violation{Rule: f.Name, Must: true})
			}
		}
	}
	for _, f := range s.must {
		if !m.holds(f, nil, r, Call{}) {
			list = append(list, fsm.Violation{Rule: f.text, Must: true})
		}
	}
	for _, f := range s.should {
		if !m.holds(f, nil, r, Call{}) {
			list = append(list, fsm.Violation{Rule: f.text})
		}
	}
	return list
}

// Allowed lists the states in which the operation is a transition.
func (m *Model) Allowed(o *Op) []string {
	if o.froms == nil {
		o.froms = []string{}
		for _, s := range m.StateOrder {
			if k := o.Cells[s.Name].Kind; k == CellMove || k == CellChoose {
				o.froms = append(o.froms, s.Name)
			}
		}
	}
	return slices.Clone(o.froms)
}

// Blank is a record before its creation.
func (m *Model) Blank(id string) driver.Row {
	r := driver.Row{ID: id, Values: make([]any, len(m.Order))}
	for i, name := range m.Order {
		switch m.FieldByName[name].Kind {
		case driver.KindCounter:
			r.Values[i] = int64(0)
		case driver.KindSet:
			r.Values[i] = "[]"
		}
	}
	return r
}
