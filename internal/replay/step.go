package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// recorded judges an event that changed nothing but the log.
func (c *checker) recorded(r *record, p parsed) {
	e := &c.event
	switch {
	case e.Rev != r.rev || e.N != r.n+1:
		c.say(RuleNumber, "record-only event %d.%d follows %d.%d; expected %d.%d", e.Rev, e.N, r.rev, r.n, r.rev, r.n+1)
	case e.From != r.state || e.To != r.state:
		c.say(RuleChain, "it was recorded in state %q (to: %q), but the record was in %q", e.From, e.To, r.state)
	case e.Operation == opRepair, e.Operation == opGiveUp:
	default:
		if fact, ok := c.fact(); ok {
			c.edgeRecorded(r, fact, p)
		}
	}
	r.n = max(r.n+1, e.N)
	if e.Rev == r.rev {
		r.n = e.N
	}
}

// edgeRecorded looks whether the machine records the call, and for the reason that
// the event gives.
func (c *checker) edgeRecorded(r *record, fact gen.OperationFact, p parsed) {
	e, o := &c.event, fact.Operation
	if !slices.ContainsFunc(fact.Recorded, func(s *spec.State) bool { return s.Stored() == e.To }) {
		c.say(RuleEdge, "operation %s is never recorded only in state %q%s", o.Name, e.To, listed("; it is in", fact.Recorded))
		return
	}
	d, refusal, decided := c.decide(r, o, p, r.rec)
	switch {
	case !decided:
	case refusal != nil:
		c.say(RuleDecision, "the machine refuses the call: %s", explained(refusal))
	case !d.RecordOnly:
		c.say(RuleDecision, "it was recorded only, but the machine moves the record to %s", d.To.Name)
	case d.Guard != e.Guard:
		c.say(RuleDecision, "the event says that the guard %q failed, the machine says %q", e.Guard, d.Guard)
	}
}

// redacted takes an event of which something was erased, or which says so: its place
// is judged, and what the record holds is not known from then on.
func (c *checker) redacted(r *record) {
	e := &c.event
	switch {
	case e.RecordOnly() && (e.Rev != r.rev || e.N != r.n+1):
		c.say(RuleNumber, "record-only event %d.%d follows %d.%d; expected %d.%d", e.Rev, e.N, r.rev, r.n, r.rev, r.n+1)
	case !e.RecordOnly() && e.Rev != r.rev+1:
		c.say(RuleRevision, "revision %d follows %d; expected %d", e.Rev, r.rev, r.rev+1)
	case e.From != r.state:
		c.say(RuleChain, "it starts in state %q, the step before it ended in %q", e.From, r.state)
	}
	r.known, c.blind = false, true
	if r.n = e.N; e.RecordOnly() {
		return
	}
	before := r.rec
	r.rec.State, r.rec.Rev = c.state(e.To), e.Rev
	r.rev, r.state = e.Rev, e.To
	fact, known := c.facts[e.Operation]
	r.took(fact.Operation, known, interp.Decision{}, false)
	c.move(r, before, r.rec)
}

// step judges a transition and takes it.
func (c *checker) step(r *record, p parsed) {
	e := &c.event
	switch {
	case e.Rev != r.rev+1:
		c.say(RuleRevision, "revision %d follows %d; expected %d", e.Rev, r.rev, r.rev+1)
		r.known = false
	case r.rev == 0 && e.From != "":
		c.say(RuleChain, "it starts in state %q without an earlier step; the log of a record begins with its creation", e.From)
	case e.From != r.state:
		c.say(RuleChain, "it starts in state %q, the step before it ended in %q", e.From, r.state)
	case e.Operation == opImport && e.Rev != 1:
		c.say(RuleEdge, "a record is imported once, at revision 1; this is revision %d", e.Rev)
	case (e.Rev == 1) != (e.From == ""):
		c.say(RuleChain, "revision 1 is a creation and has no from, every other has one; this is revision %d, from %q", e.Rev, e.From)
	}
	c.then(r)
	fact, known := c.fact()
	to := c.state(e.To)
	if known && !c.found && e.Operation != opMigrate {
		c.edge(fact)
	}
	before := r.rec
	after := c.changed(r, p)
	after.State, after.Rev = to, e.Rev
	if e.Rev == 1 {
		after.CreatedAt = e.At
	}
	if e.At.After(after.UpdatedAt) {
		after.UpdatedAt = e.At
	}
	if e.Operation == opImport {
		c.imported(&after)
	}
	var taken interp.Decision
	decided := false
	if known && !c.found && r.known && e.Operation != opMigrate {
		taken, decided = c.compare(r, fact.Operation, p, before, after)
	}
	if !c.found && r.known && to != nil {
		for _, v := range interp.Check(c.m, after) {
			if v.Must {
				c.say(RuleRule, "the record breaks a rule of %s: %s%s", to.Name, v.Rule, why(v.Message))
			}
		}
	}
	r.rec, r.rev, r.n, r.state = after, e.Rev, 0, e.To
	r.took(fact.Operation, known, taken, decided)
	c.blind = c.blind || !r.known
	c.move(r, before, after)
}

