package gen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// The levels of enforcement in the database.
const (
	enforceNone   = "none"   // tables, unique indexes, the log
	enforceChecks = "checks" // besides: CHECKs, an append-only log, no REPLACE
	enforceFull   = "full"   // besides: moves, terminal rows, every revision has its event
)

// schemaText writes one machine's schema in one dialect. What both dialects
// say in the same words is here; what they say differently is in sqlDialect.
type schemaText struct {
	*strings.Builder
	m       *spec.Machine
	enforce string
	d       sqlDialect
	words   sqlWords
	names   map[string]bool // names of constraints that are taken
	abouts  []string        // see about

	within   string   // the table whose lines are written
	comments []string // the lines before this one
}

// sqlDialect holds the words in which the databases differ.
type sqlDialect struct {
	name        string
	text        string // type of a text
	integer     string
	boolean     string
	time        string
	document    string // type of a JSON text and of a set
	yes, no     string // the truth values
	computes    bool   // indexes name columns that the database works out of a row: see computed
	createView  string // the words that make a view
	catalog     bool   // its catalog says what tables and columns are
	maxName     int    // bytes an identifier may have; 0: any number
	setsInCheck bool   // a CHECK can look into a set
	oneCheck    bool   // the rules of a state are one CHECK: the server reads the text of each one for every statement
	sparse      bool   // a unique index leaves out rows that lack one of its fields
	present     func(column string) string
	has         func(set, item string) string
	covers      func(set, part string) string
	isDocument  func(column string) string
	isSet       func(column string) string
	nulls       func(column string) []string             // index keys that put absent values last, ascending
	later       func(time, length string) string         // an instant as an index and a query have it
	micros      func(time string) string                 // a time as a number of microseconds
	shift       func(n string) string                    // a number of bits to shift by
	long        string                                   // makes 64 bits of a small constant
	is          string                                   // compares values that may be absent
	array       string                                   // makes a JSON array
	older       string                                   // whether a transaction may not see what was committed before its statement, and OR
	asText      string                                   // makes a text of it
	length      string                                   // counts the characters of a text
	plain       func(t *spec.Type, column string) string // a value that the array of a note can hold
}

func (s *schemaText) checks() bool { return s.enforce != enforceNone }
func (s *schemaText) full() bool   { return s.enforce == enforceFull }

func (s *schemaText) line(format string, args ...any) {
	fmt.Fprintf(s, format, args...)
	s.WriteByte('\n')
}

// comment writes a wrapped comment; an empty text writes nothing.
func (s *schemaText) comment(text string) {
	for _, line := range wrapped(text, 78) {
		s.line("%s", line)
	}
}

