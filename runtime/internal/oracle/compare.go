package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// differences says in what two things differ.
type differences []string

func (d *differences) add(name string, want, got any) {
	if want != got {
		d.note("%s is %s, want %s", name, Show(got), Show(want))
	}
}

func (d *differences) note(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

func (d differences) String() string { return strings.Join(d, "; ") }

// DiffRows says in what two records differ, or "".
func (m *Model) DiffRows(want, got driver.Row) string {
	var d differences
	d.add("id", want.ID, got.ID)
	d.add("state", want.State, got.State)
	d.add("rev", want.Rev, got.Rev)
	d.add("created_at", want.CreatedAt, got.CreatedAt)
	d.add("updated_at", want.UpdatedAt, got.UpdatedAt)
	d.add("number of values", len(want.Values), len(got.Values))
	for i := range min(len(m.Order), len(want.Values), len(got.Values)) {
		d.add(m.Order[i], want.Values[i], got.Values[i])
	}
	return d.String()
}

// diffEvent says in what a pure method's event is wrong, or "".
func (m *Model) diffEvent(o *Op, before driver.Row, v Verdict, got Event) string {
	want := Event{
		Name: o.EventName, To: m.StateOf(v.Row.State).Name, RecordOnly: v.recordOnly, Guard: v.kept,
	}
	if s := m.StateOf(before.State); s != nil {
		want.From = s.Name
	}
	if got != want {
		return fmt.Sprintf("event %+v, want %+v", got, want)
	}
	return ""
}

// diffRefusal says in what a refusal is wrong, or "". An empty id is not compared.
func (m *Model) diffRefusal(o *Op, id string, before driver.Row, v Verdict, err error, sentinels map[string]error) string {
	var r *fsm.Refusal
	if !errors.As(err, &r) {
		return fmt.Sprintf("%T (%v), want a refusal with code %s", err, err, string(v.Code))
	}
	var d differences
	d.add("code", string(v.Code), string(r.Code))
	if r.Code != v.Code {
		return d.String() + ": " + err.Error()
	}
	d.add("machine", m.Machine, r.Machine)
	d.add("operation", o.Name, r.Operation)
	if id != "" {
		d.add("id", id, r.ID)
	}
	switch {
	case v.Code == fsm.ErrGuard:
		message := "" // a branch has its error's words only
		if g := m.guards[v.guard]; g != nil {
			message = g.Message
		}
		d.add("message", message, r.Message)
	case v.Code == fsm.ErrInvalidInput && r.Message == "":
		d.note("does not say what is wrong with the input")
	}
	d.add("guard", v.guard, r.Guard)
	d.add("allowed", strings.Join(v.allowed, ", "), r.Allowed)
	if s := m.StateOf(before.State); s != nil {
		d.add("state", s.Name, r.State)
	}
	if len(v.names) > 0 && !slices.Contains(v.names, r.Name) && !slices.Contains(v.names, firstWord(r.Name)) {
		d.note("names %q, want one of %q", r.Name, v.names)
	}
	if v.error != "" {
		if own := sentinels[v.error]; own == nil || !errors.Is(err, own) {
			d.note("is not the machine's own sentinel for %q: %v", v.error, err)
		}
		d.add("error's name", v.error, r.ErrorName())
	}
	for name, own := range sentinels {
		if name != v.error && errors.Is(err, own) && !(sentinels[v.error] == own) {
			d.note("is the sentinel for %q: %v", name, err)
		}
	}
	return d.String()
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// reporter prints the first few failures of a test, and how many there were.
type reporter struct {
	t      Sink
	failed int
}

// Shown is how many failures of a test are printed.
const Shown = 2

func (r *reporter) errorf(format string, args ...any) {
	if r.failed++; r.failed <= Shown {
		r.t.Errorf(format, args...)
	}
}

func (r *reporter) done() {
	if r.failed > Shown {
		r.t.Errorf("... and %d more cases", r.failed-Shown)
	}
}
