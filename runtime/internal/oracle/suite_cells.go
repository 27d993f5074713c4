package oracle

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Suite is one run of the tests, with what it has counted.
type Suite[R any] struct {
	M    *Model
	D    Driver[R]
	Note func(Step[R]) // where a trace is written; nil without one

	cellCount, caseCount, soundCount, recordCount, DurableCount, groupCount, PromptCount int

	ways map[string]int
}

// Cells runs every operation on every abstract record, and compares the whole
// record, the event or the refusal with what matrix and table say.
func (s *Suite[R]) Cells(t *testing.T) {
	for _, o := range s.M.Ops {
		ways := map[string]int{}
		alone := map[string]bool{}
		if o.Creates {
			t.Run(o.Name, func(t *testing.T) { s.cell(t, o, nil, ways, alone) })
		}
		var refused []*StateInfo
		for _, st := range s.M.StateOrder {
			if o.Creates {
				break
			}
			s.cellCount++
			if o.Cells[st.Name].Kind == CellRefused {
				refused = append(refused, st)
				continue
			}
			t.Run(o.Name+" in "+st.Name, func(t *testing.T) { s.cell(t, o, st, ways, alone) })
		}
		if len(refused) > 0 {
			t.Run(o.Name+" where it is refused", func(t *testing.T) {
				for _, st := range refused {
					s.cell(t, o, st, ways, alone)
				}
			})
		}
		if !o.Creates {
			t.Run(o.Name+" in no state", func(t *testing.T) { s.nowhere(t, o) })
		}
		MustHappen(t, o, ways, alone)
		for way, n := range ways {
			if s.ways == nil {
				s.ways = map[string]int{}
			}
			s.ways[o.Name+": "+way] += n
		}
	}
}

// nowhere runs an operation on records in no state of the specification, as a
// program may make them: it is not possible there, and says where it was asked for.
func (s *Suite[R]) nowhere(t *testing.T, o *Op) {
	for _, st := range s.M.StateOrder {
		for c := range s.M.Cases(o, st) {
			if s.M.Decide(o, c.Row, c.Call).Code == fsm.ErrInvalidInput {
				continue
			}
			last := uint64(len(s.M.StateOrder))
			for n, name := range map[uint64]string{0: "", last + 1: fmt.Sprintf("State(%d)", last+1)} {
				r, err := s.D.Descriptor.Decode(c.Row)
				if err != nil {
					t.Fatal(err)
				}
				field := reflect.ValueOf(&r).Elem().FieldByName("State")
				if field.OverflowUint(n) {
					continue // every number is a state
				}
				field.SetUint(n)
				_, err = s.D.Did(&r, o, c.Call)
				var refused *fsm.Refusal
				if !errors.As(err, &refused) || refused.Code != fsm.ErrWrongState || refused.ID != c.Row.ID || refused.Operation != o.Name || refused.State != name {
					t.Errorf("in state number %d of %d: got %v, want it refused in state %q", n, last, err, name)
				}
			}
			return
		}
	}
}

func (s *Suite[R]) cell(t *testing.T, o *Op, st *StateInfo, ways map[string]int, alone map[string]bool) {
	rep := &reporter{t: t}
	defer rep.done()
	n := 0
	var late *Case
	for c := range s.M.Cases(o, st) {
		n++
		v := s.M.Decide(o, c.Row, c.Call)
		if st == nil || s.M.Sound(c.Row) {
			s.soundCount++
			if wrong := o.Denied(v); wrong != "" {
				rep.errorf("%s\n\trecord: %s\n\tcall:   %s", wrong, s.M.ShowRow(c.Row), c.Call)
			}
		}
		lawful := st == nil || s.M.Lawful(c.Row)
		if lawful {
			ways[v.Way]++
		}
		if late == nil {
			late = s.M.Late(o, c)
		}
		if lawful && len(v.Failing) == 1 {
			alone[v.Failing[0]] = true
		}
		if problem := s.onCase(o, c, v); problem != "" {
			rep.errorf("%s\n\trecord: %s\n\tcall:   %s\n\twant:   %s", problem, s.M.ShowRow(c.Row), c.Call, s.M.showVerdict(v))
		}
	}
	if late != nil {
		if problem := s.onCase(o, *late, s.M.Decide(o, late.Row, late.Call)); problem != "" {
			rep.errorf("%s\n\trecord: %s\n\tcall:   %s", problem, s.M.ShowRow(late.Row), late.Call)
		}
	}
	s.caseCount += n
	if n == 0 {
		t.Errorf("no case for %s: the table allows no record", o.Name)
	}
}

// Denied says what the table says against how a sound record is decided, or "".
func (o *Op) Denied(v Verdict) string {
	if len(v.Failing) > 0 && o.implied(v.Failing[0]) {
		return fmt.Sprintf("the table says that guard %s is implied, but it refuses a sound record", v.Failing[0])
	}
	if w := WitnessOf(o.Witnesses, v.Way); w != nil && w.Never != "" {
		return fmt.Sprintf("the table says that %s cannot happen", v.Way)
	}
	return ""
}

