package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// masked writes a machine with random branches, some of them without `when`.
func masked(rnd *rand.Rand, extra string) string {
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: m\nentity: M\notherwise: reject\nfields: {n: int 0..9}\nstates: {a: {}, b: {}, c: {}, z: {terminal: true}}\n" +
		"operations:\n  make: {creates: a, set: {n: input}}\n  go:\n    from: [a, b, c]\n    choose:\n")
	for range 1 + rnd.IntN(4) {
		from, when := "", ""
		if rnd.IntN(2) == 0 {
			from = "from: " + []string{"a", "b", "c", "[a, b]"}[rnd.IntN(4)] + ", "
		}
		if rnd.IntN(2) == 0 {
			when = fmt.Sprintf("when: n == %d, ", rnd.IntN(3))
		}
		fmt.Fprintf(&b, "      - {%s%sto: %s}\n", from, when, []string{"a", "b", "c", "z", "same"}[rnd.IntN(5)])
	}
	return b.String() + extra
}

// A branch that no record meets, in whatever way it is written, breaks nobody when it
// comes or goes; one that adds a move is told.
func TestBranchesThatNobodyMeets(t *testing.T) {
	t.Parallel()
	moves := func(m *spec.Machine) []string {
		var list []string
		for _, v := range m.Operation("go").Moves() {
			when := ""
			for _, f := range v.Branch.When {
				when += f.Text
			}
			list = append(list, v.Source().Name+" "+v.To.Name+" "+when)
		}
		slices.Sort(list)
		return list
	}
	rnd := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // machines that can be told again
	hidden, told := 0, 0
	for range 1500 {
		src := masked(rnd, "")
		next := src + fmt.Sprintf("      - {from: %s, when: n == 5, to: %s}\n", []string{"a", "b", "c"}[rnd.IntN(3)], []string{"a", "b", "c", "z"}[rnd.IntN(4)])
		old, now := parse("old.yaml", src), parse("new.yaml", next)
		if old == nil || now == nil {
			continue
		}
		for _, r := range []*diff.Report{diff.Machines(old, now), diff.Machines(now, old)} {
			if r.Breaking() == slices.Equal(moves(old), moves(now)) {
				t.Fatalf("%s\nof\n%s", r.Text(), next)
			}
			if len(r.Changes) == 0 {
				t.Fatalf("nothing is said of\n%s", next)
			}
			if r.Breaking() {
				told++
			} else {
				hidden++
			}
		}
	}
	if hidden < 100 || told < 100 {
		t.Errorf("%d hidden, %d told: want more of both", hidden, told)
	}
}
