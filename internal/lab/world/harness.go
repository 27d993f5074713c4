package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsmcases"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Harness runs calls on an opened machine and on the model beside it, and
// compares what both answer and what both hold.
type Harness[R any] struct {
	T     *testing.T
	S     *Suite[R]
	M     *Model
	Ctx   context.Context
	Store fsm.Store
	D     *Durable[R]
	W     *World
	Fx    *oracle.Effects
	Clock time.Time
	N     int // for request ids
	Note  func(Step[R])
	Known map[string][]fsm.Event // logs that were compared, as they were found then

	opts []fsm.Option // of each opening
}

// NewHarness opens the machine on an empty store.
func (s *Suite[R]) NewHarness(t *testing.T, st Store, opts ...fsm.Option) *Harness[R] {
	t.Helper()
	h := &Harness[R]{T: t, S: s, M: s.M, Ctx: t.Context(), Store: st.Open(t), W: newWorld(s.M), Clock: oracle.TheNow.Add(17 * time.Second)}
	h.W.now = func() time.Time { return h.Clock }
	h.Fx = &oracle.Effects{Sources: map[string]oracle.Call{}}
	for _, o := range s.M.Ops {
		h.Fx.Sources[o.Name] = oracle.Call{Inputs: s.M.sourceInputs(o)}
	}
	if err := s.D.Migrate(h.Ctx, h.Store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	h.opts = opts
	h.open()
	if h.D.Startup != nil { // finds nothing; Deliver asks for it
		if _, err := h.D.Startup(h.Ctx); err != nil {
			t.Fatalf("Startup of an empty store: %v", err)
		}
	}
	return h
}

// TracedHarness is NewHarness; what is done in it is part of a trace, if there is one.
func (s *Suite[R]) TracedHarness(t *testing.T, st Store) *Harness[R] {
	t.Helper()
	h := s.NewHarness(t, st)
	h.Note = s.Note
	h.traced(Step[R]{Kind: "walk"})
	return h
}

// open opens the machine, as a process does that starts.
func (h *Harness[R]) open() {
	h.T.Helper()
	opts := append([]fsm.Option{
		fsm.WithClock(func() time.Time { return fsmcases.AsSent(h.Clock) }), fsm.WithCallerTime(), fsm.WithBackoff(firstWait, longestWait),
		fsm.WithDelivery(time.Minute, 0), // one after the other: what is performed is compared in its order
	}, h.opts...)
	d, err := h.S.D.Open(h.Ctx, h.Store, h.Fx, opts...)
	if err != nil {
		h.T.Fatalf("Open: %v", err)
	}
	h.D = extended(d, h.S.Engine)
}

// RequestID returns a request id that was not used; none when the machine has none.
func (h *Harness[R]) RequestID() string {
	if h.M.RequestID == "none" {
		return ""
	}
	h.N++
	return fmt.Sprintf("request-%d", h.N)
}

// Timed is the call with the clock's time when it names none.
func (h *Harness[R]) Timed(c oracle.Call) oracle.Call {
	if c.At.IsZero() {
		c.At = h.Clock
	}
	return c
}

// Create makes a record in both and compares.
func (h *Harness[R]) Create(what string, o *oracle.Op, c oracle.Call) (fsm.Outcome[R], Expected) {
	h.T.Helper()
	want := h.W.Create(o, h.Timed(c))
	got, err := h.D.Do(h.Ctx, o.Name, nil, c)
	h.Compare(what, o, c, want, got, err)
	h.traced(Step[R]{Kind: "step", Operation: o.Name, At: fsm.Ref{ID: c.ID}, Call: h.Timed(c), Outcome: got, Err: err})
	return got, want
}

// Call runs an operation on a named record in both and compares.
func (h *Harness[R]) Call(what string, o *oracle.Op, at fsm.Target, c oracle.Call) (fsm.Outcome[R], Expected) {
	h.T.Helper()
	ref := at.Ref()
	ran := len(h.Fx.Done())
	want := h.W.Call(o, ref.ID, ref.Rev, h.Timed(c))
	got, err := h.D.Do(h.Ctx, o.Name, at, c)
	if err != nil {
		Settle(h.Fx, ran, 0) // a step of `then` that was refused took the effects before it along
	}
	h.Compare(what, o, c, want, got, err)
	h.traced(Step[R]{Kind: "step", Operation: o.Name, At: ref, Call: h.Timed(c), Outcome: got, Err: err})
	return got, want
}

// Compare looks at one answer.
func (h *Harness[R]) Compare(what string, o *oracle.Op, c oracle.Call, want Expected, got fsm.Outcome[R], err error) {
	h.T.Helper()
	if problem := h.diff(o, want, got, err); problem != "" {
		h.T.Errorf("%s: %s: %s\n\tcall: %s, request %q", what, o.Name, problem, c, c.RequestID)
	}
}

func (h *Harness[R]) diff(o *oracle.Op, want Expected, got fsm.Outcome[R], err error) string {
	if want.Code == fsm.ErrEffect {
		if !errors.Is(err, fsm.ErrEffect) || !errors.Is(err, fsmcases.ErrEffect) {
			return fmt.Sprintf("%v, want the effect's own error within a *fsm.EffectError", err)
		}
		return ""
	}
	if want.Code != "" {
		if err == nil {
			return fmt.Sprintf("was taken, want %s", h.M.ShowVerdict(want.Verdict))
		}
		var r *fsm.Refusal
		if !errors.As(err, &r) {
			return fmt.Sprintf("%T (%v), want a refusal with code %s", err, err, string(want.Code))
		}
		if want.Code == fsm.ErrStale && (r.Code == want.Code) && (r.Rev != want.stale[0] || r.Expected != want.stale[1]) {
			return fmt.Sprintf("stale at revision %d, expected %d; want %v", r.Rev, r.Expected, want.stale)
		}
		if want.step != nil {
			o = want.step
		}
		return h.M.DiffRefusal(o, "", driver.Row{}, want.Verdict, err, h.S.D.Errors)
	}
	if err != nil {
		return fmt.Sprintf("refused: %v", err)
	}
	var d oracle.Differences
	if wrong := h.M.DiffRows(want.row, h.S.D.Descriptor.Encode(&got.Record)); wrong != "" {
		d.Note("outcome: %s", wrong)
	}
	d.Add("Replayed", want.replayed, got.Replayed)
	d.Add("RecordOnly", want.recordOnly, got.RecordOnly)
	d.Add("Existing", want.Existing, got.Existing)
	d.Add("Current", want.current.Ref(), got.Current)
	d.Add("CurrentState", h.M.StateOf(want.current.State).Name, got.CurrentState)
	d.Add("as a target the outcome", want.row.Ref(), got.Ref())
	if want.Existing {
		return d.String()
	}
	d.Add("number of events", len(want.events), len(got.Events))
	for i := range min(len(want.events), len(got.Events)) {
		if wrong := h.M.diffLogged(want.events[i], got.Events[i]); wrong != "" {
			d.Note("event %d: %s", i, wrong)
		}
	}
	return d.String()
}

// diffLogged compares one event of a log.
func (m *Model) diffLogged(want Logged, got fsm.Event) string {
	var d oracle.Differences
	d.Add("id", want.ID, got.ID)
	d.Add("rev", want.Rev, got.Rev)
	d.Add("n", want.N, got.N)
	d.Add("operation", want.Operation, got.Operation)
	d.Add("name", want.Name, got.Name)
	d.Add("from", want.From, got.From)
	d.Add("to", want.To, got.To)
	d.Add("at", want.At, got.At)
	d.Add("actor", want.Actor, got.Actor)
	d.Add("reason", want.Reason, got.Reason)
	if want.RequestID != "" || want.Cause != "" {
		d.Add("request id", want.RequestID, got.RequestID)
	}
	if want.RequestID != "" && !want.machine {
		d.Add("request n", int64(-1), got.RequestN)
	} else if want.machine && got.RequestN < 0 && want.Operation != "seed" {
		d.Note("request n %d, want the index within the machine's request", got.RequestN)
	}
	d.Add("cause", want.Cause, got.Cause)
	version := m.Version
	if want.Operation == "seed" {
		version = 0 // made up: see Seed
	}
	d.Add("version", version, got.Version)
	d.Add("guard", want.Guard, got.Guard)
	for k, v := range want.Labels {
		d.Add("label "+k, v, got.Labels[k])
	}
	d.Add("number of labels", len(want.Labels), len(got.Labels))
	if got.Sum != driver.Checksum(&got) {
		d.Note("the checksum is wrong")
	}
	if want.Operation == "seed" {
		return d.String()
	}
	if wrong := m.diffInputs(want, got); wrong != "" {
		d.Note("%s", wrong)
	}
	if want.N == 0 {
		var changes map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got.Changes.String()), &changes); err != nil {
			d.Note("changes %s: %v", got.Changes, err)
		}
		w := slices.Clone(want.changed)
		slices.Sort(w)
		d.Add("changed fields", strings.Join(w, ", "), strings.Join(oracle.SortedKeys(changes), ", "))
	}
	return d.String()
}

