package live

import (
	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// kinds are the runtime's names of the kinds.
var kinds = map[spec.Kind]fsm.Kind{
	spec.KindString: fsm.KindString, spec.KindInt: fsm.KindInt, spec.KindBool: fsm.KindBool, spec.KindTime: fsm.KindTime,
	spec.KindJSON: fsm.KindJSON, spec.KindCounter: fsm.KindCounter, spec.KindSet: fsm.KindSet,
	spec.KindSequence: fsm.KindSequence, spec.KindEnum: fsm.KindEnum,
}

var (
	demands = map[spec.Demand]fsm.Demand{spec.Required: fsm.Required, spec.Optional: fsm.Optionally, spec.None: fsm.Never}
	actors  = map[spec.Actor]fsm.Actor{spec.ByCaller: fsm.ByCaller, spec.BySystem: fsm.BySystem, spec.ByOperator: fsm.ByOperator}
)

// Schema describes a machine to a store as its generated package does, with the
// text of the SQL for one dialect; "" is a store without SQL. The machine must be sound.
func Schema(m *spec.Machine, dialect, level string) (*fsm.Schema, error) {
	sql := map[string]string{}
	if dialect != "" {
		text, err := gen.Schema(m, dialect, level)
		if err != nil {
			return nil, err
		}
		sql[dialect] = string(text)
	}
	facts := gen.FactsOf(m)
	s := &fsm.Schema{
		Machine: m.Name, Entity: m.Entity, Version: m.Version, Hash: m.Hash, Table: m.Name, Enforce: level,
		RequestID: demands[m.RequestID], ExpectedRev: demands[m.ExpectedRev],
		SQL: sql,
	}
	for _, f := range m.Fields {
		s.Columns = append(s.Columns, column(f))
	}
	for _, st := range m.States {
		s.States = append(s.States, fsm.StateInfo{Name: st.Name, Stored: st.Stored(), Terminal: st.Terminal, Final: st.Final})
	}
	for _, u := range facts.Uniques {
		rule := fsm.UniqueRule{Name: u.Name, Columns: storedFields(u.Fields), States: storedStates(u.States)}
		if u.Rule != nil {
			rule.Message = u.Rule.Message
		}
		s.Uniques = append(s.Uniques, rule)
	}
	for _, x := range facts.Indexes {
		index := fsm.Index{Name: x.Name, Columns: storedFields(x.Fields), States: storedStates(x.States)}
		for _, o := range x.Order {
			index.Order = append(index.Order, fsm.Order{Column: o.Field.Stored(), Descending: o.Descending})
		}
		s.Indexes = append(s.Indexes, index)
	}
	return s, nil
}

func column(f *spec.Field) fsm.Column {
	c := fsm.Column{Name: f.Name, Stored: f.Stored(), Kind: kinds[f.Type.Kind], Optional: f.Type.Optional}
	for _, w := range f.Type.Values {
		c.Words = append(c.Words, w.Stored())
	}
	if f.Default != nil {
		c.Default = Column(f.Type, interp.Default(f))
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

// Descriptor describes the records of a machine to the engine, for reading,
// auditing and repairing. Its operations have no triggers and no effects, since
// nothing here runs them.
func Descriptor(m *spec.Machine, s *fsm.Schema) *fsm.Descriptor[interp.Record] {
	c := coder{m: m, schema: s}
	d := &fsm.Descriptor[interp.Record]{Schema: s, Encode: c.encode, Decode: c.decode, Check: c.check}
	for _, f := range gen.FactsOf(m).Operations {
		o := f.Operation
		op := &fsm.Operation[interp.Record]{
			Name: o.Name, Stored: o.Stored(), Event: o.StoredEvent(), By: actors[o.By], Creates: len(o.Creates) > 0,
			Recorded: storedStates(f.Recorded),
		}
		for _, from := range o.From {
			op.From = append(op.From, from.State.Stored())
		}
		for _, mv := range f.Moves {
			move := fsm.Move{To: mv.To.Stored()}
			if mv.From != nil {
				move.From = mv.From.Stored()
			}
			op.Moves = append(op.Moves, move)
		}
		for _, f := range m.Feeds(o) {
			op.Feeds = append(op.Feeds, fsm.Feed{Input: f.Input.Name, Column: f.Field.Stored()})
		}
		d.Operations = append(d.Operations, op)
	}
	return d
}
