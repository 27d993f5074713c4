package prove

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/omega"
	"github.com/fsmgen/fsmgen/spec"
)

// keeps reports whether the values at hand keep a sum.
func (s *state) keeps(f *formula) bool {
	total := f.c
	for _, a := range f.sum {
		total += a.factor * (s.at[s.row(a.num)] - s.at[0])
	}
	return total >= 0
}

// add decides whether the sums can be true together with the differences that their
// numbers are bound by.
func (s *state) add() verdict {
	_, _, v := s.numbers(nil)
	return v
}

// summed is want, where the numbers that a sum depends on are fixed: others can follow
// them, since what binds them is a difference each.
func (s *state) summed(want func(num int) int64) func(num int) int64 {
	if len(s.sums) == 0 {
		return want
	}
	rows, at, v := s.numbers(want)
	if v != possible {
		return want
	}
	fixed := map[int]int64{}
	for i, row := range rows {
		fixed[s.name(row)] = at[i]
	}
	return func(num int) int64 {
		if v, ok := fixed[num]; ok {
			return v
		}
		return want(num)
	}
}

// name is the number that stands in a row.
func (s *state) name(row int) int {
	if s.index == nil {
		return row
	}
	return s.names[row]
}

// numbers asks for numbers that keep all sums and differences: of the rows that a sum
// names, and of those that differences tie to them.
func (s *state) numbers(want func(num int) int64) (rows []int, at []int64, v verdict) {
	place := make([]int, len(s.first)) // row -> its place in rows, from 1 on
	put := func(row int) {
		if row != 0 && place[row] == 0 {
			rows = append(rows, row)
			place[row] = len(rows)
		}
	}
	for _, f := range s.sums {
		for _, a := range f.sum {
			put(s.row(a.num))
		}
	}
	for grown := -1; grown != len(rows); {
		grown = len(rows)
		for _, e := range s.edges {
			if e.from != 0 && e.to != 0 && place[e.from]+place[e.to] > 0 {
				put(int(e.from))
				put(int(e.to))
			}
		}
	}
	var list []omega.Row
	line := func(c int64) omega.Row { return omega.Row{Factor: make([]int64, len(rows)), Const: c} }
	for _, f := range s.sums {
		r := line(f.c)
		for _, a := range f.sum {
			r.Factor[place[s.row(a.num)]-1] += a.factor
		}
		list = append(list, r)
	}
	for _, e := range s.edges {
		if place[e.from]+place[e.to] == 0 {
			continue
		}
		r := line(e.c) // from + c - to >= 0
		if e.from != 0 {
			r.Factor[place[e.from]-1]++
		}
		if e.to != 0 {
			r.Factor[place[e.to]-1]--
		}
		list = append(list, r)
	}
	s.meter.work -= len(list) * len(rows)
	var wish []int64
	if want != nil {
		for _, row := range rows {
			wish = append(wish, want(s.name(row)))
		}
	}
	answer, at := omega.Solve(list, wish)
	switch answer {
	case omega.Found:
		return rows, at, possible
	case omega.Never:
		return rows, nil, impossible
	}
	return rows, nil, undecided
}

// plus is the value of a sum, which is there where all its parts are.
func (p *problem) plus(parts []spec.Part, read reader) value {
	v := value{kind: cmp.Or(spec.SumKind(parts), spec.KindInt)}
	all := make([]value, len(parts))
	for i, part := range parts {
		x := p.term(part.Term, read)
		all[i] = x
		v.off += part.Signed(x.off)
		v.sum = append(v.sum, x.addends(part.Signed(1))...)
	}
	p.together(&v, all)
	switch v.sum = gathered(v.sum); {
	case v.absent:
		return value{kind: v.kind, absent: true}
	case !small(v.off):
		v.opaque = true
	case len(v.sum) == 0:
		v.sum = nil
	case len(v.sum) == 1 && v.sum[0].factor == 1:
		v.num, v.sum = v.sum[0].num, nil
	}
	return v
}

// together says that a value is there where all that it is made of is.
func (p *problem) together(v *value, of []value) {
	var there []formula
	for _, x := range of {
		v.absent, v.opaque = v.absent || x.absent, v.opaque || x.opaque
		if x.maybe {
			v.maybe, v.pres = true, x.pres
			there = append(there, p.present(x))
		}
	}
	if len(there) > 1 {
		v.pres = p.atom()
		is := formula{op: isTrue, v: v.pres}
		p.assume(anyOf(not(is), all(there...)))
		p.assume(anyOf(is, not(all(there...))))
	}
}

// growth is a back-off between ends that are no constants.
type growth struct{ v, base, longest, tries value }

// doublings is how often such a back-off grows at most, so that the proof knows what it is.
const doublings = 8