// imported takes the times of a record that comes from elsewhere, where the image tells them.
func (c *checker) imported(after *interp.Record) {
	var image struct {
		Created *time.Time `json:"created_at"`
		Updated *time.Time `json:"updated_at"`
	}
	if c.event.Image.IsZero() {
		return
	}
	if err := c.event.Image.Decode(&image); err != nil || image.Created == nil || image.Updated == nil {
		c.say(RuleJSON, "the image of an import tells created_at and updated_at; this one is %.40s", c.event.Image)
		return
	}
	after.CreatedAt, after.UpdatedAt = *image.Created, *image.Updated
}

// fact finds the operation of the event; an event of an older version is judged by
// its order only.
func (c *checker) fact() (gen.OperationFact, bool) {
	e := &c.event
	if e.Version > c.m.Version {
		c.say(RuleVersion, "the event was written under version %d of the specification, this is version %d; name the later one", e.Version, c.m.Version)
		return gen.OperationFact{}, false
	}
	if e.Version < c.m.Version {
		c.result.Older++
		return gen.OperationFact{}, false
	}
	fact, ok := c.facts[e.Operation]
	if !ok && e.Operation != opMigrate && e.Operation != opImport {
		var names []string
		for _, o := range c.m.Operations {
			names = append(names, o.Stored())
		}
		c.say(RuleWord, "no operation is stored as %q; %s", e.Operation, spec.DidYouMean(spec.Nearest(e.Operation, names), "expected", names))
	}
	if ok && e.Name != fact.Operation.StoredEvent() {
		c.say(RuleWord, "operation %s is logged as %q, this event says %q", fact.Operation.Name, fact.Operation.StoredEvent(), e.Name)
	}
	return fact, ok
}

// state finds the state of a stored word.
func (c *checker) state(stored string) *spec.State {
	var words []string
	for _, s := range c.m.States {
		if s.Stored() == stored {
			return s
		}
		words = append(words, s.Stored())
	}
	if c.event.Version == c.m.Version {
		c.say(RuleWord, "no state is stored as %q; %s", stored, spec.DidYouMean(spec.Nearest(stored, words), "expected", words))
	}
	return nil
}

// edge looks whether the machine can take the step.
func (c *checker) edge(fact gen.OperationFact) {
	e := &c.event
	var from, targets []*spec.State
	for _, mv := range fact.Moves {
		stored := ""
		if mv.From != nil {
			stored = mv.From.Stored()
		}
		if stored == e.From && mv.To.Stored() == e.To {
			return
		}
		if stored == e.From {
			targets = append(targets, mv.To)
		}
		if mv.From != nil && !slices.Contains(from, mv.From) {
			from = append(from, mv.From)
		}
	}
	name := fact.Operation.Name
	switch {
	case len(targets) > 0 && e.From == "":
		c.say(RuleEdge, "operation %s does not make a record in state %q%s", name, e.To, listed("; it makes one in", targets))
	case len(targets) > 0:
		c.say(RuleEdge, "operation %s makes no move from %q to %q%s", name, e.From, e.To, listed("; from there it leads to", targets))
	case len(fact.Operation.Creates) > 0:
		c.say(RuleEdge, "operation %s creates records; it cannot be applied in state %q", name, e.From)
	case e.From == "":
		c.say(RuleEdge, "operation %s creates no record%s", name, listed("; it is possible in", from))
	default:
		c.say(RuleEdge, "operation %s is not possible in state %q%s", name, e.From, listed("; it is in", from))
	}
}

// then looks whether what follows an operation follows it, and nothing else does.
func (c *checker) then(r *record) {
	e := &c.event
	switch {
	case len(r.pending) > 0 && (!slices.ContainsFunc(r.pending, func(o *spec.Operation) bool { return o.Stored() == e.Operation }) ||
		e.Cause == "" && e.RequestID != ""):
		c.say(RuleThen, "%s of line %d is followed by %s in the same transaction, but this is %q",
			r.op.Name, r.line, named(r.pending), e.Operation)
	case e.Cause == "" || e.Version != c.m.Version || e.RequestID == driver.Reserved+e.Cause: // a step of another machine asks for it
	case r.op == nil || r.op.Stored() != e.Cause:
		c.say(RuleThen, "its cause is %q, which is not the step before it", e.Cause)
	case !slices.ContainsFunc(r.follow, func(o *spec.Operation) bool { return o.Stored() == e.Operation }):
		c.say(RuleThen, "its cause is %q, which %s does not follow", e.Cause, e.Operation)
	}
}

