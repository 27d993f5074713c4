package diff

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

func (c *comparison) operations() {
	for _, p := range c.opairs {
		switch {
		case p.next == nil:
			c.operationGone(p.old)
		case p.old == nil:
			c.operationNew(p.next)
		default:
			c.operation(p.old, p.next)
		}
	}
}

func (c *comparison) operationGone(o *spec.Operation) {
	var list []candidate
	for _, p := range c.opairs {
		if p.old == nil {
			list = append(list, candidate{p.next.Name, overlap(shape(o), shape(p.next))})
		}
	}
	hint := rename("operation", o.Stored(), o.Name, list)
	if n := c.next.Operation(o.Name); n != nil && n.Stored() != o.Stored() { // callers do not notice
		c.report("FSM701", at{o.Pos, n.Pos}, hint, "operation %s is no longer known as %s: the log holds it", o.Name, o.Stored())
	} else {
		c.report("FSM703", at{old: o.Pos}, hint, "operation %s is gone", o.Name)
	}
	if !writes(c.next, o.StoredEvent()) {
		c.report("FSM701", at{old: eventPlace(o)}, "readers of the log know it; keep the event name with the operation that takes its place",
			"event %s is gone: the log holds it", o.Event)
	}
}

func (c *comparison) operationNew(o *spec.Operation) {
	c.compatible(at{next: o.Pos}, "operation %s is new", o.Name)
	if !writes(c.old, o.StoredEvent()) {
		c.report("FSM709", at{next: eventPlace(o)}, readersFirst, "event %s is new", o.Event)
	}
}

// writes reports whether an operation writes the event with that stored word.
func writes(m *spec.Machine, event string) bool {
	return slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return o.StoredEvent() == event })
}

func eventPlace(o *spec.Operation) spec.Pos {
	if o.EventPos.IsZero() {
		return o.Pos
	}
	return o.EventPos
}

func (c *comparison) operation(o, n *spec.Operation) {
	where := at{o.Pos, n.Pos}
	if o.Name != n.Name {
		c.report("FSM703", where, goNames, "operation %s is called %s", o.Name, n.Name)
	}
	if o.By != n.By {
		c.report("FSM703", where, "the generated method takes another request", "operation %s is run by the %s, it was by the %s", n.Name, actorText(n.By), actorText(o.By))
	}
	if a, b := unexported(c.old, o), unexported(c.next, n); a != b {
		if b {
			c.report("FSM703", where, "only the delivery of an effect leads to it now", "operation %s no longer has a method", n.Name)
		} else {
			c.compatible(where, "operation %s has a method now", n.Name)
		}
	}
	c.event(o, n)
	c.inputs(o, n)
	if a, b := readsActor(o), readsActor(n); a != b && o.By == n.By && n.By == spec.ByCaller {
		word := "takes the actor now"
		if a {
			word = "no longer takes an actor"
		}
		c.report("FSM703", where, "callers of the durable form change nothing", "the pure form of operation %s %s", n.Name, word)
	}
	if made, makes := len(o.Creates) > 0, len(n.Creates) > 0; made != makes {
		word := "starts from a record now, it made one"
		if makes {
			word = "makes a record now, it started from one"
		}
		c.report("FSM703", where, "give it another name", "operation %s %s", n.Name, word)
		return
	}
	c.cells(o, n)
	c.requirements(o, n)
	c.targets(o, n)
	c.following(o, n)
	c.text(where, "doc of operation "+n.Name, o.Doc, n.Doc)
}

func actorText(a spec.Actor) string {
	return map[spec.Actor]string{spec.ByCaller: "caller", spec.BySystem: "system", spec.ByOperator: "operator"}[a]
}

// unexported reports whether only the delivery of an effect leads to the
// operation, so that the generated package has no method for it.
func unexported(m *spec.Machine, o *spec.Operation) bool {
	list := m.Leaders(o)
	if slices.ContainsFunc(list, func(l spec.Leader) bool { return l.AtOnce }) {
		return false
	}
	return len(list) > 0 && o.By == spec.BySystem && len(o.Triggers) == 0
}

func (c *comparison) event(o, n *spec.Operation) {
	where := at{eventPlace(o), eventPlace(n)}
	switch {
	case o.StoredEvent() != n.StoredEvent():
		hint := "if the event has a new name, write `was: {event: " + o.StoredEvent() + "}`; the log holds the old one"
		c.report("FSM701", where, hint, "operation %s writes the event %s, it wrote %s", n.Name, n.Event, o.Event)
		if !writes(c.old, n.StoredEvent()) {
			c.report("FSM709", at{next: where.next}, readersFirst, "event %s is new", n.Event)
		}
	case o.Event != n.Event:
		c.report("FSM703", where, goNames, "event %s is called %s", o.Event, n.Event)
	}
}

