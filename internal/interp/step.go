package interp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// Outcome is what a call led to.
type Outcome struct {
	Record     Record  // as of the call's own transaction, after all steps of `then`
	Events     []Event // of that transaction
	Replayed   bool    // the request was known: nothing was written now
	RecordOnly bool    // the call was recorded and changed nothing else
	Existing   bool    // a creation found the record by `dedupe_by`: nothing was written
	Current    Record  // as it is now; differs from Record only for a replay
}

// Step is one call: the new world, or a refusal and the world as it was.
func Step(m *spec.Machine, w World, c Call) (Outcome, World, *Refusal) {
	list, next, refusal := step(m, w, c, 1)
	if refusal != nil {
		return Outcome{}, w, refusal
	}
	return list[0], next, nil
}

// Pick is one call that lets the store pick up to n records, in one transaction: each is
// picked in what those before it have left, and none twice. An operation with `each` takes
// all that fit, whatever n is.
func Pick(m *spec.Machine, w World, c Call, n int) ([]Outcome, World, *Refusal) {
	return step(m, w, c, n)
}

// step is a call that does something to n records at most; one that names its record does
// it to that one.
func step(m *spec.Machine, w World, c Call, n int) ([]Outcome, World, *Refusal) {
	refusal := acceptIDs(m, c)
	if refusal == nil {
		c, refusal = acceptCall(m, c)
	}
	if c.Fired {
		c.Actor = systemActor
	}
	if refusal == nil {
		refusal = acceptPlace(m, c)
	}
	if refusal != nil {
		return nil, w, refusal
	}
	lost := holdsLost(c)
	c, invalid := acceptInputs(m, c)
	if lost {
		return nil, w, invalid
	}
	named := len(c.Op.Creates) == 0 && c.ID != ""
	if named && (c.Fired || c.Op.By == spec.BySystem) {
		c.RequestID = systemID(c.Op, cmp.Or(c.ExpectedRev, w.Records[c.ID].Rev))
	}
	list, refusal, known := w.replay(m, c, !named)
	var out Outcome
	switch {
	case known:
		return list, w, refusal
	case invalid != nil:
		return nil, w, invalid
	case named:
		out, w, refusal = w.apply(m, c)
	case len(c.Op.Creates) > 0:
		out, w, refusal = w.create(m, c)
	case c.Op.Each != nil:
		return w.applyEach(m, c)
	default:
		return w.pickAndApply(m, c, n)
	}
	return []Outcome{out}, w, refusal
}

// acceptIDs looks at the ids of a call, which come first: its record, the request.
func acceptIDs(m *spec.Machine, c Call) *Refusal {
	system := c.Op.By == spec.BySystem
	if problem := idProblem(c.ID); problem != "" {
		return c.invalid("id", problem)
	}
	switch {
	case system && c.RequestID != "":
		return c.invalid("request_id", "a system operation gets its own")
	case system:
	case c.RequestID == "" && !c.Fired && m.RequestID == spec.Required:
		return c.refuse(CodeRequestMissing, "")
	case c.RequestID != "" && m.RequestID == spec.None:
		return c.invalid("request_id", "the machine takes none")
	case strings.HasPrefix(c.RequestID, systemPrefix):
		return c.invalid("request_id", "the prefix "+systemPrefix+" belongs to system operations")
	}
	if problem := idProblem(c.RequestID); problem != "" {
		return c.invalid("request_id", problem)
	}
	if !system && c.Actor == systemActor {
		return c.refuse(CodeSystemActor, "")
	}
	return nil
}

// acceptPlace looks at which record a call is for, and at what revision.
func acceptPlace(m *spec.Machine, c Call) *Refusal {
	if c.ID == "" && c.Op.Next == nil && c.Op.Each == nil {
		return c.invalid("id", "it is empty")
	}
	creation := len(c.Op.Creates) > 0
	if c.ExpectedRev < 0 || c.ExpectedRev == 0 && m.ExpectedRev == spec.Required && !creation && c.ID != "" {
		return c.invalid("rev", "the machine needs the revision that the call was decided on")
	}
	return nil
}

// create is a creation: `dedupe_by`, exists, and then the decision.
func (w World) create(m *spec.Machine, c Call) (Outcome, World, *Refusal) {
	fresh := NewRecord(m, c.ID)
	if found, ok := w.existing(m, fresh, c); ok {
		return Outcome{Record: found, Existing: true, Current: found}, w, nil
	}
	if _, taken := w.Records[c.ID]; taken {
		return Outcome{}, w, c.refuse(CodeExists, "")
	}
	return w.commit(m, fresh, c, origin{machine: true})
}

