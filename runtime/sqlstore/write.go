package sqlstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A conditional write is built here, and nowhere else. What a statement needs to be told
// is a cell: a parameter where the statement is of one write, a column of the batch i
// where it is of several. The text around the cells is the same. On a server the row, its
// event and its outbox are one statement, so one round trip and the statement's own
// transaction make a write all or nothing; a file gets the row's part alone.

// extent is how much of a write a statement makes.
type extent uint8

const (
	rowOnly extent = iota // the change of one row; its event is written before
	whole                 // row, event and outbox
	behind                // the same, with the event behind those of its record: see insertBehind
)

// builder makes the text and the arguments of a statement. A text that is known from
// writes of the same shape is not made again.
type builder struct {
	strings.Builder
	t      *table
	writes []*driver.Write
	inputs []string // what their column holds of each event
	key    shape
	silent bool // the text is known
	args   []any
	arrays arrays   // of several writes
	names  []string // of the batch's columns, quoted
	types  []string
}

// cells say where a statement finds what was sent; what all its writes have in common
// stands in its text.
type cells struct {
	id, rev, from, state, created, updated string // rev is that of the row of before
	leave, compare, chain, places, sum     string
	values, old, event                     []string   // old: created_at and updated_at first
	outbox                                 [][]string // of what a write asks for, one after the other
}

// composed is a text that is kept, with the bits of the event's columns that are cells, and how
// many bytes the values of each write took in arrays when it was made.
type composed struct {
	text string
	args int
	size int
	sent uint32
}

// compose returns the statement of writes, and its arguments. The writes are all
// creations or all moves. That of one counts what it wrote, that of several gives the ids.
func (t *table) compose(how extent, writes ...*driver.Write) (string, []any) {
	b := &builder{t: t, writes: writes}
	if len(writes) > 1 { // rows and places are passed over; ids are waited for, in one order for all batches
		b.writes = slices.Clone(writes)
		slices.SortFunc(b.writes, func(a, b *driver.Write) int { return strings.Compare(a.Prev.ID, b.Prev.ID) })
	}
	b.inputs = make([]string, len(b.writes))
	for i, w := range b.writes {
		if how != rowOnly {
			b.inputs[i] = (*briefly)(&w.Event).text()
		}
	}
	b.key = b.shapeOf(how)
	if how == rowOnly {
		b.key = b.key.general()
	}
	known, silent := t.texts.Load(b.key)
	if !silent && t.kept.Load() >= maxTexts {
		b.key = b.key.general()
		known, silent = t.texts.Load(b.key)
	}
	made := composed{}
	if b.silent = silent; silent {
		made = known.(composed)
	}
	b.args = make([]any, 0, made.args)
	b.arrays.Grow(made.size * len(b.writes))
	c := b.send(&made)
	if b.key.many {
		b.args = append(b.args, int64(len(b.writes)))
	}
	if !silent {
		made.text, made.args = b.text(&c), len(b.args)
		made.size = b.arrays.Len() * 9 / 8 / len(b.writes) // numbers grow
		t.texts.Store(b.key, made)
		t.kept.Add(1)
	}
	return made.text, b.args
}

// cell sends a value of each write, or what stands at a place, and returns where the statement
// finds it.
func (b *builder) cell(prefix, name string, kind driver.Kind, value func(i int) any) string {
	if !b.key.many {
		b.args = append(b.args, b.t.bind(value(0)))
		if b.silent {
			return ""
		}
		return b.t.dialect.cast(b.t.dialect.placeholder(len(b.args)), kind)
	}
	for i := range b.writes {
		b.arrays.add(value(i))
	}
	b.args = append(b.args, b.arrays.end())
	if b.silent {
		return ""
	}
	name = quote(prefix + name)
	b.names, b.types = append(b.names, name), append(b.types, columnType(kind))
	return "i." + name
}

// noted appends where something is found, unless the text is known.
func (b *builder) noted(list []string, where string) []string {
	if b.silent {
		return nil
	}
	return append(list, where)
}

