package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Several writes are one statement to a server too: a column is one parameter,
// an array over the writes.

// commitStatement commits a batch in one statement. Whoever is not among those
// it wrote tries alone: the statement passes over records that are elsewhere or
// held by another transaction, and an error of it is an error of one of them.
func (s *Store) commitStatement(on *session, batch []*job) (broken bool) {
	t, ctx := batch[0].t, context.WithoutCancel(batch[0].ctx)
	if len(batch) == 1 {
		broken, err := t.commitSingle(ctx, on, batch[0].w)
		if batch[0].answer(err); t.busy(err) {
			batch[0].fate = alone
		}
		return broken
	}
	written, err := t.commitMany(ctx, on, batch)
	if err != nil && !t.dialect.aborted(err) {
		for _, j := range batch {
			j.answer(t.lost(j.w, err))
		}
		return true
	}
	for _, j := range batch {
		if j.fate = alone; err == nil && written[j.w.Prev.ID] {
			j.answer(nil)
		}
	}
	return false
}

// togetherInStatement reports whether two writes fit in one statement.
func togetherInStatement(first, j *job) bool {
	return first.t == j.t && alike(first.w, j.w)
}

// alike reports whether two writes fit in one statement of their machine.
func alike(first, w *fsm.Write) bool {
	return plain(first) && plain(w) && (first.Prev.Rev == 0) == (w.Prev.Rev == 0)
}

// plain reports whether the event of a write says what its row says, as the
// engine makes them, so that the statement needs to hear it once only.
func plain(w *fsm.Write) bool {
	e := &w.Event
	return w.Row != nil && e.N == 0 && e.ID == w.Row.ID && e.ID == w.Prev.ID && e.Rev == w.Row.Rev && e.Rev == w.Prev.Rev+1 &&
		e.To == w.Row.State && e.From == w.PrevState && (w.Outbox == nil || w.Outbox.ID == e.ID && w.Outbox.Rev == e.Rev)
}

// commitMany runs the statement of a batch and returns the ids it wrote.
func (t *table) commitMany(ctx context.Context, on *session, batch []*job) (map[string]bool, error) {
	writes := make([]*fsm.Write, len(batch))
	for i, j := range batch {
		writes[i] = j.w
	}
	return t.writeMany(ctx, on, writes, false)
}

// writeMany writes what can be written of the same kind and returns the ids.
func (t *table) writeMany(ctx context.Context, on querier, writes []*fsm.Write, behind bool) (map[string]bool, error) {
	text, args, err := t.many(writes, behind)
	if err != nil {
		return nil, err
	}
	written := make(map[string]bool, len(writes))
	note := func(id string) { written[id] = true }
	if s, ok := on.(*session); ok {
		_, err = s.write(ctx, text, args, note)
	} else {
		_, err = writeBy(ctx, on, text, args, note)
	}
	if err != nil {
		return nil, err
	}
	return written, nil
}

// grid collects the columns of a batch.
type grid struct {
	line
	names []string // of the columns, quoted
	types []string
	cells []array
}

// column adds a column and returns its quoted name.
func (g *grid) column(name, as string, rows int, cell func(a *array, i int)) {
	var a array
	for i := range rows {
		cell(&a, i)
	}
	g.names, g.types, g.cells = append(g.names, quote(name)), append(g.types, as), append(g.cells, a)
}

// from writes the batch as a table of its own.
func (g *grid) from() {
	g.put("unnest(")
	for i := range g.cells {
		g.comma(i)
		g.args = append(g.args, g.cells[i].text())
		g.put("$", strconv.Itoa(len(g.args)), "::", g.types[i], "[]")
	}
	g.put(`) AS i(`, strings.Join(g.names, ", "), ")")
}

