package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// lookups puts records into the store that differ in what the look-ups name, and compares every
// page of every look-up with those that the specification asks for.
func lookups[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	h := s.NewHarness(t, st)
	lookupRows(h)
	for _, l := range s.M.Lookups {
		found := 0
		asked := map[string]bool{}
		for _, id := range sortedKeys(h.W.Records) {
			c, known := asks(s.M, l, h.W.Records[id])
			key := fmt.Sprint(c.Inputs)
			if !known || asked[key] {
				continue
			}
			asked[key] = true
			want := finds(s.M, l, h.W.Records[id], h.W.World)
			found = max(found, len(want))
			got, err := pages(h, l, c)
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
func pages[R any](h *world.Harness[R], l *spec.Lookup, c fsmcases.Call) (ids []string, err error) {
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
			ids = append(ids, h.S.D.Descriptor.Encode(&r).ID)
		}
		if page = next; page.After == "" {
			return ids, nil
		}
	}
}

// lookupRows puts records in all states into the store, with different values in the fields that
// look-ups name: few ones in the first field of each, which many records share.
func lookupRows[R any](h *world.Harness[R]) {
	named, first := map[*spec.Field]bool{}, map[*spec.Field]bool{}
	for _, l := range h.M.Lookups {
		first[l.Fields[0].Field] = true
		for _, r := range l.Fields {
			named[r.Field] = true
		}
		for _, o := range l.Order {
			named[o.Field] = true
		}
	}
	random := rand.New(rand.NewPCG(1, 7))
	const each = 8 // records of a state
	for _, state := range h.M.States {
		whole, ok := h.S.Cases.Whole(state)
		for range each {
			if !ok {
				break
			}
			r := whole
			r.ID = fmt.Sprintf("record-%03d", random.IntN(1000))
			r.CreatedAt = r.CreatedAt.Add(-time.Duration(random.IntN(3)) * time.Minute)
			r.UpdatedAt = r.CreatedAt
			r = numbered(h.M, r, int64(len(h.W.Records)+1))
			for _, f := range h.M.Fields {
				list := some(h.M, f, first[f])
				v := list[random.IntN(len(list))]
				if f.Type.Optional && random.IntN(3) == 0 {
					v = interp.Absent
				}
				if next := r.With(h.M, f.Name, v); named[f] && f.Type.Kind != spec.KindSequence && len(interp.Check(h.M, next)) == 0 {
					r = next
				}
			}
			if h.Fits(r) {
				h.Seed(r)
			}
		}
	}
}

// some lists values of a field: a few, which many records share, or more of them.
func some(m *spec.Machine, f *spec.Field, few bool) (list []interp.Value) {
	switch t := f.Type; t.Kind {
	case spec.KindString:
		return []interp.Value{interp.String(t.Fitted("a")), interp.String(t.Fitted("b"))}
	case spec.KindBool:
		return []interp.Value{interp.Bool(false), interp.Bool(true)}
	case spec.KindTime:
		return []interp.Value{interp.Time(world.Noon), interp.Time(world.Noon.Add(time.Hour))}
	case spec.KindEnum:
		for _, w := range t.Values {
			list = append(list, interp.Word(w.Name))
		}
		return list
	case spec.KindInt, spec.KindCounter:
		low := int64(1)
		if t.Min != nil {
			low = max(low, *t.Min)
		}
		for n := low; n < low+24 && (t.Max == nil || n <= *t.Max) && (!few || n < low+2); n++ {
			list = append(list, interp.Int(n))
		}
	case spec.KindDuration:
		return []interp.Value{interp.Span(*t.Min), interp.Span(*t.Max)}
	case spec.KindSet:
		return []interp.Value{interp.Set("a")}
	}
	return append(list, interp.JSON(`["a"]`))
}

// asks returns the call that asks for records like one; false where it lacks a field.
func asks(m *spec.Machine, l *spec.Lookup, like interp.Record) (fsmcases.Call, bool) {
	c := fsmcases.Call{Inputs: map[string]any{}}
	for _, r := range l.Fields {
		v := like.Value(m, r.Field)
		if v.Kind == interp.KindAbsent {
			return c, false
		}
		c.Inputs[r.Field.Name] = world.Datum(r.Field.Type, v)
	}
	return c, true
}

// finds returns the ids that a look-up finds with the values of a record, in their order.
func finds(m *spec.Machine, l *spec.Lookup, like interp.Record, w interp.World) (ids []string) {
	var list []interp.Record
	for _, r := range w.Records {
		fits := l.In == nil || slices.ContainsFunc(l.In, func(in spec.StateRef) bool { return in.State == r.State })
		for _, x := range l.Fields {
			fits = fits && r.Value(m, x.Field) == like.Value(m, x.Field)
		}
		if fits {
			list = append(list, r)
		}
	}
	interp.Sort(m, list, l.Order)
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}
