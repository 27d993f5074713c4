package prove

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// value is what a field, an input or a term holds in one step, in terms of the
// numbers and boolean atoms that stand for the record and the call before it.
// Texts and times are numbers too: all that facts can ask of them is which of
// two is smaller, and whether they are the same.
type value struct {
	kind   spec.Kind
	absent bool     // there is none
	maybe  bool     // present only when the atom pres is true
	pres   int      // with maybe
	num    int      // the number; 0 is the constant zero, so that off is the value
	off    int64    // added to num
	sum    []addend // in the place of num: a sum of whole numbers
	opaque bool     // nothing is known about the number
	set    *set     // KindSet
	length span     // KindString
}

// set is a set of strings: what was there before the step without what went, and
// what came.
type set struct {
	base  int // the set before the step; -1: empty
	gone  []value
	less  []set // whose members went, too
	added []value
}

// problem is one question in the making: the numbers and atoms of one step, and
// what the types of its fields and inputs promise of them.
type problem struct {
	m       *spec.Machine
	op      *spec.Operation
	facts   []formula // what the types promise
	nums    []number
	bools   int
	fields  map[*spec.Field]value // the record before the step
	inputs  map[*spec.Input]value
	actor   *value
	now     *value
	words   map[string]int64
	texts   map[string]int // the numbers that stand for texts of the file
	large   map[int64]int  // the numbers that stand for constants beyond the limit
	grown   map[string]int // the numbers that stand for back-offs, by their ends and counters
	growths []growth       // of those, the ones that are not known after some tries

	sets    int
	filled  map[int]int // set -> the atom "it is not empty"
	fillers map[int]value
	members map[member]int
	elems   []value // every string that a set was asked for
	covers  []coverage

	fillings []filling
}

// number is one number of a problem: what it stands for.
type number struct {
	kind spec.Kind
	want int64 // the value to prefer in an example
}

type member struct{ elem, set int }

// coverage is the atom "left holds every member of right".
type coverage struct {
	atom        int
	left, right set
	witness     int // an element of right that left lacks, when the atom is false
}

func newProblem(m *spec.Machine, op *spec.Operation, words map[string]int64) *problem {
	return &problem{
		m: m, op: op, words: words, nums: make([]number, 1),
		fields: map[*spec.Field]value{}, inputs: map[*spec.Input]value{},
		texts: map[string]int{}, large: map[int64]int{}, grown: map[string]int{},
		filled: map[int]int{}, fillers: map[int]value{}, members: map[member]int{},
	}
}

// wordsOf numbers the words of all enums, those of one enum in a row where
// they are not shared.
func wordsOf(m *spec.Machine) map[string]int64 {
	words := map[string]int64{}
	add := func(t spec.Type) {
		for _, v := range t.Values {
			if _, ok := words[v.Name]; !ok {
				words[v.Name] = int64(len(words)) + 1
			}
		}
	}
	for _, f := range m.Fields {
		add(f.Type)
	}
	for _, op := range m.Operations {
		for _, in := range op.Inputs {
			add(in.Type)
		}
	}
	return words
}

func (p *problem) assume(f formula) { p.facts = append(p.facts, f) }

func (p *problem) atom() int {
	p.bools++
	return p.bools
}

func (p *problem) number(k spec.Kind) int {
	n := number{kind: k}
	if k == spec.KindString || k == spec.KindJSON {
		n.want = int64(len(p.nums)) // different texts, where nothing else is asked
	}
	p.nums = append(p.nums, n)
	return len(p.nums) - 1
}

// fresh is a value of a type of which nothing else is known.
func (p *problem) fresh(t spec.Type) value {
	v := value{kind: t.Kind}
	if t.Kind == spec.KindSet {
		v.set = &set{base: p.sets}
		p.sets++
		return v
	}
	if t.Optional {
		v.maybe, v.pres = true, p.atom()
	}
	v.num = p.number(t.Kind)
	switch t.Kind {
	case spec.KindBool:
		p.within(v.num, 0, 1)
	case spec.KindEnum:
		p.oneOf(v.num, t.Values)
	case spec.KindCounter:
		p.assume(formula{op: atMost, y: v.num})
	case spec.KindSequence:
		p.assume(formula{op: atMost, y: v.num, c: -1})
	case spec.KindInt:
		p.assume(p.bounds(v, t))
	case spec.KindDuration:
		p.within(v.num, *t.Min, *t.Max)
	case spec.KindString:
		v.length = lengthOf(t)
		for _, text := range slices.Sorted(maps.Keys(p.texts)) {
			p.unlike(v, text)
		}
	}
	return v
}

