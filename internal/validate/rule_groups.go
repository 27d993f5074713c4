package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/count"
	"github.com/fsmgen/fsmgen/spec"
)

// groupRules look at what holds across the records of a group: `unique` and the
// guards that count other records. What they say is proven by counting, so it
// holds for any number of records.
var groupRules = []Rule{
	{
		Code: "FSM510", Name: "group guard whose group is never there", Severity: spec.Error, Run: neverRefuses,
		Doc: "`none`, `fewer` and `some` look for other records with the values of the *stored* record. A record in which a field under\n" +
			"`same` is absent is in no group. Where each source state has such a field, or a creation does not set it, the guard lets every\n" +
			"call in: a limit of ten loans never refuses where the copy on the shelf stores no reader. `some` refuses every call there.\n" +
			"Write whose records count, as in `same: {borrower: actor}` or `same: {borrower: input.reader}`. Or let an operation before\n" +
			"store that. In a creation `same: f` means the value that is set.",
	},
	{
		Code: "FSM505", Name: "how a `unique` is kept", Severity: spec.Info, Run: carriesUnique, Asked: true,
		Doc: "A fact about the machine, and nothing to fix; `fsmgen check -v` prints it. A `unique` always holds, since the store keeps it by an\n" +
			"index. Where the `none` and `fewer` guards alone keep a second record out, the index is a second line of defence: callers never\n" +
			"meet its refusal. Where they do not, the index alone carries the promise, and the step that would break it is named: callers must\n" +
			"expect the refusal there. Either holds for any number of records. Guards on fields, owners and clocks count for nothing here, and\n" +
			"neither do those whose group or limit the call tells, or another field: `same: {owner: actor}`, `than: most`.",
	},
	{
		Code: "FSM509", Name: "what ends what `some` relied on", Severity: spec.Info, Run: endsReliance, Asked: true,
		Doc: "A fact about the machine, and nothing to fix; `fsmgen check -v` prints it. A guard with `some` holds at the commit of the step\n" +
			"that requires it, and not afterwards. The operation that is named may take the last record of a group out of the states, or to\n" +
			"another group. It does not ask whether another one is there. Where one must always stay, require such a guard in it, too. The\n" +
			"operation takes the lock of the group either way, so it waits for the steps that rely on its record.",
	},
	{
		Code: "FSM506", Name: "`none` guard without `unique`", Severity: spec.Warning, Run: guardWithoutUnique, Allow: true,
		Doc: "A guard with `none` looks at the other records when it decides. It does not see a record that another program\n" +
			"or a repair adds in between. A `unique` over the same states is an index, which every writer must keep. Add one; guard and index\n" +
			"may share the error. Where several records may be there and only this call wants none, write `fewer: {than: 1, ...}`: it asks\n" +
			"the same and needs no `unique`.",
	},
	{
		Code: "FSM507", Name: "rules across records with different keys", Severity: spec.Warning, Run: differentKeys, Allow: true,
		Doc: "Rules across records are proven for one group at a time: the records that share the key. A guard that counts by one field and a\n" +
			"`unique` over the same states by another are about different groups, so neither backs the other; a projection by a third\n" +
			"field gains nothing from either. Use the same fields, unless the rules mean different things on purpose.",
	},
	{
		Code: "FSM508", Name: "guard and `unique` that do not agree", Severity: spec.Warning, Run: differentPromise, Allow: true,
		Doc: "A guard that counts other records and a `unique` share a key and an error, so callers take the two for one promise: the guard\n" +
			"refuses early, the index is the net. But they are about different states, or the guard lets in what the index refuses. Then some\n" +
			"callers do their work first and are refused at its end. Or the guard refuses a record that the index would allow. Let\n" +
			"both name the same states, or give each an error of its own.",
	},
}

func neverRefuses(p *Pass) {
	for _, op := range p.Machine.Operations {
		for _, r := range op.Require {
			if r.Guard.Peers == nil {
				continue
			}
			why, way := noGroup(op, r.Of), "store it in an operation before"
			if why == "" {
				continue
			}
			if len(op.Creates) > 0 {
				way = "set it there"
			}
			hint := fmt.Sprintf("decide by which stored field the records are counted, and %s", way)
			if same := meantGroup(p.Machine, op, r); same != "" {
				hint = fmt.Sprintf("write `same: %s` in %s", same, r.Guard.Name)
			}
			does := "never"
			if r.Guard.Peers.Some {
				does = "always"
			}
			p.report(finding{pos: r.Pos, mark: r.Guard.Name, related: also(r.Guard.Peers.Pos, "the group is named here"),
				hint: hint + fmt.Sprintf("; else take %s out of `require` of %s", r.Guard.Name, op.Name)},
				"%s %s refuses %s: %s, and a record without it is in no group", r.Guard.Name, does, op.Name, why)
		}
	}
}

