package enginetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/spec"
)

// attackKeys writes a second row where one is allowed, and rows that stand
// beside it lawfully. Where there are triggers, it tries REPLACE and its like too.
func (p *prompt) attackKeys() {
	p.bare = p.bare || p.enforce == "none"
	p.attackIDs()
	p.attackUniques()
	p.attackLogKeys()
}

// dropTriggers leaves the indexes alone with what they have to refuse.
func (p *prompt) dropTriggers() {
	for _, name := range p.names("trigger") {
		p.must("DROP TRIGGER " + quoteName(name))
	}
	p.bare = true
}

// pushes reports whether rows that are pushed out are looked at.
func (p *prompt) pushes() bool { return p.dialect == "sqlite" && !p.bare }

// doubled tries to put a row beside those that the statements before it made.
func (p *prompt) doubled(what, table string, l literals, before ...string) {
	p.t.Helper()
	p.refused(what, append(slices.Clone(before), insert(table, l))...)
	if p.pushes() {
		p.refused(what+", by INSERT OR REPLACE", append(slices.Clone(before), replace(table, l))...)
	}
}

// moved tries to change a record to one that is in another one's way.
func (p *prompt) moved(what, id string, l literals, before ...string) {
	p.t.Helper()
	p.refused(what, append(slices.Clone(before), p.update(id, l))...)
	if p.pushes() {
		p.refused(what+", by UPDATE OR REPLACE", append(slices.Clone(before), p.push(id, l))...)
	}
}

// attackIDs tries to give an id to two records, and to change one.
func (p *prompt) attackIDs() {
	a, ok := p.anyRecord("a", func(interp.Record) bool { return true })
	if !ok {
		p.errorf("no record can be made up")
		return
	}
	there := insert(p.records(), p.row(a))
	b, ok := p.anyRecord("b", func(r interp.Record) bool { return len(clashes(p.m, a, r)) == 0 })
	if !ok {
		return // there is room for one record only
	}
	p.doubled("a second record with one id", p.records(), p.row(named(b, "a")), there)
	p.taken("two records", there, insert(p.records(), p.row(b)))
	if p.bare {
		return
	}
	if p.dialect == "sqlite" { // a server looks at that when it looks at moves
		p.moved("a new id", "a", literals{"id": "'c'"}, there)
	}
	p.moved("the id of another record", "a", literals{"id": "'b'"}, there, insert(p.records(), p.row(b)))
}

// anyRecord returns a record that fits, in any state.
func (p *prompt) anyRecord(id string, fits func(interp.Record) bool) (interp.Record, bool) {
	for _, st := range p.m.States {
		for _, r := range p.k.Sound(st) {
			if r = named(r, id); fits(r) {
				return r, true
			}
		}
	}
	return interp.Record{}, false
}

// variants returns sound records in a state with the key of another one: all
// its fields, or all but one, which has another value. One that breaks other
// rules too is followed by one that keeps them, if there is one.
func (p *prompt) variants(k uniqueKey, st *spec.State, like interp.Record, but *spec.Field) []interp.Record {
	var rows []interp.Record
	for _, r := range p.k.Sound(st) {
		r.ID = "b"
		for _, f := range k.fields {
			r = r.With(p.m, f.Name, like.Value(p.m, f))
		}
		if but != nil {
			r = r.With(p.m, but.Name, world.Another(but.Type, like.Value(p.m, but)))
		}
		if !world.MustHold(p.m, r) {
			continue
		}
		rows = append(rows, r)
		if far := p.parted(k, r, like); len(clashes(p.m, like, far)) < len(clashes(p.m, like, r)) {
			rows = append(rows, far)
		}
	}
	return rows
}

// parted gives a record values of its own where it breaks other rules than k
// beside another one: in a field that is not of k's key.
func (p *prompt) parted(k uniqueKey, r, beside interp.Record) interp.Record {
	for _, o := range uniqueKeys(p.m) {
		if o.name == k.name || !o.clash(p.m, r, beside) {
			continue
		}
		for _, f := range o.fields {
			if slices.Contains(k.fields, f) {
				continue
			}
			values := append(p.k.Values(f), world.Another(f.Type, r.Value(p.m, f)))
			i := slices.IndexFunc(values, func(v interp.Value) bool {
				far := with(p.m, r, f, v)
				return world.MustHold(p.m, far) && len(clashes(p.m, far, beside)) < len(clashes(p.m, r, beside))
			})
			if i >= 0 {
				r = with(p.m, r, f, values[i])
				break
			}
		}
	}
	return r
}

// attackUniques goes through the rules across records.
func (p *prompt) attackUniques() {
	for _, k := range uniqueKeys(p.m) {
		attacked := 0
		for _, st := range p.m.States {
			for _, a := range p.k.Sound(st) {
				if a = named(a, "a"); k.has(p.m, a) {
					attacked += p.attackUnique(k, a)
					break
				}
			}
		}
		if names := follows(p.m, k); len(names) > 0 {
			p.t.Logf("%s is never broken alone: whoever breaks it breaks %s", k.name, strings.Join(names, ", "))
		}
		if attacked == 0 {
			p.errorf("no two records can be made up that break %s and no other rule", k.name)
		}
		p.absentKeys(k)
	}
}

// follows lists the rules that two records break whenever they break k.
func follows(m *spec.Machine, k uniqueKey) []string {
	var names []string
	for _, o := range uniqueKeys(m) {
		if o.name == k.name {
			continue
		}
		wider := !slices.ContainsFunc(o.fields, func(f *spec.Field) bool { return !slices.Contains(k.fields, f) })
		everywhere := o.states == nil || k.states != nil && !slices.ContainsFunc(k.states, func(st *spec.State) bool { return !slices.Contains(o.states, st) })
		if wider && everywhere {
			names = append(names, o.name)
		}
	}
	return names
}

