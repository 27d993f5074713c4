package enginetest

import (
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// oneStep is a lawful step of a record: what it was (zero for a creation) and
// what it becomes.
type oneStep struct {
	world.Way
	before, after driver.Row
	n             int // of the case of its way
}

// attackMoves ties rows and log to the machine: every lawful step is taken, and
// the same step with one fault is refused. Records are made before the triggers
// that would ask for their history, and so are forged events: a database may
// have been open at a lower level.
func attackMoves[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	script := s.D.Descriptor.Schema.SQL[st.Name]
	for i, b := range batchesOf(s.M) {
		var rows []driver.Row
		for _, step := range b {
			if step.From != nil {
				rows = append(rows, step.before)
			}
		}
		var attacks []func()
		atPrompt(s, t, st, rows, func(p *prompt) {
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

// A machine of more than manyStates states is attacked in a few of them at each step, others at
// another one: what there is to try grows with the square of the states.
const manyStates, fewOfMany = 24, 8

// few returns the list of a small machine as it is, and of a large one some, others for each name.
func few[T any](m *world.Model, list []T, name string) []T {
	if len(m.StateOrder) <= manyStates || len(list) <= fewOfMany {
		return list
	}
	first := int(crc32.ChecksumIEEE([]byte(name)) % uint32(len(list)))
	return append(slices.Clone(list[first:]), list[:first]...)[:fewOfMany]
}

// steps returns the lawful steps, one for each way in which an operation is
// decided. A way that no call takes by itself is made up.
func steps(m *world.Model) []oneStep {
	var all []oneStep
	n := 0
	count := map[world.Way]int{}
	for _, o := range m.Ops {
		for _, from := range append([]*oracle.StateInfo{nil}, m.StateOrder...) {
			if (from == nil) != o.Creates {
				continue
			}
			for _, c := range m.ByWay(o, from) {
				n++
				c.Row.ID, c.Call.ID = fmt.Sprintf("record-%d", n), fmt.Sprintf("record-%d", n)
				apart(m, o, &c, n)
				v := m.Decide(o, c.Row, c.Call)
				if !oracle.Moves(v) {
					continue
				}
				step := oneStep{Way: world.Way{O: o, From: from, To: m.StateOf(v.Row.State)}, before: c.Row, after: v.Row}
				step.n = count[step.Way]
				count[step.Way]++
				step.before.Rev, step.after.Rev = 1, 2
				if from == nil {
					step.before, step.after.Rev = driver.Row{}, 1
				}
				all = append(all, step)
			}
		}
	}
	made := func(w world.Way, fits func(before, after driver.Row) bool) {
		for _, r := range soundIn(m, w.From, 100) {
			if after, ok := fit(m, r, w.To, []*oracle.Op{w.O}); ok && fits(r, after) {
				n++
				r.ID, r.Rev = fmt.Sprintf("record-%d", n), 1
				after.ID, after.Rev = r.ID, 2
				all = append(all, oneStep{Way: w, before: r, after: after, n: count[w]})
				count[w]++
				return
			}
		}
	}
	for _, w := range m.AllWays() {
		if w.From == nil {
			continue
		}
		if count[w] == 0 {
			made(w, func(_, _ driver.Row) bool { return true })
		}
		for _, name := range m.Order { // counters and sets that could be made less
			f := m.FieldByName[name]
			falls := func(before, after driver.Row) bool {
				return slices.ContainsFunc(valuesOf(m, f), func(v any) bool {
					return less(f, v, before.Values[f.Index]) && m.MustHold(altered(after, f, v))
				})
			}
			if writes(w.O, name) && !slices.ContainsFunc(all, func(s oneStep) bool { return s.Way == w && falls(s.before, s.after) }) {
				made(w, falls)
			}
		}
	}
	return all
}

// fit returns the record in another state, with no field changed that the
// operations do not write and no counter or set made less.
func fit(m *world.Model, r driver.Row, to *oracle.StateInfo, ops []*oracle.Op) (driver.Row, bool) {
	var dims []oracle.Dim
	for _, name := range m.Order {
		f := m.FieldByName[name]
		d := oracle.Dim{Name: oracle.DimField + name, Values: []any{r.Values[f.Index]}}
		if slices.ContainsFunc(ops, func(o *oracle.Op) bool { return writes(o, name) }) {
			for _, v := range valuesOf(m, f) {
				if !less(f, v, r.Values[f.Index]) {
					d.Values = append(d.Values, v)
				}
			}
		}
		dims = append(dims, d)
	}
	tried := 0
	for choice := range oracle.Combine(dims, 500) {
		if tried++; tried > 2000 {
			break
		}
		after := r
		after.State, after.Values = to.StoredName, make([]any, len(r.Values))
		for i, d := range dims {
			after.Values[i] = d.Values[choice[i]]
		}
		if m.MustHold(after) {
			return after, true
		}
	}
	return driver.Row{}, false
}

// less reports whether a counter fell or a set lost a member.
func less(f *oracle.FieldInfo, now, before any) bool {
	switch f.Kind {
	case driver.KindCounter:
		a, _ := now.(int64)
		b, _ := before.(int64)
		return a < b
	case driver.KindSet:
		return slices.ContainsFunc(oracle.Members(before), func(x string) bool { return !slices.Contains(oracle.Members(now), x) })
	}
	return false
}

// batchesOf puts the steps into as few databases as the rules across records allow.
func batchesOf(m *world.Model) [][]oneStep {
	var all [][]oneStep
	meet := func(a, b oneStep) bool {
		for _, x := range []driver.Row{a.before, a.after} {
			for _, y := range []driver.Row{b.before, b.after} {
				if x.ID != "" && y.ID != "" && len(clashes(m, x, y)) > 0 {
					return true
				}
			}
		}
		return false
	}
next:
	for _, step := range steps(m) {
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
	event, row := p.event(s.O.StoredName, s.before, s.after), p.row(s.after)
	if s.From == nil {
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
	for _, o := range p.m.Ops {
		if !o.Creates {
			attack("an event of "+o.Name, insert(p.events(), event.with("operation", quoteText(o.StoredName))))
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
	for _, other := range p.m.StateOrder {
		if other == s.To {
			continue
		}
		strange := forged("forged "+s.after.ID+" "+other.Name, event.with("to_state", quoteText(other.StoredName)))
		attack("a record with the event of one in "+other.Name, insert(p.records(), strange))
		begins := slices.ContainsFunc(p.m.AllWays(), func(w world.Way) bool { return w.From == nil && w.To == other })
		if born, ok := fit(p.m, s.after, other, p.m.Ops); ok && !begins {
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
	ways := p.m.AllWays()
	refused("an event of no operation", event.with("operation", "'no operation'"))
	for _, o := range p.m.Ops {
		if !slices.Contains(ways, world.Way{O: o, From: s.From, To: s.To}) {
			refused("an event of "+o.Name, event.with("operation", quoteText(o.StoredName)))
		}
	}
	for _, st := range few(p.m, p.m.StateOrder, s.after.ID) {
		if st != s.From {
			refused("an event that leaves "+st.Name, event.with("from_state", quoteText(st.StoredName)))
		}
		if !slices.Contains(ways, world.Way{O: s.O, From: s.From, To: st}) {
			refused("an event that leads to "+st.Name, event.with("to_state", quoteText(st.StoredName)))
		}
	}
	refused("an event of a later revision", event.with("rev", "3"))
	refused("an event of no record", event.with("id", "'nobody'"))
	for _, w := range few(p.m, ways, s.after.ID) { // lawful by itself, of a record in another state
		if w.From != nil && w.From != s.From {
			refused("the event of "+w.String(), event.with("operation", quoteText(w.O.StoredName), "from_state", quoteText(w.From.StoredName), "to_state", quoteText(w.To.StoredName)))
		}
	}
	p.refused(s.String()+": a deletion", fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, quoteName(p.records()), event["id"]))
	if p.dialect == "postgres" {
		p.refused(s.String()+": TRUNCATE", "TRUNCATE "+quoteName(p.records()))
	}
}

// attackRecorded writes events that are recorded only.
func (p *prompt) attackRecorded(s oneStep, lawful []string) {
	kept := func(r driver.Row, n int) string { return insert(p.events(), p.recorded(s.O.StoredName, r, n)) }
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
	for _, st := range few(p.m, p.m.StateOrder, s.after.ID) {
		if st != s.From {
			other := s.before
			other.State = st.StoredName
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
	for i, o := range p.m.Ops {
		by := event.with("operation", quoteText(o.StoredName))
		p.must(
			insert(p.events(), by.with("id", quoteText(fmt.Sprintf("double %d of %s", i, id)))),
			insert(p.events(), by.with("rev", fmt.Sprint(20+i))),
			insert(p.events(), by.with("rev", "2", "n", fmt.Sprint(20+i), "to_state", event["from_state"])))
		if slices.Contains(p.m.AllWays(), world.Way{O: o, From: s.From, To: s.To}) {
			later := s.after
			later.Rev = int64(20 + i)
			if o == s.O {
				attack("a step over revisions", p.update(id, p.row(later)))
			}
		}
	}
	p.must(insert(p.events(), p.recorded(s.O.StoredName, named(s.before, "double of "+id), 1)))
	ahead := s.before
	ahead.Rev = 20
	attack("a recorded call at a revision that was forged", insert(p.events(), p.recorded(s.O.StoredName, ahead, 1)))
	attack("a step without its event", step)
	logged := insert(p.events(), event)
	born := p.row(s.after)
	attack("a new id", logged, p.update(id, born.with("id", "'nobody'")))
	attack("a new created_at", logged, p.update(id, born.with("created_at", p.literal(s.after.CreatedAt.Add(-oracle.Microsecond)))))
	attack("an updated_at that falls", logged, p.update(id, born.with("updated_at", p.literal(s.before.UpdatedAt.Add(-oracle.Microsecond)))))
	attacks = append(attacks, func() {
		p.taken(s.String()+" within an instant", logged, p.update(id, born.with("updated_at", p.literal(s.before.UpdatedAt))))
	})
	for _, st := range few(p.m, p.m.StateOrder, s.after.ID) {
		for column, own := range map[string]*oracle.StateInfo{"from_state": s.From, "to_state": s.To} {
			if st == own {
				continue
			}
			if forged, ok := aside(p.m, s, column+" "+st.Name); ok {
				l := p.event(s.O.StoredName, forged.before, forged.after).with(column, quoteText(st.StoredName))
				p.must(insert(p.records(), p.row(forged.before)), insert(p.events(), l))
				attack(fmt.Sprintf("a step by an event whose %s is %s", column, st.Name), p.update(forged.before.ID, p.row(forged.after)))
			}
		}
		if st == s.To {
			continue
		}
		other := s.after
		other.State = st.StoredName
		if p.m.MustHold(other) && len(clashes(p.m, other, s.before)) == 0 {
			attack("a step to "+st.Name+" by the event of one to "+s.To.Name, logged, p.update(id, p.row(other)))
		}
	}
	return append(attacks, p.forgeWriters(s, event)...)
}

// forgeWriters plants events of the step by operations that do not write one of
// the fields that it changes, and returns the attempts to make it by them.
func (p *prompt) forgeWriters(s oneStep, event literals) []func() {
	var attacks []func()
	changed := slices.DeleteFunc(slices.Clone(p.m.Order), func(name string) bool {
		i := p.m.FieldByName[name].Index
		return s.before.Values[i] == s.after.Values[i]
	})
	for _, name := range changed {
		by := ""
		if len(changed) == 1 {
			by = "no operation"
		}
		for _, o := range p.m.Ops {
			if !writes(o, name) && !slices.ContainsFunc(changed, func(other string) bool { return other != name && !writes(o, other) }) {
				by = o.StoredName
			}
		}
		forged, ok := aside(p.m, s, "changed "+name)
		if by == "" || !ok {
			continue
		}
		own := p.event(s.O.StoredName, forged.before, forged.after)
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
func aside(m *world.Model, s oneStep, why string) (oneStep, bool) {
	id := why + " of " + s.after.ID
	other := s
	other.after = named(s.after, id)
	other.after.Values = slices.Clone(s.after.Values)
	if s.From != nil {
		other.before = named(s.before, id)
		other.before.Values = slices.Clone(s.before.Values)
	}
	for name := range grouped(m) {
		f := m.FieldByName[name]
		text, ok := s.after.Values[f.Index].(string)
		if f.Kind != driver.KindString {
			continue
		}
		if ok {
			other.after.Values[f.Index] = text + " " + id
		}
		if s.From == nil {
			continue
		}
		if text, ok = s.before.Values[f.Index].(string); ok {
			other.before.Values[f.Index] = text + " " + id
		}
	}
	if !m.MustHold(other.after) || len(clashes(m, s.after, other.after)) > 0 {
		return other, false
	}
	return other, s.From == nil || m.MustHold(other.before) && len(clashes(m, s.before, other.before))+len(clashes(m, s.after, other.before))+len(clashes(m, s.before, other.after)) == 0
}

// attackStep changes one field more, or to another value, than the step does.
func (p *prompt) attackStep(s oneStep, event literals) {
	logged := insert(p.events(), event)
	for _, name := range p.m.Order {
		f := p.m.FieldByName[name]
		was := s.before.Values[f.Index]
		allowed := writes(s.O, name)
		tried := map[bool]bool{}
		done := func(less bool) bool { return tried[less] || p.bent[fmt.Sprint(s.Way, name, less)] > 2 }
		for _, v := range append(valuesOf(p.m, f), nil) {
			if text, ok := v.(string); ok && f.Kind == driver.KindString && grouped(p.m)[name] { // apart from all others
				v = text + " " + s.after.ID
			}
			r := altered(s.after, f, v)
			if v == was || v == nil && !f.Optional || !p.m.MustHold(r) {
				continue
			}
			less := less(f, v, was)
			if !allowed && less || done(less) || f.Kind == driver.KindSet && !isGrown(f, v, was) && !less {
				continue
			}
			tried[less] = true
			p.bent[fmt.Sprint(s.Way, name, less)]++
			what := fmt.Sprintf("%s: %s that becomes %s, it was %s", s, name, oracle.Show(v), oracle.Show(was))
			if allowed && !less {
				p.taken(what, logged, p.update(r.ID, p.row(r)))
			} else {
				p.refused(what, logged, p.update(r.ID, p.row(r)))
			}
		}
	}
}

// isGrown reports whether a set has more members than before.
func isGrown(f *oracle.FieldInfo, now, before any) bool {
	return !less(f, now, before) && len(oracle.Members(now)) > len(oracle.Members(before))
}

// forbiddenMoves plants, for every two states between which nothing leads, a
// record with a forged event, and returns the attempts to follow it. rows are
// there already.
func (p *prompt) forbiddenMoves(rows []driver.Row) []func() {
	var attacks []func()
	n, ways := 0, p.m.AllWays()
	for _, from := range p.m.StateOrder {
		for _, to := range few(p.m, p.m.StateOrder, from.Name) {
			if slices.ContainsFunc(ways, func(w world.Way) bool { return w.From == from && w.To == to }) {
				continue
			}
			n++
			if before, after, o, ok := forgery(p.m, from, to, n, rows); ok {
				rows = append(rows, before)
				p.must(insert(p.records(), p.row(before)), insert(p.events(), p.event(o.StoredName, before, after)))
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
func forgery(m *world.Model, from, to *oracle.StateInfo, n int, rows []driver.Row) (before, after driver.Row, by *oracle.Op, ok bool) {
	for _, r := range soundIn(m, from, 40) {
		r.ID, r.Rev = fmt.Sprintf("forger-%d", n), 1
		for _, name := range m.Order { // apart from all others
			f := m.FieldByName[name]
			if text, isText := r.Values[f.Index].(string); isText && f.Kind == driver.KindString && grouped(m)[name] {
				r.Values[f.Index] = text + " " + r.ID
			}
		}
		numberOf(m, &r, int64(20_000+n))
		fits := func(r driver.Row) bool {
			return !slices.ContainsFunc(rows, func(x driver.Row) bool { return len(clashes(m, r, x)) > 0 })
		}
		if !m.MustHold(r) || !fits(r) {
			continue
		}
		for _, o := range m.Ops {
			if o.Creates {
				continue
			}
			if after, ok := fit(m, r, to, []*oracle.Op{o}); ok && fits(after) {
				after.Rev = 2
				return r, after, o, true
			}
		}
	}
	return driver.Row{}, driver.Row{}, nil, false
}
