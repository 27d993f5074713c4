package prove

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// mergeKey is what one obligation has in common from all source states: one
// line is at fault, so one finding is enough.
type mergeKey struct {
	pos  spec.Pos
	to   *spec.State
	goal spec.Pos
	left string
}

// failed reports an obligation that does not hold.
func (w *work) failed(s *part, branch *spec.Branch, to *spec.State, record after, g goal, readable bool, against []formula) {
	op := s.op
	effects := &op.Effects
	pos, mark := op.Pos, op.Name
	if branch != nil {
		effects = &branch.Effects
		pos, mark = branch.Pos, ""
		if branch.To != nil {
			pos, mark = branch.To.Pos, branch.To.State.Name
		}
	}
	key, at := culprit(effects, g.fields)
	if g.code == "FSM305" {
		for _, e := range taken(op, branch) {
			if key == "" || e == effects {
				key, at = touched(e, g.fields)
			}
		}
	}
	if key != "" {
		pos, mark = at.Pos, at.Field.Name
	}
	source := "(new)"
	if s.from != nil {
		source = s.from.Name
	}
	same := mergeKey{pos, to, g.pos, g.left}
	if g.low != nil {
		g.ends[0] = s.can([]formula{not(*g.low)}, against[1:])
	}
	if g.high != nil {
		g.ends[1] = s.can([]formula{not(*g.high)}, against[1:])
	}
	if i, ok := w.merged[same]; ok {
		f := &w.report.Findings[i]
		f.Message = strings.Replace(f.Message, " -> ", ", "+source+" -> ", 1)
		if known := w.ends[same]; g.ends[0] && !known[0] || g.ends[1] && !known[1] { // one guard is for all of them
			g.ends = [2]bool{g.ends[0] || known[0], g.ends[1] || known[1]}
			w.ends[same], f.Hint = g.ends, w.wayOut(s, branch, to, g, key, at)
		}
		return
	}
	var hint string
	if g.code == "FSM305" {
		hint = w.keepWayOut(s, branch, g, against[1:], record.read(s.problem), key, at)
	} else {
		hint = w.wayOut(s, branch, to, g, key, at)
	}
	f := Finding{
		Code: g.code, Pos: pos, Mark: mark, Hint: hint, Fix: w.edits(op, branch, g, key, at),
		Message: fmt.Sprintf("%s: %s -> %s can leave %s", op.Name, source, to.Name, g.left),
	}
	if !g.pos.IsZero() {
		f.Related = append(f.Related, spec.Related{Pos: g.pos, Message: g.related})
	}
	if s.touch(); g.long != nil {
		s.long, s.within = g.long, lengthOf(g.fields[0].Type)
		defer func() { s.long = nil }()
	}
	switch v, sol := s.check(against); {
	case v == impossible: // another input or field has no value then
		return
	case !readable:
		f.Related = append(f.Related, spec.Related{Pos: pos, Message: "a number in it is too large for the proof to calculate with"})
	case v == undecided:
		f.Message = strings.Replace(f.Message, " can leave ", " may leave ", 1) + ", which was not decided"
		f.Related = append(f.Related, spec.Related{Pos: pos, Message: "the facts around it have too many cases to decide; it may hold"})
	case !s.told(sol):
		f.Message = strings.Replace(f.Message, " can leave ", " may leave ", 1) + ", which was not decided"
		const part = "a back-off between ends that are no constants is not known after some tries; it may hold"
		f.Related = append(f.Related, spec.Related{Pos: pos, Message: part})
	case s.untold(sol): // the solution does not tell what those numbers are
	default:
		f.Example = w.example(s, to, record, sol)
		f.Example.note(w.about(s, branch, g))
		if g.long != nil {
			f.Example.texts[g.fields[0]] = true
		}
		f.Example.follow(taken(op, branch), g.fields, g.code == "FSM302" || g.code == "FSM305")
	}
	w.merged[same], w.ends[same] = len(w.report.Findings), g.ends
	w.find(f)
}

// about lists the facts that an example should let a reader follow: the one
// that fails, and those about the same fields.
func (w *work) about(s *part, branch *spec.Branch, g goal) []*spec.Fact {
	var list []*spec.Fact
	if g.fact != nil {
		list = append(list, g.fact)
	}
	if branch != nil {
		list = append(list, branch.When...)
	}
	for _, req := range s.op.Require {
		for _, f := range req.When {
			if slices.ContainsFunc(fieldsOf(f), func(f *spec.Field) bool { return slices.Contains(g.fields, f) }) {
				list = append(list, f)
			}
		}
	}
	return list
}

