package fsmtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// projection looks at every group of records up to a size, and compares what
// the generated function derives with the rules of the table.
func (s *suite[R]) projection(t *testing.T) {
	p := s.m.Projection
	audited := s.d.Descriptor.Projection
	if audited == nil || audited.Entity != p.Entity || !slices.Equal(audited.Key, s.m.storedNames(list(p.Key)...)) {
		t.Fatalf("the audit knows the projection %+v, want that of %s by %s", audited, p.Entity, p.Key)
	}
	size := 4
	for _, r := range p.Rules {
		size = max(size, int(r.AtLeast)+1)
	}
	rep := &reporter{t: t}
	defer rep.done()
	reached := map[string]bool{}
	for group := range s.m.groups(size) {
		s.groupCount++
		rows := s.m.groupRows(group)
		var records []R
		for _, row := range rows {
			r, err := s.d.Descriptor.Decode(row)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		counts := map[string]int64{}
		for _, row := range rows {
			counts[row.State]++
		}
		want := s.m.project(rows)
		if got := audited.State(counts); got != want.State {
			rep.errorf("the audit takes %v for %q, want %q", group, got, want.State)
		}
		got := s.d.Project(records)
		reached[want.State] = true
		if got.State != want.State {
			rep.errorf("%v is projected to %q, want %q", group, got.State, want.State)
		}
		for _, name := range list(p.Key) {
			f := s.m.fields[name]
			if f.kind == driver.KindEnum || f.kind == driver.KindJSON || f.kind == driver.KindSet {
				continue // rows hold them in another form
			}
			v := f.empty()
			if len(rows) > 0 {
				v = rows[0].Values[f.index]
			} else if v == nil && !f.optional {
				v = f.zero()
			}
			if got.Key[name] != v {
				rep.errorf("%v: the key %s is %v, want %v", group, name, got.Key[name], v)
			}
		}
		for name, v := range want.Fields {
			if got.Fields[name] != v {
				rep.errorf("%v: %s is %v, want %v", group, name, got.Fields[name], v)
			}
		}
	}
	var states []string
	for _, r := range p.Rules {
		states = append(states, r.State)
		if !reached[r.State] {
			t.Errorf("no group up to %d records is projected to %q", size, r.State)
		}
	}
	if s.d.Leads == nil {
		if audited.Moves != nil {
			t.Errorf("the audit allows the moves %v only, the machine allows all", audited.Moves)
		}
		return
	}
	for _, from := range states {
		for _, to := range states {
			want := slices.ContainsFunc(p.Moves, func(x Move) bool { return x.From == from && x.To == to })
			if got := s.d.Leads(from, to); got != want {
				t.Errorf("%s may lead to %s: %t, want %t", from, to, got, want)
			}
			if got := slices.Contains(audited.Moves, fsmimpl.Move{From: from, To: to}); got != want {
				t.Errorf("the audit lets %s lead to %s: %t, want %t", from, to, got, want)
			}
		}
	}
}

// groups yields every multiset of states up to a size.
func (m *model) groups(size int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		var grow func(group []string, first int) bool
		grow = func(group []string, first int) bool {
			if !yield(group) {
				return false
			}
			if len(group) == size {
				return true
			}
			for i := first; i < len(m.stateOrder); i++ {
				if !grow(append(slices.Clone(group), m.stateOrder[i].Name), i) {
					return false
				}
			}
			return true
		}
		grow(nil, 0)
	}
}

// groupRows makes records in these states with one key and different values
// elsewhere, in an order in which neither the largest nor the smallest value
// comes first or last.
func (m *model) groupRows(group []string) []driver.Row {
	keys := list(m.Projection.Key)
	var rows []driver.Row
	for i, name := range group {
		r := m.baseRow(m.states[name])
		r.ID = fmt.Sprintf("record-%d", i+1)
		rank := (i*2 + 1) % (len(group) + 1 + len(group)%2)
		for _, f := range m.fields {
			var v any
			switch f.kind {
			case driver.KindInt, driver.KindCounter, driver.KindSequence:
				v = int64(rank + 1)
				if f.min != nil {
					v = *f.min + int64(rank)
				}
			case driver.KindTime:
				v = theNow.Add(time.Duration(rank) * time.Minute)
			case driver.KindString:
				v = fmt.Sprintf("text %d", rank)
				if slices.Contains(keys, f.Name) {
					v = "the key"
				}
			case driver.KindBool:
				v = false
			case driver.KindEnum:
				v = f.stored[0]
			case driver.KindJSON:
				v = "{}"
			case driver.KindSet:
				v = "[]"
			}
			if slices.Contains(keys, f.Name) && f.kind != driver.KindString {
				v = m.pool(newPools(), dimField+f.Name, f.typ, 0, f.Name)[0]
			}
			r.Values[f.index] = v
		}
		rows = append(rows, r)
	}
	return rows
}

// project reads the rules: the first that holds wins.
func (m *model) project(rows []driver.Row) Projected {
	p := m.Projection
	in := func(states string) int64 {
		n := int64(0)
		for _, r := range rows {
			if slices.Contains(list(states), m.stateOf(r.State).Name) {
				n++
			}
		}
		return n
	}
	out := Projected{Fields: map[string]any{}}
	for _, r := range p.Rules {
		if r.Any != "" && in(r.Any) == 0 ||
			r.All != "" && (len(rows) == 0 || in(r.All) != int64(len(rows))) ||
			r.None != "" && in(r.None) > 0 ||
			in(strings.Trim(r.Any+","+r.All, ",")) < r.AtLeast {
			continue
		}
		out.State = r.State
		break
	}
	for _, text := range p.Fields {
		name, how, _ := strings.Cut(text, ": ")
		agg, field, _ := strings.Cut(how, " ")
		if agg == "count" {
			out.Fields[name] = int64(len(rows))
			continue
		}
		var best any
		for _, r := range rows {
			v := m.termValue(term{field: field}, nil, r, Call{})
			if v != nil && (best == nil || agg == "max" && compare(v, best) > 0 || agg == "min" && compare(v, best) < 0) {
				best = v
			}
		}
		out.Fields[name] = best
	}
	return out
}
