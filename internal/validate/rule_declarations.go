package validate

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// declarationRules look at single declarations and at their names.
var declarationRules = []Rule{
	{
		Code: "FSM011", Name: "presence of a field that is always present", Severity: spec.Error, Run: presenceOfRequired,
		Doc: `Only an optional field can be present or absent, and a set, which counts as present when it is not empty. Any other
field has a value from the creation on, so the line says nothing, or something that can never hold.`,
	},
	{
		Code: "FSM012", Name: "actor in a system operation", Severity: spec.Error, Run: actorInSystem,
		Doc: `A ` + "`by: system`" + ` operation is run by recovery, by the sweeper or as a step of ` + "`then`" + `. Nobody stands behind it whom a
guard could compare or a field could hold.`,
	},
	{
		Code: "FSM013", Name: "present and absent at once", Severity: spec.Error, Run: presentAndAbsent,
		Doc: `No record can be in a state that needs the same field present and absent, so no operation could ever enter it.`,
	},
	{
		Code: "FSM016", Name: "creation leaves a required field unset", Severity: spec.Error, Run: unsetAtCreation,
		Doc: `A field that is neither optional nor a counter, set or sequence has a value in every record. So every creation must
set it, on each branch that makes a record.`,
	},
	{
		Code: "FSM017", Name: "two names become one Go identifier", Severity: spec.Error, Run: oneIdentifier,
		Doc: `Names of the file become Go names: ` + "`complete_job`" + ` is the method CompleteJob, and a field of that name would be the
struct field CompleteJob of the same type. The generated package would not compile, so one of them needs another name.`,
	},
	{
		Code: "FSM018", Name: "reserved name", Severity: spec.Error, Run: reservedName,
		Doc: `The name is taken by Go itself, by the database, or by one of the few generated names that never change. Those are the types
State and Machine and the record field Rev. Any other name that the generator writes gives way: beside an operation list, the
method List is EngineList.`,
	},
	{
		Code: "FSM019", Name: "two names with one stored word", Severity: spec.Error, Run: oneStoredWord,
		Doc: `Rows and events keep the first name of a state, an operation, an event, a field or an enum value forever; ` + "`was`" + ` gives
that word. When two names have the same stored word, a stored row could mean either.`,
	},
}

// mustBeSet reports whether a field has no value of its own at the creation.
func mustBeSet(f *spec.Field) bool {
	switch f.Type.Kind {
	case spec.KindCounter, spec.KindSet, spec.KindSequence:
		return false
	}
	return !f.Type.Optional
}

// mayBeAbsent reports whether presence of the field is a question.
func mayBeAbsent(f *spec.Field) bool { return f.Type.Optional || f.Type.Kind == spec.KindSet }

func presenceOfRequired(p *Pass) {
	report := func(pos spec.Pos, f *spec.Field, saysNothing bool) {
		at := finding{pos: pos, mark: f.Name, related: also(f.Pos, "%s is declared here", f.Name),
			hint: "remove it, or declare the field `optional`"}
		if f.Builtin {
			at.hint = "remove it: the field is built in"
		}
		if f.Builtin || saysNothing {
			at.fix = p.Machine.Without(pos)
		}
		p.report(at, "field %q is not optional, so it is always present", f.Name)
	}
	each := func(refs []spec.FieldRef, saysNothing bool) {
		for _, r := range refs {
			if !mayBeAbsent(r.Field) {
				report(r.Pos, r.Field, saysNothing)
			}
		}
	}
	for _, s := range p.Machine.States {
		each(slices.Concat(s.Present, s.ShouldPresent), true)
		each(slices.Concat(s.Absent, s.ShouldAbsent), false)
	}
	for _, f := range writtenFacts(p.Machine) {
		ofField := f.Left.Kind == spec.TermField || f.Left.Kind == spec.TermOld
		if (f.Op == spec.Present || f.Op == spec.Absent) && ofField && !mayBeAbsent(f.Left.Field) {
			report(f.Left.Pos, f.Left.Field, f.Op == spec.Present)
		}
	}
}

// writtenFacts lists every fact of the file once.
func writtenFacts(m *spec.Machine) []*spec.Fact {
	list := append(m.Kept(), m.Invariant...)
	for _, s := range m.States {
		list = append(list, s.Invariant...)
	}
	for _, g := range m.Guards {
		list = append(list, g.When...)
	}
	for _, op := range m.Operations {
		list = append(list, facts(op)...)
	}
	return spec.Leaves(list)
}

func actorInSystem(p *Pass) {
	for _, op := range p.Machine.Operations {
		if op.By != spec.BySystem {
			continue
		}
		report := func(pos spec.Pos, mark string, related []spec.Related, out string) {
			if len(op.Triggers) == 0 { // a trigger has no actor, even where callers may call the operation
				out += ", or let the operation be run `by: caller` or `by: operator`"
			}
			p.report(finding{pos: pos, mark: mark, related: related, hint: out},
				"%s runs by the system and has no `actor`", op.Name)
		}
		for _, r := range op.Require {
			for _, f := range r.Reads() {
				if pos, ok := actorIn(f); ok {
					report(r.Pos, r.Guard.Name, also(pos, "guard %s reads it here", r.Guard.Name), "remove it")
				}
			}
		}
		for _, f := range facts(op) {
			if pos, ok := actorIn(f); ok {
				report(pos, "actor", nil, "decide by something else")
			}
		}
		for _, e := range effects(op) {
			for _, a := range e.effects.Assigned() {
				if a.Value.Kind == spec.ValueActor {
					report(a.Value.Pos, a.Value.Text, nil, "remove it")
				}
			}
		}
	}
}

