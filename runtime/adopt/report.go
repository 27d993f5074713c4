package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Report is what Try or Import has found.
type Report struct {
	Records int64  // that were handed in
	Fit     int64  // that can be imported (Try), or were (Import)
	Known   int64  // that the same requests have imported before
	Odd     int64  // that were not imported, for one misfit or more
	Rules   []Rule // what is in their way, the most frequent first
	Sweep   []Move // of Try: what the first sweep would do with those that fit, in the order of the operations
}

// Rule is a rule that records break which are to be imported.
type Rule struct {
	Code  fsm.Code // of the refusal; empty for what the program found itself
	Rule  string   // the invariant, the unique rule, or the field; else the code
	Count int64
	First []Misfit // the first ones, as many as Options.First says
}

// Misfit is one rule that one record breaks.
type Misfit struct {
	Rule  string
	ID    string
	Value string // what the record has in the fields that the rule names
	Err   error  // the refusal; nil for what the program found itself
}

// Move is an operation that a sweep runs.
type Move struct {
	Operation string
	Count     int64    // records that it would move
	First     []string // their first ids
	Held      int64    // records whose deadline is over and held: they stay
	FirstHeld []string // their first ids
}

// String tells all in lines for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d records: %d fit, %d were imported before, %d do not fit\n", r.Records, r.Fit, r.Known, r.Odd)
	for _, rule := range r.Rules {
		fmt.Fprintf(&b, "%6d  %s", rule.Count, rule.Rule)
		if rule.Code != "" && string(rule.Code) != rule.Rule {
			fmt.Fprintf(&b, " (%s)", string(rule.Code))
		}
		for i, f := range rule.First {
			b.WriteString([]string{": ", "; "}[min(i, 1)] + f.ID)
			if f.Value != "" {
				b.WriteString(" " + f.Value)
			}
		}
		b.WriteByte('\n')
	}
	for _, m := range r.Sweep {
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}

// String tells what a sweep would do, in one line.
func (m Move) String() string {
	text := fmt.Sprintf("a sweep would run %s on %d records%s", m.Operation, m.Count, listed(m.First))
	if m.Held > 0 {
		text += fmt.Sprintf("; %d are held%s", m.Held, listed(m.FirstHeld))
	}
	return text
}

func listed(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ": " + strings.Join(ids, ", ")
}

// report is a Report while it is made.
type report struct {
	Report
	first int
	rules map[ruleKey]*Rule
	moves map[string]*Move
}

// ruleKey tells rules apart.
type ruleKey struct {
	code fsm.Code
	rule string
}

func newReport(first int) *report {
	return &report{first: cmp.Or(first, 5), rules: map[ruleKey]*Rule{}, moves: map[string]*Move{}}
}

func (r *report) misfit(code fsm.Code, f Misfit) {
	key := ruleKey{code, f.Rule}
	rule := r.rules[key]
	if rule == nil {
		rule = &Rule{Code: code, Rule: f.Rule}
		r.rules[key] = rule
	}
	if rule.Count++; len(rule.First) < r.first {
		rule.First = append(rule.First, f)
	}
}

// misfits notes what speaks against one record.
func (r *report) misfits(id string, list []inspect.Misfit) {
	r.Odd++
	for _, f := range list {
		r.misfit(fsm.Code(f.Code), Misfit{Rule: f.Rule, ID: id, Value: f.Value, Err: f.Err})
	}
}

func (r *report) fires(id string, list []inspect.Fires) {
	for _, f := range list {
		m := r.moves[f.Operation]
		if m == nil {
			m = &Move{Operation: f.Operation}
			r.moves[f.Operation] = m
		}
		n, first := &m.Count, &m.First
		if f.Held {
			n, first = &m.Held, &m.FirstHeld
		}
		if *n++; len(*first) < r.first {
			*first = append(*first, id)
		}
	}
}

// end puts rules and moves in order.
func (r *report) end(operations []string) *Report {
	for _, rule := range r.rules {
		r.Rules = append(r.Rules, *rule)
	}
	slices.SortFunc(r.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Code, b.Code))
	})
	for _, name := range operations {
		if m := r.moves[name]; m != nil {
			r.Sweep = append(r.Sweep, *m)
		}
	}
	return &r.Report
}