// pickAndApply is an operation whose records the store picks: the first ones that it
// can be applied to. One whose step would be refused is passed over, be it by a
// guard, a branch, by `unique`, by an invariant or by what `then` leads to: a record that
// is blocked must not keep the others back.
func (w World) pickAndApply(m *spec.Machine, c Call, n int) ([]Outcome, World, *Refusal) {
	var list []Outcome
	next, from := w, origin{machine: true, commit: w.commits() + 1}
	for _, r := range w.candidates(m, c) {
		if len(list) == n {
			break
		}
		c.ID = r.ID
		if failing(m, r, c, next.others(m, r, c)) != nil { // it may be recorded, and is not picked for that
			continue
		}
		out, done, refusal := next.commit(m, r, c, from)
		switch {
		case refusal == nil:
			list, next = append(list, out), done
		case refusal.Code == CodeInvalidInput: // the call is at fault, whatever the record is
			return nil, w, refusal
		}
	}
	if c.ID = ""; len(list) == 0 {
		return nil, w, c.refuse(CodeNothingToDo, "")
	}
	return list, next, nil
}

// applyEach is an operation with `each`: it is applied to all records in `from` that pass
// `where`, in the order of their ids, in one transaction. The first refusal is that of the call.
func (w World) applyEach(m *spec.Machine, c Call) ([]Outcome, World, *Refusal) {
	var fit []Record
	for _, r := range w.Records {
		if inStates(r.State, c.Op.From) && all(m, c.Op.Each.Where, r, c) {
			fit = append(fit, r)
		}
	}
	switch {
	case len(fit) == 0:
		return nil, w, c.refuse(CodeNothingToDo, "")
	case int64(len(fit)) > c.Op.Each.Most:
		return nil, w, c.refuse(CodeTooLarge, "")
	}
	Sort(m, fit, nil)
	var list []Outcome
	next, from := w, origin{machine: true, commit: w.commits() + 1}
	for _, r := range fit {
		c.ID = r.ID
		out, done, refusal := next.commit(m, next.Records[r.ID], c, from)
		if refusal != nil {
			refusal.ID = r.ID
			return nil, w, refusal
		}
		list, next = append(list, out), done
	}
	return list, next, nil
}

// apply is an operation on a record that the call names. A cell that only
// records asks for no revision: whatever the caller has seen, there is nothing
// to overwrite.
func (w World) apply(m *spec.Machine, c Call) (Outcome, World, *Refusal) {
	r, found := w.Records[c.ID]
	if !found {
		return Outcome{}, w, c.refuse(CodeNotFound, "")
	}
	if r.State == nil || m.Class(r.State, c.Op) != spec.RecordOnly {
		if refusal := checkRev(m, r, c); refusal != nil {
			return Outcome{}, w, refusal
		}
	}
	return w.commit(m, r, c, origin{})
}

// checkRev compares the revision. Where the machine asks for none, only a
// system operation may carry one: the sweeper's.
func checkRev(m *spec.Machine, r Record, c Call) *Refusal {
	asked := c.ExpectedRev != 0 && (m.ExpectedRev != spec.None || c.Op.By == spec.BySystem)
	if !asked || c.ExpectedRev == r.Rev {
		return nil
	}
	refusal := c.refuse(CodeStale, name(r.State))
	refusal.Rev, refusal.Expected = r.Rev, c.ExpectedRev
	return refusal
}

// replay answers a known request, of which a pick may have several records. In the scope
// of the machine only creations and picks are looked at, in the scope of a record every
// event of it.
func (w World) replay(m *spec.Machine, c Call, machine bool) ([]Outcome, *Refusal, bool) {
	if c.RequestID == "" {
		return nil, nil, false
	}
	var list []Outcome
	for _, first := range w.Log {
		if first.RequestID != c.RequestID || machine && !first.Machine || !machine && first.ID != c.ID {
			continue
		}
		other := len(c.Op.Creates) > 0 && first.ID != c.ID // the id is a part of what a creation asks for
		if other || first.Fingerprint != fingerprint(m, c) {
			return nil, c.refuse(CodeRequestReused, ""), true
		}
		list = append(list, w.replayOf(m, first))
	}
	return list, nil, list != nil
}

// replayOf is the outcome of the transaction that an event began, for its record.
func (w World) replayOf(m *spec.Machine, first Event) Outcome {
	out := Outcome{Replayed: true, RecordOnly: first.N > 0, Current: w.Records[first.ID]}
	for _, e := range w.History(first.ID) {
		if e.Commit == first.Commit {
			out.Events = append(out.Events, e)
		}
	}
	r, err := w.At(m, first.ID, out.Events[len(out.Events)-1].Rev)
	if err != nil {
		panic("interp: the log of a world has a gap: " + err.Error())
	}
	out.Record = r
	return out
}

