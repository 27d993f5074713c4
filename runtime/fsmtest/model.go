package fsmtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// model is a table taken apart, with every name bound.
type model struct {
	Table
	order      []string // field names as in the table
	fields     map[string]*field
	states     map[string]*state
	stateOrder []*state
	stored     map[string]*state // by the word in rows
	operations []*operation
	guards     map[string]*guard
	invariant  []fact
	sought     sought
	made       madeUp
	nothing    operation // a record is made up for none
}

type typ struct {
	kind     driver.Kind
	optional bool
	min, max *int64
	words    []string // of an enum, as the specification writes them now
	stored   []string // the same as rows and events hold them
}

type field struct {
	Field
	typ
	index int
}

type state struct {
	State
	stored    string
	invariant []fact
	presence  []presence
}

// presence is a rule about one field.
type presence struct {
	field      *field
	want, must bool
}

type guard struct {
	Guard
	when []fact
}

type operation struct {
	Operation
	stored, event string
	cells         map[string]cell // by state name, and newColumn
	inputs        []*input
	require       []*guard
	effects       effects
	branches      []*branch
	where         []fact
	creates       bool
	readsActor    bool
	froms         []string // the states that it leaves
	known         []dim    // what varies around it, once worked out
}

type input struct {
	Input
	typ
}

type branch struct {
	Branch
	when    []fact
	effects effects
}

type effects struct {
	set       []assign
	clear     []string
	increment []string
	add       []assign
}

type assign struct{ field, value string }

// compile binds the names of a table; a table that does not fit is an error.
func compile(t Table) (*model, error) {
	m := &model{
		Table: t, fields: map[string]*field{}, states: map[string]*state{}, stored: map[string]*state{}, guards: map[string]*guard{},
	}
	for i, f := range t.Fields {
		y, err := parseType(f.Type, f.Words)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		f.Stored = or(f.Stored, f.Name)
		m.fields[f.Name] = &field{Field: f, typ: y, index: i}
		m.order = append(m.order, f.Name)
	}
	var err error
	facts := func(texts []string) []fact {
		var list []fact
		for _, text := range texts {
			f, e := parseFact(text, m.isField)
			if e != nil && err == nil {
				err = e
			}
			list = append(list, f)
		}
		return list
	}
	m.invariant = facts(t.Invariant)
	for _, s := range t.States {
		x := &state{State: s, stored: or(s.Stored, s.Name), invariant: facts(s.Invariant)}
		for _, p := range []struct {
			names      string
			want, must bool
		}{{s.Present, true, true}, {s.Absent, false, true}, {s.ShouldPresent, true, false}, {s.ShouldAbsent, false, false}} {
			for _, name := range list(p.names) {
				if m.fields[name] == nil {
					return nil, fmt.Errorf("state %s: %q is no field", s.Name, name)
				}
				x.presence = append(x.presence, presence{m.fields[name], p.want, p.must})
			}
		}
		m.states[s.Name] = x
		m.stateOrder = append(m.stateOrder, x)
		m.stored[x.stored] = x
	}
	for _, g := range t.Guards {
		m.guards[g.Name] = &guard{Guard: g, when: facts(g.When)}
	}
	cells, names, columns, e := parseMatrix(t.Matrix)
	if e != nil {
		return nil, e
	}
	if len(columns) != len(t.States)+1 || columns[0] != newColumn {
		return nil, fmt.Errorf("matrix: the columns are %v, expected %s and the %d states", columns, newColumn, len(t.States))
	}
	for i, c := range columns[1:] {
		if c != t.States[i].Name {
			return nil, fmt.Errorf("matrix: column %d is %q, expected the state %q", i+1, c, t.States[i].Name)
		}
	}
	for i, o := range t.Operations {
		if i >= len(names) || names[i] != o.Name {
			return nil, fmt.Errorf("matrix: line %d is not operation %q", i+1, o.Name)
		}
		x := &operation{
			Operation: o, stored: or(o.Stored, o.Name), event: or(o.StoredEvent, o.Event, o.Name), cells: cells[o.Name],
			where: facts(o.Where), creates: cells[o.Name][newColumn].kind != cellNone,
			effects: parseEffects(o.Set, o.Clear, o.Increment, o.Add),
		}
		x.Event = or(o.Event, o.Name)
		for _, in := range o.Inputs {
			y, err := parseType(in.Type, in.Words)
			if err != nil {
				return nil, fmt.Errorf("input %s of %s: %w", in.Name, o.Name, err)
			}
			x.inputs = append(x.inputs, &input{Input: in, typ: y})
		}
		for _, g := range list(o.Require) {
			if m.guards[g] == nil {
				return nil, fmt.Errorf("operation %s requires %q, which is no guard", o.Name, g)
			}
			x.require = append(x.require, m.guards[g])
		}
		for _, g := range list(o.Implied) {
			if !slices.Contains(list(o.Require), g) {
				return nil, fmt.Errorf("operation %s: %q is implied, but not required", o.Name, g)
			}
		}
		for _, b := range o.Choose {
			x.branches = append(x.branches, &branch{Branch: b, when: facts(b.When), effects: parseEffects(b.Set, b.Clear, b.Increment, b.Add)})
		}
		x.readsActor = x.usesActor()
		for _, c := range x.cells {
			if c.kind == cellMove && m.states[c.to] == nil {
				return nil, fmt.Errorf("matrix: %s leads to %q, which is no state", o.Name, c.to)
			}
		}
		m.operations = append(m.operations, x)
	}
	if err == nil {
		err = m.checkWitnesses()
	}
	return m, err
}

