package gen

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What a store answers may follow from other records: a guard counts them, a constraint
// forbids two, the machine picks one. Such worlds are made here, and the interpreter
// plays the call in them.

// ownID is the record that a case is about.
const ownID = "m-1"

// mostPeers is the greatest number of other records that a case puts into a store.
const mostPeers = 12

// idle is a trigger that does not ask yet.
const idle = "idle"

// played is a call in a store, and what comes of it.
type played struct {
	tried
	beside  []interp.Record
	trigger string // of the engine: fsmtest.BySweep, fsmtest.ByStartup
	want    *interp.Refusal
	out     interp.Outcome
	first   int            // how many events the first transaction has
	events  []interp.Event // and those that follow when effects are delivered
	effects []string
	again   []string      // what the same request is
	retry   []interp.Call // with these inputs
	pure    bool          // the pure method answers the same
	noStore bool          // and the store cannot be brought there
	idle    bool          // nothing is to be done
}

// picks reports whether the machine picks the record.
func (x *played) picks() bool { return x.call.Op.Next != nil && x.before.State == nil }

// cases returns all calls that the tests make of an operation.
func (s search) cases(o *spec.Operation) []played {
	var list []played
	for _, x := range s.calls(o) {
		p, ok := s.play(x, nil, "")
		switch {
		case !ok:
			p = played{tried: x, pure: true, noStore: true}
		case !s.agree(x, p):
			p = played{tried: x, pure: true, noStore: true}
		default:
			p.pure = true
		}
		list = append(list, p)
	}
	if !s.store {
		return list
	}
	list = append(list, s.crowd(o)...)
	s.retries(list)
	return list
}

// agree reports whether a store answers as the pure method does.
func (s search) agree(x tried, p played) bool {
	if x.refusal != nil || p.want != nil {
		return x.refusal != nil && p.want != nil && x.refusal.Code == p.want.Code && x.refusal.Guard == p.want.Guard && x.refusal.Name == p.want.Name
	}
	return len(p.events) > 0 && p.events[0].To == x.done.To && p.out.RecordOnly == x.done.RecordOnly
}

// play plays a call in a world. It reports false where no store can be brought there.
func (s search) play(x tried, beside []interp.Record, trigger string) (played, bool) {
	m, p := s.m, played{tried: x, beside: beside, trigger: trigger}
	w := interp.World{Records: map[string]interp.Record{}}
	for _, r := range beside {
		r.Rev = 1
		w.Records[r.ID] = r
	}
	c := x.call
	if x.before.State != nil {
		p.before.ID, p.before.Rev = ownID, 1
		w.Records[ownID] = p.before
	}
	for _, r := range w.Records {
		if !sound(m, r) || !seedable(m, r) {
			return p, false
		}
	}
	if w.Clash(m) || interp.Internal(m, c.Op) && len(c.Op.Triggers) == 0 { // nobody can call it
		return p, false
	}
	if !p.picks() {
		c.ID = ownID
	}
	if x.before.State != nil && m.ExpectedRev != spec.None {
		c.ExpectedRev = 1
	}
	switch {
	case trigger != "":
		c.Fired, c.ExpectedRev, c.Actor, c.Reason = true, 1, "", ""
	case m.RequestID != spec.None && c.Op.By != spec.BySystem:
		c.RequestID = "request-1"
	}
	if trigger == "" {
		p.others = w.Others(m, p.before, filledInputs(m, c))
		if x.before.State == nil && !creates(c.Op) {
			p.others = interp.Others{}
		}
		if d := x.others; !sameCounts(d, p.others) && beside == nil {
			return p, false
		}
	}
	p.call = c
	var next interp.World
	p.out, next, p.want = interp.Step(m, w, c)
	if p.want != nil || p.out.Existing {
		return p, true
	}
	p.events, p.first = slices.Clone(p.out.Events), len(p.out.Events)
	p.performed(m, p.out.Events)
	for len(next.Outbox) > 0 {
		d := next.Outbox[0]
		p.effects = append(p.effects, d.Op.Effect.Name+" "+d.Key)
		out, then, refusal := interp.Deliver(m, next, d, c.At)
		if refusal != nil {
			return p, false
		}
		p.events = append(p.events, out.Events...)
		p.performed(m, out.Events)
		next = then
	}
	return p, true
}

