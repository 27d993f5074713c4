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
	paragraphs = append(paragraphs, effectsText(&o.Effects), operationGuards(n, o), operationBranches(n, o), operationRecords(m, o))
	if n.alone {
		paragraphs = append(paragraphs, strings.Join(operationAsks(n, o), " "))
	}
	return paragraphs
}

// effectsText says what is written, in a sentence; empty where nothing is.
func effectsText(e *spec.Effects) string {
	parts := effectClauses(e)
	if parts == nil {
		return ""
	}
	text := list(parts, "and")
	if slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, " and ") }) {
		text = list(parts, ", and")
		text = strings.Replace(text, " , and ", ", and ", 1)
	}
	return "It " + text + "."
}

// effectClauses says what is written, in clauses without a subject.
func effectClauses(e *spec.Effects) []string {
	var parts, texts []string
	fields := map[string][]string{} // by what they are set to
	for _, a := range e.Set {
		if a.Default {
			continue
		}
		text := valueText(&a)
		if fields[text] == nil {
			texts = append(texts, text)
		}
		fields[text] = append(fields[text], a.Field.Name)
	}
	for i, text := range texts {
		of := fields[text]
		if len(of) > 1 {
			text = strings.Replace(text, "the input", "the inputs", 1)
		}
		texts[i] = list(of, "and") + " to " + text
	}
	if texts != nil {
		parts = append(parts, "sets "+list(texts, "and"))
	}
	if names := fieldNames(e.Clear); names != nil {
		parts = append(parts, "clears "+list(names, "and"))
	}
	if names := fieldNames(e.Increment); names != nil {
		parts = append(parts, "adds 1 to "+list(names, "and"))
	}
	for _, a := range e.Remove {
		parts = append(parts, "takes "+valueText(&a)+" out of "+a.Field.Name)
	}
	if names := fieldNames(e.Decrement); names != nil {
		parts = append(parts, "takes 1 off "+list(names, "and"))
	}
	for _, a := range e.Add {
		parts = append(parts, "adds "+valueText(&a)+" to "+a.Field.Name)
	}
	if names := fieldNames(e.Reset); names != nil {
		parts = append(parts, "resets "+list(names, "and"))
	}
	return parts
}

// valueText says what a field becomes.
func valueText(a *spec.Assign) string {
	if a.Value.Kind == spec.ValueActor {
		return "the actor"
	}
	in := a.Value.Input
	if in == nil {
		return a.Value.Text
	}
	text := "input." + in.Name
	if in.Name == a.Field.Name {
		text = "the input"
	}
	switch a.Value.Kind {
	case spec.ValueInputOrSame:
		text += " (where it is sent)"
	case spec.ValueInputOrDefault:
		text += " (else to " + a.Field.Default.Text + ")"
	case spec.ValueInputOrReject:
		text += " (which must be sent)"
	}
	return text
}

// callDoc says what a durable form of an operation does: first, then what it is for, and
// in a paragraph of its own what it writes, with which errors it refuses and what follows.
func callDoc(m *spec.Machine, n *names, o *spec.Operation, first string) []string {
	first = prose(first, sentence(o.Doc), operationActor(o))
	if o.By == spec.BySystem {
		first = phrase(first) + "; two runs at one revision converge."
	}
	rest := prose(refusalsText(m, n, o), operationAfter(n, o))
	if seePure(o) {
		return []string{prose(first, rest)}
	}
	return []string{first, prose(effectsText(&o.Effects), rest)}
}

// prose puts sentences behind one another, those that there are.
func prose(sentences ...string) string {
	return strings.Join(strings.Fields(strings.Join(sentences, " ")), " ")
}

// seePure reports whether an operation has too many rules to repeat them in each of its forms.
func seePure(o *spec.Operation) bool {
	const most = 3 // guards
	return len(o.Choose) > 0 || len(o.Require) > most
}

// refusalsText says with which of the machine's own errors a form of an operation refuses.
func refusalsText(m *spec.Machine, n *names, o *spec.Operation) string {
	first := ""
	var texts []string
	pure := n.Record + "." + n.op(o).Method
	if creates(o) {
		pure = "the function " + n.op(o).Method
	}
	switch {
	case seePure(o):
		first = fmt.Sprintf("See [%s] for its rules and errors.", pure)
		if creates(o) {
			first = fmt.Sprintf("See %s for its rules and errors.", pure)
		}
	case o.OnRefusalRecordOnly && !creates(o):
		for _, r := range o.Require {
			texts = append(texts, guardMeaning(r.Guard))
		}
		first, texts = "It only records the call unless "+list(texts, "and")+".", nil
	default:
		for _, r := range o.Require {
			texts = append(texts, fmt.Sprintf("%s unless %s", n.error(r.Guard.Error).Var, guardMeaning(r.Guard)))
		}
	}
	for _, u := range m.Unique {
		guarded := slices.ContainsFunc(o.Require, func(r *spec.Requirement) bool { return r.Guard.Error == u.Error })
		if guarded || !contends(o, u) {
			continue
		}
		in := ""
		if len(u.In) < len(m.States) {
			in = " in " + list(stateNames(refStates(u.In)), "or")
		}
		texts = append(texts, fmt.Sprintf("%s if another record%s has the same %s", n.error(u.Error).Var, in, list(fieldNames(u.Fields), "and")))
	}
	if texts == nil {
		return first
	}
	return prose(first, "It returns "+list(texts, "and")+".")
}

