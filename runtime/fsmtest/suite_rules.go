package fsmtest

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// forbidden looks whether any operation from any record makes a forbidden move.
func (s *suite[R]) forbidden(t *testing.T) {
	for _, f := range s.m.Forbidden {
		t.Run(f.From+" to "+f.To, func(t *testing.T) {
			for _, o := range s.m.operations {
				if o.creates {
					continue
				}
				for c := range s.m.cases(o, s.m.states[f.From]) {
					r, err := s.d.Descriptor.Decode(c.row)
					if err != nil {
						t.Fatal(err)
					}
					ev, err := s.d.Pure[o.Name].Do(&r, c.call)
					if after := s.d.Descriptor.Encode(&r); err == nil && (after.State == s.m.states[f.To].stored || ev.To == f.To) && f.From != f.To {
						t.Fatalf("%s leads from %s to %s, which is forbidden: %s", o.Name, f.From, f.To, f.Reason)
					}
				}
			}
		})
	}
}

// invariants looks at every abstract record in every state: Check must report
// exactly the rules that the table says are broken.
func (s *suite[R]) invariants(t *testing.T) {
	for _, st := range s.m.stateOrder {
		t.Run(st.Name, func(t *testing.T) {
			rep := &reporter{t: t}
			defer rep.done()
			seen := map[string]bool{}
			for row := range s.m.recordsOf(st) {
				s.checked(rep, row, seen)
			}
			s.m.mustBreak(t, st, seen)
		})
	}
}

// recordsOf yields abstract records in a state, and those of the table.
func (m *model) recordsOf(st *state) iter.Seq[driver.Row] {
	return func(yield func(driver.Row) bool) {
		dims := m.recordDims(&m.nothing)
		for choice := range combine(dims, 2*cellLimit) {
			if !yield(m.build(&m.nothing, st, dims, choice).row) {
				return
			}
		}
		for _, w := range st.Witnesses {
			if w.Never+w.Unknown == "" {
				if row, _ := m.witnessRow(st, w); !yield(row) {
					return
				}
			}
		}
	}
}

// mustBreak looks whether some record broke each rule of a state.
func (m *model) mustBreak(t sink, st *state, seen map[string]bool) {
	for _, names := range []string{st.Present, st.Absent, st.ShouldPresent, st.ShouldAbsent} {
		for _, n := range list(names) {
			if !seen[n+" is present"] && !seen[n+" is absent"] {
				t.Errorf("no record breaks the rule about %s", n)
			}
		}
	}
	for _, f := range slices.Concat(m.invariant, st.invariant) {
		if !seen[f.text] {
			unseen(t, st.Witnesses, f.text, fmt.Sprintf("no record breaks %q", f.text))
		}
	}
}

// checked compares what Check finds of a record with what the table says of it,
// and notes the rules that it breaks.
func (s *suite[R]) checked(rep *reporter, row driver.Row, seen map[string]bool) {
	s.recordCount++
	want := s.m.broken(row)
	r, err := s.d.Descriptor.Decode(row)
	if err != nil {
		rep.errorf("Decode of %s: %v", s.m.showRow(row), err)
		return
	}
	for name, check := range map[string]func() []fsm.Violation{
		"Check":            func() []fsm.Violation { return s.d.Check(r) },
		"Descriptor.Check": func() []fsm.Violation { return s.d.Descriptor.Check(&r) },
	} {
		if w, g := violations(want, s.m), violations(check(), s.m); w != g {
			rep.errorf("%s reports %s, want %s\n\trecord: %s", name, g, w, s.m.showRow(row))
		}
	}
	for _, v := range want {
		seen[v.Rule] = true
	}
}

