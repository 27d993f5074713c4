package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// triggerRules look at what fires operations and picks records.
var triggerRules = []Rule{
	{
		Code: "FSM206", Name: "trigger that never succeeds", Severity: spec.Error, Run: deadTrigger,
		Doc: `The sweeper fires the operation once the deadline is past. In every source state the deadline is absent then, or a guard of the
operation asks for the opposite: that it is not past yet. Or the operation needs an actor, and a trigger has none. So the operation
is never run, and what it should end goes on forever. Usually a comparison is reversed, or names the wrong field. At the very instant
` + "`issued + grace`" + ` is past: ` + "`now < issued + grace`" + ` fails, and ` + "`after issued + grace`" + ` is due.`,
	},
	{
		Code: "FSM207", Name: "trigger that fires again at once", Severity: spec.Warning, Run: restless, Allow: true,
		Doc: `The sweeper fires the operation once the deadline is past, and the operation leaves the record in a state where the same
deadline fires it: each sweep makes one more revision and one more event, with nothing between them. The deadline is left as it is, or
set to ` + "`now`" + ` or before. Move the deadline ahead, clear it, or lead to a state that is not under ` + "`from`" + `.`,
	},
	{
		Code: "FSM609", Name: "deadline that a caller sets freely", Severity: spec.Info, Run: freeDeadline, Allow: true,
		Doc: `A fact about who is trusted, and not a fault. A caller brings the deadline, and no guard bounds it from above: one call with a clock
that is ten years ahead keeps the sweeper away for ten years. Where the machine knows how long, write ` + "`now + 1m`" + ` instead of ` + "`input`" + `.
Or let a guard ask that the input is below a field. A length that the caller brings gets bounds: ` + "`duration 1s..1h`" + `. Where the callers are trusted, say so by ` + "`allow: {FSM609: <why>}`" + ` in the head
of the file.`,
	},
	{
		Code: "FSM605", Name: "pick without an order", Severity: spec.Warning, Run: unorderedPick, Allow: true,
		Doc: `Without ` + "`order`" + ` the store picks by id, and ids say nothing about who waits longest: while others come in, a record may never
have its turn. Write ` + "`next: {order: [created_at]}`" + `, or the field that says what is due first.`,
	},
	{
		Code: "FSM606", Name: "pick that meets the same records again", Severity: spec.Info, Run: metAgain,
		Doc: `A fact about the cost of a machine, and not a fault. A store sets aside a record that a pick cannot take, so that
it costs one pick and not each. Where the actor decides, or an input in another way than by ` + "`==`" + `, the next call may take the record.
So every pick looks at it again. The same holds for ` + "`none`" + ` and ` + "`fewer`" + ` over states that the operation picks from,
since a record might stand in its own way. A pick then takes longer with each such record in front of the one that it takes.
Compare a field with ` + "`==`" + `, so that an index serves it, or keep few such records.`,
	},
}

func deadTrigger(p *Pass) {
	for _, op := range p.Machine.Operations {
		if at, ok := needsActor(op); ok && len(op.Triggers) > 0 && op.By == spec.ByCaller {
			t := op.Triggers[0]
			p.report(finding{
				pos: t.Pos, mark: t.Text, related: also(at, "the actor is needed here"),
				hint: "make an operation of its own for the trigger, with `by: system` and without the actor",
			}, "nothing ever fires %s: a trigger has no actor, and %s needs one", op.Name, op.Name)
			continue
		}
		for _, t := range op.Triggers {
			if t.After == nil || len(op.From) == 0 {
				continue
			}
			at := finding{pos: t.Pos, mark: t.Text}
			for _, r := range op.Require {
				if i := slices.IndexFunc(r.When, func(x *spec.Fact) bool { return notPast(x, t) }); i >= 0 {
					at.hint = fmt.Sprintf("turn the comparison in %s around, or name another field under `trigger`", r.Guard.Name)
					at.related = also(r.When[i].Pos, "guard %s asks for it here", r.Guard.Name)
					p.report(at, "%s is fired when %s is past, and requires `%s`", op.Name, deadline(t), r.When[i].Text)
				}
			}
			gone := absentPart(op.From[0].State, t)
			if !slices.ContainsFunc(op.From, func(s spec.StateRef) bool { return absentPart(s.State, t) == nil }) {
				at.hint = "name a field that is present in " + stateNames(op.From)
				at.related = also(op.From[0].State.Pos, "%s is declared here", op.From[0].State.Name)
				p.report(at, "nothing ever fires %s, `%s`: %s is absent in %s", op.Name, t.Text, gone.Name, stateNames(op.From))
			}
		}
	}
}

