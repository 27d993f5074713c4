package enginetest

import (
	"github.com/fsmgen/fsmgen/internal/interp"
)

const (
	forgetMark = "__forget" // the mark of a log of which nothing is to be left
	redactMark = "__redact" // a step that erased fields
)

// attackForgets removes what is left of purged records in the one way that there is,
// and tries others: the mark says that all goes, the rest goes, then the mark.
func (p *prompt) attackForgets() {
	rows := p.k.Sound(p.m.States[0])
	if len(rows) == 0 {
		p.errorf("%s: no record can be made up", p.m.States[0].Name)
		return
	}
	type log struct{ born, moved, mark literals }
	write := func(id string) log {
		r := named(rows[0], id)
		r.Rev = 1
		later := r
		later.Rev = 2
		g := log{
			born:  p.event("o", interp.Record{}, r).with("request_id", quoteText("r1 "+id), "request_n", "0"),
			moved: p.event("o", r, later).with("inputs", "'{}'"),
			mark:  p.recorded(purgeMark, later, 1).with("request_id", quoteText("r2 "+id), "fingerprint", "'f'", "checksum", "7"),
		}
		p.must(insert(p.events(), g.born), insert(p.events(), g.moved))
		return g
	}
	forget := func(l literals, more ...string) string {
		return p.edit(l, literals{"operation": quoteText(forgetMark)}.with(more...))
	}
	gone := write("forgotten")
	p.must(insert(p.events(), gone.mark))
	p.refused("the removal of the creation before the mark says so", p.removal(gone.born))
	p.refused("a creation that says so", forget(gone.born))
	p.refused("a step that says so", forget(gone.moved))
	p.refused("the removal of the mark before the rest", forget(gone.mark), p.removal(gone.mark))
	p.refused("another word, then the rest", p.edit(gone.mark, literals{"operation": "'forget'"}))
	p.refused("the mark taken back", forget(gone.mark), p.edit(gone.mark, literals{"operation": quoteText(purgeMark)}))
	for _, c := range [][2]string{
		{"id", "'elsewhere'"}, {"rev", "9"}, {"n", "0"}, {"name", "'name2'"}, {"from_state", "'elsewhere'"}, {"to_state", "'elsewhere'"}, {"actor", "'eve'"},
		{"reason", "'none'"}, {"request_id", "'another'"}, {"request_n", "5"}, {"fingerprint", "'another'"}, {"version", "9"}, {"checksum", "8"}, {"chain", "9"},
		map[string][2]string{"sqlite": {"seq", "99"}, "postgres": {"xid", "'99'"}}[p.dialect],
	} {
		p.refused("a mark that says so, and in which "+c[0]+" is "+c[1], forget(gone.mark, c[0], c[1]))
	}
	p.taken("what is left of a purged record", forget(gone.mark), p.removal(gone.born), p.removal(gone.moved), p.removal(gone.mark))

	for what, plant := range map[string]func(g log, id string) string{
		"not marked": func(g log, _ string) string { return forget(g.moved) },
		"marked by a step": func(g log, _ string) string {
			step := g.mark.with("rev", "3", "n", "0")
			p.must(insert(p.events(), step))
			return forget(step)
		},
		"marked, with the record left": func(g log, id string) string {
			p.must(insert(p.events(), g.mark), insert(p.records(), p.row(named(rows[0], id))))
			return forget(g.mark)
		},
		"marked before its end": func(g log, _ string) string {
			p.must(insert(p.events(), g.mark), insert(p.events(), g.mark.with("n", "2", "operation", "'o'", "request_id", "NULL")))
			return forget(g.mark)
		},
	} {
		g := write(what)
		p.refused("the end of a log that is "+what, plant(g, what))
		p.refused("the removal of the creation from a log that is "+what, p.removal(g.born))
	}
}

// attackErased erases what is logged, as Redact does, whose triggers stand aside, and
// hides behind the event that Redact writes.
func (p *prompt) attackErased() {
	rows := p.k.Sound(p.m.States[0])
	if len(rows) == 0 {
		p.errorf("%s: no record can be made up", p.m.States[0].Name)
		return
	}
	r := named(rows[0], "erased")
	r.Rev = 1
	later := r
	later.Rev = 2
	born := p.event("o", interp.Record{}, r).with("inputs", `'{"a": 1}'`, "labels", `'{"b": "c"}'`, "reason", "'why'", "fingerprint", "'f'")
	p.must(insert(p.events(), born))
	for _, behind := range []string{"nothing", redactMark} {
		if behind == redactMark {
			p.must(insert(p.events(), p.event(redactMark, r, later)))
		}
		for _, c := range [][2]string{
			{"inputs", "NULL"}, {"labels", "NULL"}, {"actor", "'[redacted]'"}, {"reason", "''"}, {"fingerprint", "'redacted'"}, {"checksum", "1"},
		} {
			p.refused("an event with "+behind+" behind it, in which "+c[0]+" is "+c[1], p.edit(born, literals{c[0]: c[1]}))
			p.refused("such an event erased, and "+c[0]+" is "+c[1], p.edit(born, literals{"fingerprint": "'redacted'", c[0]: c[1]}))
		}
		p.refused("the removal of an event with "+behind+" behind it", p.removal(born))
	}
}
