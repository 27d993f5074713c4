package diff

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Class says whom a change breaks.
type Class string

// The classes.
const (
	Source     Class = "SOURCE"     // Go code that calls the generated package
	Data       Class = "DATA"       // stored rows and events
	Behavior   Class = "BEHAVIOR"   // what callers and readers rely on
	Compatible Class = "compatible" // nobody
)

// Classes are all classes, the worst first.
var Classes = []Class{Data, Source, Behavior, Compatible}

// classes is the class of each code.
var classes = map[string]Class{
	"FSM701": Data, "FSM702": Data, "FSM703": Source, "FSM704": Behavior, "FSM705": Behavior,
	"FSM706": Data, "FSM707": Behavior, "FSM708": Behavior, "FSM709": Compatible, "FSM710": Behavior,
	"FSM711": Behavior, "FSM712": Data, "FSM713": Behavior, "FSM715": Data,
}

// advice is what to do about a change that has no hint of its own.
var advice = map[string]string{
	"FSM703": "change every caller",
	"FSM708": "check code that treats this state as final",
	"FSM710": "check its callers, and the code that reads the record afterwards",
	"FSM711": "nothing of it is stored: tell those who read the derived states",
	"FSM713": "make sure that nobody relies on the stricter rule",
}

// Change is one difference between two versions of a machine.
type Change struct {
	Code    string   // "FSM701"; empty for a compatible change, unless readers go first
	Class   Class    // of the code
	Message string   // what changed, in the words of the specification
	Hint    string   // how to fix it, or what to do about it; only compatible changes may have none
	Old     spec.Pos // in the old file; zero: it is not there
	New     spec.Pos // in the new file; zero: it is not there
}

// Breaking reports whether the change breaks somebody.
func (c Change) Breaking() bool { return c.Class != Compatible }

// Report is everything that changed from one version to the next.
type Report struct {
	Old, New *spec.Machine
	Changes  []Change // breaking ones first, by class; then by place in the new file
}

// Breaking reports whether a change breaks somebody.
func (r *Report) Breaking() bool { return slices.ContainsFunc(r.Changes, Change.Breaking) }

// Count returns how many changes are of a class.
func (r *Report) Count(class Class) int {
	n := 0
	for _, c := range r.Changes {
		if c.Class == class {
			n++
		}
	}
	return n
}

// Machines compares two versions of a machine.
func Machines(old, next *spec.Machine) *Report {
	c := &comparison{old: old, next: next}
	c.match()
	c.head()
	c.states()
	c.fields()
	c.operations()
	c.invariants()
	c.steps()
	c.uniques()
	c.lookups()
	c.uses()
	c.guards()
	c.declarations()
	c.projection()
	r := &Report{Old: old, New: next, Changes: c.changes}
	r.sort()
	return r
}

// sort brings the changes into their order and drops repetitions.
func (r *Report) sort() {
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), place(a, b), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	r.Changes = slices.Compact(r.Changes)
}

// rank is the order of classes; among the compatible changes those for which
// readers go first come first.
func rank(c Change) int {
	n := 2 * slices.Index(Classes, c.Class)
	if c.Code == "" {
		n++
	}
	return n
}

// place orders by the place in the new file; what is gone comes last.
func place(a, b Change) int {
	if x, y := a.New.IsZero(), b.New.IsZero(); x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(order(a.New, b.New), order(a.Old, b.Old))
}

func order(a, b spec.Pos) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) }

// comparison is one run of [Machines].
type comparison struct {
	old, next *spec.Machine
	changes   []Change

	pairs  []pair[spec.State]
	fpairs []pair[spec.Field]
	opairs []pair[spec.Operation]
}

// pair is one declaration in both versions; one side is nil when it is not there.
type pair[T any] struct{ old, next *T }

// pairUp matches declarations by a key: those of the old list in its order, then
// what is new.
func pairUp[T any](old, next []*T, key func(*T) string) []pair[T] {
	var all []pair[T]
	taken := map[*T]bool{}
	for _, o := range old {
		p := pair[T]{old: o}
		if i := slices.IndexFunc(next, func(n *T) bool { return !taken[n] && key(n) == key(o) }); i >= 0 {
			p.next = next[i]
			taken[next[i]] = true
		}
		all = append(all, p)
	}
	for _, n := range next {
		if !taken[n] {
			all = append(all, pair[T]{next: n})
		}
	}
	return all
}

func (c *comparison) match() {
	c.pairs = pairUp(c.old.States, c.next.States, (*spec.State).Stored)
	c.fpairs = pairUp(c.old.Fields, c.next.Fields, (*spec.Field).Stored)
	c.opairs = pairUp(c.old.Operations, c.next.Operations, (*spec.Operation).Stored)
}

// at is the two places of a change.
type at struct{ old, next spec.Pos }

// report adds a breaking change, or one of FSM709.
func (c *comparison) report(code string, where at, hint, format string, args ...any) {
	c.changes = append(c.changes, Change{Code: code, Class: classes[code], Old: where.old, New: where.next,
		Hint: cmp.Or(hint, advice[code]), Message: fmt.Sprintf(format, args...)})
}

// compatible adds a change that breaks nobody.
func (c *comparison) compatible(where at, format string, args ...any) {
	c.changes = append(c.changes, Change{Class: Compatible, Old: where.old, New: where.next, Message: fmt.Sprintf(format, args...)})
}

// text reports a change of a text that only people read.
func (c *comparison) text(where at, what, old, next string) {
	if old != next {
		c.compatible(where, "the %s changed", what)
	}
}

// head compares what stands above the declarations.
func (c *comparison) head() {
	o, n := c.old, c.next
	where := at{o.Pos, n.Pos}
	if o.Name != n.Name {
		c.report("FSM701", where, "tables, events and delivery keys carry the name of the machine; give it the old name again",
			"machine %s is called %s", o.Name, n.Name)
	}
	if o.Entity != n.Entity {
		c.report("FSM703", where, "callers name the Go type of the record", "entity %s is called %s", o.Entity, n.Entity)
	}
	switch {
	case n.Version < o.Version:
		c.compatible(where, "the version falls from %d to %d; events of the new version look older than those before them", o.Version, n.Version)
	case n.Version > o.Version:
		c.compatible(where, "the version rises from %d to %d", o.Version, n.Version)
	}
	c.text(where, "doc of the machine", o.Doc, n.Doc)
	c.demand(where, "request_id", o.RequestID, n.RequestID, "a retry of a call without one may happen twice")
	c.demand(where, "expected_rev", o.ExpectedRev, n.ExpectedRev, "a call without one may overwrite what its caller has not seen")
	if o.Otherwise != n.Otherwise {
		c.compatible(where, "`otherwise` is %s, it was %s; the cells that it changes are listed by themselves", otherwiseText(n.Otherwise), otherwiseText(o.Otherwise))
	}
}

func (c *comparison) demand(where at, key string, old, next spec.Demand, risk string) {
	switch {
	case next > old:
		c.report("FSM713", where, risk, "requests.%s is %s, it was %s", key, demandText(next), demandText(old))
	case next < old:
		c.report("FSM704", where, "let every caller send one first", "requests.%s is %s, it was %s", key, demandText(next), demandText(old))
	}
}

func demandText(d spec.Demand) string {
	return map[spec.Demand]string{spec.Required: "required", spec.Optional: "optional", spec.None: "none"}[d]
}

func otherwiseText(o spec.Otherwise) string {
	return map[spec.Otherwise]string{spec.OtherwiseUnset: "not set", spec.OtherwiseReject: "reject", spec.OtherwiseRecordOnly: "record_only"}[o]
}