// unlike says that a text is not one of the file whose length it cannot have.
func (p *problem) unlike(v value, text string) {
	n := int64(utf8.RuneCountInString(text))
	if c := (value{kind: v.kind, num: p.texts[text]}); v.kind == spec.KindString && !v.absent && v.length.apart(span{n, n}) {
		p.assume(anyOf(compare(v, c, -1), compare(c, v, -1)))
	}
}

func (p *problem) within(num int, low, high int64) {
	p.assume(formula{op: atMost, y: num, c: -low})
	p.assume(formula{op: atMost, x: num, c: high})
}

func (p *problem) oneOf(num int, values []*spec.EnumValue) {
	low, high := p.words[values[0].Name], p.words[values[0].Name]
	var choice []formula
	for _, v := range values {
		id := p.words[v.Name]
		low, high = min(low, id), max(high, id)
		choice = append(choice, formula{op: equal, x: num, c: id})
	}
	p.within(num, low, high)
	if high-low+1 != int64(len(values)) {
		p.assume(anyOf(choice...))
	}
}

// bounds says that the number of v is within the bounds of an int type. The limit of sums
// is none of them: no proof asks for it, since a step beyond it is refused.
func (p *problem) bounds(v value, t spec.Type) formula {
	t = t.Asked()
	f := yes
	if t.Min != nil {
		f.kids = append(f.kids, compare(p.constant(v.kind, *t.Min), v, 0))
	}
	if t.Max != nil {
		f.kids = append(f.kids, compare(v, p.constant(v.kind, *t.Max), 0))
	}
	return f
}

// constant is a number that the file holds. One too large to calculate with is
// a number like any other, of which its side of the limit is known and how far
// it is from the other large ones.
func (p *problem) constant(k spec.Kind, n int64) value {
	if small(n) {
		return constant(k, n)
	}
	if num, known := p.large[n]; known {
		return value{kind: k, num: num}
	}
	v := value{kind: k, num: p.number(spec.KindInt)}
	edge := constant(k, limit-1)
	if n > 0 {
		p.assume(compare(edge, v, 0))
	} else {
		edge.off = -edge.off
		p.assume(compare(v, edge, 0))
	}
	for _, other := range slices.Sorted(maps.Keys(p.large)) {
		o := value{kind: k, num: p.large[other]}
		switch {
		case (n > 0) == (other > 0) && small(n-other):
			o.off = n - other
			p.assume(same(v, o))
		case n > other:
			p.assume(compare(o, v, -1))
		default:
			p.assume(compare(v, o, -1))
		}
	}
	p.large[n] = v.num
	return v
}

func small(n int64) bool { return -limit < n && n < limit }

// compare says that the number of a is at most that of b plus c.
func compare(a, b value, c int64) formula {
	c += b.off - a.off
	if a.sum != nil || b.sum != nil {
		return total(slices.Concat(b.addends(1), a.addends(-1)), c)
	}
	if a.num == b.num {
		if 0 <= c {
			return yes
		}
		return no
	}
	return formula{op: atMost, x: a.num, y: b.num, c: c}
}

func same(a, b value) formula {
	if a.sum != nil || b.sum != nil {
		return all(compare(a, b, 0), compare(b, a, 0))
	}
	c := b.off - a.off
	if a.num == b.num {
		if c == 0 {
			return yes
		}
		return no
	}
	return formula{op: equal, x: a.num, y: b.num, c: c}
}

func (v value) atLeast(n int64) formula { return compare(constant(v.kind, n), v, 0) }

// constant is a number that can be calculated with.
func constant(k spec.Kind, n int64) value { return value{kind: k, off: n} }

