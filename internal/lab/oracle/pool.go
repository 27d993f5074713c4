package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The instants and names that abstract records and calls are made of. Old
// values never equal new ones, so that an assignment that is missing shows.
var (
	TheNow     = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)
	theCreated = TheNow.Add(-26 * time.Hour)
)

const (
	theActor    = "ann"
	otherActor  = "ben"
	elsewhere   = "zoe"
	theID       = "record-1"
	theReason   = "because"
	Microsecond = time.Microsecond
)

// Dim is one thing that varies: a field, an input, other records.
type Dim struct {
	Name     string
	Values   []any
	relevant bool // something that the operation does depends on it
	field    *FieldInfo
}

// The prefixes of the names of dimensions.
const (
	DimField = "field "
	dimInput = "input "
	DimPeers = "peers "
)

// Dims lists what varies around an operation, each with the values that could
// make a difference: what is compared with each other takes values from one
// pool, at the edge of every comparison and one step to both sides.
func (m *Model) Dims(o *Op) []Dim {
	if o.known == nil {
		o.known = m.newDims(o)
		for i := range o.known {
			o.known[i].Values = slices.Clip(o.known[i].Values)
		}
	}
	return slices.Clone(o.known)
}

func (m *Model) newDims(o *Op) []Dim {
	p := newPools()
	facts := o.facts()
	for _, f := range slices.Concat(facts, m.rule) {
		p.join(m.node(f.Left, o), m.node(f.Right, o))
		p.order(f.Op, m.node(f.Left, o), m.node(f.Right, o))
	}
	for _, f := range facts { // a guard or a branch is refused, too
		if f.Left.value == nil && f.Right.value == nil {
			p.order(opposite[f.Op], m.node(f.Left, o), m.node(f.Right, o))
		}
	}
	for _, a := range o.adds() {
		p.join(DimField+a.Field, m.node(m.source(a), o))
	}
	for _, name := range m.Order {
		p.bound(DimField+name, m.FieldByName[name].Typ)
	}
	for _, in := range o.InputList {
		p.bound(dimInput+in.Name, in.Typ)
	}
	read := map[string]bool{}
	for _, f := range facts {
		read[m.node(f.Left, o)], read[m.node(f.Right, o)] = true, true
	}
	for _, a := range o.Always.Set { // a branch looks at the field when the input is in it
		if in := a.Input(); in != "" && read[DimField+a.Field] {
			p.join(dimInput+in, DimField+a.Field)
			read[dimInput+in] = true
		}
	}
	var list []Dim
	if !o.Creates {
		for i, name := range m.Order {
			f := m.FieldByName[name]
			values := m.pool(p, DimField+name, f.Typ, i, "old "+name)
			if f.Optional {
				values = append([]any{nil}, values...)
			}
			if f.Kind == driver.KindCounter && m.increments(o, name) { // a corrupt row, one step below the bounds
				values = append(values, int64(-1), int64(math.MaxInt64), int64(math.MaxInt64-1))
			}
			list = append(list, Dim{DimField + name, values, read[DimField+name], f})
		}
		for _, b := range []string{"created_at", "updated_at"} {
			values := []any{theCreated}
			switch {
			case p.has(DimField+b, "now") || p.size(DimField+b) > 1:
				values = m.pool(p, DimField+b, Typ{Kind: driver.KindTime}, 0, b)
			case b == "updated_at":
				values = []any{TheNow.Add(-2 * time.Hour), TheNow.Add(time.Hour)} // a clock that went back
			}
			list = append(list, Dim{DimField + b, values, read[DimField+b], nil})
		}
	}
	for i, in := range o.InputList {
		values := m.pool(p, dimInput+in.Name, in.Typ, 50+i, "new "+in.Name)
		if in.Optional {
			values = append([]any{nil}, values...)
		}
		if m.counted(o, in.Name) {
			values = append(values, int64(math.MaxInt64))
		}
		list = append(list, Dim{dimInput + in.Name, values, read[dimInput+in.Name] || len(values) > 1, nil})
	}
	for _, g := range o.Guards {
		if g.Fewer > 0 {
			values := []any{g.Fewer - 1, g.Fewer, g.Fewer + 1}
			if g.Fewer > 1 {
				values = append([]any{int64(0)}, values...)
			}
			list = append(list, Dim{DimPeers + g.Name, values, true, nil})
		}
	}
	if o.Creates {
		for _, f := range m.Sequences {
			list = append(list, Dim{DimPeers + f.Name, []any{int64(1), int64(4), int64(0)}, true, nil})
		}
	}
	return list
}