// performed notes the effects that are a part of a transaction.
func (p *played) performed(m *spec.Machine, events []interp.Event) {
	for _, e := range events {
		if x := e.Op.Effect; x != nil && x.Atomic && e.N == 0 {
			r := p.recordAfter(m, e)
			p.effects = append(p.effects, x.Name+" in the transaction: "+interp.EffectKey(m, x, r))
		}
	}
}

// recordAfter is the record as an event left it.
func (p *played) recordAfter(m *spec.Machine, last interp.Event) interp.Record {
	r := p.of(m)
	for _, e := range p.events {
		r = after(m, r, e)
		if e.Rev == last.Rev && e.N == last.N {
			break
		}
	}
	return r
}

// of is the record before the call.
func (p *played) of(m *spec.Machine) interp.Record {
	if p.before.State != nil {
		return p.before
	}
	if len(p.events) > 0 {
		for _, r := range p.beside {
			if r.ID == p.events[0].ID {
				r.Rev = 1
				return r
			}
		}
	}
	return interp.NewRecord(m, ownID)
}

// after applies one event.
func after(m *spec.Machine, r interp.Record, e interp.Event) interp.Record {
	if e.N > 0 {
		return r
	}
	for _, c := range e.Changes {
		v := c.Value
		if c.Added {
			v = r.Value(m, c.Field).Union(v)
		}
		r = r.With(m, c.Field.Name, v)
	}
	if r.State, r.Rev = e.To, e.Rev; e.From == nil {
		r.CreatedAt, r.UpdatedAt = e.At, e.At
	}
	if e.At.After(r.UpdatedAt) {
		r.UpdatedAt = e.At
	}
	return r
}

// seedable reports whether a store can hold a record that it did not make.
func seedable(m *spec.Machine, r interp.Record) bool {
	if r.UpdatedAt.Before(r.CreatedAt) {
		return false
	}
	for i, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence && r.Fields[i].Num > 1000 {
			return false // a store counts up to it
		}
	}
	return true
}

func filledInputs(m *spec.Machine, c interp.Call) interp.Call {
	if accepted, refusal := interp.Accept(m, c); refusal == nil {
		return accepted
	}
	return c
}

func sameCounts(a, b interp.Others) bool {
	for g, n := range a.Count {
		if n != b.Count[g] {
			return false
		}
	}
	for f, n := range a.Next {
		if n != b.Next[f] {
			return false
		}
	}
	return true
}

// crowd returns the cases of an operation in which other records or the time matter.
func (s search) crowd(o *spec.Operation) []played {
	var list []played
	add := func(x tried, beside []interp.Record, trigger string, shows string, args ...any) bool {
		p, ok := s.play(x, beside, trigger)
		if !ok {
			return false
		}
		if trigger != "" && p.want != nil || trigger == idle {
			p.idle, p.want, p.trigger = true, nil, cmp.Or(strings.TrimPrefix(trigger, idle), "BySweep")
			p.events, p.effects = nil, nil
		}
		p.shows = []string{fmt.Sprintf(shows, args...) + ": " + p.answer()}
		p.pure = trigger == "" && !p.picks() && !p.out.Existing && (p.want == nil || p.want.Code != interp.CodeNotUnique && p.want.Code != interp.CodeExists)
		if p.pure {
			d, refusal := interp.Decide(s.m, x.before, x.call, p.others)
			p.tried.done, p.tried.refusal = d, refusal
			p.pure = s.agree(p.tried, p)
		}
		list = append(list, p)
		return true
	}
	bases := s.bases(o)
	for i, x := range bases {
		s.peers(x, i == 0, add)
		s.places(x, i == 0, add)
	}
	if o.Next != nil {
		s.queue(o, bases, add)
	}
	s.fired(o, bases, add)
	return essential(list, func(x played) []string { return x.shows })
}

// answer names what came of a call.
func (p *played) answer() string {
	switch {
	case p.idle:
		return "idle"
	case p.want != nil:
		return p.want.Code + " " + p.want.Name
	case p.out.Existing:
		return "existing"
	}
	return p.events[0].ID + " to " + p.events[0].To.Name
}

// adder plays a call and keeps it, if it shows something.
type adder func(x tried, beside []interp.Record, trigger string, shows string, args ...any) bool

