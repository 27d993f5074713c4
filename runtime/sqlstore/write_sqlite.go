package sqlstore

import (
	"strconv"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A write to a file is some statements in one transaction: the event first, then the row, then
// what leaves the outbox and what goes into it. Changes of rows have a text for each operation and for
// whether the record leaves its state: SQLite writes an index again for each of its columns that
// a text names.

func (t *table) sqliteWrites() *writeTexts {
	texts := &writeTexts{moves: map[moveKey]func() *writeText{}}
	texts.logStep = texts.add("log_step", func() *writeText { return &writeText{text: t.query("log_step", nil), cells: eventCells()} })
	move := func(name string, o *driver.OperationInfo, leaves bool) {
		texts.moves[moveKey{o, leaves}] = texts.add(name, func() *writeText { return t.rowText(o, leaves) })
	}
	for i := range t.schema.Operations {
		o := &t.schema.Operations[i]
		if o.Stays {
			move("stay "+o.Stored, o, false)
		}
		if o.Leaves {
			move("move "+o.Stored, o, true)
		}
	}
	move("stay", nil, false)
	move("move", nil, true)
	texts.leave = texts.add("leave", func() *writeText { return &writeText{text: t.query("leave", nil), cells: []cell{idCell, revCell}} })
	texts.record = texts.add("record", func() *writeText { return &writeText{text: t.query("record", nil), cells: eventCells()} })
	return texts
}

// rowText makes the statement that changes a row. Of any operation it sets all columns.
func (t *table) rowText(o *driver.OperationInfo, leaves bool) *writeText {
	cells := []cell{updatedCell, sumCell}
	made := map[string]string{"STATE": "", "SETS": ""}
	next := func(c cell) string {
		cells = append(cells, c)
		return "?" + strconv.Itoa(len(cells))
	}
	set := func(list string, column string, c cell) { made[list] += ", " + quote(column) + " = " + next(c) }
	if leaves {
		set("STATE", "state", toCell)
	}
	for _, i := range t.mayChange(o) {
		set("SETS", t.schema.Columns[i].Stored, t.valueCell(i, false))
	}
	for _, c := range []struct {
		word string
		cell cell
	}{{"ID", idCell}, {"REV", revCell}, {"FROM", fromCell}, {"WAS", wasCell}} {
		made[c.word] = next(c.cell)
	}
	return &writeText{text: t.query("move", made), cells: cells}
}

// moving returns the statement that changes the row of a write, and its arguments.
func (t *table) moving(w *driver.Write) (string, []any) {
	key := moveKey{t.operation(w), w.Row.State != w.PrevState}
	text := t.writes.moves[key]
	if text == nil {
		text = t.writes.moves[moveKey{nil, key.leaves}]
	}
	x := text()
	return x.text, x.args(t, w)
}
