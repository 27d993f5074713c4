package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// created is the column of what makes a record.
const created = "(new)"

// cell says what operation o does to a record in state s (nil: to none).
func cell(m *spec.Machine, s *spec.State, o *spec.Operation) string {
	switch {
	case s == nil && len(o.Creates) == 0, s != nil && len(o.Creates) > 0:
		return ""
	case s != nil && m.Class(s, o) == spec.RecordOnly:
		return "record_only"
	case s != nil && m.Class(s, o) != spec.Transition:
		return "reject"
	}
	var outcomes []string
	add := func(t string) {
		for _, have := range outcomes {
			if have == t {
				return
			}
		}
		outcomes = append(outcomes, t)
	}
	for _, b := range branchesOf(o, s) {
		add(b.outcome())
	}
	return strings.Join(outcomes, " | ")
}

// branch is one way that an operation can take from a state.
type branch struct {
	when       []*spec.Fact
	to         *spec.State // nil: the record stays as it is
	recordOnly bool
	reject     string
	effects    []*spec.Effects
	of         *spec.Branch // nil without `choose`
}

func (b branch) outcome() string {
	switch {
	case b.recordOnly:
		return "record_only"
	case b.reject != "":
		return "reject " + b.reject
	}
	return b.to.Name
}

// branchesOf lists the ways of o that can be taken from s in their order; one
// without `choose`.
func branchesOf(o *spec.Operation, s *spec.State) []branch {
	if len(o.Choose) == 0 {
		b := branch{to: s, effects: []*spec.Effects{&o.Effects}}
		switch {
		case len(o.Creates) > 0:
			b.to = o.Creates[0].State
		case !o.Same && o.To != nil:
			b.to = o.To.State
		}
		return []branch{b}
	}
	var bs []branch
	for _, c := range o.Branches(s) {
		b := branch{when: c.When, recordOnly: c.RecordOnly, reject: c.Reject}
		if !c.RecordOnly && c.Reject == "" {
			b.effects, b.of = []*spec.Effects{&o.Effects, &c.Effects}, c
			b.to = s
			if c.To != nil {
				b.to = c.To.State
			}
		}
		bs = append(bs, b)
	}
	return bs
}

// guardNames lists the guards of o.
func guardNames(o *spec.Operation) []string {
	var names []string
	for _, r := range o.Require {
		names = append(names, r.Guard.Name)
	}
	return names
}

// columns are the states of the matrix, nil first.
func columns(m *spec.Machine) []*spec.State { return append([]*spec.State{nil}, m.States...) }

// CSV returns the matrix of m: a line per operation, a column per state. A cell
// is a state (or several, behind `choose`, with " | " between them), record_only,
// reject, or empty where a creation meets a record or another operation none.
func CSV(m *spec.Machine) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"operation (" + header + ")", "by", "guards"}
	for _, s := range columns(m) {
		head = append(head, name(s))
	}
	rows := [][]string{head}
	for _, o := range m.Operations {
		row := []string{o.Name, by(o), strings.Join(guardNames(o), " ")}
		for _, s := range columns(m) {
			row = append(row, cell(m, s, o))
		}
		rows = append(rows, row)
	}
	err := w.WriteAll(rows)
	return b.Bytes(), err
}

func name(s *spec.State) string {
	if s == nil {
		return created
	}
	return s.Name
}

func by(o *spec.Operation) string {
	switch o.By {
	case spec.BySystem:
		return "system"
	case spec.ByOperator:
		return "operator"
	}
	return "caller"
}

// Matrix returns the matrix of m as a Markdown table.
func Matrix(m *spec.Machine) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- %s -->\n\n", header)
	b.WriteString("| operation |")
	for _, s := range columns(m) {
		fmt.Fprintf(&b, " %s |", name(s))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(m.States)+1) + "\n")
	for _, o := range m.Operations {
		fmt.Fprintf(&b, "| **%s**", o.Name)
		if gs := guardNames(o); len(gs) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(gs, ", "))
		}
		b.WriteString(" |")
		for _, s := range columns(m) {
			text := map[string]string{"": "", "reject": "–", "record_only": "*recorded*"}
			c := cell(m, s, o)
			if t, ok := text[c]; ok {
				c = t
			} else {
				c = strings.NewReplacer(" | ", " or ", "record_only", "*recorded*").Replace(c)
			}
			fmt.Fprintf(&b, " %s |", c)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nA cell names the state that follows. –: refused; *recorded*: an event is written, nothing changes; empty: only creations apply to %s.\n", created)
	return b.Bytes()
}
