package fsmtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// schema compares what the package tells stores about the machine with the
// table: not every store makes use of everything, but some store does.
func (s *suite[R]) schema(t *testing.T) {
	got, m := s.d.Descriptor.Schema, s.m
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
	for _, name := range m.order {
		f := m.fields[name]
		var words []string
		if f.kind == driver.KindEnum {
			words = f.stored
		}
		columns = append(columns, fmt.Sprint(f.Name, f.Stored, f.kind, f.optional, words))
	}
	for _, st := range m.stateOrder {
		states = append(states, fmt.Sprint(st.Name, st.stored, st.Terminal, st.Final))
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
	s.uniques(t)
	s.lookups(t)
	for _, dialect := range []string{"sqlite", "postgres"} {
		if !strings.Contains(got.SQL[dialect], "CREATE TABLE") {
			t.Errorf("SQL[%q] creates no table", dialect)
		}
	}
	s.operationInfo(t)
}

// operationInfo compares the part of each operation that only refusals and
// stores look at.
func (s *suite[R]) operationInfo(t *testing.T) {
	ops := s.d.Descriptor.Operations
	if len(ops) != len(s.m.operations) {
		t.Fatalf("%d operations, want %d", len(ops), len(s.m.operations))
	}
	by := map[string]fsmimpl.Actor{"": fsmimpl.ByCaller, "system": fsmimpl.BySystem, "operator": fsmimpl.ByOperator}
	for i, o := range s.m.operations {
		var from []string
		for _, name := range s.m.allowed(o) {
			from = append(from, s.m.states[name].stored)
		}
		slices.Sort(from)
		gotFrom := slices.Sorted(slices.Values(ops[i].From))
		needsActor := o.By == "operator" || o.By == "" && o.readsActor
		want := fmt.Sprint(o.Name, o.stored, o.event, by[o.By], o.creates, from, o.Picks, o.Then, needsActor)
		if got := fmt.Sprint(ops[i].Name, ops[i].Stored, ops[i].Event, ops[i].By, ops[i].Creates, gotFrom, ops[i].Picks, ops[i].Then, ops[i].NeedActor); got != want {
			t.Errorf("operation %d is %s, want %s", i, got, want)
		}
		s.moveInfo(t, o, ops[i])
	}
}

// moveInfo compares what an audit judges the log by: the moves that the operation
// makes, and the states in which a call may be recorded only.
func (s *suite[R]) moveInfo(t *testing.T, o *operation, got *fsmimpl.Operation[R]) {
	moves := map[fsmimpl.Move]bool{}
	recorded := map[string]bool{}
	look := func(from string, c cell) {
		stored := func(name string) string {
			if name == "" {
				return ""
			}
			return s.m.states[name].stored
		}
		move := func(to string) { moves[fsmimpl.Move{From: stored(from), To: stored(to)}] = true }
		switch {
		case c.kind == cellMove:
			move(c.to)
		case c.kind == cellRecordOnly && from != "":
			recorded[stored(from)] = true
		}
		if (c.kind == cellMove || c.kind == cellChoose) && o.OnRefusal == "record only" && from != "" {
			recorded[stored(from)] = true
		}
		if c.kind != cellChoose {
			return
		}
		for _, b := range o.branches {
			if from != "" && b.From != "" && !slices.Contains(list(b.From), from) {
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
			if len(b.when) == 0 { // what stands below it is for other states
				break
			}
		}
	}
	look("", o.cells[newColumn])
	for _, st := range s.m.stateOrder {
		look(st.Name, o.cells[st.Name])
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
func (s *suite[R]) uniques(t *testing.T) {
	m := s.m
	text := func(name string, columns, states []string) string {
		slices.Sort(states)
		return fmt.Sprintf("%s: %s in %s", name, strings.Join(columns, ", "), strings.Join(states, ", "))
	}
	columns := func(names []string) []string {
		var stored []string
		for _, name := range names {
			stored = append(stored, m.fields[name].Stored)
		}
		return stored
	}
	words := func(names []string) []string {
		if len(names) == len(m.stateOrder) {
			return nil
		}
		var stored []string
		for _, name := range names {
			stored = append(stored, m.states[name].stored)
		}
		return stored
	}
	var want, got []string
	for _, u := range m.Uniques {
		want = append(want, text(u.Name, columns(list(u.Fields)), words(list(u.In))))
	}
	for _, name := range m.order {
		if f := m.fields[name]; f.kind == driver.KindSequence {
			want = append(want, text("sequence_"+name, columns(append(list(f.Per), name)), nil))
		}
	}
	for _, o := range m.operations {
		named := slices.ContainsFunc(m.Uniques, func(u Unique) bool { return u.Fields == o.Dedupe && u.In == o.DedupeIn })
		if o.Dedupe != "" && !named {
			want = append(want, text("dedupe_"+o.Name, columns(list(o.Dedupe)), nil))
		}
	}
	for _, u := range s.d.Descriptor.Schema.Uniques {
		got = append(got, text(u.Name, u.Columns, slices.Clone(u.States)))
		for _, x := range m.Uniques {
			if x.Name == u.Name && !errors.Is(u.Err, s.d.Errors[x.Error]) {
				t.Errorf("the error of %s is %v, want %v", u.Name, u.Err, s.d.Errors[x.Error])
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("unique rules:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
