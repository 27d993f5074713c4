package world

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
)

// Way is one way of one operation from a state to a state; from is nil for a
// creation.
type Way struct {
	O        *oracle.Op
	From, To *oracle.StateInfo
}

// AllWays lists what the operations can do, branches included, each once.
func (m *Model) AllWays() []Way {
	var all []Way
	add := func(o *oracle.Op, from *oracle.StateInfo, to string) {
		if w := (Way{o, from, m.StateByName[to]}); w.To != nil && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	for _, o := range m.Ops {
		for _, from := range append([]*oracle.StateInfo{nil}, m.StateOrder...) {
			column := oracle.NewColumn
			if from != nil {
				column = from.Name
			}
			switch c := o.Cells[column]; c.Kind {
			case oracle.CellMove:
				add(o, from, c.To)
			case oracle.CellChoose:
				for _, b := range o.Branches {
					if !b.In(from) {
						continue
					}
					if b.To == "same" && from != nil {
						add(o, from, from.Name)
					} else {
						add(o, from, b.To)
					}
					if len(b.Facts) == 0 { // it takes every record that comes to it
						break
					}
				}
			}
		}
	}
	return all
}

// String names the way.
func (w Way) String() string {
	if w.From == nil {
		return fmt.Sprintf("%s to %s", w.O.Name, w.To.Name)
	}
	return fmt.Sprintf("%s from %s to %s", w.O.Name, w.From.Name, w.To.Name)
}
