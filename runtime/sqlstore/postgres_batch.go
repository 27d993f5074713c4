package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
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
	if before := (*unbegun)(nil); errors.As(err, &before) {
		for _, j := range batch {
			j.answer(t.unopened(ctx, err))
		}
		return true
	}
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
	return first.t == j.t && alike(first.w, j.w) && !first.t.waits(first.w) && !first.t.waits(j.w)
}

// waits reports whether a write is a move that takes a place of a unique rule. It goes
// alone, for it has its row while it waits for the place.
func (t *table) waits(w *driver.Write) bool {
	enters, _ := t.enters(w)
	return enters && w.Prev.Rev > 0
}

// alike reports whether two writes fit in one statement of their machine.
func alike(first, w *driver.Write) bool {
	return plain(first) && plain(w) && (first.Prev.Rev == 0) == (w.Prev.Rev == 0)
}

// plain reports whether the event of a write says what its row says, as the
// engine makes them, so that the statement needs to hear it once only.
func plain(w *driver.Write) bool {
	e := &w.Event
	return w.Row != nil && e.N == 0 && e.ID == w.Row.ID && e.ID == w.Prev.ID && e.Rev == w.Row.Rev && e.Rev == w.Prev.Rev+1 &&
		e.To == w.Row.State && e.From == w.PrevState && (w.Outbox == nil || w.Outbox.ID == e.ID && w.Outbox.Rev == e.Rev)
}

// commitMany runs the statement of a batch and returns the ids it wrote.
func (t *table) commitMany(ctx context.Context, on *session, batch []*job) (map[string]bool, error) {
	writes := make([]*driver.Write, len(batch))
	for i, j := range batch {
		writes[i] = j.w
	}
	return t.writeMany(ctx, on, writes, false)
}

