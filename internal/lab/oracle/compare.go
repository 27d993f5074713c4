package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Differences says in what two things differ: in words, and value by value.
type Differences struct{ notes, values []string }

// Add notes a value that differs, under a name.
func (d *Differences) Add(name string, want, got any) {
	if want != got {
		d.values = append(d.values, fmt.Sprintf("\n\t\t- %s: %s\n\t\t+ %s: %s", name, Show(want), name, Show(got)))
	}
}

// Note notes a difference in words.
func (d *Differences) Note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// String is empty where nothing differs.
func (d *Differences) String() string {
	list := d.notes
	if len(d.values) > 0 {
		list = append(list[:len(list):len(list)], "differs (-want +got):"+strings.Join(d.values, ""))
	}
	return strings.Join(list, "; ")
}

// DiffRows says in what two records differ, or "".
func (m *Model) DiffRows(want, got driver.Row) string {
	var d Differences
	d.Add("id", want.ID, got.ID)
	d.Add("state", want.State, got.State)
	d.Add("rev", want.Rev, got.Rev)
	d.Add("created_at", want.CreatedAt, got.CreatedAt)
	d.Add("updated_at", want.UpdatedAt, got.UpdatedAt)
	d.Add("number of values", len(want.Values), len(got.Values))
	for i := range min(len(m.Order), len(want.Values), len(got.Values)) {
		d.Add(m.Order[i], want.Values[i], got.Values[i])
	}
	return d.String()
}

// diffEvent says in what a pure method's event is wrong, or "".
func (m *Model) diffEvent(o *Op, before driver.Row, v Verdict, got Event) string {
	want := Event{
		Name: o.EventName, To: m.StateOf(v.Row.State).Name, RecordOnly: v.RecordOnly, Guard: v.Kept,
	}
	if s := m.StateOf(before.State); s != nil {
		want.From = s.Name
	}
	if got != want {
		return fmt.Sprintf("event %+v, want %+v", got, want)
	}
	return ""
}

// DiffRefusal says in what a refusal is wrong, or "". An empty id is not compared.
func (m *Model) DiffRefusal(o *Op, id string, before driver.Row, v Verdict, err error, sentinels map[string]error) string {
	var r *fsm.Refusal
	if !errors.As(err, &r) {
		return fmt.Sprintf("%T (%v), want a refusal with code %s", err, err, string(v.Code))
	}
	var d Differences
	d.Add("code", string(v.Code), string(r.Code))
	if r.Code != v.Code {
		return d.String() + ": " + err.Error()
	}
	d.Add("machine", m.Machine, r.Machine)
	d.Add("operation", o.Name, r.Operation)
	if id != "" {
		d.Add("id", id, r.ID)
	}
	switch {
	case v.Code == fsm.ErrGuard:
		message := "" // a branch has its error's words only
		if g := m.guards[v.guard]; g != nil {
			message = g.Message
		}
		d.Add("message", message, r.Message)
	case v.Code == fsm.ErrInvalidInput && r.Message == "":
		d.Note("does not say what is wrong with the input")
	}
	d.Add("guard", v.guard, r.Guard)
	d.Add("allowed", strings.Join(v.allowed, ", "), r.Allowed)
	if s := m.StateOf(before.State); s != nil {
		d.Add("state", s.Name, r.State)
	}
	if len(v.Names) > 0 && !slices.Contains(v.Names, r.Name) && !slices.Contains(v.Names, firstWord(r.Name)) {
		d.Note("names %q, want one of %q", r.Name, v.Names)
	}
	if v.Error != "" {
		if own := sentinels[v.Error]; own == nil || !errors.Is(err, own) {
			d.Note("is not the machine's own sentinel for %q: %v", v.Error, err)
		}
		d.Add("error's name", v.Error, r.ErrorName())
	}
	for name, own := range sentinels {
		if name != v.Error && errors.Is(err, own) && !(sentinels[v.Error] == own) {
			d.Note("is the sentinel for %q: %v", name, err)
		}
	}
	return d.String()
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// Shown is how many failures of a part are printed.
const Shown = 2

// reporter prints the first few failures of a part, and how many there were.
type reporter struct {
	Sink
	failed int
}

// Errorf notes a failure.
func (r *reporter) Errorf(format string, args ...any) {
	if r.failed++; r.failed <= Shown {
		r.Sink.Errorf(format, args...)
	}
}

func (r *reporter) done() {
	if r.failed > Shown {
		r.Sink.Errorf("... and %d more cases", r.failed-Shown)
	}
}
