package difftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// tally counts mutants and what the static checks found in them.
type tally struct {
	all, coarse tallyRow
	kinds       []tallyRow // as kinds
}

// tallyRow is one line of the table.
type tallyRow struct {
	mutants, refused, errors int
	codes                    map[string]int // mutants by code
}

func newTally() *tally { return &tally{kinds: make([]tallyRow, len(kinds))} }

// add counts a mutant that changes behaviour.
func (t *tally) add(m specMutant, found spec.Diagnostics) {
	kind := m.kind()
	if kind < 0 {
		panic("no kind fits the mutant " + m.name)
	}
	t.all.add(found)
	t.kinds[kind].add(found)
	if kinds[kind].coarse {
		t.coarse.add(found)
	}
}

func (r *tallyRow) add(found spec.Diagnostics) {
	r.mutants++
	if len(found) > 0 {
		r.refused++
	}
	if found.HasErrors() {
		r.errors++
	}
	codes := map[string]bool{}
	for _, d := range found {
		codes[d.Code] = true
	}
	if r.codes == nil {
		r.codes = map[string]int{}
	}
	for code := range codes {
		r.codes[code]++
	}
}

// String writes the table. A mutant stands under each code that it gives.
func (t *tally) String() string {
	var b strings.Builder
	line := func(name string, r tallyRow) {
		codes := slices.SortedFunc(maps.Keys(r.codes), func(a, b string) int {
			if d := r.codes[b] - r.codes[a]; d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		for i, c := range codes {
			codes[i] = fmt.Sprintf("%s %d", c, r.codes[c])
		}
		fmt.Fprintf(&b, "%-36s %4d %4d %4d %4.0f %%  %s\n", name, r.mutants, r.refused, r.errors, share(r.refused, r.mutants), strings.Join(codes, ", "))
	}
	fmt.Fprintf(&b, "%-36s %4s %4s %4s\n", "kind (* of states, fields, guards)", "made", "ref.", "err.")
	for i, k := range kinds {
		name := k.name
		if k.coarse {
			name = "* " + name
		}
		line(name, t.kinds[i])
	}
	line("all", t.all)
	return b.String()
}

// share is n of all in percent.
func share(n, all int) float64 { return 100 * float64(n) / float64(max(all, 1)) }
