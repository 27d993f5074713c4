package fsmtest

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

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// harness runs calls on an opened machine and on the model beside it, and
// compares what both answer and what both hold.
type harness[R any] struct {
	t     *testing.T
	s     *suite[R]
	m     *model
	ctx   context.Context
	store fsm.Store
	d     *Durable[R]
	w     *world
	fx    *Effects
	clock time.Time
	n     int // for request ids
	note  func(TraceLine)
	known map[string][]fsm.Event // logs that were compared, as they were found then
}

// newHarness opens the machine on an empty store.
func (s *suite[R]) newHarness(t *testing.T, st Store, opts ...fsm.Option) *harness[R] {
	t.Helper()
	h := &harness[R]{t: t, s: s, m: s.m, ctx: t.Context(), store: st.Open(t), w: newWorld(s.m), clock: theNow.Add(17 * time.Second)}
	h.w.now = func() time.Time { return h.clock }
	h.fx = &Effects{sources: map[string]Call{}}
	for _, o := range s.m.operations {
		h.fx.sources[o.Name] = Call{Inputs: s.m.sourceInputs(o)}
	}
	if err := s.d.Migrate(h.ctx, h.store); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	h.open(opts...)
	if h.d.Startup != nil { // finds nothing; Deliver asks for it
		if _, err := h.d.Startup(h.ctx); err != nil {
			t.Fatalf("Startup of an empty store: %v", err)
		}
	}
	return h
}

// tracedHarness is newHarness; what is done in it is part of a trace, if there is one.
func (s *suite[R]) tracedHarness(t *testing.T, st Store) *harness[R] {
	t.Helper()
	h := s.newHarness(t, st)
	h.note = s.note
	h.traced(TraceLine{Kind: "walk"}, Call{}, fsm.Outcome[R]{}, nil)
	return h
}

// open opens the machine.
func (h *harness[R]) open(opts ...fsm.Option) {
	h.t.Helper()
	opts = append([]fsm.Option{
		fsm.WithClock(func() time.Time { return asSent(h.clock) }), fsm.WithCallerTime(), fsm.WithBackoff(firstWait, longestWait),
		fsm.WithDelivery(time.Minute, 1), // one after the other: what is performed is compared in its order
	}, opts...)
	d, err := h.s.d.Open(h.ctx, h.store, h.fx, opts...)
	if err != nil {
		h.t.Fatalf("Open: %v", err)
	}
	h.d = d
}

// seed puts records into store and model. They have revision 1.
func (h *harness[R]) seed(rows ...driver.Row) {
	h.t.Helper()
	if err := Seed(h.ctx, h.store, h.s.d.Descriptor.Schema, rows...); err != nil {
		h.t.Fatal(err)
	}
	for _, r := range rows {
		r.Rev = 1
		h.w.seed(r)
		if h.note != nil {
			h.note(TraceLine{Kind: "seed", Row: traceRow(r)})
		}
	}
}

// requestID returns a request id that was not used; none when the machine has none.
func (h *harness[R]) requestID() string {
	if h.m.RequestID == "none" {
		return ""
	}
	h.n++
	return fmt.Sprintf("request-%d", h.n)
}

// timed is the call with the clock's time when it names none.
func (h *harness[R]) timed(c Call) Call {
	if c.At.IsZero() {
		c.At = h.clock
	}
	return c
}

// create makes a record in both and compares.
func (h *harness[R]) create(what string, o *operation, c Call) (fsm.Outcome[R], expected) {
	h.t.Helper()
	want := h.w.create(o, h.timed(c))
	got, err := h.d.Operations[o.Name].Do(h.ctx, nil, c)
	h.compare(what, o, c, want, got, err)
	h.traced(TraceLine{Kind: "step", Operation: o.Name, At: fsm.Ref{ID: c.ID}}, h.timed(c), got, err)
	return got, want
}

// call runs an operation on a named record in both and compares.
func (h *harness[R]) call(what string, o *operation, at fsm.Target, c Call) (fsm.Outcome[R], expected) {
	h.t.Helper()
	ref := at.Ref()
	ran := len(h.fx.done())
	want := h.w.call(o, ref.ID, ref.Rev, h.timed(c))
	got, err := h.d.Operations[o.Name].Do(h.ctx, at, c)
	if err != nil {
		h.fx.settle(ran, 0) // a step of `then` that was refused took the effects before it along
	}
	h.compare(what, o, c, want, got, err)
	h.traced(TraceLine{Kind: "step", Operation: o.Name, At: ref}, h.timed(c), got, err)
	return got, want
}