// writeMany writes what can be written of the same kind and returns the ids.
func (t *table) writeMany(ctx context.Context, on querier, writes []*driver.Write, behind bool) (map[string]bool, error) {
	text, args := t.many(writes, behind)
	written := make(map[string]bool, len(writes))
	var err error
	note := func(id string) { written[id] = true }
	if s, ok := on.(*session); ok {
		_, err = t.writeAlone(ctx, s, text, args, note)
	} else {
		_, err = write(ctx, on, text, args, note)
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
}

// column adds a column and returns its quoted name.
func (g *grid) column(name, as string, rows int, cell func(a *array, i int)) {
	a := array{make([]byte, 0, 24*rows)}
	for i := range rows {
		cell(&a, i)
	}
	g.args = append(g.args, a.text())
	if !g.silent {
		g.names, g.types = append(g.names, quote(name)), append(g.types, as)
	}
}

// from writes the batch as a table of its own. The planner is not to know how long
// it is: what it keeps is then one plan, made once, and since a limit that it does not
// know stands for few rows, that finds each record by an index. Else it reads the
// whole table while that is small, and goes on with it when it is not.
func (g *grid) from() {
	g.put("(SELECT * FROM unnest(")
	for i, as := range g.types {
		g.comma(i)
		g.put("$", strconv.Itoa(i+1), "::text::", as, "[]")
	}
	g.put(`) AS i(`, strings.Join(g.names, ", "), ") LIMIT $", strconv.Itoa(len(g.types)+1), "::bigint) AS i")
}

// many returns the statement of writes of the same kind, and its arguments. Its
// rows are the ids it wrote. Behind is that of single.
func (t *table) many(writes []*driver.Write, behind bool) (string, []any) {
	n := len(writes)
	// Rows and places are passed over; ids are waited for, in one order for all batches.
	writes = slices.SortedFunc(slices.Values(writes), func(a, b *driver.Write) int { return strings.Compare(a.Prev.ID, b.Prev.ID) })
	w := func(i int) *driver.Write { return writes[i] }
	values := make([][]any, n)
	for i := range writes {
		values[i] = valuesOf(&w(i).Event)
	}
	key, general := t.shapeOfMany(writes, values)
	key.behind = behind && t.order.behind != ""
	general.behind = key.behind
	key.places = key.create && slices.ContainsFunc(writes, func(w *driver.Write) bool { return len(t.placesOf(w.Row)) > 0 })
	general.places = key.places
	known, silent := t.texts.Load(key)
	if !silent && t.kept.Load() >= maxTexts {
		key = general
		known, silent = t.texts.Load(key)
	}
	g := &grid{line: line{silent: silent}}

	g.column("id", "text", n, func(a *array, i int) { a.add(w(i).Prev.ID) })
	g.column("rev", "bigint", n, func(a *array, i int) { a.add(w(i).Row.Rev) })
	if key.mixed&mixedTo != 0 {
		g.column("state", "text", n, func(a *array, i int) { a.add(w(i).Row.State) })
	}
	g.column("updated_at", "timestamptz", n, func(a *array, i int) { a.add(w(i).Row.UpdatedAt) })
	if key.places {
		g.column("places", "text", n, func(a *array, i int) { a.add(arrayOf(numbersOf(t.placesOf(w(i).Row)))) })
	}
	for c := range eventColumns {
		if _, said := key.said(c); !said {
			g.column("e_"+eventColumns[c].name, columnType(eventColumns[c].kind), n, func(a *array, i int) { a.add(values[i][c]) })
		}
	}
	if key.outbox {
		g.column("o_effect", "text", n, func(a *array, i int) { a.add(asked(w(i), func(d *driver.Delivery) any { return d.Effect })) })
		g.column("o_key", "text", n, func(a *array, i int) { a.add(asked(w(i), func(d *driver.Delivery) any { return d.Key })) })
		g.column("o_attempts", "bigint", n, func(a *array, i int) { a.add(asked(w(i), func(d *driver.Delivery) any { return int64(d.Attempts) })) })
		g.column("o_due", "timestamptz", n, func(a *array, i int) { a.add(asked(w(i), func(d *driver.Delivery) any { return d.Due })) })
		g.column("o_error", "text", n, func(a *array, i int) { a.add(asked(w(i), func(d *driver.Delivery) any { return d.LastError })) })
	}
	if key.create {
		t.manyCreations(g, n, w, &key)
	} else {
		t.manyMoves(g, n, w, &key)
	}
	g.args = append(g.args, int64(n)) // the limit
	if key.outbox {
		g.put(", o AS (INSERT INTO ", t.part("_outbox"), " (", outboxColumns, `) SELECT "id", "rev", "o_effect", "o_key", "o_attempts", "o_due", "o_error" FROM w WHERE "o_effect" IS NOT NULL)`)
	}
	if key.leave {
		g.put(", d AS (DELETE FROM ", t.part("_outbox"), ` AS x USING w WHERE w."leave" AND x."id" = w."id" AND x."rev" = w."rev" - 1)`)
	}
	if silent {
		return known.(string), g.args
	}
	g.put(t.appending(key.behind))
	for c := range eventColumns {
		g.comma(c)
		if text, said := key.said(c); said {
			g.put(text)
		} else {
			g.put(quote("e_" + eventColumns[c].name))
		}
	}
	if key.create { // the first link
		g.put(`, w."e_sum"`)
	} else {
		g.put(", ", chained(t.part("_events"), `w."id"`, `w."rev" - 1`, "0", `w."e_sum"`))
	}
	if key.behind {
		g.put(", ", strings.Replace(t.order.behind, "?", `w."id"`, 1))
	}
	g.put(" FROM w", t.dialect.verified(t), ` RETURNING "id"`)
	text := g.String()
	t.texts.Store(key, text)
	t.kept.Add(1)
	return text, g.args
}

// What the writes of a batch differ in, so that it is sent; in the order of meet.
const (
	mixedOperation = 1 << iota
	mixedName
	mixedTo
	mixedVersion
	mixedAll = 1<<iota - 1
)

// shapeOfMany returns the shape of writes of the same kind: what all of them have in
// common stands in the text. general is that of any such writes.
func (t *table) shapeOfMany(writes []*driver.Write, values [][]any) (key, general shape) {
	first := writes[0]
	changed, cleared := make([]byte, len(t.schema.Columns)), slices.Repeat([]byte{cleared}, len(t.schema.Columns))
	lacks := slices.Repeat([]byte{1}, len(t.schema.Columns))
	key = shape{many: true, create: first.Prev.Rev == 0, each: true, absent: 1<<len(eventColumns) - 1, words: wordingOf(first)}
	for i, w := range writes {
		words := wordingOf(w)
		key.mixed |= key.words.meet(&words)
		key.state, key.old = key.state || w.Row.State != w.PrevState, key.old || w.Old != nil
		key.outbox, key.leave = key.outbox || w.Outbox != nil, key.leave || w.Leave
		key.each, key.absent = key.each && w.Old != nil, key.absent&absentIn(values[i])
		for _, c := range w.Changed {
			changed[c] = 1
		}
		row := w.Old
		if key.create {
			row = w.Row
		}
		for c := range lacks {
			if w.Row.Values[c] != nil {
				cleared[c] = 1
			}
			if row != nil && row.Values[c] != nil {
				lacks[c] = 0
			}
		}
	}
	general = shape{many: true, create: key.create, state: key.state, old: key.old, outbox: key.outbox, leave: key.leave, changed: string(changed), mixed: mixedAll}
	for c := range changed {
		changed[c] *= cleared[c]
	}
	key.changed, key.lacks = string(changed), string(lacks)
	return key, general
}

// meet keeps what is so of two writes, and returns what they differ in.
func (w *wording) meet(o *wording) (mixed uint8) {
	for bit, words := range [...][2]string{{w.operation, o.operation}, {w.name, o.name}, {w.to, o.to}} {
		if words[0] != words[1] {
			mixed |= 1 << bit
		}
	}
	if w.version != o.version {
		mixed |= mixedVersion
	}
	w.at, w.born, w.silent = w.at && o.at, w.born && o.born, w.silent && o.silent
	w.record, w.echo = w.record && o.record, w.echo && o.echo
	return mixed
}

// said returns what stands in the text of a batch for a column of its events; said is
// false where it is a column of the batch.
func (s *shape) said(c int) (text string, said bool) {
	name := eventColumns[c].name
	word := func(bit uint8, word string) (string, bool) { return literal(word) + "::text", s.mixed&bit == 0 }
	switch name {
	case "id", "rev":
		return quote(name), true
	case "n":
		return "0", true
	case "from":
		if s.create {
			return "NULL", true
		}
		return quote(name), true
	case "to":
		if s.mixed&mixedTo != 0 {
			return `"state"`, true
		}
		return word(mixedTo, s.words.to)
	case "operation":
		return word(mixedOperation, s.words.operation)
	case "name":
		return word(mixedName, s.words.name)
	case "version":
		return strconv.Itoa(s.words.version), s.mixed&mixedVersion == 0
	case "at":
		return `"updated_at"`, s.words.at
	case "reason":
		return "''", s.words.silent
	case "request_n":
		return "-1", s.words.record
	case "changes":
		if s.words.echo {
			return `"e_inputs"`, true
		}
	}
	return "NULL::" + columnType(eventColumns[c].kind), s.absent&(1<<c) != 0
}

// asked returns a part of what a write puts into the outbox, or nothing.
func asked(w *driver.Write, part func(*driver.Delivery) any) any {
	if w.Outbox == nil {
		return nil
	}
	return part(w.Outbox)
}

// manyCreations writes the part that makes rows. What is known to be taken is
// left out before, and so is what another one is about to take; what is taken by others at the same time fails the statement.
// OFFSET 0 makes the planner look for each record by an index, where it would join
// the whole table or read all rows that hold a place.
func (t *table) manyCreations(g *grid, n int, w func(int) *driver.Write, key *shape) {
	created, state := `"updated_at"`, `"state"`
	if !key.words.born {
		created = `"created_at"`
		g.column("created_at", "timestamptz", n, func(a *array, i int) { a.add(w(i).Row.CreatedAt) })
	}
	if key.mixed&mixedTo == 0 {
		state = literal(key.words.to)
	}
	list := []string{`"id"`, state, `"rev"`, created, `"updated_at"`}
	for c := range t.schema.Columns {
		col := &t.schema.Columns[c]
		if key.lacking(c) {
			list = append(list, "NULL")
			continue
		}
		g.column("v_"+col.Stored, columnType(col.Kind), n, func(a *array, i int) { a.add(w(i).Row.Values[c]) })
		list = append(list, quote("v_"+col.Stored))
	}
	if g.silent {
		return
	}
	g.put("WITH w AS MATERIALIZED (SELECT * FROM ")
	g.from()
	g.put(" WHERE NOT EXISTS (SELECT 1 FROM ", t.name, ` AS r WHERE r."id" = i."id" OFFSET 0)`)
	if !key.words.record { // else the requests are their records' own
		g.put(" AND NOT EXISTS (SELECT 1 FROM ", t.part("_events"), ` AS e WHERE e."request_id" = i."e_request_id" AND e."request_n" = i."e_request_n" AND e."request_n" >= 0 OFFSET 0)`)
	}
	for u := range t.schema.Uniques {
		rule := &t.schema.Uniques[u]
		if rule.States != nil && len(rule.States) == 0 || slices.ContainsFunc(rule.Columns, func(name string) bool { return key.lacking(t.schema.Column(name)) }) {
			continue
		}
		among := ""
		if rule.States != nil {
			among = " AND r." + t.states(rule.States)
			its := "i." + t.states(rule.States)
			if key.mixed&mixedTo == 0 {
				its = state + strings.TrimPrefix(t.states(rule.States), `"state"`)
			}
			g.put(" AND NOT (", its, " AND EXISTS (SELECT 1 FROM ", t.name, " AS r WHERE true", among)
		} else {
			g.put(" AND NOT (EXISTS (SELECT 1 FROM ", t.name, " AS r WHERE true")
		}
		for _, name := range rule.Columns {
			kind := t.schema.Columns[t.schema.Column(name)].Kind
			g.put(" AND ", t.dialect.operand("r."+quote(name), kind), " = ", t.dialect.operand("i."+quote("v_"+name), kind))
		}
		g.put(" OFFSET 0))")
	}
	if key.places {
		g.put(" AND (SELECT bool_and(pg_try_advisory_xact_lock", placeLock(t.name), `) FROM unnest(i."places"::int[]) AS n(k)) IS NOT FALSE`)
	}
	g.put("), r AS (INSERT INTO ", t.name, " (", t.columns, ") SELECT ", strings.Join(list, ", "), " FROM w)")
}

// manyMoves writes the part that changes rows. It passes over those that another
// transaction has locked: they go alone, and wait while they hold nothing. A column that one of the writes changes is set for all:
// what is not changed is what was there.
func (t *table) manyMoves(g *grid, n int, w func(int) *driver.Write, key *shape) {
	to := `i."state"`
	g.column("from", "text", n, func(a *array, i int) { a.add(w(i).PrevState) })
	if key.mixed&mixedTo == 0 {
		to = literal(key.words.to)
	}
	if key.leave {
		g.column("leave", "boolean", n, func(a *array, i int) { a.add(w(i).Leave) })
	}
	var set, same strings.Builder
	for c := range t.schema.Columns {
		switch col := &t.schema.Columns[c]; key.changed[c] {
		case 1:
			g.column("v_"+col.Stored, columnType(col.Kind), n, func(a *array, i int) { a.add(w(i).Row.Values[c]) })
			if !g.silent {
				fmt.Fprintf(&set, ", %s = i.%s", quote(col.Stored), quote("v_"+col.Stored))
			}
		case cleared:
			fmt.Fprintf(&set, ", %s = NULL", quote(col.Stored))
		}
	}
	if key.old {
		if !key.each {
			g.column("compare", "boolean", n, func(a *array, i int) { a.add(w(i).Old != nil) })
		}
		compare := func(name string, kind driver.Kind, value func(old *driver.Row) any) {
			as := columnType(kind)
			if kind == driver.KindJSON || kind == driver.KindSet {
				as = "text"
			}
			g.column("x_"+name, as, n, func(a *array, i int) {
				if old := w(i).Old; old != nil {
					a.add(value(old))
				} else {
					a.add(nil)
				}
			})
			if g.silent {
				return
			}
			fmt.Fprintf(&same, " AND %s IS NOT DISTINCT FROM i.%s", t.dialect.operand("r."+quote(name), kind), quote("x_"+name))
		}
		compare("created_at", driver.KindTime, func(old *driver.Row) any { return old.CreatedAt })
		compare("updated_at", driver.KindTime, func(old *driver.Row) any { return old.UpdatedAt })
		for c := range t.schema.Columns {
			if key.lacking(c) {
				same.WriteString(" AND " + lacked("r."+quote(t.schema.Columns[c].Stored)))
				continue
			}
			compare(t.schema.Columns[c].Stored, t.schema.Columns[c].Kind, func(old *driver.Row) any { return old.Values[c] })
		}
	}
	if g.silent {
		return
	}
	g.put("WITH l AS MATERIALIZED (SELECT i.* FROM ")
	g.from()
	g.put(" JOIN ", t.name, ` AS r ON r."id" = i."id" AND r."rev" = i."rev" - 1`, strings.Replace(t.dialect.lock(), "UPDATE", "UPDATE OF r", 1))
	g.put("), w AS (UPDATE ", t.name, ` AS r SET "rev" = i."rev", "updated_at" = i."updated_at"`)
	if key.state {
		g.put(`, "state" = `, to)
	}
	g.put(set.String(), " FROM l AS i")
	g.put(` WHERE r."id" = i."id" AND r."rev" = i."rev" - 1 AND r."state" = i."from"`)
	switch {
	case key.old && key.each:
		g.put(same.String())
	case key.old:
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
		for i := strings.IndexAny(v, `"\`); i >= 0; i = strings.IndexAny(v, `"\`) {
			a.b = append(append(a.b, v[:i]...), '\\', v[i])
			v = v[i+1:]
		}
		a.b = append(append(a.b, v...), '"')
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
