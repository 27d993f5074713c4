package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hashMachine returns the hex SHA-256 over the meaning of the machine: what
// can be stored, what each call does, and how refusals are named. Comments,
// docs, messages, reasons, positions, the order of declarations and the order
// inside of lists that mean a set are no part of it.
func hashMachine(m *Machine) string {
	h := sha256.Sum256([]byte(meaning(m)))
	return hex.EncodeToString(h[:])
}

// meaning writes the machine in one canonical form, one declaration a line.
// The first line names this form: it changes when the form does.
func meaning(m *Machine) string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	line("invariant %s", factSet(m.Invariant))
	for _, f := range m.Fields {
		line("field %s stored=%s type=%s%s per=%s changed_by=%t%s", f.Name, f.Stored(), typeText(f.Type, true), defaultText(f),
			nameSet(f.Per, fieldName),
			f.HasChangedBy, nameSet(f.ChangedBy, func(o *OperationRef) string { return o.Operation.Name }))
	}
	for _, s := range m.States {
		line("state %s stored=%s present=%s absent=%s should=%s/%s invariant=%s terminal=%t final=%t otherwise=%d probes=%s", s.Name, s.Stored(),
			refSet(s.Present), refSet(s.Absent), refSet(s.ShouldPresent), refSet(s.ShouldAbsent), factSet(s.Invariant), s.Terminal, s.Final, s.Otherwise,
			nameSet(s.Probes, func(p *Probe) string { return p.Name }))
	}
	for i, p := range m.Places() { // a group without effects is but a way to write
		if len(p.States) == 1 && p.States[0].Name == p.Name {
			i = 0 // a record is in one state: their order says nothing
		}
		line("border %d of %s:%s%s", i, nameSet(p.States, func(s *State) string { return s.Name }),
			asksText("exit", p.Exit, nil), asksText("enter", p.Enter, nil))
	}
	for _, x := range m.Removed {
		line("removed %s to=%s", x.Name, x.To.State.Name)
	}
	for _, g := range m.Guards {
		line("guard %s error=%s when=%s peers=%s", g.Name, g.Error, factSet(g.When), peersText(g.Peers))
	}
	for _, u := range m.Unique {
		line("unique %s error=%s fields=%s in=%s", u.Name, u.Error, refSet(u.Fields), stateSet(u.In))
	}
	for _, l := range m.Lookups {
		line("lookup %s fields=%s in=%s order=%s",
			l.Name, nameList(l.Fields, refName), stateSet(l.In), nameList(l.Order, orderName))
	}
	for _, o := range m.Operations {
		line("operation %s", operationText(o))
	}
	for _, f := range m.Forbidden {
		if f.After {
			line("forbidden after %s %s", f.From.State.Name, f.To.State.Name)
			continue
		}
		line("forbidden %s %s", f.From.State.Name, f.To.State.Name)
	}
	for _, f := range m.Kept() {
		line("step %s", factText(f))
	}
	for _, p := range m.Probes {
		line("probe %s", p.Name)
	}
	if m.Projection != nil {
		line("projection %s", projectionText(m.Projection))
	}
	slices.Sort(lines)
	head := fmt.Sprintf("meaning 1\nmachine %s entity=%s version=%d request_id=%d expected_rev=%d otherwise=%d\n",
		m.Name, m.Entity, m.Version, m.RequestID, m.ExpectedRev, m.Otherwise)
	return head + strings.Join(slices.Compact(lines), "\n") + "\n"
}

// set writes names as a set: sorted, once each.
func set(names []string) string {
	slices.Sort(names)
	return "{" + strings.Join(slices.Compact(names), ", ") + "}"
}

func nameSet[T any](list []T, name func(T) string) string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = name(x)
	}
	return set(names)
}

func fieldName(f *Field) string             { return f.Name }
func refName(f FieldRef) string             { return f.Field.Name }
func orderName(o Order) string              { return map[bool]string{true: "-"}[o.Descending] + o.Field.Name }
func stateName(s StateRef) string           { return s.State.Name }
func refSet(list []FieldRef) string         { return nameSet(list, refName) }
func stateSet(list []StateRef) string       { return nameSet(list, stateName) }
func factSet(list []*Fact) string           { return nameSet(list, factText) }
func assignSet(list []Assign) string        { return nameSet(list, assignText) }
func projectedName(s ProjectedState) string { return s.Name }