// contends reports whether an operation may take a place that a rule gives to one record.
func contends(o *spec.Operation, u *spec.Unique) bool {
	if o.DedupeBy != nil && o.DedupeBy.Unique == u {
		return false // it returns the record that has the place
	}
	within := func(s *spec.State) bool { return slices.Contains(refStates(u.In), s) }
	moves := slices.ContainsFunc(u.Fields, func(r spec.FieldRef) bool { return operationWrites(o, r.Field) })
	return slices.ContainsFunc(movesOf(o), func(mv move) bool {
		return within(mv.to) && (moves || mv.from == nil || !within(mv.from))
	})
}

// operationAfter says when an operation is run by itself, and what follows it.
func operationAfter(n *names, o *spec.Operation) string {
	var texts []string
	for _, t := range o.Triggers {
		if t.Startup {
			texts = append(texts, fmt.Sprintf("[Machine.%s] runs it after a crash.", n.ours("machine", "Startup")))
		} else {
			texts = append(texts, fmt.Sprintf("[Machine.%s] runs it %s.", n.ours("machine", "Sweep"), t.Text))
		}
	}
	texts = append(texts, operationAsks(n, o)...)
	if o.Then != nil {
		texts = append(texts, sentence(followText(n, o.Then)))
	}
	return strings.Join(texts, " ")
}

// operationAsks says which effects an operation asks for, whatever branch it takes.
func operationAsks(n *names, o *spec.Operation) (texts []string) {
	for _, e := range o.Asks {
		texts = append(texts, sentence(askText(n, e)))
	}
	for _, p := range o.Places {
		for _, e := range p.Exit {
			texts = append(texts, sentence(askText(n, e)+", where it leaves "+p.Name))
		}
		for _, e := range p.Enter {
			texts = append(texts, sentence(askText(n, e)+", where it enters "+p.Name))
		}
	}
	return texts
}

// operationMove says from which states to which.
func operationMove(m *spec.Machine, o *spec.Operation) string {
	return moveOf(withArticle(m.Entity), o)
}

// moveOf is operationMove for a record that is called what.
func moveOf(what string, o *spec.Operation) string {
	to := stateNames(distinct(targets(o)))
	if creates(o) {
		return fmt.Sprintf("makes %s in state %s", what, brief(to, "or"))
	}
	from := brief(stateNames(states(o.From)), "or")
	if o.Same {
		return fmt.Sprintf("keeps %s %s", what, from)
	}
	if len(o.Choose) > 0 && len(to) == 0 {
		return fmt.Sprintf("looks at %s that is %s", what, from)
	}
	return fmt.Sprintf("moves %s from %s to %s", what, from, brief(to, "or"))
}

func operationActor(o *spec.Operation) string {
	switch o.By {
	case spec.BySystem:
		return "The system runs it, without an actor."
	case spec.ByOperator:
		return "An operator runs it, and gives a reason."
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

// groupText says which other records are counted.
func groupText(p *spec.Peers) string {
	own, whose := p.Told()
	if len(own) > 0 {
		whose = " with the same " + list(own, "and") + whose
	}
	return whose
}

// guardMeaning says when a guard lets a call pass.
func guardMeaning(g *spec.Guard) string {
	if g.Peers == nil {
		return list(spec.FactTexts(g.When), "and")
	}
	group := "no other record"
	switch {
	case g.Peers.Some:
		group = "at least one other record"
	case !g.Peers.None:
		group = fmt.Sprintf("fewer than %s other records", g.Peers.Number())
	}
	group += groupText(g.Peers)
	verb := "is"
	if !g.Peers.None && !g.Peers.Some {
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
		when = append(when, spec.FactTexts(x.When)...)
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
		for _, text := range effectClauses(&x.Effects) {
			b.WriteString("; it " + text)
		}
		b.WriteString(branchAsks(n, x))
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
	text := fmt.Sprintf("In %s the call is recorded and changes nothing", list(stateNames(in), "and"))
	if asked := strangerGuards(o, in); asked != nil {
		var names []string
		for _, r := range asked {
			names = append(names, r.Guard.Name)
		}
		text += ", unless the record names another actor: see " + list(names, "and")
	}
	return text + "."
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
	if p := fieldNames(s.ShouldPresent); len(p) > 0 {
		notes = append(notes, "Should be present: "+list(p, "and")+".")
	}
	if a := fieldNames(s.ShouldAbsent); len(a) > 0 {
		notes = append(notes, "Should be absent: "+list(a, "and")+".")
	}
	if facts := spec.FactTexts(s.Invariant); len(facts) > 0 {
		notes = append(notes, "Always: "+list(facts, "and")+".")
	}
	return strings.TrimSpace(text + " " + strings.Join(notes, " "))
}
