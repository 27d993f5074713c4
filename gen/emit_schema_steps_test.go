package gen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// longest returns the end of a way of at least three moves, and the way.
func (p *prompt) longest() (*spec.State, []move) {
	p.t.Helper()
	for _, st := range finished(p.m) {
		if path := p.path(st); len(path) >= 3 {
			return st, path
		}
	}
	p.t.Skipf("%s has no end behind three moves", p.m.Name)
	return nil, nil
}

// way returns the events and the changes of the row along some moves.
func (p *prompt) way(path []move) (events, rows []string) {
	p.n++
	r := &made{id: fmt.Sprintf("r%d", p.n)}
	for _, mv := range path {
		next := p.take(r, mv)
		events = append(events, p.event(r, next, mv.operation.Stored()))
		if mv.from == nil {
			rows = append(rows, p.insert("INSERT", next))
		} else {
			rows = append(rows, p.update(r, next))
		}
		r = next
	}
	return events, rows
}

// Many steps of one record in one transaction are looked at as each by itself is,
// in whatever order they were written.
func TestSchemaTakesManySteps(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		p.t = t
		if p.d.name == "sqlite" {
			t.Skip("SQLite looks at each statement, in the order in which they come")
		}
		own := []string{"fsm: " + p.m.Name + ": "}
		_, path := p.longest()
		events, rows := p.way(path)
		p.must(append(slices.Clone(rows), events...)...)
		events, rows = p.way(path)
		slices.Reverse(events)
		p.must(append(events, rows...)...)

		without := func(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }
		all := func(events, rows []string) []string { return append(slices.Clone(events), rows...) }
		events, rows = p.way(path)
		end := len(path) - 1
		p.refused("steps without the last row", append(own, "no revision"), all(events, without(rows, end))...)
		p.refused("steps without a row at all", append(own, "no revision"), events...)
		for i := range events {
			p.refused(fmt.Sprintf("steps without event %d", i+1), own, all(without(events, i), rows)...)
		}
		bent := slices.Clone(events)
		bent[1] = strings.Replace(bent[1], "'"+path[1].operation.Stored()+"'", "'nothing'", 1)
		p.refused("steps of which one is none", own, all(bent, rows)...)
		p.must(all(events, rows)...)
	})
}

// A later event vouches for the row of an earlier one only while the record is
// there: after a purge, what was deleted of its log cannot be written anew.
func TestSchemaKeepsPurgedLogs(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		p.t = t
		if p.d.name == "sqlite" {
			t.Skip("SQLite looks for the row at once")
		}
		st, path := p.longest()
		own := []string{"fsm: " + p.m.Name + ": "}
		r := p.record(st)
		id, log := quoteText(r.id), quoteName(p.m.Name+"_events")
		mark, row, _, _ := p.purge(r)
		gone := fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s AND "rev" = 2`, log, id)
		first := p.take(&made{id: r.id}, path[0])
		forged := p.event(first, p.take(first, path[1]), path[1].operation.Stored())
		forged = strings.Replace(strings.Replace(forged, `"id"`, `"xid", "id"`, 1), "VALUES (",
			fmt.Sprintf(`VALUES ((SELECT "xid" FROM %s WHERE "id" = %s AND "rev" = 1 AND "n" = 0), `, log, id), 1)
		behind := func(event string, n int) string {
			return strings.Replace(event, fmt.Sprintf("%d, 1,", r.rev), fmt.Sprintf("%d, %d,", r.rev, n), 1)
		}
		note := behind(strings.ReplaceAll(mark, "'__purge'", "'note'"), 2)
		p.refused("an event of a purged record", own, mark, row, gone, forged)
		p.must(mark, note) // a mark alone removes nothing, and what comes behind it is of a record that is there
		p.refused("a row whose log goes on behind the mark", own, row)
		again := behind(mark, 3)
		p.refused("an event of a purged record, behind a note", own, again, row, gone, forged)
		p.must(again, row, gone)
	})
}
