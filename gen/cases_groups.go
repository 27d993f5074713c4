package gen

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// The groups that the tests of a projection look at are those in which something of its
// rules decides: a state in a list, the order of two rules, a number.

// mostGroups bounds how many groups are looked at.
const mostGroups = 3000

// grouped is a group of records and what is made of it.
type grouped struct {
	records []interp.Record
	made    interp.Projected
	shows   []string
}

// groups returns groups that together show each part of the projection's rules.
func (s search) groups() []grouped {
	size := 3
	for n := len(s.m.States); size > 1 && n*n*n/6 > mostGroups; size-- {
		n /= 4
	}
	faults := s.faults()
	var list []grouped
	try := func(in []*spec.State) {
		g := grouped{records: s.group(in)}
		g.made = interp.ProjectGroup(s.m, g.records)
		if projected := interp.Project(s.m, g.records); len(projected) == 1 {
			g.made = projected[0]
		}
		g.shows = append(g.shows, "state "+g.made.State)
		for name, f := range faults {
			if interp.ProjectGroup(f, g.records).State != g.made.State {
				g.shows = append(g.shows, name)
			}
		}
		for name, v := range g.made.Fields {
			g.shows = append(g.shows, fmt.Sprint(name, " of ", min(len(in), 2), v.Kind))
		}
		slices.Sort(g.shows)
		list = append(list, g)
	}
	groups := [][]*spec.State{nil}
	for at := 0; at < len(groups) && len(groups) < mostGroups; at++ {
		try(groups[at])
		if len(groups[at]) == size {
			continue
		}
		for _, st := range s.m.States {
			if n := len(groups[at]); n == 0 || slices.Index(s.m.States, groups[at][n-1]) <= slices.Index(s.m.States, st) {
				groups = append(groups, append(slices.Clone(groups[at]), st))
			}
		}
	}
	for _, r := range s.m.Projection.Rules {
		counted := states(slices.Concat(r.Any, r.All))
		for n := r.AtLeast - 1; r.AtLeast > 1 && n <= r.AtLeast && n < 50; n++ {
			for _, st := range counted {
				try(slices.Repeat([]*spec.State{st}, int(n)))
			}
			var mixed []*spec.State
			for i := range int(n) {
				mixed = append(mixed, counted[i%len(counted)])
			}
			try(mixed)
		}
	}
	return essential(list, func(g grouped) []string { return g.shows })
}

// group makes records in these states with one key and different values elsewhere.
func (s search) group(in []*spec.State) []interp.Record {
	p := s.m.Projection
	var list []interp.Record
	for i, st := range in {
		r := s.soundRecord(st)
		r.ID = fmt.Sprint("r-", i)
		rank := (i*2 + 1) % (len(in) + 1 + len(in)%2) // neither the first nor the last has the most
		for _, f := range p.Fields {
			switch {
			case f.Field == nil:
			case f.Field.Builtin:
				r.CreatedAt, r.UpdatedAt = noon.Add(time.Duration(rank)*time.Minute), noon.Add(time.Duration(rank)*time.Minute)
			case f.Field.Type.Kind == spec.KindTime:
				r = r.With(s.m, f.Field.Name, interp.Time(noon.Add(time.Duration(rank)*time.Minute)))
			case f.Field.Type.Kind == spec.KindString:
				r = r.With(s.m, f.Field.Name, interp.String(f.Field.Type.Fitted(fmt.Sprint("text ", rank))))
			case f.Field.Type.Kind == spec.KindDuration:
				r = r.With(s.m, f.Field.Name, interp.Span(*f.Field.Type.Min+int64(rank)))
			case f.Field.Type.Kind == spec.KindInt || f.Field.Type.Kind == spec.KindCounter || f.Field.Type.Kind == spec.KindSequence:
				low := int64(1)
				if f.Field.Type.Asked().Min != nil {
					low = *f.Field.Type.Min
				}
				r = r.With(s.m, f.Field.Name, interp.Int(low+int64(rank)))
			}
		}
		for j, k := range p.Key {
			if !k.Field.Builtin {
				r = r.With(s.m, k.Field.Name, plainValue(k.Field.Type, k.Field.Type.Min, k.Field.Name, j))
			}
		}
		list = append(list, r)
	}
	return list
}

// faults are machines whose projection has one fault each.
func (s search) faults() map[string]*spec.Machine {
	list := map[string]*spec.Machine{}
	fault := func(name string, change func(p *spec.Projection)) {
		m, p := *s.m, *s.m.Projection
		p.Rules = slices.Clone(p.Rules)
		for i := range p.Rules {
			r := *p.Rules[i]
			p.Rules[i] = &r
		}
		change(&p)
		m.Projection = &p
		list[name] = &m
	}
	for i, r := range s.m.Projection.Rules {
		if i > 0 {
			fault(fmt.Sprint("order of rule ", i), func(p *spec.Projection) { p.Rules[i-1], p.Rules[i] = p.Rules[i], p.Rules[i-1] })
		}
		fault(fmt.Sprint("no rule ", i), func(p *spec.Projection) { p.Rules = slices.Delete(p.Rules, i, i+1) })
		if r.AtLeast > 0 {
			fault(fmt.Sprint("one less of rule ", i), func(p *spec.Projection) { p.Rules[i].AtLeast-- })
			fault(fmt.Sprint("one more of rule ", i), func(p *spec.Projection) { p.Rules[i].AtLeast++ })
		}
		for kind, in := range map[string]func(*spec.ProjectionRule) *[]spec.StateRef{
			"any":  func(r *spec.ProjectionRule) *[]spec.StateRef { return &r.Any },
			"all":  func(r *spec.ProjectionRule) *[]spec.StateRef { return &r.All },
			"none": func(r *spec.ProjectionRule) *[]spec.StateRef { return &r.None },
		} {
			if *in(r) == nil {
				continue
			}
			fault(fmt.Sprint(kind, " not asked by rule ", i), func(p *spec.Projection) { *in(p.Rules[i]) = nil })
			for _, st := range s.m.States {
				fault(fmt.Sprint(st.Name, " in ", kind, " of rule ", i), func(p *spec.Projection) {
					refs := in(p.Rules[i])
					if at := slices.IndexFunc(*refs, func(r spec.StateRef) bool { return r.State == st }); at >= 0 {
						*refs = slices.Delete(slices.Clone(*refs), at, at+1)
					} else {
						*refs = append(slices.Clip(*refs), spec.StateRef{State: st})
					}
				})
			}
		}
	}
	return list
}
