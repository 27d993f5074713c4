package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// refusalView says why a call was refused, and what would have been needed.
type refusalView struct {
	Code    string      `json:"code"`
	Title   string      `json:"title"`
	Text    string      `json:"text"` // as the interpreter says it
	Error   string      `json:"error,omitempty"`
	Guard   *guardView  `json:"guard,omitempty"`
	Causes  []causeView `json:"causes"`
	Needed  []string    `json:"needed"`
	Records []string    `json:"records"` // that stand in the way
	Place   *Place      `json:"place,omitempty"`

	reason string // the guard that refused, or the error of the branch
}

// causeView is a fact as the call met it.
type causeView struct {
	Fact  string `json:"fact"`
	Holds bool   `json:"holds"`
	Left  string `json:"left"`
	Right string `json:"right,omitempty"`
	Place Place  `json:"place"`
}

var titles = map[string]string{
	interp.CodeNotFound: "No such record", interp.CodeExists: "The record already exists",
	interp.CodeWrongState: "Not in this state", interp.CodeTerminal: "The record is final",
	interp.CodeStale: "The record has moved on", interp.CodeNothingToDo: "Nothing to do", interp.CodeTooLarge: "Too many records",
	interp.CodeInvalidInput: "Missing input", interp.CodeActorMissing: "No actor given",
	interp.CodeReasonMissing: "A reason is missing", interp.CodeRequestMissing: "A request id is missing",
	interp.CodeRequestReused: "The request id belongs to another call", interp.CodeSystemActor: "The actor `system` is reserved",
	interp.CodeGuard:     "Refused by a guard",
	interp.CodeNotUnique: "Not unique", interp.CodeInvariant: "A rule of the target state breaks",
	interp.CodeOverflow: "Out of range",
}

// explainer explains one refusal.
type explainer struct {
	m *spec.Machine
	w interp.World // as it was
	c interp.Call  // accepted, when it can be
	r interp.Record
	v *refusalView
}

func explain(m *spec.Machine, w interp.World, c interp.Call, refusal *interp.Refusal) *refusalView {
	e := explainer{m: m, w: w, c: c, v: &refusalView{
		Code: refusal.Code, Title: titles[refusal.Code], Text: refusal.Error(), Error: refusal.Sentinel, reason: refusal.Guard,
		Causes: []causeView{}, Needed: []string{}, Records: []string{},
	}}
	if ok, no := interp.Accept(m, c); no == nil {
		e.c = ok
	}
	var there bool
	if e.r, there = w.Records[c.ID]; !there || len(c.Op.Creates) > 0 {
		e.r = interp.NewRecord(m, c.ID)
		e.r.CreatedAt = e.c.At
	}
	e.at(c.Op.Pos, c.Op.Name)
	switch refusal.Code {
	case interp.CodeWrongState:
		e.wrongState(refusal)
	case interp.CodeTerminal:
		e.need("%s is terminal: nothing leaves it; create another record", refusal.State)
	case interp.CodeGuard:
		e.guard(refusal)
	case interp.CodeNotUnique:
		e.unique(refusal)
	case interp.CodeInvariant:
		e.invariant(refusal)
	case interp.CodeOverflow:
		e.need("%s would be out of range: a counter ends at 9223372036854775807, a time at the year 9999", refusal.Name)
	case interp.CodeNothingToDo:
		e.nothing()
	case interp.CodeStale:
		e.need("the record is at revision %d, but the call expects revision %d: read the record again", refusal.Rev, refusal.Expected)
	case interp.CodeInvalidInput:
		e.need("%s: %s", refusal.Name, refusal.Message)
		if in := c.Op.Input(refusal.Name); in != nil {
			what := in.Name
			if !in.Declared { // it stands where a field is set to it
				what = "input"
			}
			e.at(in.Pos, what)
		}
	default:
		e.need("%s", plain(refusal))
	}
	return e.v
}

// plain says what is needed where one sentence does.
func plain(r *interp.Refusal) string {
	switch r.Code {
	case interp.CodeNotFound:
		return "create the record first, or name an existing one"
	case interp.CodeExists:
		return "choose another id"
	case interp.CodeActorMissing:
		return "name an actor: the operation needs one"
	case interp.CodeReasonMissing:
		return "an operator gives a reason"
	case interp.CodeRequestMissing:
		return "the machine requires a request id, so that it recognises a retry"
	case interp.CodeRequestReused:
		return "a request id belongs to one call: use a new one for another operation, actor or input"
	}
	return r.Error()
}

