package fsmtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// oneStep is a lawful step of a record: what it was (zero for a creation) and
// what it becomes.
type oneStep struct {
	way
	before, after driver.Row
	n             int // of the case of its way
}

// attackMoves ties rows and log to the machine: every lawful step is taken, and
// the same step with one fault is refused. Records are made before the triggers
// that would ask for their history, and so are forged events: a database may
// have been open at a lower level.
func (s *suite[R]) attackMoves(t *testing.T, st Store) {
	script := s.d.Descriptor.Schema.SQL[st.Name]
	for i, b := range s.m.batches() {
		var rows []driver.Row
		for _, step := range b {
			if step.from != nil {
				rows = append(rows, step.before)
			}
		}
		var attacks []func()
		s.atPrompt(t, st, rows, func(p *prompt) {
			for _, step := range b {
				attacks = append(attacks, p.plan(step)...)
			}
			if i == 0 {
				attacks = append(attacks, p.forbiddenMoves(rows)...)
			}
			p.must(script)
		}, func(*prompt) {
			for _, f := range attacks {
				f()
			}
		})
	}
}

// steps returns the lawful steps, one for each way in which an operation is
// decided. A way that no call takes by itself is made up.
func (m *model) steps() []oneStep {
	var all []oneStep
	n := 0
	count := map[way]int{}
	for _, o := range m.operations {
		for _, from := range append([]*state{nil}, m.stateOrder...) {
			if (from == nil) != o.creates {
				continue
			}
			for _, c := range m.byWay(o, from) {
				n++
				c.row.ID, c.call.ID = fmt.Sprintf("record-%d", n), fmt.Sprintf("record-%d", n)
				m.apart(o, &c, n)
				v := m.decide(o, c.row, c.call)
				if !moves(v) {
					continue
				}
				step := oneStep{way: way{o, from, m.stateOf(v.row.State)}, before: c.row, after: v.row}
				step.n = count[step.way]
				count[step.way]++
				step.before.Rev, step.after.Rev = 1, 2
				if from == nil {
					step.before, step.after.Rev = driver.Row{}, 1
				}
				all = append(all, step)
			}
		}
	}
	made := func(w way, fits func(before, after driver.Row) bool) {
		for _, r := range m.soundIn(w.from, 100) {
			if after, ok := m.fit(r, w.to, []*operation{w.o}); ok && fits(r, after) {
				n++
				r.ID, r.Rev = fmt.Sprintf("record-%d", n), 1
				after.ID, after.Rev = r.ID, 2
				all = append(all, oneStep{way: w, before: r, after: after, n: count[w]})
				count[w]++
				return
			}
		}
	}
	for _, w := range m.allWays() {
		if w.from == nil {
			continue
		}
		if count[w] == 0 {
			made(w, func(_, _ driver.Row) bool { return true })
		}
		for _, name := range m.order { // counters and sets that could be made less
			f := m.fields[name]
			falls := func(before, after driver.Row) bool {
				return slices.ContainsFunc(m.valuesOf(f), func(v any) bool {
					return f.less(v, before.Values[f.index]) && m.mustHold(altered(after, f, v))
				})
			}
			if w.o.writes(name) && !slices.ContainsFunc(all, func(s oneStep) bool { return s.way == w && falls(s.before, s.after) }) {
				made(w, falls)
			}
		}
	}
	return all
}

// fit returns the record in another state, with no field changed that the
// operations do not write and no counter or set made less.
func (m *model) fit(r driver.Row, to *state, ops []*operation) (driver.Row, bool) {
	var dims []dim
	for _, name := range m.order {
		f := m.fields[name]
		d := dim{name: dimField + name, values: []any{r.Values[f.index]}}
		if slices.ContainsFunc(ops, func(o *operation) bool { return o.writes(name) }) {
			for _, v := range m.valuesOf(f) {
				if !f.less(v, r.Values[f.index]) {
					d.values = append(d.values, v)
				}
			}
		}
		dims = append(dims, d)
	}
	tried := 0
	for choice := range combine(dims, 500) {
		if tried++; tried > 2000 {
			break
		}
		after := r
		after.State, after.Values = to.stored, make([]any, len(r.Values))
		for i, d := range dims {
			after.Values[i] = d.values[choice[i]]
		}
		if m.mustHold(after) {
			return after, true
		}
	}
	return driver.Row{}, false
}

