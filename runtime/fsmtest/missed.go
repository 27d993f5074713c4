package fsmtest

import "fmt"

// Missed tells what the tests of a table would fail for before they ask anything of
// the generated package: a way to decide a call, or a rule, that none of their cases
// meets although the table does not say that there is none, and what the table denies
// although a case meets it.
func Missed(t Table) ([]string, error) {
	m, err := compile(t)
	if err != nil {
		return nil, err
	}
	var said missed
	for _, o := range m.operations {
		ways, alone := map[string]int{}, map[string]bool{}
		for _, from := range m.starts(o) {
			for c := range m.cases(o, from) {
				v := m.decide(o, c.row, c.call)
				if from == nil || m.lawful(c.row) {
					ways[v.way]++
					if len(v.failing) == 1 {
						alone[v.failing[0]] = true
					}
				}
				if from == nil || m.sound(c.row) {
					if wrong := o.denied(v); wrong != "" {
						said.Errorf("%s: %s: %s", o.Name, wrong, m.showRow(c.row))
					}
				}
			}
		}
		mustHappen(&said, o, ways, alone)
		if _, ok := m.goodAlone(o); !ok && o.Effect != "" {
			o.unmoved(&said)
		}
	}
	for _, st := range m.stateOrder {
		seen := map[string]bool{}
		for row := range m.recordsOf(st) {
			for _, v := range m.broken(row) {
				seen[v.Rule] = true
			}
		}
		m.mustBreak(&said, st, seen)
		if _, ok := m.soundRow(st); !ok {
			unseen(&said, st.Witnesses, "sound", "no record breaks no rule in "+st.Name)
		}
	}
	return said, nil
}

// missed collects what is said.
type missed []string

func (m *missed) Errorf(format string, args ...any) { *m = append(*m, fmt.Sprintf(format, args...)) }
func (*missed) Logf(string, ...any)                 {}
