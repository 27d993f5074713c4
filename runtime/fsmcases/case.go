package fsmcases

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Case is one call and what must come of it. Records, inputs and changes are JSON
// objects; a time is "@now", "@now+1h" or "@now-1µs".
type Case struct {
	In     string   // the state of the record; empty: there is none yet, or the machine chooses one
	Given  string   // what the record holds besides
	Beside []string // the other records, each as its id, its state and what it holds
	Do     string   // the operation
	With   string   // its inputs
	By     string   // the actor; empty: ann; "-": nobody; BySweep and ByStartup: a trigger
	Why    string   // the reason; empty: "asked"; "-": none
	At     string   // the time; empty: "@now"

	Want    string           // the event, or the refusal
	After   string           // what it changes
	Others  map[string]int64 // by guard: how many others the pure method is told of; by sequence: the next number
	Picks   string           // the id of the record that the machine chooses, or finds; of a refusal the one that refuses
	Then    []string         // the events that follow in the transaction, with what they change; of a refusal the step: "retry in failed"
	Effects []string         // what is performed: "send key", or "send in the transaction: key"; "send gives up"
	Later   []string         // the events that follow when the effects are delivered
	GivesUp string           // the effect that gives up when it is delivered, and its error: "send: no answer"
	Tries   int              // how often it fails until it gives up; 0: it gives up by itself, at once
	Again   []string         // "replayed" or "reused", and inputs: what the same request with these is
	NoStore bool             // only the pure method can be called so
}

// Who else makes a call.
const (
	BySweep   = "the sweep"
	ByStartup = "the startup"
)

// Check is a record, and the rules that it breaks: those with "should: " only should hold. With
// But it is the first one in its state but for that.
type Check struct{ In, Given, But, Broken string }

// Group is the records of one projected group, and what is made of them.
type Group struct {
	Records []string // each as its state and what it holds
	State   string
	Fields  string
}

// Derived is what is said of a projection besides.
type Derived struct{ Entity, Key, States, Moves string }

// casesNow is the time of a case.
var casesNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// caseID is the record of a case, in the texts that the generator writes.
const caseID = "m-1"

// Run runs all tests of one generated package. It stops behind the first kind of test that
// fails: one fault has many faces.
func (p Package[R]) Run(t *testing.T) {
	t.Helper()
	for _, kind := range []struct {
		name string
		test func(*testing.T)
	}{
		{"words", p.words}, {"moves", p.moves}, {"cases", p.pure}, {"limits", p.limits}, {"checks", p.checks},
		{"steps", p.steps}, {"groups", p.groups},
	} {
		if !t.Run(kind.name, kind.test) {
			return
		}
	}
	for _, st := range append([]Store{Memory}, p.Stores...) {
		if !t.Run(st.Name, func(t *testing.T) { p.over(t, st) }) {
			return
		}
	}
}

// state returns the stored word of a state; of "(recorded)" that itself, and nothing of "(new)".
func (p *Package[R]) state(name string) string {
	switch name {
	case "(new)":
		return ""
	case "(recorded)":
		return name
	}
	for _, s := range p.Descriptor.Schema.States {
		if s.Name == name {
			return s.Stored
		}
	}
	panic(fmt.Sprintf("fsmcases: the package has no state %q", name))
}

// row makes a record that was created an hour before the case.
func (p *Package[R]) row(id, state, given string) driver.Row {
	r := driver.Row{ID: id, State: p.state(state), Rev: 1, CreatedAt: casesNow.Add(-time.Hour)}
	r.UpdatedAt = r.CreatedAt
	p.blank(&r)
	p.put(&r, given)
	return r
}

// blank gives every column what it holds when nothing has set it.
func (p *Package[R]) blank(r *driver.Row) {
	r.Values = nil
	for _, c := range p.Descriptor.Schema.Columns {
		r.Values = append(r.Values, emptyValue(c))
	}
}

