package sqlstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// A write to a server is one statement: the row, its event and its outbox, so one round trip and
// the statement's own transaction make it all or nothing. Its texts are known when the machine
// is opened; each is made when it is asked for first.

func (t *table) postgresWrites() *writeTexts {
	texts := &writeTexts{moves: map[moveKey]func() *writeText{}}
	add := func(name string, text func() *writeText) func() *writeText {
		return texts.add(name, func() *writeText {
			x := text()
			x.text = t.named(name, x.text)
			return x
		})
	}
	texts.create = add("create", func() *writeText { return t.createText(false) })
	texts.createMany = add("create_many", func() *writeText { return t.createText(true) })
	for i := range t.schema.Operations {
		if o := &t.schema.Operations[i]; o.Leaves || o.Stays {
			texts.moves[moveKey{operation: o}] = add("move "+o.Stored, func() *writeText { return t.moveText(o, false, false) })
		}
	}
	texts.moves[moveKey{}] = add("move", func() *writeText { return t.moveText(nil, false, false) })
	texts.moveMany = add("move_many", func() *writeText { return t.moveText(nil, true, false) })
	texts.take = add("take", func() *writeText { return t.moveText(nil, false, true) })
	texts.takeMany = add("take_many", func() *writeText { return t.moveText(nil, true, true) })
	texts.record = add("record", func() *writeText { return t.finishText("record", eventCells(), nil) })
	return texts
}

// moveText makes the statement of moves, or of moves that take what the transaction has locked. Of any operation, and of a
// batch, it sets the columns that each write says.
func (t *table) moveText(o *driver.OperationInfo, many, take bool) *writeText {
	cells := slices.Concat([]cell{idCell, revCell, updatedCell, wasCell}, stepCells(false))
	made := map[string]string{"WRITES": "{one}", "ALL": "1", "WITHIN": "{LAST}"}
	switch {
	case many && take:
		made["WRITES"], made["ALL"], made["WITHIN"] = "{many}", "{LAST}::bigint", "{NEXT}"
	case many:
		made["WRITES"] = "{many_unlocked}"
	}
	if !t.schema.NoOutbox {
		made["ASKS"], made["LEAVES"] = "{asks}", "{leaves}"
		cells = append(cells, effectsCell, leaveCell)
	}
	if o == nil {
		cells = append(cells, t.maskCells()...)
	}
	now := map[int]string{}
	if o == nil || o.Leaves {
		now[-1], made["STATE"] = `i."to_state"`, `, "state" = i."to_state"`
	}
	for _, i := range t.mayChange(o) {
		c, column := t.valueCell(i, o == nil), quote(t.schema.Columns[i].Stored)
		cells = append(cells, c)
		now[i] = "i." + quote(c.name)
		if o == nil {
			now[i] = "CASE WHEN " + changes(i) + " THEN " + now[i] + " ELSE r." + column + " END"
		}
		made["SETS"] += ", " + column + " = " + now[i]
	}
	for _, c := range t.worked { // what a statement does not say, a trigger works out
		if of := t.written(c, now); of != "" && c.Minute != "created_at" {
			made["SETS"] += ", " + quote(c.Name) + " = " + t.worth(c, of)
		}
	}
	if take {
		return t.finishText("take", cells, made)
	}
	return t.finishText("move", cells, made)
}

// createText makes the statement of creations.
func (t *table) createText(many bool) *writeText {
	cells := slices.Concat([]cell{idCell, revCell, bornCell, updatedCell}, stepCells(true))
	made := map[string]string{"ROW": t.reads}
	if !t.schema.NoOutbox {
		made["ASKS"] = "{asks}"
		cells = append(cells, effectsCell)
	}
	now := map[int]string{-1: `i."to_state"`}
	values := []string{`i."id"`, now[-1], "1", `i."created_at"`, `i."updated_at"`}
	for i := range t.schema.Columns {
		c := t.valueCell(i, false)
		cells, now[i] = append(cells, c), "i."+quote(c.name)
		values = append(values, now[i])
	}
	values = append(values, `i."checksum"`) // the first link of the chain
	for _, c := range t.worked {
		made["ROW"] += ", " + quote(c.Name)
		values = append(values, t.worth(c, t.written(c, now)))
	}
	made["NEW"] = strings.Join(values, ", ")
	if !many {
		return t.finishText("create", cells, made)
	}
	if made["FREE"], made["PLACES"] = t.free(), "true"; len(t.schema.Uniques) > 0 {
		made["PLACES"] = "{try_places}"
		cells = append(cells, cell{"places", driver.KindString, func(w *driver.Write) any {
			places := t.placesOf(w.Row)
			return unless(len(places) == 0, arrayOf(numbersOf(places)))
		}})
	}
	return t.finishText("create_many", cells, made)
}

