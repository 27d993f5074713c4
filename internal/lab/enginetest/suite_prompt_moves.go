package enginetest

import (
	"fmt"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// attackMoves ties rows and log to the machine: every lawful step is taken, and
// the same step with one fault is refused. Records are made before the triggers
// that would ask for their history, and so are forged events: a database may
// have been open at a lower level.
func attackMoves[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	script := s.D.Descriptor.Schema.SQL[st.Name]
	for i, b := range batchesOf(s.Cases) {
		var rows []interp.Record
		for _, step := range b {
			if step.from != nil {
				rows = append(rows, step.before)
			}
		}
		var attacks []func()
		atPrompt(s, t, st, rows, func(p *prompt) {
			taken := slices.Clone(rows)
			for _, step := range b {
				attacks = append(attacks, p.plan(step)...)
				taken = append(taken, step.after)
			}
			if i == 0 {
				attacks = append(attacks, p.forbiddenMoves(taken)...)
			}
			p.must(script)
		}, func(*prompt) {
			for _, f := range attacks {
				f()
			}
		})
	}
}

// A machine of more than manyStates states is attacked in a few of them at each step, others at
// another one: what there is to try grows with the square of the states.
const manyStates, fewOfMany = 24, 8

// few returns the list of a small machine as it is, and of a large one some, others for each name.
func few[T any](m *spec.Machine, list []T, name string) []T {
	if len(m.States) <= manyStates || len(list) <= fewOfMany {
		return list
	}
	first := int(crc32.ChecksumIEEE([]byte(name)) % uint32(len(list)))
	return append(slices.Clone(list[first:]), list[:first]...)[:fewOfMany]
}

// plan plants what a step's attacks need and returns them.
func (p *prompt) plan(s oneStep) []func() {
	event, row := p.event(s.op.Stored(), s.before, s.after), p.row(s.after)
	if s.from == nil {
		lawful := []string{insert(p.events(), event), insert(p.records(), row)}
		attacks := []func(){func() { p.taken(s.String(), lawful...) }}
		if s.n == 0 {
			attacks = append(attacks, p.planCreation(s, event, row)...)
		}
		return attacks
	}
	lawful := []string{insert(p.events(), event), p.update(s.before.ID, row)}
	attacks := []func(){func() {
		p.taken(s.String(), lawful...)
		p.attackStep(s, event)
	}}
	if s.n == 0 {
		attacks = append(attacks, func() { p.attackEvent(s, event); p.attackRecorded(s, lawful) })
		attacks = append(attacks, p.forge(s, event)...)
	}
	return attacks
}

// planCreation attacks the first step of a record.
func (p *prompt) planCreation(s oneStep, event, row literals) []func() {
	logged := insert(p.events(), event)
	var attacks []func()
	attack := func(what string, statements ...string) {
		attacks = append(attacks, func() { p.refused(s.String()+": "+what, statements...) })
	}
	attack("a record without its event", insert(p.records(), row))
	attack("a record at revision 3", logged, insert(p.records(), row.with("rev", "3")))
	for _, o := range p.m.Operations {
		if !creates(o) {
			attack("an event of "+o.Name, insert(p.events(), event.with("operation", quoteText(o.Stored()))))
		}
	}
	attack("an event of no operation", insert(p.events(), event.with("operation", "'no operation'")))

	// A record that has no log: its creation cannot come later. A server does not
	// ask which of the two was first.
	if alone, ok := aside(p.m, s, "alone"); ok && p.dialect == "sqlite" {
		p.must(insert(p.records(), p.row(alone.after)))
		attack("the creation of a record that is there", insert(p.events(), event.with("id", quoteText(alone.after.ID))))
	}
	// Events that were forged before do not serve: of another record, of a
	// recorded call, of another state.
	forged := func(id string, l literals) literals {
		p.must(insert(p.events(), l.with("id", quoteText(id))))
		return row.with("id", quoteText(id))
	}
	kept := forged("kept "+s.after.ID, event.with("n", "1", "from_state", event["to_state"]))
	attack("a record with a recorded call instead of its event", insert(p.records(), kept))
	for _, other := range p.m.States {
		if other == s.to {
			continue
		}
		strange := forged("forged "+s.after.ID+" "+other.Name, event.with("to_state", quoteText(other.Stored())))
		attack("a record with the event of one in "+other.Name, insert(p.records(), strange))
		begins := slices.ContainsFunc(allWays(p.m), func(w way) bool { return w.from == nil && w.to == other })
		if born, ok := fit(p.k, s.after, other, p.m.Operations...); ok && !begins {
			attack("a record that begins in "+other.Name, insert(p.records(), p.row(born).with("id", strange["id"])))
		}
	}
	return attacks
}

// attackEvent forges the event of a step that the record is ready for.
func (p *prompt) attackEvent(s oneStep, event literals) {
	refused := func(what string, l literals) {
		p.t.Helper()
		p.refused(s.String()+": "+what, insert(p.events(), l))
	}
	ways := allWays(p.m)
	refused("an event of no operation", event.with("operation", "'no operation'"))
	for _, o := range p.m.Operations {
		if !slices.Contains(ways, way{o, s.from, s.to}) {
			refused("an event of "+o.Name, event.with("operation", quoteText(o.Stored())))
		}
	}
	for _, st := range few(p.m, p.m.States, s.after.ID) {
		if st != s.from {
			refused("an event that leaves "+st.Name, event.with("from_state", quoteText(st.Stored())))
		}
		if !slices.Contains(ways, way{s.op, s.from, st}) {
			refused("an event that leads to "+st.Name, event.with("to_state", quoteText(st.Stored())))
		}
	}
	refused("an event of a later revision", event.with("rev", "3"))
	refused("an event of no record", event.with("id", "'nobody'"))
	for _, w := range few(p.m, ways, s.after.ID) { // lawful by itself, of a record in another state
		if w.from != nil && w.from != s.from {
			refused("the event of "+w.String(), event.with("operation", quoteText(w.op.Stored()), "from_state", quoteText(w.from.Stored()), "to_state", quoteText(w.to.Stored())))
		}
	}
	p.refused(s.String()+": a deletion", fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, quoteName(p.records()), event["id"]))
	if p.dialect == "postgres" {
		p.refused(s.String()+": TRUNCATE", "TRUNCATE "+quoteName(p.records()))
	}
}