// systemID is the request id of a system operation, or of a call that a trigger
// makes, at a revision: the same for
// everybody who runs it there, so that they converge.
func systemID(op *spec.Operation, rev int64) string {
	return fmt.Sprintf("%s%s:%d", systemPrefix, op.Stored(), rev)
}

// origin says where a transaction comes from.
type origin struct {
	machine bool            // the scope of its request id is the machine
	cause   *spec.Operation // whose delivered effect it follows, or nil
	commit  int             // its number; 0: the next one
}

// commit decides and writes: the record, its event, what waits in the outbox,
// and the steps of `then`. A refused step of `then` takes everything back.
func (w World) commit(m *spec.Machine, r Record, c Call, from origin) (Outcome, World, *Refusal) {
	next := w.clone()
	out := Outcome{}
	number := cmp.Or(from.commit, w.commits()+1)
	for cause := from.cause; ; {
		d, refusal := decide(m, r, c, next.others(m, r, c), func(after Record) *Refusal {
			return next.unique(m, c.Op, r.State, after)
		})
		if refusal != nil {
			return Outcome{}, w, refusal
		}
		e := Event{
			ID: c.ID, Rev: d.Record.Rev, Op: c.Op, From: d.From, To: d.To, At: c.At, Actor: c.Actor, Reason: c.Reason,
			RequestID: c.RequestID, Machine: from.machine && c.RequestID != "", Fingerprint: fingerprint(m, c), Labels: c.Labels, Inputs: c.Inputs,
			Changes: changes(m, r, d), Asks: d.Asks, Cause: cause, Guard: d.Guard, Commit: number,
		}
		if d.RecordOnly {
			e.N = next.records(c.ID, r.Rev) + 1
		}
		next.Log = append(next.Log, e)
		out.Events = append(out.Events, e)
		out.Record, out.RecordOnly = d.Record, len(out.Events) == 1 && d.RecordOnly
		if !d.RecordOnly {
			next.write(m, d, c)
		}
		if d.Then == nil { // what follows an effect waits for [Deliver]
			out.Current = out.Record
			return out, next, nil
		}
		r, cause = d.Record, c.Op
		c = follow(d.Then, c.ID, c.At)
	}
}

// write puts the record of a decision into the world. An effect that waited at
// the revision that is left is of no more use when a step was to follow it.
func (w *World) write(m *spec.Machine, d Decision, c Call) {
	w.Records[c.ID] = d.Record
	w.Outbox = slices.DeleteFunc(w.Outbox, func(o Delivery) bool { return o.ID == c.ID && o.Effect.Waits() })
	n := 0
	for _, e := range d.Asks {
		if !e.Atomic {
			w.Outbox = append(w.Outbox, Delivery{
				ID: c.ID, Rev: d.Record.Rev, N: n, Op: c.Op, Effect: e, Key: EffectKey(m, e, d.Record), Commit: w.commits(),
			})
			n++
		}
	}
}

// records counts the record-only events of a revision.
func (w World) records(id string, rev int64) int64 {
	var n int64
	for _, e := range w.Log {
		if e.ID == id && e.Rev == rev {
			n = max(n, e.N)
		}
	}
	return n
}

// follow is the call of a step of `then`: no request id in the transaction of
// its cause, and no inputs.
func follow(op *spec.Operation, id string, at time.Time) Call {
	return Call{Op: op, ID: id, Actor: systemActor, At: at, Inputs: map[string]Value{}}
}

// Internal reports whether nobody may call an operation of the system, since a call
// would claim what its caller cannot know: that the work of an effect is done, where
// effects outside of the transaction reach it; that a crash came
// before, or that its time has come, where triggers alone reach it and no guard asks
// for the time of one.
func Internal(m *spec.Machine, op *spec.Operation) bool {
	reached := len(op.Triggers) > 0
	for _, l := range m.Leaders(op) {
		if l.AtOnce {
			return false
		}
		reached = true
	}
	for _, t := range op.Triggers {
		if t.After != nil && slices.ContainsFunc(op.Require, func(r *spec.Requirement) bool { return asksTime(r, t.After) }) {
			return false
		}
	}
	return reached && op.By == spec.BySystem && len(op.Creates) == 0 && op.Next == nil
}

// asksTime reports whether a guard compares the field with the time of the call.
func asksTime(r *spec.Requirement, f *spec.Field) bool {
	return slices.ContainsFunc(spec.Leaves(r.When), func(x *spec.Fact) bool {
		return x.Reads(f) && slices.ContainsFunc(x.Names(), func(t spec.Term) bool { return t.Kind == spec.TermNow })
	})
}
