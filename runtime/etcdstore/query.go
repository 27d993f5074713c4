package etcdstore

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// visit takes one row of a query; false ends it.
type visit func(row *driver.Row) (more bool, err error)

// find calls f for the rows that fit, in the order of the query, until f says
// that it is enough. Limit is f's.
func (r *reader) find(q *driver.Query, f visit) error {
	if err := rows.Known(r.t.schema, q); err != nil {
		return err
	}
	p, err := r.plan(q)
	if err != nil {
		return err
	}
	if p.sorted || len(q.Order) == 0 {
		return r.each(q, p, f)
	}
	q2 := *q
	q2.Order, q2.After = nil, ""
	var list []driver.Row
	err = r.each(&q2, p, func(row *driver.Row) (bool, error) {
		if rows.Behind(r.t.schema, row, q) {
			list = append(list, *row)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b driver.Row) int { return strings.Compare(a.ID, b.ID) })
	rows.Sort(r.t.schema, list, q.Order)
	for i := range list {
		if more, err := f(&list[i]); err != nil || !more {
			return err
		}
	}
	return nil
}

// plan says where a query looks.
type plan struct {
	ids    []string // of the rows that may fit, in the order of the query when sorted
	span   span     // or: an index over them, whose values hold the ids
	sorted bool     // the order is that of the query
	states []string // or: the rows of these states, by id
	all    bool     // or: every row, by id
}

// plan chooses the narrowest way: a unique place, an index in the order of the
// query, an index, the states, everything. In a transaction it makes the commit
// depend on what a row that comes or goes would change.
func (r *reader) plan(q *driver.Query) (plan, error) {
	if q.IDs != nil {
		return plan{ids: slices.Compact(slices.Sorted(slices.Values(q.IDs)))}, nil
	}
	if p, ok, err := r.planUnique(q); ok || err != nil {
		return p, err
	}
	best, bound := -1, 0
	var chosen plan
	for i := range r.t.schema.Indexes {
		x := &r.t.schema.Indexes[i]
		values, ok := equals(q.Where, x.Columns)
		if !ok || !within(q.States, x.States) {
			continue
		}
		p, n := r.planIndex(q, x, values)
		if n > bound {
			best, bound, chosen = i, n, p
		}
	}
	switch {
	case best >= 0:
	case q.States != nil:
		chosen = plan{states: q.States}
	default:
		chosen = plan{all: true}
	}
	if q.Lock || r.reads == nil {
		return chosen, nil
	}
	if best >= 0 && len(r.t.schema.Indexes[best].Order) == 0 {
		values, _ := equals(q.Where, r.t.schema.Indexes[best].Columns)
		key := r.t.keys.base + partGroup + r.t.schema.Indexes[best].Name + "\x00" + joined(values)
		if err := r.load(key); err != nil {
			return chosen, err
		}
		r.track(key)
		return chosen, nil
	}
	return chosen, r.trackAll()
}

// planUnique finds the one row that can fit, where a unique rule says so.
func (r *reader) planUnique(q *driver.Query) (plan, bool, error) {
	for i := range r.t.schema.Uniques {
		u := &r.t.schema.Uniques[i]
		values, ok := equals(q.Where, u.Columns)
		if !ok || len(u.Columns) == 0 || !within(q.States, u.States) {
			continue
		}
		key := r.t.unique(u, values)
		id, found, err := r.get(key)
		if err != nil {
			return plan{}, false, err
		}
		if !q.Lock {
			if err := r.load(key); err != nil {
				return plan{}, false, err
			}
			r.track(key)
		}
		if !found {
			return plan{sorted: true}, true, nil
		}
		return plan{ids: []string{string(id)}, sorted: true}, true, nil
	}
	return plan{}, false, nil
}

// planIndex says how narrow an index is for a query; 0 when it is of no use.
func (r *reader) planIndex(q *driver.Query, x *driver.Index, values []any) (plan, int) {
	prefix := r.t.keys.base + partIndex + x.Name + "\x00" + joined(values)
	p := plan{span: below(prefix)}
	n := 4 * len(x.Columns)
	if slices.Equal(q.Order, x.Order) { // a longer one would break ties otherwise than by id
		p.sorted = true
		n += min(2, len(q.Order)*2)
		if q.After != "" {
			at := []byte(prefix)
			for i, o := range q.Order {
				at = appendValue(at, q.Behind[i], o.Descending)
			}
			p.span.from = next(string(at) + q.After)
		}
	}
	if len(x.Order) > 0 && !x.Order[0].Descending {
		for _, c := range q.Where {
			if c.Column != x.Order[0].Column || c.By != x.Order[0].By || c.Value == nil {
				continue
			}
			bound := string(appendValue([]byte(prefix), c.Value, false))
			switch c.Op {
			case driver.OpLt, driver.OpLe:
				p.span.to = min(p.span.to, after(bound))
				n += 3
			case driver.OpGt, driver.OpGe:
				p.span.from = max(p.span.from, bound)
				n++
			}
		}
	}
	return p, n
}

// each calls f for the rows of a plan that fit.
func (r *reader) each(q *driver.Query, p plan, f visit) error {
	switch {
	case p.all:
		from := r.t.keys.row(q.After)
		sp := below(r.t.keys.row(""))
		if q.After != "" {
			sp.from = next(from)
		}
		return r.walk(sp, false, func(e entry) (bool, error) {
			return r.offer(q, strings.TrimPrefix(e.key, r.t.keys.row("")), e.value, f)
		})
	case p.states != nil:
		return r.byState(q, p.states, f)
	case p.span == span{}:
		return r.byID(q, p.ids, f)
	}
	var ids []string
	pending := func() error { return nil }
	more := true
	if p.sorted {
		pending = func() (err error) {
			more, err = r.some(q, ids, f)
			ids = ids[:0]
			return err
		}
	}
	size := 16
	err := r.walk(p.span, false, func(e entry) (bool, error) {
		state, id := cutIndexed(e.value)
		if q.States == nil || slices.Contains(q.States, state) {
			ids = append(ids, id)
		}
		if p.sorted && len(ids) >= size {
			size = min(2*size, pageSize)
			if err := pending(); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil || !more {
		return err
	}
	if p.sorted {
		return pending()
	}
	slices.Sort(ids)
	return r.byID(q, ids, f)
}

// byID offers rows by their ids, which are sorted, some at a time.
func (r *reader) byID(q *driver.Query, ids []string, f visit) error {
	if q.After != "" && len(q.Order) == 0 {
		i, found := slices.BinarySearch(ids, q.After)
		if found {
			i++
		}
		ids = ids[i:]
	}
	for size := 16; len(ids) > 0; size = min(2*size, pageSize) {
		n := min(size, len(ids))
		if more, err := r.some(q, ids[:n], f); err != nil || !more {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// some reads rows and offers those that fit.
func (r *reader) some(q *driver.Query, ids []string, f visit) (more bool, err error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = r.t.keys.row(id)
	}
	if err := r.load(names...); err != nil {
		return false, err
	}
	for i, id := range ids {
		value, found, err := r.get(names[i])
		if err != nil {
			return false, err
		}
		if !q.Lock {
			r.track(names[i])
		}
		if !found {
			continue
		}
		if more, err := r.offer(q, id, value, f); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// offer gives a row to f if it fits.
func (r *reader) offer(q *driver.Query, id string, value []byte, f visit) (more bool, err error) {
	row := r.t.rowAsItIs(id, value)
	if !rows.Fit(r.t.schema, &row, q) || !rows.Behind(r.t.schema, &row, q) {
		return true, nil
	}
	return f(&row)
}

// byState offers the rows of states by id: the ids of all states are read side
// by side.
func (r *reader) byState(q *driver.Query, states []string, f visit) error {
	type cursor struct {
		ids  []string
		rest span
		cut  int
	}
	var list []*cursor
	for _, state := range slices.Compact(slices.Sorted(slices.Values(states))) {
		sp := r.t.keys.state(state)
		c := &cursor{rest: sp, cut: len(sp.from)}
		if q.After != "" {
			c.rest.from = next(sp.from + q.After)
		}
		list = append(list, c)
	}
	for size := 32; ; size = min(2*size, pageSize) {
		var batch []string
		for len(batch) < size {
			var least *cursor
			for _, c := range list {
				for len(c.ids) == 0 && c.rest != (span{}) {
					page, rest, err := r.page(c.rest, size, true)
					if err != nil {
						return err
					}
					for _, e := range page {
						c.ids = append(c.ids, e.key[c.cut:])
					}
					c.rest = rest
				}
				if len(c.ids) > 0 && (least == nil || c.ids[0] < least.ids[0]) {
					least = c
				}
			}
			if least == nil {
				break
			}
			batch = append(batch, least.ids[0])
			least.ids = least.ids[1:]
		}
		more, err := r.some(q, batch, f)
		if err != nil || !more || len(batch) < size {
			return err
		}
	}
}
