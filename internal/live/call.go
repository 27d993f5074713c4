package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

// calls makes the engine's calls of one operation, as the generated package does.
type calls struct {
	m      *spec.Machine
	o      *spec.Operation
	fact   gen.OperationFact
	errors map[string]error
	facts  *gen.Facts
}

// errProgram refuses to run what only the machine's program runs.
var errProgram = errors.New("only the program of the machine runs its operations")

// ownErrors are the machine's own errors, by name.
func ownErrors(facts *gen.Facts) map[string]error {
	list := map[string]error{}
	for _, e := range facts.Errors {
		list[e.Name] = fsmimpl.NewError(e.Name, e.Text)
	}
	return list
}

// needs says for what a call needs the program of the machine, which has its effects; empty
// where it needs none.
func needs(o *spec.Operation) string {
	seen := map[*spec.Operation]bool{}
	var look func(x *spec.Operation) string
	look = func(x *spec.Operation) string {
		if seen[x] {
			return ""
		}
		seen[x] = true
		if list := x.AllAsks(); len(list) > 0 && x == o {
			return "it asks for the effect " + list[0].Name
		} else if len(list) > 0 {
			return fmt.Sprintf("it is followed by %s, which asks for the effect %s", x.Name, list[0].Name)
		}
		for _, next := range x.Followers() {
			if text := look(next.Operation); text != "" {
				return text
			}
		}
		return ""
	}
	return look(o)
}

// describe adds to the description of the operation what its calls need.
func (c *calls) describe(op *fsmimpl.Operation[interp.Record], s *driver.Schema) {
	o, f := c.o, c.fact.Call
	op.Doc = strings.Join(strings.Fields(o.Doc), " ")
	for _, r := range c.fact.Rules {
		op.Rules = append(op.Rules, fsmimpl.Rule{Name: r.Name, Text: r.Text})
	}
	for i, in := range o.Inputs {
		op.Takes = append(op.Takes, fsmimpl.Argument{
			Column: valueColumn(in.Name, in.Name, in.Type), Doc: c.fact.Inputs[i],
			Length: in.Type.Kind == spec.KindDuration,
		})
	}
	op.NeedActor, op.Dedupe = f.NeedActor, f.Dedupe
	if op.Needs = needs(o); op.Needs != "" {
		return
	}
	if f.Followed {
		op.System = func(*interp.Record, time.Time) (fsmimpl.Call[interp.Record], error) {
			return c.call("", interp.Call{Op: o, Inputs: map[string]interp.Value{}}), nil
		}
	}
	if o.Then != nil {
		op.Then = o.Then.Operation.Name
	}
	for _, b := range f.Branches {
		branch := fsmimpl.Branch[interp.Record]{}
		if b.Then != nil {
			branch.Then = b.Then.Operation.Name
		}
		op.Branches = append(op.Branches, branch)
	}
	if o.Next != nil {
		op.Picks = true
		for _, x := range f.Order {
			op.Order = append(op.Order, driver.Order{Column: x.Field.Stored(), Descending: x.Descending})
		}
		if f.Parking > 0 {
			op.Parking = &s.Parkings[f.Parking-1]
		}
		if len(f.Own) > 0 {
			op.Own = func(r *interp.Record) bool { return c.hold(f.Own, *r, interp.Call{}) }
		}
	}
	if o.Each != nil {
		op.Each = o.Each.Most
	}
	if o.By != spec.BySystem {
		op.Make = c.read
	}
}

// hold reports whether all facts hold.
func (c *calls) hold(facts []*spec.Fact, r interp.Record, call interp.Call) bool {
	return !slices.ContainsFunc(facts, func(f *spec.Fact) bool { return !interp.Holds(c.m, f, r, call) })
}

// read makes a call out of its inputs.
func (c *calls) read(in *fsmimpl.Reading, id string, by fsmimpl.Caller) fsmimpl.Call[interp.Record] {
	call := interp.Call{
		Op: c.o, RequestID: by.RequestID, Actor: by.Actor, Reason: by.Reason, At: by.At, Labels: by.Labels,
		Inputs: map[string]interp.Value{},
	}
	for _, x := range c.o.Inputs {
		fsmimpl.Value(in, func(column any) error {
			v, err := ValueOf(x.Type, column)
			if err == nil && v.Kind != interp.KindAbsent {
				call.Inputs[x.Name] = v
			}
			return err
		})
	}
	made := c.call(id, call)
	made.Caller = by
	return made
}

