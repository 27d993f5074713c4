package oracle

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Forbidden looks whether any operation from any record makes a forbidden move.
func (s *Suite[R]) Forbidden(t *testing.T) {
	p := &parts{t: t}
	defer p.done()
	for _, f := range s.M.Forbidden {
		p.run(f.From+" to "+f.To, func(t *reporter) {
			for _, o := range s.M.Ops {
				if o.Creates {
					continue
				}
				for c := range s.M.Cases(o, s.M.StateByName[f.From]) {
					r, err := s.D.Descriptor.Decode(c.Row)
					if err != nil {
						t.Errorf("Decode: %v", err)
						return
					}
					ev, err := Did(&s.D, &r, o, c.Call)
					if after := s.D.Descriptor.Encode(&r); err == nil && (after.State == s.M.StateByName[f.To].StoredName || ev.To == f.To) && f.From != f.To {
						t.Errorf("%s leads from %s to %s, which is forbidden: %s%s", o.Name, f.From, f.To, f.Reason, s.M.Where(o, nil, nil))
						return
					}
				}
			}
		})
	}
}

// Invariants looks at every abstract record in every state: Check must report
// exactly the rules that the table says are broken.
func (s *Suite[R]) Invariants(t *testing.T) {
	p := &parts{t: t}
	defer p.done()
	for _, st := range s.M.StateOrder {
		p.run(st.Name, func(r *reporter) {
			seen := map[string]bool{}
			for row := range s.M.RecordsOf(st) {
				s.checked(r, row, seen)
			}
			s.M.MustBreak(r, st, seen)
		})
	}
}

// RecordsOf yields abstract records in a state, and those of the table.
func (m *Model) RecordsOf(st *StateInfo) iter.Seq[driver.Row] {
	return func(yield func(driver.Row) bool) {
		dims := m.RecordDims(&m.Nothing)
		for choice := range Combine(dims, recordLimit) {
			if !yield(m.Build(&m.Nothing, st, dims, choice).Row) {
				return
			}
		}
		for _, w := range st.Witnesses {
			if w.Never+w.Unknown == "" {
				if row, _ := m.WitnessRow(st, w); !yield(row) {
					return
				}
			}
		}
	}
}

// MustBreak looks whether some record broke each rule of a state.
func (m *Model) MustBreak(t Sink, st *StateInfo, seen map[string]bool) {
	for _, f := range slices.Concat(st.must, st.should) {
		if !seen[f.text] {
			Unseen(t, st.Witnesses, f.text, fmt.Sprintf("no record breaks %q", f.text))
		}
	}
}

// checked compares what Check finds of a record with what the table says of it,
// and notes the rules that it breaks.
func (s *Suite[R]) checked(rep *reporter, row driver.Row, seen map[string]bool) {
	s.recordCount++
	want := s.M.Broken(row)
	r, err := s.D.Descriptor.Decode(row)
	if err != nil {
		rep.Errorf("Decode of %s: %v", s.M.ShowRow(row), err)
		return
	}
	for name, check := range map[string]func() []fsm.Violation{
		"Check":            func() []fsm.Violation { return s.D.Check(r) },
		"Descriptor.Check": func() []fsm.Violation { return s.D.Descriptor.Check(&r) },
	} {
		if w, g := Violations(want, s.M), Violations(check(), s.M); w != g {
			in := []string{s.M.StateOf(row.State).Name}
			rep.Errorf("%s reports %s, want %s\n\trecord: %s%s", name, g, w, s.M.ShowRow(row), s.M.Where(nil, nil, in))
		}
	}
	for _, v := range want {
		seen[v.Rule] = true
	}
}

// RecordDims are the dimensions of a record by itself, with numbers out of
// their bounds as a corrupt row may have them.
func (m *Model) RecordDims(o *Op) []Dim {
	dims := m.Dims(o)
	for i, d := range dims {
		f := m.FieldByName[strings.TrimPrefix(d.Name, DimField)]
		if f == nil {
			continue
		}
		var bad []int64
		if f.Min != nil {
			bad = append(bad, *f.Min-1)
		}
		if f.Max != nil {
			bad = append(bad, *f.Max+1)
		}
		switch f.Kind {
		case driver.KindCounter:
			bad = append(bad, -1)
		case driver.KindSequence:
			bad = append(bad, 0)
		}
		for _, n := range bad {
			dims[i].Values = append(dims[i].Values, n)
		}
		dims[i].relevant = true
	}
	return dims
}

// Violations writes a list of violations in one order. A broken type is named
// by its field: how the bound is written is not compared.
func Violations(list []fsm.Violation, m *Model) string {
	var texts []string
	for _, v := range list {
		rule := v.Rule
		if f := m.FieldByName[firstWord(rule)]; f != nil && !m.rules[rule] {
			rule = f.Name
		}
		texts = append(texts, fmt.Sprintf("%s (must %t)", rule, v.Must))
	}
	slices.Sort(texts)
	return "[" + strings.Join(slices.Compact(texts), "; ") + "]"
}

// Stateless looks at a record that is in no state, as a program may have made it: Check
// reports it.
func (s *Suite[R]) Stateless(t *testing.T) {
	var none R
	for name, found := range map[string][]fsm.Violation{"Check": s.D.Check(none), "Descriptor.Check": s.D.Descriptor.Check(&none)} {
		if len(found) == 0 || !found[0].Must || found[0].Rule != "state" || found[0].Message == "" {
			t.Errorf("%s of a record in no state reports %v, want a violation", name, found)
		}
	}
}

// Ends asks every state whether it is terminal, and whether it is final.
func (s *Suite[R]) Ends(t *testing.T) {
	var want []End
	for _, st := range s.M.StateOrder {
		want = append(want, End{State: st.Name, Terminal: st.Terminal, Final: st.Final})
	}
	if !slices.Equal(s.D.Ends, want) {
		t.Errorf("the states and their ends are %+v, want %+v", s.D.Ends, want)
	}
}