// send makes the cells, those of the row in the order in which its text has them.
func (b *builder) send(made *composed) (c cells) {
	k, ws, columns := &b.key, b.writes, b.t.schema.Columns
	c.updated = b.cell("", "updated_at", driver.KindTime, func(i int) any { return &ws[i].Row.UpdatedAt })
	if !b.silent {
		c.state = literal(k.words.to) + "::text"
	}
	if k.mixed&mixedTo != 0 && (k.extent != rowOnly || k.state) {
		c.state = b.cell("", "state", driver.KindString, func(i int) any { return &ws[i].Row.State })
	}
	for j := range columns {
		lacks, where := k.changed[j] == cleared, ""
		if k.create {
			lacks = k.lacking(j)
		}
		if lacks && !b.silent {
			where = "NULL::" + columnType(columns[j].Kind)
		} else if !lacks && (k.create || k.changed[j] != 0) {
			where = b.cell("v_", columns[j].Stored, columns[j].Kind, func(i int) any { return ws[i].Row.Values[j] })
		}
		c.values = b.noted(c.values, where)
	}
	if k.extent == rowOnly {
		c.sum = b.cell("", "sum", driver.KindInt, func(i int) any { return &ws[i].Event.Sum })
	}
	c.id = b.cell("", "id", driver.KindString, func(i int) any { return &ws[i].Prev.ID })
	if k.create {
		c.created = c.updated
		if !k.words.born {
			c.created = b.cell("", "created_at", driver.KindTime, func(i int) any { return &ws[i].Row.CreatedAt })
		}
	} else {
		c.rev = b.cell("", "rev", driver.KindInt, func(i int) any { return &ws[i].Prev.Rev })
		// No literal, by which the planner would find partial indexes.
		c.from = b.cell("", "from", driver.KindString, func(i int) any { return &ws[i].PrevState })
	}
	if k.sealed {
		c.chain = b.cell("", "chain", driver.KindInt, func(i int) any {
			if byChain(ws[i]) {
				return &ws[i].Old.Chain
			}
			return nil
		})
	}
	if k.old {
		b.sendOld(&c)
	}
	if k.extent != rowOnly {
		b.sendMore(&c, made)
	}
	return c
}

// sendOld makes the cells that the row is compared with.
func (b *builder) sendOld(c *cells) {
	k, columns := &b.key, b.t.schema.Columns
	if k.many && !k.each {
		c.compare = b.cell("", "compare", driver.KindBool, func(i int) any { return byColumns(b.writes[i]) })
	}
	old := func(name string, kind driver.Kind, value func(old *driver.Row) any) {
		if kind == driver.KindJSON || kind == driver.KindSet {
			kind = driver.KindString // compared as text
		}
		c.old = b.noted(c.old, b.cell("x_", name, kind, func(i int) any {
			if w := b.writes[i]; byColumns(w) {
				return value(w.Old)
			}
			return nil
		}))
	}
	old("created_at", driver.KindTime, func(old *driver.Row) any { return &old.CreatedAt })
	old("updated_at", driver.KindTime, func(old *driver.Row) any { return &old.UpdatedAt })
	for j := range columns {
		if k.lacking(j) {
			c.old = b.noted(c.old, "")
		} else {
			old(columns[j].Stored, columns[j].Kind, func(old *driver.Row) any { return old.Values[j] })
		}
	}
}

// sendMore makes the cells of the event and of the outbox.
func (b *builder) sendMore(c *cells, made *composed) {
	k, ws := &b.key, b.writes
	if k.places {
		c.places = b.cell("", "places", driver.KindString, func(i int) any { return arrayOf(numbersOf(b.t.placesOf(ws[i].Row))) })
	}
	for j := range eventColumns {
		where := ""
		if !b.silent {
			if where = b.said(j, c); where == "" {
				made.sent |= 1 << j
			}
		}
		if made.sent&(1<<j) != 0 {
			where = b.cell("e_", eventColumns[j].name, eventColumns[j].kind, func(i int) any { return b.event(i, j) })
		}
		c.event, c.sum = b.noted(c.event, where), where // the checksum is the last one
	}
	for n := range k.outbox {
		var delivery []string
		for _, o := range outboxColumns[3:] {
			delivery = b.noted(delivery, b.cell(fmt.Sprintf("o%d_", n), o.name, o.kind, func(i int) any {
				if list := ws[i].Outbox; n < len(list) {
					return o.value(&list[n])
				}
				return nil
			}))
		}
		c.outbox = append(c.outbox, delivery)
	}
	if k.many && k.leave {
		c.leave = b.cell("", "leave", driver.KindBool, func(i int) any { return ws[i].Leave })
	}
}