// wayOut says how to make an obligation hold.
func (w *work) wayOut(s *part, branch *spec.Branch, to *spec.State, g goal, key string, at spec.Assign) string {
	op := s.op
	where := op.Name
	if branch != nil {
		where = fmt.Sprintf("the branch in line %d of %s", branch.Pos.Line, op.Name)
	}
	f := g.fields0()
	if key == "set" && g.code == "FSM302" && g.fact == nil && len(at.Value.Parts) == 1 {
		return grownWithin(at)
	}
	if key == "set" && g.code == "FSM302" && at.Value.Kind == spec.ValueSum {
		changed, _ := touched(&op.Effects, at.Value.Fields()) // a branch would read what the operation made of it
		if guard := summed(g, at); guard != "" && (branch == nil || changed != "") {
			return fmt.Sprintf("require a guard with `when: %s`", guard)
		} else if guard != "" && len(branch.When) > 0 {
			return fmt.Sprintf("add `%s` to `when` of %s", guard, where)
		} else if guard != "" {
			return fmt.Sprintf("put `when: %s` into %s, and below it a branch for the other case", guard, where)
		}
	}
	switch {
	case g.code == "FSM302" && g.fact == nil && key == "decrement" && branch == nil:
		return fmt.Sprintf("require a guard with `when: %s >= 1`", f.Name)
	case g.code == "FSM302" && g.fact == nil && key == "decrement":
		return fmt.Sprintf("put a branch with `when: %s == 0` above %s", f.Name, where)
	case g.code == "FSM302" && g.fact == nil && f.Type.HasLength():
		return lengthWayOut(f, g.from)
	case g.code == "FSM302" && g.fact == nil:
		return fmt.Sprintf("require a guard that keeps %s within its bounds, or widen them", f.Name)
	case g.code == "FSM302" && key == "" && s.from != nil && branch == nil:
		return fmt.Sprintf("require a guard with `when: %s`, or make it an invariant of %s", g.fact.Written(), s.from.Name)
	case key == "reset" && (g.present || g.code == "FSM302"):
		return fmt.Sprintf("take %s out of `reset` of %s, or weaken what %s promises", at.Field.Name, where, to.Name)
	case g.code == "FSM302" && branch != nil && key != "increment":
		if len(branch.When) == 0 { // the last one: what it does not take would be taken by none
			return fmt.Sprintf("put a branch above %s for the case in which `%s` is false, or weaken the invariant", where, g.fact.Text)
		}
		return fmt.Sprintf("add `%s` to `when` of %s, or weaken the invariant", g.fact.Written(), where)
	case g.code == "FSM302" && s.from == nil:
		return fmt.Sprintf("let %s set fields so that `%s` holds, or require a guard on its inputs", op.Name, g.fact.Text)
	case g.code == "FSM302":
		return fmt.Sprintf("require a guard that makes `%s` true after `%s` of %s, or promise in `invariant` of %s what rules this record out, or weaken the invariant",
			g.fact.Text, key, at.Field.Name, s.from.Name)
	case g.present && at.Value.Kind == spec.ValueInputOrAbsent:
		return fmt.Sprintf("write `%s: input`, or require a guard with `when: input.%s is present`", f.Name, at.Value.Input.Name)
	case g.present && key == "clear":
		return fmt.Sprintf("take %s out of `clear` of %s", f.Name, where)
	case g.present && key == "set" && at.Value.Input != nil:
		return fmt.Sprintf("require a guard with `when: input.%s is present`, or weaken the promise: take %s out of `present` of %s", at.Value.Input.Name, f.Name, to.Name)
	case g.present && key == "set":
		return fmt.Sprintf("set %s to a value that is always there", f.Name)
	case g.present && f.Type.Kind == spec.KindSet:
		return fmt.Sprintf("add a member to %s in %s, or require a guard with `when: %s is present`", f.Name, where, f.Name)
	case g.present && branch != nil && len(branch.When) == 0:
		return fmt.Sprintf("set %s in %s, or put a branch above it for the case in which %[1]s is absent", f.Name, where)
	case g.present && branch != nil:
		return fmt.Sprintf("set %s in %s, or add `%[1]s is present` to its `when`", f.Name, where)
	case g.present && s.from != nil && promises(s.from.Absent, f):
		return fmt.Sprintf("set %s in %s: a guard would never pass, because %s promises it absent", f.Name, where, s.from.Name)
	case g.present && s.from != nil:
		return fmt.Sprintf("set %s in %s, or require a guard with `when: %[1]s is present`, or promise it before: add %[1]s to `present` of %[3]s", f.Name, where, s.from.Name)
	case g.present:
		return fmt.Sprintf("set %s in %s, or require a guard with `when: %[1]s is present`", f.Name, where)
	case key != "":
		return fmt.Sprintf("remove the `%s` of %s, or take %[2]s out of `absent` of %s", key, f.Name, to.Name)
	case f.Type.Optional:
		return fmt.Sprintf("add %s to `clear:` of %s", f.Name, where)
	}
	return fmt.Sprintf("add %s to `reset:` of %s", f.Name, where)
}

