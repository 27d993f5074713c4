package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How many choices one search looks at before it gives up.
const seekLimit = 50_000

// goal is something that a choice has to meet: the dimensions that it depends on,
// by their index, and whether it is met. It is asked when all of them are chosen.
type goal struct {
	reads []int
	met   func() bool
}

// seek looks for a choice of one value for each dimension that meets every goal.
// Dimensions that no goal connects are looked for apart from each other, so what it
// does not find is not there, unless very many hang together. put takes the value
// number v of dimension i. The first values are tried first; the same question has
// the same answer.
func seek(dims []Dim, goals []goal, put func(i, v int)) ([]int, bool) {
	choice := make([]int, len(dims))
	for i, d := range dims {
		if len(d.Values) == 0 {
			return nil, false
		}
		put(i, 0)
	}
	unmet := func(g goal) bool { return !g.met() }
	if slices.ContainsFunc(goals, func(g goal) bool { return len(g.reads) == 0 && unmet(g) }) {
		return nil, false
	}
	order, begins, ready := connected(len(dims), goals)
	left := seekLimit
	var from func(n int) bool
	from = func(n int) bool {
		if n == len(order) {
			return true
		}
		i := order[n]
		for v := range dims[i].Values {
			if left--; left < 0 {
				return false
			}
			choice[i] = v
			if put(i, v); !slices.ContainsFunc(ready[i], unmet) && from(n+1) {
				return true
			}
		}
		if begins[n] { // no other choice before it helps
			left = 0
		}
		return false
	}
	if !from(0) {
		return nil, false
	}
	return choice, true
}

