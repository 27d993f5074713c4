package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// attackRecords writes made-up records in every state: those that break a MUST
// are refused and no other, whether they are inserted or updated to.
func (p *prompt) attackRecords() {
	for _, st := range p.m.States {
		sound := p.k.Sound(st)
		rows := slices.Concat(sound, p.k.Broken(st))
		if len(sound) == 0 {
			p.errorf("%s: no record can be made up", st.Name)
			continue
		}
		for _, r := range sound[:min(8, len(sound))] {
			for _, f := range p.m.Fields {
				for _, v := range p.k.Values(f) {
					rows = append(rows, with(p.m, r, f, v))
				}
			}
		}
		base := p.row(named(sound[0], "base"))
		var changes []func() // of a record that is there
		seen := map[string]bool{}
		for _, r := range rows {
			l := p.row(r)
			text := insert(p.records(), l)
			if seen[text] {
				continue
			}
			seen[text] = true
			change := p.update("base", l.with("id", "'base'"))
			what := "a record " + fmt.Sprint(r.State.Name, r.Fields)
			if world.MustHold(p.m, r) {
				p.taken(what, text)
				changes = append(changes, func() { p.taken("a change to "+what, change) })
				continue
			}
			what = fmt.Sprintf("a record that breaks %s: %s", rules(interp.Check(p.m, r)), fmt.Sprint(r.State.Name, r.Fields))
			p.refused(what, text)
			changes = append(changes, func() { p.refused("a change to "+what, change) })
		}
		for _, r := range sound[:min(3, len(sound))] {
			for _, bad := range p.badValues(st, r) {
				l := p.row(r).with(bad[0], bad[1])
				p.refused(fmt.Sprintf("a record in %s whose %s is %s", st.Name, bad[0], bad[1]), insert(p.records(), l))
				if bad[0] != "id" {
					what := fmt.Sprintf("a change to a record in %s whose %s is %s", st.Name, bad[0], bad[1])
					changes = append(changes, func() { p.refused(what, p.update("base", l.with("id", "'base'"))) })
				}
			}
		}
		p.must("SAVEPOINT there", insert(p.records(), base))
		for _, change := range changes {
			change()
		}
		p.must("ROLLBACK TO SAVEPOINT there", "RELEASE SAVEPOINT there")
	}
}

// rules names what a record breaks.
func rules(list []interp.Violation) string {
	var names []string
	for _, v := range list {
		names = append(names, v.Rule)
	}
	return strings.Join(names, ", ")
}

// badValues lists columns, each with a literal that no record can have.
func (p *prompt) badValues(st *spec.State, r interp.Record) [][2]string {
	bad := [][2]string{
		{"id", "''"}, {"id", "NULL"}, {"rev", "0"}, {"rev", "NULL"}, {"created_at", "NULL"}, {"updated_at", "NULL"},
		{"state", "NULL"}, {"state", "''"}, {"state", quoteText("no " + st.Stored())},
	}
	kind := map[string]spec.Kind{"id": spec.KindString, "state": spec.KindString, "rev": spec.KindInt, "created_at": spec.KindTime, "updated_at": spec.KindTime}
	for _, f := range p.m.Fields {
		kind[f.Stored()] = f.Type.Kind
		add := func(texts ...string) {
			for _, text := range texts {
				bad = append(bad, [2]string{f.Stored(), text})
			}
		}
		if !f.Type.Optional {
			add("NULL")
		}
		if r.Value(p.m, f).Kind == interp.KindAbsent {
			continue
		}
		switch f.Type.Kind {
		case spec.KindEnum:
			add("''", quoteText("no "+f.Type.Values[0].Stored()))
		case spec.KindBool:
			if p.dialect == "sqlite" {
				add("2", "-1")
			}
		case spec.KindJSON:
			add("''", "'{'", "'{a:1}'")
		case spec.KindSet:
			add("''", "'{}'", `'"a"'`, `'["a"'`, `'[''a'']'`, "'null'")
			absent := func(x spec.FieldRef) bool { return x.Field == f }
			if len(r.Value(p.m, f).Members()) > 0 || !slices.ContainsFunc(st.Absent, absent) {
				add("'[1]'", "'[null]'", "'[[]]'", `'["b","a"]'`, `'["a","a"]'`, `'["a","b","b"]'`, `'["a","c","b"]'`)
			}
		}
	}
	if p.dialect == "sqlite" {
		for _, name := range sortedKeys(kind) {
			bad = append(bad, p.badTypes(name, kind[name])...)
		}
	}
	return bad
}

