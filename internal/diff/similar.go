package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// candidate is a new declaration that may be an old one under a new name. Alike
// says how much else the two have in common, from 0 to 1.
type candidate struct {
	name  string
	alike float64
}

// likeness is what the hint needs: half of the names, or all of the rest.
const likeness = 0.5

// rename returns the hint for a removed name: the candidate that is surely more
// alike than all others, if there is one.
func rename(what, stored, old string, list []candidate) string {
	best, bestAt, tie := "", 0.0, false
	for _, x := range list {
		score := (nearness(old, x.name) + x.alike) / 2
		switch {
		case score > bestAt:
			best, bestAt, tie = x.name, score, false
		case score == bestAt:
			tie = true
		}
	}
	if best == "" || tie || bestAt < likeness {
		return ""
	}
	return fmt.Sprintf("if %s is the same %s under a new name, write `was: %s` on it", best, what, stored)
}

// nearness compares two names: 1 when they are equal, 0 when they have nothing
// in common. A name within the other one counts as near.
func nearness(a, b string) float64 {
	a, b = strings.ToLower(a), strings.ToLower(b)
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
	score := 1 - float64(distance(a, b))/float64(longest)
	if strings.Contains(a, b) || strings.Contains(b, a) {
		score = max(score, 0.7)
	}
	return score
}

// distance is the number of letters to insert, remove or replace; names are ASCII.
func distance(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := last[0]
		last[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = last[j]
			last[j] = min(cost, last[j]+1, last[j-1]+1)
		}
	}
	return last[len(b)]
}

// overlap is the share of what two lists have in common; two empty lists say
// nothing.
func overlap(a, b []string) float64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return 0
	}
	both := 0
	for _, x := range all {
		if slices.Contains(a, x) && slices.Contains(b, x) {
			both++
		}
	}
	return float64(both) / float64(len(all))
}

// edges says how operations use a state, without the names of other states.
func edges(m *spec.Machine, s *spec.State) []string {
	var list []string
	add := func(kind string, o *spec.Operation, refs []spec.StateRef) {
		if slices.ContainsFunc(refs, func(r spec.StateRef) bool { return r.State == s }) {
			list = append(list, kind+" "+o.Stored())
		}
	}
	for _, o := range m.Operations {
		add("from", o, o.From)
		add("record_only", o, o.RecordOnlyIn)
	}
	for _, v := range m.Moves() {
		switch {
		case v.To != s || !v.Leaves():
		case v.From == nil:
			list = append(list, "creates "+v.Operation.Stored())
		default:
			list = append(list, "to "+v.Operation.Stored())
		}
	}
	return list
}

// uses says how operations use a field.
func uses(m *spec.Machine, f *spec.Field) []string {
	list := []string{typeWords(&f.Type)}
	for _, o := range m.Operations {
		effects := []*spec.Effects{&o.Effects}
		for _, b := range o.Choose {
			effects = append(effects, &b.Effects)
		}
		for _, e := range effects {
			if e.Changes(f) {
				list = append(list, "changed by "+o.Stored())
			}
		}
	}
	return list
}

// shape says what an operation does, without its name.
func shape(o *spec.Operation) []string {
	list := []string{fmt.Sprint("by ", o.By), "to " + targetWord(o.To, o.Same)}
	for _, r := range o.Creates {
		list = append(list, "creates "+r.State.Stored())
	}
	for _, r := range o.From {
		list = append(list, "from "+r.State.Stored())
	}
	for _, q := range o.Require {
		list = append(list, "require "+q.Guard.Name)
	}
	return append(list, effectWords(&o.Effects)...)
}