func (e explainer) need(format string, args ...any) {
	e.v.Needed = append(e.v.Needed, fmt.Sprintf(format, args...))
}

func (e explainer) at(p spec.Pos, what string) {
	if p.IsZero() {
		return
	}
	at := placeOf(p, what)
	e.v.Place = &at
}

// causes shows the facts, and says of those that fail what they met.
func (e explainer) causes(facts []*spec.Fact, r interp.Record) {
	for _, cause := range interp.Causes(e.m, facts, r, e.c) {
		v := causeView{Fact: cause.Fact.Text, Holds: cause.Holds, Left: cause.Fact.Left.Text + " is " + cause.Left.String(), Place: placeOf(cause.Fact.Pos, cause.Fact.Text)}
		if cause.Fact.Op == spec.AnyOf {
			v.Left = metByAny(cause)
		} else if cause.Fact.Op != spec.Present && cause.Fact.Op != spec.Absent {
			v.Right = cause.Fact.Right.Text + " is " + cause.Right.String()
		}
		e.v.Causes = append(e.v.Causes, v)
		if !cause.Holds {
			if text := wanted(cause); text != "" {
				e.need("%s", text)
				continue
			}
			met := v.Left
			if v.Right != "" && !cause.Fact.Right.IsConst() {
				met += ", " + v.Right
			}
			e.need("%s must hold, but %s", cause.Fact.Text, met)
		}
	}
}

// metByAny says what the facts of an `any` met, each term once.
func metByAny(c interp.Cause) string {
	var met []string
	say := func(t spec.Term, v interp.Value) {
		if text := t.Text + " is " + v.String(); t.Text != "" && !t.IsConst() && !slices.Contains(met, text) {
			met = append(met, text)
		}
	}
	for _, list := range c.Any {
		for _, x := range list {
			say(x.Fact.Left, x.Left)
			say(x.Fact.Right, x.Right)
		}
	}
	return strings.Join(met, ", ")
}

// wanted says what the caller would have to send, where a fact compares that with
// what the record holds.
func wanted(c interp.Cause) string {
	sent := func(t spec.Term) bool { return t.Kind == spec.TermActor || t.Kind == spec.TermInput }
	f := c.Fact
	switch {
	case f.Op != spec.Eq:
	case sent(f.Right) && !sent(f.Left) && c.Left.Kind != interp.KindAbsent:
		return fmt.Sprintf("%s would have to be %s, not %s", f.Right.Text, c.Left, c.Right)
	case sent(f.Left) && !sent(f.Right) && c.Right.Kind != interp.KindAbsent:
		return fmt.Sprintf("%s would have to be %s, not %s", f.Left.Text, c.Right, c.Left)
	}
	return ""
}

func (e explainer) wrongState(refusal *interp.Refusal) {
	if len(refusal.Allowed) == 0 {
		e.need("%s is not possible in any state", e.c.Op.Name)
		return
	}
	e.need("%s needs the state %s; the record is %s", e.c.Op.Name, strings.Join(refusal.Allowed, " or "), refusal.State)
	if e.r.State == nil {
		return
	}
	if way := wayTo(e.m, e.r.State, refusal.Allowed); len(way) > 0 {
		e.need("from %s, %s", refusal.State, strings.Join(way, ", then "))
	} else {
		e.need("no operation leads from %s to %s", refusal.State, strings.Join(refusal.Allowed, " or "))
	}
}

// wayTo returns a shortest chain of operations between two states, guards not
// looked at.
func wayTo(m *spec.Machine, from *spec.State, to []string) []string {
	type stop struct {
		state *spec.State
		way   []string
	}
	moves := make(map[*spec.State][]spec.Move)
	for _, v := range m.Moves() {
		if v.From != nil {
			moves[v.From.State] = append(moves[v.From.State], v)
		}
	}
	seen := map[*spec.State]bool{from: true}
	for queue := []stop{{state: from}}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		if slices.Contains(to, here.state.Name) {
			return here.way
		}
		for _, v := range moves[here.state] {
			if !seen[v.To] {
				seen[v.To] = true
				queue = append(queue, stop{v.To, append(slices.Clone(here.way), v.Operation.Name+" leads to "+v.To.Name)})
			}
		}
	}
	return nil
}