// call is the engine's call.
func (c *calls) call(id string, call interp.Call) fsmimpl.Call[interp.Record] {
	made := fsmimpl.Call[interp.Record]{ID: id}
	for _, in := range c.o.Inputs {
		made.Inputs = append(made.Inputs, driver.Input{
			Name: in.Name, Value: Column(in.Type, call.Inputs[in.Name]), Kind: kinds[in.Type.Kind], Loose: c.fact.Call.Loose[in.Name],
		})
	}
	made.Decide = func(r *interp.Record, id string, peers []int64, now time.Time) (fsmimpl.Step, error) {
		at := call
		at.At = now
		return c.decide(r, id, peers, at)
	}
	if c.counted() != nil || c.numbered() != nil || c.fact.Call.Leaves != nil {
		made.Peers = func(r *interp.Record, id string) []driver.PeerQuery { return c.peers(c.before(r, id), id, call) }
	}
	if d := c.o.DedupeBy; d != nil {
		r := interp.Effects(c.m, &c.o.Effects, interp.NewRecord(c.m, id), call)
		for _, f := range d.Fields {
			made.Dedupe = append(made.Dedupe, Column(f.Field.Type, r.Value(c.m, f.Field)))
		}
	}
	if c.o.Next != nil || c.o.Each != nil {
		c.narrow(&made, call)
	}
	return made
}

// before is the record that a call is decided on.
func (c *calls) before(r *interp.Record, id string) interp.Record {
	if r.Fields == nil { // one that is made, or that nobody has read
		return interp.NewRecord(c.m, id)
	}
	return *r
}

// decide runs the operation.
func (c *calls) decide(r *interp.Record, id string, peers []int64, call interp.Call) (fsmimpl.Step, error) {
	before := c.before(r, id)
	others := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	for i, q := range c.counted() {
		others.Count[q.Guard.Name] = peers[i]
	}
	for i, f := range c.numbered() {
		others.Next[f.Name] = peers[len(others.Count)+i]
	}
	d, refusal := interp.Decide(c.m, before, call, others)
	if refusal != nil {
		return fsmimpl.Step{}, c.refusal(refusal, before, call, others)
	}
	*r = d.Record
	step := fsmimpl.Step{To: d.To.Stored(), RecordOnly: d.RecordOnly, Guard: d.Guard, Branch: slices.Index(c.fact.Call.Branches, d.Branch) + 1}
	if d.From != nil {
		step.From = d.From.Stored()
	}
	return step, nil
}

// counted lists the requirements that count other records, each guard once.
func (c *calls) counted() (list []*spec.Requirement) {
	for _, q := range c.o.Require {
		if q.Guard.Peers != nil && !slices.ContainsFunc(list, func(x *spec.Requirement) bool { return x.Guard == q.Guard }) {
			list = append(list, q)
		}
	}
	return list
}