// sets lists the assignments of an operation and of its branches.
func sets(o *Op) []Assign {
	list := slices.Clone(o.Always.Set)
	for _, b := range o.Branches {
		list = append(list, b.Does.Set...)
	}
	return list
}

// Late is a case that moves, made at the last instant that a record can hold, where
// the operation gives a deadline: none fits behind it. It is nil for any other case.
func (m *Model) Late(o *Op, c Case) *Case {
	deadline := func(a Assign) bool { return strings.HasPrefix(a.Value, "now + ") }
	if v := m.Decide(o, c.Row, c.Call); v.Code != "" || v.recordOnly || !slices.ContainsFunc(sets(o), deadline) {
		return nil
	}
	c = c.Clone()
	c.Call.At = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	return &c
}

// onCase runs one case and says what is wrong, or "".
func (s *Suite[R]) onCase(o *Op, c Case, v Verdict) string {
	var r, before R
	if !o.Creates {
		var err error
		if r, err = s.D.Descriptor.Decode(c.Row); err != nil {
			return fmt.Sprintf("Decode: %v", err)
		}
		if got := s.D.Descriptor.Encode(&r); s.M.DiffRows(c.Row, got) != "" {
			return "Encode after Decode: " + s.M.DiffRows(c.Row, got)
		}
		before = r
	}
	ev, err := s.D.Did(&r, o, c.Call)
	if !o.Creates {
		can := s.D.Can(before, o.StoredName)
		switch refused := o.Cells[s.M.StateOf(c.Row.State).Name].Kind == CellRefused; {
		case (can != nil) != refused:
			return fmt.Sprintf("Can answered %v, where the state refuses: %t", can, refused)
		case can != nil && (v.Code == fsm.ErrWrongState || v.Code == fsm.ErrTerminal) && (err == nil || can.Error() != err.Error()):
			return fmt.Sprintf("Can answered %v, the operation %v", can, err)
		}
	}
	after := s.D.Descriptor.Encode(&r)
	if v.Code != "" {
		if err == nil {
			return fmt.Sprintf("was taken, the record is now %s", s.M.ShowRow(after))
		}
		id := c.Row.ID
		if o.Creates {
			id = c.Call.ID
		}
		if problem := s.M.diffRefusal(o, id, c.Row, v, err, s.D.Errors); problem != "" {
			return "refusal: " + problem
		}
		var r *fsm.Refusal
		if o.Creates && errors.As(err, &r) && r.State != "" {
			return fmt.Sprintf("refusal: what is not made yet is in state %q", r.State)
		}
		if ev != (Event{}) {
			return fmt.Sprintf("refused, but with an event: %+v", ev)
		}
		if o.Creates {
			return ""
		}
		if problem := s.M.DiffRows(c.Row, after); problem != "" {
			return "refused, but the record changed: " + problem
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("refused: %v", err)
	}
	if problem := s.M.DiffRows(v.Row, after); problem != "" {
		return problem
	}
	return s.M.diffEvent(o, c.Row, v, ev)
}

// Sink takes what a test has to say.
type Sink interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// MustHappen looks whether the cases met every way in which an operation can
// be decided, on records that break no MUST: otherwise they would prove less than
// they seem to. A guard that
// the table calls implied may never fail. One that fails only together with
// others is told: the others may say the same.
func MustHappen(t Sink, o *Op, ways map[string]int, alone map[string]bool) {
	for _, g := range o.Guards {
		if ways["guard "+g.Name]+ways["record only, guard "+g.Name] == 0 {
			if !o.implied(g.Name) {
				Unseen(t, o.Witnesses, "guard "+g.Name, fmt.Sprintf("%s: no case fails at guard %s", o.Name, g.Name))
			}
			continue
		}
		if !alone[g.Name] {
			t.Logf("%s: guard %s never fails alone", o.Name, g.Name)
		}
	}
	for i := range o.Branches {
		if way := fmt.Sprintf("branch %d", i+1); ways[way] == 0 {
			Unseen(t, o.Witnesses, way, fmt.Sprintf("%s: no case takes branch %d", o.Name, i+1))
		}
	}
	if len(o.Branches) == 0 && ways["move"] == 0 {
		Unseen(t, o.Witnesses, "move", o.Name+": no case passes")
	}
}

func (m *Model) showVerdict(v Verdict) string {
	switch {
	case v.Code == fsm.ErrGuard:
		return "guard " + v.guard + " refuses"
	case v.Code != "":
		return string(v.Code)
	case v.recordOnly:
		return "recorded only"
	}
	return m.ShowRow(v.Row)
}

// Counts says how much the tests looked at.
func (s *Suite[R]) Counts() string {
	text := fmt.Sprintf("%d operations, %d states: %d cells, %d cases of the pure layer (%d on records that the invariants allow) decided in %d ways, %d records checked",
		len(s.M.Ops), len(s.M.StateOrder), s.cellCount, s.caseCount, s.soundCount, len(s.ways), s.recordCount)
	if s.groupCount > 0 {
		text += fmt.Sprintf(", %d groups projected", s.groupCount)
	}
	return text + fmt.Sprintf(", %d durable cases", s.DurableCount)
}
