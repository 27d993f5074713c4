package answers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// epoch is where the clock of a session begins: a fixed one, so that a session
// can be told again.
var epoch = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)

// maxSteps bounds a session: it is played from the beginning each time.
const maxSteps = 500

// playRequest is a session: what was done, in order, and what its clock shows.
type playRequest struct {
	Steps []stepRequest `json:"steps"`
	Now   string        `json:"now"`
}

// stepRequest is one step: a call, or with Deliver the word that the effect of a
// record's revision was performed.
type stepRequest struct {
	Deliver   bool                       `json:"deliver,omitempty"`
	GaveUp    string                     `json:"gaveUp,omitempty"` // with Deliver: why the effect gave up
	Operation string                     `json:"operation"`
	Record    string                     `json:"record,omitempty"`
	Rev       int64                      `json:"rev,omitempty"`
	N         int                        `json:"n,omitempty"` // of the effect that was performed, among those of one step
	Actor     string                     `json:"actor,omitempty"`
	Reason    string                     `json:"reason,omitempty"`
	Request   string                     `json:"request,omitempty"`
	At        string                     `json:"at"`
	Inputs    map[string]json.RawMessage `json:"inputs,omitempty"`
}

// The outcomes of a step.
const (
	accepted = "accepted"
	recorded = "recorded"
	replayed = "replayed"
	existing = "existing"
	refused  = "refused"
)

// stepView is what a step led to.
type stepView struct {
	Outcome   string       `json:"outcome"`
	Operation string       `json:"operation"`
	Record    string       `json:"record,omitempty"`
	At        string       `json:"at"`
	From      string       `json:"from,omitempty"` // "" for a creation
	To        string       `json:"to,omitempty"`
	RevBefore int64        `json:"revBefore"`
	RevAfter  int64        `json:"revAfter"`
	Changes   []changeView `json:"changes"`
	Events    []eventView  `json:"events"`
	Refusal   *refusalView `json:"refusal,omitempty"`
	Place     Place        `json:"place"`
}

type changeView struct {
	Name   string    `json:"name"`
	Before valueView `json:"before"`
	After  valueView `json:"after"`
}