// actorIn returns where a fact names the actor.
func actorIn(f *spec.Fact) (spec.Pos, bool) {
	for _, x := range spec.Leaves([]*spec.Fact{f}) {
		for _, t := range []spec.Term{x.Left, x.Right} {
			if t.Kind == spec.TermActor {
				return t.Pos, true
			}
		}
	}
	return spec.Pos{}, false
}

func presentAndAbsent(p *Pass) {
	for _, s := range p.Machine.States {
		present := slices.Concat(s.Present, s.ShouldPresent)
		for _, r := range slices.Concat(s.Absent, s.ShouldAbsent) {
			i := slices.IndexFunc(present, func(o spec.FieldRef) bool { return o.Field == r.Field })
			if i < 0 {
				continue
			}
			first, second := present[i].Pos, r.Pos
			if second.Before(first) {
				first, second = second, first
			}
			p.report(finding{pos: second, mark: r.Field.Name, related: also(first, "the other line is here"), hint: "remove one of the two"},
				"%q is both present and absent in %s", r.Field.Name, s.Name)
		}
	}
}

func unsetAtCreation(p *Pass) {
	for _, op := range p.Machine.Operations {
		if len(op.Creates) == 0 {
			continue
		}
		for _, f := range p.Machine.Fields {
			if !mustBeSet(f) || sets(&op.Effects, f) {
				continue
			}
			at := finding{pos: op.Pos, mark: op.Name, related: also(f.Pos, "%s is declared here", f.Name),
				hint: fmt.Sprintf("add `set: {%s: input}`, or declare the field `optional`", f.Name)}
			if len(op.Choose) == 0 {
				p.report(at, "%s does not set %s, which every record must have", op.Name, f.Name)
				continue
			}
			for _, b := range op.Choose {
				if b.Reject == "" && !sets(&b.Effects, f) {
					at.pos, at.mark = b.Pos, ""
					p.report(at, "this branch of %s does not set %s, which every record must have", op.Name, f.Name)
				}
			}
		}
	}
}

func sets(e *spec.Effects, f *spec.Field) bool {
	return slices.ContainsFunc(e.Set, func(a spec.Assign) bool { return a.Field == f })
}

// word is a stored word with the name that has it now.
type word struct {
	stored, name, what string
	pos                spec.Pos
}

func oneStoredWord(p *Pass) {
	m := p.Machine
	var states, operations, events, fields []word
	named := make(map[string]bool) // events
	for _, r := range m.Removed {
		states = append(states, word{r.Name, r.Name, "removed state", r.Pos})
	}
	for _, s := range m.States {
		states = append(states, word{s.Stored(), s.Name, "state", s.Pos})
	}
	for _, op := range m.Operations {
		operations = append(operations, word{op.Stored(), op.Name, "operation", op.Pos})
		pos := op.EventPos
		if pos.IsZero() {
			pos = op.Pos
		}
		if !named[op.Event] { // FSM603 speaks of shared events
			named[op.Event] = true
			events = append(events, word{op.StoredEvent(), op.Event, "event", pos})
		}
	}
	for _, name := range builtinColumns {
		fields = append(fields, word{name, name, "built-in field", spec.Pos{}})
	}
	for _, f := range m.Fields {
		fields = append(fields, word{f.Stored(), f.Name, "field", f.Pos})
		p.sameWords(enumWords(f.Type.Values))
	}
	for _, op := range m.Operations {
		for _, in := range op.Inputs {
			if in.Declared {
				p.sameWords(enumWords(in.Type.Values))
			}
		}
	}
	p.sameWords(states)
	p.sameWords(operations)
	p.sameWords(events)
	p.sameWords(fields)
}

func enumWords(values []*spec.EnumValue) []word {
	words := make([]word, len(values))
	for i, v := range values {
		words[i] = word{v.Stored(), v.Name, "enum value", v.Pos}
	}
	return words
}

// sameWords reports each name whose stored word an earlier one has. Two equal
// names are no matter of renaming: parsing, or FSM018, speaks of them.
func (p *Pass) sameWords(words []word) {
	same := make(map[string][]word) // by stored word
	for _, w := range words {
		for _, earlier := range same[w.stored] {
			if w.name == earlier.name && earlier.what != "removed state" {
				continue
			}
			at := finding{pos: w.pos, mark: w.name, related: also(earlier.pos, "%s %s is declared here", earlier.what, earlier.name)}
			if earlier.what == "removed state" {
				at.hint = "choose a new name: stored rows with the old word are migrated"
				p.report(at, "%s %s is stored as %q, and that word belongs to a removed state", w.what, w.name, w.stored)
			} else {
				at.hint = "correct `was`, or choose another name: a stored word may mean one thing only"
				p.report(at, "%s %s is stored as %q, and so is %s %s", w.what, w.name, w.stored, earlier.what, earlier.name)
			}
			break
		}
		same[w.stored] = append(same[w.stored], w)
	}
}
