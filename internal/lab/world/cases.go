package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// Noon is the time of the cases of generated tests.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Case is one call of a generated test, and the record that it is made on.
type Case struct {
	Record  interp.Record // in no state where one is made or picked
	Call    interp.Call
	Others  interp.Others // what the pure method is told
	Beside  []interp.Record
	Trigger bool // the machine itself makes the call
	NoStore bool // only the pure method can be called so
}

// Cases are what the tests of a package name: its calls, and records in each state.
type Cases struct {
	M       *spec.Machine
	List    []Case
	records map[*spec.State][]interp.Record // one that is whole comes first
}

// ReadCases reads the cases of a package.
func ReadCases(m *spec.Machine, cases []fsmcases.Case, checks []fsmcases.Check) (*Cases, error) {
	k := &Cases{M: m, records: map[*spec.State][]interp.Record{}}
	var whole interp.Record
	var near []interp.Record
	for _, x := range checks {
		base := blank(m, m.State(x.In))
		if x.But != "" {
			base = whole
		}
		r, err := given(m, base, cmp.Or(x.But, x.Given))
		if err != nil {
			return nil, fmt.Errorf("a record in %s: %w", x.In, err)
		}
		if near = append(near, r); x.But == "" {
			whole, near = r, near[:len(near)-1]
			k.add(r)
		}
	}
	for i, x := range cases {
		c, err := k.read(x)
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", i, err)
		}
		k.List = append(k.List, c)
		for _, r := range append([]interp.Record{c.Record}, c.Beside...) {
			k.add(r)
		}
	}
	for _, r := range near {
		k.add(r)
	}
	return k, nil
}

// add keeps a record that is not known yet.
func (k *Cases) add(r interp.Record) {
	r.ID, r.Rev = recordID, 1
	if list := k.records[r.State]; r.State != nil && !slices.ContainsFunc(list, r.Equal) {
		k.records[r.State] = append(list, r)
	}
}

// recordID is the id of a record that nobody has named.
const recordID = "record-1"

// blank is a record in a state that holds nothing.
func blank(m *spec.Machine, st *spec.State) interp.Record {
	r := interp.NewRecord(m, recordID).In(st)
	r.Rev, r.CreatedAt, r.UpdatedAt = 1, Noon.Add(-time.Hour), Noon.Add(-time.Hour)
	return r.WithAll(m, func(f *spec.Field) interp.Value {
		switch {
		case f.Type.Optional:
		case f.Type.Kind == spec.KindInt, f.Type.Kind == spec.KindSequence:
			return interp.Int(0)
		case f.Type.Kind == spec.KindDuration:
			return interp.Span(0)
		case f.Type.Kind == spec.KindBool:
			return interp.Bool(false)
		}
		return interp.Absent
	})
}

// given changes what a text names of a record.
func given(m *spec.Machine, r interp.Record, text string) (interp.Record, error) {
	data, err := object(text)
	for name, raw := range data {
		f := m.Field(name)
		if f == nil {
			return r, fmt.Errorf("the machine has no field %q", name)
		}
		v, e := said(f.Type, raw)
		if e != nil {
			return r, fmt.Errorf("field %s: %w", name, e)
		}
		switch {
		case !f.Builtin:
			r = r.With(m, name, v)
		case name == "created_at":
			r.CreatedAt = v.AsTime()
		default:
			r.UpdatedAt = v.AsTime()
		}
	}
	return r, err
}

func object(text string) (data map[string]json.RawMessage, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &data)
	}
	return data, err
}

// said reads a value of a case: a text that begins with @ is a time, and has one @ more when
// it is none.
func said(t spec.Type, raw json.RawMessage) (interp.Value, error) {
	text, isText := strings.CutPrefix(string(raw), `"@`)
	switch {
	case string(raw) == "null":
		return interp.Absent, nil
	case !isText || t.Kind == spec.KindJSON:
		return read(t, raw)
	case t.Kind == spec.KindTime:
		at, err := instant(strings.TrimSuffix(text, `"`))
		return interp.Time(at), err
	}
	return read(t, json.RawMessage(`"`+text))
}

// instant reads "now", "now+1h", "zero" and an instant in RFC 3339.
func instant(text string) (time.Time, error) {
	from, ok := strings.CutPrefix(text, "now")
	switch {
	case text == "zero":
		return time.Time{}, nil
	case !ok:
		return time.Parse(time.RFC3339Nano, text)
	case from == "":
		return Noon, nil
	}
	d, err := time.ParseDuration(from)
	return Noon.Add(d), err
}