// factText writes a fact from what its terms are bound to.
func factText(f *Fact) string {
	switch f.Op {
	case Present:
		return termText(f.Left) + " is present"
	case Absent:
		return termText(f.Left) + " is absent"
	case AnyOf:
		return "any" + nameSet(f.Any, factSet)
	}
	return fmt.Sprintf("%s %s %s", termText(f.Left), opText[f.Op], termText(f.Right))
}

var opText = map[FactOp]string{
	Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", In: "in", NotIn: "not in", Covers: "covers",
}

func termText(t Term) string {
	switch t.Kind {
	case TermField:
		return t.Field.Name
	case TermOld:
		return "old." + t.Field.Name
	case TermInput:
		return "input." + t.Name
	case TermWord:
		if t.Word == nil { // of a guard, whose input is not bound
			return "word " + t.Text
		}
		return "word " + QuoteWord(t.Word.Name)
	case TermText:
		return strconv.Quote(t.Const)
	case TermInt:
		return fmt.Sprint(t.Int)
	case TermSpan:
		return SpanText(t.Int)
	case TermBackoff:
		return "backoff " + termText(t.Backoff.Base) + " to " + termText(t.Backoff.Max) + " by " + t.Backoff.By.Name
	case TermSum:
		return "(" + SumText(t.Parts, termText) + ")"
	}
	return t.Text
}

// typeText writes a type; stored adds the words that rows hold.
func typeText(t Type, stored bool) string {
	text := t.Kind.String()
	switch t.Kind {
	case KindInt, KindString:
		if t.Min != nil {
			text += fmt.Sprintf(" %d..", *t.Min)
			if t.Max != nil {
				text += fmt.Sprint(*t.Max)
			}
		}
	case KindDuration:
		text += t.spanBounds()
	case KindEnum:
		text = nameSet(t.Values, func(v *EnumValue) string {
			if stored && v.Was != "" {
				return QuoteWord(v.Name) + "=" + QuoteWord(v.Was)
			}
			return QuoteWord(v.Name)
		})
	}
	if t.Optional {
		return "optional " + text
	}
	return text
}

func defaultText(f *Field) string {
	if f.Default == nil {
		return ""
	}
	return " default=" + valueText(*f.Default)
}

func peersText(p *Peers) string {
	if p == nil {
		return "-"
	}
	if p.Some {
		return fmt.Sprintf("some same=%s in=%s", nameSet(p.Of, memberText), stateSet(p.In))
	}
	than := strconv.FormatInt(p.Than, 10)
	if p.Limit != nil {
		than = termText(p.Limit.Left)
	}
	return fmt.Sprintf("fewer than %s same=%s in=%s", than, nameSet(p.Of, memberText), stateSet(p.In))
}

// memberText writes which value a field of a group has.
func memberText(f *Fact) string {
	if f.Right.Field == f.Left.Field {
		return f.Left.Field.Name
	}
	return f.Left.Field.Name + " = " + termText(f.Right)
}

func effectsText(e *Effects) string {
	text := fmt.Sprintf("set=%s clear=%s increment=%s add=%s", assignSet(e.Set), refSet(e.Clear), refSet(e.Increment), assignSet(e.Add))
	if len(e.Reset) > 0 {
		text += " reset=" + refSet(e.Reset)
	}
	if len(e.Decrement) > 0 {
		text += " decrement=" + refSet(e.Decrement)
	}
	if len(e.Remove) > 0 {
		text += " remove=" + assignSet(e.Remove)
	}
	return text
}

func assignText(a Assign) string { return a.Field.Name + " = " + valueText(a.Value) }

func valueText(v Value) string {
	switch v.Kind {
	case ValueInput:
		return "input." + v.Input.Name
	case ValueInputOrAbsent:
		return "input." + v.Input.Name + " or absent"
	case ValueInputOrSame:
		return "input." + v.Input.Name + " or same"
	case ValueInputOrDefault:
		return "input." + v.Input.Name + " or default"
	case ValueInputOrReject:
		return "input." + v.Input.Name + " or reject"
	case ValueField:
		return v.Field.Name
	case ValueActor:
		return "actor"
	case ValueNow:
		return "now + " + v.Plus.String()
	case ValueInt:
		return fmt.Sprint(v.Int)
	case ValueBool:
		return fmt.Sprint(v.Bool)
	case ValueText:
		return fmt.Sprintf("%q", v.Const)
	case ValueSum:
		return SumText(v.Parts, termText)
	case ValueSpan:
		return SpanText(v.Int)
	}
	return "word " + QuoteWord(v.Word.Name)
}

