package gen

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// uniqueRule is a rule across records that a unique index keeps: a `unique`,
// or what `dedupe_by` and `sequence` imply.
type uniqueRule struct {
	name   string
	fields []*spec.Field
	states []*spec.State // nil: all
}

// uniqueRules returns the unique rules of a machine, in the order of the
// specification: `unique`, then sequences, then `dedupe_by`.
func uniqueRules(m *spec.Machine) []uniqueRule {
	var rules []uniqueRule
	for _, u := range m.Unique {
		rule := uniqueRule{name: u.Name, fields: refFields(u.Fields), states: refStates(u.In)}
		if len(rule.states) == 0 || len(rule.states) == len(m.States) {
			rule.states = nil
		}
		rules = append(rules, rule)
	}
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence {
			rules = append(rules, uniqueRule{name: "sequence_" + f.Name, fields: append(slices.Clone(f.Per), f)})
		}
	}
	for _, o := range m.Operations {
		if o.DedupeBy != nil && o.DedupeBy.Unique == nil {
			rules = append(rules, uniqueRule{name: "dedupe_" + o.Name, fields: refFields(o.DedupeBy.Fields)})
		}
	}
	return rules
}

// move is one way of one operation from a state to a state. From is nil for a
// creation.
type move struct {
	operation *spec.Operation
	from, to  *spec.State
}

// moves returns every way that the operations can take, branches of `choose`
// included, each once, in the order of the specification.
func moves(m *spec.Machine) []move {
	var all []move
	for _, o := range m.Operations {
		all = append(all, movesOf(o)...)
	}
	return all
}

// movesOf returns the ways of one operation.
func movesOf(o *spec.Operation) []move {
	var all []move
	seen := make(map[move]bool)
	for _, v := range o.Moves() {
		if mv := (move{o, v.Source(), v.To}); !seen[mv] {
			seen[mv] = true
			all = append(all, mv)
		}
	}
	return all
}

// successors returns the states that one step leads to from each state, in the
// order of the specification; those of nil are where records begin.
func successors(m *spec.Machine) map[*spec.State][]*spec.State {
	next := make(map[*spec.State][]*spec.State, len(m.States))
	for _, mv := range moves(m) {
		next[mv.from] = append(next[mv.from], mv.to)
	}
	for from, to := range next {
		slices.SortFunc(to, func(a, b *spec.State) int { return a.Index - b.Index })
		next[from] = slices.Compact(to)
	}
	return next
}

// writers returns the operations, creations aside, that can change a field:
// those that `changed_by` allows, or those that name the field in an effect.
func writers(m *spec.Machine, f *spec.Field) []*spec.Operation {
	var ops []*spec.Operation
	for _, o := range m.Operations {
		if len(o.Creates) == 0 && operationWrites(o, f) {
			ops = append(ops, o)
		}
	}
	return ops
}

func operationWrites(o *spec.Operation, f *spec.Field) bool {
	return o.Effects.Changes(f) || slices.ContainsFunc(o.Choose, func(b *spec.Branch) bool { return b.Effects.Changes(f) })
}

// lookup is one index that a query of the runtime needs.
type lookup struct {
	why    string
	name   []string // parts of the index's name
	fields []*spec.Field
	order  []spec.Order // after fields
	states []*spec.State
	// present are the fields of order that every row has which is asked for, so
	// that absent values need no place in it.
	present []*spec.Field
	parking *parking    // of `next`; nil where it passes over nothing
	due     bool        // the sweeper's
	by      *spec.Field // of the sweeper: the length that is added to the time
	asked   bool        // of a `lookup`: rows that lack a field are not asked for
	byID    bool        // its rows come by id in the end, also where nothing else orders them
}

// lookups returns the indexes for deadlines, `next`, groups, the
// projection's key and `lookup`. An index that a unique rule already gives is left out.
func lookups(m *spec.Machine) []lookup {
	var all []lookup
	for _, o := range m.Operations {
		from := refStates(o.From)
		type deadline struct{ after, by *spec.Field }
		var timed []deadline
		for _, t := range o.Triggers {
			if t.After != nil && !slices.Contains(timed, deadline{t.After, t.By}) {
				timed = append(timed, deadline{t.After, t.By})
				name := []string{"due", o.Name}
				if len(timed) > 1 {
					if name = append(name, t.After.Name); t.By != nil {
						name = append(name, t.By.Name)
					}
				}
				order := []spec.Order{{FieldRef: spec.FieldRef{Field: t.After}}}
				all = append(all, lookup{why: "the sweeper asks what is due for " + o.Name, name: name, order: order,
					states: from, present: []*spec.Field{t.After}, due: true, by: t.By, byID: true})
			}
		}
		present := func() (fields []*spec.Field) {
			list, _ := asks(o)
			for _, a := range list {
				if a.op != spec.Absent { // what is absent fits no comparison
					fields = append(fields, a.field)
				}
			}
			return fields
		}
		if o.Each != nil && len(givenBy(o)) > 0 { // else the index of the states serves
			all = append(all, lookup{why: "the records that one call of " + o.Name + " takes", name: []string{"each", o.Name},
				fields: givenBy(o), states: from, present: present(), byID: true})
		}
		if o.Next != nil {
			l := lookup{why: "the order in which " + o.Name + " picks", name: []string{"next", o.Name},
				fields: givenBy(o), order: pickOrder(o), states: from, present: present(), byID: true}
			l.parking = parkingOf(m, o)
			if len(l.fields)+len(l.order) > 0 || l.parking != nil { // else it picks by id: the index of the states serves
				all = append(all, l)
			}
		}
	}
	uniques := uniqueRules(m)
	for _, g := range m.Guards {
		if g.Peers == nil || len(g.Peers.Same) == 0 {
			continue
		}
		same, in := refFields(g.Peers.Same), refStates(g.Peers.In)
		known := slices.ContainsFunc(uniques, func(u uniqueRule) bool {
			return slices.Equal(u.fields, same) && (u.states == nil || sameStates(u.states, in))
		})
		if !known {
			all = append(all, lookup{why: "the group of guard " + g.Name, name: []string{"peers", g.Name}, fields: same, states: in})
		}
	}
	if m.Projection != nil {
		key := refFields(m.Projection.Key)
		known := slices.ContainsFunc(uniques, func(u uniqueRule) bool {
			return u.states == nil && len(u.fields) >= len(key) && slices.Equal(u.fields[:len(key)], key)
		})
		if !known {
			all = append(all, lookup{why: "the key of the projection", name: []string{"projection"}, fields: key})
		}
	}
	for _, l := range m.Lookups {
		if !m.OneRecord(l) {
			all = append(all, lookup{why: "the look-up " + l.Name, name: []string{"lookup", l.Name},
				fields: refFields(l.Fields), order: l.Order, states: lookupStates(m, l), asked: true, byID: true})
		}
	}
	return all
}

// queried returns the indexes that a query names columns of.
func queried(m *spec.Machine) []lookup {
	return slices.DeleteFunc(lookups(m), func(l lookup) bool { return len(l.fields)+len(l.order) == 0 })
}

func sameStates(a, b []*spec.State) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(st *spec.State) bool { return !slices.Contains(b, st) })
}