// grownWithin says how a length that grows stays within the bounds of its field.
func grownWithin(at spec.Assign) string {
	b, asked := at.Value.Parts[0].Term.Backoff, at.Field.Type.Asked()
	base, longest := b.Base.Text, b.Max.Text
	if b.Base.Kind == spec.TermSpan && b.Base.Int < *asked.Min {
		base = spec.SpanText(*asked.Min)
	}
	if b.Max.Kind == spec.TermSpan && asked.Max != nil && b.Max.Int > *asked.Max {
		longest = spec.SpanText(*asked.Max)
	}
	if base == b.Base.Text && longest == b.Max.Text {
		return fmt.Sprintf("give both ends of the back-off bounds within those of %s, or widen these", at.Field.Name)
	}
	return fmt.Sprintf("write `backoff %s to %s by %s`, or widen the bounds of %s", base, longest, b.By.Name, at.Field.Name)
}

// summed is the fact that, known before the step, makes a goal hold of a field that becomes a sum;
// empty where no single fact says so.
func summed(g goal, at spec.Assign) string {
	sum := at.Value.Text
	if g.fact == nil {
		var list []string
		asked := at.Field.Type.Asked()
		if at.Field.Type.Kind == spec.KindCounter {
			asked.Min = new(int64)
		}
		if g.ends[0] {
			list = append(list, leastOf(at, *asked.Min))
		}
		if g.ends[1] {
			list = append(list, sum+" <= "+numberText(at.Field.Type.Kind, *asked.Max))
		}
		if len(list) == 1 {
			return list[0]
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	op, _, found := strings.Cut(strings.TrimPrefix(g.fact.Text, g.fact.Left.Text+" "), " ")
	left, right := g.fact.Left, g.fact.Right
	is := func(t spec.Term) bool { return t.Field == at.Field }
	switch {
	case !found || g.fact.Op == spec.AnyOf:
	case left.Kind == spec.TermField && is(left) && !slices.ContainsFunc(right.Names(), is):
		return sum + " " + op + " " + right.Text
	case right.Kind == spec.TermField && is(right) && !slices.ContainsFunc(left.Names(), is):
		return left.Text + " " + op + " " + sum
	}
	return ""
}

// lengthWayOut says how a field can take a text of any length that the value has.
func lengthWayOut(f *spec.Field, v spec.Value) string {
	into := lengthOf(f.Type)
	give := func(f *spec.Field, s span) string {
		return fmt.Sprintf("give %s the type `%s`", f.Name, s.typed(f.Type))
	}
	if v.Kind == spec.ValueActor {
		return fmt.Sprintf("%s: an actor has 1 to %d characters", give(f, into.either(span{1, spec.MaxActor})), spec.MaxActor)
	}
	from := lengthOf(v.Field.Type)
	if from.apart(into) {
		return give(f, into.either(from))
	}
	return give(f, into.either(from)) + ", or " + give(v.Field, into.both(from))
}

// edits are the way out where it is one: a `clear` is too much, or one is missing.
func (w *work) edits(op *spec.Operation, branch *spec.Branch, g goal, key string, at spec.Assign) []spec.Edit {
	f := g.fields0()
	switch {
	case g.code != "FSM301":
		return nil
	case g.present && key == "clear":
		return w.m.Without(at.Pos)
	case g.present || key != "" || !f.Type.Optional:
		return nil
	}
	beside, cleared := op.To, op.Effects.Clear
	if branch != nil {
		beside, cleared = branch.To, branch.Effects.Clear
	}
	switch {
	case len(cleared) > 0:
		return w.m.Beside(cleared[len(cleared)-1].Pos, f.Name)
	case beside != nil:
		return w.m.After(beside.Pos, "clear: ["+f.Name+"]")
	}
	return nil
}

func promises(refs []spec.FieldRef, f *spec.Field) bool {
	return slices.ContainsFunc(refs, func(r spec.FieldRef) bool { return r.Field == f })
}

// fields0 is the field that a goal of presence or bounds is about.
func (g goal) fields0() *spec.Field {
	if len(g.fields) == 0 {
		return &spec.Field{}
	}
	return g.fields[0]
}

// gap reports a record that no branch takes.
func (w *work) gap(s *part, above []*spec.Branch, record after, sol *solution) {
	w.gaps = true
	op := s.op
	in := ""
	if s.from != nil && len(op.From) > 1 {
		in = " in state " + s.from.Name
	}
	f := Finding{Code: "FSM203", Pos: op.Pos, Mark: op.Name, Hint: "add a last branch without `when`"}
	for _, b := range above {
		text := "a branch without `when`"
		if len(b.When) > 0 {
			text = "taken when `" + factsText(b.When) + "`"
		}
		f.Related = append(f.Related, spec.Related{Pos: b.Pos, Message: text})
	}
	switch {
	case len(above) == 0:
		f.Message = fmt.Sprintf("%s: no branch is for state %s", op.Name, source(s))
		f.Hint = "list the state under `from` of a branch, or add a last branch without `from` and `when`"
	case sol == nil || s.untold(sol):
		f.Message = fmt.Sprintf("%s: the branches%s are not known to cover every record", op.Name, in)
	default:
		f.Message = fmt.Sprintf("%s: no branch is taken%s when %s", op.Name, in, w.region(s, above, record, sol))
		f.Example = w.example(s, nil, record, sol)
		for _, b := range above {
			f.Example.note(b.When)
		}
		f.Example.follow(taken(op, nil), nil, true)
	}
	w.find(f)
}

func source(s *part) string {
	if s.from == nil {
		return "(new)"
	}
	return s.from.Name
}

// region says in which region of the facts of the branches a record lies.
func (w *work) region(s *part, branches []*spec.Branch, record after, sol *solution) string {
	read := record.read(s.problem)
	v := s.world(sol, w.words)
	var parts []string
	say := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	for _, b := range branches {
		for _, f := range spec.Leaves(b.When) {
			left, right := v.datum(s.term(f.Left, read)), Datum{}
			unary := f.Op == spec.Present || f.Op == spec.Absent
			if !unary {
				right = v.datum(s.term(f.Right, read))
			}
			switch {
			case f.Op == spec.In || f.Op == spec.NotIn || f.Op == spec.Covers:
				holds, _ := s.fact(f, read)
				if v.holds(holds) {
					say("%s", f.Text)
				} else {
					say("not %s", f.Text)
				}
			case !left.Present:
				say("%s is absent", f.Left.Text)
			case unary:
				say("%s is present", f.Left.Text)
			case !right.Present:
				say("%s is absent", f.Right.Text)
			case f.Right.IsConst():
				say("%s == %s", f.Left.Text, show(left, true))
			default:
				say("%s %s %s", f.Left.Text, relation(v.number(s.term(f.Left, read)), v.number(s.term(f.Right, read))), f.Right.Text)
			}
		}
	}
	return strings.Join(parts, " and ")
}

func relation(a, b int64) string {
	switch {
	case a < b:
		return "<"
	case a > b:
		return ">"
	}
	return "=="
}

// Before renders the record before the failing step, and what came with it.
func (f *Finding) Before(m *spec.Machine) string {
	if f.Example == nil {
		return ""
	}
	return f.Example.before(m)
}

// After renders the record after the failing step, if there is one.
func (f *Finding) After(m *spec.Machine) string {
	if f.Example == nil || f.Example.To == nil {
		return ""
	}
	return f.Example.record(m, f.Example.After)
}

// leastOf writes that what is set to a field is at least a number. Of a length between two
// times it says which one comes first.
func leastOf(at spec.Assign, least int64) string {
	parts := at.Value.Parts
	if at.Field.Type.Kind == spec.KindDuration && least == 0 && len(parts) == 2 && parts[1].Minus {
		return parts[0].Term.Text + " >= " + parts[1].Term.Text
	}
	return at.Value.Text + " >= " + numberText(at.Field.Type.Kind, least)
}

// numberText writes a constant of a kind.
func numberText(k spec.Kind, n int64) string {
	if k == spec.KindDuration {
		return spec.SpanText(n)
	}
	return strconv.FormatInt(n, 10)
}