func targetText(to *StateRef, same bool) string {
	switch {
	case same:
		return "same"
	case to != nil:
		return "state " + to.State.Name
	}
	return "-"
}

func operationText(o *Operation) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	put("%s stored=%s by=%d creates=%s from=%s to=%s record_only_in=%s on_refusal=%t event=%s stored=%s", o.Name, o.Stored(), o.By,
		stateSet(o.Creates), stateSet(o.From), targetText(o.To, o.Same), stateSet(o.RecordOnlyIn), o.OnRefusalRecordOnly, o.Event, o.StoredEvent())
	put(" input=%s require=[", nameSet(o.Inputs, func(in *Input) string { return in.Name + " " + typeText(in.Type, false) }))
	for _, q := range o.Require {
		put("%s %s, ", q.Guard.Name, factSet(q.When))
	}
	put("] %s choose=[", effectsText(&o.Effects))
	for _, c := range o.Choose {
		from := "all"
		if len(c.From) > 0 {
			from = stateSet(c.From)
		}
		put("from=%s when=%s to=%s record_only=%t reject=%s %s, ",
			from, factSet(c.When), targetText(c.To, c.Same), c.RecordOnly, c.Reject, effectsText(&c.Effects)+asksText("effect", c.Asks, c.Then))
	}
	put("]")
	if o.DedupeBy != nil {
		put(" dedupe_by=%s", refSet(o.DedupeBy.Fields))
		if o.DedupeBy.Unique != nil {
			put(" unique %s", o.DedupeBy.Unique.Name)
		}
	}
	if o.Next != nil {
		put(" next where=%s order=[", factSet(o.Next.Where))
		for _, k := range o.Next.Order {
			put("%s descending=%t, ", k.Field.Name, k.Descending)
		}
		put("]")
	}
	if o.Each != nil {
		put(" each where=%s most=%d", factSet(o.Each.Where), o.Each.Most)
	}
	put(" trigger=%s", nameSet(o.Triggers, func(t Trigger) string {
		if t.Startup {
			return "startup"
		}
		if t.By != nil {
			return "after " + t.After.Name + " + " + t.By.Name
		}
		return "after " + t.After.Name + " + " + t.Plus.String()
	}))
	put("%s", asksText("effect", o.Asks, o.Then))
	return b.String()
}

// asksText tells effects, each with what follows it, and what follows the step.
func asksText(key string, asks []*Effect, then *OperationRef) string {
	var b strings.Builder
	put := func(r *OperationRef) {
		if r != nil {
			b.WriteString(" then=" + r.Operation.Name)
		}
	}
	for _, e := range asks {
		fmt.Fprintf(&b, " %s=%s key=%s atomic=%t", key, e.Name, nameList(e.Key, refName), e.Atomic)
		if x := e.Other; x != nil {
			fmt.Fprintf(&b, " of=%s do=%s input=%s", x.Use.Name, x.Do, nameSet(x.Passes, func(p Pass) string { return p.Input + "=" + p.Field.Field.Name }))
		}
		put(e.Then)
		if e.Attempts > 0 {
			fmt.Fprintf(&b, " attempts=%d", e.Attempts)
		}
		if e.Failed != nil {
			b.WriteString(" failed=" + e.Failed.Operation.Name)
		}
	}
	put(then)
	return b.String()
}

func projectionText(p *Projection) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s key=%s fields=%s rules=[", p.Entity, refSet(p.Key), nameSet(p.Fields, func(f *ProjectionField) string {
		if f.Field == nil {
			return f.Name + "=" + f.Agg
		}
		return f.Name + "=" + f.Agg + " " + f.Field.Name
	}))
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "%s any=%s all=%s none=%s at_least=%d, ", r.State.Name, stateSet(r.Any), stateSet(r.All), stateSet(r.None), r.AtLeast)
	}
	fmt.Fprintf(&b, "] reserved=%s transitions=%s", nameSet(p.Reserved, projectedName), nameSet(p.Transitions, func(t *ProjectionMove) string {
		return t.From.Name + " -> " + t.To.Name
	}))
	return b.String()
}

// nameList writes names in the order of the file, where it has a meaning.
func nameList[T any](list []T, name func(T) string) string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = name(x)
	}
	return "[" + strings.Join(names, ", ") + "]"
}
