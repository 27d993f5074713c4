package oracle

import (
	"fmt"
	"iter"
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
	rep := &reporter{Sink: t}
	defer rep.done()
	reached := map[string]bool{}
	for group := range s.M.groups(size) {
		s.groupCount++
		rows, counts := s.M.groupRows(group), map[string]int64{}
		var records []R
		for _, row := range rows {
			r, err := s.D.Descriptor.Decode(row)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
			counts[row.State]++
		}
		want, got := s.M.project(rows), s.D.Project(records)
		reached[want.State] = true
		var d Differences
		d.Add("what the audit takes it for", want.State, audited.State(counts))
		d.Add("the state", want.State, got.State)
		for _, name := range SortedKeys(want.Key) {
			d.Add("the key "+name, want.Key[name], got.Key[name])
		}
		for _, name := range SortedKeys(want.Fields) {
			d.Add(name, want.Fields[name], got.Fields[name])
		}
		if wrong := d.String(); wrong != "" {
			rep.Errorf("%v: %s", group, wrong)
		}
	}
	for _, r := range p.Rules {
		switch {
		case reached[r.State]:
		case size < wanted:
			t.Logf("no group that was looked at is projected to %q", r.State)
		default:
			t.Errorf("no group up to %d records is projected to %q", size, r.State)
		}
	}
	if s.D.Leads != nil {
		s.leads(t)
	} else if audited.Moves != nil {
		t.Errorf("the audit allows the moves %v only, the machine allows all", audited.Moves)
	}
}

// leads asks for each move of the derived machine whether one step may lead to it.
func (s *Suite[R]) leads(t *testing.T) {
	p := s.M.Projection
	for _, a := range p.Rules {
		for _, b := range p.Rules {
			from, to := a.State, b.State
			want := slices.ContainsFunc(p.Moves, func(x Move) bool { return x.From == from && x.To == to })
			if got := s.D.Leads(from, to); got != want {
				t.Errorf("%s may lead to %s: %t, want %t", from, to, got, want)
			}
			if got := slices.Contains(s.D.Descriptor.Projection.Moves, fsmimpl.Move{From: from, To: to}); got != want {
				t.Errorf("the audit lets %s lead to %s: %t, want %t", from, to, got, want)
			}
		}
	}
}

// groups yields every multiset of states up to a size. For a rule that counts further it
// adds to small groups as many records as it asks for, one fewer and one more.
func (m *Model) groups(size int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for _, group := range m.multisets(size) {
			if !yield(group) {
				return
			}
		}
		small := 2
		if len(m.StateOrder) > 8 {
			small = 1
		}
		for _, r := range m.Projection.Rules {
			counted := List(strings.Trim(r.Any+","+r.All, ","))
			if int(r.AtLeast) < size || len(counted) == 0 {
				continue
			}
			for _, group := range m.multisets(small) {
				has := 0
				for _, name := range group {
					if slices.Contains(counted, name) {
						has++
					}
				}
				for _, name := range slices.Compact([]string{counted[0], counted[len(counted)-1]}) {
					for n := int(r.AtLeast) - 1; n <= int(r.AtLeast)+1; n++ {
						if !yield(append(slices.Clone(group), slices.Repeat([]string{name}, max(0, n-has))...)) {
							return
						}
					}
				}
			}
		}
	}
}

// multisets lists every multiset of states up to a size.
func (m *Model) multisets(size int) [][]string {
	list, last := [][]string{nil}, []int{0} // last is the state that was added last
	for at := 0; at < len(list); at++ {
		for i := last[at]; i < len(m.StateOrder) && len(list[at]) < size; i++ {
			list, last = append(list, append(slices.Clone(list[at]), m.StateOrder[i].Name)), append(last, i)
		}
	}
	return list
}

// groupRows makes records in these states with one key and different values
// elsewhere, in an order in which neither the largest nor the smallest value
// comes first or last.
func (m *Model) groupRows(group []string) []driver.Row {
	var rows []driver.Row
	for i, name := range group {
		r := m.BaseRow(m.StateByName[name])
		r.ID = fmt.Sprintf("record-%d", i+1)
		rank := (i*2 + 1) % (len(group) + 1 + len(group)%2)
		r.CreatedAt = TheNow.Add(time.Duration(rank) * time.Minute)
		r.UpdatedAt = r.CreatedAt
		for _, f := range m.FieldByName {
			n := rank
			if slices.Contains(List(m.Projection.Key), f.Name) {
				n = 0
			}
			switch f.Kind {
			case driver.KindInt, driver.KindCounter, driver.KindSequence:
				low := int64(1)
				if f.Min != nil {
					low = *f.Min
				}
				r.Values[f.Index] = low + int64(n)
			case driver.KindTime:
				r.Values[f.Index] = TheNow.Add(time.Duration(n) * time.Minute)
			case driver.KindString:
				r.Values[f.Index] = fmt.Sprintf("text %d", n)
			default:
				r.Values[f.Index] = f.Zero()
			}
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
	out := Projected{Key: map[string]any{}, Fields: map[string]any{}}
	for _, name := range List(p.Key) {
		switch f := m.FieldByName[name]; {
		case f.Kind == driver.KindEnum || f.Kind == driver.KindJSON || f.Kind == driver.KindSet: // rows hold them in another form
		case len(rows) > 0:
			out.Key[name] = rows[0].Values[f.Index]
		case !f.Optional:
			out.Key[name] = f.Zero()
		default:
			out.Key[name] = nil
		}
	}
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
			v := m.TermValue(Term{Field: field}, nil, r, Call{})
			if v != nil && (best == nil || agg == "max" && Compare(v, best) > 0 || agg == "min" && Compare(v, best) < 0) {
				best = v
			}
		}
		out.Fields[name] = best
	}
	return out
}