// attackRecorded writes events that are recorded only.
func (p *prompt) attackRecorded(s oneStep, lawful []string) {
	kept := func(r interp.Record, n int) string { return insert(p.events(), p.recorded(s.op.Stored(), r, n)) }
	what := s.String() + ": "
	p.taken(what+"a recorded call before it", append([]string{kept(s.before, 1)}, lawful...)...)
	p.taken(what+"two recorded calls before it", append([]string{kept(s.before, 1), kept(s.before, 2)}, lawful...)...)
	p.taken(what+"a recorded call behind it", append(slices.Clone(lawful), kept(s.after, 1))...)
	p.refused(what+"a recorded call behind a gap", kept(s.before, 2))
	p.refused(what+"a recorded call behind a gap, with a call at another revision", append(append([]string{kept(s.before, 1)}, lawful...), kept(s.after, 2))...)
	late := s.before
	late.Rev = 2
	p.refused(what+"a recorded call at a later revision", kept(late, 1))
	p.refused(what+"a recorded call of no record", kept(named(s.before, "nobody"), 1))
	for _, st := range few(p.m, p.m.States, s.after.ID) {
		if st != s.from {
			other := s.before
			other.State = st
			p.refused(what+"a recorded call in "+st.Name, kept(other, 1))
		}
	}
}