// backoff is a length that doubles with a counter from one end to the other. Between ends that
// are no constants a proof knows what the first ones are, and that all stay between the ends.
func (p *problem) backoff(b *spec.Backoff, read reader) value {
	base, longest := p.term(b.Base, read), p.term(b.Max, read)
	v := value{kind: spec.KindDuration}
	if p.together(&v, []value{base, longest}); v.absent || v.opaque {
		return v
	}
	n := read(b.By)
	key := fmt.Sprint(base.num, base.off, base.sum, longest.num, longest.off, longest.sum, n.num, n.off)
	if num, known := p.grown[key]; known { // the same length, wherever it stands
		v.num = num
		return v
	}
	v.num = p.number(spec.KindDuration)
	p.grown[key] = v.num
	p.assume(compare(v, longest, 0))
	p.assume(anyOf(compare(base, v, 0), same(v, longest)))
	if b.Base.Kind != spec.TermSpan || b.Max.Kind != spec.TermSpan {
		p.growths = append(p.growths, growth{v, base, longest, n})
		shortest, _ := lengths(b.Base)
		_, greatest := lengths(b.Max)
		k := int64(0)
		for ; k < doublings && max(1, shortest)<<k < greatest; k++ {
			length := base.times(1 << k)
			p.assume(anyOf(not(same(n, constant(n.kind, k))), all(compare(v, length, 0), anyOf(same(v, length), same(v, longest)))))
		}
		grown := []formula{same(v, longest), all(same(v, base), not(base.atLeast(1)))} // of 0 nothing grows
		if k == doublings {
			grown = append(grown, compare(base.times(1<<k), v, 0))
		}
		p.assume(anyOf(not(n.atLeast(k)), anyOf(grown...)))
		return v
	}
	for k := int64(0); ; k++ {
		length := b.Length(b.Base.Int, b.Max.Int, k)
		is := same(v, constant(v.kind, length))
		if length == b.Max.Int {
			p.assume(anyOf(not(n.atLeast(k)), is))
			return v
		}
		p.assume(anyOf(not(same(n, constant(n.kind, k))), is))
	}
}

// lengths returns between which lengths an end of a back-off is.
func lengths(t spec.Term) (low, high int64) {
	switch {
	case t.Field != nil:
		return *t.Field.Type.Min, *t.Field.Type.Max
	case t.Input != nil:
		return *t.Input.Type.Min, *t.Input.Type.Max
	}
	return t.Int, t.Int
}

// times is a value a number of times.
func (v value) times(n int64) value {
	if v.off *= n; v.num != 0 || v.sum != nil {
		v.sum = v.addends(n)
	}
	return v
}

// told reports whether the back-offs of a solution are what the interpreter makes of their ends
// and tries.
func (s *part) told(sol *solution) bool {
	w := &world{part: s, sol: sol}
	for _, g := range s.growths {
		if g.v.maybe && !sol.bools[g.v.pres] {
			continue
		}
		if w.number(g.v) != (&spec.Backoff{}).Length(w.number(g.base), w.number(g.longest), w.number(g.tries)) {
			return false
		}
	}
	return true
}

// tried says that each back-off grows fewer than n times.
func (s *part) tried(n int64) []formula {
	var list []formula
	for _, g := range s.growths {
		list = append(list, not(g.tries.atLeast(n)))
	}
	return list
}

// addends are the numbers of a value, times a factor.
func (v value) addends(factor int64) []addend {
	if v.sum == nil {
		return []addend{{v.num, factor}}
	}
	list := make([]addend, len(v.sum))
	for i, a := range v.sum {
		list[i] = addend{a.num, a.factor * factor}
	}
	return list
}

// gathered names each number once, by their order, without those that fall out.
func gathered(sum []addend) []addend {
	slices.SortFunc(sum, func(a, b addend) int { return a.num - b.num })
	var list []addend
	for _, a := range sum {
		switch last := len(list) - 1; {
		case a.num == 0:
		case last >= 0 && list[last].num == a.num:
			list[last].factor += a.factor
		default:
			list = append(list, a)
		}
	}
	return slices.DeleteFunc(list, func(a addend) bool { return a.factor == 0 })
}

// total is a condition on a sum: it is at least 0. A sum of one number, or of the
// difference of two, is a difference.
func total(sum []addend, c int64) formula {
	list := gathered(sum)
	switch {
	case len(list) == 0 && c >= 0:
		return yes
	case len(list) == 0:
		return no
	case len(list) == 1 && list[0].factor == 1: // 0 - x <= c
		return formula{op: atMost, y: list[0].num, c: c}
	case len(list) == 1 && list[0].factor == -1: // x - 0 <= c
		return formula{op: atMost, x: list[0].num, c: c}
	case len(list) == 2 && list[0].factor == 1 && list[1].factor == -1: // y - x <= c
		return formula{op: atMost, x: list[1].num, y: list[0].num, c: c}
	case len(list) == 2 && list[0].factor == -1 && list[1].factor == 1:
		return formula{op: atMost, x: list[0].num, y: list[1].num, c: c}
	}
	return formula{op: linear, sum: list, c: c}
}