// event returns where a column of an event stands.
func (b *builder) event(i, j int) any {
	v := eventColumns[j].value(&b.writes[i].Event)
	if j == atInputs && v != nil {
		return &b.inputs[i]
	}
	return v
}

// said returns what the text says of a column of the event: what its row says, and what
// comes out of the specification; empty where it must be sent.
func (b *builder) said(j int, c *cells) (text string) {
	k := &b.key
	word := func(bit uint8, word string) { // empty where the writes differ in it
		if k.mixed&bit == 0 {
			text = literal(word) + "::text"
		}
	}
	switch name := eventColumns[j].name; {
	case k.absent&(1<<j) != 0:
		text = "NULL::" + columnType(eventColumns[j].kind)
	case name == "id":
		text = c.id
	case name == "rev":
		text = b.revision(c)
	case name == "n":
		text = "0"
	case name == "from_state" && k.create:
		text = "NULL"
	case name == "from_state":
		text = c.from
	case name == "to_state":
		text = c.state
	case name == "operation":
		word(mixedOperation, k.words.operation)
	case name == "name":
		word(mixedName, k.words.name)
	case name == "version" && k.mixed&mixedVersion == 0:
		text = strconv.Itoa(k.words.version)
	case name == "occurred_at" && k.words.at:
		text = c.updated
	case name == "reason" && k.words.silent:
		text = "''"
	case name == "request_n" && k.words.record:
		text = "-1"
	case j == atInputs && k.words.given != "":
		text = literal(k.words.given) + "::json"
	}
	return text
}

// revision is that of the row and of its event.
func (b *builder) revision(c *cells) string {
	if b.key.create {
		return "1"
	}
	return c.rev + " + 1"
}

// text returns the statement.
func (b *builder) text(c *cells) string {
	if b.key.extent == rowOnly {
		b.putMove(c)
		return b.String()
	}
	b.put("WITH ")
	switch k := &b.key; {
	case k.create:
		b.putCreation(c)
	case k.many:
		// A batch passes over records that another transaction has locked: they go alone, and
		// wait while they hold nothing.
		b.put("l AS MATERIALIZED (SELECT i.* FROM ")
		b.putBatch()
		b.put(" JOIN ", b.t.name, ` AS r ON r."id" = i."id" AND r."rev" = i."rev"`,
			strings.Replace(b.t.dialect.lock(), "UPDATE", "UPDATE OF r", 1), "), w AS (")
		b.putMove(c)
		b.put(` RETURNING i.*, r."_chain")`)
	default:
		b.put("w AS (")
		b.putMove(c)
		b.put(` RETURNING r."_chain")`)
	}
	b.putOutbox(c)
	b.putEvent(c)
	return b.String()
}

func (b *builder) put(words ...string) {
	for _, w := range words {
		b.WriteString(w)
	}
}