func (m *model) isField(name string) bool {
	return m.fields[name] != nil || name == "created_at" || name == "updated_at"
}

func (m *model) operation(name string) *operation {
	for _, o := range m.operations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// stateOf returns the state with that stored word, nil for an unknown one.
func (m *model) stateOf(stored string) *state { return m.stored[stored] }

// implied reports whether the proof found that a guard refuses no sound record.
func (o *operation) implied(guard string) bool { return slices.Contains(list(o.Implied), guard) }

func (o *operation) input(name string) *input {
	for _, in := range o.inputs {
		if in.Name == name {
			return in
		}
	}
	return nil
}

// usesActor says whether the operation reads who calls: without an actor it
// could not be decided.
func (o *operation) usesActor() bool {
	facts := slices.Clone(o.where)
	sets := slices.Concat(o.effects.set, o.effects.add)
	for _, g := range o.require {
		facts = append(facts, g.when...)
	}
	for _, b := range o.branches {
		facts = append(facts, b.when...)
		sets = append(sets, slices.Concat(b.effects.set, b.effects.add)...)
	}
	return slices.ContainsFunc(facts, func(f fact) bool { return f.left.isActor() || f.right.isActor() }) ||
		slices.ContainsFunc(sets, func(a assign) bool { return a.value == "actor" })
}

func parseEffects(set []string, cleared, increment string, add []string) effects {
	e := effects{clear: list(cleared), increment: list(increment)}
	for _, s := range set {
		f, v, _ := strings.Cut(s, ": ")
		e.set = append(e.set, assign{f, v})
	}
	for _, s := range add {
		f, v, _ := strings.Cut(s, ": ")
		e.add = append(e.add, assign{f, v})
	}
	return e
}

var kinds = map[string]driver.Kind{
	"string": driver.KindString, "int": driver.KindInt, "bool": driver.KindBool, "time": driver.KindTime, "json": driver.KindJSON,
	"counter": driver.KindCounter, "set": driver.KindSet, "sequence": driver.KindSequence,
}

func parseType(text, stored string) (typ, error) {
	var y typ
	rest, optional := strings.CutPrefix(text, "optional ")
	y.optional = optional
	if k, ok := kinds[rest]; ok {
		y.kind = k
		return y, nil
	}
	if strings.Contains(rest, "|") {
		y.kind = driver.KindEnum
		y.words = split(rest, "|")
		y.stored = y.words
		if stored != "" {
			y.stored = split(stored, "|")
		}
		if len(y.stored) != len(y.words) {
			return y, fmt.Errorf("%d stored words for %d words", len(y.stored), len(y.words))
		}
		return y, nil
	}
	if bounds, ok := strings.CutPrefix(rest, "int "); ok {
		lo, hi, _ := strings.Cut(bounds, "..")
		y.kind = driver.KindInt
		for _, b := range []struct {
			text string
			to   **int64
		}{{lo, &y.min}, {hi, &y.max}} {
			if b.text = strings.TrimSpace(b.text); b.text == "" {
				continue
			}
			n, err := strconv.ParseInt(b.text, 10, 64)
			if err != nil {
				return y, err
			}
			*b.to = &n
		}
		return y, nil
	}
	return y, fmt.Errorf("%q is no type", text)
}

// empty is what a required datum holds when nothing has set it, nil when it
// cannot do without.
func (y *typ) empty() any {
	if y.optional {
		return nil
	}
	switch y.kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return int64(0)
	case driver.KindBool:
		return false
	case driver.KindSet:
		return "[]"
	}
	return nil
}

// constant is a text of the specification, as rows hold it.
func (y *typ) constant(text string) any {
	if y.kind != driver.KindTime {
		return text
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic("fsmtest: " + text + " is no time")
	}
	return at
}

func (y *typ) storedWord(word string) string {
	if i := slices.Index(y.words, word); i >= 0 {
		return y.stored[i]
	}
	return word
}

// list reads names separated by commas.
func list(s string) []string {
	if s == "" {
		return nil
	}
	return split(s, ",")
}

func split(s, sep string) []string {
	parts := strings.Split(s, sep)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func or(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// duration reads "600s", "5m", "2h" or "3d".
func duration(s string) time.Duration {
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || unit == 0 {
		panic("fsmtest: " + s + " is no duration")
	}
	return time.Duration(n) * unit
}

// show prints a value of a row.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// showRow prints a record, without its id.
func (m *model) showRow(r driver.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s rev %d created %s updated %s", or(r.State, "(new)"), r.Rev, show(r.CreatedAt), show(r.UpdatedAt))
	for i, f := range m.order {
		if i < len(r.Values) && r.Values[i] != nil {
			fmt.Fprintf(&b, ", %s %s", f, show(r.Values[i]))
		}
	}
	return b.String()
}