// bases are calls that are accepted and move the record: from each state the one after
// which the record holds most.
func (s search) bases(o *spec.Operation) []tried {
	var list []tried
	have := map[*spec.State]int{}
	for _, x := range s.calls(o) {
		x.others = firstNumbers(s.m, o)
		d, refusal := interp.Decide(s.m, x.before, x.call, x.others)
		if refusal != nil || d.RecordOnly {
			continue
		}
		if _, ok := s.play(x, nil, ""); !ok {
			continue
		}
		x.done = d
		if i, known := have[x.before.State]; !known {
			have[x.before.State] = len(list)
			list = append(list, x)
		} else if holds(x.done.Record) > holds(list[i].done.Record) {
			list[i] = x
		}
	}
	return list
}

// holds counts the fields of a record that hold something.
func holds(r interp.Record) (n int) {
	for _, v := range r.Fields {
		if v.IsPresent() {
			n++
		}
	}
	return n
}

// other makes the n-th other record: in a state, with the values of like in some fields,
// and values of its own in all that must not be shared.
func (s search) other(n int, st *spec.State, like interp.Record, fields []spec.FieldRef) interp.Record {
	r := s.own(s.soundRecord(st), n, func(*spec.Field) bool { return true })
	for _, f := range fields {
		if f.Field.Builtin {
			continue
		}
		r = r.With(s.m, f.Field.Name, like.Value(s.m, f.Field))
	}
	return r
}

// own gives the n-th record an id, and values of its own in some fields.
func (s search) own(r interp.Record, n int, in func(*spec.Field) bool) interp.Record {
	r.ID = fmt.Sprintf("%c-1", 'a'+n)
	for i, f := range s.m.Fields {
		if !r.Fields[i].IsPresent() || !in(f) {
			continue
		}
		var v interp.Value
		switch f.Type.Kind {
		case spec.KindString:
			v = interp.String(fmt.Sprintf("%s-%c", f.Name, 'a'+n))
		case spec.KindSequence, spec.KindInt:
			v = interp.Int(r.Fields[i].Num + int64(n) + 1)
		default:
			continue
		}
		if next := r.With(s.m, f.Name, v); sound(s.m, next) {
			r = next
		}
	}
	return r
}

// shared reports whether a field is part of what two records must not share.
func (s search) shared(f *spec.Field) bool {
	in := func(refs []spec.FieldRef) bool {
		return slices.ContainsFunc(refs, func(r spec.FieldRef) bool { return r.Field == f })
	}
	return f.Type.Kind == spec.KindSequence ||
		slices.ContainsFunc(s.m.Unique, func(u *spec.Unique) bool { return in(u.Fields) }) ||
		slices.ContainsFunc(s.m.Operations, func(o *spec.Operation) bool { return o.DedupeBy != nil && in(o.DedupeBy.Fields) })
}

// apart returns a record with another value in a field.
func (s search) apart(r interp.Record, f *spec.Field) []interp.Record {
	if f.Builtin {
		return s.ordered(r, f)[:1]
	}
	var list []interp.Record
	for _, v := range s.pool(tried{before: r}, f.Type, nil, func(spec.Term) bool { return false }) {
		if v != r.Value(s.m, f) && v != interp.String("") && v != interp.Word("") && (v.Kind != interp.KindTime || v.Num > 0) && v != interp.Int(math.MaxInt64) &&
			(v.Kind != interp.KindAbsent || f.Type.Optional) {
			if next := r.With(s.m, f.Name, v); sound(s.m, next) {
				list = append(list, next)
			}
		}
	}
	return list
}

