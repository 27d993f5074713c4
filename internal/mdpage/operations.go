package mdpage

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/spec"
)

// operations says of each operation what it takes, does and refuses.
func (p *page) operations() {
	p.line("")
	p.line("## Operations")
	for _, f := range gen.FactsOf(p.m).Operations {
		p.operation(f)
	}
}

func (p *page) operation(f gen.OperationFact) {
	o := f.Operation
	p.line("")
	p.line("### %s%s", o.Name, was(o.Name, o.Stored()))
	p.line("")
	if o.Doc != "" {
		p.line("%s", paragraph(o.Doc))
		p.line("")
	}
	p.line("| | |")
	p.line("|---|---|")
	row := func(name string, lines ...string) {
		if len(lines) > 0 {
			p.line("| %s | %s |", name, strings.Join(lines, "<br>"))
		}
	}
	row("by", map[spec.Actor]string{spec.ByCaller: "the caller", spec.BySystem: "the system", spec.ByOperator: "an operator, with a name and a reason"}[o.By])
	var moves []string
	for _, mv := range f.Moves {
		from := "(new)"
		if mv.From != nil {
			from = code(mv.From.Name)
		}
		moves = append(moves, from+" to "+code(mv.To.Name))
	}
	row("moves", moves...)
	if len(f.Recorded) > 0 {
		var names []string
		for _, s := range f.Recorded {
			names = append(names, code(s.Name))
		}
		row("may be recorded only in", strings.Join(names, ", "))
	}
	row("picks", picks(o)...)
	row("takes", takes(o)...)
	row("runs by itself", triggers(o)...)
	row("inputs", inputs(o)...)
	var guards []string
	for _, r := range o.Require {
		guards = append(guards, code(r.Guard.Name))
	}
	row("guards, in this order", guards...)
	row("sets", effects(&o.Effects)...)
	row("then the first that holds", p.branches(o)...)
	row("effect outside the record", p.asked(o.Asks)...)
	if o.Then != nil {
		row("followed by", code(o.Then.Operation.Name))
	}
	row("refuses", p.refusals(f)...)
	row("event", code(o.StoredEvent()))
}

func picks(o *spec.Operation) []string {
	if o.Next == nil {
		return nil
	}
	var order []string
	for _, x := range o.Next.Order {
		name := code(x.Field.Name)
		if x.Descending {
			name += ", the highest first"
		}
		order = append(order, name)
	}
	text := "the first record by " + strings.Join(append(order, "`id`"), ", then ")
	if len(o.Next.Where) > 0 {
		text += ", where " + facts(o.Next.Where)
	}
	return []string{text}
}

func takes(o *spec.Operation) []string {
	if o.Each == nil {
		return nil
	}
	text := fmt.Sprintf("a record, or each that fits: at most %d, all or none", o.Each.Most)
	if len(o.Each.Where) > 0 {
		text += ", where " + facts(o.Each.Where)
	}
	return []string{text}
}

func triggers(o *spec.Operation) (list []string) {
	for _, t := range o.Triggers {
		list = append(list, code(t.Text))
	}
	return list
}

func inputs(o *spec.Operation) (list []string) {
	for _, in := range o.Inputs {
		line := code(in.Name) + " " + code(in.Type.String())
		if in.Doc != "" {
			line += ": " + text(in.Doc)
		}
		list = append(list, line)
	}
	return list
}

func effects(e *spec.Effects) (list []string) {
	for _, a := range e.Set {
		list = append(list, code(a.Field.Name)+" becomes "+code(a.Value.Text))
	}
	for _, r := range e.Clear {
		list = append(list, code(r.Field.Name)+" becomes absent")
	}
	for _, r := range e.Increment {
		list = append(list, code(r.Field.Name)+" grows by 1")
	}
	for _, a := range e.Add {
		list = append(list, code(a.Value.Text)+" joins "+code(a.Field.Name))
	}
	for _, a := range e.Remove {
		list = append(list, code(a.Value.Text)+" leaves "+code(a.Field.Name))
	}
	for _, r := range e.Decrement {
		list = append(list, code(r.Field.Name)+" falls by 1")
	}
	for _, r := range e.Reset {
		list = append(list, code(r.Field.Name)+" becomes "+r.Field.Zero())
	}
	return list
}