// readsActor reports whether what an operation does depends on who calls.
func readsActor(o *spec.Operation) bool {
	var facts []*spec.Fact
	effects := []*spec.Effects{&o.Effects}
	for _, r := range o.Require {
		facts = append(facts, r.Reads()...)
	}
	for _, b := range o.Choose {
		facts, effects = append(facts, b.When...), append(effects, &b.Effects)
	}
	facts = append(facts, o.Chosen()...)
	return slices.ContainsFunc(spec.Leaves(facts), func(f *spec.Fact) bool {
		return f.Left.Kind == spec.TermActor || f.Right.Kind == spec.TermActor
	}) || slices.ContainsFunc(effects, func(e *spec.Effects) bool {
		return slices.ContainsFunc(e.Assigned(), func(a spec.Assign) bool { return a.Value.Kind == spec.ValueActor })
	})
}

// inputs compares what a call carries. An input that a field implies changes
// with the field, which is told there.
func (c *comparison) inputs(o, n *spec.Operation) {
	for _, p := range pairUp(o.Inputs, n.Inputs, inputWord) {
		switch {
		case p.next == nil:
			c.report("FSM703", at{p.old.Pos, n.Pos}, "callers send it", "operation %s no longer takes the input %s", n.Name, p.old.Name)
		case p.old == nil && p.next.Type.Optional && len(o.Inputs) == 0:
			c.report("FSM703", at{o.Pos, p.next.Pos}, "callers give "+spec.GoName(n.Name)+"Input{}",
				"operation %s takes the optional input %s, its first one", n.Name, p.next.Name)
		case p.old == nil && p.next.Type.Optional:
			c.compatible(at{o.Pos, p.next.Pos}, "operation %s takes the optional input %s", n.Name, p.next.Name)
		case p.old == nil:
			c.report("FSM703", at{o.Pos, p.next.Pos}, "make it optional, or change every caller", "operation %s asks for the input %s", n.Name, p.next.Name)
		default:
			c.input(n, p.old, p.next)
		}
	}
}

func (c *comparison) input(op *spec.Operation, o, n *spec.Input) {
	where := at{o.Pos, n.Pos}
	what := "input " + n.Name + " of " + op.Name
	if o.Doc != n.Doc && n.Declared {
		c.compatible(where, "the doc of %s changed", what)
	}
	if o.Declared != n.Declared {
		c.compatible(where, "%s is %s", what, map[bool]string{true: "declared now", false: "implied by `set` now"}[n.Declared])
	}
	if a, b := typeWords(&o.Type), typeWords(&n.Type); a != b {
		if o.Field == nil || n.Field == nil || o.Type.Kind == n.Type.Kind {
			c.report("FSM703", where, "its Go type is another one", "%s is %s, it was %s", what, b, a)
		}
		return
	}
	if n.Declared && o.Declared {
		c.bounds("FSM703", where, what, &o.Type, &n.Type)
		c.values("FSM703", where, what, o.Type.Values, n.Type.Values)
	}
}

// verdict is what becomes of the calls in a cell.
type verdict struct {
	code, text, hint string
}

// verdicts tells what the change of a cell's class means.
var verdicts = map[[2]spec.Class]verdict{
	{spec.Transition, spec.Reject}:     {"FSM704", "is refused, it was a transition", "calls that succeeded may now fail"},
	{spec.RecordOnly, spec.Reject}:     {"FSM704", "is refused, it was recorded only", "calls that succeeded may now fail"},
	{spec.Transition, spec.RecordOnly}: {"FSM704", "is recorded only, it was a transition", "calls that moved the record do nothing"},
	{spec.Reject, spec.Transition}:     {"FSM705", "is a transition, it was refused", "check code that relies on the refusal"},
	{spec.Reject, spec.RecordOnly}:     {"FSM705", "is recorded only, it was refused", "check code that relies on the refusal"},
	{spec.RecordOnly, spec.Transition}: {"FSM705", "is a transition, it was recorded only", "calls that did nothing move the record"},
}

// cells compares what the operation does in each state that both versions have.
func (c *comparison) cells(o, n *spec.Operation) {
	type group struct {
		key    [2]spec.Class
		states []string
	}
	var groups []group
	for _, p := range c.pairs {
		if p.old == nil || p.next == nil || len(o.Creates) > 0 {
			continue
		}
		key := [2]spec.Class{c.old.Class(p.old, o), c.next.Class(p.next, n)}
		if _, ok := verdicts[key]; !ok {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.key == key })
		if i < 0 {
			groups = append(groups, group{key: key})
			i = len(groups) - 1
		}
		groups[i].states = append(groups[i].states, p.next.Name)
	}
	for _, g := range groups {
		v := verdicts[g.key]
		c.report(v.code, at{o.Pos, n.Pos}, v.hint, "%s in %s %s", n.Name, comma(g.states), v.text)
	}
	c.listed(o, n, groups == nil)
}

// listed tells of lists that changed without a change of any cell, and of the
// cells of states that only one version has.
func (c *comparison) listed(o, n *spec.Operation, silent bool) {
	from := !slices.Equal(stateWords(o.From), stateWords(n.From))
	only := !slices.Equal(stateWords(o.RecordOnlyIn), stateWords(n.RecordOnlyIn))
	if silent && (from || only) {
		c.compatible(at{o.Pos, n.Pos}, "the lists of states of operation %s differ in states that are new or gone, or that `otherwise` decides alike", n.Name)
	}
}

