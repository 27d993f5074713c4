package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Model is a table taken apart, with every name bound. One goroutine asks it at a time.
type Model struct {
	Table
	Short       bool     // fewer cases are enough
	spec        []string // the lines of the specification, once read
	Order       []string // field names as in the table
	FieldByName map[string]*FieldInfo
	Sequences   []*FieldInfo
	StateByName map[string]*StateInfo
	StateOrder  []*StateInfo
	stored      map[string]*StateInfo // by the word in rows
	Ops         []*Op
	guards      map[string]*GuardInfo
	rule        []fact          // all rules about records, each once
	rules       map[string]bool // their texts
	Nothing     Op              // a record is made up for none
}

// Typ is the type of a field or an input.
type Typ struct {
	Kind        driver.Kind
	Optional    bool
	Min, Max    *int64
	Names       []string // of an enum, as the specification writes them now
	StoredWords []string // the same as rows and events hold them
}

// FieldInfo is a field of the table with its type and its place in a row.
type FieldInfo struct {
	Field
	Typ
	Index int
}

// StateInfo is a state of the table, taken apart.
type StateInfo struct {
	State
	StoredName string
	must       []fact // presence, and all invariants that hold in it
	should     []fact
	one        *driver.Row // a record in it, once one is made up
}

// GuardInfo is a guard of the table, taken apart.
type GuardInfo struct {
	Guard
	Facts []fact
}

// Op is an operation of the table, taken apart.
type Op struct {
	Operation
	StoredName, EventName string
	Cells                 map[string]Cell // by state name, and NewColumn
	InputList             []*InputInfo
	Guards                []*GuardInfo
	Always                EffectSet
	Branches              []*BranchInfo
	WhereFacts            []fact
	Creates               bool
	ReadsActor            bool
	froms                 []string // the states that it leaves
	known                 []Dim    // what varies around it, once worked out
	sought                map[*StateInfo][]Case
}

// InputInfo is an input of the table with its type.
type InputInfo struct {
	Input
	Typ
}

// BranchInfo is a line of `choose`, taken apart.
type BranchInfo struct {
	Branch
	Facts []fact
	Does  EffectSet
}

// In reports whether the branch is looked at in a state; nil is that of a creation.
func (b *BranchInfo) In(s *StateInfo) bool {
	return b.From == "" || s != nil && slices.Contains(List(b.From), s.Name)
}

// source is the term that an assignment reads.
func (m *Model) source(a Assign) Term {
	if in := a.Input(); in != "" {
		return Term{Input: in}
	}
	return parseTerm(a.Value, m.isField)
}

// EffectSet is what an operation or a branch does to the fields.
type EffectSet struct {
	Set       []Assign
	Clear     []string
	Increment []string
	Add       []Assign
}

// Assign gives a field a value, in the words of the table.
type Assign struct{ Field, Value string }

// Input is the input that the value is read from, "" for none.
func (a Assign) Input() string {
	if from, ok := strings.CutPrefix(a.Value, "input."); ok {
		return from
	}
	if a.Value == "input" || strings.HasPrefix(a.Value, "input or ") {
		return a.Field
	}
	return ""
}

