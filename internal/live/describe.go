package live

import (
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

// kinds are the runtime's names of the kinds.
var kinds = map[spec.Kind]driver.Kind{
	spec.KindString: driver.KindString, spec.KindInt: driver.KindInt, spec.KindBool: driver.KindBool, spec.KindTime: driver.KindTime,
	spec.KindJSON: driver.KindJSON, spec.KindCounter: driver.KindCounter, spec.KindSet: driver.KindSet,
	spec.KindSequence: driver.KindSequence, spec.KindEnum: driver.KindEnum, spec.KindDuration: driver.KindInt,
}

var (
	comparisons = map[spec.FactOp]driver.Op{
		spec.Eq: driver.OpEq, spec.Ne: driver.OpNe, spec.Lt: driver.OpLt, spec.Le: driver.OpLe, spec.Gt: driver.OpGt, spec.Ge: driver.OpGe,
	}
	demands = map[spec.Demand]driver.Demand{spec.Required: driver.Required, spec.Optional: driver.Optionally, spec.None: driver.Never}
	actors  = map[spec.Actor]fsmimpl.Actor{spec.ByCaller: fsmimpl.ByCaller, spec.BySystem: fsmimpl.BySystem, spec.ByOperator: fsmimpl.ByOperator}
)

// Schema describes a machine to a store as its generated package does, with the
// text of the SQL for one dialect; "" is a store without SQL. The machine must be sound.
func Schema(m *spec.Machine, dialect, level string) (*driver.Schema, error) {
	sql := map[string]string{}
	if dialect != "" {
		text, err := gen.Schema(m, dialect, level)
		if err != nil {
			return nil, err
		}
		sql[dialect] = string(text)
	}
	facts := gen.FactsOf(m)
	errors := ownErrors(&facts)
	s := &driver.Schema{
		Machine: m.Name, Entity: m.Entity, Version: m.Version, Hash: m.Hash, Table: m.Name, Enforce: level,
		RequestID: demands[m.RequestID], ExpectedRev: demands[m.ExpectedRev],
		SQL: sql, NoOutbox: facts.NoOutbox,
	}
	for _, f := range m.Fields {
		s.Columns = append(s.Columns, column(f))
	}
	for _, st := range m.States {
		s.States = append(s.States, driver.StateInfo{Name: st.Name, Stored: st.Stored(), Terminal: st.Terminal, Final: st.Final})
	}
	for _, u := range facts.Uniques {
		rule := driver.UniqueRule{Name: u.Name, Columns: storedFields(u.Fields), States: storedStates(u.States)}
		if u.Rule != nil && u.Rule.Error != "" {
			rule.Err, rule.Message = errors[u.Rule.Error], facts.Errors[u.Rule.Error].Beside(u.Rule.Message)
		}
		s.Uniques = append(s.Uniques, rule)
	}
	for _, o := range facts.Operations {
		s.Operations = append(s.Operations, driver.OperationInfo{
			Stored: o.Operation.Stored(), Creates: len(o.Operation.Creates) > 0, Leaves: o.Leaves, Stays: o.Stays, Sets: o.Sets,
		})
	}
	for _, f := range facts.Parkings {
		p := driver.Parking{Column: f.Column}
		for _, d := range f.Due {
			p.Due = append(p.Due, driver.Cond{Column: d.Field.Stored(), Op: comparisons[d.Op], Now: true})
		}
		for _, r := range f.Rules {
			rule := driver.ParkRule{Note: r.Note, Columns: storedFields(r.Fields), States: storedStates(r.States), Than: r.Than}
			p.Rules = append(p.Rules, rule)
		}
		s.Parkings = append(s.Parkings, p)
	}
	for _, c := range facts.Worked {
		column := driver.WorkedColumn{Name: c.Name, States: storedStates(c.States)}
		if c.Minute != nil {
			column.Minute = c.Minute.Stored()
		}
		s.Worked = append(s.Worked, column)
	}
	for _, x := range facts.Indexes {
		index := driver.Index{Name: x.Name, Columns: storedFields(x.Fields), States: storedStates(x.States)}
		for _, o := range x.Order {
			order := driver.Order{Column: o.Field.Stored(), Descending: o.Descending}
			if x.By != nil {
				order.By = x.By.Stored()
			}
			index.Order = append(index.Order, order)
		}
		s.Indexes = append(s.Indexes, index)
	}
	return s, nil
}

func column(f *spec.Field) driver.Column {
	c := valueColumn(f.Name, f.Stored(), f.Type)
	if f.Default != nil {
		c.Default = Column(f.Type, interp.Default(f))
	}
	return c
}

// valueColumn describes the values of a type.
func valueColumn(name, stored string, t spec.Type) driver.Column {
	c := driver.Column{Name: name, Stored: stored, Kind: kinds[t.Kind], Optional: t.Optional}
	for _, w := range t.Values {
		c.Words = append(c.Words, w.Stored())
	}
	if t.HasLength() {
		c.Least = int(*t.Min)
		if t.Max != nil {
			c.Most = int(*t.Max)
		}
	}
	return c
}

func storedFields(fields []*spec.Field) (words []string) {
	for _, f := range fields {
		words = append(words, f.Stored())
	}
	return words
}

func storedStates(states []*spec.State) (words []string) {
	for _, s := range states {
		words = append(words, s.Stored())
	}
	return words
}

// Descriptor describes the records of a machine to the engine, for reading, auditing and
// repairing, and for calls by name. Its operations have no effects, since nothing here runs
// them: one that asks for some cannot be called.
func Descriptor(m *spec.Machine, s *driver.Schema) *fsmimpl.Descriptor[interp.Record] {
	c := coder{m: m}
	d := &fsmimpl.Descriptor[interp.Record]{Schema: s, Encode: c.encode, Decode: c.decode, Check: c.check}
	if len(m.Kept()) > 0 {
		d.Moved = func(before, after *interp.Record) string {
			if rule, f := interp.Broken(m, *before, *after); rule != nil {
				return f.Text
			}
			return ""
		}
	}
	facts := gen.FactsOf(m)
	errors := ownErrors(&facts)
	for _, f := range facts.Operations {
		o := f.Operation
		op := &fsmimpl.Operation[interp.Record]{
			Name: o.Name, Stored: o.Stored(), Event: o.StoredEvent(), By: actors[o.By], Creates: len(o.Creates) > 0,
			Recorded: storedStates(f.Recorded),
		}
		for _, from := range o.From {
			op.From = append(op.From, from.State.Stored())
		}
		for _, mv := range f.Moves {
			move := fsmimpl.Move{To: mv.To.Stored()}
			if mv.From != nil {
				move.From = mv.From.Stored()
			}
			op.Moves = append(op.Moves, move)
		}
		if len(o.Triggers) > 0 {
			op.System = func(*interp.Record, time.Time) (fsmimpl.Call[interp.Record], error) {
				return fsmimpl.Call[interp.Record]{}, errProgram
			}
		}
		for _, t := range o.Triggers {
			d := fsmimpl.Trigger{Startup: t.Startup, Plus: t.Plus}
			if t.After != nil {
				d.After = t.After.Stored()
			}
			if t.By != nil {
				d.By = t.By.Stored()
			}
			op.Triggers = append(op.Triggers, d)
		}
		for _, f := range m.Feeds(o) {
			op.Feeds = append(op.Feeds, fsmimpl.Feed{Input: f.Input.Name, Column: f.Field.Stored()})
		}
		(&calls{m: m, o: o, fact: f, errors: errors, facts: &facts}).describe(op, s)
		d.Operations = append(d.Operations, op)
	}
	return d
}
