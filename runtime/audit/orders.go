package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// orderly reports whether some order of the steps, in which each record keeps its
// own, leads the projection as the machine allows; also when there are too many
// orders to tell. The steps have been counted in the group already.
func (f *follower[R]) orderly(g *group, steps []taken) bool {
	o := orders{p: f.p, seen: map[string]bool{}, g: group{records: maps.Clone(g.records)}}
	o.g.undo(steps)
	at := map[string]int{} // id -> index in left
	for _, s := range steps {
		i, met := at[s.ref.ID]
		if !met {
			i = len(o.left)
			at[s.ref.ID] = i
			o.left = append(o.left, nil)
		}
		o.left[i] = append(o.left[i], s)
	}
	return o.search(len(steps))
}

// orders is the search for one.
type orders struct {
	p    *fsmimpl.Projection
	g    group
	left [][]taken // of each record
	seen map[string]bool
}

// name tells apart what is left to do; records with the same steps before them
// are alike.
func (o *orders) name() string {
	var all []string
	for _, steps := range o.left {
		var b strings.Builder
		for _, s := range steps {
			b.WriteString(s.from)
			b.WriteByte('>')
			b.WriteString(s.to)
			if !s.judged {
				b.WriteByte('!')
			}
			b.WriteByte(0)
		}
		all = append(all, b.String())
	}
	slices.Sort(all)
	return strings.Join(all, "\x01")
}

func (o *orders) search(n int) bool {
	if n == 0 || len(o.seen) >= maxOrders {
		return true
	}
	name := o.name()
	if o.seen[name] {
		return false
	}
	o.seen[name] = true
	for i, steps := range o.left {
		if len(steps) == 0 {
			continue
		}
		s := steps[0]
		before := o.p.State(o.g.records)
		o.g.apply(s)
		if !s.judged || o.p.Leads(before, o.p.State(o.g.records)) {
			o.left[i] = steps[1:]
			if o.search(n - 1) {
				return true
			}
			o.left[i] = steps
		}
		o.g.undo(steps[:1])
	}
	return false
}
