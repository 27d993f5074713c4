package prove

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Sets are decided over the strings that facts and effects name, and over one
// witness for each set that is not empty and for each coverage that fails. That
// is exact: whatever holds of sets of any size holds of these members.

// elem returns the index of a string among those that sets are asked for.
func (p *problem) elem(v value) int {
	for i, e := range p.elems {
		if e.num == v.num && e.off == v.off {
			return i
		}
	}
	p.elems = append(p.elems, v)
	return len(p.elems) - 1
}

func (p *problem) witness() value {
	return value{kind: spec.KindString, num: p.number(spec.KindString)}
}

// holds says that the element is in the set.
func (p *problem) holds(elem int, s set) formula {
	var ways []formula
	if s.base >= 0 {
		key := member{elem, s.base}
		if _, ok := p.members[key]; !ok {
			p.members[key] = p.atom()
		}
		is := []formula{{op: isTrue, v: p.members[key]}}
		for _, g := range s.gone {
			p.elem(g)
			is = append(is, not(all(p.present(g), same(p.elems[elem], g))))
		}
		for _, l := range s.less {
			is = append(is, not(p.holds(elem, l)))
		}
		ways = append(ways, all(is...))
	}
	for _, a := range s.added {
		p.elem(a)
		ways = append(ways, all(p.present(a), same(p.elems[elem], a)))
	}
	return anyOf(ways...)
}

// without is the set of a field without a member, or without those of another set.
// Nothing was added to it before in the same step.
func (s *set) without(v value) *set {
	less := *s
	if v.kind == spec.KindSet {
		less.less = append(append([]set{}, s.less...), *v.set)
	} else if !v.absent {
		less.gone = append(append([]value{}, s.gone...), v)
	}
	return &less
}

// filling is the atom that a set which lost members is not empty.
type filling struct {
	atom, witness int
	set           set
}

// names gives an index to every string that a set is made of.
func (p *problem) names(s set) {
	for _, v := range slices.Concat(s.added, s.gone) {
		p.elem(v)
	}
	for _, l := range s.less {
		p.names(l)
	}
}

func (p *problem) notEmpty(s set) formula {
	if len(s.gone)+len(s.less) > 0 {
		for _, f := range p.fillings {
			if sameSet(f.set, s) {
				return formula{op: isTrue, v: f.atom}
			}
		}
		p.names(s)
		f := filling{atom: p.atom(), witness: p.elem(p.witness()), set: s}
		p.fillings = append(p.fillings, f)
		return formula{op: isTrue, v: f.atom}
	}
	var ways []formula
	if s.base >= 0 {
		if _, ok := p.filled[s.base]; !ok {
			p.filled[s.base] = p.atom()
			p.fillers[s.base] = p.witness()
			p.elem(p.fillers[s.base])
		}
		ways = append(ways, formula{op: isTrue, v: p.filled[s.base]})
	}
	for _, a := range s.added {
		p.elem(a)
		ways = append(ways, p.present(a))
	}
	return anyOf(ways...)
}

// covering says that left holds every member of right.
func (p *problem) covering(left, right set) formula {
	if right.base < 0 && len(right.added) == 0 {
		return yes
	}
	for _, c := range p.covers {
		if sameSet(c.left, left) && sameSet(c.right, right) {
			return formula{op: isTrue, v: c.atom}
		}
	}
	p.names(left)
	p.names(right)
	c := coverage{atom: p.atom(), left: left, right: right, witness: p.elem(p.witness())}
	p.covers = append(p.covers, c)
	return formula{op: isTrue, v: c.atom}
}

func sameSet(a, b set) bool {
	is := func(x, y value) bool { return x.num == y.num && x.off == y.off }
	return a.base == b.base && slices.EqualFunc(a.added, b.added, is) && slices.EqualFunc(a.gone, b.gone, is) &&
		slices.EqualFunc(a.less, b.less, sameSet)
}

// ground says what the atoms about sets mean, for every element there is. It
// returns false when that is more than may be written down.
func (p *problem) ground(m *meter) ([]formula, bool) {
	if p.sets == 0 && len(p.covers) == 0 {
		return nil, true
	}
	n := len(p.elems)
	if m.work -= n*n*p.sets + n*(len(p.covers)+len(p.fillings)); m.work < 0 || n > most {
		return nil, false
	}
	var fs []formula
	implies := func(a, b formula) { fs = append(fs, anyOf(not(a), b)) }
	for _, c := range p.covers {
		atom := formula{op: isTrue, v: c.atom}
		for e := range p.elems {
			implies(all(atom, p.holds(e, c.right)), p.holds(e, c.left))
		}
		implies(not(atom), all(p.holds(c.witness, c.right), not(p.holds(c.witness, c.left))))
	}
	for _, f := range p.fillings {
		atom := formula{op: isTrue, v: f.atom}
		for e := range p.elems {
			implies(p.holds(e, f.set), atom)
		}
		implies(atom, p.holds(f.witness, f.set))
	}
	for s := range p.sets {
		filled, asked := p.filled[s]
		if !asked {
			continue
		}
		atom := formula{op: isTrue, v: filled}
		for e := range p.elems {
			implies(p.holds(e, set{base: s}), atom)
		}
		implies(atom, p.holds(p.elem(p.fillers[s]), set{base: s}))
	}
	// Equal strings are in the same sets.
	for s := range p.sets {
		for i := range p.elems {
			a, ok := p.members[member{i, s}]
			if !ok {
				continue
			}
			for j := range i {
				if b, ok := p.members[member{j, s}]; ok {
					different := not(same(p.elems[i], p.elems[j]))
					fs = append(fs,
						anyOf(different, formula{op: isFalse, v: a}, formula{op: isTrue, v: b}),
						anyOf(different, formula{op: isTrue, v: a}, formula{op: isFalse, v: b}))
				}
			}
		}
	}
	return fs, true
}
