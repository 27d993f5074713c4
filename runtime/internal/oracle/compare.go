package oracle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// DiffRows says in what two records differ, or "".
func (m *Model) DiffRows(want, got driver.Row) string {
	var list []string
	add := func(name string, want, got any) {
		if want != got {
			list = append(list, fmt.Sprintf("%s is %s, want %s", name, Show(got), Show(want)))
		}
	}
	add("id", want.ID, got.ID)
	add("state", want.State, got.State)
	add("rev", want.Rev, got.Rev)
	add("created_at", want.CreatedAt, got.CreatedAt)
	add("updated_at", want.UpdatedAt, got.UpdatedAt)
	if len(want.Values) != len(got.Values) {
		list = append(list, fmt.Sprintf("%d values, want %d", len(got.Values), len(want.Values)))
	} else {
		for i, name := range m.Order {
			add(name, want.Values[i], got.Values[i])
		}
	}
	return strings.Join(list, "; ")
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
	var list []string
	add := func(name, want, got string) {
		if want != got {
			list = append(list, fmt.Sprintf("%s %q, want %q", name, got, want))
		}
	}
	add("code", string(v.Code), string(r.Code))
	if r.Code != v.Code {
		return strings.Join(list, "; ") + ": " + err.Error()
	}
	add("machine", m.Machine, r.Machine)
	add("operation", o.Name, r.Operation)
	if id != "" {
		add("id", id, r.ID)
	}
	switch {
	case v.Code == fsm.ErrGuard:
		message := "" // a branch has its error's words only
		if g := m.guards[v.guard]; g != nil {
			message = g.Message
		}
		add("message", message, r.Message)
	case v.Code == fsm.ErrInvalidInput && r.Message == "":
		list = append(list, "does not say what is wrong with the input")
	}
	add("guard", v.guard, r.Guard)
	add("allowed", strings.Join(v.allowed, ", "), r.Allowed)
	if s := m.StateOf(before.State); s != nil {
		add("state", s.Name, r.State)
	}
	if len(v.names) > 0 && !slices.Contains(v.names, r.Name) && !slices.Contains(v.names, firstWord(r.Name)) {
		list = append(list, fmt.Sprintf("names %q, want one of %q", r.Name, v.names))
	}
	if v.error != "" {
		if own := sentinels[v.error]; own == nil || !errors.Is(err, own) {
			list = append(list, fmt.Sprintf("is not the machine's own sentinel for %q: %v", v.error, err))
		}
		add("error's name", v.error, r.ErrorName())
	}
	for name, own := range sentinels {
		if name != v.error && errors.Is(err, own) && !(sentinels[v.error] == own) {
			list = append(list, fmt.Sprintf("is the sentinel for %q: %v", name, err))
		}
	}
	return strings.Join(list, "; ")
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// reporter prints the first few failures of a test, and how many there were.
type reporter struct {
	t interface {
		Helper()
		Errorf(string, ...any)
	}
	failed int
}

// Shown is how many failures of a test are printed.
const Shown = 5

func (r *reporter) errorf(format string, args ...any) {
	r.t.Helper()
	if r.failed++; r.failed <= Shown {
		r.t.Errorf(format, args...)
	}
}

func (r *reporter) done() {
	r.t.Helper()
	if r.failed > Shown {
		r.t.Errorf("... and %d cases more", r.failed-Shown)
	}
}
