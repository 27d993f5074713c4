package world

import (
	"slices"
	"sync"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Model is what the oracle knows of a machine, with what is asked of many records.
type Model struct {
	*oracle.Model
	Lookups []Lookup
	Made    MadeUp
}

// Compile binds the names of a table, see oracle.Compile.
func Compile(t oracle.Table) (*Model, error) {
	m, err := oracle.Compile(t)
	return &Model{Model: m}, err
}

// MadeUp are the records that were made up, by what was asked for: the same question
// has the same answer, and some are asked for each pair of states.
type MadeUp struct {
	Mu    sync.Mutex
	Known map[string][]driver.Row
}

// Suite is one run of tests over many records, with what it has counted.
type Suite[R any] struct {
	M      *Model
	D      oracle.Driver[R]
	Stores []Store                      // besides memstore
	Engine func(machine any) *Engine[R] // nil in a user's test
	Audit  func(*Harness[R])            // at the end of a walk; nil in a user's test
	Note   func(Step[R])                // where a trace is written; nil without one

	DurableCount, PromptCount int
}

// GoodAlone is a case of the operation that moves, on a record without others: one
// that breaks no SHOULD, if there is one.
func (m *Model) GoodAlone(o *oracle.Op) (oracle.Case, bool) {
	if o.Creates {
		all := m.ByWay(o, nil)
		i := slices.IndexFunc(all, func(c oracle.Case) bool { return oracle.Moves(m.Decide(o, c.Row, c.Call)) })
		if i < 0 {
			return oracle.Case{}, false
		}
		return all[i], true
	}
	for _, fits := range []func(driver.Row) bool{m.Sound, m.MustHold} { // a guard may ask for what the state should not have
		for _, name := range m.Allowed(o) {
			for c := range m.Cases(o, m.StateByName[name]) {
				if fits(c.Row) && oracle.Moves(m.Decide(o, c.Row, c.Call)) {
					return c.Clone(), true
				}
			}
		}
	}
	return oracle.Case{}, false
}
