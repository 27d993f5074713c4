package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// What the log of a purged record has in the place of operations.
const (
	purgeMark = "__purge"  // recorded only: the record was removed
	purged    = "__purged" // an event that was emptied
)

// finished reports whether records in the state can be purged.
func finished(st *spec.State) bool { return st.Terminal || st.Final }

// where names one event.
func (p *prompt) where(l literals) string {
	return fmt.Sprintf(` WHERE "id" = %s AND "rev" = %s AND "n" = %s`, l["id"], l["rev"], l["n"])
}

func (p *prompt) removal(l literals) string {
	return "DELETE FROM " + quoteName(p.events()) + p.where(l)
}

// emptied are the columns of an event of which only what keeps ids and requests
// from being used again is left.
func (p *prompt) emptied() literals {
	l := literals{"operation": quoteText(purged), "name": quoteText(purged), "actor": "''", "reason": "''", "checksum": "0", "chain": "0"}
	for _, c := range []string{"labels", "inputs", "changes", "image", "cause", "guard"} {
		l[c] = "NULL"
	}
	return l
}

// edit changes columns of one event.
func (p *prompt) edit(event, columns literals) string {
	var sets []string
	for _, name := range sortedKeys(columns) {
		sets = append(sets, quoteName(name)+" = "+columns[name])
	}
	return "UPDATE " + quoteName(p.events()) + " SET " + strings.Join(sets, ", ") + p.where(event)
}

// attackRemains changes the logs of purged records: their events may be deleted,
// or emptied where they keep the id or a request of the machine, and nothing else.
func (p *prompt) attackRemains() {
	rows := p.k.Sound(p.m.States[0])
	if len(rows) == 0 {
		p.errorf("%s: no record can be made up", p.m.States[0].Name)
		return
	}
	full := func(l literals, request string) literals {
		return l.with("reason", "'why'", "request_id", quoteText(request), "fingerprint", "'f'", "labels", "'{}'", "inputs", "'{}'",
			"changes", "'{}'", "image", "'{}'", "cause", "'c'", "guard", "'g'", "checksum", "7", "chain", "7")
	}
	type log struct{ born, kept, moved, batch, mark literals }
	write := func(id string) log {
		r := named(rows[0], id)
		later := r
		later.Rev = 2
		g := log{
			born:  full(p.event("o", interp.Record{}, r).with("rev", "1"), "r1 "+id),
			kept:  full(p.recorded("o", r, 1).with("rev", "1"), "r2 "+id),
			moved: full(p.event("o", r, later), "r3 "+id),
			batch: full(p.event("o", r, later).with("rev", "3"), "r4 "+id).with("request_n", "0"),
			mark:  full(p.recorded(purgeMark, later, 1).with("rev", "3"), "r5 "+id),
		}
		for _, l := range []literals{g.born, g.kept, g.moved, g.batch} {
			p.must(insert(p.events(), l))
		}
		return g
	}
	gone := write("gone")
	p.must(insert(p.events(), gone.mark))
	for what, l := range map[string]literals{"a call that was recorded": gone.kept, "a step": gone.moved} {
		p.taken("the removal of "+what, p.removal(l))
	}
	for what, l := range map[string]literals{"the creation": gone.born, "the request of a batch": gone.batch, "the mark": gone.mark} {
		p.refused("the removal of "+what, p.removal(l))
	}
	empty := p.emptied()
	for what, l := range map[string]literals{"the creation": gone.born, "a call that was recorded": gone.kept, "a step": gone.moved, "the request of a batch": gone.batch} {
		p.taken("the emptying of "+what, p.edit(l, empty))
	}
	p.refused("the emptying of the mark", p.edit(gone.mark, empty))
	for _, c := range [][2]string{
		{"operation", "'o'"}, {"operation", quoteText(purgeMark)}, {"name", "'name'"}, {"actor", "'me'"}, {"reason", "'why'"}, {"labels", "'{}'"}, {"inputs", "'{}'"},
		{"changes", "'{}'"}, {"image", "'{}'"}, {"cause", "'c'"}, {"guard", "'g'"},
		{"id", "'elsewhere'"}, {"rev", "9"}, {"request_id", "'another'"}, {"request_id", "NULL"}, {"request_n", "5"},
		{"fingerprint", "'another'"}, {"version", "9"}, map[string][2]string{"sqlite": {"seq", "99"}, "postgres": {"xid", "'99'"}}[p.dialect],
	} {
		p.refused("the emptying of a step in which "+c[0]+" is "+c[1], p.edit(gone.moved, empty.with(c[0], c[1])))
	}
	for _, c := range [][2]string{{"from_state", "'elsewhere'"}, {"to_state", "'elsewhere'"}} {
		p.refused("the emptying of a step in which "+c[0]+" changes", p.edit(gone.moved, empty.with(c[0], c[1])))
	}
	p.refused("the emptying of a recorded call whose number changes", p.edit(gone.kept, empty.with("n", "9")))

	for what, plant := range map[string]func(g log, id string){
		"not marked":                  func(log, string) {},
		"marked by a step":            func(g log, _ string) { p.must(insert(p.events(), g.mark.with("rev", "4", "n", "0"))) },
		"marked by another operation": func(g log, _ string) { p.must(insert(p.events(), g.mark.with("operation", "'o'"))) },
		"marked, with the record left": func(g log, id string) {
			p.must(insert(p.events(), g.mark), insert(p.records(), p.row(named(rows[0], id))))
		},
	} {
		g := write(what)
		plant(g, what)
		p.refused("the removal of a step from a log that is "+what, p.removal(g.moved))
		p.refused("the emptying of a step in a log that is "+what, p.edit(g.moved, empty))
	}
}

