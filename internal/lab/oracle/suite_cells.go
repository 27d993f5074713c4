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
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Suite is one run of the tests, with what it has counted.
type Suite[R any] struct {
	M *Model
	D Driver[R]

	cellCount, caseCount, soundCount, wayCount, recordCount, groupCount int
}

// Cells runs every operation on every abstract record, and compares the whole
// record, the event or the refusal with what matrix and table say.
func (s *Suite[R]) Cells(t *testing.T) {
	p := &parts{t: t}
	defer p.done()
	for _, o := range s.M.Ops {
		ways, alone := map[string]int{}, map[string]bool{}
		var refused []*StateInfo
		for _, st := range s.M.From(o) {
			name := o.Name
			if st != nil {
				s.cellCount++
				name += " in " + st.Name
			}
			if st != nil && o.Cells[st.Name].Kind == CellRefused {
				refused = append(refused, st)
				continue
			}
			p.run(name, func(r *reporter) { s.cell(r, o, st, ways, alone) })
		}
		if len(refused) > 0 {
			p.run(o.Name+" where it is refused", func(r *reporter) { s.refused(r, o, refused, ways, alone) })
		}
		if !o.Creates {
			p.run(o.Name+" in no state", func(r *reporter) { s.nowhere(r, o) })
		}
		if !t.Failed() {
			MustHappen(t, o, ways, alone)
		}
		s.wayCount += len(ways)
	}
}

// wholeRefusals is in how many of the states that refuse an operation all its cases are tried,
// and all bad calls. Nothing but the state decides there, so that in the others one record
// tells what many would.
const wholeRefusals = 12

// refused runs an operation in the states that refuse it.
func (s *Suite[R]) refused(r *reporter, o *Op, states []*StateInfo, ways map[string]int, alone map[string]bool) {
	var call *Call // one that only the state refuses
	for i, st := range states {
		if call == nil {
			if c, ok := s.M.Good(o, st, isRefusedByState); ok {
				call = &c.Call
			}
		}
		if i < wholeRefusals || call == nil {
			s.cell(r, o, st, ways, alone)
			continue
		}
		c := Case{s.M.OneRow(st), *call}
		v := s.M.Decide(o, c.Row, c.Call)
		s.caseCount, s.soundCount = s.caseCount+1, s.soundCount+1
		ways[v.Way]++
		s.report(r, "", o, c, v)
	}
}

func isRefusedByState(v Verdict) bool {
	return v.Code == fsm.ErrWrongState || v.Code == fsm.ErrTerminal
}

// nowhere runs an operation on records in no state of the specification, as a
// program may make them: it is not possible there, and says where it was asked for.
func (s *Suite[R]) nowhere(t *reporter, o *Op) {
	want := Refused(fsm.ErrWrongState)
	want.allowed = s.M.Allowed(o)
	for _, st := range s.M.StateOrder {
		c, ok := s.M.Good(o, st, func(v Verdict) bool { return v.Code != fsm.ErrInvalidInput })
		if !ok {
			continue
		}
		last := uint64(len(s.M.StateOrder))
		for n, name := range map[uint64]string{0: "", last + 1: fmt.Sprintf("State(%d)", last+1)} {
			r, err := s.D.Descriptor.Decode(c.Row)
			if err != nil {
				t.Errorf("Decode: %v", err)
				return
			}
			field := reflect.ValueOf(&r).Elem().FieldByName("State")
			if field.OverflowUint(n) {
				continue // every number is a state
			}
			field.SetUint(n)
			before := r
			_, err = Did(&s.D, &r, o, c.Call)
			if problem := s.M.DiffRefusal(o, c.Row.ID, driver.Row{}, want, err, s.D.Errors); problem != "" {
				t.Errorf("in state number %d of %d: %s", n, last, problem)
			} else if refused, _ := errors.AsType[*fsm.Refusal](err); refused.State != name {
				t.Errorf("in state number %d of %d it is refused in %q, want %q", n, last, refused.State, name)
			}
			if !s.D.Equal(r, before) {
				t.Errorf("in state number %d of %d it is refused, but the record changed", n, last)
			}
		}
		return
	}
}

func (s *Suite[R]) cell(r *reporter, o *Op, st *StateInfo, ways map[string]int, alone map[string]bool) {
	n := 0
	var late *Case
	for c := range s.M.Cases(o, st) {
		n++
		v := s.M.Decide(o, c.Row, c.Call)
		if st == nil || s.M.Sound(c.Row) {
			s.soundCount++
			if wrong := o.Denied(v); wrong != "" {
				r.Errorf("%s\n\trecord: %s\n\tcall:   %s", wrong, s.M.ShowRow(c.Row), c.Call)
			}
		}
		if st == nil || s.M.MustHold(c.Row) {
			ways[v.Way]++
			if len(v.Failing) == 1 {
				alone[v.Failing[0]] = true
			}
		}
		if late == nil {
			late = s.M.Late(o, c)
		}
		s.report(r, "", o, c, v)
	}
	if late != nil {
		s.report(r, "", o, *late, s.M.Decide(o, late.Row, late.Call))
	}
	s.caseCount += n
	if n == 0 {
		r.Errorf("no case for %s: the table allows no record", o.Name)
	}
}

