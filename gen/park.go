package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// A record that a pick meets and cannot take is parked: a column of its row, one for
// each operation with `next`, hides it from the index of the pick. What may free it
// says so: its own row by a trigger that clears the column, the records that stand in
// its way by a note that a trigger writes when one of them moves on.

// parking says what a store may park for.
type parking struct {
	op    *spec.Operation
	own   []*spec.Fact // of the record alone
	due   []asked      // comparisons with now
	rules []parkRule
}

// parkRule refuses a record while as many others of its group are in the states.
type parkRule struct {
	name   string
	fields []*spec.Field
	states []*spec.State
	than   int64
}

// parkingOf returns what the records that an operation picks may be parked for; nil
// when its index passes over all that it cannot take.
func parkingOf(m *spec.Machine, o *spec.Operation) *parking {
	if o.Next == nil {
		return nil
	}
	p := &parking{op: o}
	facts := slices.Clone(o.Next.Where)
	for _, r := range o.Require {
		facts = append(facts, r.When...)
		if g := r.Guard.Peers; g != nil {
			if o.ParkedForPeers(g) == "" {
				p.add(parkRule{r.Guard.Name, refFields(g.Same), refStates(g.In), g.Than})
			}
		}
	}
	list, _ := asks(o)
	for _, f := range facts {
		how, _ := f.Parked()
		switch a, ok := askable(f); {
		case ok && slices.ContainsFunc(list, func(b asked) bool { return b.same(a) }):
		case ok && how == spec.ParkedUntil && a.op != spec.Ne:
			p.due = append(p.due, a)
		case how == spec.ParkedOwn:
			p.own = append(p.own, f)
		}
	}
	for _, u := range uniqueRules(m) {
		if entersOnly(o, u) {
			p.add(parkRule{u.name, u.fields, u.states, 1})
		}
	}
	if len(p.own)+len(p.due)+len(p.rules) == 0 {
		return nil
	}
	return p
}

// same reports whether two facts are one.
func (a asked) same(b asked) bool {
	return a.op == b.op && a.field == b.field && a.now == b.now && a.value.Kind == b.value.Kind && a.value.Text == b.value.Text
}

// add adds a rule that only others can fulfil and whose group can be computed, unless
// another one refuses the same records.
func (p *parking) add(r parkRule) {
	if p.op.ParkedFor(r.fields, r.states) != "" {
		return
	}
	for _, other := range p.rules {
		if other.than == r.than && slices.Equal(other.fields, r.fields) && sameStates(other.states, r.states) {
			return
		}
	}
	p.rules = append(p.rules, r)
}

// entersOnly reports whether a pick brings a record under a unique rule, whatever it
// decides, and leaves the rule's fields as they are.
func entersOnly(o *spec.Operation, u uniqueRule) bool {
	return u.states != nil && !slices.ContainsFunc(movesOf(o), func(mv move) bool { return !slices.Contains(u.states, mv.to) }) &&
		!slices.ContainsFunc(u.fields, func(f *spec.Field) bool { return operationWrites(o, f) })
}