// diffInputs compares the inputs that an event holds.
func (m *Model) diffInputs(want Logged, got fsm.Event) string {
	o := m.byStored(want.Operation)
	var sent map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.Inputs.String()), &sent); err != nil && (len(o.InputList) > 0 || got.Inputs.String() != "") {
		return fmt.Sprintf("inputs %q: %v", got.Inputs, err)
	}
	for name := range sent {
		if o.InputNamed(name) == nil {
			return fmt.Sprintf("the event has an input %q", name)
		}
	}
	for _, in := range o.InputList {
		v, err := inputValue(in, sent[in.Name])
		if err != nil || v != want.inputs[in.Name] {
			return fmt.Sprintf("input %s is logged as %s (%v), want %s", in.Name, sent[in.Name], err, oracle.Show(want.inputs[in.Name]))
		}
	}
	return ""
}

// inputValue reads a value of an event.
func inputValue(in *oracle.InputInfo, raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	switch in.Kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		var n int64
		err := json.Unmarshal(raw, &n)
		return n, err
	case driver.KindBool:
		var b bool
		err := json.Unmarshal(raw, &b)
		return b, err
	case driver.KindTime:
		var t time.Time
		err := json.Unmarshal(raw, &t)
		return driver.Time(t), err
	case driver.KindJSON:
		if string(raw) == `{"$json":null}` {
			return "null", nil
		}
		return string(raw), nil
	case driver.KindSet:
		return string(raw), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

func (m *Model) byStored(word string) *oracle.Op {
	for _, o := range m.Ops {
		if o.StoredName == word {
			return o
		}
	}
	return nil
}

// Same compares all that the store holds with all that the model holds: every
// record, every log, that every log folds to its record, and the effects.
func (h *Harness[R]) Same(what string) {
	h.T.Helper()
	table, err := h.Store.Table(h.S.D.Descriptor.Schema)
	if err != nil {
		h.T.Fatal(err)
	}
	err = table.View(h.Ctx, func(r driver.Reader) error {
		n := 0
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			n++
			want, ok := h.W.Rows[row.ID]
			if !ok {
				h.T.Errorf("%s: there is a record %q: %s", what, row.ID, h.M.ShowRow(row))
				continue
			}
			if d := h.M.DiffRows(want, normal(row)); d != "" {
				h.T.Errorf("%s: stored record %q: %s", what, row.ID, d)
			}
		}
		if n != len(h.W.Rows) {
			h.T.Errorf("%s: %d records are stored, want %d", what, n, len(h.W.Rows))
		}
		logs := h.W.Logs()
		for _, id := range oracle.SortedKeys(h.W.Rows) {
			var events []fsm.Event
			for e, err := range r.Events(id, 0) {
				if err != nil {
					return err
				}
				events = append(events, e)
			}
			h.SameLog(what, id, logs[id], events)
		}
		return nil
	})
	if err != nil {
		h.T.Errorf("%s: read the store: %v", what, err)
	}
	got := h.Fx.Done()
	if len(got) != len(h.W.performed) {
		h.T.Errorf("%s: %d effects were performed, want %d: %v", what, len(got), len(h.W.performed), got)
		return
	}
	for i, p := range h.W.performed {
		if got[i] != p {
			h.T.Errorf("%s: effect %d is %+v, want %+v", what, i, got[i], p)
		}
	}
}