// counted reports whether a creation sets a counter to an input and then counts it up.
func (m *Model) counted(o *Op, input string) bool {
	return slices.ContainsFunc(o.Always.Set, func(a Assign) bool {
		return a.Input() == input && m.increments(o, a.Field)
	})
}

// increments reports whether an operation counts a field up in some way that it moves.
func (m *Model) increments(o *Op, name string) bool {
	counts := func(b *BranchInfo) bool { return slices.Contains(b.Does.Increment, name) }
	return slices.Contains(o.Always.Increment, name) || slices.ContainsFunc(o.Branches, counts)
}

// node names a term within the pools; literals stand for themselves.
func (m *Model) node(t Term, o *Op) string {
	switch {
	case t.Field != "":
		return DimField + t.Field
	case t.Input != "":
		return dimInput + t.Input
	case t.value != nil:
		return fmt.Sprint("= ", t.value)
	}
	return t.word
}

// pool returns the values of one field or input.
func (m *Model) pool(p *pools, node string, y Typ, index int, label string) []any {
	alone := p.size(node) <= 1 && !p.has(node, "now") && !p.has(node, "actor")
	switch y.Kind {
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
			return []any{"[]", SetOf(label + " 1"), SetOf(label+" 1", label+" 2")}
		}
		return []any{"[]", SetOf("a"), SetOf("b"), SetOf("a", "b")}
	case driver.KindBool:
		return []any{false, true}
	case driver.KindEnum:
		var values []any
		for _, w := range y.StoredWords {
			values = append(values, w)
		}
		return values
	case driver.KindJSON:
		return []any{fmt.Sprintf(`{"of":%q}`, label), "0"}
	case driver.KindTime:
		if alone {
			at := TheNow.Add(37*time.Minute + time.Duration(index)*time.Second)
			return []any{at}
		}
		from, to := -1, max(1, p.chain(node)-1)
		if p.has(node, "now") {
			from, to = -p.below("now"), p.above("now")
		}
		var values []any
		for i := from; i <= to; i++ {
			values = append(values, TheNow.Add(time.Duration(i)*Microsecond))
		}
		return values
	}
	return intPool(p, node, y, alone, int64(index))
}

// intPool: the edge of every number it is compared with and of its bounds.
func intPool(p *pools, node string, y Typ, alone bool, index int64) []any {
	var list []int64
	switch {
	case y.Kind == driver.KindCounter:
		list = []int64{5}
	case y.Kind == driver.KindSequence:
	case alone && y.Min == nil && y.Max == nil:
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
	for _, x := range p.group(node) { // its bounds, and those of what it is compared with
		list = append(list, p.bounds[x]...)
	}
	slices.Sort(list)
	var values []any
	for _, n := range slices.Compact(list) {
		if within(y, n) {
			values = append(values, n)
		}
	}
	return values
}

// Zero returns the zero of a field's type, as a row has it when it is present.
func (f *FieldInfo) Zero() any {
	switch f.Kind {
	case driver.KindString:
		return ""
	case driver.KindBool:
		return false
	case driver.KindTime:
		return time.Time{}
	case driver.KindEnum:
		return f.StoredWords[0]
	case driver.KindJSON:
		return "null"
	case driver.KindSet:
		return "[]"
	}
	return int64(0)
}