// needsActor returns where an operation reads the actor.
func needsActor(op *spec.Operation) (spec.Pos, bool) {
	asked := facts(op)
	for _, r := range op.Require {
		asked = slices.Concat(r.Reads(), asked)
	}
	for _, f := range asked {
		if pos, ok := actorIn(f); ok {
			return pos, true
		}
	}
	for _, e := range effects(op) {
		for _, a := range e.effects.Assigned() {
			if a.Value.Kind == spec.ValueActor {
				return a.Value.Pos, true
			}
		}
	}
	return spec.Pos{}, false
}

// needed lists the facts of the guards of an operation.
func needed(op *spec.Operation) []*spec.Fact {
	var list []*spec.Fact
	for _, r := range op.Require {
		list = append(list, r.When...)
	}
	return list
}

// restless reports a trigger that is due again as soon as it was fired: the
// record is where it was, and so is the deadline. What a step changes may be
// what a guard or a branch looks at; then the next call may be another one.
func restless(p *Pass) {
	for _, op := range p.Machine.Operations {
		for _, t := range op.Triggers {
			if t.After == nil || t.After.Builtin && t.After.Name == "updated_at" {
				continue
			}
			for _, v := range op.Moves() {
				if !listed(v.To, op.From) || absentPart(v.To, t) != nil || !endless(op, v, t) {
					continue
				}
				if a := setIn(op, v, t.After); a != nil {
					p.report(finding{
						pos: t.Pos, mark: t.Text, related: also(a.Pos, "the record is due again at once"),
						hint: fmt.Sprintf("set %s to an instant that is still to come, such as `now + 5m`, "+
							"or lead to a state that is not under its `from`", t.After.Name),
					}, "%s is fired after %s, and sets %s to `%s` in %s: each sweep fires it again",
						op.Name, deadline(t), t.After.Name, a.Value.Text, v.To.Name)
					break
				}
				p.report(finding{
					pos: t.Pos, mark: t.Text, related: also(v.Pos, "the record stays due in %s", v.To.Name),
					hint: fmt.Sprintf("set or clear %s in %s, or lead to a state that is not under its `from`", t.After.Name, op.Name),
				}, "%s is fired after %s, and leaves %s as it is in %s: each sweep fires it again", op.Name, deadline(t), t.After.Name, v.To.Name)
				break
			}
		}
	}
}

// setIn returns what a move sets a field to in the end.
func setIn(op *spec.Operation, v spec.Move, f *spec.Field) *spec.Assign {
	list := [][]spec.Assign{op.Effects.Set}
	if v.Branch != nil {
		list = append(list, v.Branch.Effects.Set)
	}
	for _, set := range slices.Backward(list) {
		if i := slices.IndexFunc(set, func(a spec.Assign) bool { return a.Field == f }); i >= 0 {
			return &set[i]
		}
	}
	return nil
}

func absentIn(s *spec.State, f *spec.Field) bool {
	return slices.ContainsFunc(s.Absent, func(r spec.FieldRef) bool { return r.Field == f })
}

// endless reports whether nothing that a move changes can keep the next call of
// the operation from being the same.
func endless(op *spec.Operation, v spec.Move, t spec.Trigger) bool {
	if op.Follower(v.Branch) != nil { // which leads on, or its own refusal is told
		return false
	}
	changed := map[*spec.Field]bool{}
	list := []*spec.Effects{&op.Effects}
	if v.Branch != nil {
		list = append(list, &v.Branch.Effects)
	}
	for _, e := range list {
		for _, a := range e.Assigned() {
			changed[a.Field] = true
		}
		for _, r := range e.Named() {
			changed[r.Field] = true
		}
	}
	switch a := setIn(op, v, t.After); {
	case changed[t.By]:
		return false
	case a != nil && !atOnce(t, a.Value), a == nil && changed[t.After]:
		return false
	}
	for _, r := range op.Require {
		if r.Guard.Peers != nil {
			return false
		}
	}
	reads := func(t spec.Term) bool {
		return t.Kind == spec.TermField && changed[t.Field] || t.Kind == spec.TermInput || t.Kind == spec.TermActor
	}
	asked := spec.Leaves(slices.Concat(needed(op), facts(op)))
	return !slices.ContainsFunc(asked, func(f *spec.Fact) bool { return slices.ContainsFunc(f.Names(), reads) })
}

const trustClocks = "where the callers and their clocks are trusted, write `allow: {FSM609: <why>}` in the head of the file"