type eventView struct {
	Record     string      `json:"record"`
	Rev        int64       `json:"rev"`
	N          int64       `json:"n"`
	Operation  string      `json:"operation"`
	Event      string      `json:"event"`
	From       string      `json:"from,omitempty"`
	To         string      `json:"to"`
	At         string      `json:"at"`
	Actor      string      `json:"actor,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Request    string      `json:"request,omitempty"`
	Cause      string      `json:"cause,omitempty"`
	Guard      string      `json:"guard,omitempty"`
	RecordOnly bool        `json:"recordOnly,omitempty"`
	Inputs     []namedView `json:"inputs"`
	Changes    []namedView `json:"changes"`
}

type namedView struct {
	Name  string    `json:"name"`
	Value valueView `json:"value"`
	Added bool      `json:"added,omitempty"` // the members that came to a set
	Gone  bool      `json:"gone,omitempty"`  // the members that a set lost
}

// recordView is a record as it stands at the end of a session.
type recordView struct {
	ID        string      `json:"id"`
	State     string      `json:"state"`
	Rev       int64       `json:"rev"`
	CreatedAt string      `json:"createdAt"`
	UpdatedAt string      `json:"updatedAt"`
	Fields    []namedView `json:"fields"`
	// Cells says of every operation what it does in this state: transition,
	// record_only or reject.
	Cells map[string]string `json:"cells"`
}

// deadlineView is when an operation is to be run for a record.
type deadlineView struct {
	Record    string `json:"record"`
	Operation string `json:"operation"`
	Field     string `json:"field"`
	At        string `json:"at"`
	Due       bool   `json:"due"`
}

// waitingView is an effect that waits for being performed.
type waitingView struct {
	Record    string `json:"record"`
	Rev       int64  `json:"rev"`
	N         int    `json:"n"` // of what one step asked for
	Operation string `json:"operation"`
	Effect    string `json:"effect"`
	Then      string `json:"then,omitempty"`
	Failed    string `json:"failed,omitempty"`
}

type derivedView struct {
	Key    []string    `json:"key"`
	State  string      `json:"state"`
	Fields []namedView `json:"fields"`
}

// playView is a session that was played.
type playView struct {
	Hash      string         `json:"hash"` // of the file it was played with
	Epoch     string         `json:"epoch"`
	Now       string         `json:"now"`
	Steps     []stepView     `json:"steps"`
	Stopped   string         `json:"stopped,omitempty"` // why the step after the last one shown cannot be played
	Records   []recordView   `json:"records"`
	Waiting   []waitingView  `json:"waiting"`
	Deadlines []deadlineView `json:"deadlines"`
	Derived   []derivedView  `json:"derived"`
}

func play(t *Text, request playRequest) (playView, error) {
	now := epoch
	if request.Now != "" {
		var err error
		if now, err = parseTime(request.Now); err != nil {
			return playView{}, refuse(BadRequest, "the clock: %v", err)
		}
	}
	view := playSteps(t.Machine, request.Steps, now)
	view.Hash = t.Hash
	return view, nil
}

// readSession reads a session.
func readSession(request []byte) (playRequest, error) {
	var session playRequest
	if err := decode(request, &session); err != nil {
		return session, err
	}
	if len(session.Steps) > maxSteps {
		return session, refuse(TooLarge, "the session has %d steps; at most %d are played", len(session.Steps), maxSteps)
	}
	return session, nil
}

// playSteps plays a session from the beginning.
func playSteps(m *spec.Machine, steps []stepRequest, now time.Time) playView {
	view := playView{Epoch: stamp(epoch), Now: stamp(now), Steps: []stepView{}}
	var w interp.World
	for i, step := range steps {
		shown, next, err := playStep(m, w, step)
		if err != nil {
			view.Stopped = fmt.Sprintf("step %d: %v", i+1, err)
			break
		}
		w = next
		view.Steps = append(view.Steps, shown)
	}
	view.Records = recordsOf(m, w)
	view.Waiting, view.Deadlines, view.Derived = waitingOf(w), deadlinesOf(m, w, now), derivedOf(m, w)
	return view
}

// playStep plays one step. An error is a step that the machine cannot be asked
// for; a refusal is an answer.
func playStep(m *spec.Machine, w interp.World, step stepRequest) (stepView, interp.World, error) {
	at, err := parseTime(step.At)
	if err != nil {
		return stepView{}, w, err
	}
	op := m.Operation(step.Operation)
	if op == nil {
		return stepView{}, w, fmt.Errorf("the machine has no operation %q", step.Operation)
	}
	view := stepView{Operation: op.Name, Record: step.Record, At: stamp(at), Changes: []changeView{}, Events: []eventView{}, Place: placeOf(op.Pos, op.Name)}
	var out interp.Outcome
	var next interp.World
	var refusal *interp.Refusal
	var c interp.Call
	if step.Deliver {
		i := slices.IndexFunc(w.Outbox, func(d interp.Delivery) bool {
			return d.ID == step.Record && d.Rev == step.Rev && d.N == step.N && d.Op == op
		})
		if i < 0 {
			return stepView{}, w, fmt.Errorf("no effect of %s waits for record %q at revision %d", op.Name, step.Record, step.Rev)
		}
		c = interp.Call{Op: op, ID: step.Record, At: at}
		switch d := w.Outbox[i]; {
		case step.GaveUp == "":
			out, next, refusal = interp.Deliver(m, w, d, at)
		case d.Effect.Failed == nil:
			return stepView{}, w, fmt.Errorf("effect %s of %s has no `failed`, so it does not give up", d.Effect.Name, op.Name)
		default:
			out, next, refusal = interp.GiveUp(m, w, d, step.GaveUp, at)
		}
	} else {
		if interp.Internal(m, op) {
			return stepView{}, w, fmt.Errorf("%s follows an effect and cannot be called", op.Name)
		}
		if c, err = callOf(op, step); err != nil {
			return stepView{}, w, err
		}
		out, next, refusal = interp.Step(m, w, c)
	}
	if refusal != nil {
		view.Outcome, view.Refusal = refused, explain(m, w, c, refusal)
		if r, ok := w.Records[c.ID]; ok {
			view.From, view.To, view.RevBefore, view.RevAfter = r.State.Name, r.State.Name, r.Rev, r.Rev
		}
		return view, w, nil
	}
	view.Outcome = outcomeOf(out)
	view.Record = out.Record.ID
	before, was := w.Records[out.Record.ID]
	if !was {
		before = interp.NewRecord(m, out.Record.ID)
	} else {
		view.From, view.RevBefore = before.State.Name, before.Rev
	}
	after := next.Records[out.Record.ID]
	view.To, view.RevAfter = after.State.Name, after.Rev
	for i, f := range m.Fields {
		if before.Fields[i] != after.Fields[i] {
			view.Changes = append(view.Changes, changeView{f.Name, show(before.Fields[i]), show(after.Fields[i])})
		}
	}
	for _, e := range out.Events {
		view.Events = append(view.Events, eventOf(e))
	}
	return view, next, nil
}

// callOf returns the call that a step makes.
func callOf(op *spec.Operation, step stepRequest) (interp.Call, error) {
	c := interp.Call{Op: op, ID: step.Record, ExpectedRev: step.Rev, RequestID: step.Request, Actor: step.Actor, Reason: step.Reason}
	var err error
	if c.At, err = parseTime(step.At); err == nil {
		c.Inputs, err = inputsOf(op, step.Inputs)
	}
	return c, err
}

func outcomeOf(out interp.Outcome) string {
	switch {
	case out.Replayed:
		return replayed
	case out.Existing:
		return existing
	case out.RecordOnly:
		return recorded
	}
	return accepted
}

func inputsOf(op *spec.Operation, raw map[string]json.RawMessage) (map[string]interp.Value, error) {
	values := make(map[string]interp.Value, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		in := op.Input(name)
		if in == nil {
			return nil, fmt.Errorf("%s has no input %q", op.Name, name)
		}
		v, err := parse(in, raw[name])
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	return values, nil
}

func eventOf(e interp.Event) eventView {
	v := eventView{
		Record: e.ID, Rev: e.Rev, N: e.N, Operation: e.Op.Name, Event: e.Op.Event, To: e.To.Name, At: stamp(e.At), Actor: e.Actor, Reason: e.Reason,
		Request: e.RequestID, Guard: e.Guard, RecordOnly: e.N > 0, Inputs: []namedView{}, Changes: []namedView{},
	}
	if e.From != nil {
		v.From = e.From.Name
	}
	if e.Cause != nil {
		v.Cause = e.Cause.Name
	}
	for _, in := range e.Op.Inputs {
		if value, ok := e.Inputs[in.Name]; ok {
			v.Inputs = append(v.Inputs, namedView{Name: in.Name, Value: show(value)})
		}
	}
	for _, c := range e.Changes {
		if c.Gone.IsPresent() {
			v.Changes = append(v.Changes, namedView{Name: c.Field.Name, Value: show(c.Gone), Gone: true})
		}
		if !c.Gone.IsPresent() || c.Value.IsPresent() {
			v.Changes = append(v.Changes, namedView{Name: c.Field.Name, Value: show(c.Value), Added: c.Added})
		}
	}
	return v
}

func recordsOf(m *spec.Machine, w interp.World) []recordView {
	list := []recordView{}
	for _, r := range byCreation(w) {
		v := recordView{
			ID: r.ID, State: r.State.Name, Rev: r.Rev, CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt),
			Fields: []namedView{}, Cells: map[string]string{},
		}
		for i, f := range m.Fields {
			v.Fields = append(v.Fields, namedView{Name: f.Name, Value: show(r.Fields[i])})
		}
		for _, o := range m.Operations {
			if len(o.Creates) == 0 {
				v.Cells[o.Name] = m.Class(r.State, o).String()
			}
		}
		list = append(list, v)
	}
	return list
}

// byCreation lists the records of a world in the order in which they were made.
func byCreation(w interp.World) []interp.Record {
	var list []interp.Record
	for _, e := range w.Log {
		if e.From == nil && e.N == 0 {
			list = append(list, w.Records[e.ID])
		}
	}
	return list
}

func waitingOf(w interp.World) []waitingView {
	list := []waitingView{}
	for _, d := range w.Outbox {
		v := waitingView{Record: d.ID, Rev: d.Rev, N: d.N, Operation: d.Op.Name, Effect: d.Effect.Name}
		if d.Effect.Then != nil {
			v.Then = d.Effect.Then.Operation.Name
		}
		if d.Effect.Failed != nil {
			v.Failed = d.Effect.Failed.Operation.Name
		}
		list = append(list, v)
	}
	return list
}

// deadlinesOf lists what the records wait for, nearest first.
func deadlinesOf(m *spec.Machine, w interp.World, now time.Time) []deadlineView {
	list := []deadlineView{}
	for _, r := range byCreation(w) {
		for _, o := range m.Operations {
			if m.Class(r.State, o) != spec.Transition {
				continue
			}
			for _, t := range o.Triggers {
				if due := interp.Deadline(m, t, r); due.Kind == interp.KindTime {
					at := due.AsTime()
					list = append(list, deadlineView{r.ID, o.Name, waitsFor(t), stamp(at), !now.Before(at)})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b deadlineView) int {
		x, _ := parseTime(a.At) // written by stamp
		y, _ := parseTime(b.At)
		return cmp.Or(x.Compare(y), strings.Compare(a.Record, b.Record))
	})
	return list
}

func derivedOf(m *spec.Machine, w interp.World) []derivedView {
	list := []derivedView{}
	if m.Projection == nil {
		return list
	}
	for _, p := range interp.Project(m, byCreation(w)) {
		v := derivedView{State: p.State, Fields: []namedView{}}
		for i, k := range p.Key {
			v.Key = append(v.Key, m.Projection.Key[i].Field.Name+" "+show(k).Text)
		}
		for _, f := range m.Projection.Fields {
			v.Fields = append(v.Fields, namedView{Name: f.Name, Value: show(p.Fields[f.Name])})
		}
		list = append(list, v)
	}
	return list
}

// waitsFor names what a trigger waits for.
func waitsFor(t spec.Trigger) string {
	if t.By != nil {
		return t.After.Name + " + " + t.By.Name
	}
	return t.After.Name
}