func emptyValue(c driver.Column) any {
	switch {
	case c.Optional:
		return nil
	case c.Kind == driver.KindSet:
		return "[]"
	case c.Kind == driver.KindCounter, c.Kind == driver.KindInt, c.Kind == driver.KindSequence:
		return int64(0)
	case c.Kind == driver.KindBool:
		return false
	}
	return nil
}

// decoded makes a record of a row; what nothing has set gets some value.
func (p *Package[R]) decoded(row driver.Row) (R, error) {
	row.Values = slices.Clone(row.Values)
	for i, c := range p.Descriptor.Schema.Columns {
		if row.Values[i] != nil || c.Optional {
			continue
		}
		switch c.Kind {
		case driver.KindEnum:
			row.Values[i] = c.Words[0]
		case driver.KindTime:
			row.Values[i] = casesNow
		case driver.KindJSON:
			row.Values[i] = "{}"
		default:
			row.Values[i] = "a"
		}
	}
	return p.Descriptor.Decode(row)
}

// column returns the column of a field.
func (p *Package[R]) column(name string) int {
	i := slices.IndexFunc(p.Descriptor.Schema.Columns, func(c driver.Column) bool { return c.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("fsmcases: the package has no field %q", name))
	}
	return i
}

// put changes what a text names of a record.
func (p *Package[R]) put(r *driver.Row, text string) {
	r.Values = slices.Clone(r.Values)
	for name, v := range object(text) {
		switch name {
		case "created_at":
			r.CreatedAt = v.time()
		case "updated_at":
			r.UpdatedAt = v.time()
		default:
			i := p.column(name)
			c := p.Descriptor.Schema.Columns[i]
			if r.Values[i] = v.value(c.Kind); r.Values[i] == nil {
				r.Values[i] = emptyValue(c)
			}
		}
	}
}

// call makes the call of a case.
func (c *Case) call(with string) Call {
	or := func(text, otherwise string) string {
		if text == "-" {
			return ""
		}
		return cmp.Or(text, otherwise)
	}
	call := Call{ID: caseID, Actor: or(c.By, "ann"), Reason: or(c.Why, "asked"), At: casesNow, Inputs: map[string]any{}, Peers: c.Others}
	if c.At != "" {
		call.At = raw(fmt.Sprintf("%q", c.At)).time()
	}
	for name, v := range object(with) {
		if v != "null" {
			call.Inputs[name] = v
		}
	}
	return call
}

// step is one event of a case and what it changes.
type step struct{ event, from, to, changes string }

// steps are the events that must come of a case; none where it is refused.
func (c *Case) steps() []step {
	if strings.HasPrefix(c.Want, "refused ") || c.Want == "" || c.Want == "existing" {
		return nil
	}
	list := []step{stepOf(c.Want + " " + c.After)}
	for _, text := range slices.Concat(c.Then, c.Later) {
		list = append(list, stepOf(text))
	}
	return list
}

func stepOf(text string) step {
	text, changes, there := strings.Cut(text, " {")
	if there {
		changes = "{" + changes
	}
	event, move, _ := strings.Cut(strings.TrimSpace(text), ": ")
	from, to, _ := strings.Cut(move, " -> ")
	if from == "(new)" {
		from = ""
	}
	return step{event, from, to, changes}
}

// recorded reports whether the step changes nothing.
func (s step) recorded() bool {
	return s.to == "(recorded)" || strings.HasPrefix(s.to, "(recorded) for ")
}

// rows are the records that follow, one for each step.
func (p *Package[R]) rows(before driver.Row, at time.Time, steps []step) []driver.Row {
	var list []driver.Row
	r := before
	for _, s := range steps {
		if !s.recorded() {
			if r.State == "" {
				p.blank(&r)
				r.CreatedAt = at
			}
			r.State, r.Rev = p.state(s.to), r.Rev+1
			if at.After(r.UpdatedAt) {
				r.UpdatedAt = at
			}
			p.put(&r, s.changes)
		}
		list = append(list, r)
	}
	return list
}

