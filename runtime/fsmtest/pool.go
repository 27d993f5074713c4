package fsmtest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The instants and names that abstract records and calls are made of. Old
// values never equal new ones, so that an assignment that is missing shows.
var (
	theNow     = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)
	theCreated = theNow.Add(-26 * time.Hour)
)

const (
	theActor    = "ann"
	otherActor  = "ben"
	elsewhere   = "zoe"
	theID       = "record-1"
	theReason   = "because"
	microsecond = time.Microsecond
)

// dim is one thing that varies: a field, an input, other records.
type dim struct {
	name     string
	values   []any
	relevant bool // something that the operation does depends on it
	field    *field
}

// The prefixes of the names of dimensions.
const (
	dimField = "field "
	dimInput = "input "
	dimPeers = "peers "
)

// dims lists what varies around an operation, each with the values that could
// make a difference: what is compared with each other takes values from one
// pool, at the edge of every comparison and one step to both sides.
func (m *model) dims(o *operation) []dim {
	if o.known == nil {
		o.known = m.newDims(o)
		for i := range o.known {
			o.known[i].values = slices.Clip(o.known[i].values)
		}
	}
	return slices.Clone(o.known)
}

func (m *model) newDims(o *operation) []dim {
	p := newPools()
	facts := m.operationFacts(o)
	for _, f := range slices.Concat(facts, m.allInvariants()) {
		p.join(m.node(f.left, o), m.node(f.right, o))
		p.order(f.op, m.node(f.left, o), m.node(f.right, o))
	}
	for _, a := range m.allAdds(o) {
		from := or(map[bool]string{true: "input." + a.field}[a.value == "input"], a.value)
		p.join(dimField+a.field, m.node(parseTerm(from, m.isField), o))
	}
	for _, name := range m.order {
		p.bound(dimField+name, m.fields[name].typ)
	}
	for _, in := range o.inputs {
		p.bound(dimInput+in.Name, in.typ)
	}
	read := map[string]bool{}
	for _, f := range facts {
		read[m.node(f.left, o)], read[m.node(f.right, o)] = true, true
	}
	for _, a := range o.effects.set { // a branch looks at the field when the input is in it
		from, named := strings.CutPrefix(a.value, "input.")
		if !named {
			from = a.field
		}
		if strings.HasPrefix(a.value, "input") && read[dimField+a.field] {
			p.join(dimInput+from, dimField+a.field)
			read[dimInput+from] = true
		}
	}
	var list []dim
	if !o.creates {
		for i, name := range m.order {
			f := m.fields[name]
			values := m.pool(p, dimField+name, f.typ, i, "old "+name)
			if f.optional {
				values = append([]any{nil}, values...)
			}
			if f.kind == driver.KindCounter && m.increments(o, name) { // a corrupt row, one step below the bounds
				values = append(values, int64(-1), int64(math.MaxInt64), int64(math.MaxInt64-1))
			}
			list = append(list, dim{dimField + name, values, read[dimField+name], f})
		}
		for _, b := range []string{"created_at", "updated_at"} {
			values := []any{theCreated}
			switch {
			case p.has(dimField+b, "now") || p.size(dimField+b) > 1:
				values = m.pool(p, dimField+b, typ{kind: driver.KindTime}, 0, b)
			case b == "updated_at":
				values = []any{theNow.Add(-2 * time.Hour), theNow.Add(time.Hour)} // a clock that went back
			}
			list = append(list, dim{dimField + b, values, read[dimField+b], nil})
		}
	}
	for i, in := range o.inputs {
		values := m.pool(p, dimInput+in.Name, in.typ, 50+i, "new "+in.Name)
		if in.optional {
			values = append([]any{nil}, values...)
		}
		if m.counted(o, in.Name) {
			values = append(values, int64(math.MaxInt64))
		}
		list = append(list, dim{dimInput + in.Name, values, read[dimInput+in.Name] || len(values) > 1, nil})
	}
	for _, g := range o.require {
		if g.Fewer > 0 {
			values := []any{g.Fewer - 1, g.Fewer, g.Fewer + 1}
			if g.Fewer > 1 {
				values = append([]any{int64(0)}, values...)
			}
			list = append(list, dim{dimPeers + g.Name, values, true, nil})
		}
	}
	if o.creates {
		for _, name := range m.order {
			if m.fields[name].kind == driver.KindSequence {
				list = append(list, dim{dimPeers + name, []any{int64(1), int64(4), int64(0)}, true, nil})
			}
		}
	}
	return list
}

