package oracle

import (
	"strings"
	"testing"
)

func TestLineOf(t *testing.T) {
	t.Parallel()
	lines := strings.Split(`fsm: 1
# fail: in a comment
states: {open: {}, closed: {terminal: true}}
guards:
  fail: {when: n > 1}
operations:
  # fail: no, below
  start:
    doc: starts
    set:
      fail: 1
  "fail":
    from: open
limits: {fail: 7}`, "\n")
	for what, want := range map[string]int{"operations fail": 12, "operations start": 8, "operations set": 10, "guards fail": 5, "states closed": 3, "operations stop": 0, "guards start": 0} {
		section, name, _ := strings.Cut(what, " ")
		if got := lineOf(lines, section, name); got != want {
			t.Errorf("%s is on line %d, want %d", what, got, want)
		}
	}
}