// parkings returns those of all operations of a machine.
func parkings(m *spec.Machine) []*parking {
	var all []*parking
	for _, o := range m.Operations {
		if p := parkingOf(m, o); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// maxColumn is how long the name of the column is at most, in every dialect: the runtime knows
// one name.
const maxColumn = 63

// column returns the name of the column; no field can have it.
func (p *parking) column() string { return cutName("_parked_"+p.op.Stored(), maxColumn) }

// note returns the name of what tells that a group may have room.
func (p *parking) note(i int) string { return p.column() + ":" + p.rules[i].name }

// ParkFact is what a pick parks for.
type ParkFact struct {
	Operation *spec.Operation
	Column    string // of the rows; no field can have its name
	Due       []DueFact
	Rules     []ParkRuleFact
}

// DueFact is a comparison of a field with the time at which the store looks.
type DueFact struct {
	Field *spec.Field
	Op    spec.FactOp
}

// ParkRuleFact refuses a record while as many others of its group are in the states.
type ParkRuleFact struct {
	Note   string
	Fields []*spec.Field
	States []*spec.State
	Than   int64
}

// fact tells it to who opens the machine.
func (p *parking) fact() ParkFact {
	f := ParkFact{Operation: p.op, Column: p.column()}
	for _, a := range p.due {
		f.Due = append(f.Due, DueFact{a.field, a.op})
	}
	for i, r := range p.rules {
		f.Rules = append(f.Rules, ParkRuleFact{p.note(i), r.fields, r.states, r.than})
	}
	return f
}

// parkInfo is the parking in the generated package.
func parkInfo(f ParkFact) string {
	text := fmt.Sprintf("{Column: %q", f.Column)
	if len(f.Due) > 0 {
		var list []string
		for _, d := range f.Due {
			list = append(list, fmt.Sprintf("{Column: %q, Op: driver.%s, Now: true}", d.Field.Stored(), condOps[d.Op]))
		}
		text += ", Due: []driver.Cond{" + strings.Join(list, ", ") + "}"
	}
	if len(f.Rules) > 0 {
		text += ", Rules: []driver.ParkRule{"
		for _, r := range f.Rules {
			text += fmt.Sprintf("\n{Note: %q, States: %s, Than: %d", r.Note, stringsExpr(storedStates(r.States)), r.Than)
			if len(r.Fields) > 0 {
				text += ", Columns: " + stringsExpr(storedFields(r.Fields))
			}
			text += "},"
		}
		text += "\n}"
	}
	return text + "}"
}

// moved returns the event of an update that is more than a parking or the end of a chain.
func (s *schemaText) moved() string {
	names := []string{`"id"`, `"state"`, `"rev"`, `"created_at"`, `"updated_at"`}
	for _, f := range s.m.Fields {
		names = append(names, column(f))
	}
	return "UPDATE OF " + strings.Join(names, ", ")
}

// leaves returns the condition that a record stops standing in the way of others of
// its group, or stops being the one to be taken next; update is false for a removal.
func (p *parking) leaves(s *schemaText, i int, update bool) string {
	r := &p.rules[i]
	text := "(" + inStates(`OLD."state"`, r.states) + " OR " + inStates(`OLD."state"`, refStates(p.op.From)) +
		" AND OLD." + quoteName(p.column()) + " IS NULL)"
	stays := []string{inStates(`NEW."state"`, r.states)}
	for _, f := range r.fields {
		text += " AND OLD." + column(f) + " IS NOT NULL"
		stays = append(stays, "NEW."+column(f)+" "+s.d.is+" OLD."+column(f))
	}
	if update {
		text += " AND NOT (" + strings.Join(stays, " AND ") + ")"
	}
	return text
}

// leaveNote returns the statement that writes a note where somebody waits: whose move
// it was, and the group. The records parked for it are seen: who parked them held the row
// that moves, and has committed. A snapshot of a whole transaction may be older.
func (p *parking) leaveNote(s *schemaText, i int) string {
	values := []string{`OLD."id"`, `OLD."rev"`}
	waits := fmt.Sprintf("r.%s = -%d", quoteName(p.column()), i+1)
	for _, f := range p.rules[i].fields {
		values = append(values, s.d.plain(&f.Type, "OLD."+column(f)))
		waits += fmt.Sprintf(" AND r.%s = OLD.%[1]s", column(f))
	}
	return "INSERT INTO " + s.table("_groups") + ` ("name", "key", "number") SELECT ` + quoteText(p.note(i)) + ", " +
		s.d.array + "(" + strings.Join(values, ", ") + ")" + s.d.asText + ", 0 WHERE " + s.d.older + "EXISTS (SELECT 1 FROM " + s.table("") +
		" AS r WHERE " + waits + ") ON CONFLICT DO NOTHING;"
}

// parkingIndexes writes the indexes of a pick: what it looks at, what time shows
// again, and who waits for a group.
func (s *schemaText) parkingIndexes(p *parking, l *lookup, keys []string) {
	t, col := s.table(""), quoteName(p.column())
	states := s.among(l.states)
	write := func(keys []string, where string, name ...string) {
		s.line("CREATE INDEX IF NOT EXISTS %s ON %s (%s) WHERE %s;", s.object(name...), t, strings.Join(keys, ", "), where)
	}
	s.line("-- %s: what none has parked, what waits for a time, and for others", l.why)
	s.line("DROP INDEX IF EXISTS %s;", s.object(l.name...))
	if s.d.computes && s.allStates(l.states) {
		write(keys, col+" IS NULL", "ready", p.op.Name)
	} else {
		write(keys, states+" AND "+col+" IS NULL", "ready", p.op.Name)
	}
	if len(p.due) > 0 {
		write([]string{col}, col+" > 0", "parked", p.op.Name)
	}
	for i, r := range p.rules {
		var group []string
		for _, f := range r.fields {
			group = append(group, column(f))
		}
		write(append(group, keys...), fmt.Sprintf("%s = -%d", col, i+1), "parked", p.op.Name, r.name)
	}
}