// counted reports whether a creation sets a counter to an input and then counts it up.
func (m *model) counted(o *operation, input string) bool {
	return slices.ContainsFunc(o.effects.set, func(a assign) bool {
		from, named := strings.CutPrefix(a.value, "input.")
		return (named && from == input || a.value == "input" && a.field == input) && m.increments(o, a.field)
	})
}

// increments reports whether an operation counts a field up in some way that it moves.
func (m *model) increments(o *operation, name string) bool {
	counts := func(b *branch) bool { return slices.Contains(b.effects.increment, name) }
	return slices.Contains(o.effects.increment, name) || slices.ContainsFunc(o.branches, counts)
}

func (m *model) operationFacts(o *operation) []fact {
	facts := slices.Clone(o.where)
	for _, g := range o.require {
		facts = append(facts, g.when...)
	}
	for _, b := range o.branches {
		facts = append(facts, b.when...)
	}
	return facts
}

func (m *model) allInvariants() []fact {
	facts := slices.Clone(m.invariant)
	for _, s := range m.stateOrder {
		facts = append(facts, s.invariant...)
	}
	return facts
}

func (m *model) allAdds(o *operation) []assign {
	list := slices.Clone(o.effects.add)
	for _, b := range o.branches {
		list = append(list, b.effects.add...)
	}
	return list
}

// node names a term within the pools; literals stand for themselves.
func (m *model) node(t term, o *operation) string {
	switch {
	case t.field != "":
		return dimField + t.field
	case t.input != "":
		return dimInput + t.input
	case t.value != nil:
		return fmt.Sprint("= ", t.value)
	}
	return t.word
}

// pool returns the values of one field or input.
func (m *model) pool(p *pools, node string, y typ, index int, label string) []any {
	alone := p.size(node) <= 1 && !p.has(node, "now") && !p.has(node, "actor")
	switch y.kind {
	case driver.KindString:
		switch {
		case p.has(node, "actor"):
			return []any{theActor, otherActor}
		case p.hasSet(m, node):
			return []any{"a", "b", elsewhere}
		case alone:
			return []any{label}
		}
		values := []any{"k1", "k2"}
		for i := range p.chain(node) - 1 {
			values = append(values, fmt.Sprintf("k%d", i+3))
		}
		return values
	case driver.KindSet:
		if alone {
			return []any{"[]", setOf(label + " 1"), setOf(label+" 1", label+" 2")}
		}
		return []any{"[]", setOf("a"), setOf("b"), setOf("a", "b")}
	case driver.KindBool:
		return []any{false, true}
	case driver.KindEnum:
		var values []any
		for _, w := range y.stored {
			values = append(values, w)
		}
		return values
	case driver.KindJSON:
		return []any{fmt.Sprintf(`{"of":%q}`, label), "null"}
	case driver.KindTime:
		if alone {
			at := theNow.Add(37*time.Minute + time.Duration(index)*time.Second)
			return []any{at}
		}
		from, to := -1, max(1, p.chain(node)-1)
		if p.has(node, "now") {
			from, to = -p.below("now"), p.above("now")
		}
		var values []any
		for i := from; i <= to; i++ {
			values = append(values, theNow.Add(time.Duration(i)*microsecond))
		}
		return values
	}
	return intPool(p, node, y, alone, int64(index))
}

// intPool: the edge of every number it is compared with and of its bounds.
func intPool(p *pools, node string, y typ, alone bool, index int64) []any {
	var list []int64
	switch {
	case y.kind == driver.KindCounter:
		list = []int64{0, 1, 5}
	case y.kind == driver.KindSequence:
		list = []int64{1, 2}
	case alone && y.min == nil && y.max == nil:
		list = []int64{70 + index}
	case !alone && len(p.literals(node)) == 0:
		for i := range int64(max(3, p.chain(node)+1)) {
			list = append(list, 6+i)
		}
	}
	for _, n := range p.literals(node) {
		literal := fmt.Sprint("= ", n)
		for d := -int64(p.below(literal)); d <= int64(p.above(literal)); d++ {
			if i := n + d; (i > n) == (d > 0) { // there is such a number
				list = append(list, i)
			}
		}
	}
	for _, x := range p.group(node) { // the bounds of what it is compared with
		list = append(list, p.bounds[x]...)
	}
	if y.min != nil {
		list = append(list, *y.min, *y.min+1)
	}
	if y.max != nil {
		list = append(list, *y.max-1, *y.max)
	}
	slices.Sort(list)
	var values []any
	for _, n := range slices.Compact(list) {
		if within(y, n) && (y.kind != driver.KindSequence || n >= 1) {
			values = append(values, n)
		}
	}
	return values
}