// forge plants events that are like the one of the step but for one thing, and
// returns the attempts to make the step by them.
func (p *prompt) forge(s oneStep, event literals) []func() {
	var attacks []func()
	attack := func(what string, statements ...string) {
		attacks = append(attacks, func() { p.refused(s.String()+": "+what, statements...) })
	}
	id := s.before.ID
	step := p.update(id, p.row(s.after))
	// Beside the record: of another record, of other revisions, recorded only.
	for i, o := range p.m.Operations {
		by := event.with("operation", quoteText(o.Stored()))
		p.must(
			insert(p.events(), by.with("id", quoteText(fmt.Sprintf("double %d of %s", i, id)))),
			insert(p.events(), by.with("rev", fmt.Sprint(20+i))),
			insert(p.events(), by.with("rev", "2", "n", fmt.Sprint(20+i), "to_state", event["from_state"])))
		if slices.Contains(allWays(p.m), way{o, s.from, s.to}) {
			later := s.after
			later.Rev = int64(20 + i)
			if o == s.op {
				attack("a step over revisions", p.update(id, p.row(later)))
			}
		}
	}
	p.must(insert(p.events(), p.recorded(s.op.Stored(), named(s.before, "double of "+id), 1)))
	ahead := s.before
	ahead.Rev = 20
	attack("a recorded call at a revision that was forged", insert(p.events(), p.recorded(s.op.Stored(), ahead, 1)))
	attack("a step without its event", step)
	logged := insert(p.events(), event)
	born := p.row(s.after)
	attack("a new id", logged, p.update(id, born.with("id", "'nobody'")))
	attack("a new created_at", logged, p.update(id, born.with("created_at", p.literal(s.after.CreatedAt.Add(-time.Microsecond)))))
	attack("an updated_at that falls", logged, p.update(id, born.with("updated_at", p.literal(s.before.UpdatedAt.Add(-time.Microsecond)))))
	attacks = append(attacks, func() {
		p.taken(s.String()+" within an instant", logged, p.update(id, born.with("updated_at", p.literal(s.before.UpdatedAt))))
	})
	for _, st := range few(p.m, p.m.States, s.after.ID) {
		for column, own := range map[string]*spec.State{"from_state": s.from, "to_state": s.to} {
			if st == own {
				continue
			}
			if forged, ok := aside(p.m, s, column+" "+st.Name); ok {
				l := p.event(s.op.Stored(), forged.before, forged.after).with(column, quoteText(st.Stored()))
				p.must(insert(p.records(), p.row(forged.before)), insert(p.events(), l))
				attack(fmt.Sprintf("a step by an event whose %s is %s", column, st.Name), p.update(forged.before.ID, p.row(forged.after)))
			}
		}
		if st == s.to {
			continue
		}
		other := s.after
		other.State = st
		if world.MustHold(p.m, other) && len(clashes(p.m, other, s.before)) == 0 {
			attack("a step to "+st.Name+" by the event of one to "+s.to.Name, logged, p.update(id, p.row(other)))
		}
	}
	return append(attacks, p.forgeWriters(s, event)...)
}

// forgeWriters plants events of the step by operations that do not write one of
// the fields that it changes, and returns the attempts to make it by them.
func (p *prompt) forgeWriters(s oneStep, event literals) []func() {
	var attacks []func()
	changed := slices.DeleteFunc(slices.Clone(p.m.Fields), func(f *spec.Field) bool {
		return s.before.Value(p.m, f) == s.after.Value(p.m, f)
	})
	for _, f := range changed {
		name, by := f.Name, ""
		if len(changed) == 1 {
			by = "no operation"
		}
		for _, o := range p.m.Operations {
			if !writes(o, f) && !slices.ContainsFunc(changed, func(other *spec.Field) bool { return other != f && !writes(o, other) }) {
				by = o.Stored()
			}
		}
		forged, ok := aside(p.m, s, "changed "+name)
		if by == "" || !ok {
			continue
		}
		own := p.event(s.op.Stored(), forged.before, forged.after)
		p.must(
			insert(p.records(), p.row(forged.before)), insert(p.events(), own.with("operation", quoteText(by))),
			insert(p.events(), own.with("rev", "30")), insert(p.events(), own.with("n", "30", "to_state", event["from_state"])))
		attacks = append(attacks, func() {
			p.refused(fmt.Sprintf("%s: %s changed by an event of %s", s, name, by), p.update(forged.before.ID, p.row(forged.after)))
		})
	}
	return attacks
}