// badTypes lists literals of another type than the column's. SQLite would store them
// in a table that is not STRICT.
func (p *prompt) badTypes(column string, kind spec.Kind) [][2]string {
	switch kind {
	case spec.KindInt, spec.KindCounter, spec.KindSequence, spec.KindBool, spec.KindTime, spec.KindDuration:
		return [][2]string{{column, "'no number'"}, {column, "1.5"}}
	case spec.KindString:
		return [][2]string{{column, "x'61'"}}
	}
	return nil
}

// column is a column of a table that every machine has.
type column struct {
	name     string
	kind     spec.Kind
	optional bool
}

var eventColumns = []column{
	{"id", spec.KindString, false}, {"rev", spec.KindInt, false}, {"n", spec.KindInt, false}, {"operation", spec.KindString, false},
	{"name", spec.KindString, false}, {"from_state", spec.KindString, true}, {"to_state", spec.KindString, false}, {"occurred_at", spec.KindTime, false},
	{"actor", spec.KindString, false}, {"reason", spec.KindString, false}, {"request_id", spec.KindString, true},
	{"request_n", spec.KindInt, false}, {"fingerprint", spec.KindString, false}, {"labels", spec.KindJSON, true},
	{"inputs", spec.KindJSON, true}, {"changes", spec.KindJSON, true}, {"image", spec.KindJSON, true}, {"version", spec.KindInt, false},
	{"cause", spec.KindString, true}, {"guard", spec.KindString, true}, {"checksum", spec.KindInt, false},
	{"chain", spec.KindInt, false},
}

// attackColumns writes a row that is sound but for one column, which is absent
// or of another type.
func (p *prompt) attackColumns(table string, sound literals, columns []column) {
	p.taken("a sound row of "+table, insert(table, sound))
	for _, c := range columns {
		if !c.optional {
			p.refused(fmt.Sprintf("a row of %s without %s", table, c.name), insert(table, sound.with(c.name, "NULL")))
		}
		if p.dialect == "sqlite" {
			for _, bad := range p.badTypes(c.name, c.kind) {
				p.refused(fmt.Sprintf("a row of %s whose %s is %s", table, c.name, bad[1]), insert(table, sound.with(c.name, bad[1])))
			}
		}
	}
}

// attackLog writes events that are wrong by themselves, or that change the log.
func (p *prompt) attackLog() {
	first := p.m.States[0]
	rows := p.k.Sound(first)
	if len(rows) == 0 {
		p.errorf("%s: no record can be made up", first.Name)
		return
	}
	before, after := named(rows[0], "e"), named(rows[0], "e")
	after.State, after.Rev = p.m.States[len(p.m.States)-1], 2
	moved := p.event("o", before, after)
	born := p.event("o", interp.Record{}, before).with("rev", "1")
	kept := moved.with("n", "1", "to_state", moved["from_state"])
	p.attackColumns(p.events(), moved, eventColumns)
	for what, l := range map[string]literals{
		"a creation":                          born,
		"a recorded call":                     kept,
		"a recorded call at revision 1":       kept.with("rev", "1"),
		"an event with a request":             moved.with("request_id", "'r'"),
		"an event with a request of a batch":  moved.with("request_id", "'r'", "request_n", "0"),
		"an event with all that is optional":  moved.with("labels", "'{}'", "inputs", "'{}'", "changes", "'{}'", "image", "'{}'", "cause", "'c'", "guard", "'g'"),
		"a recorded call with a later number": kept.with("n", "2"),
	} {
		p.taken(what, insert(p.events(), l))
	}
	for what, l := range map[string]literals{
		"an event of revision 0":                  moved.with("rev", "0"),
		"an event with a negative number":         kept.with("n", "-1"),
		"revision 1 that comes from somewhere":    moved.with("rev", "1"),
		"revision 2 that comes from nowhere":      moved.with("from_state", "NULL"),
		"a recorded call that moves":              kept.with("from_state", "'elsewhere'"),
		"a recorded call that comes from nowhere": kept.with("from_state", "NULL"),
		"an empty request id":                     moved.with("request_id", "''"),
		"a request of index -2":                   moved.with("request_id", "'r'", "request_n", "-2"),
	} {
		p.refused(what, insert(p.events(), l))
	}
	if p.dialect == "sqlite" {
		p.taken("an event at place 1", insert(p.events(), moved.with("seq", "1")))
		p.refused("an event at place 0", insert(p.events(), moved.with("seq", "0")))
	}
	there := insert(p.events(), moved)
	p.refused("a change of an event", there, fmt.Sprintf(`UPDATE %s SET "actor" = 'you'`, quoteName(p.events())))
	p.refused("the removal of an event", there, "DELETE FROM "+quoteName(p.events()))
	if p.dialect == "postgres" {
		p.refused("TRUNCATE of the log", there, "TRUNCATE "+quoteName(p.events()))
	}
}

