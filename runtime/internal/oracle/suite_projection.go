package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// mostGroups is how many groups are looked at one by one; the bounds of `at_least`
// beyond them are looked at in groups that are about as large.
const mostGroups = 10_000

// Projection looks at every group of records up to a size, and compares what
// the generated function derives with the rules of the table.
func (s *Suite[R]) Projection(t *testing.T) {
	p := s.M.Projection
	audited := s.D.Descriptor.Projection
	if audited == nil || audited.Entity != p.Entity || !slices.Equal(audited.Key, s.M.StoredNames(List(p.Key)...)) {
		t.Fatalf("the audit knows the projection %+v, want that of %s by %s", audited, p.Entity, p.Key)
	}
	wanted := 4
	for _, r := range p.Rules {
		wanted = max(wanted, int(r.AtLeast)+1)
	}
	size := 1
	for n := 1 + len(s.M.StateOrder); size < wanted; size++ { // groups up to this size
		if n = n * (len(s.M.StateOrder) + size + 1) / (size + 1); n > mostGroups {
			break
		}
	}
	rep := &reporter{t: t}
	defer rep.done()
	reached := map[string]bool{}
	for group := range s.M.groups(size) {
		s.groupCount++
		rows := s.M.groupRows(group)
		var records []R
		for _, row := range rows {
			r, err := s.D.Descriptor.Decode(row)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		counts := map[string]int64{}
		for _, row := range rows {
			counts[row.State]++
		}
		want := s.M.project(rows)
		if got := audited.State(counts); got != want.State {
			rep.errorf("the audit takes %v for %q, want %q", group, got, want.State)
		}
		got := s.D.Project(records)
		reached[want.State] = true
		if got.State != want.State {
			rep.errorf("%v is projected to %q, want %q", group, got.State, want.State)
		}
		for _, name := range List(p.Key) {
			f := s.M.FieldByName[name]
			if f.Kind == driver.KindEnum || f.Kind == driver.KindJSON || f.Kind == driver.KindSet {
				continue // rows hold them in another form
			}
			v := f.Empty()
			if len(rows) > 0 {
				v = rows[0].Values[f.Index]
			} else if v == nil && !f.Optional {
				v = f.Zero()
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
		switch {
		case reached[r.State]:
		case size < wanted:
			t.Logf("no group that was looked at is projected to %q", r.State)
		default:
			t.Errorf("no group up to %d records is projected to %q", size, r.State)
		}
	}
	if s.D.Leads == nil {
		if audited.Moves != nil {
			t.Errorf("the audit allows the moves %v only, the machine allows all", audited.Moves)
		}
		return
	}
	for _, from := range states {
		for _, to := range states {
			want := slices.ContainsFunc(p.Moves, func(x Move) bool { return x.From == from && x.To == to })
			if got := s.D.Leads(from, to); got != want {
				t.Errorf("%s may lead to %s: %t, want %t", from, to, got, want)
			}
			if got := slices.Contains(audited.Moves, fsmimpl.Move{From: from, To: to}); got != want {
				t.Errorf("the audit lets %s lead to %s: %t, want %t", from, to, got, want)
			}
		}
	}
}

// groups yields every multiset of states up to a size. For a rule that counts further it
// adds to small groups as many records as it asks for, one fewer and one more.
func (m *Model) groups(size int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		if !m.multisets(size)(yield) {
			return
		}
		for _, r := range m.Projection.Rules {
			counted := List(strings.Trim(r.Any+","+r.All, ","))
			if int(r.AtLeast) < size || len(counted) == 0 {
				continue
			}
			small := 2
			if len(m.StateOrder) > 8 {
				small = 1
			}
			ends := slices.Compact([]string{counted[0], counted[len(counted)-1]})
			if !m.multisets(small)(func(group []string) bool {
				has := 0
				for _, name := range group {
					if slices.Contains(counted, name) {
						has++
					}
				}
				for _, name := range ends {
					for n := int(r.AtLeast) - 1; n <= int(r.AtLeast)+1; n++ {
						if !yield(append(slices.Clone(group), slices.Repeat([]string{name}, max(0, n-has))...)) {
							return false
						}
					}
				}
				return true
			}) {
				return
			}
		}
	}
}

// multisets yields every multiset of states up to a size, and reports whether all were wanted.
func (m *Model) multisets(size int) func(func([]string) bool) bool {
	return func(yield func([]string) bool) bool {
		var grow func(group []string, first int) bool
		grow = func(group []string, first int) bool {
			if !yield(group) {
				return false
			}
			if len(group) == size {
				return true
			}
			for i := first; i < len(m.StateOrder); i++ {
				if !grow(append(slices.Clone(group), m.StateOrder[i].Name), i) {
					return false
				}
			}
			return true
		}
		return grow(nil, 0)
	}
}

// groupRows makes records in these states with one key and different values
// elsewhere, in an order in which neither the largest nor the smallest value
// comes first or last.
func (m *Model) groupRows(group []string) []driver.Row {
	keys := List(m.Projection.Key)
	var rows []driver.Row
	for i, name := range group {
		r := m.BaseRow(m.StateByName[name])
		r.ID = fmt.Sprintf("record-%d", i+1)
		rank := (i*2 + 1) % (len(group) + 1 + len(group)%2)
		r.CreatedAt = TheNow.Add(time.Duration(rank) * time.Minute)
		r.UpdatedAt = r.CreatedAt
		for _, f := range m.FieldByName {
			var v any
			switch f.Kind {
			case driver.KindInt, driver.KindCounter, driver.KindSequence:
				v = int64(rank + 1)
				if f.min != nil {
					v = *f.min + int64(rank)
				}
			case driver.KindTime:
				v = TheNow.Add(time.Duration(rank) * time.Minute)
			case driver.KindString:
				v = fmt.Sprintf("text %d", rank)
				if slices.Contains(keys, f.Name) {
					v = "the key"
				}
			case driver.KindBool:
				v = false
			case driver.KindEnum:
				v = f.StoredWords[0]
			case driver.KindJSON:
				v = "{}"
			case driver.KindSet:
				v = "[]"
			}
			if slices.Contains(keys, f.Name) && f.Kind != driver.KindString {
				v = m.pool(newPools(), DimField+f.Name, f.Typ, 0, f.Name)[0]
			}
			r.Values[f.Index] = v
		}
		rows = append(rows, r)
	}
	return rows
}

// project reads the rules: the first that holds wins.
func (m *Model) project(rows []driver.Row) Projected {
	p := m.Projection
	in := func(states string) int64 {
		n := int64(0)
		for _, r := range rows {
			if slices.Contains(List(states), m.StateOf(r.State).Name) {
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
			v := m.termValue(Term{Field: field}, nil, r, Call{})
			if v != nil && (best == nil || agg == "max" && compare(v, best) > 0 || agg == "min" && compare(v, best) < 0) {
				best = v
			}
		}
		out.Fields[name] = best
	}
	return out
}
