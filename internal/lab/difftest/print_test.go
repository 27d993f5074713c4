package difftest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// The static checks read text, so a mutant is written as the text that its
// author would have written. What the language has no words for, such as a
// counter that one step raises twice, is refused there as it would be refused
// in a file.

// printed writes a machine as a specification, without docs.
func printed(m *spec.Machine) string {
	var p printer
	p.line("fsm: 1\nmachine: %s\nentity: %s", m.Name, m.Entity)
	p.line("requests: {request_id: %s, expected_rev: %s}", demandWords[m.RequestID], demandWords[m.ExpectedRev])
	if m.Otherwise != spec.OtherwiseUnset {
		p.line("otherwise: %s", otherwiseWords[m.Otherwise])
	}
	if len(m.Invariant) > 0 {
		p.line("invariant: %s", factList(m.Invariant))
	}
	p.section("fields", len(m.Fields))
	for _, f := range m.Fields {
		keys := []string{"type: " + typeWords(f.Type)}
		if f.Default != nil {
			keys = append(keys, "default: "+constantWords(*f.Default))
		}
		if len(f.Per) > 0 {
			keys = append(keys, "per: "+bracket(f.Per, func(f *spec.Field) string { return f.Name }))
		}
		if f.HasChangedBy {
			keys = append(keys, "changed_by: "+bracket(f.ChangedBy, func(r *spec.OperationRef) string { return r.Operation.Name }))
		}
		p.entry(f.Name, keys)
	}
	p.section("states", len(m.States))
	for _, s := range m.States {
		p.entry(s.Name, stateKeys(s))
	}
	p.section("guards", len(m.Guards))
	own := p.guards(m)
	p.section("unique", len(m.Unique))
	for _, u := range m.Unique {
		p.entry(u.Name, []string{"fields: " + bracket(u.Fields, fieldWord), "in: " + bracket(u.In, stateWord), "error: " + u.Error})
	}
	p.section("probes", len(m.Probes))
	for _, b := range m.Probes {
		p.entry(b.Name, []string{"doc: a question"})
	}
	p.section("operations", len(m.Operations))
	for _, o := range m.Operations {
		p.entry(o.Name, operationKeys(o, own))
	}
	p.section("forbidden", len(m.Forbidden))
	for _, f := range m.Forbidden {
		from := "from"
		if f.After {
			from = "after"
		}
		p.line("  - {%s: %s, to: %s}", from, f.From.State.Name, f.To.State.Name)
	}
	p.section("steps", len(m.Steps))
	for _, s := range m.Steps {
		p.line("  - {when: %s}", factList(s.When))
	}
	p.projection(m.Projection)
	return p.text.String()
}

type printer struct{ text strings.Builder }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *printer) section(name string, entries int) {
	if entries > 0 {
		p.line("%s:", name)
	}
}

func (p *printer) entry(name string, keys []string) {
	if len(keys) == 0 {
		p.line("  %s: {}", name)
		return
	}
	p.line("  %s:\n    %s", name, strings.Join(keys, "\n    "))
}

// guards writes the guards. Where a mutant changed the facts for one operation,
// that one gets a guard of its own, or the guard when nobody else requires it.
func (p *printer) guards(m *spec.Machine) map[*spec.Requirement]string {
	own := map[*spec.Requirement]string{}
	for _, g := range m.Guards {
		same, changed := 0, []*spec.Requirement(nil)
		of := map[*spec.Requirement]string{}
		for _, o := range m.Operations {
			for _, r := range o.Require {
				switch {
				case r.Guard != g:
				case slices.Equal(guardKeys(g, r), guardKeys(g, plainly(g))):
					same++
				default:
					changed = append(changed, r)
					of[r] = o.Name
				}
			}
		}
		as := plainly(g)
		if same == 0 && len(changed) == 1 {
			as, changed = changed[0], nil
		}
		p.entry(g.Name, guardKeys(g, as))
		for _, r := range changed {
			own[r] = g.Name + "_of_" + of[r]
			p.entry(own[r], guardKeys(g, r))
		}
	}
	return own
}

// plainly is a guard as an operation requires it that no mutant has changed.
func plainly(g *spec.Guard) *spec.Requirement {
	r := &spec.Requirement{Guard: g, When: g.When}
	if g.Peers != nil {
		r.Of, r.Limit = g.Peers.Of, g.Peers.Limit
	}
	return r
}

