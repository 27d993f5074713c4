package enginetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/spec"
)

// schema compares what the package tells stores about the machine with the
// specification: not every store makes use of everything, but some store does.
func schema[R any](s *world.Suite[R], t *testing.T) {
	got, m := s.D.Descriptor.Schema, s.M
	same := func(what string, want, got any) {
		if want != got {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	demands := map[spec.Demand]driver.Demand{spec.Required: driver.Required, spec.Optional: driver.Optionally, spec.None: driver.Never}
	same("Machine", m.Name, got.Machine)
	same("Entity", m.Entity, got.Entity)
	same("Version", m.Version, got.Version)
	same("Hash", m.Hash, got.Hash)
	same("Table", m.Name, got.Table)
	same("RequestID", demands[m.RequestID], got.RequestID)
	same("ExpectedRev", demands[m.ExpectedRev], got.ExpectedRev)
	var columns, states []string
	for _, f := range m.Fields {
		var words []string
		for _, w := range f.Type.Values {
			words = append(words, w.Stored())
		}
		columns = append(columns, fmt.Sprint(f.Name, f.Stored(), kinds[f.Type.Kind], f.Type.Optional, words))
	}
	for _, st := range m.States {
		states = append(states, fmt.Sprint(st.Name, st.Stored(), st.Terminal, st.Final))
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
	indexes(s, t)
	for _, dialect := range []string{"sqlite", "postgres"} {
		if !strings.Contains(got.SQL[dialect], "CREATE TABLE") {
			t.Errorf("SQL[%q] creates no table", dialect)
		}
	}
	operationInfo(s, t)
}

// kinds are the kinds of columns.
var kinds = map[spec.Kind]driver.Kind{
	spec.KindString: driver.KindString, spec.KindInt: driver.KindInt, spec.KindBool: driver.KindBool, spec.KindTime: driver.KindTime, spec.KindJSON: driver.KindJSON,
	spec.KindCounter: driver.KindCounter, spec.KindSet: driver.KindSet, spec.KindSequence: driver.KindSequence, spec.KindEnum: driver.KindEnum,
	spec.KindDuration: driver.KindInt,
}

// operationInfo compares the part of each operation that only refusals and
// stores look at, and what an audit judges the log by: the moves that the operation
// makes, and the states in which a call may be recorded only.
func operationInfo[R any](s *world.Suite[R], t *testing.T) {
	ops := s.D.Descriptor.Operations
	if len(ops) != len(s.M.Operations) {
		t.Fatalf("%d operations, want %d", len(ops), len(s.M.Operations))
	}
	by := map[spec.Actor]fsmimpl.Actor{spec.ByCaller: fsmimpl.ByCaller, spec.BySystem: fsmimpl.BySystem, spec.ByOperator: fsmimpl.ByOperator}
	for i, o := range s.M.Operations {
		var from []string
		if !creates(o) {
			from = words(world.Starts(s.M, o))
		}
		slices.Sort(from)
		then := ""
		if o.Then != nil {
			then = o.Then.Operation.Name
		}
		each := int64(0)
		if o.Each != nil {
			each = o.Each.Most
		}
		gotFrom := slices.Sorted(slices.Values(ops[i].From))
		want := fmt.Sprint(o.Name, o.Stored(), o.StoredEvent(), by[o.By], creates(o), from, o.Next != nil, each, then)
		if got := fmt.Sprint(ops[i].Name, ops[i].Stored, ops[i].Event, ops[i].By, ops[i].Creates, gotFrom, ops[i].Picks, ops[i].Each, ops[i].Then); got != want {
			t.Errorf("operation %d is %s, want %s", i, got, want)
		}
		moves, recorded := map[fsmimpl.Move]bool{}, map[string]bool{}
		for _, v := range o.Moves() {
			from := ""
			if v.From != nil {
				from = v.Source().Stored()
			}
			moves[fsmimpl.Move{From: from, To: v.To.Stored()}] = true
		}
		for j, class := range s.M.Row(o) {
			st := s.M.States[j]
			records := func(b *spec.Branch) bool { return b.RecordOnly }
			if class == spec.RecordOnly || class == spec.Transition && (o.OnRefusalRecordOnly || slices.ContainsFunc(o.Branches(st), records)) {
				recorded[st.Stored()] = true
			}
		}
		gotMoves, gotRecorded := map[fsmimpl.Move]bool{}, map[string]bool{}
		for _, mv := range ops[i].Moves {
			gotMoves[mv] = true
		}
		for _, word := range ops[i].Recorded {
			gotRecorded[word] = true
		}
		if !maps.Equal(moves, gotMoves) || !maps.Equal(recorded, gotRecorded) {
			t.Errorf("operation %s makes the moves %v and may be recorded in %v; want %v and %v", o.Name, gotMoves, gotRecorded, moves, recorded)
		}
	}
}

// uniques compares the rules that a store has to keep.
func uniques[R any](s *world.Suite[R], t *testing.T) {
	text := func(name string, columns, states []string) string {
		slices.Sort(states)
		return fmt.Sprintf("%s: %s in %s", name, strings.Join(columns, ", "), strings.Join(states, ", "))
	}
	var want, got []string
	for _, k := range uniqueKeys(s.M) {
		want = append(want, text(k.name, columns(k.fields), words(k.states)))
	}
	for _, u := range s.D.Descriptor.Schema.Uniques {
		got = append(got, text(u.Name, u.Columns, slices.Clone(u.States)))
		for _, x := range s.M.Unique {
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
