package sqlstore

import (
	"strconv"
	"strings"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// One write is one statement to a server: the row, and from what it returns the
// event, the outbox and what is left of it. So a caller who holds the record
// needs one round trip, and the server's own transaction around a statement
// makes it all or nothing.

// eventKinds are the types of eventColumns.
var eventKinds = map[string]fsm.Kind{
	"rev": fsm.KindInt, "n": fsm.KindInt, "at": fsm.KindTime, "request_n": fsm.KindInt, "labels": fsm.KindJSON,
	"inputs": fsm.KindJSON, "changes": fsm.KindJSON, "image": fsm.KindJSON, "version": fsm.KindInt, "sum": fsm.KindInt,
}

// columnType returns the server's type of a column.
func columnType(kind fsm.Kind) string {
	switch kind {
	case fsm.KindInt, fsm.KindCounter, fsm.KindSequence:
		return "bigint"
	case fsm.KindBool:
		return "boolean"
	case fsm.KindTime:
		return "timestamptz"
	case fsm.KindJSON, fsm.KindSet:
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

// shared says which parameters hold what a row and its event have in common.
type shared struct{ id, rev, from, to int }

func (l *line) put(words ...string) {
	if l.silent {
		return
	}
	for _, w := range words {
		l.WriteString(w)
	}
}

// val adds a parameter of a type.
func (l *line) val(v any, kind fsm.Kind) {
	l.args = append(l.args, v)
	if !l.silent {
		l.WriteString("$" + strconv.Itoa(len(l.args)) + "::" + columnType(kind))
	}
}

// again puts a parameter that is there.
func (l *line) again(place int, kind fsm.Kind) {
	if !l.silent {
		l.WriteString("$" + strconv.Itoa(place) + "::" + columnType(kind))
	}
}

// ofEvent puts a column of an event. What its row says too is not sent twice, and
// what is absent is not sent: each parameter costs the client and the server.
func (l *line) ofEvent(column string, v any, s *shape) {
	kind, place := eventKinds[column], 0
	if s.plain {
		switch column {
		case "id":
			place = l.row.id
		case "rev":
			place = l.row.rev
		case "from":
			place = l.row.from
		case "to":
			place = l.row.to
		}
	}
	switch {
	case v == nil:
		l.put("NULL::", columnType(kind))
	case place > 0:
		l.again(place, kind)
	case s.plain && column == "n":
		l.put("0::bigint")
	default:
		l.val(v, kind)
	}
}

// same compares a column with a value, absent ones being equal.
func (l *line) same(d Dialect, column string, kind fsm.Kind, v any) {
	as := kind
	if kind == fsm.KindJSON || kind == fsm.KindSet {
		as = fsm.KindString // compared as text
	}
	if !l.silent {
		l.put(" AND ", d.operand(quote(column), kind), " IS NOT DISTINCT FROM ")
	}
	l.val(v, as)
}

// shape is what the text of a write depends on.
type shape struct {
	create, state, old, outbox, leave, many, behind, plain bool

	changed string // a byte per column of the row
	absent  uint32 // a bit per column of the event
}

func (t *table) shapeOf(w *fsm.Write) shape {
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

// single returns the statement of one write, and its arguments. Its command tag
// counts the events it wrote: one, or none when the record is elsewhere or the
// id or a place is taken. Behind puts the event behind the last one of its
// record: see insertBehind.
func (t *table) single(w *fsm.Write, behind bool) (string, []any, error) {
	events, err := t.eventArgs(&w.Event)
	if err != nil {
		return "", nil, err
	}
	key := t.shapeOf(w)
	key.behind, key.plain = behind && t.order.behind != "", plain(w)
	for i, v := range events {
		if v == nil {
			key.absent |= 1 << i
		}
	}
	known, silent := t.texts.Load(key)
	l := &line{silent: silent, args: make([]any, 0, 2*len(t.schema.Columns)+len(events)+16)}
	l.put("WITH w AS (")
	if key.create {
		t.putInsert(l, w.Row)
	} else {
		t.putMove(l, w)
	}
	l.put(" RETURNING 1)")
	if d := w.Outbox; d != nil {
		l.put(", o AS (INSERT INTO ", t.part("_outbox"), " (", outboxColumns, ") SELECT ")
		for i, v := range []any{d.ID, d.Rev, d.Effect, d.Key, int64(d.Attempts), d.Due, d.LastError} {
			l.comma(i)
			l.val(v, outboxKinds[i])
		}
		l.put(" FROM w)")
	}
	if w.Leave {
		l.put(", d AS (DELETE FROM ", t.part("_outbox"), ` WHERE "id" = `)
		l.val(w.Prev.ID, fsm.KindString)
		l.put(` AND "rev" = `)
		l.val(w.Prev.Rev, fsm.KindInt)
		l.put(" AND EXISTS (SELECT 1 FROM w))")
	}
	if !silent {
		l.put(t.appending(key.behind))
	}
	for i, v := range events {
		l.comma(i)
		l.ofEvent(eventColumns[i], v, &key)
	}
	l.put(", ")
	sum := len(l.args) // the event's last column
	place := func(i int, as string) string { return "$" + strconv.Itoa(i) + "::" + as }
	if rev, n := chainedTo(&w.Event); !key.plain {
		l.args = append(l.args, w.Event.ID, rev, n)
		if !silent {
			l.put(chained(t.part("_events"), place(sum+1, "text"), place(sum+2, "bigint"), place(sum+3, "bigint"), place(sum, "bigint")))
		}
	} else if !silent {
		l.put(chained(t.part("_events"), place(l.row.id, "text"), place(l.row.rev, "bigint")+" - 1", "0", place(sum, "bigint")))
	}
	if key.behind {
		before, after, _ := strings.Cut(t.order.behind, "?")
		l.put(", ", before)
		l.val(w.Prev.ID, fsm.KindString)
		l.put(after)
	}
	l.put(" FROM w")
	if silent {
		return known.(string), l.args, nil
	}
	text := l.String()
	t.texts.Store(key, text)
	return text, l.args, nil
}

const outboxColumns = `"id", "rev", "effect", "key", "attempts", "due", "last_error"`

var outboxKinds = []fsm.Kind{fsm.KindString, fsm.KindInt, fsm.KindString, fsm.KindString, fsm.KindInt, fsm.KindTime, fsm.KindString}

func (l *line) comma(i int) {
	if i > 0 {
		l.put(", ")
	}
}

// appending begins the statement that appends events.
func (t *table) appending(behind bool) string {
	columns := quoted(eventColumns) + `, "chain"`
	if behind {
		columns += ", " + quote(t.order.column)
	}
	return " INSERT INTO " + t.part("_events") + " (" + columns + ") SELECT "
}

// part returns the quoted name of one of the machine's tables.
func (t *table) part(suffix string) string { return quote(t.schema.Table + suffix) }

// putInsert writes the creation of a row. One whose id or place is taken is no
// error but no row.
func (t *table) putInsert(l *line, row *fsm.Row) {
	l.row = shared{id: 1, to: 2, rev: 3}
	l.put("INSERT INTO ", t.name, " (", t.columns, ") VALUES (")
	l.val(row.ID, fsm.KindString)
	l.put(", ")
	l.val(row.State, fsm.KindString)
	l.put(", ")
	l.val(row.Rev, fsm.KindInt)
	l.put(", ")
	l.val(row.CreatedAt, fsm.KindTime)
	l.put(", ")
	l.val(row.UpdatedAt, fsm.KindTime)
	for i, v := range row.Values {
		l.put(", ")
		l.val(v, t.schema.Columns[i].Kind)
	}
	l.put(") ON CONFLICT DO NOTHING")
}

// putMove writes the change of a row that is at the revision and in the state
// that it was decided on: the changed columns only.
func (t *table) putMove(l *line, w *fsm.Write) {
	l.put("UPDATE ", t.name, ` SET "rev" = `)
	l.val(w.Row.Rev, fsm.KindInt)
	l.row.rev = 1
	l.put(`, "updated_at" = `)
	l.val(w.Row.UpdatedAt, fsm.KindTime)
	if w.Row.State != w.PrevState {
		l.put(`, "state" = `)
		l.val(w.Row.State, fsm.KindString)
		l.row.to = len(l.args)
	}
	for _, i := range w.Changed {
		c := &t.schema.Columns[i]
		if !l.silent {
			l.put(", ", quote(c.Stored), " = ")
		}
		l.val(w.Row.Values[i], c.Kind)
	}
	l.put(` WHERE "id" = `)
	l.val(w.Prev.ID, fsm.KindString)
	l.row.id = len(l.args)
	l.put(` AND "rev" = `)
	l.val(w.Prev.Rev, fsm.KindInt)
	l.put(` AND "state" = `)
	l.val(w.PrevState, fsm.KindString)
	if l.row.from = len(l.args); l.row.to == 0 {
		l.row.to = l.row.from
	}
	if w.Old != nil {
		l.same(t.dialect, "created_at", fsm.KindTime, w.Old.CreatedAt)
		l.same(t.dialect, "updated_at", fsm.KindTime, w.Old.UpdatedAt)
		for i, v := range w.Old.Values {
			l.same(t.dialect, t.schema.Columns[i].Stored, t.schema.Columns[i].Kind, v)
		}
	}
}
