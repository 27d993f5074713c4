package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// operationDoc says what an operation does, from its rules and its doc text.
func operationDoc(m *spec.Machine, n *names, o *spec.Operation) []string {
	first := fmt.Sprintf("%s %s.", n.op(o).Method, operationMove(m, o))
	paragraphs := []string{first, sentence(o.Doc)}
	if who := operationActor(o); who != "" {
		paragraphs = append(paragraphs, who)
	}
	paragraphs = append(paragraphs, operationGuards(n, o), operationBranches(n, o), operationRecords(m, o))
	return paragraphs
}

// operationMove says from which states to which.
func operationMove(m *spec.Machine, o *spec.Operation) string {
	return moveOf(withArticle(m.Entity), o)
}

// moveOf is operationMove for a record that is called what.
func moveOf(what string, o *spec.Operation) string {
	to := stateNames(distinct(targets(o)))
	if creates(o) {
		return fmt.Sprintf("makes %s in state %s", what, list(to, "or"))
	}
	from := list(stateNames(states(o.From)), "or")
	if o.Same {
		return fmt.Sprintf("keeps %s %s", what, from)
	}
	if len(o.Choose) > 0 && len(to) == 0 {
		return fmt.Sprintf("looks at %s that is %s", what, from)
	}
	return fmt.Sprintf("moves %s from %s to %s", what, from, list(to, "or"))
}

func operationActor(o *spec.Operation) string {
	switch o.By {
	case spec.BySystem:
		return "It is run by the system, never on a caller's behalf."
	case spec.ByOperator:
		return "It is run by an operator, who gives a reason."
	}
	return ""
}

// operationGuards lists the guards in the order in which they are asked.
func operationGuards(n *names, o *spec.Operation) string {
	if len(o.Require) == 0 {
		return ""
	}
	var b strings.Builder
	if o.OnRefusalRecordOnly && !creates(o) {
		b.WriteString("It is recorded and changes nothing unless:")
	} else {
		b.WriteString("It is refused unless:")
	}
	for _, r := range o.Require {
		fmt.Fprintf(&b, "\n  - %s: %s", r.Guard.Name, guardMeaning(r.Guard))
		if !o.OnRefusalRecordOnly || creates(o) {
			fmt.Fprintf(&b, " (%s)", n.error(r.Guard.Error).Var)
		}
	}
	return b.String()
}

// guardMeaning says when a guard lets a call pass.
func guardMeaning(g *spec.Guard) string {
	if g.Peers == nil {
		return list(factTexts(g.When), "and")
	}
	group := "no other record"
	if !g.Peers.None {
		group = fmt.Sprintf("fewer than %d other records", g.Peers.Than)
	}
	if same := fieldNames(g.Peers.Same); len(same) > 0 {
		group += " with the same " + list(same, "and")
	}
	verb := "is"
	if !g.Peers.None {
		verb = "are"
	}
	return fmt.Sprintf("%s %s %s", group, verb, list(stateNames(states(g.Peers.In)), "or"))
}

// operationBranches lists the branches in the order in which they are tried.
func operationBranches(n *names, o *spec.Operation) string {
	if len(o.Choose) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The first of these that fits is taken:")
	for _, x := range o.Choose {
		var when []string
		if x.From != nil {
			when = append(when, "it was "+list(stateNames(states(x.From)), "or"))
		}
		when = append(when, factTexts(x.When)...)
		condition := "otherwise"
		if len(when) > 0 {
			condition = "if " + list(when, "and")
		}
		switch {
		case x.Reject != "":
			fmt.Fprintf(&b, "\n  - %s: refused with %s", condition, n.error(x.Reject).Var)
		case x.RecordOnly:
			fmt.Fprintf(&b, "\n  - %s: recorded, and nothing changes", condition)
		case x.Same:
			fmt.Fprintf(&b, "\n  - %s: it stays where it is", condition)
		default:
			fmt.Fprintf(&b, "\n  - %s: to %s", condition, x.To.State.Name)
		}
	}
	return b.String()
}

// operationRecords says where a call is recorded only.
func operationRecords(m *spec.Machine, o *spec.Operation) string {
	var in []*spec.State
	for i, class := range m.Row(o) {
		if class == spec.RecordOnly {
			in = append(in, m.States[i])
		}
	}
	if in == nil {
		return ""
	}
	return fmt.Sprintf("In %s the call is recorded and changes nothing.", list(stateNames(in), "and"))
}

func stateNames(list []*spec.State) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

func fieldNames(refs []spec.FieldRef) []string {
	var names []string
	for _, r := range refs {
		names = append(names, r.Field.Name)
	}
	return names
}

func factTexts(facts []*spec.Fact) []string {
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	return texts
}

// distinct drops repetitions and keeps the order.
func distinct(list []*spec.State) []*spec.State {
	var kept []*spec.State
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// stateDoc says what a state is and what holds in it.
func stateDoc(s *spec.State) string {
	text := sentence(s.Doc)
	var notes []string
	if s.Terminal {
		notes = append(notes, "Terminal: nothing leaves it.")
	}
	if s.Final {
		notes = append(notes, "Final: finished, but it may be left again.")
	}
	if p := fieldNames(s.Present); len(p) > 0 {
		notes = append(notes, "Present: "+list(p, "and")+".")
	}
	if a := fieldNames(s.Absent); len(a) > 0 {
		notes = append(notes, "Absent: "+list(a, "and")+".")
	}
	if facts := factTexts(s.Invariant); len(facts) > 0 {
		notes = append(notes, "Always: "+list(facts, "and")+".")
	}
	return strings.TrimSpace(text + " " + strings.Join(notes, " "))
}