// attackPurges removes records: only a finished one goes, and only with the mark
// in its log. What looks like a mark is planted before the triggers are there.
func attackPurges[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	script := s.D.Descriptor.Schema.SQL[st.Name]
	for _, state := range s.M.States {
		rows := s.Cases.Sound(state)
		if len(rows) == 0 {
			t.Errorf("%s: no record can be made up", state.Name)
			continue
		}
		r := named(rows[0], "old")
		r.Rev = 7
		mark := func(p *prompt, n int) literals { return p.recorded(purgeMark, r, n) }
		atPrompt(s, t, st, nil, func(p *prompt) {
			for _, l := range []literals{
				p.event("o", interp.Record{}, r).with("rev", "1"),
				mark(p, 1).with("operation", "'o'"),
				mark(p, 1).with("rev", "6"),
				mark(p, 1).with("id", "'another'"),
				mark(p, 0),
			} {
				p.must(insert(p.events(), l))
			}
			p.must(insert(p.records(), p.row(r)))
			if !finished(state) {
				p.must(insert(p.events(), mark(p, 2)))
			}
			p.must(script)
		}, func(p *prompt) {
			gone := fmt.Sprintf(`DELETE FROM %s WHERE "id" = 'old'`, quoteName(p.records()))
			p.refused("the removal of a record in "+state.Name+" without a mark that is its own", gone)
			if finished(state) {
				p.taken("the mark on a record in "+state.Name, insert(p.events(), mark(p, 2)))
				p.taken("the removal of a record in "+state.Name, insert(p.events(), mark(p, 2)), gone)
			} else {
				p.refused("the mark on a record in "+state.Name, insert(p.events(), mark(p, 3)))
			}
		})
	}
}

// attackStubs makes records whose creation stands in the log as one that was
// emptied: the id belonged to another record once.
func attackStubs[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	script := s.D.Descriptor.Schema.SQL[st.Name]
	for _, w := range allWays(s.M) {
		if w.from != nil {
			continue
		}
		rows := s.Cases.Sound(w.to)
		if len(rows) == 0 {
			t.Errorf("%s: no record can be made up", w.to.Name)
			continue
		}
		r := named(rows[0], "again")
		r.Rev = 1
		atPrompt(s, t, st, nil, func(p *prompt) {
			p.must(
				insert(p.events(), p.event(purged, interp.Record{}, r)),
				insert(p.events(), p.event(w.op.Stored(), interp.Record{}, named(r, "fresh"))),
				script)
		}, func(p *prompt) {
			p.taken("a record with its event", insert(p.records(), p.row(named(r, "fresh"))))
			p.refused("a record with the id of one that was purged", insert(p.records(), p.row(r)))
		})
	}
}
