package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// starts are the states out of which an operation has a step; nil for a creation,
// which has one out of none.
func starts(m *world.Model, o *oracle.Op) []*oracle.StateInfo {
	if o.Creates {
		return []*oracle.StateInfo{nil}
	}
	var from []*oracle.StateInfo
	for _, name := range m.Allowed(o) {
		from = append(from, m.StateByName[name])
	}
	return from
}

// schema compares what the package tells stores about the machine with the
// table: not every store makes use of everything, but some store does.
func schema[R any](s *world.Suite[R], t *testing.T) {
	got, m := s.D.Descriptor.Schema, s.M
	same := func(what string, want, got any) {
		if want != got {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	demands := map[string]driver.Demand{"required": driver.Required, "optional": driver.Optionally, "none": driver.Never}
	same("Machine", m.Machine, got.Machine)
	same("Entity", m.Entity, got.Entity)
	same("Version", m.Version, got.Version)
	same("Hash", m.Hash, got.Hash)
	same("Enforce", m.Enforce, got.Enforce)
	same("Table", m.Machine, got.Table)
	same("RequestID", demands[m.RequestID], got.RequestID)
	same("ExpectedRev", demands[m.ExpectedRev], got.ExpectedRev)
	var columns, states []string
	for _, name := range m.Order {
		f := m.FieldByName[name]
		var words []string
		if f.Kind == driver.KindEnum {
			words = f.StoredWords
		}
		columns = append(columns, fmt.Sprint(f.Name, f.Stored, f.Kind, f.Optional, words))
	}
	for _, st := range m.StateOrder {
		states = append(states, fmt.Sprint(st.Name, st.StoredName, st.Terminal, st.Final))
	}
	var gotColumns, gotStates []string
	for _, c := range got.Columns {
		gotColumns = append(gotColumns, fmt.Sprint(c.Name, c.Stored, c.Kind, c.Optional, c.Words))
	}
	for _, st := range got.States {
		gotStates = append(gotStates, fmt.Sprint(st.Name, st.Stored, st.Terminal, st.Final))
	}
	same("Columns", strings.Join(columns, "; "), strings.Join(gotColumns, "; "))
	same("States", strings.Join(states, "; "), strings.Join(gotStates, "; "))
	uniques(s, t)
	lookups(s, t)
	for _, dialect := range []string{"sqlite", "postgres"} {
		if !strings.Contains(got.SQL[dialect], "CREATE TABLE") {
			t.Errorf("SQL[%q] creates no table", dialect)
		}
	}
	operationInfo(s, t)
}

// operationInfo compares the part of each operation that only refusals and
// stores look at.
func operationInfo[R any](s *world.Suite[R], t *testing.T) {
	ops := s.D.Descriptor.Operations
	if len(ops) != len(s.M.Ops) {
		t.Fatalf("%d operations, want %d", len(ops), len(s.M.Ops))
	}
	by := map[string]fsmimpl.Actor{"": fsmimpl.ByCaller, "system": fsmimpl.BySystem, "operator": fsmimpl.ByOperator}
	for i, o := range s.M.Ops {
		var from []string
		for _, name := range s.M.Allowed(o) {
			from = append(from, s.M.StateByName[name].StoredName)
		}
		slices.Sort(from)
		gotFrom := slices.Sorted(slices.Values(ops[i].From))
		needsActor := o.By == "operator" || o.By == "" && o.ReadsActor
		want := fmt.Sprint(o.Name, o.StoredName, o.EventName, by[o.By], o.Creates, from, o.Picks, o.Then, needsActor)
		if got := fmt.Sprint(ops[i].Name, ops[i].Stored, ops[i].Event, ops[i].By, ops[i].Creates, gotFrom, ops[i].Picks, ops[i].Then, ops[i].NeedActor); got != want {
			t.Errorf("operation %d is %s, want %s", i, got, want)
		}
		moveInfo(s, t, o, ops[i])
	}
}

// moveInfo compares what an audit judges the log by: the moves that the operation
// makes, and the states in which a call may be recorded only.
func moveInfo[R any](s *world.Suite[R], t *testing.T, o *oracle.Op, got *fsmimpl.Operation[R]) {
	moves := map[fsmimpl.Move]bool{}
	recorded := map[string]bool{}
	look := func(from string, c oracle.Cell) {
		stored := func(name string) string {
			if name == "" {
				return ""
			}
			return s.M.StateByName[name].StoredName
		}
		move := func(to string) { moves[fsmimpl.Move{From: stored(from), To: stored(to)}] = true }
		switch {
		case c.Kind == oracle.CellMove:
			move(c.To)
		case c.Kind == oracle.CellRecordOnly && from != "":
			recorded[stored(from)] = true
		}
		if (c.Kind == oracle.CellMove || c.Kind == oracle.CellChoose) && o.OnRefusal == "record only" && from != "" {
			recorded[stored(from)] = true
		}
		if c.Kind != oracle.CellChoose {
			return
		}
		for _, b := range o.Branches {
			if from != "" && b.From != "" && !slices.Contains(oracle.List(b.From), from) {
				continue
			}
			switch {
			case b.RecordOnly && from != "":
				recorded[stored(from)] = true
			case b.To == "same" && from != "":
				move(from)
			case b.To != "" && b.To != "same":
				move(b.To)
			}
			if len(b.Facts) == 0 { // what stands below it is for other states
				break
			}
		}
	}
	look("", o.Cells[oracle.NewColumn])
	for _, st := range s.M.StateOrder {
		look(st.Name, o.Cells[st.Name])
	}
	gotMoves, gotRecorded := map[fsmimpl.Move]bool{}, map[string]bool{}
	for _, mv := range got.Moves {
		gotMoves[mv] = true
	}
	for _, word := range got.Recorded {
		gotRecorded[word] = true
	}
	if !maps.Equal(moves, gotMoves) || !maps.Equal(recorded, gotRecorded) {
		t.Errorf("operation %s makes the moves %v and may be recorded in %v; want %v and %v", o.Name, gotMoves, gotRecorded, moves, recorded)
	}
}

// uniques compares the rules that a store has to keep.
func uniques[R any](s *world.Suite[R], t *testing.T) {
	m := s.M
	text := func(name string, columns, states []string) string {
		slices.Sort(states)
		return fmt.Sprintf("%s: %s in %s", name, strings.Join(columns, ", "), strings.Join(states, ", "))
	}
	columns := func(names []string) []string {
		var stored []string
		for _, name := range names {
			stored = append(stored, m.FieldByName[name].Stored)
		}
		return stored
	}
	words := func(names []string) []string {
		if len(names) == len(m.StateOrder) {
			return nil
		}
		var stored []string
		for _, name := range names {
			stored = append(stored, m.StateByName[name].StoredName)
		}
		return stored
	}
	var want, got []string
	for _, u := range m.Uniques {
		want = append(want, text(u.Name, columns(oracle.List(u.Fields)), words(oracle.List(u.In))))
	}
	for _, name := range m.Order {
		if f := m.FieldByName[name]; f.Kind == driver.KindSequence {
			want = append(want, text("sequence_"+name, columns(append(oracle.List(f.Per), name)), nil))
		}
	}
	for _, o := range m.Ops {
		named := slices.ContainsFunc(m.Uniques, func(u oracle.Unique) bool { return u.Fields == o.Dedupe && u.In == o.DedupeIn })
		if o.Dedupe != "" && !named {
			want = append(want, text("dedupe_"+o.Name, columns(oracle.List(o.Dedupe)), nil))
		}
	}
	for _, u := range s.D.Descriptor.Schema.Uniques {
		got = append(got, text(u.Name, u.Columns, slices.Clone(u.States)))
		for _, x := range m.Uniques {
			if x.Name == u.Name && !errors.Is(u.Err, s.D.Errors[x.Error]) {
				t.Errorf("the error of %s is %v, want %v", u.Name, u.Err, s.D.Errors[x.Error])
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("unique rules:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
