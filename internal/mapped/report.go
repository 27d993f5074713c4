package mapped

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/internal/interp"
)

// The checks, in the order of a report.
const (
	CheckID      = "id"      // the id is one, and no other row has it
	CheckState   = "state"   // the table's word is one of the mapping
	CheckField   = "field"   // a value can be read as one of its field
	CheckRule    = "rule"    // presence, bounds and invariants of the state
	CheckUnique  = "unique"  // one record has a place of a unique rule
	CheckMove    = "move"    // some operation makes each move of the history
	CheckHistory = "history" // the history has no gap, and ends where the record is
	CheckDue     = "due"     // what the first sweep would do; a warning
	CheckDiffers = "differs" // the machine's own record says the same
)

var order = []string{CheckID, CheckState, CheckField, CheckRule, CheckUnique, CheckMove, CheckHistory, CheckDiffers, CheckDue}

// Finding is one rule, and how many records break it.
type Finding struct {
	Check string
	Rule  string // the rule that is broken, by CheckRule and CheckUnique; else what is wrong, in words
	Must  bool   // false: a warning
	Count int64
	First []Place
}

// Sentence says what is wrong with the records, behind "3 records: ".
func (f *Finding) Sentence() string {
	switch f.Check {
	case CheckRule:
		return strconv.Quote(f.Rule) + " does not hold"
	case CheckUnique:
		return "the place of the unique rule " + f.Rule + " is taken"
	}
	return f.Rule
}

// Place is one record that breaks a rule.
type Place struct{ ID, Value string }

// Result is what an audit of a table has found.
type Result struct {
	Records, Moves   int64
	Compared         int64 // records of the machine that were compared
	Findings         []Finding
	Errors, Warnings int64 // how often a rule is broken
}

// mostRules bounds what is told apart: a column can hold any number of unknown words.
const mostRules = 500

// tally counts findings.
type tally struct {
	first int
	by    map[[2]string]*Finding
}

func newTally(first int) *tally { return &tally{first: cmp.Or(first, 5), by: map[[2]string]*Finding{}} }

func (t *tally) add(check, rule string, must bool, id, value string) {
	key := [2]string{check, rule}
	f := t.by[key]
	if f == nil && len(t.by) >= mostRules {
		key[1], rule = "", "other rules, which are not told apart"
		f = t.by[key]
	}
	if f == nil {
		f = &Finding{Check: check, Rule: rule, Must: must}
		t.by[key] = f
	}
	if f.Count++; len(f.First) < t.first {
		f.First = append(f.First, Place{id, value})
	}
}

// end puts the findings into a result, by check and the most frequent first.
func (t *tally) end(r *Result) {
	for _, f := range t.by {
		r.Findings = append(r.Findings, *f)
		if f.Must {
			r.Errors += f.Count
		} else {
			r.Warnings += f.Count
		}
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Check), slices.Index(order, b.Check)),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
}

// wordsOf returns the words of a rule, of which some are names of fields.
func wordsOf(rule string) []string {
	return strings.FieldsFunc(rule, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' })
}

// valuesIn shows what a record has in the fields that a rule names: "refunded 5, paid 3".
func (p *Mapping) valuesIn(rule string, r interp.Record) string {
	var list []string
	for _, word := range wordsOf(rule) {
		f := p.Machine.Field(word)
		if f == nil {
			continue
		}
		text := word + " " + r.Value(p.Machine, f).String()
		if len(text) > 100 {
			text = strings.ToValidUTF8(text[:100], "") + "..."
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}
