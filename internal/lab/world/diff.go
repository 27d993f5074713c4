package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// differences says in what two things differ.
type differences []string

func (d *differences) add(name string, want, got any) {
	if want != got {
		d.note("%s is %v, want %v", name, got, want)
	}
}

func (d *differences) note(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

func (d *differences) String() string { return strings.Join(*d, "; ") }

// DiffRow says in what a row is another record than that which is wanted, or "".
func DiffRow(m *spec.Machine, want interp.Record, row driver.Row) string {
	got, err := Record(m, row)
	if err != nil {
		return err.Error()
	}
	var d differences
	d.add("id", want.ID, got.ID)
	d.add("state", nameOf(want.State), nameOf(got.State))
	d.add("rev", want.Rev, got.Rev)
	d.add("created_at", driver.Time(want.CreatedAt), driver.Time(got.CreatedAt))
	d.add("updated_at", driver.Time(want.UpdatedAt), driver.Time(got.UpdatedAt))
	for i, f := range m.Fields {
		if i < len(want.Fields) {
			d.add(f.Name, want.Fields[i], got.Fields[i])
		}
	}
	return d.String()
}

func nameOf(s *spec.State) string {
	if s == nil {
		return "none"
	}
	return s.Name
}

// stored is the word of a state in the log.
func stored(s *spec.State) string {
	if s == nil {
		return ""
	}
	return s.Stored()
}

// diff compares an answer.
func (h *Harness[R]) diff(want Answer, got []fsm.Outcome[R], err error) string {
	if want.Refusal != nil {
		return h.S.diffRefusal(want.Refusal, err)
	}
	if err != nil || len(got) != len(want.Outcomes) {
		return fmt.Sprintf("%d outcomes (%v), want %d", len(got), err, len(want.Outcomes))
	}
	var d differences
	for i, w := range want.Outcomes {
		g, before := got[i], len(d)
		if wrong := DiffRow(h.M, w.Record, h.S.D.Descriptor.Encode(&g.Record)); wrong != "" {
			d.note("its record: %s", wrong)
		}
		d.add("Replayed", w.Replayed, g.Replayed)
		d.add("RecordOnly", w.RecordOnly, g.RecordOnly)
		d.add("Existing", w.Existing, g.Existing)
		d.add("Current", fsm.Ref{ID: w.Current.ID, Rev: w.Current.Rev}, g.Current)
		d.add("CurrentState", nameOf(w.Current.State), g.CurrentState)
		d.add("as a target the outcome", fsm.Ref{ID: w.Record.ID, Rev: w.Record.Rev}, g.Ref())
		if !w.Existing {
			d.add("the number of events", len(w.Events), len(g.Events))
		}
		for j := range min(len(w.Events), len(g.Events)) {
			if wrong := h.diffEvent(w.Events[j], g.Events[j]); wrong != "" {
				d.note("event %d: %s", j, wrong)
			}
		}
		if len(d) > before && len(got) > 1 {
			d.note("(outcome %d of %d)", i+1, len(got))
		}
	}
	return d.String()
}

// diffRefusal compares a refusal.
func (s *Suite[R]) diffRefusal(want *interp.Refusal, err error) string {
	if want.Code == string(fsm.ErrEffect) {
		if !errors.Is(err, fsm.ErrEffect) || !errors.Is(err, fsmcases.ErrEffect) {
			return fmt.Sprintf("%v, want the effect's own error within a *fsm.EffectError", err)
		}
		return ""
	}
	var r *fsm.Refusal
	if !errors.As(err, &r) {
		return fmt.Sprintf("%T (%v), want %v", err, err, want)
	}
	var d differences
	d.add("the code", want.Code, string(r.Code))
	if d != nil {
		return fmt.Sprintf("%s: %v; want %v", d.String(), err, want)
	}
	d.add("the machine", s.M.Name, r.Machine)
	d.add("the operation", want.Operation, r.Operation)
	d.add("the guard", want.Guard, r.Guard)
	if want.ID != "" { // of one of several
		d.add("the record", want.ID, r.ID)
	}
	var allowed []string
	for _, st := range s.M.States {
		if slices.Contains(want.Allowed, st.Name) {
			allowed = append(allowed, st.Name)
		}
	}
	d.add("the states that are allowed", strings.Join(allowed, ", "), r.Allowed)
	if r.State != "" && want.State != "" {
		d.add("the state", want.State, r.State)
	}
	switch {
	case want.Code == interp.CodeStale:
		d.add("the revision", want.Rev, r.Rev)
		d.add("the expected revision", want.Expected, r.Expected)
	case want.Code == interp.CodeInvalidInput:
		if r.Message == "" {
			d.note("it does not say what is wrong")
		}
		if op := s.M.Operation(want.Operation); op.Input(want.Name) != nil {
			d.add("the input", want.Name, r.Name)
		}
	case want.Code == interp.CodeGuard:
		if r.Message != "" {
			d.add("the message", want.Message, r.Message)
		}
	default:
		d.add("the name", want.Name, r.Name)
	}
	own := s.D.Errors[want.Sentinel]
	if own != nil && (!errors.Is(err, own) || r.ErrorName() != want.Sentinel) || own == nil && want.Code == interp.CodeGuard {
		d.note("it is not the machine's own error for %q: %v", want.Sentinel, err)
	}
	for name, other := range s.D.Errors {
		if name != want.Sentinel && other != own && errors.Is(err, other) {
			d.note("it is the error for %q: %v", name, err)
		}
	}
	return d.String()
}

// diffEvent compares one event of a log.
func (h *Harness[R]) diffEvent(want interp.Event, got fsm.Event) string {
	var d differences
	d.add("id", want.ID, got.ID)
	d.add("rev", want.Rev, got.Rev)
	d.add("n", want.N, got.N)
	d.add("operation", want.Op.Stored(), got.Operation)
	d.add("name", want.Op.StoredEvent(), got.Name)
	d.add("from", stored(want.From), got.From)
	d.add("to", stored(want.To), got.To)
	d.add("at", driver.Time(want.At), driver.Time(got.At))
	d.add("actor", want.Actor, got.Actor)
	d.add("reason", want.Reason, got.Reason)
	cause := ""
	if want.Cause != nil {
		cause = want.Cause.Stored()
	}
	d.add("cause", cause, got.Cause)
	if want.RequestID != "" || cause != "" { // else the engine may have made one
		d.add("request id", want.RequestID, got.RequestID)
	}
	switch {
	case want.RequestID != "" && !want.Machine:
		d.add("request n", int64(-1), got.RequestN)
	case want.Machine && got.RequestN < 0:
		d.note("request n is %d, want the index within the machine's request", got.RequestN)
	}
	d.add("version", h.M.Version, got.Version)
	d.add("guard", want.Guard, got.Guard)
	if !maps.Equal(want.Labels, got.Labels) {
		d.note("labels are %v, want %v", got.Labels, want.Labels)
	}
	if got.Sum != driver.Checksum(&got) {
		d.note("the checksum is wrong")
	}
	if wrong := diffInputs(want, got); wrong != "" {
		d.note("%s", wrong)
	}
	if want.N == 0 {
		var changes map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got.Changes.String()), &changes); err != nil {
			d.note("changes %s: %v", got.Changes, err)
		}
		var changed []string
		for _, c := range want.Changes {
			changed = append(changed, c.Field.Stored())
		}
		slices.Sort(changed)
		d.add("changed fields", strings.Join(changed, ", "), strings.Join(slices.Sorted(maps.Keys(changes)), ", "))
	}
	return d.String()
}

