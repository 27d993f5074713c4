package etcdstore

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/internal/rows"
)

// indexed is one key by which a row is found.
type indexed struct {
	key   string
	value string // the state and the id, where they are not in the key; for a sequence the id
	group string // the key that notes changes of the group; empty where none is
}

// indexes returns the keys by which a row is found.
func (t *table) indexes(row *driver.Row) []indexed {
	list := []indexed{{key: t.keys.state(row.State).from + row.ID}}
	for i := range t.schema.Indexes {
		x := &t.schema.Indexes[i]
		if x.States != nil && !slices.Contains(x.States, row.State) {
			continue
		}
		values, whole := t.values(row, x.Columns)
		if !whole {
			continue
		}
		group := x.Name + "\x00" + joined(values)
		key := []byte(t.keys.base + partIndex + group)
		for _, o := range x.Order {
			key = appendValue(key, rows.Key(t.schema, row, o.Column, o.By), o.Descending)
		}
		e := indexed{key: string(key) + row.ID, value: row.State + "\x00" + row.ID}
		if len(x.Order) == 0 {
			e.group = t.keys.base + partGroup + group
		}
		list = append(list, e)
	}
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		if !t.counts(u) {
			continue
		}
		if values, whole := t.values(row, u.Columns); !whole { // no unique place shows its number
			list = append(list, indexed{key: t.keys.base + partIndex + u.Name + "\x00" + joined(values) + row.ID, value: "\x00" + row.ID})
		}
	}
	return list
}

// counts reports whether a unique rule is that of a sequence; its last column
// holds the number.
func (t *table) counts(u *driver.UniqueRule) bool {
	if len(u.Columns) == 0 {
		return false
	}
	i := t.schema.Column(u.Columns[len(u.Columns)-1])
	return i >= 0 && t.schema.Columns[i].Kind == driver.KindSequence && u.Name == "sequence_"+t.schema.Columns[i].Name
}

// numbers returns where the numbers stand that rows of a group hold of a
// sequence, and how each key begins; ok is false for a sequence that is no
// column's.
func (t *table) numbers(q *driver.PeerQuery) (prefix string, ok bool) {
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		if !t.counts(u) || u.Name != "sequence_"+q.Name || !slices.Equal(u.Columns[:len(u.Columns)-1], q.Columns) {
			continue
		}
		part := partUnique
		if slices.Contains(q.Values, nil) {
			part = partIndex
		}
		return t.keys.base + part + u.Name + "\x00" + joined(q.Values), true
	}
	return "", false
}

// values returns the values of columns; whole is false when one is absent.
func (t *table) values(row *driver.Row, columns []string) (values []any, whole bool) {
	values, whole = make([]any, len(columns)), true
	for i, c := range columns {
		values[i] = rows.Column(t.schema, row, c)
		whole = whole && values[i] != nil
	}
	return values, whole
}

// reindex writes what changes in the indexes when old becomes next; old is nil
// for a creation.
func (t *table) reindex(b batch, old, next *driver.Row) {
	var before []indexed
	if old != nil {
		before = t.indexes(old)
	}
	after := t.indexes(next)
	for _, e := range before {
		if !slices.Contains(after, e) {
			b.drop(e.key)
			t.regroup(b, e)
		}
	}
	for _, e := range after {
		if !slices.Contains(before, e) {
			b.put(e.key, []byte(e.value))
			t.regroup(b, e)
		}
	}
}

func (t *table) regroup(b batch, e indexed) {
	if e.group != "" {
		b.put(e.group, nil)
	}
}

// taken is a place that a row holds by a unique rule.
type taken struct{ rule, key string }

// taken returns the places that a row takes.
func (t *table) taken(row *driver.Row) []taken {
	var list []taken
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		if u.States != nil && !slices.Contains(u.States, row.State) {
			continue
		}
		if values, whole := t.values(row, u.Columns); whole {
			list = append(list, taken{u.Name, t.unique(u, values)})
		}
	}
	return list
}

func (t *table) unique(u *driver.UniqueRule, values []any) string {
	return t.keys.base + partUnique + u.Name + "\x00" + joined(values)
}

// newly returns the places that next takes and old does not hold.
func (t *table) newly(old, next *driver.Row) []taken {
	list := t.taken(next)
	if old == nil {
		return list
	}
	held := t.taken(old)
	return slices.DeleteFunc(list, func(p taken) bool { return slices.Contains(held, p) })
}

// retake writes what changes in the places. Those that are left go first: the
// same transaction may give them to another record.
func (t *table) retake(b batch, old, next *driver.Row) {
	after := t.taken(next)
	if old != nil {
		for _, p := range t.taken(old) {
			if !slices.Contains(after, p) {
				b.drop(p.key)
			}
		}
	}
	for _, p := range t.newly(old, next) {
		b.put(p.key, []byte(next.ID))
	}
}

// cutIndexed reads the value of an index's key.
func cutIndexed(value []byte) (state, id string) {
	state, id, _ = strings.Cut(string(value), "\x00")
	return state, id
}

// equals returns the values that a query demands of columns; ok is false
// unless it demands one of each.
func equals(where []driver.Cond, columns []string) (values []any, ok bool) {
	for _, name := range columns {
		i := slices.IndexFunc(where, func(c driver.Cond) bool {
			return c.Column == name && c.By == "" && c.Op == driver.OpEq && c.Value != nil
		})
		if i < 0 {
			return nil, false
		}
		values = append(values, where[i].Value)
	}
	return values, true
}

// within reports whether every row in the states of a query is in those of an
// index; nil is all.
func within(states, of []string) bool {
	if of == nil {
		return true
	}
	return states != nil && !slices.ContainsFunc(states, func(s string) bool { return !slices.Contains(of, s) })
}