// connected lists the dimensions that goals depend on, those of one goal near each other, and
// says where a part begins that has no goal in common with what is before it. Each goal
// is ready at the last of its dimensions.
func connected(dims int, goals []goal) (order []int, begins map[int]bool, ready [][]goal) {
	begins, ready = map[int]bool{}, make([][]goal, dims)
	place := make([]int, dims) // in the order, from 1
	add := func(list []int) {
		for _, i := range list {
			if place[i] == 0 {
				order = append(order, i)
				place[i] = len(order)
			}
		}
	}
	for _, g := range goals {
		if len(g.reads) == 0 {
			continue
		}
		at := len(order)
		if add(g.reads); at < len(order) {
			begins[at] = true
		}
		for ; at < len(order); at++ {
			for _, near := range goals {
				if slices.Contains(near.reads, order[at]) {
					add(near.reads)
				}
			}
		}
		last := slices.MaxFunc(g.reads, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
		ready[last] = append(ready[last], g)
	}
	return order, begins, ready
}

// quest is the search for a case of an operation in a state.
type quest struct {
	m    *Model
	o    *Op
	s    *StateInfo
	dims []Dim
	at   map[string]int // the index of a dimension, by its name
	c    Case           // as far as it is chosen
}

func (m *Model) newQuest(o *Op, s *StateInfo, dims []Dim) *quest {
	q := &quest{m: m, o: o, s: s, dims: dims, at: make(map[string]int, len(dims))}
	for i, d := range dims {
		q.at[d.Name] = i
	}
	return q
}

// find looks for a case that meets goals.
func (q *quest) find(goals []goal) (Case, bool) {
	q.c = q.m.emptyCase(q.o, q.s)
	if _, ok := seek(q.dims, goals, func(i, v int) { q.c.put(q.dims[i], v) }); !ok {
		return Case{}, false
	}
	c := q.c.Clone()
	c.Call.Peers = maps.Clone(c.Call.Peers)
	return c, true
}

// reads lists the dimensions that facts depend on: as the record is stored, or as
// the effects of the operation leave it.
func (q *quest) reads(facts []fact, after bool) []int {
	var list []int
	add := func(name string) {
		if i, ok := q.at[name]; ok && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	for _, f := range facts {
		for _, t := range []Term{f.Left, f.Right} {
			if t.Input != "" {
				add(dimInput + t.Input)
			}
			if t.Field == "" {
				continue
			}
			add(DimField + t.Field)
			add(DimPeers + t.Field)
			for _, a := range slices.Concat(q.o.Always.Set, q.o.Always.Add) {
				if !after || a.Field != t.Field {
					continue
				}
				add(dimInput + a.Input())
				add(DimField + a.Value)
			}
		}
	}
	return list
}

// soundGoals demand a record that keeps the rules of its state, or those only that it must keep.
func (q *quest) soundGoals(should bool) []goal {
	var goals []goal
	if q.s == nil {
		return nil
	}
	for i, d := range q.dims {
		if d.field != nil { // a number may be out of its bounds
			goals = append(goals, goal{[]int{i}, func() bool {
				n, isInt := q.c.Row.Values[d.field.Index].(int64)
				return !isInt || within(d.field.Typ, n)
			}})
		}
	}
	rules := q.s.must
	if should {
		rules = slices.Concat(rules, q.s.should)
	}
	for _, f := range rules {
		goals = append(goals, goal{q.reads([]fact{f}, false), func() bool { return q.m.holds(f, nil, q.c.Row, Call{}) }})
	}
	return goals
}

// taken demands a call that is taken as one: its inputs are in their bounds.
func (q *quest) taken() []goal {
	var goals []goal
	for _, in := range q.o.InputList {
		if i, ok := q.at[dimInput+in.Name]; ok {
			goals = append(goals, goal{[]int{i}, func() bool { return q.m.Acceptable(q.o, in, q.c.Call.Inputs[in.Name]) }})
		}
	}
	return goals
}

// passes demands that a guard lets the case pass, fails that it refuses it.
func (q *quest) passes(g *GuardInfo) goal {
	reads := q.reads(g.Facts, false)
	if i, ok := q.at[DimPeers+g.Name]; ok {
		reads = append(reads, i)
	}
	return goal{reads, func() bool { return q.m.passes(g, q.o, q.before(), q.c.Call) }}
}

// before is the record that the call meets.
func (q *quest) before() driver.Row {
	if q.o.Creates {
		return q.m.Blank(q.c.Call.ID)
	}
	return q.c.Row
}

func (g goal) not() goal { return goal{g.reads, func() bool { return !g.met() }} }

// moves demands that nothing overflows, and that the branches above one are not
// taken and it is; without branches b is nil.
func (q *quest) moves(b *BranchInfo) []goal {
	m, o := q.m, q.o
	after := func() driver.Row {
		done, _ := m.begun(o, q.before(), q.c.Call)
		return done
	}
	var goals []goal
	counts := func(names []string, most int64) {
		for _, name := range names {
			goals = append(goals, goal{q.reads([]fact{{Left: Term{Field: name}}}, true), func() bool {
				n, _ := after().Values[m.FieldByName[name].Index].(int64)
				return n >= 0 && n <= most
			}})
		}
	}
	counts(o.Always.Increment, math.MaxInt64) // beyond, it is below 0
	if b != nil {
		counts(b.Does.Increment, math.MaxInt64-1)
	}
	for _, x := range o.Branches {
		if !x.In(q.s) {
			continue
		}
		g := goal{q.reads(x.Facts, true), func() bool { return m.AllHold(x.Facts, o, after(), q.c.Call) }}
		if x != b {
			goals = append(goals, g.not())
			continue
		}
		for _, f := range x.Facts {
			goals = append(goals, goal{q.reads([]fact{f}, true), func() bool { return m.holds(f, o, after(), q.c.Call) }})
		}
		break
	}
	return goals
}

// directed looks for a case of each way in which a call can be decided: what a cell
// has too many combinations for may not be among those that are tried. The record
// breaks no rule, or no MUST where only such a one is decided so.
func (m *Model) directed(o *Op, s *StateInfo, dims []Dim) []Case {
	if s != nil && o.Cells[s.Name].Kind != CellMove && o.Cells[s.Name].Kind != CellChoose {
		return nil
	}
	if known, ok := o.sought[s]; ok {
		return known
	}
	q := m.newQuest(o, s, dims)
	given := [][]goal{slices.Concat(q.soundGoals(true), q.taken())}
	if s != nil && s.ShouldPresent+s.ShouldAbsent != "" {
		given = append(given, slices.Concat(q.soundGoals(false), q.taken()))
	}
	var found []Case
	look := func(way string, asked ...[]goal) {
		if w := WitnessOf(o.Witnesses, way); w != nil && w.Never != "" {
			return
		}
		for _, given := range given {
			for _, goals := range asked {
				c, ok := q.find(slices.Concat(given, goals))
				if ok && m.Decide(o, c.Row, c.Call).Way == way {
					found = append(found, c)
					return
				}
			}
		}
	}
	var pass []goal
	for _, g := range o.Guards {
		pass = append(pass, q.passes(g))
	}
	if len(o.Branches) == 0 {
		look("move", append(slices.Clone(pass), q.moves(nil)...))
	}
	for i, b := range o.Branches {
		if b.In(s) {
			look(fmt.Sprintf("branch %d", i+1), append(slices.Clone(pass), q.moves(b)...))
		}
	}
	for i, g := range o.Guards {
		if o.implied(g.Name) {
			continue
		}
		way := "guard " + g.Name
		if o.OnRefusal != "" {
			way = "record only, guard " + g.Name
		}
		first := append(slices.Clone(pass[:i]), pass[i].not()) // alone, or before others
		look(way, append(slices.Clone(first), pass[i+1:]...), first)
	}
	o.sought[s] = found
	return found
}

// RowIn looks for a record in a state that breaks no rule, or no MUST.
func (m *Model) RowIn(st *StateInfo, should bool) (driver.Row, bool) {
	q := m.newQuest(&m.Nothing, st, m.RecordDims(&m.Nothing))
	c, ok := q.find(q.soundGoals(should))
	return c.Row, ok
}

// OneRow is a record in a state that breaks no rule, or no MUST if there is none, or an
// empty one: always the same, so nobody may change it.
func (m *Model) OneRow(st *StateInfo) driver.Row {
	if st.one == nil {
		r, ok := m.RowIn(st, true)
		if !ok {
			r, ok = m.RowIn(st, false)
		}
		if !ok {
			r = m.BaseRow(st)
		}
		st.one = &r
	}
	return *st.one
}