// read reads one case.
func (k *Cases) read(x fsmcases.Case) (Case, error) {
	m := k.M
	c := Case{Record: interp.NewRecord(m, recordID), Trigger: x.By == fsmcases.BySweep || x.By == fsmcases.ByStartup, NoStore: x.NoStore}
	op := m.Operation(x.Do)
	if op == nil {
		return c, fmt.Errorf("the machine has no operation %q", x.Do)
	}
	var err error
	if x.In != "" {
		if c.Record, err = given(m, blank(m, m.State(x.In)), x.Given); err != nil {
			return c, err
		}
	}
	for _, text := range x.Beside {
		id, rest, _ := strings.Cut(text, " ")
		state, holds, _ := strings.Cut(rest, " ")
		r, err := given(m, blank(m, m.State(state)), holds)
		if err != nil {
			return c, err
		}
		r.ID = id
		c.Beside = append(c.Beside, r)
	}
	or := func(text, otherwise string) string {
		if text == "-" {
			return ""
		}
		return cmp.Or(text, otherwise)
	}
	c.Call = interp.Call{Op: op, Actor: or(x.By, "ann"), Reason: or(x.Why, "asked"), At: Noon, Inputs: map[string]interp.Value{}}
	if op.By == spec.BySystem || c.Trigger {
		c.Call.Actor = ""
	}
	if x.At != "" {
		if c.Call.At, err = instant(strings.TrimPrefix(x.At, "@")); err != nil {
			return c, err
		}
	}
	data, err := object(x.With)
	for name, raw := range data {
		in := op.Input(name)
		if in == nil {
			return c, fmt.Errorf("%s has no input %q", op.Name, name)
		}
		if c.Call.Inputs[name], err = said(in.Type, raw); err != nil {
			return c, err
		}
	}
	c.Others = interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	for name, n := range x.Others {
		c.Others.Count[name], c.Others.Next[name] = n, n
	}
	return c, err
}

// Calls lists the calls of an operation.
func (k *Cases) Calls(op *spec.Operation) (list []interp.Call) {
	for _, c := range k.List {
		if c.Call.Op == op {
			list = append(list, c.Call)
		}
	}
	return list
}

// Ways lists the calls on a record in a state, one for each way to decide them where there are no
// other records; nil is the state of a creation.
func (k *Cases) Ways(op *spec.Operation, st *spec.State) (list []Case) {
	for _, c := range k.List {
		if c.Call.Op == op && c.Record.State == st && !c.NoStore && !c.Trigger && c.Beside == nil && (st != nil || len(op.Creates) > 0) {
			list = append(list, c)
		}
	}
	return list
}

// Good is a call in a state that moves the record, where there are no others.
func (k *Cases) Good(op *spec.Operation, st *spec.State) (Case, bool) {
	for _, c := range k.Ways(op, st) {
		if _, ok := Moved(k.M, c); ok {
			return c, true
		}
	}
	return Case{}, false
}

// Moved is what a call makes of its record where there are no others; false where it moves nothing.
func Moved(m *spec.Machine, c Case) (interp.Outcome, bool) {
	w := interp.World{}
	if c.Call.ID = recordID; c.Record.State != nil {
		c.Record.ID, c.Record.Rev = recordID, 1
		w = w.With(c.Record)
		c.Call.ExpectedRev = 1
	}
	if c.Call.Op.By != spec.BySystem && m.RequestID != spec.None {
		c.Call.RequestID = "request"
	}
	out, _, refusal := interp.Step(m, w, c.Call)
	return out, refusal == nil && !out.RecordOnly
}

// GoodAlone is a call of an operation that moves a record, in whatever state.
func (k *Cases) GoodAlone(op *spec.Operation) (Case, bool) {
	for _, st := range Starts(k.M, op) {
		if c, ok := k.Good(op, st); ok {
			return c, true
		}
	}
	return Case{}, false
}

// Starts are the states out of which an operation has a step; nil for a creation.
func Starts(m *spec.Machine, op *spec.Operation) []*spec.State {
	if len(op.Creates) > 0 {
		return []*spec.State{nil}
	}
	var list []*spec.State
	for i, class := range m.Row(op) {
		if class == spec.Transition {
			list = append(list, m.States[i])
		}
	}
	return list
}

// Whole is a record in a state that breaks no rule.
func (k *Cases) Whole(st *spec.State) (interp.Record, bool) {
	i := slices.IndexFunc(k.records[st], func(r interp.Record) bool { return len(interp.Check(k.M, r)) == 0 })
	if i < 0 {
		return interp.Record{}, false
	}
	return k.records[st][i], true
}

// Sound lists records in a state that break no rule that must hold.
func (k *Cases) Sound(st *spec.State) []interp.Record { return k.those(st, true) }

// Broken lists records in a state that break one.
func (k *Cases) Broken(st *spec.State) []interp.Record { return k.those(st, false) }

func (k *Cases) those(st *spec.State, sound bool) []interp.Record {
	var list []interp.Record
	for _, r := range k.records[st] {
		if MustHold(k.M, r) == sound {
			list = append(list, r)
		}
	}
	return list
}

// MustHold reports whether a record breaks no rule that must hold.
func MustHold(m *spec.Machine, r interp.Record) bool {
	return !slices.ContainsFunc(interp.Check(m, r), func(v interp.Violation) bool { return v.Must })
}

// Values lists the values that some record has in a field, and one that is not.
func (k *Cases) Values(f *spec.Field) (list []interp.Value) {
	add := func(v interp.Value) {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	for _, st := range k.M.States {
		for _, r := range k.records[st] {
			add(r.Value(k.M, f))
		}
	}
	for _, v := range slices.Clone(list) {
		if v.Kind != interp.KindAbsent {
			add(Another(f.Type, v))
		}
	}
	return list
}

// fired is the call that a trigger of an operation makes: its inputs are those of a case.
func (k *Cases) fired(op *spec.Operation) interp.Call {
	for _, c := range k.List {
		if _, refusal := interp.Accept(k.M, c.Call); c.Call.Op == op && len(op.Triggers) > 0 && (c.Trigger || refusal == nil) {
			return c.Call
		}
	}
	return interp.Call{Op: op}
}