// many returns the statement of writes of the same kind, and its arguments. Its
// rows are the ids it wrote. Behind is that of single.
func (t *table) many(writes []*fsm.Write, behind bool) (string, []any, error) {
	n := len(writes)
	writes = slices.SortedFunc(slices.Values(writes), func(a, b *fsm.Write) int { return strings.Compare(a.Prev.ID, b.Prev.ID) })
	w := func(i int) *fsm.Write { return writes[i] }
	key := shape{many: true, create: w(0).Prev.Rev == 0, behind: behind && t.order.behind != ""}
	mask := make([]byte, len(t.schema.Columns))
	events := make([][]any, n)
	for i := range writes {
		one := t.shapeOf(w(i))
		key.state, key.old, key.outbox, key.leave = key.state || one.state, key.old || one.old, key.outbox || one.outbox, key.leave || one.leave
		for c := range one.changed {
			mask[c] |= one.changed[c]
		}
		var err error
		if events[i], err = t.eventArgs(&w(i).Event); err != nil {
			return "", nil, err
		}
	}
	key.changed = string(mask)
	known, silent := t.texts.Load(key)
	g := &grid{line: line{silent: silent}}

	g.column("id", "text", n, func(a *array, i int) { a.add(w(i).Prev.ID) })
	g.column("rev", "bigint", n, func(a *array, i int) { a.add(w(i).Row.Rev) })
	g.column("state", "text", n, func(a *array, i int) { a.add(w(i).Row.State) })
	g.column("updated_at", "timestamptz", n, func(a *array, i int) { a.add(w(i).Row.UpdatedAt) })
	for c, name := range eventColumns {
		switch name {
		case "id", "rev", "n", "from", "to": // of the row
		default:
			g.column("e_"+name, columnType(eventKinds[name]), n, func(a *array, i int) { a.add(events[i][c]) })
		}
	}
	if key.outbox {
		g.column("o_effect", "text", n, func(a *array, i int) { a.add(asked(w(i), func(d *fsm.Delivery) any { return d.Effect })) })
		g.column("o_key", "text", n, func(a *array, i int) { a.add(asked(w(i), func(d *fsm.Delivery) any { return d.Key })) })
		g.column("o_attempts", "bigint", n, func(a *array, i int) { a.add(asked(w(i), func(d *fsm.Delivery) any { return int64(d.Attempts) })) })
		g.column("o_due", "timestamptz", n, func(a *array, i int) { a.add(asked(w(i), func(d *fsm.Delivery) any { return d.Due })) })
		g.column("o_error", "text", n, func(a *array, i int) { a.add(asked(w(i), func(d *fsm.Delivery) any { return d.LastError })) })
	}
	if key.create {
		t.manyCreations(g, n, w)
	} else {
		t.manyMoves(g, n, w, &key)
	}
	if key.outbox {
		g.put(", o AS (INSERT INTO ", t.part("_outbox"), " (", outboxColumns, `) SELECT "id", "rev", "o_effect", "o_key", "o_attempts", "o_due", "o_error" FROM w WHERE "o_effect" IS NOT NULL)`)
	}
	if key.leave {
		g.put(", d AS (DELETE FROM ", t.part("_outbox"), ` AS x USING w WHERE w."leave" AND x."id" = w."id" AND x."rev" = w."rev" - 1)`)
	}
	g.put(t.appending(key.behind))
	for i, name := range eventColumns {
		g.comma(i)
		switch name {
		case "id", "rev":
			g.put(quote(name))
		case "n":
			g.put("0")
		case "from":
			if key.create {
				g.put("NULL")
			} else {
				g.put(`"from"`)
			}
		case "to":
			g.put(`"state"`)
		default:
			g.put(quote("e_" + name))
		}
	}
	g.put(", ", chained(t.part("_events"), `w."id"`, `w."rev" - 1`, "0", `w."e_sum"`))
	if key.behind {
		g.put(", ", strings.Replace(t.order.behind, "?", `w."id"`, 1))
	}
	g.put(` FROM w RETURNING "id"`)
	if silent {
		return known.(string), g.args, nil
	}
	text := g.String()
	t.texts.Store(key, text)
	return text, g.args, nil
}

// asked returns a part of what a write puts into the outbox, or nothing.
func asked(w *fsm.Write, part func(*fsm.Delivery) any) any {
	if w.Outbox == nil {
		return nil
	}
	return part(w.Outbox)
}

// manyCreations writes the part that makes rows. What is known to be taken is
// left out before; what is taken by others at the same time fails the statement.
func (t *table) manyCreations(g *grid, n int, w func(int) *fsm.Write) {
	g.column("created_at", "timestamptz", n, func(a *array, i int) { a.add(w(i).Row.CreatedAt) })
	list := []string{`"id"`, `"state"`, `"rev"`, `"created_at"`, `"updated_at"`}
	for c := range t.schema.Columns {
		col := &t.schema.Columns[c]
		g.column("v_"+col.Stored, columnType(col.Kind), n, func(a *array, i int) { a.add(w(i).Row.Values[c]) })
		list = append(list, quote("v_"+col.Stored))
	}
	g.put("WITH w AS MATERIALIZED (SELECT * FROM ")
	g.from()
	g.put(" WHERE NOT EXISTS (SELECT 1 FROM ", t.name, ` AS r WHERE r."id" = i."id")`,
		" AND NOT EXISTS (SELECT 1 FROM ", t.part("_events"), ` AS e WHERE e."request_id" = i."e_request_id" AND e."request_n" = i."e_request_n" AND e."request_n" >= 0)`)
	for u := range t.schema.Uniques {
		rule := &t.schema.Uniques[u]
		if rule.States != nil && len(rule.States) == 0 {
			continue
		}
		states := ""
		if rule.States != nil {
			states = " AND r." + t.states(rule.States)
			g.put(" AND NOT (i.", t.states(rule.States), " AND EXISTS (SELECT 1 FROM ", t.name, " AS r WHERE true", states)
		} else {
			g.put(" AND NOT (EXISTS (SELECT 1 FROM ", t.name, " AS r WHERE true")
		}
		for _, name := range rule.Columns {
			kind := t.schema.Columns[t.schema.Column(name)].Kind
			g.put(" AND ", t.dialect.operand("r."+quote(name), kind), " = ", t.dialect.operand("i."+quote("v_"+name), kind))
		}
		g.put("))")
	}
	g.put("), r AS (INSERT INTO ", t.name, " (", t.columns, ") SELECT ", strings.Join(list, ", "), " FROM w)")
}

