package enginetest

import (
	"fmt"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
)

// Missed tells what the tests of a table would fail for before they ask anything of
// the generated package: a way to decide a call, or a rule, that none of their cases
// meets although the table does not say that there is none, and what the table denies
// although a case meets it.
func Missed(t oracle.Table) ([]string, error) {
	m, err := world.Compile(t)
	if err != nil {
		return nil, err
	}
	var said missed
	for _, o := range m.Ops {
		ways, alone := map[string]int{}, map[string]bool{}
		for _, from := range starts(m, o) {
			for c := range m.Cases(o, from) {
				v := m.Decide(o, c.Row, c.Call)
				if from == nil || m.MustHold(c.Row) {
					ways[v.Way]++
					if len(v.Failing) == 1 {
						alone[v.Failing[0]] = true
					}
				}
				if from == nil || m.Sound(c.Row) {
					if wrong := o.Denied(v); wrong != "" {
						said.Errorf("%s: %s: %s", o.Name, wrong, m.ShowRow(c.Row))
					}
				}
			}
		}
		oracle.MustHappen(&said, o, ways, alone)
		if _, ok := m.GoodAlone(o); !ok && o.Effect != "" {
			unmoved(o, &said)
		}
	}
	for _, st := range m.StateOrder {
		seen := map[string]bool{}
		for row := range m.RecordsOf(st) {
			for _, v := range m.Broken(row) {
				seen[v.Rule] = true
			}
		}
		m.MustBreak(&said, st, seen)
		if _, ok := soundRow(m, st); !ok {
			oracle.Unseen(&said, st.Witnesses, "sound", "no record breaks no rule in "+st.Name)
		}
	}
	return said, nil
}

// missed collects what is said.
type missed []string

func (m *missed) Errorf(format string, args ...any) { *m = append(*m, fmt.Sprintf(format, args...)) }
func (*missed) Logf(string, ...any)                 {}