// attackSides writes rows of the other tables that no store writes.
func (p *prompt) attackSides() {
	outbox, groups := p.m.Name+"_outbox", p.m.Name+"_groups"
	effect := literals{
		"id": "'e'", "rev": "2", "n": "0", "effect": "'x'", "key": "'k'", "attempts": "0", "due": p.literal(world.Noon), "last_error": "''",
	}
	p.attackColumns(outbox, effect, []column{
		{"id", spec.KindString, false}, {"rev", spec.KindInt, false}, {"n", spec.KindInt, false}, {"effect", spec.KindString, false}, {"key", spec.KindString, false},
		{"attempts", spec.KindInt, false}, {"due", spec.KindTime, false}, {"last_error", spec.KindString, false},
	})
	p.refused("an effect with less than no attempts", insert(outbox, effect.with("attempts", "-1")))
	p.refused("two effects in one place of a revision", insert(outbox, effect), insert(outbox, effect.with("effect", "'y'", "key", "'l'")))
	p.taken("two effects of one revision", insert(outbox, effect), insert(outbox, effect.with("n", "1")))
	p.taken("effects of two revisions", insert(outbox, effect), insert(outbox, effect.with("rev", "3")))
	p.taken("effects of two records", insert(outbox, effect), insert(outbox, effect.with("id", "'f'")))

	group := literals{"name": "'g'", "key": "'[]'", "number": "1"}
	p.attackColumns(groups, group, []column{{"name", spec.KindString, false}, {"key", spec.KindString, false}, {"number", spec.KindInt, false}})
	p.refused("a group twice", insert(groups, group), insert(groups, group.with("number", "2")))
	p.taken("groups of two rules", insert(groups, group), insert(groups, group.with("name", "'h'")))
	p.taken("two groups of a rule", insert(groups, group), insert(groups, group.with("key", "'[1]'")))

	meta := literals{"machine": "'another'", "version": "1", "hash": "'h'", "enforce": "'full'", "dialect": quoteText(p.dialect)}
	p.attackColumns("fsm_meta", meta, []column{
		{"machine", spec.KindString, false}, {"version", spec.KindInt, false}, {"hash", spec.KindString, false},
		{"enforce", spec.KindString, false}, {"dialect", spec.KindString, false},
	})
	p.refused("a second specification of this machine", insert("fsm_meta", meta.with("machine", quoteText(p.m.Name))))
	if p.dialect == "sqlite" {
		p.attackRowids(outbox, groups)
	}
}

// attackRowids looks for a column beside the key by which UPDATE OR REPLACE
// could push a row out.
func (p *prompt) attackRowids(tables ...string) {
	for _, table := range append(tables, p.records(), "fsm_meta") {
		text := fmt.Sprintf("UPDATE OR REPLACE %s SET rowid = 1", quoteName(table))
		if _, err := p.try(text); err == nil || !strings.Contains(err.Error(), "no such column") {
			p.errorf("%s has a rowid besides its key: %v", table, err)
		}
	}
}
