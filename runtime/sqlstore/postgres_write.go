package sqlstore

import (
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// One write is one statement to a server: the row, and from what it returns the
// event, the outbox and what is left of it. So a caller who holds the record
// needs one round trip, and the server's own transaction around a statement
// makes it all or nothing.

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

// line builds a statement and its arguments in one walk. With silent set only
// the arguments are kept: the text is known from an earlier write of its shape.
type line struct {
	strings.Builder
	silent bool
	args   []any
	row    shared
}

// shared says which parameters hold what a row and its event have in common. Rev
// is that of the new row for a creation, of the old one for a move.
type shared struct{ id, rev, at, inputs int }

func (l *line) put(words ...string) {
	if l.silent {
		return
	}
	for _, w := range words {
		l.WriteString(w)
	}
}

// val adds a parameter of a type.
func (l *line) val(v any, kind driver.Kind) {
	l.args = append(l.args, v)
	if !l.silent {
		l.WriteString("$" + strconv.Itoa(len(l.args)) + "::" + columnType(kind))
	}
}

// again puts a parameter that is there.
func (l *line) again(place int, kind driver.Kind) {
	if !l.silent {
		l.WriteString("$" + strconv.Itoa(place) + "::" + columnType(kind))
	}
}

// ofEvent puts a column of an event. What is absent is not sent; where the event
// says what its row says, that is not sent twice, and what comes out of the
// specification stands in the text: each parameter costs the client and the server.
func (l *line) ofEvent(i int, v any, s *shape) {
	column, kind := eventColumns[i].name, eventColumns[i].kind
	if s.absent&(1<<i) != 0 {
		l.put("NULL::", columnType(kind))
		return
	}
	if !s.plain || !l.known(column, s) {
		l.val(v, kind)
	}
}

// known puts a column of an event that its row or the text says, or nothing.
func (l *line) known(column string, s *shape) bool {
	place, kind := 0, driver.KindInt
	switch column {
	case "id":
		place, kind = l.row.id, driver.KindString
	case "rev":
		l.again(l.row.rev, kind)
		if !s.create {
			l.put(" + 1")
		}
		return true
	case "n":
		l.number(0)
		return true
	case "operation":
		l.literal(s.words.operation)
		return true
	case "name":
		l.literal(s.words.name)
		return true
	case "from":
		l.literal(s.words.from)
		return true
	case "to":
		l.literal(s.words.to)
		return true
	case "version":
		l.number(int64(s.words.version))
		return true
	case "at":
		place, kind = l.row.at, driver.KindTime
	case "reason":
		if s.words.silent {
			l.literal("")
		}
		return s.words.silent
	case "request_n":
		if s.words.record {
			l.number(-1)
		}
		return s.words.record
	case "inputs":
		l.row.inputs = len(l.args) + 1 // where they are about to be put
	case "changes":
		if s.words.echo {
			place, kind = l.row.inputs, driver.KindJSON
		}
	}
	if place == 0 {
		return false
	}
	l.again(place, kind)
	return true
}

// literal puts a text, which the server knows as one.
func (l *line) literal(text string) {
	if !l.silent {
		l.WriteString(literal(text) + "::text")
	}
}

// number puts a number.
func (l *line) number(n int64) {
	if !l.silent {
		l.WriteString(strconv.FormatInt(n, 10) + "::bigint")
	}
}

// same compares a column with a value, absent ones being equal. Where the text is
// about a row that lacks it, nothing needs to be sent or computed.
func (l *line) same(d Dialect, column string, kind driver.Kind, v any, lacks bool) {
	if lacks {
		if !l.silent {
			l.put(" AND ", lacked(quote(column)))
		}
		return
	}
	as := kind
	if kind == driver.KindJSON || kind == driver.KindSet {
		as = driver.KindString // compared as text
	}
	if !l.silent {
		l.put(" AND ", d.operand(quote(column), kind), " IS NOT DISTINCT FROM ")
	}
	l.val(v, as)
}

// lacked is the condition that a column is absent, in a form that no index is found
// by: the record is found by its id, whatever the planner knows of the table.
func lacked(column string) string { return "(" + column + " IS NULL) IS TRUE" }

// shape is what the text of a write depends on.
type shape struct {
	create, state, old, outbox, leave, many, behind, plain bool
	places                                                 bool  // some of many creations take places of unique rules
	each                                                   bool  // all of many are compared
	mixed                                                  uint8 // what the writes of a batch differ in

	changed string // a byte per column of the row: 1 where it changes
	absent  uint32 // a bit per column of the event
	lacks   string // a byte per column: 1 where the row that is compared, or the new one, lacks it; empty: not looked at
	words   wording
}

// wording is what stands in a text instead of parameters: what comes out of the
// specification, and what is nearly always the same.
type wording struct {
	operation, name string
	from, to        string
	version         int
	at              bool // the event is of the row's updated_at
	born            bool // a creation's created_at is its updated_at
	silent          bool // no reason
	record          bool // the request belongs to the record
	echo            bool // the changes are the inputs
}

// cleared is the byte in shape.changed of a column that becomes absent.
const cleared = 2

// maxTexts bounds the texts that are about one operation between two states and
// about what a row lacks. Beyond it they are those that fit any.
const maxTexts = 256

// wordingOf returns what the text of a write can say.
func wordingOf(w *driver.Write) wording {
	e := &w.Event
	return wording{
		operation: e.Operation, name: e.Name, from: e.From, to: e.To, version: e.Version,
		at: e.At.Equal(w.Row.UpdatedAt), born: w.Prev.Rev == 0 && w.Row.CreatedAt.Equal(w.Row.UpdatedAt),
		silent: e.Reason == "", record: e.RequestN == -1, echo: !e.Inputs.IsZero() && e.Inputs == e.Changes,
	}
}

// wordsOf makes a text's shape that of one operation.
func (t *table) wordsOf(w *driver.Write, s *shape) {
	s.plain, s.words = true, wordingOf(w)
	row := w.Old
	if s.create {
		row = w.Row
	} else {
		changed := []byte(s.changed)
		for _, i := range w.Changed {
			if w.Row.Values[i] == nil {
				changed[i] = cleared
			}
		}
		s.changed = string(changed)
	}
	if row == nil {
		return
	}
	lacks := make([]byte, len(row.Values))
	for i, v := range row.Values {
		if v == nil {
			lacks[i] = 1
		}
	}
	s.lacks = string(lacks)
}

// lacking reports whether the text is about rows without a column.
func (s *shape) lacking(i int) bool { return s.lacks != "" && s.lacks[i] == 1 }

func (t *table) shapeOf(w *driver.Write) shape {
	s := shape{create: w.Prev.Rev == 0, outbox: w.Outbox != nil, leave: w.Leave, old: w.Old != nil}
	if !s.create {
		s.state = w.Row.State != w.PrevState
		mask := make([]byte, len(t.schema.Columns))
		for _, i := range w.Changed {
			mask[i] = 1
		}
		s.changed = string(mask)
	}
	return s
}

// written is the text of a single write, with the number of its parameters.
type written struct {
	text string
	args int
}

// single returns the statement of one write, and its arguments. Its command tag
// counts the events it wrote: one, or none when the record is elsewhere or the
// id or a place is taken. Behind puts the event behind the last one of its
// record: see insertBehind.
func (t *table) single(w *driver.Write, behind bool) (string, []any) {
	e := &w.Event
	values := valuesOf(e)
	key := t.shapeOf(w)
	key.behind, key.absent = behind && t.order.behind != "", absentIn(values)
	general := key
	if plain(w) {
		t.wordsOf(w, &key)
	}
	known, silent := t.texts.Load(key)
	if !silent && key.plain && t.kept.Load() >= maxTexts {
		key = general
		known, silent = t.texts.Load(key)
	}
	l, text := &line{silent: silent}, written{}
	if silent {
		text = known.(written)
	}
	l.args = make([]any, 0, text.args)
	l.put("WITH w AS (")
	if key.create {
		t.putInsert(l, w.Row, &key)
	} else {
		t.putMove(l, w, &key)
	}
	l.put(" RETURNING 1)")
	if d := w.Outbox; d != nil {
		l.put(", o AS (INSERT INTO ", t.part("_outbox"), " (", outboxColumns, ") SELECT ")
		for i, v := range []any{d.ID, d.Rev, d.Effect, d.Key, int64(d.Attempts), d.Due, d.LastError} {
			l.comma(i)
			if i > 1 || !key.plain || !l.known(eventColumns[i].name, &key) {
				l.val(v, outboxKinds[i])
			}
		}
		l.put(" FROM w)")
	}
	if w.Leave {
		l.put(", d AS (DELETE FROM ", t.part("_outbox"), ` WHERE "id" = `)
		l.again(l.row.id, driver.KindString)
		l.put(` AND "rev" = `)
		l.again(l.row.rev, driver.KindInt)
		l.put(" AND EXISTS (SELECT 1 FROM w))")
	}
	if !silent {
		l.put(t.appending(key.behind))
	}
	for i := range eventColumns {
		l.comma(i)
		l.ofEvent(i, values[i], &key)
	}
	l.put(", ")
	sum := len(l.args) // the event's last column
	place := func(i int, as string) string { return "$" + strconv.Itoa(i) + "::" + as }
	if rev, n := chainedTo(e); !key.plain {
		l.args = append(l.args, e.ID, rev, n)
		if !silent {
			l.put(chained(t.part("_events"), place(sum+1, "text"), place(sum+2, "bigint"), place(sum+3, "bigint"), place(sum, "bigint")))
		}
	} else if key.create { // the first link
		l.again(sum, driver.KindInt)
	} else if !silent {
		l.put(chained(t.part("_events"), place(l.row.id, "text"), place(l.row.rev, "bigint"), "0", place(sum, "bigint")))
	}
	if key.behind {
		before, after, _ := strings.Cut(t.order.behind, "?")
		l.put(", ", before)
		l.again(l.row.id, driver.KindString)
		l.put(after)
	}
	if !silent {
		l.put(" FROM w", t.dialect.verified(t))
		text = written{l.String(), len(l.args)}
		t.texts.Store(key, text)
		t.kept.Add(1)
	}
	return text.text, l.args
}

const outboxColumns = `"id", "rev", "effect", "key", "attempts", "due", "last_error"`

var outboxKinds = []driver.Kind{driver.KindString, driver.KindInt, driver.KindString, driver.KindString, driver.KindInt, driver.KindTime, driver.KindString}

func (l *line) comma(i int) {
	if i > 0 {
		l.put(", ")
	}
}

// appending begins the statement that appends events.
func (t *table) appending(behind bool) string {
	columns := insertedEvent
	if behind {
		columns += ", " + quote(t.order.column)
	}
	return " INSERT INTO " + t.part("_events") + " (" + columns + ") SELECT "
}

// part returns the quoted name of one of the machine's tables.
func (t *table) part(suffix string) string { return t.dialect.qualified(t.schema.Table + suffix) }

// putInsert writes the creation of a row. One whose id or place is taken is no
// error but no row.
func (t *table) putInsert(l *line, row *driver.Row, s *shape) {
	l.put("INSERT INTO ", t.name, " (", t.columns, ") VALUES (")
	l.val(row.ID, driver.KindString)
	l.row.id = len(l.args)
	l.put(", ")
	if s.plain {
		l.literal(s.words.to)
	} else {
		l.val(row.State, driver.KindString)
	}
	l.put(", ")
	l.val(row.Rev, driver.KindInt)
	l.row.rev = len(l.args)
	l.put(", ")
	l.val(row.CreatedAt, driver.KindTime)
	l.put(", ")
	if s.words.born {
		l.again(len(l.args), driver.KindTime)
	} else {
		l.val(row.UpdatedAt, driver.KindTime)
	}
	if s.words.at {
		l.row.at = len(l.args)
	}
	for i, v := range row.Values {
		l.put(", ")
		l.column(v, t.schema.Columns[i].Kind, s.lacking(i))
	}
	l.put(") ON CONFLICT DO NOTHING")
}

// column puts the new value of a column.
func (l *line) column(v any, kind driver.Kind, lacks bool) {
	if lacks {
		l.put("NULL::", columnType(kind))
		return
	}
	l.val(v, kind)
}

// putMove writes the change of a row that is at the revision and in the state
// that it was decided on: the changed columns only.
func (t *table) putMove(l *line, w *driver.Write, s *shape) {
	l.put("UPDATE ", t.name, ` SET "rev" = `)
	if s.plain {
		l.put(`"rev" + 1`)
	} else {
		l.val(w.Row.Rev, driver.KindInt)
	}
	l.put(`, "updated_at" = `)
	l.val(w.Row.UpdatedAt, driver.KindTime)
	if s.words.at {
		l.row.at = len(l.args)
	}
	if w.Row.State != w.PrevState {
		l.put(`, "state" = `)
		if s.plain {
			l.literal(s.words.to)
		} else {
			l.val(w.Row.State, driver.KindString)
		}
	}
	for _, i := range w.Changed {
		c := &t.schema.Columns[i]
		if !l.silent {
			l.put(", ", quote(c.Stored), " = ")
		}
		l.column(w.Row.Values[i], c.Kind, s.changed[i] == cleared)
	}
	l.put(` WHERE "id" = `)
	l.val(w.Prev.ID, driver.KindString)
	l.row.id = len(l.args)
	l.put(` AND "rev" = `)
	l.val(w.Prev.Rev, driver.KindInt)
	l.row.rev = len(l.args)
	l.put(` AND "state" = `) // no literal, by which the planner would find partial indexes
	l.val(w.PrevState, driver.KindString)
	if w.Old != nil {
		l.same(t.dialect, "created_at", driver.KindTime, w.Old.CreatedAt, false)
		l.same(t.dialect, "updated_at", driver.KindTime, w.Old.UpdatedAt, false)
		for i, v := range w.Old.Values {
			l.same(t.dialect, t.schema.Columns[i].Stored, t.schema.Columns[i].Kind, v, s.lacking(i))
		}
	}
}
