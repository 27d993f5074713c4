package migration

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// Beside returns why programs of the old version may not go on working on the tables once they are those of the new one; none
// when they may. To what the two specifications say it adds what the tables lack then: the column in which a pick of
// the old version sets records aside.
func Beside(old, next *spec.Machine) []string {
	why := diff.Machines(old, next).Beside()
	if old.Hash == next.Hash {
		return why
	}
	parkings := gen.FactsOf(next).Parkings
	for _, p := range gen.FactsOf(old).Parkings {
		if !slices.ContainsFunc(parkings, func(n gen.ParkFact) bool { return n.Column == p.Column }) {
			why = append(why, fmt.Sprintf("operation %s sets records aside in a column that the new version lacks, "+
				"so the old version could not pick", p.Operation.Name))
		}
	}
	return why
}
