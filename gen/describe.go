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
	Errors     map[string]ErrorFact // by name
	NoOutbox   bool                 // none asks for an effect outside of its transaction
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
	Inputs    []string      // what its inputs are, for people, in their order
	Rules     []RuleFact    // its guards, in the order in which they are asked
	Call      CallFact
}

// RuleFact is a guard as people read it: its name, and what must hold. A refusal tells the
// values of what it was told of.
type RuleFact struct {
	Name, Text string
	Told       []spec.Term
}

// CallFact is what the engine is told of the calls of an operation.
type CallFact struct {
	NeedActor bool
	Followed  bool            // the engine itself makes calls of it, without inputs
	Branches  []*spec.Branch  // of those that ask for something: a step says by its number which it took, from 1
	Loose     map[string]bool // inputs that a retry may compute again
	Locked    bool            // what it counts is locked
	Leaves    []HeldGroup     // out of which it may take a record
	Dedupe    string          // the unique rule that finds an existing record
	Order     []spec.Order    // of `next`
	Where     []WhereFact     // what `next` asks the store for
	Complete  bool            // the store decides all of `where`
	Parking   int             // its number among Parkings, from 1; 0: none
	Own       []*spec.Fact    // what a record says of that itself
}

// WhereFact is a comparison of a column with a value of the call, or with the time at which the store looks.
type WhereFact struct {
	Op    spec.FactOp
	Field *spec.Field
	Value spec.Term
	Now   bool
}

// ErrorFact is one of the machine's own errors.
type ErrorFact struct{ Name, Text, message string }

// Beside is what a refusal by the error says besides its text, where a guard or a rule has a
// message of its own.
func (e ErrorFact) Beside(message string) string {
	if phrase(message) == phrase(e.message) {
		return ""
	}
	return phrase(message)
}

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
		fact := OperationFact{Operation: o, Recorded: recordedIn(m, o), Rules: rulesOf(o), Inputs: notesOf(o), Call: callFact(m, o)}
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
	n := &names{byError: map[string]*sentinel{}}
	n.collectErrors(m)
	f.Errors = map[string]ErrorFact{}
	for _, e := range n.errors {
		f.Errors[e.Name] = ErrorFact{e.Name, e.text(), e.Message}
	}
	f.NoOutbox = !slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return o.MayAsk(false) })
	return f
}

// callFact is what the engine is told of the calls of an operation.
func callFact(m *spec.Machine, o *spec.Operation) CallFact {
	f := CallFact{
		NeedActor: needsActor(o), Followed: (&store{m: m}).engineCalls(o), Branches: asking(o),
		Loose: map[string]bool{}, Locked: countsLocked(m, o), Leaves: heldGroups(m, o),
	}
	for _, in := range o.Inputs {
		f.Loose[in.Name] = loose(m, o, in)
	}
	if o.DedupeBy != nil {
		f.Dedupe = dedupeRule(o)
	}
	if o.Next == nil && o.Each == nil {
		return f
	}
	var list []asked
	f.Order = pickOrder(o)
	list, f.Complete = asks(o)
	for _, a := range list {
		f.Where = append(f.Where, WhereFact{a.op, a.field, a.value, a.now})
	}
	if p := parkingOf(m, o); p != nil {
		f.Parking = slices.IndexFunc(parkings(m), func(x *parking) bool { return x.op == o }) + 1
		f.Own = p.own
	}
	return f
}
