package gen

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Facts are what the generated package tells the runtime about a machine and
// what does not stand in the specification as it is: for who works on a machine's
// tables without its package. They come from where the package has them from.
type Facts struct {
	Uniques    []UniqueFact
	Indexes    []IndexFact
	Operations []OperationFact // in the order of the specification
	Parkings   []ParkFact
	Worked     []WorkedFact
	NoOutbox   bool // none asks for an effect outside of its transaction
}

// UniqueFact is a rule that no two records in the states have the same values in
// the fields: of `unique`, of a sequence, or of `dedupe_by`.
type UniqueFact struct {
	Name   string
	Fields []*spec.Field
	States []*spec.State // nil: all
	Rule   *spec.Unique  // nil for implied rules
}

// IndexFact is a query that is made often.
type IndexFact struct {
	Name   string
	Fields []*spec.Field
	Order  []spec.Order
	By     *spec.Field   // the length that is added to the time that it orders by; nil: none
	States []*spec.State // nil: all
}

// WorkedFact is a column that the tables of PostgreSQL have for their indexes: whether a record is
// in some states, or the minute of a time.
type WorkedFact struct {
	Name   string
	States []*spec.State
	Minute *spec.Field
}

// OperationFact is what an operation can do, branches included.
type OperationFact struct {
	Operation *spec.Operation
	Moves     []Move
	Recorded  []*spec.State // where a call may be recorded only: by the cell, by a branch or for a guard
	Leaves    bool          // a move ends in another state
	Stays     bool          // a move ends in the state that it starts in
	Sets      []int         // indexes of the fields that it may change
	Rules     []RuleFact    // its guards, in the order in which they are asked
}

// RuleFact is a guard as people read it: its name, and what must hold.
type RuleFact struct{ Name, Text string }

// Move is one way from a state to a state. From is nil for a creation.
type Move struct{ From, To *spec.State }

// FactsOf returns the facts of a machine without findings of severity error.
func FactsOf(m *spec.Machine) Facts {
	var f Facts
	for _, u := range uniqueRules(m) {
		fact := UniqueFact{Name: u.name, Fields: u.fields, States: u.states}
		for _, rule := range m.Unique {
			if rule.Name == u.name {
				fact.Rule = rule
			}
		}
		f.Uniques = append(f.Uniques, fact)
	}
	for _, l := range queried(m) {
		index := IndexFact{Name: strings.Join(l.name, "."), Fields: l.fields, Order: l.order, By: l.by, States: l.states}
		f.Indexes = append(f.Indexes, index)
	}
	for _, p := range parkings(m) {
		f.Parkings = append(f.Parkings, p.fact())
	}
	for _, c := range (&schemaText{m: m, d: postgresDialect()}).computed() {
		f.Worked = append(f.Worked, c.WorkedFact)
	}
	for _, o := range m.Operations {
		fact := OperationFact{Operation: o, Recorded: recordedIn(m, o), Rules: rulesOf(o)}
		for _, mv := range movesOf(o) {
			fact.Moves = append(fact.Moves, Move{mv.from, mv.to})
			fact.Leaves = fact.Leaves || mv.from != nil && mv.from != mv.to
			fact.Stays = fact.Stays || mv.from == mv.to
		}
		for i, x := range m.Fields {
			if operationWrites(o, x) {
				fact.Sets = append(fact.Sets, i)
			}
		}
		f.Operations = append(f.Operations, fact)
	}
	f.NoOutbox = !slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return o.MayAsk(false) })
	return f
}