// meantGroup writes the group of a guard with the values that an operation sets in the place
// of its own; empty where it sets none, or where another operation that asks the guard has no
// such value.
func meantGroup(m *spec.Machine, op *spec.Operation, r *spec.Requirement) string {
	of, changed := slices.Clone(r.Of), false
	for i, f := range of {
		for _, a := range op.Effects.Set {
			v := a.Value
			if a.Field != f.Right.Field {
				continue
			}
			known := func(o *spec.Operation) bool {
				asks := slices.ContainsFunc(o.Require, func(q *spec.Requirement) bool { return q.Guard == r.Guard })
				return !asks || v.Kind == spec.ValueActor && o.By != spec.BySystem || v.Input != nil && o.Input(v.Input.Name) != nil
			}
			if slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return !known(o) }) {
				continue
			}
			meant := *f
			if meant.Right = (spec.Term{Kind: spec.TermActor, Text: "actor"}); v.Input != nil {
				meant.Right = spec.Term{Kind: spec.TermInput, Text: "input." + v.Input.Name}
			}
			of[i], changed = &meant, true
		}
	}
	if !changed {
		return ""
	}
	return sameText(&spec.Peers{Same: r.Guard.Peers.Same, Of: of})
}

// sameText writes the group of a guard as the language does.
func sameText(p *spec.Peers) string {
	if p.Own() {
		return bracketed(p.Same)
	}
	var parts []string
	for _, f := range p.Of {
		value := f.Right.Text
		if f.Right.Kind == spec.TermText {
			value = `"` + value + `"`
		}
		parts = append(parts, f.Left.Field.Name+": "+value)
	}
	return "{" + commas(parts) + "}"
}

// noGroup says why a guard of the operation counts nobody whenever it is asked, or "".
func noGroup(op *spec.Operation, of []*spec.Fact) string {
	of = slices.DeleteFunc(slices.Clone(of), func(f *spec.Fact) bool { return f.Right.Field == nil })
	if len(op.Creates) > 0 {
		for _, x := range of {
			if f := x.Right.Field; f.Type.Optional && !sets(&op.Effects, f) {
				return fmt.Sprintf("the creation does not set %s", f.Name)
			}
		}
		return ""
	}
	var why []string
	for _, s := range op.From {
		i := slices.IndexFunc(of, func(x *spec.Fact) bool {
			f := x.Right.Field
			says := func(x *spec.Fact) bool { return x.Op == spec.Absent && x.Left.Field == f }
			return absentIn(s.State, f) || slices.ContainsFunc(s.State.Invariant, says) || slices.ContainsFunc(needed(op), says)
		})
		if i < 0 {
			return ""
		}
		why = append(why, fmt.Sprintf("the stored %s is absent in %s", of[i].Right.Field.Name, s.State.Name))
	}
	return enumerate(why, "and")
}

func carriesUnique(p *Pass) {
	m := p.Machine
	for i, u := range m.Unique {
		walk := guardsAlone(m, i)
		step, broken := walk.Broken[u]
		at := finding{pos: u.Pos, mark: u.Name, hint: "nothing to fix: the index is a second line of defence"}
		switch {
		case broken:
			at.hint = "nothing to fix: callers meet the refusal " + u.Error + " there; a `none` guard would tell them earlier"
			p.report(at, "%s: holds by the index only; without it %s could lead from %s to %s", u.Name, step.Op.Name, step.Before, step.After)
		case !walk.Complete:
			at.hint = "nothing to fix: the index keeps it"
			p.report(at, "%s: holds by the index; whether the guards alone carry it is not decided, there are more than %d kinds of groups", u.Name, walk.Groups-1)
		default:
			p.report(at, "%s: holds for any number of records even without the index", u.Name)
		}
	}
}

// guardsAlone walks through the groups of a `unique` with no index at all.
func guardsAlone(m *spec.Machine, unique int) count.Walk {
	return count.Explore(m, m.Unique[unique].Fields, false)
}

// peers lists the guards of the machine that count other records.
func peers(m *spec.Machine) []*spec.Guard {
	var list []*spec.Guard
	for _, g := range m.Guards {
		if g.Peers != nil {
			list = append(list, g)
		}
	}
	return list
}

// backing looks for a `unique` that covers the states of a guard: one over the
// same key, or over a part of it or more, and one over another.
func backing(m *spec.Machine, g *spec.Guard) (same, other *spec.Unique) {
	for _, u := range m.Unique {
		covers := true
		for _, s := range g.Peers.In {
			covers = covers && listed(s.State, u.In)
		}
		switch {
		case !covers:
		case count.Key(u.Fields).Same(g.Peers.Same):
			same = u
		case count.Key(u.Fields).Within(g.Peers.Same), count.Key(g.Peers.Same).Within(u.Fields):
			if same == nil {
				same = u
			}
		case other == nil:
			other = u
		}
	}
	return same, other
}