func (p *page) branches(o *spec.Operation) (list []string) {
	for i, b := range o.Choose {
		var when []string
		if len(b.From) > 0 {
			var names []string
			for _, s := range b.From {
				names = append(names, code(s.State.Name))
			}
			when = append(when, "from "+strings.Join(names, ", "))
		}
		if len(b.When) > 0 {
			when = append(when, facts(b.When))
		}
		if when == nil {
			when = []string{"otherwise"}
		}
		var end string
		switch {
		case b.RecordOnly:
			end = "recorded only"
		case b.Reject != "":
			end = "refused with " + code(b.Reject)
		case b.Same:
			end = "the state stays"
		default:
			end = "to " + code(b.To.State.Name)
		}
		line := fmt.Sprintf("%d. %s: %s", i+1, strings.Join(when, ", "), end)
		if own := effects(&b.Effects); len(own) > 0 {
			line += "; " + strings.Join(own, "; ")
		}
		for _, text := range p.asked(b.Asks) {
			line += "; effect " + text
		}
		if b.Then != nil {
			line += "; followed by " + code(b.Then.Operation.Name)
		}
		list = append(list, line)
	}
	return list
}

// asked says of effects how often they are performed, under which key, and what follows them.
func (p *page) asked(list []*spec.Effect) []string {
	var texts []string
	for _, e := range list {
		if p.alone() {
			texts = append(texts, code(e.Name))
			continue
		}
		key := "machine, id, revision and name"
		if len(e.Key) > 0 {
			var names []string
			for _, f := range e.Key {
				names = append(names, code(f.Field.Name))
			}
			key = strings.Join(names, ", ")
		}
		if e.Other != nil {
			texts = append(texts, fmt.Sprintf("%s of machine %s moves the record %s in the same transaction", code(e.Other.Do), code(e.Other.Use.Name), key))
			continue
		}
		how := "at least once, after the commit"
		if e.Atomic {
			how = "in the same transaction"
		}
		text := fmt.Sprintf("%s, %s; its key is %s", code(e.Name), how, key)
		if e.Then != nil {
			text += "; then " + code(e.Then.Operation.Name)
		}
		switch {
		case e.Failed == nil:
		case e.Attempts == 1:
			text += "; tried once, then given up: " + code(e.Failed.Operation.Name)
		case e.Attempts > 1:
			text += fmt.Sprintf("; given up after %d tries: %s", e.Attempts, code(e.Failed.Operation.Name))
		default:
			text += "; given up: " + code(e.Failed.Operation.Name)
		}
		texts = append(texts, text)
	}
	return texts
}

// refusals lists what the operation refuses for a reason of its own; what every call
// may meet stands in the documentation of the runtime.
func (p *page) refusals(f gen.OperationFact) (list []string) {
	o := f.Operation
	if len(o.Creates) > 0 {
		if o.DedupeBy == nil {
			list = append(list, "`exists`: there is a record with the id")
		} else {
			var names []string
			for _, x := range o.DedupeBy.Fields {
				names = append(names, x.Field.Name)
			}
			list = append(list, fmt.Sprintf("`exists`: there is a record with the id (one with the same %s is returned as it is)", code(strings.Join(names, ", "))))
		}
	} else {
		var refused, ended []string
		for _, s := range p.m.States {
			switch {
			case p.m.Class(s, o) != spec.Reject:
			case s.Terminal:
				ended = append(ended, code(s.Name))
			default:
				refused = append(refused, code(s.Name))
			}
		}
		if len(refused) > 0 {
			list = append(list, "`wrong_state` in "+strings.Join(refused, ", "))
		}
		if len(ended) > 0 {
			list = append(list, "`terminal` in "+strings.Join(ended, ", "))
		}
	}
	if o.By == spec.ByOperator {
		list = append(list, "`actor_missing`, `reason_missing`")
	}
	for _, r := range o.Require {
		if o.OnRefusalRecordOnly {
			list = append(list, code(r.Guard.Name)+" does not refuse: the call is recorded only")
		} else {
			list = append(list, code(r.Guard.Error)+": "+code(r.Guard.Name)+" does not hold")
		}
	}
	for _, b := range o.Choose {
		if b.Reject != "" {
			list = append(list, code(b.Reject)+": a branch")
		}
	}
	for _, u := range p.m.Unique {
		for _, mv := range f.Moves {
			if among(u.In, mv.To) && (mv.From == nil || !among(u.In, mv.From) || touches(o, u)) {
				list = append(list, code(u.Error)+": another record holds the place of "+code(u.Name))
				break
			}
		}
	}
	if o.Next != nil || o.Each != nil {
		list = append(list, "`nothing_to_do`: no record fits")
	}
	if o.Each != nil {
		list = append(list, fmt.Sprintf("`too_large`: more than %d records fit", o.Each.Most))
	}
	return list
}

func among(refs []spec.StateRef, s *spec.State) bool {
	for _, r := range refs {
		if r.State == s {
			return true
		}
	}
	return false
}

// touches reports whether an operation can give a field of a rule another value.
func touches(o *spec.Operation, u *spec.Unique) bool {
	for _, f := range u.Fields {
		if writes(o, f.Field) {
			return true
		}
	}
	return false
}