// peers fills the groups that guards count.
func (s search) peers(x tried, first bool, add adder) {
	m := s.m
	for _, g := range peerGuards(x.call.Op) {
		p := g.Peers
		if p.Than > mostPeers {
			continue
		}
		like := x.before
		if creates(x.call.Op) {
			like = interp.Effects(m, &x.call.Op.Effects, like, filledInputs(m, x.call))
		}
		in := states(p.In)
		fill := func(n int64, st func(i int) *spec.State) []interp.Record {
			var list []interp.Record
			for i := range int(n) {
				list = append(list, s.other(i, st(i), like, p.Same))
			}
			return list
		}
		cycle := func(i int) *spec.State { return in[i%len(in)] }
		name := fmt.Sprintf("peers %s from %v", g.Name, x.before.State)
		call := func(beside []interp.Record, shows string, args ...any) {
			add(x, beside, "", name+" "+shows, args...)
			if x.call.Op.Next != nil { // and the machine picks
				own := x.before
				own.ID = ownID
				y := x
				y.before = interp.NewRecord(m, "")
				add(y, append(slices.Clone(beside), own), "", name+" picked "+shows, args...)
			}
		}
		call(fill(p.Than-1, cycle), "one fewer")
		call(fill(p.Than, cycle), "as many")
		for _, st := range m.States {
			if !first { // the other states are shown from one
				break
			}
			call(fill(p.Than, func(i int) *spec.State {
				if i == 0 {
					return st
				}
				return cycle(i)
			}), "one in %s", st.Name)
		}
		for _, f := range p.Same {
			full := fill(p.Than, cycle)
			for _, r := range s.apart(full[0], f.Field) {
				other := append([]interp.Record{r}, full[1:]...)
				call(other, "another %s, absent %t", f.Field.Name, r.Value(m, f.Field).Kind == interp.KindAbsent)
			}
			if f.Field.Type.Optional { // a record in no group has no others
				y := x
				y.before = x.before.With(m, f.Field.Name, interp.Absent)
				if !creates(x.call.Op) && sound(m, y.before) {
					add(y, full, "", name+" own %s absent", f.Field.Name)
				}
			}
		}
	}
}

// places takes the places that constraints give to one record, and the ids and keys of creations.
func (s search) places(x tried, first bool, add adder) {
	m, o := s.m, x.call.Op
	d, _ := interp.Decide(m, x.before, x.call, x.others)
	made := d.Record
	rule := func(name string, fields []spec.FieldRef, in []spec.StateRef) (shown bool) {
		for _, st := range m.States {
			if st != d.To && (in == nil || !first) {
				continue
			}
			r := s.other(0, st, made, fields)
			shown = add(x, []interp.Record{r}, "", "%s from %v, one in %s", name, x.before.State, st.Name) || shown
		}
		st := d.To
		if in != nil {
			st = in[0].State
		}
		for _, f := range fields {
			for _, r := range s.apart(s.other(0, st, made, fields), f.Field) {
				add(x, []interp.Record{r}, "", "%s from %v, another %s, absent %t", name, x.before.State, f.Field.Name, r.Value(m, f.Field).Kind == interp.KindAbsent)
			}
		}
		return shown
	}
	for _, u := range m.Unique {
		if s.known.places[u] { // the constraint is the same for all operations
			continue
		}
		if slices.ContainsFunc(u.In, func(r spec.StateRef) bool { return r.State == d.To }) {
			s.known.places[u] = rule("unique "+u.Name, u.Fields, u.In)
		}
	}
	if !creates(o) {
		return
	}
	if o.DedupeBy != nil {
		var in []spec.StateRef
		if o.DedupeBy.Unique != nil {
			in = o.DedupeBy.Unique.In
		}
		rule("dedupe", o.DedupeBy.Fields, in)
	}
	taken := s.other(0, d.To, made, nil)
	taken.ID = ownID
	add(x, []interp.Record{taken}, "", "the id is taken")
	for _, f := range sequences(m, o) {
		var per []spec.FieldRef
		for _, p := range f.Per {
			per = append(per, spec.FieldRef{Field: p})
		}
		first := s.other(0, d.To, made, per).With(m, f.Name, interp.Int(3))
		add(x, []interp.Record{first}, "", "sequence %s goes on", f.Name)
		for _, p := range f.Per {
			for _, r := range s.apart(first, p) {
				add(x, []interp.Record{r}, "", "sequence %s, another %s, absent %t", f.Name, p.Name, r.Value(m, p).Kind == interp.KindAbsent)
			}
		}
	}
}