func (e explainer) guard(refusal *interp.Refusal) {
	for _, req := range e.c.Op.Require {
		if req.Guard.Name != refusal.Guard {
			continue
		}
		g := guardOf(req.Guard)
		e.v.Guard = &g
		e.at(req.Guard.Pos, req.Guard.Name)
		if req.Guard.Peers != nil {
			r := e.r
			if len(e.c.Op.Creates) > 0 {
				r = interp.Effects(e.m, &e.c.Op.Effects, r, e.c)
			}
			e.name(e.w.Counted(e.m, req, r, e.c))
			if req.Limit != nil {
				e.need("%s; there are %d, and %s is %s", g.Meaning, len(e.v.Records), req.Limit.Left.Text, interp.Term(e.m, req.Limit.Left, r, e.c))
				return
			}
			if _, whole := interp.GroupOf(e.m, req, r, e.c); !whole && req.Guard.Peers.Some {
				e.need("%s; the record is in no group, since a value of it is absent", g.Meaning)
				return
			}
			e.need("%s; there are %d", g.Meaning, len(e.v.Records))
			return
		}
		e.causes(req.When, e.r)
		return
	}
	for _, b := range e.c.Op.Choose { // a branch that rejects
		if b.Reject != refusal.Guard {
			continue
		}
		e.at(b.Pos, "")
		if len(b.When) > 0 {
			e.need("this branch refuses when %s", strings.Join(spec.FactTexts(b.When), " and "))
		} else {
			e.need("no earlier branch of %s fits, and the last one refuses", e.c.Op.Name)
		}
		return
	}
}

func (e explainer) name(records []interp.Record) {
	for _, r := range records {
		e.v.Records = append(e.v.Records, r.ID)
	}
}

func (e explainer) unique(refusal *interp.Refusal) {
	after := interp.Effects(e.m, &e.c.Op.Effects, e.r, e.c)
	look := func(fields []spec.FieldRef, in []spec.StateRef) {
		e.name(e.w.Group(e.m, fields, in, after))
		var names []string
		for _, f := range fields {
			names = append(names, f.Field.Name)
		}
		text := "no other record may have the same " + strings.Join(names, ", ")
		if in != nil {
			var states []string
			for _, s := range in {
				states = append(states, s.State.Name)
			}
			text += " in " + strings.Join(states, ", ")
		}
		e.need("%s", text)
	}
	for _, u := range e.m.Unique {
		if u.Name == refusal.Name {
			e.at(u.Pos, u.Name)
			look(u.Fields, u.In)
			return
		}
	}
	for _, o := range e.m.Operations {
		if o.DedupeBy != nil && "dedupe_"+o.Name == refusal.Name {
			look(o.DedupeBy.Fields, nil)
			return
		}
	}
	e.need("the rule %s holds for all records", refusal.Name)
}

func (e explainer) invariant(refusal *interp.Refusal) {
	e.need("%s must hold after the operation", refusal.Name)
	if refusal.Message != "" {
		e.need("%s", refusal.Message)
	}
	facts := append(e.m.Kept(), e.m.Invariant...)
	for _, s := range e.m.States {
		facts = append(facts, s.Invariant...)
	}
	for _, f := range facts {
		if f.Text == refusal.Name {
			e.at(f.Pos, f.Text)
			return
		}
	}
}

// nothing says of each record why it was passed over.
func (e explainer) nothing() {
	if len(e.w.Records) == 0 {
		e.need("no record exists yet")
		return
	}
	const most = 20
	for i, r := range byCreation(e.w) {
		if i == most {
			e.need("and %d more records", len(e.w.Records)-most)
			return
		}
		e.need("%s: %s", r.ID, e.passedOver(r))
	}
}

func (e explainer) passedOver(r interp.Record) string {
	if !slices.ContainsFunc(e.c.Op.From, func(s spec.StateRef) bool { return s.State == r.State }) {
		return "it is " + r.State.Name
	}
	for _, cause := range interp.Causes(e.m, e.c.Op.Chosen(), r, e.c) {
		if !cause.Holds {
			return cause.Fact.Text + " does not hold"
		}
	}
	c := e.c
	c.ID, c.ExpectedRev, c.RequestID = r.ID, r.Rev, ""
	if e.m.RequestID == spec.Required && c.Op.By != spec.BySystem {
		c.RequestID = "why " + r.ID
	}
	if e.m.ExpectedRev == spec.None && c.Op.By != spec.BySystem {
		c.ExpectedRev = 0
	}
	if _, _, refusal := interp.Step(e.m, e.w, c); refusal != nil {
		return refusal.Error()
	}
	return "it was skipped"
}