// compare looks at one answer.
func (h *harness[R]) compare(what string, o *operation, c Call, want expected, got fsm.Outcome[R], err error) {
	h.t.Helper()
	if problem := h.diff(o, want, got, err); problem != "" {
		h.t.Errorf("%s: %s: %s\n\tcall: %s, request %q", what, o.Name, problem, c, c.RequestID)
	}
}

func (h *harness[R]) diff(o *operation, want expected, got fsm.Outcome[R], err error) string {
	if want.code == fsm.ErrEffect {
		if !errors.Is(err, fsm.ErrEffect) || !errors.Is(err, ErrEffect) {
			return fmt.Sprintf("%v, want the effect's own error within a *fsm.EffectError", err)
		}
		return ""
	}
	if want.code != "" {
		if err == nil {
			return fmt.Sprintf("was taken, want %s", h.m.showVerdict(want.verdict))
		}
		var r *fsm.Refusal
		if !errors.As(err, &r) {
			return fmt.Sprintf("%T (%v), want a refusal with code %s", err, err, string(want.code))
		}
		if want.code == fsm.ErrStale && (r.Code == want.code) && (r.Rev != want.stale[0] || r.Expected != want.stale[1]) {
			return fmt.Sprintf("stale at revision %d, expected %d; want %v", r.Rev, r.Expected, want.stale)
		}
		if want.step != nil {
			o = want.step
		}
		return h.m.diffRefusal(o, "", driver.Row{}, want.verdict, err, h.s.d.Errors)
	}
	if err != nil {
		return fmt.Sprintf("refused: %v", err)
	}
	var list []string
	if d := h.m.diffRows(want.row, h.s.d.Descriptor.Encode(&got.Record)); d != "" {
		list = append(list, "outcome: "+d)
	}
	flag := func(name string, want, got bool) {
		if want != got {
			list = append(list, fmt.Sprintf("%s is %t", name, got))
		}
	}
	flag("Replayed", want.replayed, got.Replayed)
	flag("RecordOnly", want.recordOnly, got.RecordOnly)
	flag("Existing", want.existing, got.Existing)
	if w := want.current.Ref(); got.Current != w {
		list = append(list, fmt.Sprintf("Current is %v, want %v", got.Current, w))
	}
	if w := h.m.stateOf(want.current.State).Name; got.CurrentState != w {
		list = append(list, fmt.Sprintf("CurrentState is %q, want %q", got.CurrentState, w))
	}
	if got.Ref() != want.row.Ref() {
		list = append(list, fmt.Sprintf("as a target the outcome is %v, want %v", got.Ref(), want.row.Ref()))
	}
	if want.existing {
		return strings.Join(list, "; ")
	}
	if len(got.Events) != len(want.events) {
		list = append(list, fmt.Sprintf("%d events, want %d", len(got.Events), len(want.events)))
	} else {
		for i := range want.events {
			if d := h.m.diffLogged(want.events[i], got.Events[i]); d != "" {
				list = append(list, fmt.Sprintf("event %d: %s", i, d))
			}
		}
	}
	return strings.Join(list, "; ")
}

// diffLogged compares one event of a log.
func (m *model) diffLogged(want logged, got fsm.Event) string {
	var list []string
	add := func(name string, want, got any) {
		if want != got {
			list = append(list, fmt.Sprintf("%s %v, want %v", name, show(got), show(want)))
		}
	}
	add("id", want.ID, got.ID)
	add("rev", want.Rev, got.Rev)
	add("n", want.N, got.N)
	add("operation", want.Operation, got.Operation)
	add("name", want.Name, got.Name)
	add("from", want.From, got.From)
	add("to", want.To, got.To)
	add("at", want.At, got.At)
	add("actor", want.Actor, got.Actor)
	add("reason", want.Reason, got.Reason)
	if want.RequestID != "" || want.Cause != "" {
		add("request id", want.RequestID, got.RequestID)
	}
	if want.RequestID != "" && !want.machine {
		add("request n", int64(-1), got.RequestN)
	} else if want.machine && got.RequestN < 0 && want.Operation != "seed" {
		list = append(list, fmt.Sprintf("request n %d, want the index within the machine's request", got.RequestN))
	}
	add("cause", want.Cause, got.Cause)
	version := m.Version
	if want.Operation == "seed" {
		version = 0 // made up: see Seed
	}
	add("version", version, got.Version)
	add("guard", want.Guard, got.Guard)
	for k, v := range want.Labels {
		add("label "+k, v, got.Labels[k])
	}
	add("number of labels", len(want.Labels), len(got.Labels))
	if got.Sum != driver.Checksum(&got) {
		list = append(list, "the checksum is wrong")
	}
	if want.Operation == "seed" {
		return strings.Join(list, "; ")
	}
	if d := m.diffInputs(want, got); d != "" {
		list = append(list, d)
	}
	if want.N == 0 {
		var changes map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got.Changes.String()), &changes); err != nil {
			list = append(list, fmt.Sprintf("changes %s: %v", got.Changes, err))
		}
		w := slices.Clone(want.changed)
		slices.Sort(w)
		add("changed fields", strings.Join(w, ", "), strings.Join(sortedKeys(changes), ", "))
	}
	return strings.Join(list, "; ")
}