// queue lets the machine pick among records.
func (s search) queue(o *spec.Operation, bases []tried, add adder) {
	m := s.m
	none := interp.NewRecord(m, "")
	pick := func(call interp.Call, shows string, records ...interp.Record) {
		for i := range records {
			records[i] = s.own(records[i], i, s.shared)
		}
		add(tried{before: none, call: call, others: interp.Others{}}, records, "", "%s", shows)
	}
	for i := range bases {
		bases[i] = s.fitting(bases[i])
	}
	for _, x := range bases {
		from := x.before.State.Name
		pick(x.call, "pick from "+from, x.before)
		for _, y := range s.edits(o, x) {
			if y.before.State != x.before.State {
				continue
			}
			for _, f := range y.pickFacts(m) {
				pick(y.call, "pick from "+from+" "+f, y.before)
			}
		}
	}
	for _, st := range m.States {
		if !slices.Contains(states(o.From), st) && len(bases) > 0 {
			pick(bases[0].call, "pick from another state", s.soundRecord(st))
		}
	}
	if len(bases) == 0 {
		return
	}
	for i, x := range bases[1:] {
		y := bases[i]
		pick(x.call, fmt.Sprint("pick of states ", i), x.before, y.before)
		pick(x.call, fmt.Sprint("pick of states back ", i), y.before, x.before)
	}
	base := bases[0]
	pick(base.call, "pick the first id", base.before, base.before)
	for i, key := range o.Next.Order {
		for _, low := range s.ordered(base.before, key.Field) {
			for _, high := range s.ordered(base.before, key.Field) {
				by := low.Value(m, key.Field).Compare(high.Value(m, key.Field))
				if by == 0 {
					continue
				}
				absent := low.Value(m, key.Field).Kind == interp.KindAbsent || high.Value(m, key.Field).Kind == interp.KindAbsent
				pick(base.call, fmt.Sprintf("pick by %s %d, absent %t", key.Field.Name, by, absent), low, high)
				for _, later := range o.Next.Order[i+1:] { // which says nothing any more
					for _, v := range s.ordered(low, later.Field) {
						if b := v.Value(m, later.Field).Compare(high.Value(m, later.Field)); b == -by {
							pick(base.call, fmt.Sprintf("pick by %s %d before %s", key.Field.Name, by, later.Field.Name), v, high)
						}
					}
				}
			}
		}
	}
}

// fitting is a call that picks the record when it is alone, where one near to x does.
func (s search) fitting(x tried) tried {
	fits := func(y tried) bool {
		y.before.ID = "a-1"
		p, ok := s.play(tried{before: interp.NewRecord(s.m, ""), call: y.call}, []interp.Record{y.before}, "")
		return ok && p.want == nil
	}
	near := []tried{x}
	for i := 0; i < len(near) && i < mostBases; i++ {
		if fits(near[i]) {
			return near[i]
		}
		for _, y := range s.edits(x.call.Op, near[i]) {
			if y.before.State == x.before.State && sound(s.m, y.before) {
				near = append(near, y)
			}
		}
	}
	for _, y := range near[min(len(near), mostBases):] {
		if fits(y) {
			return y
		}
	}
	return x
}

// ordered are records that differ in a field by which the machine orders.
func (s search) ordered(r interp.Record, f *spec.Field) []interp.Record {
	if f.Builtin {
		early := r
		early.CreatedAt = early.CreatedAt.Add(-time.Second)
		late := r
		late.UpdatedAt = late.UpdatedAt.Add(time.Second)
		if f.Name == "updated_at" {
			return []interp.Record{r, late}
		}
		return []interp.Record{early, r}
	}
	return append(s.apart(r, f), r)
}

// pickFacts says how the sides of what a pick looks at stand to each other.
func (x *tried) pickFacts(m *spec.Machine) []string {
	facts := slices.Clone(x.call.Op.Next.Where)
	for _, q := range x.call.Op.Require {
		for _, f := range q.When {
			if f.Left.Field != nil || f.Right.Field != nil {
				facts = append(facts, f)
			}
		}
	}
	call := filledInputs(m, x.call)
	var failing []*spec.Fact
	for _, f := range facts {
		if !interp.Holds(m, f, x.before, call) {
			failing = append(failing, f)
		}
	}
	var list []string
	for _, f := range facts {
		if len(failing) == 0 || len(failing) == 1 && failing[0] == f {
			list = append(list, f.Text+" "+relation(m, f, x.before, call))
		}
	}
	return list
}