// report runs one case and tells what is wrong.
func (s *Suite[R]) report(r *reporter, what string, o *Op, c Case, v Verdict) {
	problem, refused := s.onCase(o, c, v)
	if problem == "" {
		return
	}
	guards := List(v.guard)
	if refused != nil && refused.Guard != v.guard {
		guards = append(guards, refused.Guard)
	}
	var states []string
	if v.Code == fsm.ErrInvariant || refused != nil && refused.Code == fsm.ErrInvariant {
		cell := o.Cells[NewColumn]
		if !o.Creates {
			cell = o.Cells[s.M.StateOf(c.Row.State).Name]
		}
		states = List(cell.To)
	}
	r.Errorf("%s%s\n\trecord: %s\n\tcall:   %s\n\twant:   %s%s",
		what, problem, s.M.ShowRow(c.Row), c.Call, s.M.ShowVerdict(v), s.M.Where(o, guards, states))
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

// Late is a case that moves, made at the last instant that a record can hold, where
// the operation gives a deadline: none fits behind it. It is nil for any other case.
func (m *Model) Late(o *Op, c Case) *Case {
	deadline := func(a Assign) bool { return strings.HasPrefix(a.Value, "now + ") }
	if v := m.Decide(o, c.Row, c.Call); v.Code != "" || v.RecordOnly || !slices.ContainsFunc(o.sets(), deadline) {
		return nil
	}
	c = c.Clone()
	c.Call.At = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	return &c
}

// onCase runs one case and says what is wrong, or "", and how the call was refused.
func (s *Suite[R]) onCase(o *Op, c Case, v Verdict) (problem string, refused *fsm.Refusal) {
	var r, before R
	if !o.Creates {
		var err error
		if r, err = s.D.Descriptor.Decode(c.Row); err != nil {
			return fmt.Sprintf("Decode: %v", err), nil
		}
		if got := s.D.Descriptor.Encode(&r); s.M.DiffRows(c.Row, got) != "" {
			return "Encode after Decode: " + s.M.DiffRows(c.Row, got), nil
		}
		before = r
	}
	ev, err := Did(&s.D, &r, o, c.Call)
	errors.As(err, &refused)
	if !o.Creates {
		can := s.D.Can(before, o.StoredName)
		switch impossible := o.Cells[s.M.StateOf(c.Row.State).Name].Kind == CellRefused; {
		case (can != nil) != impossible:
			return fmt.Sprintf("Can answered %v, where the state refuses: %t", can, impossible), refused
		case can != nil && (v.Code == fsm.ErrWrongState || v.Code == fsm.ErrTerminal) && (err == nil || can.Error() != err.Error()):
			return fmt.Sprintf("Can answered %v, the operation %v", can, err), refused
		}
	}
	return s.led(o, c, v, ev, s.D.Descriptor.Encode(&r), err), refused
}

// led says what is wrong with what a call led to, or "".
func (s *Suite[R]) led(o *Op, c Case, v Verdict, ev Event, after driver.Row, err error) string {
	switch {
	case v.Code == "" && err != nil:
		return fmt.Sprintf("refused: %v", err)
	case v.Code == "":
		if problem := s.M.DiffRows(v.Row, after); problem != "" {
			return problem
		}
		return s.M.diffEvent(o, c.Row, v, ev)
	case err == nil:
		return "was taken, the record is now " + s.M.ShowRow(after)
	}
	id := c.Row.ID
	if o.Creates {
		id = c.Call.ID
	}
	if problem := s.M.DiffRefusal(o, id, c.Row, v, err, s.D.Errors); problem != "" {
		return "refusal: " + problem
	}
	if ev != (Event{}) {
		return fmt.Sprintf("refused, but with an event: %+v", ev)
	}
	if o.Creates {
		var r *fsm.Refusal
		if errors.As(err, &r) && r.State != "" {
			return fmt.Sprintf("refusal: what is not made yet is in state %q", r.State)
		}
		return ""
	}
	if problem := s.M.DiffRows(c.Row, after); problem != "" {
		return "refused, but the record changed: " + problem
	}
	return ""
}

// Sink takes what a test has to say.
type Sink interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// parts runs the parts of a test under their names. After the first one that fails, the
// others are looked at in silence: what is wrong is mostly one thing.
type parts struct {
	t    *testing.T
	more []string
}

func (p *parts) run(name string, look func(*reporter)) {
	if !p.t.Failed() {
		p.t.Run(name, func(t *testing.T) {
			r := &reporter{Sink: t}
			look(r)
			r.done()
		})
		return
	}
	r := &reporter{Sink: silence{}}
	if look(r); r.failed > 0 {
		p.more = append(p.more, name)
	}
}

// silence is for what is only counted.
type silence struct{}

func (silence) Errorf(string, ...any) {}
func (silence) Logf(string, ...any)   {}

func (p *parts) done() {
	const most = 6
	if n := len(p.more); n > most {
		p.t.Errorf("wrong, too: %s and %d more", strings.Join(p.more[:most], ", "), n-most)
	} else if n > 0 {
		p.t.Errorf("wrong, too: %s", strings.Join(p.more, ", "))
	}
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

// ShowVerdict tells a verdict in words.
func (m *Model) ShowVerdict(v Verdict) string {
	switch {
	case v.Code == fsm.ErrGuard:
		return "guard " + v.guard + " refuses"
	case v.Code != "":
		return strings.TrimSpace("refused as " + string(v.Code) + " " + strings.Join(v.Names, " or "))
	case v.RecordOnly:
		return "recorded only"
	}
	return m.ShowRow(v.Row)
}

// Counts says how much the tests looked at.
func (s *Suite[R]) Counts() string {
	text := fmt.Sprintf("%d operations, %d states: %d cells, %d cases of the pure layer (%d on records that the invariants allow) decided in %d ways, %d records checked",
		len(s.M.Ops), len(s.M.StateOrder), s.cellCount, s.caseCount, s.soundCount, s.wayCount, s.recordCount)
	if s.groupCount > 0 {
		text += fmt.Sprintf(", %d groups projected", s.groupCount)
	}
	return text
}