// diffInputs compares the inputs that an event holds.
func (m *model) diffInputs(want logged, got fsm.Event) string {
	o := m.byStored(want.Operation)
	var sent map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.Inputs.String()), &sent); err != nil && (len(o.inputs) > 0 || got.Inputs.String() != "") {
		return fmt.Sprintf("inputs %q: %v", got.Inputs, err)
	}
	for name := range sent {
		if o.input(name) == nil {
			return fmt.Sprintf("the event has an input %q", name)
		}
	}
	for _, in := range o.inputs {
		v, err := inputValue(in, sent[in.Name])
		if err != nil || v != want.inputs[in.Name] {
			return fmt.Sprintf("input %s is logged as %s (%v), want %s", in.Name, sent[in.Name], err, show(want.inputs[in.Name]))
		}
	}
	return ""
}

// inputValue reads a value of an event.
func inputValue(in *input, raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	switch in.kind {
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

func (m *model) byStored(word string) *operation {
	for _, o := range m.operations {
		if o.stored == word {
			return o
		}
	}
	return nil
}

// same compares all that the store holds with all that the model holds: every
// record, every log, that every log folds to its record, and the effects.
func (h *harness[R]) same(what string) {
	h.t.Helper()
	table, err := h.store.Table(h.s.d.Descriptor.Schema)
	if err != nil {
		h.t.Fatal(err)
	}
	err = table.View(h.ctx, func(r driver.Reader) error {
		n := 0
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			n++
			want, ok := h.w.rows[row.ID]
			if !ok {
				h.t.Errorf("%s: there is a record %q: %s", what, row.ID, h.m.showRow(row))
				continue
			}
			if d := h.m.diffRows(want, normal(row)); d != "" {
				h.t.Errorf("%s: stored record %q: %s", what, row.ID, d)
			}
		}
		if n != len(h.w.rows) {
			h.t.Errorf("%s: %d records are stored, want %d", what, n, len(h.w.rows))
		}
		logs := h.w.logs()
		for _, id := range sortedKeys(h.w.rows) {
			var events []fsm.Event
			for e, err := range r.Events(id, 0) {
				if err != nil {
					return err
				}
				events = append(events, e)
			}
			h.sameLog(what, id, logs[id], events)
		}
		return nil
	})
	if err != nil {
		h.t.Errorf("%s: read the store: %v", what, err)
	}
	got := h.fx.done()
	if len(got) != len(h.w.performed) {
		h.t.Errorf("%s: %d effects were performed, want %d: %v", what, len(got), len(h.w.performed), got)
		return
	}
	for i, p := range h.w.performed {
		if got[i] != p {
			h.t.Errorf("%s: effect %d is %+v, want %+v", what, i, got[i], p)
		}
	}
}

// sameLog compares one log. What is as it was when it was compared before is right still:
// a log only grows, in the model too.
func (h *harness[R]) sameLog(what, id string, want []*logged, events []fsm.Event) {
	h.t.Helper()
	if len(events) != len(want) {
		h.t.Errorf("%s: the log of %q has %d events, want %d", what, id, len(events), len(want))
		return
	}
	if reflect.DeepEqual(events, h.known[id]) {
		return
	}
	if h.known == nil {
		h.known = map[string][]fsm.Event{}
	}
	h.known[id] = events
	for i := range want {
		if d := h.m.diffLogged(*want[i], events[i]); d != "" {
			h.t.Errorf("%s: event %d of %q: %s", what, i, id, d)
		}
	}
	r, err := h.s.d.Fold(events)
	if err != nil {
		h.t.Errorf("%s: fold of the log of %q: %v", what, id, err)
		return
	}
	if d := h.m.diffRows(h.w.rows[id], h.s.d.Descriptor.Encode(&r)); d != "" {
		h.t.Errorf("%s: the log of %q folds to another record: %s", what, id, d)
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