// diffInputs compares the inputs that an event holds.
func diffInputs(want interp.Event, got fsm.Event) string {
	var sent map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.Inputs.String()), &sent); err != nil && (len(want.Op.Inputs) > 0 || got.Inputs.String() != "") {
		return fmt.Sprintf("inputs %q: %v", got.Inputs, err)
	}
	var d differences
	for name := range sent {
		if want.Op.Input(name) == nil {
			d.note("it has an input %q", name)
		}
	}
	for _, in := range want.Op.Inputs {
		v, err := logged(in.Type, sent[in.Name])
		if err != nil {
			d.note("input %s: %v", in.Name, err)
		}
		d.add("input "+in.Name, want.Inputs[in.Name], v)
	}
	return d.String()
}

// SameLog compares one log. What is as it was when it was compared before is right still: a log
// only grows, in the world too. A record that was put there begins with an event of its own.
func (h *Harness[R]) SameLog(what, id string, events []fsm.Event) {
	h.T.Helper()
	if reflect.DeepEqual(events, h.Known[id]) && len(events) > 0 {
		return
	}
	if h.Known == nil {
		h.Known = map[string][]fsm.Event{}
	}
	h.Known[id] = events
	want, got := h.W.History(id), events
	if _, seeded := h.W.Begun[id]; seeded && len(got) > 0 && got[0].Operation == "seed" {
		got = got[1:]
	}
	if len(got) != len(want) {
		h.T.Errorf("%s: the log of %q has %d events, want %d", what, id, len(got), len(want))
		return
	}
	for i := range want {
		if d := h.diffEvent(want[i], got[i]); d != "" {
			h.T.Errorf("%s: event %d of %q: %s", what, i, id, d)
		}
	}
	r, err := h.S.D.Fold(events)
	if err != nil {
		h.T.Errorf("%s: fold of the log of %q: %v", what, id, err)
		return
	}
	if d := DiffRow(h.M, h.W.Records[id], h.S.D.Descriptor.Encode(&r)); d != "" {
		h.T.Errorf("%s: the log of %q folds to another record: %s", what, id, d)
	}
}