// recordDims are the dimensions of a record by itself, with numbers out of
// their bounds as a corrupt row may have them.
func (m *model) recordDims(o *operation) []dim {
	dims := m.dims(o)
	for i, d := range dims {
		f := m.fields[strings.TrimPrefix(d.name, dimField)]
		if f == nil {
			continue
		}
		var bad []int64
		if f.min != nil {
			bad = append(bad, *f.min-1)
		}
		if f.max != nil {
			bad = append(bad, *f.max+1)
		}
		switch f.kind {
		case driver.KindCounter:
			bad = append(bad, -1)
		case driver.KindSequence:
			bad = append(bad, 0)
		}
		for _, n := range bad {
			dims[i].values = append(dims[i].values, n)
		}
		dims[i].relevant = true
	}
	return dims
}

// violations writes a list of violations in one order. A broken type is named
// by its field: how the bound is written is not compared.
func violations(list []fsm.Violation, m *model) string {
	var texts []string
	for _, v := range list {
		rule := v.Rule
		if f := m.fields[firstWord(rule)]; f != nil && !m.isRule(rule) {
			rule = f.Name
		}
		texts = append(texts, fmt.Sprintf("%s (must %t)", rule, v.Must))
	}
	slices.Sort(texts)
	return "[" + strings.Join(slices.Compact(texts), "; ") + "]"
}

// isRule reports whether a text is a rule of the table.
func (m *model) isRule(text string) bool {
	if strings.HasSuffix(text, " is present") || strings.HasSuffix(text, " is absent") {
		return true
	}
	return slices.ContainsFunc(m.allInvariants(), func(f fact) bool { return f.text == text })
}

// stateless looks at a record that is in no state, as a program may have made
// it: Check reports it, and every operation refuses it.
func (s *suite[R]) stateless(t *testing.T) {
	var none R
	for name, found := range map[string][]fsm.Violation{"Check": s.d.Check(none), "Descriptor.Check": s.d.Descriptor.Check(&none)} {
		if len(found) == 0 || !found[0].Must || found[0].Rule != "state" || found[0].Message == "" {
			t.Errorf("%s of a record in no state reports %v, want a violation", name, found)
		}
	}
	for _, o := range s.m.operations {
		if o.creates {
			continue
		}
		c, ok := s.m.goodAlone(o)
		if !ok {
			continue
		}
		var r R
		_, err := s.d.Pure[o.Name].Do(&r, c.call)
		v := refused(fsm.ErrWrongState)
		v.allowed = s.m.allowed(o)
		if err == nil {
			t.Errorf("%s takes a record in no state", o.Name)
		} else if problem := s.m.diffRefusal(o, "", driver.Row{}, v, err, s.d.Errors); problem != "" {
			t.Errorf("%s of a record in no state: %s", o.Name, problem)
		}
		if !s.d.Equal(r, none) {
			t.Errorf("%s refused a record in no state, but changed it", o.Name)
		}
	}
}

// classify asks for the class of every cell.
func (s *suite[R]) classify(t *testing.T) {
	for _, o := range s.m.operations {
		for _, st := range s.m.stateOrder {
			want := fsmimpl.ClassReject
			switch o.cells[st.Name].kind {
			case cellMove, cellChoose:
				want = fsmimpl.ClassTransition
			case cellRecordOnly:
				want = fsmimpl.ClassRecordOnly
			}
			if got := s.d.Classify(st.Name, o.Name); got != want {
				t.Errorf("Classify(%s, %s) = %v, want %v", st.Name, o.Name, got, want)
			}
		}
	}
}

// ends asks every state whether it is terminal, and whether it is final.
func (s *suite[R]) ends(t *testing.T) {
	for _, st := range s.m.stateOrder {
		if got := s.d.Terminal(st.Name); got != st.Terminal {
			t.Errorf("%s: Terminal() = %t, want %t", st.Name, got, st.Terminal)
		}
		if s.d.Final != nil && s.d.Final(st.Name) != st.Final {
			t.Errorf("%s: Final() = %t, want %t", st.Name, !st.Final, st.Final)
		}
	}
}