// written returns what a statement writes into the source of a worked column: now has it by column, and at -1 of
// the state. It is empty where the statement leaves the source as it is.
func (t *table) written(c *driver.WorkedColumn, now map[int]string) string {
	switch c.Minute {
	case "":
		return now[-1]
	case "created_at", "updated_at":
		return "i." + quote(c.Minute)
	}
	return now[t.schema.Column(c.Minute)]
}

// free is the condition that nobody has a place of a new row i under a rule.
func (t *table) free() (text string) {
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		counted, among := "", ""
		if u.States != nil {
			if len(u.States) == 0 {
				continue
			}
			counted = `i."to_state"` + strings.TrimPrefix(t.states(u.States), `"state"`) + " AND "
			among = " AND " + t.among("r.", u.States)
		}
		text += " AND NOT (" + counted + "EXISTS (SELECT 1 FROM {M} AS r WHERE true" + among
		for _, name := range u.Columns {
			i := t.schema.Column(name)
			kind := t.schema.Columns[i].Kind
			text += " AND " + t.dialect.operand("r."+quote(name), kind) + " = " + t.dialect.operand("i."+quote(valueName(i, name)), kind)
		}
		text += " OFFSET 0))"
	}
	return text
}

// finishText numbers the cells.
func (t *table) finishText(name string, cells []cell, made map[string]string) *writeText {
	var params, arrays, names []string
	for i, c := range cells {
		n := "$" + strconv.Itoa(i+2)
		params = append(params, n+"::"+columnType(c.kind)+" AS "+quote(c.name))
		arrays = append(arrays, n+"::text::"+columnType(c.kind)+"[]")
		names = append(names, quote(c.name))
	}
	lists := map[string]string{
		"CELLS": strings.Join(params, ", "), "ARRAYS": strings.Join(arrays, ", "), "NAMES": strings.Join(names, ", "),
		"LAST":  "$" + strconv.Itoa(len(cells)+2),
		"NEXT":  "$" + strconv.Itoa(len(cells)+3),
		"STATE": "", "SETS": "", "ASKS": "", "LEAVES": "", "FREE": "", "TOO_FEW": literal(tooFew),
	}
	maps.Copy(lists, made)
	return &writeText{text: t.query(name, lists), cells: cells}
}

// writing returns the statement of writes, which are all creations or all moves, and its arguments.
// That of one counts what it wrote, that of several gives the ids. after says that its events
// must stand behind those of their records; nil: of a strict transaction, which says nothing of its batch.
func (t *table) writing(after any, writes ...*driver.Write) (string, []any) {
	many, create := len(writes) > 1, writes[0].Prev.Rev == 0
	if many { // rows and places are passed over; ids are waited for, in one order for all batches
		writes = slices.Clone(writes)
		slices.SortFunc(writes, func(a, b *driver.Write) int { return strings.Compare(a.Prev.ID, b.Prev.ID) })
	}
	text := t.writes.moves[moveKey{}]
	switch {
	case create && many:
		text = t.writes.createMany
	case create:
		text = t.writes.create
	case many:
		text = t.writes.moveMany
	default:
		if of := t.writes.moves[moveKey{operation: t.operation(writes[0])}]; of != nil {
			text = of
		}
	}
	x := text()
	if many {
		return x.text, x.batch(after, writes)
	}
	return x.text, x.args(t, writes[0], after)
}

// taking is writing of moves of records that the transaction has locked. The statement fails unless it makes all of them, and
// in time, where there is one.
func (t *table) taking(after any, writes []*driver.Write, within time.Duration) (string, []any) {
	var least any
	if within > 0 {
		least = within.Microseconds()
	}
	if len(writes) > 1 {
		x := t.writes.takeMany()
		return x.text, append(x.batch(after, writes), least)
	}
	x := t.writes.take()
	return x.text, append(x.args(t, writes[0], after), least)
}

// batch returns the arguments for several.
func (x *writeText) batch(after any, ws []*driver.Write) []any {
	var a arrays
	a.Grow(int(x.size.Load()) * len(ws))
	args := make([]any, 1, len(x.cells)+2)
	args[0] = after
	for i := range x.cells {
		value := x.cells[i].value
		if !slices.ContainsFunc(ws, func(w *driver.Write) bool { return value(w) != nil }) {
			args = append(args, nil) // unnest fills up with what is absent; an array of NULLs would cost more
			continue
		}
		for _, w := range ws {
			a.add(value(w))
		}
		args = append(args, a.end())
	}
	x.size.Store(int64(a.Len()/len(ws) + 32))
	return append(args, int64(len(ws)))
}
