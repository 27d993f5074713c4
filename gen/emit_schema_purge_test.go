package gen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// purge is the one way to remove a record, as statements: the mark, the row, the
// events, and what is kept of them.
func (p *prompt) purge(r *made) (mark, row, events, stubs string) {
	id, log := quoteText(r.id), quoteName(p.m.Name+"_events")
	mark = p.mark(r, r.rev)
	row = fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, quoteName(p.m.Name), id)
	events = fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s AND "operation" <> '__purge' AND "request_n" < 0 AND NOT ("rev" = 1 AND "n" = 0)`, log, id)
	stubs = fmt.Sprintf(`UPDATE %s SET "operation" = '__purged', "name" = '__purged', "actor" = '', "reason" = '', "labels" = NULL,
		"inputs" = NULL, "changes" = NULL, "image" = NULL, "cause" = NULL, "guard" = NULL, "checksum" = 0, "chain" = 0
		WHERE "id" = %s AND "operation" <> '__purge'`, log, id)
	return mark, row, events, stubs
}

// mark is the event that says that a record is removed.
func (p *prompt) mark(r *made, rev int) string {
	return fmt.Sprintf(`INSERT INTO %s ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
		VALUES (%s, %d, 1, '__purge', '__purge', %[4]s, %[4]s, %[5]s, 'me', 'why', -1, '', 1, 0)`, quoteName(p.m.Name+"_events"),
		quoteText(r.id), rev, quoteText(r.state.Stored()), p.instant(r.rev))
}

// A finished record can be removed in one way; every other way, every part of the
// way by itself and every other order is refused.
func TestSchemaPurges(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		p.t = t
		own := []string{"fsm: " + p.m.Name + ": "}
		log := quoteName(p.m.Name + "_events")
		for _, st := range p.m.States {
			r := p.record(st)
			id := quoteText(r.id)
			mark, row, events, stubs := p.purge(r)
			p.refused("a row without the mark", own, row)
			p.refused("events without the mark", own, events, stubs)
			p.refused("a mark of another revision", own, p.mark(r, r.rev+1))
			if !slices.Contains(finished(p.m), st) {
				p.refused("the purge of a record in "+st.Name, own, mark, row, events, stubs)
				continue
			}
			p.refused("the events before the row", own, mark, events, stubs, row)
			p.refused("the mark itself", own, mark, row, fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, log, id))
			p.refused("the creation", own, mark, row, fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s AND "rev" = 1`, log, id))
			p.refused("a changed mark", own, mark, row, fmt.Sprintf(`UPDATE %s SET "actor" = 'eve' WHERE "id" = %s AND "operation" = '__purge'`, log, id))
			p.refused("an event that is edited instead", own, mark, row, fmt.Sprintf(`UPDATE %s SET "actor" = 'eve' WHERE "id" = %s AND "rev" = 1 AND "n" = 0`, log, id))
			for _, edit := range [][2]string{
				{`"reason" = ''`, `"reason" = 'left'`}, {`"inputs" = NULL`, `"inputs" = '{}'`}, {`"name" = '__purged'`, `"name" = 'x'`},
				{"SET ", `SET "request_n" = 7, `}, {"SET ", `SET "fingerprint" = 'x', `}, {"SET ", `SET "rev" = 99, `}, {"SET ", `SET "id" = 'other', `},
			} {
				p.refused("a stub with "+edit[1], own, mark, row, events, strings.Replace(stubs, edit[0], edit[1], 1))
			}
			other := p.record(st)
			p.refused("the events of another record", own, mark, row, strings.Replace(events, id, quoteText(other.id), 1))
			p.must(mark, row, events, stubs)
			p.stubsStay(r)
			p.forgets(r)
		}
	})
}

// forgets removes what is left of a purged record in the one way that there is, and
// tries others.
func (p *prompt) forgets(r *made) {
	p.t.Helper()
	own := []string{"fsm: " + p.m.Name + ": "}
	id, log := quoteText(r.id), quoteName(p.m.Name+"_events")
	say := fmt.Sprintf(`UPDATE %s SET "operation" = '__forget' WHERE "id" = %s AND "operation" = '__purge'`, log, id)
	rest := fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s AND "operation" <> '__forget'`, log, id)
	mark := fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s`, log, id)
	p.refused("what is left, at once", own, mark)
	p.refused("the rest of a log that is not forgotten", own, rest)
	p.refused("the mark before the rest", own, say, fmt.Sprintf(`DELETE FROM %s WHERE "id" = %s AND "operation" = '__forget'`, log, id))
	p.refused("a stub that says so", own, strings.Replace(say, "'__purge'", "'__purged'", 1))
	p.refused("an edit that says so", own, strings.Replace(say, "SET ", `SET "actor" = 'eve', `, 1))
	p.refused("another word", own, strings.Replace(say, "'__forget'", "'__purged'", 1))
	alive := p.record(p.m.States[0])
	p.refused("the log of a record", own, strings.ReplaceAll(mark, id, quoteText(alive.id)))
	p.must(say, rest, mark)
}

// stubsStay tries to use the id of a purged record again.
func (p *prompt) stubsStay(r *made) {
	p.t.Helper()
	words := []string{"fsm: " + p.m.Name + ": ", "_events_revision", "UNIQUE constraint failed"}
	for _, mv := range moves(p.m) {
		if mv.from != nil {
			continue
		}
		again := p.take(&made{id: r.id}, mv)
		p.refused("the id of a purged record", words, p.event(&made{id: r.id}, again, mv.operation.Stored()), p.insert("INSERT", again))
		p.refused("a row of its own", words, p.insert("INSERT", again))
	}
}

// A machine in which nothing is ever finished has no way at all.
func TestSchemaOfNoEndPurgesNothing(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("loop.yaml", []byte("fsm: 1\nmachine: loop\nentity: Loop\notherwise: reject\nstates: {up: {}, down: {}}\n"+
		"operations:\n  make: {creates: up}\n  lower: {from: up, to: down}\n  raise: {from: down, to: up}\n"))
	if found.HasErrors() {
		t.Fatal(found)
	}
	for _, schema := range [][]byte{sqliteSchema(m, enforceFull), postgresSchema(m, enforceFull)} {
		if text := string(schema); !strings.Contains(text, "is never deleted") ||
			!strings.Contains(text, "cannot be purged") && !strings.Contains(text, "only a finished record is purged") || strings.Contains(text, `OLD."state" NOT IN ()`) {
			t.Errorf("the schema:\n%s", text)
		}
	}
}
