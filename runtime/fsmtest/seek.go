package fsmtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// How long a goal is looked for before it counts as out of reach.
const (
	seekStarts = 12
	seekSteps  = 40
)

// seek looks for a choice of one value for each dimension at which nothing is
// missing. It begins at the first values, later at random ones, and always
// changes the one value that helps most; where none helps, any. The same
// dimensions give the same choice.
func seek(dims []dim, missing func([]int) int) ([]int, bool) {
	random := rand.New(rand.NewPCG(1, uint64(len(dims))))
	for start := range seekStarts {
		choice := make([]int, len(dims))
		for i, d := range dims {
			if len(d.values) == 0 {
				return nil, false
			}
			if start > 0 {
				choice[i] = random.IntN(len(d.values))
			}
		}
		now := missing(choice)
		for range seekSteps {
			if now == 0 {
				return choice, true
			}
			least, at, to := now, -1, 0
			for i, d := range dims {
				kept := choice[i]
				for v := range d.values {
					if v == kept {
						continue
					}
					choice[i] = v
					if n := missing(choice); n < least {
						least, at, to = n, i, v
					}
				}
				choice[i] = kept
			}
			if at < 0 {
				if len(dims) == 0 {
					break
				}
				at = random.IntN(len(dims))
				to = random.IntN(len(dims[at].values))
			}
			choice[at] = to
			now = missing(choice)
		}
	}
	return nil, false
}

// sought are the cases that were looked for, by operation and state.
type sought struct {
	mu    sync.Mutex
	cases map[string][]theCase
}

// madeUp are the records that were made up, by what was asked for: the same question
// has the same answer, and some are asked for each pair of states.
type madeUp struct {
	mu    sync.Mutex
	known map[string][]fsm.Row
}

// rows returns copies, which the caller may change.
func (k *madeUp) rows(name string, find func() []fsm.Row) []fsm.Row {
	k.mu.Lock()
	rows, ok := k.known[name]
	k.mu.Unlock()
	if !ok {
		rows = find()
		k.mu.Lock()
		if k.known == nil {
			k.known = map[string][]fsm.Row{}
		}
		k.known[name] = rows
		k.mu.Unlock()
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Values = slices.Clone(rows[i].Values)
	}
	return rows
}

// directed looks for a case of each way in which a call can be decided on a
// sound record: what a cell has too many combinations for may not be among
// those that are tried.
func (m *model) directed(o *operation, s *state, dims []dim) []theCase {
	name := o.Name
	if s != nil {
		if k := o.cells[s.Name].kind; k != cellMove && k != cellChoose {
			return nil
		}
		name += " in " + s.Name
	}
	m.sought.mu.Lock()
	defer m.sought.mu.Unlock()
	if known, ok := m.sought.cases[name]; ok {
		return known
	}
	var found []theCase
	look := func(failing *guard, b *branch, way string) {
		choice, ok := seek(dims, func(choice []int) int {
			c := m.build(o, s, dims, choice)
			n := 0
			if s != nil {
				n = len(m.broken(c.row))
			}
			for _, g := range o.require {
				unmet := m.unmet(g.when, o, c)
				if g.Fewer > 0 && c.call.Peers[g.Name] >= g.Fewer {
					unmet++
				}
				switch {
				case g != failing:
					n += unmet
				case unmet == 0:
					n++
				}
			}
			if b != nil {
				n += m.unmet(b.when, o, c)
			}
			if n == 0 && m.decide(o, c.row, c.call).way != way {
				n++
			}
			return n
		})
		if ok {
			found = append(found, m.build(o, s, dims, choice))
		}
	}
	for i, b := range o.branches {
		if s == nil || b.From == "" || slices.Contains(list(b.From), s.Name) {
			look(nil, b, fmt.Sprintf("branch %d", i+1))
		}
	}
	for _, g := range o.require {
		if !o.implied(g.Name) {
			way := "guard " + g.Name
			if o.OnRefusal != "" {
				way = "record only, guard " + g.Name
			}
			look(g, nil, way)
		}
	}
	if m.sought.cases == nil {
		m.sought.cases = map[string][]theCase{}
	}
	m.sought.cases[name] = found
	return found
}

// unmet counts the facts that do not hold.
func (m *model) unmet(facts []fact, o *operation, c theCase) int {
	n := 0
	for _, f := range facts {
		if !m.holds(f, o, c.row, c.call) {
			n++
		}
	}
	return n
}

// mustRow looks for a record in a state that breaks no MUST.
func (m *model) mustRow(st *state, dims []dim) (fsm.Row, bool) {
	o := &operation{}
	choice, ok := seek(dims, func(choice []int) int {
		n := 0
		for _, v := range m.broken(m.build(o, st, dims, choice).row) {
			if v.Must {
				n++
			}
		}
		return n
	})
	if !ok {
		return fsm.Row{}, false
	}
	return m.build(o, st, dims, choice).row, true
}
