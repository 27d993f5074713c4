package gen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// A record enters in any state by the event that the engine writes of an import, and by
// nothing else that a hand may try.
func TestSchemaTakesImports(t *testing.T) {
	t.Parallel()
	prompts(t, enforceFull, every, func(t *testing.T, p *prompt) {
		p.t = t
		first := (&schemaText{m: p.m}).beginnings()
		for _, st := range p.m.States {
			r := p.foreign(st)
			event, row := p.event(&made{id: r.id}, r, driver.OpImport), p.insert("INSERT", r)
			chained, linked := chainedEvent(event), linkedRow(row)
			own := []string{"fsm: " + p.m.Name + ": "}
			p.refused("an import by hand into "+st.Name, own, event, row)
			p.refused("an event by hand into "+st.Name, own, event, linked)
			p.refused("a row alone in "+st.Name, own, linked)
			p.refused("a log that begins behind its first link", own, strings.Replace(chained, ", 7, 7)", ", 7, 8)", 1), linked)
			if !slices.Contains(first, st) {
				for _, o := range p.m.Operations {
					p.refused(o.Name+" as an import into "+st.Name, append(own, "begins in"),
						strings.ReplaceAll(chained, quoteText(driver.OpImport), quoteText(o.Stored())), linked)
				}
			}
			for _, other := range p.m.States {
				if other != st {
					elsewhere := *r
					elsewhere.state = other
					p.refused("an import into "+st.Name+" as one into "+other.Name, own,
						chainedEvent(p.event(&made{id: r.id}, &elsewhere, driver.OpImport)), linked)
				}
			}
			p.must(chained, linked)
			p.refused("a second import into "+st.Name, append(own, "duplicate key"), chained, linked)
		}
	})
}

// foreign returns a record at revision 1 that keeps the rules of a state.
func (p *prompt) foreign(st *spec.State) *made {
	p.t.Helper()
	p.n++
	r := &made{id: fmt.Sprintf("r%d", p.n)}
	for _, mv := range p.path(st) {
		r = p.take(r, mv)
	}
	r.rev = 1
	return r
}

// chainedEvent and linkedRow give the first link of a chain, as the engine does.
func chainedEvent(event string) string {
	return strings.Replace(strings.Replace(event, `"checksum")`, `"checksum", "chain")`, 1), ", 1, 0)", ", 1, 7, 7)", 1)
}

func linkedRow(row string) string {
	return strings.Replace(strings.Replace(row, `("id", `, `("_chain", "id", `, 1), "VALUES (", "VALUES (7, ", 1)
}
