package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
)

// Lookup is a question of the application.
type Lookup struct {
	Name   string
	Fields string
	In     string // empty: all states
	Order  string // then by id
	One    bool   // the fields are unique: it finds one record at most
}

// Find is how the tests reach a look-up: the values of its fields are the inputs of c.
type Find[R any] func(ctx context.Context, c oracle.Call, p fsm.Page) ([]R, fsm.Page, error)

// Lookups makes up records that differ in what the look-ups name, and compares every page
// of every look-up with those that the table asks for.
func (s *Suite[R]) Lookups(t *testing.T, st Store) {
	h := s.NewHarness(t, st)
	known := s.lookupRows(h)
	for _, l := range s.M.Lookups {
		found := 0
		asked := map[string]bool{}
		for _, like := range known {
			c, key := s.M.asks(l, like)
			if c.Inputs == nil || asked[key] {
				continue
			}
			asked[key] = true
			want := s.M.finds(l, like, known)
			found = max(found, len(want))
			got, err := pages(h, l, c, s.D.Descriptor.Encode)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s finds %q with %v, want %q (error %v)", l.Name, got, c.Inputs, want, err)
				break
			}
		}
		if found == 0 {
			t.Errorf("%s: no record that was made up has all of its fields", l.Name)
		}
	}
}

// pages reads a look-up to its end, two records at a time.
func pages[R any](h *Harness[R], l Lookup, c oracle.Call, encode func(*R) driver.Row) (ids []string, err error) {
	page := fsm.Page{Size: 2}
	for {
		records, next, err := h.D.Lookups[l.Name](h.Ctx, c, page)
		if err != nil {
			return ids, err
		}
		if len(records) > page.Size {
			return ids, fmt.Errorf("a page has %d records", len(records))
		}
		for _, r := range records {
			ids = append(ids, encode(&r).ID)
		}
		if page = next; page.After == "" {
			return ids, nil
		}
	}
}

// lookupRows stores records in all states, with different values in the fields that
// look-ups name. One that the machine's rules refuse is left out.
func (s *Suite[R]) lookupRows(h *Harness[R]) (known []driver.Row) {
	named, first := map[string]bool{}, map[string]bool{}
	for _, l := range s.M.Lookups {
		first[oracle.List(l.Fields)[0]] = true
		for _, name := range append(oracle.List(l.Fields), oracle.List(strings.ReplaceAll(l.Order, "-", ""))...) {
			named[name] = true
		}
	}
	random := rand.New(rand.NewPCG(1, 7))
	const each = 8 // records of a state
	for _, state := range s.M.StateOrder {
		for range each {
			row := s.M.BaseRow(state)
			row.ID = fmt.Sprintf("record-%03d", random.IntN(1000))
			row.CreatedAt = row.CreatedAt.Add(-time.Duration(random.IntN(3)) * time.Minute)
			row.UpdatedAt = row.CreatedAt
			for _, name := range s.M.Order {
				f := s.M.FieldByName[name]
				said := func(lists ...string) bool {
					return slices.ContainsFunc(lists, func(l string) bool { return slices.Contains(oracle.List(l), name) })
				}
				present := !f.Optional || named[name] && random.IntN(3) > 0
				if said(state.Present, state.ShouldPresent) {
					present = true
				} else if said(state.Absent, state.ShouldAbsent) {
					present = false
				}
				switch list := some(f.Typ, first[name]); {
				case f.Kind == driver.KindSequence:
					row.Values[f.Index] = int64(len(known) + 1)
				case present && (named[name] || row.Values[f.Index] == nil):
					row.Values[f.Index] = list[random.IntN(len(list))]
				}
			}
			if s.M.Sound(row) && fsmtest.Seed(h.Ctx, h.Store, s.D.Descriptor.Schema, row) == nil {
				known = append(known, row)
			}
		}
	}
	return known
}

// some lists values of a type: a few, which many records share, or more of them.
func some(y oracle.Typ, few bool) []any {
	switch y.Kind {
	case driver.KindString:
		return []any{"a", "b"}
	case driver.KindBool:
		return []any{false, true}
	case driver.KindTime:
		return []any{oracle.TheNow, oracle.TheNow.Add(time.Hour)}
	case driver.KindEnum:
		list := []any{}
		for _, w := range y.StoredWords {
			list = append(list, w)
		}
		return list
	case driver.KindInt, driver.KindCounter:
		low := int64(1)
		if y.Min != nil {
			low = max(low, *y.Min)
		}
		list := []any{low, low + 1}
		for n := low + 2; !few && n < low+24 && (y.Max == nil || n <= *y.Max); n++ {
			list = append(list, n)
		}
		return list
	}
	return []any{`["a"]`} // JSON and sets
}

// asks returns the call that asks for records like one; no inputs where it lacks a field.
func (m *Model) asks(l Lookup, like driver.Row) (c oracle.Call, key string) {
	c.Inputs = map[string]any{}
	for _, name := range oracle.List(l.Fields) {
		f := m.FieldByName[name]
		v := like.Values[f.Index]
		if v == nil {
			return oracle.Call{}, ""
		}
		if i := slices.Index(f.StoredWords, fmt.Sprint(v)); f.Kind == driver.KindEnum && i >= 0 {
			v = f.Names[i]
		}
		c.Inputs[name] = v
		key += oracle.Show(v) + ";"
	}
	return c, key
}

// finds returns the ids that a look-up finds with the values of a row, in their order.
func (m *Model) finds(l Lookup, like driver.Row, known []driver.Row) (ids []string) {
	var list []driver.Row
	for _, row := range known {
		fits := l.In == "" || slices.Contains(oracle.List(l.In), m.StateOf(row.State).Name)
		for _, name := range oracle.List(l.Fields) {
			i := m.FieldByName[name].Index
			fits = fits && row.Values[i] != nil && oracle.Show(row.Values[i]) == oracle.Show(like.Values[i])
		}
		if fits {
			list = append(list, row)
		}
	}
	m.sortRows(list, l.Order)
	for _, row := range list {
		ids = append(ids, row.ID)
	}
	return ids
}