func guardWithoutUnique(p *Pass) {
	for _, g := range peers(p.Machine) {
		if same, other := backing(p.Machine, g); !g.Peers.None || same != nil || other != nil && g.Peers.Own() {
			continue // with another key: FSM507 speaks of it
		}
		hint := fmt.Sprintf("add `unique: {...: {fields: [%s], in: [%s], error: %s}}`, or write `fewer: {than: 1, ...}` when several are allowed there",
			count.Key(g.Peers.Same), stateNames(g.Peers.In), g.Error)
		if op := without(p.Machine, g); op != nil {
			hint = fmt.Sprintf("write `fewer: {than: 1, ...}`: %s leads there without the guard, so several are allowed; else require it there and add a `unique`", op.Name)
		}
		if !g.Peers.Own() { // an index would keep more out than these
			hint = "write `fewer: {than: 1, ...}`: an index cannot tell which group the call means"
		}
		p.report(finding{pos: g.Pos, mark: g.Name, hint: hint},
			"%s has no matching `unique`: no index keeps a second record out of %s", g.Name, stateNames(g.Peers.In))
	}
}

// without returns an operation that brings a record into the states of a guard
// and does not require it, or nil.
func without(m *spec.Machine, g *spec.Guard) *spec.Operation {
	for _, v := range m.Moves() {
		if !listed(v.To, g.Peers.In) || v.From != nil && listed(v.From.State, g.Peers.In) {
			continue
		}
		if !slices.ContainsFunc(v.Operation.Require, func(r *spec.Requirement) bool { return r.Guard == g }) {
			return v.Operation
		}
	}
	return nil
}

func differentKeys(p *Pass) {
	m := p.Machine
	for _, g := range peers(m) {
		same, other := backing(m, g)
		if !g.Peers.None || !g.Peers.Own() || same != nil || other == nil {
			continue
		}
		p.report(finding{
			pos: g.Pos, mark: g.Name, related: also(other.Pos, "%s is declared here", other.Name),
			hint: fmt.Sprintf("write `same: %s`, or `fields: [%s]` in %s", bracketed(other.Fields), count.Key(g.Peers.Same), other.Name),
		}, "%s looks at records with the same %s, but %s is over %s: neither backs the other",
			g.Name, count.Key(g.Peers.Same), other.Name, count.Key(other.Fields))
	}
	if m.Projection == nil {
		return
	}
	var others []string
	for _, u := range m.Unique {
		if count.Key(u.Fields).Same(m.Projection.Key) {
			return
		}
		others = append(others, u.Name)
	}
	for _, g := range peers(m) {
		if !g.Peers.Own() {
			continue
		}
		if count.Key(g.Peers.Same).Same(m.Projection.Key) {
			return
		}
		others = append(others, g.Name)
	}
	if len(others) == 0 || len(m.Projection.Transitions) == 0 {
		return
	}
	key := m.Projection.Key[0]
	p.report(finding{pos: key.Pos, mark: key.Field.Name, hint: "use the same fields in all of them, or leave `transitions` out"},
		"the projection is by %s, and %s by other fields: its transitions are proven without them", count.Key(m.Projection.Key), enumerate(others, "and"))
}

func differentPromise(p *Pass) {
	for _, g := range peers(p.Machine) {
		if same, _ := backing(p.Machine, g); g.Peers.Some || g.Peers.None && same == nil {
			continue // FSM506 or FSM507 speaks of it
		}
		for _, u := range p.Machine.Unique {
			if g.Error != u.Error || !count.Key(u.Fields).Same(g.Peers.Same) {
				continue
			}
			at := finding{pos: g.Pos, mark: g.Name, related: also(u.Pos, "%s is declared here", u.Name)}
			switch {
			case g.Peers.Than != 1:
				at.hint = fmt.Sprintf("write `none: {same: %s, in: [%s]}`, or give the guard an error of its own", sameText(g.Peers), stateNames(u.In))
				p.report(at, "%s allows %s records there, and %s with the same error allows one", g.Name, g.Peers.Number(), u.Name)
			case !sameStates(g.Peers.In, u.In):
				at.hint = fmt.Sprintf("write `in: [%s]` in both, or give the guard an error of its own", stateNames(u.In))
				p.report(at, "%s looks at %s, and %s with the same error at %s", g.Name, stateNames(g.Peers.In), u.Name, stateNames(u.In))
			}
		}
	}
}

// sameStates reports whether two lists name the same states in any order.
func sameStates(a, b []spec.StateRef) bool {
	within := func(a, b []spec.StateRef) bool {
		return !slices.ContainsFunc(a, func(r spec.StateRef) bool { return !listed(r.State, b) })
	}
	return within(a, b) && within(b, a)
}

// stateNames joins the names of states as a list of the language does.
func stateNames(refs []spec.StateRef) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.State.Name
	}
	return commas(names)
}

// bracketed writes fields as the language does: one as it is, more as a list.
func bracketed(fields []spec.FieldRef) string {
	text := count.Key(fields).String()
	if strings.Contains(text, ",") {
		return "[" + text + "]"
	}
	return text
}