// changed returns the record with the changes of the event.
func (c *checker) changed(r *record, p parsed) interp.Record {
	e := &c.event
	after := r.rec
	if e.Rev == 1 {
		after = interp.Older(c.m, after)
	}
	if !p.has("changes") {
		r.known = r.known && len(c.m.Fields) == 0
		return after
	}
	for _, name := range sorted(p.changes) {
		i := slices.IndexFunc(c.m.Fields, func(f *spec.Field) bool { return f.Stored() == name })
		if i < 0 {
			if e.Version == c.m.Version {
				var names []string
				for _, f := range c.m.Fields {
					names = append(names, f.Stored())
				}
				c.say(RuleWord, "no field is stored as %q; %s", name, spec.DidYouMean(spec.Nearest(name, names), "expected", names))
			}
			continue
		}
		f := c.m.Fields[i]
		v, err := changedValue(f, after.Value(c.m, f), p.changes[name])
		switch {
		case err != nil:
			c.say(RuleJSON, "changes: %s: %v", name, err)
			r.known = false
		case v.Kind == interp.KindAbsent && !f.Type.Optional:
			c.say(RuleJSON, "changes: %s cannot be absent", name)
			r.known = false
		default:
			after = after.With(c.m, f.Name, v)
		}
	}
	return after
}

// changedValue is the value of a field after what an event says of it.
func changedValue(f *spec.Field, before interp.Value, raw json.RawMessage) (interp.Value, error) {
	if f.Type.Kind != spec.KindSet {
		return value(f.Type, raw)
	}
	said, empty, err := driver.ReadSetChange(raw)
	if empty || err != nil {
		return interp.Set(), err
	}
	change := interp.Change{Added: true, Value: interp.Set(said.Came.Items()...), Gone: interp.Set(said.Gone.Items()...)}
	return change.On(before), nil
}

// compare asks the machine what it makes of the call, and compares. It returns what the
// machine decides, where that is a step.
func (c *checker) compare(r *record, o *spec.Operation, p parsed, before, after interp.Record) (d interp.Decision, step bool) {
	d, refusal, decided := c.decide(r, o, p, after)
	switch {
	case !decided:
		return d, false
	case refusal != nil:
		c.refused(o, refusal)
		return d, false
	case d.RecordOnly:
		c.say(RuleDecision, "the machine records the call only%s", guarded(d.Guard))
		return d, false
	case d.To != after.State:
		c.say(RuleDecision, "the event leads to %s, the machine to %s", after.State.Name, d.To.Name)
		return d, false
	}
	for i, f := range c.m.Fields {
		if d.Record.Fields[i] != after.Fields[i] {
			c.say(RuleDecision, "the event leaves %s %s, the machine %s", f.Name, after.Fields[i], d.Record.Fields[i])
		}
	}
	return d, true
}

// decide runs the call of the event on the record as it was. It is not decided when
// the log does not say all of what the call was.
func (c *checker) decide(r *record, o *spec.Operation, p parsed, after interp.Record) (d interp.Decision, refusal *interp.Refusal, decided bool) {
	e := &c.event
	if !r.known || !p.has("inputs") && len(o.Inputs) > 0 {
		return d, nil, false
	}
	call := interp.Call{Op: o, ID: e.ID, RequestID: e.RequestID, Actor: e.Actor, Reason: e.Reason, At: e.At, Labels: e.Labels, Inputs: map[string]interp.Value{}}
	for _, name := range sorted(p.inputs) {
		in := o.Input(name)
		if in == nil {
			var names []string
			for _, x := range o.Inputs {
				names = append(names, x.Name)
			}
			c.say(RuleWord, "operation %s has no input %q; %s", o.Name, name, spec.DidYouMean(spec.Nearest(name, names), "expected", names))
			return d, nil, false
		}
		v, err := value(in.Type, p.inputs[name])
		if err != nil {
			c.say(RuleJSON, "inputs: %s: %v", name, err)
			return d, nil, false
		}
		if v.Kind != interp.KindAbsent {
			call.Inputs[name] = v
		}
	}
	if o.By == spec.BySystem && e.Actor != "" && e.Actor != driver.SystemActor {
		c.say(RuleDecision, "operation %s is the system's, but the event names %q", o.Name, e.Actor)
		return d, nil, false
	}
	accepted, _ := interp.Accept(c.m, call)
	d, refusal = interp.Decide(c.m, r.rec, call, c.others(r, accepted, after))
	return d, refusal, true
}

// explained is a refusal in words.
func explained(r *interp.Refusal) string {
	text := map[string]string{
		interp.CodeWrongState: "it is not possible in state " + r.State, interp.CodeTerminal: "nothing is possible in state " + r.State,
		interp.CodeInvalidInput: "the input " + r.Name + " is invalid",
		interp.CodeActorMissing: "it has no actor", interp.CodeReasonMissing: "it has no reason",
		interp.CodeGuard: "the guard " + r.Guard + " does not hold", interp.CodeInvariant: "the record would break a rule: " + r.Name,
		interp.CodeOverflow: r.Name + " cannot hold its new value",
	}[r.Code]
	if text == "" {
		text = r.Error()
	}
	return text + why(r.Message)
}

func why(message string) string {
	if message == "" {
		return ""
	}
	return " (" + message + ")"
}

func guarded(guard string) string {
	if guard == "" {
		return ""
	}
	return ", since the guard " + guard + " does not hold"
}

// listed names states behind a text; nothing when there is none.
func listed(text string, states []*spec.State) string {
	if len(states) == 0 {
		return ""
	}
	var names []string
	for _, s := range states {
		names = append(names, s.Name)
	}
	return fmt.Sprintf("%s %s", text, strings.Join(names, ", "))
}