// refused tells a refusal in one line.
func refused(err error) string {
	var r *fsm.Refusal
	if !errors.As(err, &r) {
		return fmt.Sprintf("%T: %v", err, err)
	}
	text := "refused " + string(r.Code)
	switch r.Code {
	case fsm.ErrGuard:
		text += fmt.Sprintf(" %s (%s)", r.Guard, r.ErrorName())
		if r.Message != "" {
			text += ": " + r.Message
		}
	case fsm.ErrInvalidInput, fsm.ErrOverflow:
		text += " " + r.Name
		if r.Code == fsm.ErrInvalidInput && r.Message == "" {
			text += ", and does not say what is wrong"
		}
	case fsm.ErrNotUnique:
		text += " " + r.Name
		if r.Cause != nil {
			text += fmt.Sprintf(" (%s)", r.ErrorName())
		}
	case fsm.ErrWrongState, fsm.ErrTerminal:
		text += fmt.Sprintf(" (%s)", r.Allowed)
	}
	return text
}

// aside says what else is wrong with a refusal; empty for nothing.
func (p *Package[R]) aside(err error, operation, in, id string) string {
	var r *fsm.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	switch own := r.ErrorName(); {
	case r.Machine != p.Descriptor.Schema.Machine:
		return fmt.Sprintf("it is of machine %q", r.Machine)
	case r.Operation != operation:
		return fmt.Sprintf("it is of operation %q", r.Operation)
	case in != "" && r.ID != id && r.ID != "":
		return fmt.Sprintf("it is of record %q", r.ID)
	case in != "" && r.ID == "":
		return "it names no record"
	case r.State != in && !slices.Contains([]fsm.Code{fsm.ErrInvalidInput, fsm.ErrActorMissing, fsm.ErrReasonMissing, fsm.ErrExists}, r.Code):
		return fmt.Sprintf("it says that the state was %q", r.State)
	case r.Code == fsm.ErrGuard && !looks(r.Values, list(p.Told[r.Guard])):
		return fmt.Sprintf("it tells %q, want %s", r.Values, p.Told[r.Guard])
	case r.Code == fsm.ErrGuard && !errors.Is(err, p.Errors[own]):
		return fmt.Sprintf("it is not the package's own error %s", own)
	default:
		for name, other := range p.Errors {
			if name != own && other != p.Errors[own] && errors.Is(err, other) {
				return "it is the error " + name
			}
		}
	}
	return ""
}

// looks reports whether a refusal tells just the values of these names, in their order.
func looks(values string, names []string) bool {
	for i, name := range names {
		at := strings.Index(values, name+" ")
		if at < 0 || i == 0 && at > 0 || i > 0 && !strings.HasSuffix(values[:at], ", ") {
			return false
		}
		values = values[at+len(name):]
	}
	return len(names) > 0 || values == ""
}

// differ says in what two records differ, or "".
func (p *Package[R]) differ(want, got driver.Row) string {
	var list []string
	note := func(name string, want, got any) {
		if want != got {
			list = append(list, fmt.Sprintf("%s is %s, want %s", name, show(got), show(want)))
		}
	}
	note("id", want.ID, got.ID)
	note("state", want.State, got.State)
	note("rev", want.Rev, got.Rev)
	note("created_at", driver.Time(want.CreatedAt), got.CreatedAt)
	note("updated_at", driver.Time(want.UpdatedAt), got.UpdatedAt)
	for i, c := range p.Descriptor.Schema.Columns {
		note(c.Name, normal(want.Values[i]), got.Values[i])
	}
	return strings.Join(list, "; ")
}

// String is the case as the test file has it.
func (c *Case) String() string {
	var text string
	add := func(name, v string) {
		if v != "" {
			text += ", " + name + " " + v
		}
	}
	add("in", c.In)
	add("given", c.Given)
	add("beside", strings.Join(c.Beside, "; "))
	add("do", c.Do)
	add("with", c.With)
	add("by", c.By)
	add("why", c.Why)
	add("at", c.At)
	for _, name := range sortedKeys(c.Others) {
		add("others for "+name, fmt.Sprint(c.Others[name]))
	}
	return strings.TrimPrefix(text, ", ")
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
