package fsmtest

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

// cells runs every operation on every abstract record, and compares the whole
// record, the event or the refusal with what matrix and table say.
func (s *suite[R]) cells(t *testing.T) {
	for _, o := range s.m.operations {
		if s.d.Pure[o.Name].Do == nil {
			t.Errorf("the driver has no pure method for %s", o.Name)
			continue
		}
		ways := map[string]int{}
		alone := map[string]bool{}
		if o.creates {
			t.Run(o.Name, func(t *testing.T) { s.cell(t, o, nil, ways, alone) })
		}
		var refused []*state
		for _, st := range s.m.stateOrder {
			if o.creates {
				break
			}
			s.cellCount++
			if o.cells[st.Name].kind == cellRefused {
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
		if !o.creates {
			t.Run(o.Name+" in no state", func(t *testing.T) { s.nowhere(t, o) })
		}
		mustHappen(t, o, ways, alone)
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
func (s *suite[R]) nowhere(t *testing.T, o *operation) {
	for _, st := range s.m.stateOrder {
		for c := range s.m.cases(o, st) {
			if s.m.decide(o, c.row, c.call).code == fsm.ErrInvalidInput {
				continue
			}
			last := uint64(len(s.m.stateOrder))
			for n, name := range map[uint64]string{0: "", last + 1: fmt.Sprintf("State(%d)", last+1)} {
				r, err := s.d.Descriptor.Decode(c.row)
				if err != nil {
					t.Fatal(err)
				}
				field := reflect.ValueOf(&r).Elem().FieldByName("State")
				if field.OverflowUint(n) {
					continue // every number is a state
				}
				field.SetUint(n)
				_, err = s.d.Pure[o.Name].Do(&r, c.call)
				var refused *fsm.Refusal
				if !errors.As(err, &refused) || refused.Code != fsm.ErrWrongState || refused.ID != c.row.ID || refused.Operation != o.Name || refused.State() != name {
					t.Errorf("in state number %d of %d: got %v, want it refused in state %q", n, last, err, name)
				}
			}
			return
		}
	}
}

func (s *suite[R]) cell(t *testing.T, o *operation, st *state, ways map[string]int, alone map[string]bool) {
	rep := &reporter{t: t}
	defer rep.done()
	n := 0
	var late *theCase
	for c := range s.m.cases(o, st) {
		n++
		v := s.m.decide(o, c.row, c.call)
		if st == nil || s.m.sound(c.row) {
			s.soundCount++
			if wrong := o.denied(v); wrong != "" {
				rep.errorf("%s\n\trecord: %s\n\tcall:   %s", wrong, s.m.showRow(c.row), c.call)
			}
		}
		lawful := st == nil || s.m.lawful(c.row)
		if lawful {
			ways[v.way]++
		}
		if late == nil {
			late = s.m.late(o, c)
		}
		if lawful && len(v.failing) == 1 {
			alone[v.failing[0]] = true
		}
		if problem := s.onCase(o, c, v); problem != "" {
			rep.errorf("%s\n\trecord: %s\n\tcall:   %s\n\twant:   %s", problem, s.m.showRow(c.row), c.call, s.m.showVerdict(v))
		}
	}
	if late != nil {
		if problem := s.onCase(o, *late, s.m.decide(o, late.row, late.call)); problem != "" {
			rep.errorf("%s\n\trecord: %s\n\tcall:   %s", problem, s.m.showRow(late.row), late.call)
		}
	}
	s.caseCount += n
	if n == 0 {
		t.Errorf("no case for %s: the table allows no record", o.Name)
	}
}

// denied says what the table says against how a sound record is decided, or "".
func (o *operation) denied(v verdict) string {
	if len(v.failing) > 0 && o.implied(v.failing[0]) {
		return fmt.Sprintf("the table says that guard %s is implied, but it refuses a sound record", v.failing[0])
	}
	if w := witness(o.Witnesses, v.way); w != nil && w.Never != "" {
		return fmt.Sprintf("the table says that %s cannot happen", v.way)
	}
	return ""
}

// sets lists the assignments of an operation and of its branches.
func sets(o *operation) []assign {
	list := slices.Clone(o.effects.set)
	for _, b := range o.branches {
		list = append(list, b.effects.set...)
	}
	return list
}

// late is a case that moves, made at the last instant that a record can hold, where
// the operation gives a deadline: none fits behind it. It is nil for any other case.
func (m *model) late(o *operation, c theCase) *theCase {
	deadline := func(a assign) bool { return strings.HasPrefix(a.value, "now + ") }
	if v := m.decide(o, c.row, c.call); v.code != "" || v.recordOnly || !slices.ContainsFunc(sets(o), deadline) {
		return nil
	}
	c = c.clone()
	c.call.At = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	return &c
}

// onCase runs one case and says what is wrong, or "".
func (s *suite[R]) onCase(o *operation, c theCase, v verdict) string {
	var r, before R
	if !o.creates {
		var err error
		if r, err = s.d.Descriptor.Decode(c.row); err != nil {
			return fmt.Sprintf("Decode: %v", err)
		}
		if got := s.d.Descriptor.Encode(&r); s.m.diffRows(c.row, got) != "" {
			return "Encode after Decode: " + s.m.diffRows(c.row, got)
		}
		before = r
	}
	p := s.d.Pure[o.Name]
	var canErr error
	if p.Can != nil {
		canErr = p.Can(&r, c.call)
		if !s.d.Equal(r, before) || s.m.diffRows(c.row, s.d.Descriptor.Encode(&r)) != "" {
			return "asking whether it is possible changed the record"
		}
	}
	ev, err := p.Do(&r, c.call)
	if p.Can != nil && (canErr == nil) != (err == nil) || canErr != nil && err != nil && canErr.Error() != err.Error() {
		return fmt.Sprintf("asking first answered %v, the operation %v", canErr, err)
	}
	after := s.d.Descriptor.Encode(&r)
	if v.code != "" {
		if err == nil {
			return fmt.Sprintf("was taken, the record is now %s", s.m.showRow(after))
		}
		id := c.row.ID
		if o.creates {
			id = c.call.ID
		}
		if problem := s.m.diffRefusal(o, id, c.row, v, err, s.d.Errors); problem != "" {
			return "refusal: " + problem
		}
		var r *fsm.Refusal
		if o.creates && errors.As(err, &r) && r.State() != "" {
			return fmt.Sprintf("refusal: what is not made yet is in state %q", r.State())
		}
		if ev != (Event{}) {
			return fmt.Sprintf("refused, but with an event: %+v", ev)
		}
		if o.creates {
			return ""
		}
		if problem := s.m.diffRows(c.row, after); problem != "" {
			return "refused, but the record changed: " + problem
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("refused: %v", err)
	}
	if problem := s.m.diffRows(v.row, after); problem != "" {
		return problem
	}
	return s.m.diffEvent(o, c.row, c.call, v, ev)
}

// sink takes what a test has to say.
type sink interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// mustHappen looks whether the cases met every way in which an operation can
// be decided, on records that break no MUST: otherwise they would prove less than
// they seem to. A guard that
// the table calls implied may never fail. One that fails only together with
// others is told: the others may say the same.
func mustHappen(t sink, o *operation, ways map[string]int, alone map[string]bool) {
	for _, g := range o.require {
		if ways["guard "+g.Name]+ways["record only, guard "+g.Name] == 0 {
			if !o.implied(g.Name) {
				unseen(t, o.Witnesses, "guard "+g.Name, fmt.Sprintf("%s: no case fails at guard %s", o.Name, g.Name))
			}
			continue
		}
		if !alone[g.Name] {
			t.Logf("%s: guard %s never fails alone", o.Name, g.Name)
		}
	}
	for i := range o.branches {
		if way := fmt.Sprintf("branch %d", i+1); ways[way] == 0 {
			unseen(t, o.Witnesses, way, fmt.Sprintf("%s: no case takes branch %d", o.Name, i+1))
		}
	}
	if len(o.branches) == 0 && ways["move"] == 0 {
		unseen(t, o.Witnesses, "move", o.Name+": no case passes")
	}
}

func (m *model) showVerdict(v verdict) string {
	switch {
	case v.code == fsm.ErrGuard:
		return "guard " + v.guard + " refuses"
	case v.code != "":
		return string(v.code)
	case v.recordOnly:
		return "recorded only"
	}
	return m.showRow(v.row)
}

// counts says how much the tests looked at.
func (s *suite[R]) counts() string {
	text := fmt.Sprintf("%d operations, %d states: %d cells, %d cases of the pure layer (%d on records that the invariants allow) decided in %d ways, %d records checked",
		len(s.m.operations), len(s.m.stateOrder), s.cellCount, s.caseCount, s.soundCount, len(s.ways), s.recordCount)
	if s.groupCount > 0 {
		text += fmt.Sprintf(", %d groups projected", s.groupCount)
	}
	text += fmt.Sprintf(", %d durable cases", s.durableCount)
	if s.promptCount > 0 {
		text += fmt.Sprintf(", %d attempts past the engine", s.promptCount)
	}
	return text
}