// wrapped returns a comment in lines of a width.
func wrapped(text string, width int) (lines []string) {
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width-len("-- ") {
				lines, line = append(lines, "-- "+line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		if line != "" {
			lines = append(lines, "-- "+line)
		}
	}
	return lines
}

// table returns the quoted name of the machine's table with a suffix.
func (s *schemaText) table(suffix string) string { return quoteName(s.m.Name + suffix) }

// object returns the quoted name of an index, trigger or function, cut to what
// the database allows without losing its uniqueness.
func (s *schemaText) object(parts ...string) string {
	name := strings.Join(append([]string{s.m.Name}, parts...), "_")
	return quoteName(cutName(name, s.d.maxName))
}

func cutName(name string, most int) string {
	if most == 0 || len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	keep := most - 9
	for keep > 0 && name[keep]&0xC0 == 0x80 { // not within a rune
		keep--
	}
	return name[:keep] + "_" + hex.EncodeToString(sum[:4])
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func column(f *spec.Field) string { return quoteName(f.Stored()) }

func columnList(fields []*spec.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = column(f)
	}
	return strings.Join(names, ", ")
}

func refFields(refs []spec.FieldRef) []*spec.Field {
	fields := make([]*spec.Field, len(refs))
	for i, r := range refs {
		fields[i] = r.Field
	}
	return fields
}

func refStates(refs []spec.StateRef) []*spec.State {
	states := make([]*spec.State, len(refs))
	for i, r := range refs {
		states[i] = r.State
	}
	return states
}

// inStates returns the condition that a state column holds one of the states,
// in the order of the specification: a partial index is found only by the very
// words it was made with, and stores write the same order.
func inStates(column string, states []*spec.State) string {
	return column + " IN (" + stateWords(states) + ")"
}

func stateWords(states []*spec.State) string {
	sorted := inOrder(states)
	words := make([]string, len(sorted))
	for i, st := range sorted {
		words[i] = quoteText(st.Stored())
	}
	return strings.Join(words, ", ")
}

func (s *schemaText) allStates(states []*spec.State) bool { return len(states) == len(s.m.States) }

// columnType returns type and nullability.
func (s *schemaText) columnType(t *spec.Type) string {
	var word string
	switch t.Kind {
	case spec.KindString, spec.KindEnum:
		word = s.d.text
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindDuration:
		word = s.d.integer
	case spec.KindBool:
		word = s.d.boolean
	case spec.KindTime:
		word = s.d.time
	case spec.KindJSON, spec.KindSet:
		word = s.d.document
	}
	if !t.Optional {
		word += " NOT NULL"
	}
	return word
}

// columnDefault returns what a row holds that is older than the column.
func (s *schemaText) columnDefault(f *spec.Field) string {
	if f.Default == nil {
		return ""
	}
	return " DEFAULT " + s.constantOf(f)
}

func (s *schemaText) constantOf(f *spec.Field) string {
	switch v := f.Default; v.Kind {
	case spec.ValueInt, spec.ValueSpan:
		return fmt.Sprint(v.Int)
	case spec.ValueBool:
		return map[bool]string{true: s.d.yes, false: s.d.no}[v.Bool]
	case spec.ValueWord:
		return quoteText(v.Word.Stored())
	default:
		if f.Type.Kind == spec.KindTime && s.d.time == s.d.integer {
			return fmt.Sprint(microsOf(v.Const))
		}
		return quoteText(v.Const)
	}
}

// sqlCheck is one CHECK: the rule in the words of the specification and in SQL. parts are
// the rule, where several stand together.
type sqlCheck struct {
	rule, sql string
	parts     []string
}

// fieldChecks returns the rules that follow from the type of a field. An absent
// value passes: a CHECK that yields NULL does not refuse.
func (s *schemaText) fieldChecks(f *spec.Field) []sqlCheck {
	col := column(f)
	var checks []sqlCheck
	add := func(rule, sql string) {
		checks = append(checks, sqlCheck{rule: f.Name + " " + rule, sql: sql})
	}
	switch t := &f.Type; t.Kind {
	case spec.KindEnum:
		words := make([]string, len(t.Values))
		for i, v := range t.Values {
			words[i] = quoteText(v.Stored())
		}
		add("is a known word", col+" IN ("+strings.Join(words, ", ")+")")
	case spec.KindString:
		switch length := s.d.length + "(" + col + ")"; {
		case t.Min != nil && t.Max != nil:
			add(fmt.Sprintf("is from %d to %d characters long", *t.Min, *t.Max), fmt.Sprintf("%s BETWEEN %d AND %d", length, *t.Min, *t.Max))
		case t.Min != nil:
			add(fmt.Sprintf("is at least %d characters long", *t.Min), fmt.Sprintf("%s >= %d", length, *t.Min))
		}
	case spec.KindInt:
		switch {
		case t.Min != nil && t.Max != nil:
			add(fmt.Sprintf("is from %d to %d", *t.Min, *t.Max), fmt.Sprintf("%s BETWEEN %d AND %d", col, *t.Min, *t.Max))
		case t.Min != nil:
			add(fmt.Sprintf("is at least %d", *t.Min), fmt.Sprintf("%s >= %d", col, *t.Min))
		case t.Max != nil:
			add(fmt.Sprintf("is at most %d", *t.Max), fmt.Sprintf("%s <= %d", col, *t.Max))
		}
	case spec.KindDuration:
		add(fmt.Sprintf("is from %s to %s", spec.SpanText(*t.Min), spec.SpanText(*t.Max)), fmt.Sprintf("%s BETWEEN %d AND %d", col, *t.Min, *t.Max))
	case spec.KindCounter:
		if t.Max != nil {
			add(fmt.Sprintf("is a count up to %d", *t.Max), fmt.Sprintf("%s BETWEEN 0 AND %d", col, *t.Max))
			break
		}
		add("is a count", col+" >= 0")
	case spec.KindSequence:
		add("is a number of a sequence", col+" >= 1")
	case spec.KindBool:
		if s.d.boolean == s.d.integer {
			add("is true or false", col+" IN (0, 1)")
		}
	case spec.KindJSON:
		if sql := s.d.isDocument(col); sql != "" {
			add("is JSON", sql)
		}
	case spec.KindSet:
		add("is a set", s.d.isSet(col))
	}
	return checks
}

// stateRule is one rule of a state, or of all states when state is nil.
type stateRule struct {
	state *spec.State
	rule  string
	sql   func(row string) string // the rule; row is "" or "NEW."
	sets  bool                    // it looks into a set
	parts []string                // of its rule, where several stand together
}

// stateRules returns presence and invariants. `should` is left out: the
// database does not enforce it.
func (s *schemaText) stateRules() []stateRule {
	var rules []stateRule
	facts := func(st *spec.State, list []*spec.Fact) {
		for _, f := range list {
			rules = append(rules, stateRule{state: st, rule: f.Text, sql: func(row string) string { return s.fact(f, row) }, sets: looksIntoSet(f)})
		}
	}
	facts(nil, s.m.Invariant)
	for _, st := range s.m.States {
		for _, r := range st.Present {
			rules = append(rules, stateRule{state: st, rule: r.Field.Name + " is present",
				sql: func(row string) string { return s.presence(r.Field, row, true) }})
		}
		for _, r := range st.Absent {
			rules = append(rules, stateRule{state: st, rule: r.Field.Name + " is absent",
				sql: func(row string) string { return s.presence(r.Field, row, false) }})
		}
		facts(st, st.Invariant)
	}
	return rules
}

func (r *stateRule) name() string {
	if r.state == nil {
		return "invariant: " + r.rule
	}
	return r.state.Name + ": " + r.rule
}

// check returns the rule as a CHECK.
func (r *stateRule) check() sqlCheck {
	c := sqlCheck{rule: r.name(), sql: r.holds(""), parts: slices.Clone(r.parts)}
	if len(c.parts) > 0 {
		c.parts[0] = r.state.Name + ": " + c.parts[0]
	}
	return c
}

// holds returns the condition that must be true of every row.
func (r *stateRule) holds(row string) string {
	if r.state == nil {
		return r.sql(row)
	}
	return fmt.Sprintf("%s\"state\" <> %s OR %s", row, quoteText(r.state.Stored()), r.sql(row))
}

// together returns one rule for each state instead of several. Its name says all
// of them: what is present, what is absent, what else holds.
func together(rules []stateRule) []stateRule {
	var list []stateRule
	for i := 0; i < len(rules); {
		n := i + 1
		for rules[i].state != nil && n < len(rules) && rules[n].state == rules[i].state {
			n++
		}
		of := rules[i:n]
		if i = n; len(of) == 1 {
			list = append(list, of[0])
			continue
		}
		words := wordsOf(of)
		list = append(list, stateRule{state: of[0].state, rule: strings.Join(words, ""), parts: words, sql: func(row string) string {
			parts := make([]string, len(of))
			for i := range of {
				parts[i] = of[i].sql(row)
			}
			return "(" + strings.Join(parts, " AND ") + ")"
		}})
	}
	return list
}

// wordsOf names rules in few words, each with what divides it from the one before.
func wordsOf(rules []stateRule) []string {
	var present, absent, words []string
	for _, r := range rules {
		if name, ok := strings.CutSuffix(r.rule, " is present"); ok {
			present = append(present, name)
		} else if name, ok := strings.CutSuffix(r.rule, " is absent"); ok {
			absent = append(absent, name)
		} else {
			words = append(words, r.rule)
		}
	}
	var list []string
	add := func(begin, between string, names []string) {
		for i, name := range names {
			switch {
			case i > 0:
				begin = between
			case len(list) > 0:
				begin = "; " + begin
			}
			list = append(list, begin+name)
		}
	}
	add("present ", ", ", present)
	add("absent ", ", ", absent)
	add("", "; ", words)
	return list
}

func looksIntoSet(f *spec.Fact) bool {
	return slices.ContainsFunc(spec.Leaves([]*spec.Fact{f}), func(x *spec.Fact) bool {
		return x.Op == spec.In || x.Op == spec.NotIn || x.Op == spec.Covers
	})
}

func (s *schemaText) presence(f *spec.Field, row string, present bool) string {
	col := row + column(f)
	switch {
	case f.Type.Kind == spec.KindSet && present:
		return s.d.present(col)
	case f.Type.Kind == spec.KindSet:
		return "NOT " + s.d.present(col)
	case present:
		return col + " IS NOT NULL"
	}
	return col + " IS NULL"
}

// fact returns an invariant's fact in SQL. The result is never NULL, since a
// CHECK that yields NULL passes: a comparison with an absent field is false.
func (s *schemaText) fact(f *spec.Fact, row string) string {
	switch f.Op {
	case spec.AnyOf:
		one := make([]string, len(f.Any))
		for i, facts := range f.Any {
			every := make([]string, len(facts))
			for j, x := range facts {
				every[j] = s.fact(x, row)
			}
			if one[i] = strings.Join(every, " AND "); len(every) > 1 {
				one[i] = "(" + one[i] + ")"
			}
		}
		return "(" + strings.Join(one, " OR ") + ")"
	case spec.Present:
		return s.presence(f.Left.Field, rowOf(f.Left, row), true)
	case spec.Absent:
		return s.presence(f.Left.Field, rowOf(f.Left, row), false)
	}
	left, right := s.sides(f, row)
	var parts []string
	for _, t := range f.Names() {
		if t.Field != nil && t.Field.Type.Optional {
			parts = append(parts, rowOf(t, row)+column(t.Field)+" IS NOT NULL")
		}
	}
	operators := map[spec.FactOp]string{
		spec.Eq: "=", spec.Ne: "<>", spec.Lt: "<", spec.Le: "<=", spec.Gt: ">", spec.Ge: ">=",
	}
	switch f.Op {
	case spec.In:
		parts = append(parts, s.d.has(right, left))
	case spec.NotIn:
		parts = append(parts, "NOT "+s.d.has(right, left))
	case spec.Covers:
		parts = append(parts, s.d.covers(left, right))
	default:
		parts = append(parts, left+" "+operators[f.Op]+" "+inWordsOf(&f.Left, &f.Right, right))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

// inWordsOf is the second of two compared terms: where both are enums that store a word in
// different ways, in the words that the first one stores.
func inWordsOf(left, right *spec.Term, text string) string {
	if left.Field == nil || right.Field == nil || right.Field.Type.Kind != spec.KindEnum {
		return text
	}
	cases := ""
	for _, v := range right.Field.Type.Values {
		for _, w := range left.Field.Type.Values {
			if v.Name == w.Name && v.Stored() != w.Stored() {
				cases += " WHEN " + quoteText(v.Stored()) + " THEN " + quoteText(w.Stored())
			}
		}
	}
	if cases == "" {
		return text
	}
	return "CASE " + text + cases + " ELSE " + text + " END"
}

// rowOf is the row that a term reads.
func rowOf(t spec.Term, row string) string {
	if t.Kind == spec.TermOld {
		return "OLD."
	}
	return row
}

func (s *schemaText) term(t *spec.Term, row string) string {
	switch t.Kind {
	case spec.TermField, spec.TermOld:
		if t.Field.Type.Kind == spec.KindJSON && s.d.document == "json" { // texts can be compared
			return rowOf(*t, row) + column(t.Field) + "::text"
		}
		return rowOf(*t, row) + column(t.Field)
	case spec.TermInt:
		return fmt.Sprint(t.Int)
	case spec.TermBool:
		if t.Bool {
			return s.d.yes
		}
		return s.d.no
	case spec.TermWord:
		return quoteText(t.Word.Stored())
	case spec.TermText:
		return quoteText(t.Const)
	case spec.TermSum:
		return spec.SumText(t.Parts, func(t spec.Term) string { return s.part(&t, row) })
	case spec.TermSpan:
		return fmt.Sprint(t.Int)
	case spec.TermBackoff:
		return s.backoff(t.Backoff, row)
	}
	panic(fmt.Sprintf("gen: %q cannot stand in an invariant", t.Text)) // the checks refuse it before
}