// present says that there is a value. A set is present when it is not empty.
func (p *problem) present(v value) formula {
	switch {
	case v.kind == spec.KindSet:
		return p.notEmpty(*v.set)
	case v.absent:
		return no
	case v.maybe:
		return formula{op: isTrue, v: v.pres}
	}
	return yes
}

// there says that a comparison with v is not false for the lack of a value:
// an empty set is a value.
func (p *problem) there(v value) formula {
	if v.kind == spec.KindSet {
		return yes
	}
	return p.present(v)
}

// field is what a field holds before the step.
func (p *problem) field(f *spec.Field) value {
	if v, ok := p.fields[f]; ok {
		return v
	}
	creation := len(p.op.Creates) > 0
	v := value{kind: f.Type.Kind, absent: true}
	switch {
	case f.Builtin && creation && f.Name == "created_at":
		v = p.clock()
	case !creation:
		v = p.fresh(f.Type)
	case f.Type.Kind == spec.KindCounter:
		v = constant(spec.KindCounter, 0)
	case f.Type.Kind == spec.KindSet:
		v = value{kind: spec.KindSet, set: &set{base: -1}}
	}
	p.fields[f] = v
	return v
}

// input is what came. The bounds of a field hold for every input set into it.
func (p *problem) input(in *spec.Input) value {
	if v, ok := p.inputs[in]; ok {
		return v
	}
	v := p.fresh(in.Type)
	p.inputs[in] = v
	for _, e := range effectsOf(p.op) {
		for _, a := range e.Set {
			if a.Value.Input != in {
				continue
			}
			switch a.Field.Type.Kind {
			case spec.KindInt, spec.KindDuration:
				p.assume(anyOf(not(p.present(v)), p.bounds(v, a.Field.Type)))
			case spec.KindCounter:
				p.assume(anyOf(not(p.present(v)), v.atLeast(0)))
			case spec.KindString:
				v.length = v.length.both(lengthOf(a.Field.Type))
				p.inputs[in] = v
				if v.length.least > v.length.most { // no text is as long as all that take it ask
					p.assume(not(p.present(v)))
				}
				for _, text := range slices.Sorted(maps.Keys(p.texts)) {
					p.unlike(v, text)
				}
			}
		}
	}
	return v
}

func (p *problem) clock() value {
	if p.now == nil {
		p.now = &value{kind: spec.KindTime, num: p.number(spec.KindTime)}
	}
	return *p.now
}

func (p *problem) who() value {
	if p.actor == nil {
		p.actor = &value{kind: spec.KindString, num: p.number(spec.KindString), length: span{1, spec.MaxActor}}
	}
	return *p.actor
}

// effectsOf lists the effects of an operation and of its branches.
func effectsOf(op *spec.Operation) []*spec.Effects {
	list := []*spec.Effects{&op.Effects}
	for _, b := range op.Choose {
		list = append(list, &b.Effects)
	}
	return list
}

// micros is a duration in the unit of times.
func micros(d time.Duration) int64 { return d.Microseconds() }

// text is a text that the file holds: one number for each, in the order of texts.
func (p *problem) text(k spec.Kind, text string) value {
	if k == spec.KindTime {
		at, _ := time.Parse(time.RFC3339Nano, text)
		return p.constant(k, at.UnixMicro())
	}
	n := int64(utf8.RuneCountInString(text))
	if num, known := p.texts[text]; known {
		return value{kind: k, num: num, length: span{n, n}}
	}
	v := value{kind: k, num: p.number(k), length: span{n, n}}
	for _, other := range slices.Sorted(maps.Keys(p.texts)) {
		o := value{kind: k, num: p.texts[other]}
		if other < text {
			p.assume(compare(o, v, -1))
		} else {
			p.assume(compare(v, o, -1))
		}
	}
	p.texts[text] = v.num
	for _, f := range p.m.Fields {
		if x, known := p.fields[f]; known {
			p.unlike(x, text)
		}
	}
	for _, in := range p.op.Inputs {
		if x, known := p.inputs[in]; known {
			p.unlike(x, text)
		}
	}
	return v
}

// untold reports whether a solution leaves open what some numbers are, so that no example is told.
func (s *part) untold(sol *solution) bool { return len(s.large) > 0 || sol != nil && !s.told(sol) }