// SameLog compares one log. What is as it was when it was compared before is right still:
// a log only grows, in the model too.
func (h *Harness[R]) SameLog(what, id string, want []*Logged, events []fsm.Event) {
	h.T.Helper()
	if len(events) != len(want) {
		h.T.Errorf("%s: the log of %q has %d events, want %d", what, id, len(events), len(want))
		return
	}
	if reflect.DeepEqual(events, h.Known[id]) {
		return
	}
	if h.Known == nil {
		h.Known = map[string][]fsm.Event{}
	}
	h.Known[id] = events
	for i := range want {
		if d := h.M.diffLogged(*want[i], events[i]); d != "" {
			h.T.Errorf("%s: event %d of %q: %s", what, i, id, d)
		}
	}
	r, err := h.S.D.Fold(events)
	if err != nil {
		h.T.Errorf("%s: fold of the log of %q: %v", what, id, err)
		return
	}
	if d := h.M.DiffRows(h.W.Rows[id], h.S.D.Descriptor.Encode(&r)); d != "" {
		h.T.Errorf("%s: the log of %q folds to another record: %s", what, id, d)
	}
}

// normal brings the times of a row into the form that compares with ==.
func normal(r driver.Row) driver.Row {
	r.CreatedAt, r.UpdatedAt = driver.Time(r.CreatedAt), driver.Time(r.UpdatedAt)
	r.Values = slices.Clone(r.Values)
	for i, v := range r.Values {
		if t, ok := v.(time.Time); ok {
			r.Values[i] = driver.Time(t)
		}
	}
	return r
}

// Settle forgets what was performed in transactions that were rolled back before
// the last one: of everything after the first before, the last n remain.
func Settle(x *oracle.Effects, before, n int) {
	x.Mu.Lock()
	defer x.Mu.Unlock()
	since := x.Performed[before:]
	for _, p := range since[:max(0, len(since)-n)] {
		if !p.InTx {
			return // that cannot be taken back
		}
	}
	x.Performed = append(x.Performed[:before:before], since[max(0, len(since)-n):]...)
}