// aside returns the same step of another record, in groups of its own.
func aside(m *spec.Machine, s oneStep, why string) (oneStep, bool) {
	id := why + " of " + s.after.ID
	other := s
	other.after = apart(m, named(s.after, id), " "+id)
	if s.from != nil {
		other.before = apart(m, named(s.before, id), " "+id)
	}
	if !world.MustHold(m, other.after) || s.from != nil && strays(m, other.before, other.after) || len(clashes(m, s.after, other.after)) > 0 {
		return other, false
	}
	return other, s.from == nil || world.MustHold(m, other.before) && len(clashes(m, s.before, other.before))+len(clashes(m, s.after, other.before))+len(clashes(m, s.before, other.after)) == 0
}

// attackStep changes one field more, or to another value, than the step does.
func (p *prompt) attackStep(s oneStep, event literals) {
	logged := insert(p.events(), event)
	for _, f := range p.m.Fields {
		was := s.before.Value(p.m, f)
		allowed := writes(s.op, f)
		tried := map[bool]bool{}
		done := func(wrong bool) bool { return tried[wrong] || p.bent[fmt.Sprint(s.way, f.Name, wrong)] > 2 }
		for _, v := range append(p.k.Values(f), interp.Absent) {
			if v.Kind == interp.KindString && grouped(p.m, f) { // apart from all others
				v = interp.String(ownText(f.Type, v.Text+" "+s.after.ID))
			}
			r := with(p.m, s.after, f, v)
			if v == was || v.Kind == interp.KindAbsent && !f.Type.Optional || !world.MustHold(p.m, r) {
				continue
			}
			less := less(p.m, f, v, was)
			wrong := less || strays(p.m, s.before, r)
			if !allowed && wrong || done(wrong) || f.Type.Kind == spec.KindSet && !less && len(v.Members()) <= len(was.Members()) {
				continue
			}
			tried[wrong] = true
			p.bent[fmt.Sprint(s.way, f.Name, wrong)]++
			what := fmt.Sprintf("%s: %s that becomes %s, it was %s", s, f.Name, v, was)
			if allowed && !wrong {
				p.taken(what, logged, p.update(r.ID, p.row(r)))
			} else {
				p.refused(what, logged, p.update(r.ID, p.row(r)))
			}
		}
	}
}

// forbiddenMoves plants, for every two states between which nothing leads, a
// record with a forged event, and returns the attempts to follow it. rows are
// there already, or will be.
func (p *prompt) forbiddenMoves(rows []interp.Record) []func() {
	var attacks []func()
	n, ways := 0, allWays(p.m)
	for _, from := range p.m.States {
		for _, to := range few(p.m, p.m.States, from.Name) {
			if slices.ContainsFunc(ways, func(w way) bool { return w.from == from && w.to == to }) {
				continue
			}
			n++
			if before, after, o, ok := forgery(p.k, from, to, n, rows); ok {
				rows = append(rows, before)
				p.must(insert(p.records(), p.row(before)), insert(p.events(), p.event(o.Stored(), before, after)))
				attacks = append(attacks, func() {
					p.refused(fmt.Sprintf("a move from %s to %s with a forged event", from.Name, to.Name), p.update(before.ID, p.row(after)))
				})
			}
		}
	}
	return attacks
}

// forgery returns a record and what it would become by a move that nothing
// makes, with nothing else wrong about it, beside the rows that are there.
func forgery(k *world.Cases, from, to *spec.State, n int, rows []interp.Record) (before, after interp.Record, by *spec.Operation, ok bool) {
	for _, r := range k.Sound(from) {
		r.ID, r.Rev = fmt.Sprintf("forger-%d", n), 1
		r = numbered(k.M, apart(k.M, r, " "+r.ID), int64(20_000+n))
		fits := func(r interp.Record) bool {
			return !slices.ContainsFunc(rows, func(x interp.Record) bool { return len(clashes(k.M, r, x)) > 0 })
		}
		if !fits(r) {
			continue
		}
		for _, o := range k.M.Operations {
			if creates(o) {
				continue
			}
			if after, ok := fit(k, r, to, o); ok && fits(after) {
				after.Rev = 2
				return r, after, o, true
			}
		}
	}
	return interp.Record{}, interp.Record{}, nil, false
}
