package validate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/count"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// Rule is one kind of finding. It is a value, so that one slice is the list of
// all of them: what runs, what `fsmgen explain` says, what RULES.md shows.
type Rule struct {
	Code     string // "FSM101"; stable, and never used again for something else
	Name     string // what it finds, in a few words
	Severity spec.Severity
	Doc      string      // why it matters and how to fix it, in sentences
	Run      func(*Pass) // nil: detected while the file is parsed, by the model checker, or by `fsmgen diff`
	Choice   bool        // its edits are one of several ways out: an editor offers them, `fmt --fix` leaves them
	Allow    bool        // judges style or operations, or what may be meant: `allow` may overrule it
	Asked    bool        // a fact and no finding, worked out when asked for: see [Facts]
	Model    bool        // found by the model checker, on demand: see [Model]
	Changes  bool        // found between two versions, by `fsmgen diff`
}

// Rules are all rules, by code.
var Rules = slices.SortedFunc(
	slices.Values(slices.Concat(parsedRules, declarationRules, cellRules, proofRules, counterRules, groupRules, projectionRules, usageRules, layerRules, lookupRules, callerRules, againRules, askRules, triggerRules, changeRules, modelRules)),
	func(a, b Rule) int { return strings.Compare(a.Code, b.Code) },
)

// Run looks at a resolved machine with every rule and returns what they find,
// sorted. It finds nothing that [spec.Parse] has found already.
func Run(m *spec.Machine) spec.Diagnostics {
	return slices.Clone(spec.Derived(m, findings{}, func(m *spec.Machine) spec.Diagnostics { return run(m, false) }))
}

// Facts returns what can be said of a resolved machine beside the findings.
func Facts(m *spec.Machine) spec.Diagnostics { return run(m, true) }

// What is worked out of a machine once.
type (
	findings struct{}
	proof    struct{}
)

func proofOf(m *spec.Machine) prove.Report { return spec.Derived(m, proof{}, prove.Machine) }

func run(m *spec.Machine, asked bool) spec.Diagnostics {
	var found spec.Diagnostics
	projected := sync.OnceValue(func() count.Walk { return count.Explore(m, m.Projection.Key, true) })
	clashing := sync.OnceValue(func() []clash { return clashes(m) })
	for i := range Rules {
		if rule := &Rules[i]; rule.Run != nil && rule.Asked == asked {
			rule.Run(&Pass{Machine: m, rule: rule, found: &found, projected: projected, clashes: clashing})
		}
	}
	if !asked {
		found = allowed(m, found, func(r Rule) bool { return !r.Model })
	}
	found.Sort()
	return found
}

// allowed leaves out what the file allows, and reports what it cannot allow and
// what it allows in vain, of the rules that were looked for.
func allowed(m *spec.Machine, found spec.Diagnostics, looked func(Rule) bool) spec.Diagnostics {
	if len(m.Allow) == 0 {
		return found
	}
	used := make(map[*spec.Allow]bool)
	valid := make(map[*spec.Allow]bool)
	report := func(code string, a *spec.Allow, hint, format string, args ...any) {
		rule, _ := Explain(code)
		p := &Pass{Machine: m, rule: &rule, found: &found}
		at := finding{pos: a.Pos, mark: a.Code, hint: hint}
		if code == "FSM607" {
			at.fix = m.Without(a.Pos)
		}
		p.report(at, format, args...)
	}
	for _, a := range m.Allow {
		switch rule, known := Explain(a.Code); {
		case !known:
			report("FSM027", a, "`fsmgen explain` lists the codes", "%s is not the code of a finding", a.Code)
		case !rule.Allow:
			report("FSM027", a, "fix what it finds", "%s cannot be allowed: it reports a promise that does not hold", a.Code)
		case strings.TrimSpace(a.Reason) == "":
			report("FSM027", a, "write `"+a.Code+": <why it is meant>`", "%s is allowed without a reason", a.Code)
		default:
			valid[a] = true
		}
	}
	found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool {
		met := false
		for _, a := range m.Allow {
			if valid[a] && a.Code == d.Code && a.Covers(d.Pos) {
				used[a], met = true, true
			}
		}
		return met
	})
	for _, a := range m.Allow {
		if rule, _ := Explain(a.Code); valid[a] && !used[a] && looked(rule) {
			report("FSM607", a, "remove it", "no finding %s is here", a.Code)
		}
	}
	return found
}

// Explain returns the rule of a code.
func Explain(code string) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Code == code })
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}

// Pass is one rule at work on one machine.
type Pass struct {
	Machine   *spec.Machine
	rule      *Rule
	found     *spec.Diagnostics
	projected func() count.Walk // through all groups of the projection, made once
	clashes   func() []clash    // of the Go names, looked for once

	held    map[*spec.Field]map[*spec.State]bool // see holds
	longest map[*spec.Field]time.Duration        // for ofDays: how far ahead of now each field is set
}

// finding is what a rule reports. Its place is the innermost guilty name.
type finding struct {
	pos     spec.Pos
	mark    string // the name that stands at pos: as many characters are marked
	hint    string
	related []spec.Related
	before  string // the record before a step that fails, and after it
	after   string
	fix     []spec.Edit // when nobody has to decide
}

// report adds a finding with the rule's code and severity.
func (p *Pass) report(f finding, format string, args ...any) {
	*p.found = append(*p.found, spec.Diagnostic{
		Code: p.rule.Code, Severity: p.rule.Severity, File: p.Machine.File,
		Pos: f.pos, Len: utf8.RuneCountInString(f.mark),
		Message: fmt.Sprintf(format, args...), Hint: f.hint, Related: f.related, Before: f.before, After: f.after, Fix: f.fix,
	})
}

// also is a second place that a finding speaks of; a place that is nowhere in
// the file is left out.
func also(pos spec.Pos, format string, args ...any) []spec.Related {
	if pos.IsZero() {
		return nil
	}
	return []spec.Related{{Pos: pos, Message: fmt.Sprintf(format, args...)}}
}