// less reports whether a counter fell or a set lost a member.
func (f *field) less(now, before any) bool {
	switch f.kind {
	case driver.KindCounter:
		a, _ := now.(int64)
		b, _ := before.(int64)
		return a < b
	case driver.KindSet:
		return slices.ContainsFunc(members(before), func(x string) bool { return !slices.Contains(members(now), x) })
	}
	return false
}

// batches puts the steps into as few databases as the rules across records allow.
func (m *model) batches() [][]oneStep {
	var all [][]oneStep
	meet := func(a, b oneStep) bool {
		for _, x := range []driver.Row{a.before, a.after} {
			for _, y := range []driver.Row{b.before, b.after} {
				if x.ID != "" && y.ID != "" && len(m.clashes(x, y)) > 0 {
					return true
				}
			}
		}
		return false
	}
next:
	for _, step := range m.steps() {
		for i, b := range all {
			if !slices.ContainsFunc(b, func(other oneStep) bool { return meet(step, other) }) {
				all[i] = append(all[i], step)
				continue next
			}
		}
		all = append(all, []oneStep{step})
	}
	return all
}

// plan plants what a step's attacks need and returns them.
func (p *prompt) plan(s oneStep) []func() {
	event, row := p.event(s.o.stored, s.before, s.after), p.row(s.after)
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
	for _, o := range p.m.operations {
		if !o.creates {
			attack("an event of "+o.Name, insert(p.events(), event.with("operation", quoteText(o.stored))))
		}
	}
	attack("an event of no operation", insert(p.events(), event.with("operation", "'no operation'")))

	// A record that has no log: its creation cannot come later. A server does not
	// ask which of the two was first.
	if alone, ok := p.m.aside(s, "alone"); ok && p.dialect == "sqlite" {
		p.must(insert(p.records(), p.row(alone.after)))
		attack("the creation of a record that is there", insert(p.events(), event.with("id", quoteText(alone.after.ID))))
	}
	// Events that were forged before do not serve: of another record, of a
	// recorded call, of another state.
	forged := func(id string, l literals) literals {
		p.must(insert(p.events(), l.with("id", quoteText(id))))
		return row.with("id", quoteText(id))
	}
	kept := forged("kept "+s.after.ID, event.with("n", "1", "from", event["to"]))
	attack("a record with a recorded call instead of its event", insert(p.records(), kept))
	for _, other := range p.m.stateOrder {
		if other == s.to {
			continue
		}
		strange := forged("forged "+s.after.ID+" "+other.Name, event.with("to", quoteText(other.stored)))
		attack("a record with the event of one in "+other.Name, insert(p.records(), strange))
		begins := slices.ContainsFunc(p.m.allWays(), func(w way) bool { return w.from == nil && w.to == other })
		if born, ok := p.m.fit(s.after, other, p.m.operations); ok && !begins {
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
	ways := p.m.allWays()
	refused("an event of no operation", event.with("operation", "'no operation'"))
	for _, o := range p.m.operations {
		if !slices.Contains(ways, way{o, s.from, s.to}) {
			refused("an event of "+o.Name, event.with("operation", quoteText(o.stored)))
		}
	}
	for _, st := range p.m.stateOrder {
		if st != s.from {
			refused("an event that leaves "+st.Name, event.with("from", quoteText(st.stored)))
		}
		if !slices.Contains(ways, way{s.o, s.from, st}) {
			refused("an event that leads to "+st.Name, event.with("to", quoteText(st.stored)))
		}
	}
	refused("an event of a later revision", event.with("rev", "3"))
	refused("an event of no record", event.with("id", "'nobody'"))
	for _, w := range ways { // lawful by itself, of a record in another state
		if w.from != nil && w.from != s.from {
			refused("the event of "+w.String(), event.with("operation", quoteText(w.o.stored), "from", quoteText(w.from.stored), "to", quoteText(w.to.stored)))
		}
	}
	p.refused(s.String()+": a deletion", fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, quoteName(p.records()), event["id"]))
	if p.dialect == "postgres" {
		p.refused(s.String()+": TRUNCATE", "TRUNCATE "+quoteName(p.records()))
	}
}

// attackRecorded writes events that are recorded only.
func (p *prompt) attackRecorded(s oneStep, lawful []string) {
	kept := func(r driver.Row, n int) string { return insert(p.events(), p.recorded(s.o.stored, r, n)) }
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
	for _, st := range p.m.stateOrder {
		if st != s.from {
			other := s.before
			other.State = st.stored
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
	for i, o := range p.m.operations {
		by := event.with("operation", quoteText(o.stored))
		p.must(
			insert(p.events(), by.with("id", quoteText(fmt.Sprintf("double %d of %s", i, id)))),
			insert(p.events(), by.with("rev", fmt.Sprint(20+i))),
			insert(p.events(), by.with("rev", "2", "n", fmt.Sprint(20+i), "to", event["from"])))
		if slices.Contains(p.m.allWays(), way{o, s.from, s.to}) {
			later := s.after
			later.Rev = int64(20 + i)
			if o == s.o {
				attack("a step over revisions", p.update(id, p.row(later)))
			}
		}
	}
	p.must(insert(p.events(), p.recorded(s.o.stored, named(s.before, "double of "+id), 1)))
	ahead := s.before
	ahead.Rev = 20
	attack("a recorded call at a revision that was forged", insert(p.events(), p.recorded(s.o.stored, ahead, 1)))
	attack("a step without its event", step)
	logged := insert(p.events(), event)
	born := p.row(s.after)
	attack("a new id", logged, p.update(id, born.with("id", "'nobody'")))
	attack("a new created_at", logged, p.update(id, born.with("created_at", p.literal(s.after.CreatedAt.Add(-microsecond)))))
	attack("an updated_at that falls", logged, p.update(id, born.with("updated_at", p.literal(s.before.UpdatedAt.Add(-microsecond)))))
	attacks = append(attacks, func() {
		p.taken(s.String()+" within an instant", logged, p.update(id, born.with("updated_at", p.literal(s.before.UpdatedAt))))
	})
	for _, st := range p.m.stateOrder {
		for column, own := range map[string]*state{"from": s.from, "to": s.to} {
			if st == own {
				continue
			}
			if forged, ok := p.m.aside(s, column+" "+st.Name); ok {
				l := p.event(s.o.stored, forged.before, forged.after).with(column, quoteText(st.stored))
				p.must(insert(p.records(), p.row(forged.before)), insert(p.events(), l))
				attack(fmt.Sprintf("a step by an event whose %s is %s", column, st.Name), p.update(forged.before.ID, p.row(forged.after)))
			}
		}
		if st == s.to {
			continue
		}
		other := s.after
		other.State = st.stored
		if p.m.mustHold(other) && len(p.m.clashes(other, s.before)) == 0 {
			attack("a step to "+st.Name+" by the event of one to "+s.to.Name, logged, p.update(id, p.row(other)))
		}
	}
	return append(attacks, p.forgeWriters(s, event)...)
}

// forgeWriters plants events of the step by operations that do not write one of
// the fields that it changes, and returns the attempts to make it by them.
func (p *prompt) forgeWriters(s oneStep, event literals) []func() {
	var attacks []func()
	changed := slices.DeleteFunc(slices.Clone(p.m.order), func(name string) bool {
		i := p.m.fields[name].index
		return s.before.Values[i] == s.after.Values[i]
	})
	for _, name := range changed {
		by := ""
		if len(changed) == 1 {
			by = "no operation"
		}
		for _, o := range p.m.operations {
			if !o.writes(name) && !slices.ContainsFunc(changed, func(other string) bool { return other != name && !o.writes(other) }) {
				by = o.stored
			}
		}
		forged, ok := p.m.aside(s, "changed "+name)
		if by == "" || !ok {
			continue
		}
		own := p.event(s.o.stored, forged.before, forged.after)
		p.must(
			insert(p.records(), p.row(forged.before)), insert(p.events(), own.with("operation", quoteText(by))),
			insert(p.events(), own.with("rev", "30")), insert(p.events(), own.with("n", "30", "to", event["from"])))
		attacks = append(attacks, func() {
			p.refused(fmt.Sprintf("%s: %s changed by an event of %s", s, name, by), p.update(forged.before.ID, p.row(forged.after)))
		})
	}
	return attacks
}

// aside returns the same step of another record, in groups of its own.
func (m *model) aside(s oneStep, why string) (oneStep, bool) {
	id := why + " of " + s.after.ID
	other := s
	other.after = named(s.after, id)
	other.after.Values = slices.Clone(s.after.Values)
	if s.from != nil {
		other.before = named(s.before, id)
		other.before.Values = slices.Clone(s.before.Values)
	}
	for name := range m.grouped() {
		f := m.fields[name]
		text, ok := s.after.Values[f.index].(string)
		if f.kind != driver.KindString {
			continue
		}
		if ok {
			other.after.Values[f.index] = text + " " + id
		}
		if s.from == nil {
			continue
		}
		if text, ok = s.before.Values[f.index].(string); ok {
			other.before.Values[f.index] = text + " " + id
		}
	}
	if !m.mustHold(other.after) || len(m.clashes(s.after, other.after)) > 0 {
		return other, false
	}
	return other, s.from == nil || m.mustHold(other.before) && len(m.clashes(s.before, other.before))+len(m.clashes(s.after, other.before))+len(m.clashes(s.before, other.after)) == 0
}

// attackStep changes one field more, or to another value, than the step does.
func (p *prompt) attackStep(s oneStep, event literals) {
	logged := insert(p.events(), event)
	for _, name := range p.m.order {
		f := p.m.fields[name]
		was := s.before.Values[f.index]
		allowed := s.o.writes(name)
		tried := map[bool]bool{}
		done := func(less bool) bool { return tried[less] || p.bent[fmt.Sprint(s.way, name, less)] > 2 }
		for _, v := range append(p.m.valuesOf(f), nil) {
			if text, ok := v.(string); ok && f.kind == driver.KindString && p.m.grouped()[name] { // apart from all others
				v = text + " " + s.after.ID
			}
			r := altered(s.after, f, v)
			if v == was || v == nil && !f.optional || !p.m.mustHold(r) {
				continue
			}
			less := f.less(v, was)
			if !allowed && less || done(less) || f.kind == driver.KindSet && !f.isGrown(v, was) && !less {
				continue
			}
			tried[less] = true
			p.bent[fmt.Sprint(s.way, name, less)]++
			what := fmt.Sprintf("%s: %s that becomes %s, it was %s", s, name, show(v), show(was))
			if allowed && !less {
				p.taken(what, logged, p.update(r.ID, p.row(r)))
			} else {
				p.refused(what, logged, p.update(r.ID, p.row(r)))
			}
		}
	}
}

// isGrown reports whether a set has more members than before.
func (f *field) isGrown(now, before any) bool {
	return !f.less(now, before) && len(members(now)) > len(members(before))
}

// forbiddenMoves plants, for every two states between which nothing leads, a
// record with a forged event, and returns the attempts to follow it. rows are
// there already.
func (p *prompt) forbiddenMoves(rows []driver.Row) []func() {
	var attacks []func()
	n := 0
	for _, from := range p.m.stateOrder {
		for _, to := range p.m.stateOrder {
			if slices.ContainsFunc(p.m.allWays(), func(w way) bool { return w.from == from && w.to == to }) {
				continue
			}
			n++
			if before, after, o, ok := p.m.forgery(from, to, n, rows); ok {
				rows = append(rows, before)
				p.must(insert(p.records(), p.row(before)), insert(p.events(), p.event(o.stored, before, after)))
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
func (m *model) forgery(from, to *state, n int, rows []driver.Row) (before, after driver.Row, by *operation, ok bool) {
	for _, r := range m.soundIn(from, 40) {
		r.ID, r.Rev = fmt.Sprintf("forger-%d", n), 1
		for _, name := range m.order { // apart from all others
			f := m.fields[name]
			if text, isText := r.Values[f.index].(string); isText && f.kind == driver.KindString && m.grouped()[name] {
				r.Values[f.index] = text + " " + r.ID
			}
		}
		m.number(&r, int64(20_000+n))
		fits := func(r driver.Row) bool {
			return !slices.ContainsFunc(rows, func(x driver.Row) bool { return len(m.clashes(r, x)) > 0 })
		}
		if !m.mustHold(r) || !fits(r) {
			continue
		}
		for _, o := range m.operations {
			if o.creates {
				continue
			}
			if after, ok := m.fit(r, to, []*operation{o}); ok && fits(after) {
				after.Rev = 2
				return r, after, o, true
			}
		}
	}
	return driver.Row{}, driver.Row{}, nil, false
}
