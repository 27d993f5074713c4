package gen

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// What a machine picks among several records.

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
		for y := range s.edits(o, x) {
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
	if o.Next == nil {
		return
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
				both := s.fits(base.call, low) && s.fits(base.call, high)
				pick(base.call, fmt.Sprintf("pick by %s %d, absent %t, both %t", key.Field.Name, by, absent, both), low, high)
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

// fits reports whether a call picks the record when it is alone.
func (s search) fits(call interp.Call, r interp.Record) bool {
	r.ID = "a-1"
	p, ok := s.play(tried{before: interp.NewRecord(s.m, ""), call: call}, []interp.Record{r}, "")
	return ok && p.want == nil
}

// fitting is a call that picks the record when it is alone, where one near to x does.
func (s search) fitting(x tried) tried {
	fits := func(y tried) bool { return s.fits(y.call, y.before) }
	near := []tried{x}
	for i := 0; i < len(near) && i < mostBases; i++ {
		if fits(near[i]) {
			return near[i]
		}
		for y := range s.edits(x.call.Op, near[i]) {
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
	list := append(s.apart(r, f), r)
	if v := r.Value(s.m, f); v.Kind == interp.KindTime { // which a guard may ask to be past
		if early := r.With(s.m, f.Name, interp.Time(v.AsTime().Add(-time.Minute))); sound(s.m, early) {
			list = append(list, early)
		}
	}
	return list
}

// pickFacts says how the sides of what a pick looks at stand to each other.
func (x *tried) pickFacts(m *spec.Machine) []string {
	facts := slices.Clone(x.call.Op.Chosen())
	for _, q := range x.call.Op.Require {
		for _, f := range q.When {
			if f.Op == spec.AnyOf || slices.ContainsFunc(f.Names(), func(t spec.Term) bool { return t.Field != nil }) {
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
			list = append(list, relations(m, f, x.before, call)...)
		}
	}
	return list
}