// Compile binds the names of a table; a table that does not fit is an error.
func Compile(t Table) (*Model, error) {
	m := &Model{
		Table: t, FieldByName: map[string]*FieldInfo{}, StateByName: map[string]*StateInfo{}, stored: map[string]*StateInfo{},
		guards: map[string]*GuardInfo{}, rules: map[string]bool{},
	}
	for i, f := range t.Fields {
		y, err := parseType(f.Type, f.Words)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		f.Stored = Or(f.Stored, f.Name)
		m.FieldByName[f.Name] = &FieldInfo{Field: f, Typ: y, Index: i}
		if y.Kind == driver.KindSequence {
			m.Sequences = append(m.Sequences, m.FieldByName[f.Name])
		}
		m.Order = append(m.Order, f.Name)
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
	presence := func(names, is string) (texts []string) {
		for _, name := range List(names) {
			texts = append(texts, name+is)
		}
		return texts
	}
	for _, s := range t.States {
		present, absent := presence(s.Present, " is present"), presence(s.Absent, " is absent")
		x := &StateInfo{
			State: s, StoredName: Or(s.Stored, s.Name), must: facts(slices.Concat(present, absent, t.Invariant, s.Invariant)),
			should: facts(slices.Concat(presence(s.ShouldPresent, " is present"), presence(s.ShouldAbsent, " is absent"))),
		}
		for _, f := range slices.Concat(x.must, x.should) {
			if !m.rules[f.text] {
				m.rules[f.text] = true
				m.rule = append(m.rule, f)
			}
		}
		m.StateByName[s.Name] = x
		m.StateOrder = append(m.StateOrder, x)
		m.stored[x.StoredName] = x
	}
	for _, g := range t.Guards {
		m.guards[g.Name] = &GuardInfo{Guard: g, Facts: facts(g.When)}
	}
	cells, e := m.readMatrix()
	if e != nil {
		return nil, e
	}
	for i, o := range t.Operations {
		x := &Op{
			Operation: o, StoredName: Or(o.Stored, o.Name), EventName: Or(o.StoredEvent, o.Event, o.Name), Cells: cells[i],
			WhereFacts: facts(o.Where), Creates: cells[i][NewColumn].Kind != cellNone,
			Always: parseEffects(o.Set, o.Clear, o.Increment, o.Add), sought: map[*StateInfo][]Case{},
		}
		x.Event = Or(o.Event, o.Name)
		for _, in := range o.Inputs {
			y, err := parseType(in.Type, in.Words)
			if err != nil {
				return nil, fmt.Errorf("input %s of %s: %w", in.Name, o.Name, err)
			}
			x.InputList = append(x.InputList, &InputInfo{Input: in, Typ: y})
		}
		for _, g := range List(o.Require) {
			if m.guards[g] == nil {
				return nil, fmt.Errorf("operation %s requires %q, which is no guard", o.Name, g)
			}
			x.Guards = append(x.Guards, m.guards[g])
		}
		for _, g := range List(o.Implied) {
			if !slices.Contains(List(o.Require), g) {
				return nil, fmt.Errorf("operation %s: %q is implied, but not required", o.Name, g)
			}
		}
		for _, b := range o.Choose {
			x.Branches = append(x.Branches, &BranchInfo{Branch: b, Facts: facts(b.When), Does: parseEffects(b.Set, b.Clear, b.Increment, b.Add)})
		}
		x.ReadsActor = x.usesActor()
		m.Ops = append(m.Ops, x)
	}
	if err == nil {
		err = m.checkWitnesses()
	}
	return m, err
}

func (m *Model) isField(name string) bool {
	return m.FieldByName[name] != nil || name == "created_at" || name == "updated_at"
}

// OpNamed returns the operation with that name, nil for an unknown one.
func (m *Model) OpNamed(name string) *Op {
	for _, o := range m.Ops {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// StateOf returns the state with that stored word, nil for an unknown one.
func (m *Model) StateOf(stored string) *StateInfo { return m.stored[stored] }

// implied reports whether the proof found that a guard refuses no sound record.
func (o *Op) implied(guard string) bool { return slices.Contains(List(o.Implied), guard) }

// InputNamed returns the input with that name, nil for an unknown one.
func (o *Op) InputNamed(name string) *InputInfo {
	for _, in := range o.InputList {
		if in.Name == name {
			return in
		}
	}
	return nil
}

// usesActor says whether the operation reads who calls: without an actor it
// could not be decided.
func (o *Op) usesActor() bool {
	return slices.ContainsFunc(o.facts(), func(f fact) bool { return f.Left.isActor() || f.Right.isActor() }) ||
		slices.ContainsFunc(slices.Concat(o.sets(), o.adds()), func(a Assign) bool { return a.Value == "actor" })
}

// facts lists what decides the operation.
func (o *Op) facts() []fact {
	facts := slices.Clone(o.WhereFacts)
	for _, g := range o.Guards {
		facts = append(facts, g.Facts...)
	}
	for _, b := range o.Branches {
		facts = append(facts, b.Facts...)
	}
	return facts
}

// sets lists the assignments of the operation and of its branches, and adds what they
// add to sets.
func (o *Op) sets() []Assign {
	list := slices.Clone(o.Always.Set)
	for _, b := range o.Branches {
		list = append(list, b.Does.Set...)
	}
	return list
}

func (o *Op) adds() []Assign {
	list := slices.Clone(o.Always.Add)
	for _, b := range o.Branches {
		list = append(list, b.Does.Add...)
	}
	return list
}

func parseEffects(set []string, cleared, increment string, add []string) EffectSet {
	assigns := func(texts []string) (list []Assign) {
		for _, text := range texts {
			f, v, _ := strings.Cut(text, ": ")
			list = append(list, Assign{f, v})
		}
		return list
	}
	return EffectSet{assigns(set), List(cleared), List(increment), assigns(add)}
}

var kinds = map[string]driver.Kind{
	"string": driver.KindString, "int": driver.KindInt, "bool": driver.KindBool, "time": driver.KindTime, "json": driver.KindJSON,
	"counter": driver.KindCounter, "set": driver.KindSet, "sequence": driver.KindSequence,
}

func parseType(text, stored string) (Typ, error) {
	var y Typ
	rest, optional := strings.CutPrefix(text, "optional ")
	y.Optional = optional
	if k, ok := kinds[rest]; ok {
		y.Kind = k
		return y, nil
	}
	if strings.Contains(rest, "|") {
		y.Kind = driver.KindEnum
		y.Names = split(rest, "|")
		y.StoredWords = y.Names
		if stored != "" {
			y.StoredWords = split(stored, "|")
		}
		if len(y.StoredWords) != len(y.Names) {
			return y, fmt.Errorf("%d stored words for %d words", len(y.StoredWords), len(y.Names))
		}
		return y, nil
	}
	if bounds, ok := strings.CutPrefix(rest, "int "); ok {
		lo, hi, _ := strings.Cut(bounds, "..")
		y.Kind = driver.KindInt
		for _, b := range []struct {
			text string
			to   **int64
		}{{lo, &y.Min}, {hi, &y.Max}} {
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

// Empty is what a required datum holds when nothing has set it, nil when it
// cannot do without.
func (y *Typ) Empty() any {
	if y.Optional {
		return nil
	}
	switch y.Kind {
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
func (y *Typ) constant(text string) any {
	if y.Kind != driver.KindTime {
		return text
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic("fsmcases: " + text + " is no time")
	}
	return at
}

func (y *Typ) storedWord(word string) string {
	if i := slices.Index(y.Names, word); i >= 0 {
		return y.StoredWords[i]
	}
	return word
}

// List reads names separated by commas.
func List(s string) []string {
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

// Or returns the first text that is not empty.
func Or(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// SortedKeys returns the keys of a map in their order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Duration reads "600s", "5m", "2h" or "3d".
func Duration(s string) time.Duration {
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[len(s)-1]]
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || unit == 0 {
		panic("fsmcases: " + s + " is no duration")
	}
	return time.Duration(n) * unit
}

// Show prints a value of a row.
func Show(v any) string {
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

// ShowRow prints a record, without its id.
func (m *Model) ShowRow(r driver.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s rev %d created %s updated %s", Or(r.State, "(new)"), r.Rev, Show(r.CreatedAt), Show(r.UpdatedAt))
	for i, f := range m.Order {
		if i < len(r.Values) && r.Values[i] != nil {
			fmt.Fprintf(&b, ", %s %s", f, Show(r.Values[i]))
		}
	}
	return b.String()
}

// StoredNames returns the columns of some fields.
func (m *Model) StoredNames(names ...string) []string {
	var columns []string
	for _, name := range names {
		if f := m.FieldByName[name]; f != nil {
			name = f.Stored
		}
		columns = append(columns, name)
	}
	return columns
}
