package devices

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// All sides answer each call of a walk alike, and do the same. A walk has calls that are
// refused, states that are left and entered, and each operation of its machine.
func TestSidesAreAlike(t *testing.T) {
	t.Parallel()
	for _, machine := range Machines {
		var want string
		for i, side := range Sides() {
			got := side.Walk(machine)
			if i == 0 {
				want = got
				if !strings.Contains(got, "refused") || machine != "tcp" && !strings.Contains(got, "[") {
					t.Errorf("%s: nothing is refused, or nothing is done:\n%s", machine, got)
				}
				continue
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s by %s (+) is not what fsmgen does (-):\n%s", machine, side.Name, diff)
			}
			if n := strings.Count(want, "refused"); side.Run(machine, 2) != 2*n {
				t.Errorf("%s by %s: a run refuses other calls than a walk", machine, side.Name)
			}
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, machine := range Machines {
		for _, side := range Sides() {
			b.Run(machine+"/"+strings.ReplaceAll(side.Name, "/", "_"), func(b *testing.B) {
				b.ReportAllocs()
				side.Run(machine, b.N)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(Walks[machine])), "ns/call")
			})
		}
	}
}
