package gen

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What a store answers may follow from other records: a guard counts them, a constraint
// forbids two, the machine picks one. Such worlds are made here, and the interpreter
// plays the call in them.

// mostPeers is the greatest number of other records that a case puts into a store.
const mostPeers = 12

// cases returns all calls that the tests make of an operation.
func (s search) cases(o *spec.Operation) []played {
	var list, takenBack []played
	for _, x := range s.calls(o) {
		p, ok := s.play(x, nil, "")
		switch {
		case !ok:
			p = played{tried: x, pure: true, noStore: true}
		case !s.agree(x, p):
			if p.stepRefused() {
				p.shows = []string{p.want.Operation + ": " + p.answer()}
				takenBack = append(takenBack, p)
			}
			p = played{tried: x, pure: true, noStore: true}
		default:
			p.pure = true
		}
		list = append(list, p)
	}
	list = append(list, essential(takenBack, func(x played) []string { return x.shows })...)
	list = append(list, s.crowd(o)...)
	s.retries(list)
	return append(list, s.givenUp(list)...)
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
	if o.Next != nil || o.Each != nil {
		s.queue(o, bases, add)
	}
	s.fired(o, bases, add)
	return essential(list, func(x played) []string { return x.shows })
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
	r, ok := s.known.others[otherKey{n, st}]
	if !ok {
		r = s.own(s.soundRecord(st), n, func(*spec.Field) bool { return true })
		s.known.others[otherKey{n, st}] = r
	}
	for _, f := range fields {
		if f.Field.Builtin {
			continue
		}
		r = r.With(s.m, f.Field.Name, like.Value(s.m, f.Field))
	}
	return r
}

// otherKey is the n-th record in a state.
type otherKey struct {
	n  int
	st *spec.State
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
			v = interp.String(f.Type.Fitted(fmt.Sprintf("%s-%c", f.Name, 'a'+n)))
		case spec.KindSequence, spec.KindInt, spec.KindDuration:
			v = r.Fields[i]
			v.Num += int64(n) + 1
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
	for _, q := range peerRequirements(x.call.Op) {
		x := smallLimit(m, q, s.inGroup(q, x))
		x.alone = q.Guard
		g, p, call := q.Guard, q.Guard.Peers, filledInputs(m, x.call)
		than := tooMany(m, q, x.before, call)
		if than < 1 || than > mostPeers {
			continue
		}
		own := x.before
		if creates(x.call.Op) {
			own = interp.Effects(m, &x.call.Op.Effects, own, call)
		}
		like := meant(m, q, own, call)
		in := slices.DeleteFunc(states(p.In), func(st *spec.State) bool { return !sound(m, s.other(0, st, like, p.Same)) })
		if len(in) == 0 {
			continue // no other record has these values there
		}
		fill := func(n int64, st func(i int) *spec.State) []interp.Record {
			list := []interp.Record{}
			for i := range int(n) {
				list = append(list, s.other(i, st(i), like, p.Same))
			}
			return list
		}
		cycle := func(i int) *spec.State { return in[i%len(in)] }
		name := fmt.Sprintf("peers %s from %v", g.Name, x.before.State)
		ask := func(beside []interp.Record, shows string, args ...any) {
			add(x, beside, "", name+" "+shows, args...)
			if x.call.Op.Next != nil { // and the machine picks
				own := x.before
				own.ID = ownID
				y := x
				y.before = interp.NewRecord(m, "")
				add(y, append(slices.Clone(beside), own), "", name+" picked "+shows, args...)
			}
		}
		ask(fill(than-1, cycle), "one fewer")
		ask(fill(than, cycle), "as many")
		for _, st := range m.States {
			if !first { // the other states are shown from one
				break
			}
			ask(fill(than, func(i int) *spec.State {
				if i == 0 {
					return st
				}
				return cycle(i)
			}), "one in %s", st.Name)
		}
		for i, f := range p.Same {
			full := fill(than, cycle)
			for _, r := range s.apart(full[0], f.Field) {
				other := append([]interp.Record{r}, full[1:]...)
				ask(other, "another %s, absent %t", f.Field.Name, r.Value(m, f.Field).Kind == interp.KindAbsent)
			}
			t := q.Of[i].Right
			if t.Field != nil && t.Field.Type.Optional { // a record in no group has no others
				y := x
				y.before = x.before.With(m, t.Field.Name, interp.Absent)
				if !creates(x.call.Op) && sound(m, y.before) {
					add(y, full, "", name+" own %s absent", t.Field.Name)
				}
			}
			if t.Input != nil && t.Input.Type.Optional {
				y := x
				y.call.Inputs = maps.Clone(x.call.Inputs)
				delete(y.call.Inputs, t.Input.Name)
				add(y, full, "", name+" without %s", t.Input.Name)
			}
			switch v := own.Value(m, f.Field); {
			case f.Field.Builtin || !v.IsPresent():
			case t.Field == f.Field && (creates(x.call.Op) || !brought(x.call, v)):
			case t.Field == f.Field:
				if list := s.apart(x.before, f.Field); len(list) > 0 {
					was, y := like, x
					y.before = list[0]
					like = meant(m, q, y.before, call)
					add(y, fill(than, cycle), "", name+" of another %s than the call's", f.Field.Name)
					like = was
				}
			case v != like.Value(m, f.Field):
				was := like
				like = like.With(m, f.Field.Name, v)
				ask(fill(than, cycle), "as many with its own %s", f.Field.Name)
				like = was
			case !creates(x.call.Op):
				for _, r := range s.apart(x.before, f.Field) {
					y := x
					y.before = r
					add(y, full, "", name+" its own %s another", f.Field.Name)
				}
			}
		}
	}
}