func guardKeys(g *spec.Guard, r *spec.Requirement) []string {
	keys := []string{"error: " + g.Error}
	switch q := g.Peers; {
	case q == nil:
		keys = append(keys, "when: "+factList(r.When))
	case q.Some:
		keys = append(keys, fmt.Sprintf("some: {same: %s, in: %s}", group(r.Of), bracket(q.In, stateWord)))
	case q.None && q.Than == 1:
		keys = append(keys, fmt.Sprintf("none: {same: %s, in: %s}", group(r.Of), bracket(q.In, stateWord)))
	case r.Limit != nil:
		keys = append(keys, fmt.Sprintf("fewer: {than: %s, same: %s, in: %s}", r.Limit.Left.Text, group(r.Of), bracket(q.In, stateWord)))
	default:
		keys = append(keys, fmt.Sprintf("fewer: {than: %d, same: %s, in: %s}", q.Than, group(r.Of), bracket(q.In, stateWord)))
	}
	return keys
}

// group writes whose records a guard counts.
func group(of []*spec.Fact) string {
	var parts []string
	for _, f := range of {
		value := f.Right.Text
		if f.Right.Kind == spec.TermText {
			value = `"` + value + `"`
		}
		parts = append(parts, f.Left.Field.Name+": "+value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func stateKeys(s *spec.State) (keys []string) {
	list := func(key string, refs []spec.FieldRef) {
		if len(refs) > 0 {
			keys = append(keys, key+": "+bracket(refs, fieldWord))
		}
	}
	list("present", s.Present)
	list("absent", s.Absent)
	if len(s.ShouldPresent)+len(s.ShouldAbsent) > 0 {
		keys = append(keys, fmt.Sprintf("should: {present: %s, absent: %s}", bracket(s.ShouldPresent, fieldWord), bracket(s.ShouldAbsent, fieldWord)))
	}
	if len(s.Invariant) > 0 {
		keys = append(keys, "invariant: "+factList(s.Invariant))
	}
	if s.Terminal {
		keys = append(keys, "terminal: true")
	}
	if s.Final {
		keys = append(keys, "final: true")
	}
	if s.Otherwise != spec.OtherwiseUnset {
		keys = append(keys, "otherwise: "+otherwiseWords[s.Otherwise])
	}
	if len(s.Probes) > 0 {
		keys = append(keys, "probe: "+bracket(s.Probes, func(b *spec.Probe) string { return b.Name }))
	}
	return keys
}

func operationKeys(o *spec.Operation, own map[*spec.Requirement]string) (keys []string) {
	add := func(format string, args ...any) { keys = append(keys, fmt.Sprintf(format, args...)) }
	if o.By != 0 {
		add("by: %s", byWords[o.By])
	}
	if len(o.Creates) > 0 {
		add("creates: %s", bracket(o.Creates, stateWord))
	} else {
		add("from: %s", bracket(o.From, stateWord))
	}
	if o.To != nil {
		add("to: %s", o.To.State.Name)
	}
	if o.Same {
		add("to: same")
	}
	var inputs []string
	for _, in := range o.Inputs {
		if in.Declared {
			inputs = append(inputs, in.Name+": "+typeWords(in.Type))
		}
	}
	if len(inputs) > 0 {
		add("input: {%s}", strings.Join(inputs, ", "))
	}
	if len(o.Require) > 0 {
		add("require: %s", bracket(o.Require, func(r *spec.Requirement) string {
			if name := own[r]; name != "" {
				return name
			}
			return r.Guard.Name
		}))
	}
	if o.OnRefusalRecordOnly {
		add("on_refusal: record_only")
	}
	if len(o.RecordOnlyIn) > 0 {
		add("record_only_in: %s", bracket(o.RecordOnlyIn, stateWord))
	}
	keys = append(keys, effectKeys(&o.Effects)...)
	if o.Event != o.Name {
		add("event: %s", o.Event)
	}
	if d := o.DedupeBy; d != nil {
		add("dedupe_by: %s", bracket(d.Fields, fieldWord))
	}
	if n := o.Next; n != nil {
		var in []string
		if len(n.Where) > 0 {
			in = append(in, "where: "+factList(n.Where))
		}
		if len(n.Order) > 0 {
			in = append(in, "order: "+bracket(n.Order, orderWord))
		}
		add("next: {%s}", strings.Join(in, ", "))
	}
	if e := o.Each; e != nil {
		in := []string{fmt.Sprint("most: ", e.Most)}
		if len(e.Where) > 0 {
			in = append(in, "where: "+factList(e.Where))
		}
		add("each: {%s}", strings.Join(in, ", "))
	}
	if len(o.Triggers) > 0 {
		add("trigger: %s", bracket(o.Triggers, triggerWords))
	}
	for _, key := range askKeys(o.Asks, o.Then) {
		add("%s", key)
	}
	if len(o.Choose) > 0 {
		add("choose:")
		for _, b := range o.Choose {
			add("  - {%s}", strings.Join(branchKeys(b), ", "))
		}
	}
	return keys
}

func branchKeys(b *spec.Branch) (keys []string) {
	if b.From != nil {
		keys = append(keys, "from: "+bracket(b.From, stateWord))
	}
	if len(b.When) > 0 {
		keys = append(keys, "when: "+factList(b.When))
	}
	switch {
	case b.To != nil:
		keys = append(keys, "to: "+b.To.State.Name)
	case b.Same:
		keys = append(keys, "to: same")
	case b.RecordOnly:
		keys = append(keys, "record_only: true")
	default:
		keys = append(keys, "reject: "+b.Reject)
	}
	return append(append(keys, effectKeys(&b.Effects)...), askKeys(b.Asks, b.Then)...)
}

// askKeys writes effects, and what follows the step.
func askKeys(asks []*spec.Effect, then *spec.OperationRef) (keys []string) {
	if len(asks) > 0 {
		keys = append(keys, "effect: "+bracket(asks, func(e *spec.Effect) string {
			key, next := "", ""
			if len(e.Key) > 0 {
				key = ", key: " + bracket(e.Key, fieldWord)
			}
			if e.Then != nil {
				next = ", then: " + e.Then.Operation.Name
			}
			if e.Attempts > 0 {
				next += fmt.Sprintf(", attempts: %d", e.Attempts)
			}
			if e.Failed != nil {
				next += ", failed: " + e.Failed.Operation.Name
			}
			return fmt.Sprintf("{name: %s%s, atomic: %t%s}", e.Name, key, e.Atomic, next)
		}))
	}
	if then != nil {
		keys = append(keys, "then: "+then.Operation.Name)
	}
	return keys
}

func effectKeys(e *spec.Effects) (keys []string) {
	assigns := func(key string, list []spec.Assign) {
		var in []string
		for _, a := range list {
			if a.Default {
				continue
			}
			in = append(in, a.Field.Name+": "+valueWords(a))
		}
		if len(in) > 0 {
			keys = append(keys, key+": {"+strings.Join(in, ", ")+"}")
		}
	}
	assigns("set", e.Set)
	if len(e.Clear) > 0 {
		keys = append(keys, "clear: "+bracket(e.Clear, fieldWord))
	}
	if len(e.Increment) > 0 {
		keys = append(keys, "increment: "+bracket(e.Increment, fieldWord))
	}
	assigns("add", e.Add)
	assigns("remove", e.Remove)
	if len(e.Decrement) > 0 {
		keys = append(keys, "decrement: "+bracket(e.Decrement, fieldWord))
	}
	if len(e.Reset) > 0 {
		keys = append(keys, "reset: "+bracket(e.Reset, fieldWord))
	}
	return keys
}

func (p *printer) projection(q *spec.Projection) {
	if q == nil {
		return
	}
	p.line("projection:\n  entity: %s\n  key: %s", q.Entity, bracket(q.Key, fieldWord))
	p.line("  fields: {%s}", strings.Join(words(q.Fields, func(f *spec.ProjectionField) string {
		if f.Field == nil {
			return f.Name + ": " + f.Agg
		}
		return f.Name + ": " + f.Agg + " " + f.Field.Name
	}), ", "))
	p.line("  rules:")
	for _, r := range q.Rules {
		keys := []string{"state: " + r.State.Name}
		for key, in := range map[string][]spec.StateRef{"any": r.Any, "all": r.All, "none": r.None} {
			if len(in) > 0 {
				keys = append(keys, key+": "+bracket(in, stateWord))
			}
		}
		if r.AtLeast > 0 {
			keys = append(keys, fmt.Sprint("at_least: ", r.AtLeast))
		}
		p.line("    - {%s}", strings.Join(keys, ", "))
	}
	if len(q.Reserved) > 0 {
		p.line("  reserved: %s", bracket(q.Reserved, func(s spec.ProjectedState) string { return s.Name }))
	}
	if len(q.Transitions) > 0 {
		p.line("  transitions:")
		for _, v := range q.Transitions {
			p.line("    - {from: %s, to: %s}", v.From.Name, v.To.Name)
		}
	}
}

var (
	demandWords    = map[spec.Demand]string{spec.Required: "required", spec.Optional: "optional", spec.None: "none"}
	otherwiseWords = map[spec.Otherwise]string{spec.OtherwiseReject: "reject", spec.OtherwiseRecordOnly: "record_only"}
	byWords        = map[spec.Actor]string{spec.ByCaller: "caller", spec.BySystem: "system", spec.ByOperator: "operator"}
	kindWords      = map[spec.Kind]string{
		spec.KindString: "string", spec.KindBool: "bool", spec.KindTime: "time", spec.KindJSON: "json",
		spec.KindCounter: "counter", spec.KindSet: "set", spec.KindSequence: "sequence",
	}
	opWords = map[spec.FactOp]string{
		spec.Eq: "==", spec.Ne: "!=", spec.Lt: "<", spec.Le: "<=", spec.Gt: ">", spec.Ge: ">=",
		spec.In: "in", spec.NotIn: "not in", spec.Covers: "covers",
	}
)

func words[T any](list []T, word func(T) string) (out []string) {
	for _, x := range list {
		out = append(out, word(x))
	}
	return out
}

func bracket[T any](list []T, word func(T) string) string {
	return "[" + strings.Join(words(list, word), ", ") + "]"
}

func fieldWord(r spec.FieldRef) string { return r.Field.Name }
func stateWord(r spec.StateRef) string { return r.State.Name }

func orderWord(x spec.Order) string {
	if x.Descending {
		return "-" + x.Field.Name
	}
	return x.Field.Name
}

func typeWords(t spec.Type) string {
	text, optional := kindWords[t.Kind], t.Optional
	switch t.Kind {
	case spec.KindInt:
		text = "int"
		if t.Min != nil {
			text += fmt.Sprintf(" %d..", *t.Min)
		}
		if t.Max != nil {
			text += fmt.Sprint(*t.Max)
		}
	case spec.KindString:
		if t.Min != nil {
			text += fmt.Sprintf(" %d..", *t.Min)
		}
		if t.Max != nil {
			text += fmt.Sprint(*t.Max)
		}
	case spec.KindDuration:
		t.Optional = false
		text = t.String()
	case spec.KindEnum:
		text = strings.Join(words(t.Values, func(v *spec.EnumValue) string { return v.Name }), "|")
	}
	if optional {
		text = "optional " + text
	}
	return text
}

// factList writes facts from their parts, since a mutant changes those.
func factList(facts []*spec.Fact) string {
	return bracket(facts, func(f *spec.Fact) string {
		switch f.Op {
		case spec.AnyOf:
			return "{any: " + bracket(f.Any, factList) + "}"
		case spec.Present:
			return f.Left.Text + " is present"
		case spec.Absent:
			return f.Left.Text + " is absent"
		}
		return sideWords(f.Left) + " " + opWords[f.Op] + " " + sideWords(f.Right)
	})
}

// sideWords writes a side of a comparison. The parts of a sum may be those of a mutant.
func sideWords(t spec.Term) string {
	if t.Kind == spec.TermSum {
		return partWords(t.Parts)
	}
	return t.Text
}

// partWords writes a sum, a part that is added first.
func partWords(parts []spec.Part) string {
	return spec.SumText(parts, func(t spec.Term) string { return t.Text })
}

// constantWords writes a default.
func constantWords(v spec.Value) string {
	if v.Kind == spec.ValueText {
		return "'" + strings.ReplaceAll(v.Const, "'", "''") + "'"
	}
	return v.Text
}

func valueWords(a spec.Assign) string {
	v := a.Value
	switch v.Kind {
	case spec.ValueInput:
		if v.Input.Name != a.Field.Name || v.Input.Declared {
			return "input." + v.Input.Name
		}
		return "input"
	case spec.ValueInputOrAbsent, spec.ValueInputOrSame, spec.ValueInputOrDefault, spec.ValueInputOrReject:
		input, _, _ := strings.Cut(v.Text, " or ") // a mutant has another kind
		return input + " or " + map[spec.ValueKind]string{
			spec.ValueInputOrAbsent: "absent", spec.ValueInputOrSame: "same", spec.ValueInputOrDefault: "default", spec.ValueInputOrReject: "reject",
		}[v.Kind]
	case spec.ValueField:
		return v.Field.Name
	case spec.ValueActor:
		return "actor"
	case spec.ValueNow:
		return "now" + plus(v.Plus)
	case spec.ValueInt:
		return fmt.Sprint(v.Int)
	case spec.ValueBool:
		return fmt.Sprint(v.Bool)
	case spec.ValueSpan:
		return spec.SpanText(v.Int)
	case spec.ValueSum:
		return partWords(v.Parts)
	}
	return v.Word.Name
}

func triggerWords(t spec.Trigger) string {
	if t.Startup {
		return "startup"
	}
	if t.By != nil {
		return "after " + t.After.Name + " + " + t.By.Name
	}
	return "after " + t.After.Name + plus(t.Plus)
}

func plus(d time.Duration) string {
	switch {
	case d > 0:
		return " + " + spec.SpanText(d.Microseconds())
	case d < 0:
		return " - " + spec.SpanText(-d.Microseconds())
	}
	return ""
}

// What is printed means the same as what was read: else a mutant would be
// judged by another machine's text.
func TestPrinted(t *testing.T) {
	t.Parallel()
	for _, name := range five {
		m := parsed(t, name)
		text := printed(m)
		again, found := spec.Parse(name+".yaml", []byte(text))
		if again == nil || len(found) > 0 {
			t.Errorf("%s: %v\n%s", name, found, text)
			continue
		}
		if again.Hash != m.Hash {
			t.Errorf("%s: the text has another meaning than the machine:\n%s", name, text)
		}
	}
}