// manyMoves writes the part that changes rows, in the order of their ids, as
// every batch does. A column that one of the writes changes is set for all:
// what is not changed is what was there.
func (t *table) manyMoves(g *grid, n int, w func(int) *fsm.Write, key *shape) {
	g.column("from", "text", n, func(a *array, i int) { a.add(w(i).PrevState) })
	if key.leave {
		g.column("leave", "boolean", n, func(a *array, i int) { a.add(w(i).Leave) })
	}
	var set, same strings.Builder
	for c := range t.schema.Columns {
		if col := &t.schema.Columns[c]; key.changed[c] == 1 {
			g.column("v_"+col.Stored, columnType(col.Kind), n, func(a *array, i int) { a.add(w(i).Row.Values[c]) })
			fmt.Fprintf(&set, ", %s = i.%s", quote(col.Stored), quote("v_"+col.Stored))
		}
	}
	if key.old {
		g.column("compare", "boolean", n, func(a *array, i int) { a.add(w(i).Old != nil) })
		compare := func(name string, kind fsm.Kind, value func(old *fsm.Row) any) {
			as := columnType(kind)
			if kind == fsm.KindJSON || kind == fsm.KindSet {
				as = "text"
			}
			g.column("x_"+name, as, n, func(a *array, i int) {
				if old := w(i).Old; old != nil {
					a.add(value(old))
				} else {
					a.add(nil)
				}
			})
			fmt.Fprintf(&same, " AND %s IS NOT DISTINCT FROM i.%s", t.dialect.operand("r."+quote(name), kind), quote("x_"+name))
		}
		compare("created_at", fsm.KindTime, func(old *fsm.Row) any { return old.CreatedAt })
		compare("updated_at", fsm.KindTime, func(old *fsm.Row) any { return old.UpdatedAt })
		for c := range t.schema.Columns {
			compare(t.schema.Columns[c].Stored, t.schema.Columns[c].Kind, func(old *fsm.Row) any { return old.Values[c] })
		}
	}
	g.put("WITH w AS (UPDATE ", t.name, ` AS r SET "rev" = i."rev", "updated_at" = i."updated_at"`)
	if key.state {
		g.put(`, "state" = i."state"`)
	}
	g.put(set.String(), " FROM ")
	g.from()
	g.put(` WHERE r."id" = i."id" AND r."rev" = i."rev" - 1 AND r."state" = i."from"`)
	if key.old {
		g.put(` AND (NOT i."compare" OR (true`, same.String(), "))")
	}
	g.put(" RETURNING i.*)")
}

// array is the text of a server's array.
type array struct{ b []byte }

// text returns the whole array.
func (a *array) text() string {
	if len(a.b) == 0 {
		return "{}"
	}
	return string(append(a.b, '}'))
}

// add appends a value as rows and events hold it.
func (a *array) add(v any) {
	if len(a.b) == 0 {
		a.b = append(a.b, '{')
	} else {
		a.b = append(a.b, ',')
	}
	switch v := v.(type) {
	case nil:
		a.b = append(a.b, "NULL"...)
	case string:
		a.b = append(a.b, '"')
		for i := range len(v) {
			if v[i] == '"' || v[i] == '\\' {
				a.b = append(a.b, '\\')
			}
			a.b = append(a.b, v[i])
		}
		a.b = append(a.b, '"')
	case int64:
		a.b = strconv.AppendInt(a.b, v, 10)
	case int:
		a.b = strconv.AppendInt(a.b, int64(v), 10)
	case bool:
		a.b = strconv.AppendBool(a.b, v)
	case time.Time:
		a.b = v.UTC().AppendFormat(append(a.b, '"'), "2006-01-02T15:04:05.999999Z\"")
	default:
		a.b = fmt.Appendf(a.b, "%v", v)
	}
}