// brought reports whether a call brings a value.
func brought(c interp.Call, v interp.Value) bool {
	return v == interp.String(c.Actor) || slices.Contains(slices.Collect(maps.Values(c.Inputs)), v)
}

// inGroup lets a call bring the inputs that tell the group of a guard.
func (s search) inGroup(q *spec.Requirement, x tried) tried {
	for _, f := range q.Of {
		in := f.Right.Input
		if in == nil || x.call.Inputs[in.Name].IsPresent() {
			continue
		}
		for _, v := range s.pool(tried{before: x.before}, in.Type, nil, func(spec.Term) bool { return false }) {
			if v.IsPresent() && v != interp.String("") && v != interp.Word("") {
				x.call.Inputs = maps.Clone(x.call.Inputs)
				x.call.Inputs[in.Name] = v
				break
			}
		}
	}
	return x
}

// smallLimit lets a limit that the record or the call tells be one that others can reach.
func smallLimit(m *spec.Machine, q *spec.Requirement, x tried) tried {
	if n := tooMany(m, q, x.before, filledInputs(m, x.call)); q.Limit == nil || n >= 1 && n <= mostPeers {
		return x
	}
	y, in := x, q.Limit.Left.Input
	if f := q.Limit.Left.Field; f != nil && !creates(x.call.Op) {
		if y.before = x.before.With(m, f.Name, interp.Int(2)); sound(m, y.before) {
			return y
		}
		return x
	}
	if in == nil {
		for _, a := range x.call.Op.Effects.Set {
			if a.Field == q.Limit.Left.Field {
				in = a.Value.Input
			}
		}
	}
	if in != nil {
		y.call.Inputs = maps.Clone(x.call.Inputs)
		y.call.Inputs[in.Name] = interp.Int(2)
	}
	return y
}

// meant gives a record the values of the group that a guard counts for a call, if there is one.
func meant(m *spec.Machine, q *spec.Requirement, r interp.Record, c interp.Call) interp.Record {
	values, there := interp.GroupOf(m, q, r, c)
	for i, f := range q.Guard.Peers.Same {
		if there && !f.Field.Builtin {
			r = r.With(m, f.Field.Name, values[i])
		}
	}
	return r
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