// putMove writes the change of rows that are at the revision and in the state that it was
// decided on: the changed columns only, and the state only when it changes, so that no index is
// touched for nothing. A column that one of several writes changes is set for all: what
// is not changed is what was there.
func (b *builder) putMove(c *cells) {
	k, t := &b.key, b.t
	b.put("UPDATE ", t.name, ` AS r SET "rev" = r."rev" + 1, "updated_at" = `, c.updated)
	if k.state {
		b.put(`, "state" = `, c.state)
	}
	for j := range t.schema.Columns {
		if k.changed[j] != 0 {
			b.put(", ", quote(t.schema.Columns[j].Stored), " = ", c.values[j])
		}
	}
	b.putComputed(c)
	b.put(`, "_chain" = `, linked(t.part("_events"), "r", c.sum))
	if k.many {
		b.put(" FROM l AS i")
	}
	b.put(` WHERE r."id" = `, c.id, ` AND r."rev" = `, c.rev, ` AND r."state" = `, c.from)
	if k.sealed {
		b.put(` AND r."_chain" = coalesce(`, c.chain, `, r."_chain")`)
	}
	if !k.old {
		return
	}
	open, end := " AND ", ""
	if c.compare != "" {
		open, end = " AND (NOT "+c.compare+" OR ", ")"
	}
	b.put(open)
	for j, old := range c.old {
		name, kind := [...]string{"created_at", "updated_at"}[min(j, 1)], driver.KindTime
		if j > 1 {
			name, kind = t.schema.Columns[j-2].Stored, t.schema.Columns[j-2].Kind
		}
		if j > 0 {
			b.put(" AND ")
		}
		if column := "r." + quote(name); old == "" { // in a form that no index is found by: the record is found by its id
			b.put("(", column, " IS NULL) IS TRUE")
		} else {
			b.put(t.dialect.operand(column, kind), " IS NOT DISTINCT FROM ", old)
		}
	}
	b.put(end)
}

// putCreation writes new rows. One whose id or place is taken is no error but no row. Of
// several, what is known to be taken is left out before, and so is what another one is about to
// take; what is taken by others at the same time fails the statement. OFFSET 0 makes the planner
// look for each record by an index, where it would join the whole table or read all rows that
// hold a place.
func (b *builder) putCreation(c *cells) {
	t := b.t
	row := strings.Join(append([]string{c.sum, c.id, c.state, "1", c.created, c.updated}, c.values...), ", ")
	columns := `"_chain", ` + t.columns
	for _, x := range t.works {
		value := c.state
		if x.column >= 0 {
			value = c.values[x.column]
		}
		columns += ", " + x.name
		row += ", " + strings.Replace(x.value, "?", value, 1)
	}
	if !b.key.many {
		b.put("w AS (INSERT INTO ", t.name, " (", columns, ") VALUES (", row, ") ON CONFLICT DO NOTHING RETURNING 1)")
		return
	}
	b.put("f AS MATERIALIZED (SELECT * FROM ")
	b.putBatch()
	b.put(" WHERE NOT EXISTS (SELECT 1 FROM ", t.name, ` AS r WHERE r."id" = i."id" OFFSET 0)`)
	if !b.key.words.record { // else the requests are their records' own
		request, n := c.event[slices.Index(eventNames, "request_id")], c.event[slices.Index(eventNames, "request_n")]
		b.put(" AND NOT EXISTS (SELECT 1 FROM ", t.part("_events"), ` AS e WHERE e."request_id" = `, request,
			` AND e."request_n" = `, n, ` AND e."request_n" >= 0 OFFSET 0)`)
	}
	for u := range t.schema.Uniques {
		b.putFree(c, &t.schema.Uniques[u])
	}
	if b.key.places {
		b.put(" AND (SELECT bool_and(pg_try_advisory_xact_lock", placeLock(t.name),
			`) FROM unnest(`, c.places, `::int[]) AS n(k)) IS NOT FALSE`)
	}
	// Only a row that is there gets its event: a trigger of the users' may suppress one.
	b.put("), r AS (INSERT INTO ", t.name, " (", columns, ") SELECT ", row, ` FROM f AS i RETURNING "id"), `,
		`w AS (SELECT i.* FROM f AS i JOIN r ON r."id" = i."id")`)
}

// putFree writes the condition that nobody has the place of a new row under a rule.
func (b *builder) putFree(c *cells, rule *driver.UniqueRule) {
	t := b.t
	lacks := func(name string) bool { return b.key.lacking(t.schema.Column(name)) }
	if rule.States != nil && len(rule.States) == 0 || slices.ContainsFunc(rule.Columns, lacks) {
		return
	}
	counted, among := "", ""
	if rule.States != nil {
		counted = c.state + strings.TrimPrefix(t.states(rule.States), `"state"`) + " AND "
		among = " AND " + t.among("r.", rule.States)
	}
	b.put(" AND NOT (", counted, "EXISTS (SELECT 1 FROM ", t.name, " AS r WHERE true", among)
	for _, name := range rule.Columns {
		j := t.schema.Column(name)
		kind := t.schema.Columns[j].Kind
		b.put(" AND ", t.dialect.operand("r."+quote(name), kind), " = ", t.dialect.operand(c.values[j], kind))
	}
	b.put(" OFFSET 0))")
}

