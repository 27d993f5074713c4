package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// key is the group of a record by some fields; false when one is absent.
func key(m *spec.Machine, name string, fields []*spec.Field, r interp.Record, absent bool) (string, bool) {
	values := make([]interp.Value, len(fields))
	for i, f := range fields {
		if values[i] = r.Value(m, f); !values[i].IsPresent() && !absent {
			return "", false
		}
	}
	return keyOf(name, values), true
}

func keyOf(name string, values []interp.Value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q", name)
	for _, v := range values {
		fmt.Fprintf(&b, " %d %d %q", v.Kind, v.Num, v.Text)
	}
	return b.String()
}

func fieldsOf(refs []spec.FieldRef) []*spec.Field {
	var fields []*spec.Field
	for _, r := range refs {
		fields = append(fields, r.Field)
	}
	return fields
}

// others is what a decision must know of the other records. Where the fields of one
// are not known, no guard across records is judged.
func (c *checker) others(r *record, call interp.Call, after interp.Record) interp.Others {
	o := call.Op
	out := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	grouped := r.rec
	if len(o.Creates) > 0 {
		grouped = after // a group is that of the value being set
	}
	for _, req := range o.Require {
		p := req.Guard.Peers
		if p == nil {
			continue
		}
		if c.blind {
			if p.Some {
				out.Count[req.Guard.Name] = 1
			}
			continue
		}
		values, ok := interp.GroupOf(c.m, req, grouped, call)
		if !ok {
			continue
		}
		group := keyOf(req.Guard.Name, values)
		for _, s := range p.In {
			n := c.counts[group+" in "+s.State.Name]
			if slices.Contains(r.groups, group+" in "+s.State.Name) {
				n--
			}
			out.Count[req.Guard.Name] += n
		}
	}
	for _, f := range c.m.Fields {
		if f.Type.Kind != spec.KindSequence || len(o.Creates) == 0 {
			continue
		}
		out.Next[f.Name] = after.Value(c.m, f).Num // where a number may be any
		if !c.blind {
			group, _ := key(c.m, f.Name, f.Per, after, true)
			out.Next[f.Name] = c.numbers[group] + 1
		}
	}
	return out
}

// forget takes a record out of every group and place.
func (c *checker) forget(r *record) {
	for _, g := range r.groups {
		if c.counts[g]--; c.counts[g] == 0 {
			delete(c.counts, g)
		}
	}
	for _, place := range r.places {
		if c.taken[place].id == r.rec.ID {
			delete(c.taken, place)
		}
	}
	r.groups, r.places = nil, nil
}

// move takes a record from its groups and places to the new ones.
func (c *checker) move(r *record, before, after interp.Record) {
	c.forget(r)
	if !r.known || after.State == nil {
		return
	}
	for _, u := range c.uniques {
		if u.States != nil && !slices.Contains(u.States, after.State) {
			continue
		}
		place, ok := key(c.m, u.Name, u.Fields, after, false)
		if !ok {
			continue
		}
		if other, held := c.taken[place]; held && !c.found {
			c.say(RuleUnique, "the unique rule %s allows one record, and %q has the same values since line %d", u.Name, other.id, other.line)
			continue
		}
		c.taken[place] = taken{r.rec.ID, c.number}
		r.places = append(r.places, place)
	}
	for _, g := range c.m.Guards {
		if g.Peers == nil || !slices.ContainsFunc(g.Peers.In, func(s spec.StateRef) bool { return s.State == after.State }) {
			continue
		}
		if group, ok := key(c.m, g.Name, fieldsOf(g.Peers.Same), after, false); ok {
			group += " in " + after.State.Name
			c.counts[group]++
			r.groups = append(r.groups, group)
		}
	}
	if before.State == nil {
		for _, f := range c.m.Fields {
			if f.Type.Kind == spec.KindSequence {
				group, _ := key(c.m, f.Name, f.Per, after, true)
				c.numbers[group] = max(c.numbers[group], after.Value(c.m, f).Num)
			}
		}
	}
}