// freeDeadline lists the deadlines that a caller may set to any instant, or far ahead.
func freeDeadline(p *Pass) {
	for _, f := range p.Machine.Fields {
		fires := slices.ContainsFunc(p.Machine.Operations, func(op *spec.Operation) bool {
			return slices.ContainsFunc(op.Triggers, func(t spec.Trigger) bool { return waitsFor(t, f) })
		})
		if !fires {
			continue
		}
		var anyTime, far []string // the operations that do
		var lengths []string      // what has no bounds
		for _, op := range p.Machine.Operations {
			if op.By == spec.BySystem {
				continue
			}
			names, between := setFreely(op, f)
			switch {
			case between != "" && f.Type.Kind == spec.KindDuration:
				p.report(finding{
					pos: f.Pos, mark: f.Name,
					hint: fmt.Sprintf("let %s require a guard such as `when: %s <= 1h`; %s", op.Name, between, trustClocks),
				}, "the caller of %s sets the deadline %s up to 100 years ahead", op.Name, f.Name)
			case between != "":
				anyTime = append(anyTime, op.Name)
			case len(names) > 0:
				far = append(far, op.Name)
				lengths = append(lengths, names...)
			}
		}
		if anyTime != nil {
			p.report(finding{pos: f.Pos, mark: f.Name, hint: trustClocks},
				"the caller of %s sets the deadline %s to any instant", strings.Join(anyTime, ", "), f.Name)
		}
		if far == nil {
			continue
		}
		slices.Sort(lengths)
		lengths = slices.Compact(lengths)
		bound := "bound " + lengths[0] + " by its type"
		if n := len(lengths) - 1; n > 0 {
			bound = "bound " + strings.Join(lengths[:n], ", ") + " and " + lengths[n] + " by their types"
		}
		p.report(finding{pos: f.Pos, mark: f.Name, hint: bound + ", such as `duration 1s..1h`; " + trustClocks},
			"the caller of %s sets the deadline %s up to 100 years ahead", strings.Join(far, ", "), f.Name)
	}
}

// setFreely tells what an operation takes from its caller for a deadline, where neither a guard nor
// a type bounds it: the names of lengths, or the value that an instant of the caller's makes. What is
// taken off moves a deadline back, unless it is the instant that a length begins with.
func setFreely(op *spec.Operation, f *spec.Field) (lengths []string, instant string) {
	if f.Type.Kind == spec.KindDuration && *f.Type.Max < spec.MaxSpan {
		return nil, ""
	}
	free := func(t spec.Term, minus bool) bool {
		in := t.Input
		if in == nil || minus && in.Type.Kind == spec.KindDuration || !minus && in.Type.Kind == spec.KindDuration && *in.Type.Max < spec.MaxSpan {
			return false
		}
		reads := func(t spec.Term, minus bool) bool {
			return t.Input == in && !minus || slices.ContainsFunc(t.Parts, func(p spec.Part) bool { return p.Term.Input == in && p.Minus == minus })
		}
		return !slices.ContainsFunc(needed(op), func(x *spec.Fact) bool {
			below := x.Op == spec.Lt || x.Op == spec.Le || x.Op == spec.Eq
			above := x.Op == spec.Gt || x.Op == spec.Ge || x.Op == spec.Eq
			return below && (reads(x.Left, minus) || reads(x.Right, !minus)) || above && (reads(x.Right, minus) || reads(x.Left, !minus))
		})
	}
	for _, e := range effects(op) {
		for _, a := range e.effects.Set {
			if a.Field != f {
				continue
			}
			take := func(in *spec.Input, name string) {
				if lengths = append(lengths, name); in.Type.Kind == spec.KindTime {
					instant = a.Value.Text
				}
			}
			if in := a.Value.Input; in != nil && free(spec.Term{Input: in}, false) {
				take(in, f.Name)
			}
			for _, part := range a.Value.Parts {
				t := part.Term
				if t.Kind == spec.TermBackoff { // it never grows beyond its end
					t = t.Backoff.Max
				}
				if free(t, part.Minus) {
					take(t.Input, t.Text)
				}
			}
		}
	}
	return lengths, instant
}

func unorderedPick(p *Pass) {
	for _, op := range p.Machine.Operations {
		if op.Next != nil && len(op.Next.Order) == 0 {
			p.report(finding{pos: op.Next.Pos, hint: "add `order: [created_at]`, or the field that says what is due first"},
				"%s picks by id: nothing says which record comes first", op.Name)
		}
	}
}

// metAgain tells which records no store can set aside for an operation that picks.
func metAgain(p *Pass) {
	for _, op := range p.Machine.Operations {
		if op.Next == nil {
			continue
		}
		tell := func(pos spec.Pos, mark, why string) {
			p.report(finding{pos: pos, mark: mark, hint: "nothing to fix while such records are few; a field compared by `==` is served by an index"},
				"each pick of %s looks again at the records that `%s` refuses: %s", op.Name, mark, why)
		}
		for _, f := range op.Next.Where {
			if how, why := f.Parked(); how == spec.ParkedByNothing {
				tell(f.Pos, f.Text, why)
			}
		}
		for _, r := range op.Require {
			if g := r.Guard.Peers; g != nil {
				if why := op.ParkedForPeers(g); why != "" {
					tell(r.Pos, r.Guard.Name, why)
				}
				continue
			}
			for _, f := range r.When {
				if how, why := f.Parked(); how == spec.ParkedByNothing {
					tell(r.Pos, r.Guard.Name, why)
					break
				}
			}
		}
	}
}