// fired lets the machine itself make the call.
func (s search) fired(o *spec.Operation, bases []tried, add adder) {
	m := s.m
	for _, t := range o.Triggers {
		for _, x := range bases {
			if t.Startup {
				if !s.due(x.before, x.call.At) && s.recovers(o, x) {
					add(x, nil, "ByStartup", "startup from %s", x.before.State.Name)
				}
				continue
			}
			for d := time.Duration(0); d <= time.Microsecond; d += time.Microsecond {
				y, at := x, x.call.At.Add(d-t.Plus)
				if t.After.Builtin {
					y.before.CreatedAt = at
					if y.before.UpdatedAt = at; t.After.Name == "updated_at" {
						y.before.CreatedAt = at.Add(-time.Hour)
					}
				} else {
					y.before = x.before.With(m, t.After.Name, interp.Time(at))
					if !s.dueAlone(o, y.before, y.call.At) { // no other deadline has come
						y.before.CreatedAt, y.before.UpdatedAt = y.call.At, y.call.At
					}
				}
				if due := interp.Due(m, o, y.before, y.call.At); due != (d == 0) || !due && s.due(y.before, y.call.At) || due && !s.dueAlone(o, y.before, y.call.At) {
					continue
				}
				if d == 0 && s.rests(y) {
					add(y, nil, "BySweep", "sweep from %s after %s", x.before.State.Name, t.After.Name)
				} else if d > 0 && sound(m, y.before) {
					add(y, nil, idle, "not yet from %s after %s", x.before.State.Name, t.After.Name)
				}
			}
		}
	}
}

// rests reports whether no trigger asks for more when a call was made.
func (s search) rests(x tried) bool {
	p, ok := s.play(x, nil, "BySweep")
	if !ok || p.want != nil {
		return true
	}
	r := p.of(s.m)
	for _, e := range p.events {
		if r = after(s.m, r, e); s.due(r, x.call.At) {
			return false
		}
	}
	return true
}

// recovers reports whether recovery makes this call and no other one.
func (s search) recovers(o *spec.Operation, x tried) bool {
	p, ok := s.play(x, nil, "ByStartup")
	if !ok || p.want != nil {
		return ok
	}
	seen := []*spec.State{x.before.State}
	for _, e := range p.events {
		seen = append(seen, e.To)
	}
	for _, other := range s.m.Operations {
		asks := slices.ContainsFunc(other.Triggers, func(t spec.Trigger) bool { return t.Startup })
		for i, st := range seen {
			if asks && (other != o || i > 0) && s.m.Class(st, other) == spec.Transition {
				return false
			}
		}
	}
	return true
}

// due reports whether some trigger asks for an operation.
func (s search) due(r interp.Record, at time.Time) bool {
	return slices.ContainsFunc(s.m.Operations, func(o *spec.Operation) bool { return interp.Due(s.m, o, r, at) })
}

// dueAlone reports whether the triggers ask for one operation only.
func (s search) dueAlone(o *spec.Operation, r interp.Record, at time.Time) bool {
	return !slices.ContainsFunc(s.m.Operations, func(other *spec.Operation) bool { return other != o && interp.Due(s.m, other, r, at) })
}

// retries says what the same request is with other inputs: with one that a retry computes
// anew it is the same.
func (s search) retries(list []played) {
	shown := map[string]bool{}
	for i := range list {
		p := &list[i]
		if p.noStore || p.trigger != "" || p.want != nil || p.out.Existing || p.call.RequestID == "" {
			continue
		}
		for _, in := range p.call.Op.Inputs {
			v := p.call.Inputs[in.Name]
			if shown[in.Name] || v.Kind == interp.KindAbsent {
				continue
			}
			c := p.call
			for _, next := range s.pool(p.tried, in.Type, in, func(spec.Term) bool { return false }) {
				if next == v || next.Kind == interp.KindAbsent {
					continue
				}
				c.Inputs = maps.Clone(p.call.Inputs)
				c.Inputs[in.Name] = next
				if _, refusal := interp.Accept(s.m, c); refusal != nil {
					continue
				}
				word := "reused"
				if interp.SameRequest(s.m, filledInputs(s.m, p.call), filledInputs(s.m, c)) {
					word = "replayed"
				}
				shown[in.Name] = true
				p.again = append(p.again, word)
				p.retry = append(p.retry, c)
				break
			}
		}
	}
}