// pure makes a call by the pure method, on the record as the world has it.
func (h *Harness[R]) pure(what string, c interp.Call) {
	h.T.Helper()
	before, there := h.W.Records[c.ID]
	creates := len(c.Op.Creates) > 0
	if c = h.Timed(c); creates == there || !creates && c.ID == "" {
		return
	}
	var r R
	if creates {
		before = interp.NewRecord(h.M, c.ID)
	} else {
		var err error
		if r, err = h.S.D.Descriptor.Decode(Row(h.M, before)); err != nil {
			h.T.Errorf("%s: %s: %v", what, c.Op.Name, err)
			return
		}
	}
	accepted, refusal := interp.Accept(h.M, c)
	if refusal != nil {
		accepted = c
	}
	others := h.W.Others(h.M, before, accepted)
	want, refusal := interp.Decide(h.M, before, c, others)
	sent := Sent(c)
	sent.Peers = maps.Clone(others.Count)
	maps.Copy(sent.Peers, others.Next)
	event, err := h.S.D.Pure(&r, c.Op.Name, sent)
	problem := ""
	switch {
	case refusal != nil:
		problem = h.S.diffRefusal(refusal, err)
	case err != nil:
		problem = fmt.Sprintf("refused: %v", err)
	default:
		e := reflect.ValueOf(event)
		field := func(name string) any { return e.FieldByName(name).Interface() }
		got := fmt.Sprintf("%v to %v, recorded only %v %v", field("Name"), field("To"), field("RecordOnly"), field("Guard"))
		if told := fmt.Sprintf("%v to %v, recorded only %v %v", c.Op.StoredEvent(), nameOf(want.To), want.RecordOnly, want.Guard); got != told {
			problem = fmt.Sprintf("the event is %s, want %s; ", got, told)
		}
		problem += DiffRow(h.M, want.Record, h.S.D.Descriptor.Encode(&r))
	}
	if problem != "" {
		h.T.Errorf("%s: %s by the pure method: %s\n\tcall: %s", what, c.Op.Name, problem, shown(c))
	}
}