// attackUnique puts rivals beside a record. It returns how many there were.
func (p *prompt) attackUnique(k uniqueKey, a interp.Record) int {
	there := insert(p.records(), p.row(a))
	attacked, follows := 0, follows(p.m, k)
	for _, st := range p.m.States {
		inside := k.states == nil || slices.Contains(k.states, st)
		same := p.variants(k, st, a, nil)
		if !inside { // the same key in a state that the rule does not look at
			for _, b := range same {
				if len(clashes(p.m, a, b)) == 0 {
					p.taken(fmt.Sprintf("%s: a record in %s beside one in %s", k.name, st.Name, a.State.Name), there, insert(p.records(), p.row(b)))
					break
				}
			}
			continue
		}
		i := slices.IndexFunc(same, func(b interp.Record) bool {
			broken := clashes(p.m, a, b)
			return slices.Contains(broken, k.name) &&
				!slices.ContainsFunc(broken, func(name string) bool { return name != k.name && !slices.Contains(follows, name) })
		})
		if i < 0 {
			continue
		}
		b := same[i]
		attacked++
		what := fmt.Sprintf("%s: a second one in %s beside one in %s", k.name, st.Name, a.State.Name)
		p.doubled(what, p.records(), p.row(b), there)
		for _, from := range p.m.States {
			if k.states == nil || slices.Contains(k.states, from) {
				continue
			}
			outside := p.variants(k, from, a, nil)
			for _, c := range outside { // it enters by its state
				if len(clashes(p.m, a, c)) == 0 {
					p.moved(what+" that comes from "+from.Name, "b", p.row(b), there, insert(p.records(), p.row(c)))
					break
				}
			}
			for _, c := range outside { // the same beside one that is outside, too
				i := slices.IndexFunc(outside, func(o interp.Record) bool { return len(clashes(p.m, o, b))+len(clashes(p.m, o, c)) == 0 })
				if i >= 0 {
					p.taken(fmt.Sprintf("%s: one that comes from %s beside one there", k.name, from.Name),
						insert(p.records(), p.row(named(outside[i], "a"))), insert(p.records(), p.row(c)), p.update("b", p.row(b)))
					break
				}
			}
		}
		for _, f := range k.fields { // it enters by a field, and stands beside lawfully without it
			for _, c := range p.variants(k, st, a, f) {
				if len(clashes(p.m, a, c)) > 0 || len(clashes(p.m, with(p.m, c, f, a.Value(p.m, f)), b)) == 0 {
					continue
				}
				p.taken(fmt.Sprintf("%s: a record with another %s", k.name, f.Name), there, insert(p.records(), p.row(c)))
				p.moved(what+" that had another "+f.Name, "b", p.row(b), there, insert(p.records(), p.row(c)))
				break
			}
		}
		p.taken(k.name+": a record that stays", there, p.update("a", p.row(a)))
	}
	return attacked
}

// absentKeys puts records beside each other in which a field of the key is
// absent.
func (p *prompt) absentKeys(k uniqueKey) {
	for _, f := range k.fields {
		if !f.Type.Optional {
			continue
		}
		a, ok := p.anyRecord("a", func(r interp.Record) bool {
			return r.Value(p.m, f).Kind == interp.KindAbsent && (k.states == nil || slices.Contains(k.states, r.State)) && len(clashes(p.m, r, r)) == 0
		})
		if ok {
			p.taken(fmt.Sprintf("%s: two records without %s", k.name, f.Name),
				insert(p.records(), p.row(a)), insert(p.records(), p.row(named(a, "b"))))
		}
	}
}

// attackLogKeys tries to log something twice.
func (p *prompt) attackLogKeys() {
	r := interp.NewRecord(p.m, "e").In(p.m.States[0])
	r.Rev, r.UpdatedAt = 1, world.Noon
	event := p.event("o", r, named(r, "e")).with("rev", "2", "request_id", "'r'")
	batch := event.with("rev", "3", "request_id", "'s'", "request_n", "0")
	there := []string{insert(p.events(), event), insert(p.events(), batch)}
	log := p.events()
	p.doubled("an event of the same revision", log, event.with("request_id", "'t'"), there...)
	p.doubled("a request of the record once more", log, event.with("rev", "4"), there...)
	p.doubled("a request of the machine once more", log, batch.with("id", "'f'"), there...)
	if p.dialect == "sqlite" {
		p.doubled("an event at a place that is taken", log, event.with("seq", "2", "id", "'f'"), there...)
	}
	for what, l := range map[string]literals{
		"an event of another record":                   event.with("id", "'f'", "request_id", "'t'"),
		"an event of another revision":                 event.with("rev", "4", "request_id", "'t'"),
		"a recorded call at the same revision":         event.with("n", "1", "request_id", "'t'", "to_state", event["from_state"]),
		"an event without a request":                   event.with("rev", "4", "request_id", "NULL"),
		"a request with the id of another record's":    event.with("id", "'f'"),
		"the next one of a batch":                      batch.with("id", "'f'", "request_n", "1"),
		"a request with the id of a batch":             batch.with("id", "'f'", "request_n", "-1"),
		"the first one of another batch":               batch.with("id", "'f'", "request_id", "'t'"),
		"a request of a record with the id of a batch": event.with("id", "'g'", "request_id", "'s'"),
	} {
		p.taken(what, append(slices.Clone(there), insert(log, l))...)
	}
	none := event.with("request_id", "NULL")
	p.taken("two events without a request", insert(log, none), insert(log, none.with("rev", "4")))
}