// targets compares where the operation leads and what it does to the record.
func (c *comparison) targets(o, n *spec.Operation) {
	where := at{o.Pos, n.Pos}
	if a, b := stateWords(o.Creates), stateWords(n.Creates); !slices.Equal(a, b) {
		c.report("FSM710", where, "", "operation %s begins a record in %s, it was %s", n.Name, stateNames(n.Creates), stateNames(o.Creates))
	}
	if a, b := targetWord(o.To, o.Same), targetWord(n.To, n.Same); a != b && len(o.Creates) == 0 {
		c.report("FSM710", where, "", "%s", retargeted(o, n))
	}
	if a, b := effectWords(&o.Effects), effectWords(&n.Effects); !slices.Equal(a, b) {
		c.report("FSM710", where, "", "operation %s changes: %s; it changed: %s", n.Name, effectText(beyond(b, a)), effectText(beyond(a, b)))
	}
	c.branches(o, n)
}

// beyond returns what is in a and not in b.
func beyond(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(w string) bool { return slices.Contains(b, w) })
}

// retargeted says where an operation leads now, and where it led.
func retargeted(o, n *spec.Operation) string {
	if len(n.Choose) > 0 {
		return fmt.Sprintf("%s now chooses its target; it led to %s", n.Name, orBranches(o))
	}
	return fmt.Sprintf("operation %s leads to %s, it led to %s", n.Name, orBranches(n), orBranches(o))
}

func orBranches(o *spec.Operation) string {
	switch {
	case o.Same:
		return "the same state"
	case o.To != nil:
		return o.To.State.Name
	case len(o.Choose) > 0:
		return "what `choose` says"
	}
	return "nothing"
}

// branches compares the lines of `choose`: those in the middle, between the
// ones that are the same from the start and to the end.
func (c *comparison) branches(o, n *spec.Operation) {
	a, b := met(o), met(n)
	if len(a) != len(o.Choose) || len(b) != len(n.Choose) {
		c.unmet(o, n)
	}
	same := func(x, y *spec.Branch) bool { return branchWords(x) == branchWords(y) }
	for len(a) > 0 && len(b) > 0 && same(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && same(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			c.report(branchCode(a[i], nil), at{a[i].Pos, n.Pos}, "", "branch of %s is gone: %s", n.Name, branchText(a[i]))
		case i >= len(a):
			c.report(branchCode(nil, b[i]), at{o.Pos, b[i].Pos}, "", "new branch of %s: %s", n.Name, branchText(b[i]))
		default:
			c.report(branchCode(a[i], b[i]), at{a[i].Pos, b[i].Pos}, "", "a branch of operation %s is %s; it was %s", n.Name, branchText(b[i]), branchText(a[i]))
		}
	}
}

// met lists the branches that some record meets: what stands below a branch without
// `when` does nothing. The `from` of a branch is without the states that never come
// to it.
func met(o *spec.Operation) []*spec.Branch {
	if len(o.Choose) == 0 {
		return nil
	}
	from := make(map[*spec.Branch][]spec.StateRef, len(o.Choose))
	creates := make(map[*spec.Branch]bool)
	if len(o.Creates) > 0 {
		for _, b := range o.Branches(nil) {
			creates[b] = true
		}
	}
	for _, r := range o.From {
		for _, b := range o.Branches(r.State) {
			from[b] = append(from[b], r)
		}
	}
	var list []*spec.Branch
	for _, b := range o.Choose {
		switch sources := from[b]; {
		case b.From == nil && len(sources) == len(o.From) && (creates[b] || len(o.From) > 0):
			list = append(list, b)
		case len(sources) > 0:
			reduced := *b
			reduced.From = sources
			list = append(list, &reduced)
		case creates[b]:
			list = append(list, b)
		}
	}
	return list
}

// unmet tells of branches that no record meets and that changed.
func (c *comparison) unmet(o, n *spec.Operation) {
	words := func(op *spec.Operation) []string {
		var list []string
		for _, b := range op.Choose {
			list = append(list, branchWords(b))
		}
		return list
	}
	if !slices.Equal(words(o), words(n)) {
		c.compatible(at{o.Pos, n.Pos}, "operation %s has branches below one without `when`; no record meets them", n.Name)
	}
}

// branchCode tells refusals that come or go from other changes.
func branchCode(old, next *spec.Branch) string {
	refused, refuses := old != nil && old.Reject != "", next != nil && next.Reject != ""
	switch {
	case refuses && !refused:
		return "FSM704"
	case refused && !refuses:
		return "FSM705"
	}
	return "FSM710"
}

func branchText(b *spec.Branch) string {
	text := "otherwise"
	if len(b.When) > 0 {
		text = "when " + factTexts(b.When)
	}
	if len(b.From) > 0 {
		text += " from " + stateNames(b.From)
	}
	switch {
	case b.Same:
		text += " to the same state"
	case b.To != nil:
		text += " to " + b.To.State.Name
	case b.RecordOnly:
		text += " recorded only"
	default:
		text += " refused as " + b.Reject
	}
	if words := effectWords(&b.Effects); len(words) > 0 {
		text += " with " + effectText(words)
	}
	return text
}