// putBatch writes the batch as a table of its own. The planner is not to know how long
// it is: what it keeps is then one plan, made once, and since a limit that it does not
// know stands for few rows, that finds each record by an index. Else it reads the
// whole table while that is small, and goes on with it when it is not.
func (b *builder) putBatch() {
	list := make([]string, len(b.types))
	for i, as := range b.types {
		list[i] = "$" + strconv.Itoa(i+1) + "::text::" + as + "[]"
	}
	b.put("(SELECT * FROM unnest(", strings.Join(list, ", "), ") AS i(", strings.Join(b.names, ", "),
		") LIMIT $", strconv.Itoa(len(list)+1), "::bigint) AS i")
}

// putOutbox writes what goes into the outbox, and what leaves it.
func (b *builder) putOutbox(c *cells) {
	k, outbox := &b.key, b.t.part("_outbox")
	for n, delivery := range c.outbox {
		number := strconv.Itoa(n)
		b.put(", o", number, " AS (INSERT INTO ", outbox, " (", outboxList, ") SELECT ", c.id, ", ", b.revision(c), ", ", number, ", ",
			strings.Join(delivery, ", "), " FROM w AS i")
		if k.many {
			b.put(" WHERE ", delivery[0], " IS NOT NULL")
		}
		b.put(")")
	}
	if k.leave {
		b.put(", d AS (DELETE FROM ", outbox, ` AS x USING w AS i WHERE x."id" = `, c.id, ` AND x."rev" = `, c.rev, ` AND x."n" = 0`)
		if k.many {
			b.put(" AND ", c.leave)
		}
		b.put(")")
	}
}

// putEvent writes the event of each row that was written.
func (b *builder) putEvent(c *cells) {
	t := b.t
	b.put(" INSERT INTO ", t.part("_events"), " (", insertedEvent)
	if b.key.extent == behind {
		b.put(", ", quote(t.order.column))
	}
	b.put(") SELECT ", strings.Join(c.event, ", "), ", ")
	if b.key.create { // the first link
		b.put(c.sum)
	} else {
		b.put(`i."_chain"`)
	}
	if b.key.extent == behind {
		b.put(", ", strings.Replace(t.order.behind, "?", c.id, 1))
	}
	b.put(" FROM w AS i", t.dialect.verified(t))
	if b.key.many {
		b.put(` RETURNING "id"`)
	}
}

// columnType returns the server's type of a column.
func columnType(kind driver.Kind) string {
	switch kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return "bigint"
	case driver.KindBool:
		return "boolean"
	case driver.KindTime:
		return "timestamptz"
	case driver.KindJSON, driver.KindSet:
		return "json"
	}
	return "text"
}

// plain reports whether the event of a write says what its row says, as the engine makes
// them: the statement hears it once only.
func plain(w *driver.Write) bool {
	e := &w.Event
	return w.Row != nil && e.N == 0 &&
		e.ID == w.Row.ID && e.ID == w.Prev.ID && e.Rev == w.Row.Rev && e.Rev == w.Prev.Rev+1 &&
		e.To == w.Row.State && e.From == w.PrevState && asked(w)
}

// asked reports whether what a write asks for is said to be of its step, in order.
func asked(w *driver.Write) bool {
	for i := range w.Outbox {
		if d := &w.Outbox[i]; d.ID != w.Event.ID || d.Rev != w.Event.Rev || d.N != int64(i) {
			return false
		}
	}
	return true
}

// sound refuses a write that is none.
func (t *table) sound(w *driver.Write) error {
	if err := t.fits(w); err != nil {
		return err
	}
	if w.Row != nil && !plain(w) {
		return fmt.Errorf("sqlstore: %s: the event or the delivery of the write of %q says another id, revision or "+
			"state than its row; expected the same", t.schema.Machine, w.Prev.ID)
	}
	return nil
}