// numbered lists the sequences that a creation needs a number of.
func (c *calls) numbered() (list []*spec.Field) {
	for _, f := range c.m.Fields {
		if f.Type.Kind == spec.KindSequence && len(c.o.Creates) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// peers asks what a decision must know of other records.
func (c *calls) peers(r interp.Record, id string, call interp.Call) (list []driver.PeerQuery) {
	if len(c.o.Creates) > 0 {
		r = interp.Effects(c.m, &c.o.Effects, r, call) // the group that it is going to be in
	}
	group := func(query driver.PeerQuery, g *spec.Guard, of []*spec.Fact, in []string) {
		query.Name, query.Except, query.States = g.Name, id, in
		for i, f := range g.Peers.Same {
			v := r.Value(c.m, f.Field)
			if i < len(of) {
				v = interp.Term(c.m, of[i].Right, r, call)
			}
			query.Columns = append(query.Columns, f.Field.Stored())
			query.Values = append(query.Values, Column(f.Field.Type, v))
		}
		list = append(list, query)
	}
	for _, q := range c.counted() {
		var in []string
		for _, st := range q.Guard.Peers.In {
			in = append(in, st.State.Stored())
		}
		group(driver.PeerQuery{Locked: c.fact.Call.Locked}, q.Guard, q.Of, in)
	}
	for _, x := range c.numbered() {
		query := driver.PeerQuery{Name: x.Name, Sequence: true, Except: id}
		for _, f := range x.Per {
			query.Columns = append(query.Columns, f.Stored())
			query.Values = append(query.Values, Column(f.Type, r.Value(c.m, f)))
		}
		list = append(list, query)
	}
	for _, h := range c.fact.Call.Leaves {
		group(driver.PeerQuery{Hold: true}, h.Guard, nil, storedStates(h.States))
	}
	return list
}

// narrow says which records `next` may pick, or `each` take.
func (c *calls) narrow(made *fsmimpl.Call[interp.Record], call interp.Call) {
	for _, w := range c.fact.Call.Where {
		cond := driver.Cond{Column: w.Field.Stored(), Op: comparisons[w.Op], Now: w.Now}
		switch w.Op {
		case spec.Present:
			cond.Op = driver.OpPresent
		case spec.Absent:
			cond.Op = driver.OpAbsent
		default:
			if !w.Now {
				cond.Value = Column(w.Field.Type, interp.Term(c.m, w.Value, interp.Record{}, call))
			}
		}
		made.Where = append(made.Where, cond)
	}
	if !c.fact.Call.Complete {
		made.Fits = func(r *interp.Record, now time.Time) bool {
			at := call
			at.At = now
			return c.hold(c.o.Chosen(), *r, at)
		}
	}
}

// refusal is a refusal as the generated package has it.
func (c *calls) refusal(x *interp.Refusal, r interp.Record, call interp.Call, others interp.Others) *fsm.Refusal {
	refused := &fsm.Refusal{Code: fsm.Code(x.Code), Machine: c.m.Name, Operation: x.Operation, ID: r.ID}
	if r.State != nil {
		refused.State = r.State.Name
	}
	switch x.Code {
	case interp.CodeWrongState, interp.CodeTerminal:
		var allowed []string
		for _, st := range c.m.States {
			if slices.Contains(x.Allowed, st.Name) {
				allowed = append(allowed, st.Name)
			}
		}
		refused.Allowed = strings.Join(allowed, ", ")
	case interp.CodeGuard:
		refused.Guard, refused.Cause = x.Guard, c.errors[x.Sentinel]
		refused.Message = c.facts.Errors[x.Sentinel].Beside(x.Message)
		for i, q := range c.o.Require {
			if q.Guard.Name == x.Guard && refused.Values == "" {
				refused.Values = c.told(q, c.fact.Rules[i], r, call, others)
			}
		}
	case interp.CodeInvalidInput:
		refused.Name, refused.Message = x.Name, x.Message
	default:
		refused.Name = x.Name
	}
	return refused
}

// told is what a guard looked at.
func (c *calls) told(q *spec.Requirement, rule gen.RuleFact, r interp.Record, call interp.Call, others interp.Others) string {
	var pairs []any
	if q.Guard.Peers != nil {
		pairs = append(pairs, "others", others.Count[q.Guard.Name])
		if len(c.o.Creates) > 0 && q.Limit != nil {
			r = interp.Effects(c.m, &c.o.Effects, r, call)
		}
	}
	for _, t := range rule.Told {
		var value any
		switch v := interp.Term(c.m, t, r, call); v.Kind {
		case interp.KindAbsent:
			if value = "absent"; t.Kind == spec.TermActor {
				value = call.Actor
			}
		case interp.KindInt:
			value = v.Num
		case interp.KindDuration:
			value = time.Duration(v.Num) * time.Microsecond
		case interp.KindBool:
			value = v.Num != 0
		case interp.KindTime:
			value = v.AsTime()
		default:
			value = v.Text
		}
		pairs = append(pairs, gen.ToldAs(t), value)
	}
	return fsmimpl.Values(pairs...)
}
