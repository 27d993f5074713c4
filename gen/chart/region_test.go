package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// Regions have each state once, in the order of the file. What the pictures of
// all regions show together is the machine, and the index shows which operations
// lead from one to another.
func TestRegions(t *testing.T) {
	t.Parallel()
	ms := all(t)
	ms["order"] = machine(t, "testdata/order.yaml")
	for name, m := range ms {
		rs := Regions(m)
		var states []*spec.State
		of := make(map[string]string)
		for _, r := range rs {
			if len(r.States) == 0 || len(r.States) > regionSize {
				t.Errorf("%s: region %s has %d states", name, r.Name, len(r.States))
			}
			states = append(states, r.States...)
			for _, s := range r.States {
				of[s.Name] = r.Name
			}
		}
		if !slices.Equal(states, m.States) {
			t.Errorf("%s: the regions are not the states in their order", name)
		}
		for _, d := range []Detail{Brief, Guards} {
			moves := make(map[string]bool)
			for _, r := range rs {
				inside := func(state string) bool { return of[state] == r.Name }
				var want []string
				for _, move := range said(m) {
					words := strings.Fields(move)
					if inside(words[0]) || inside(words[2]) {
						want = append(want, move)
						moves[move] = true
					}
				}
				c := r.Chart(m, d)
				// A choice point is shown with all that leads to it, or away from it.
				for _, got := range [][2][]string{{want, read(c)}, {read(c), said(m)}} {
					if missing := slices.DeleteFunc(got[0], func(s string) bool { return slices.Contains(got[1], s) }); len(missing) > 0 {
						t.Errorf("%s, region %s, %s: %v is in one of machine and picture", name, r.Name, d, missing)
					}
				}
				for _, n := range c.Nodes {
					if n.Kind == State && inside(n.Name) == (n.Role == Outside) {
						t.Errorf("%s, region %s: %s has the role %s", name, r.Name, n.Name, n.Role)
					}
				}
			}
			if diff := cmp.Diff(said(m), slices.Sorted(maps.Keys(moves))); diff != "" {
				t.Errorf("%s: moves of all regions (-machine +pictures):\n%s", name, diff)
			}
		}
		want, got := make(map[string]bool), make(map[string]bool)
		for _, move := range said(m) {
			if words := strings.Fields(move); of[words[0]] != of[words[2]] {
				want[of[words[0]]+" "+of[words[2]]] = true
			}
		}
		index := Index(m, rs)
		for _, n := range index.Nodes {
			if slices.Contains(n.Notes, "") {
				t.Errorf("%s: the box of region %s has an empty line", name, n.Name)
			}
		}
		for _, e := range index.Edges {
			from := []*Node{e.From}
			if e.From.Kind == Group {
				from = e.From.Of
			}
			for _, n := range from {
				got[n.Name+" "+e.To.Name] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: arrows of the index (-machine +picture):\n%s", name, diff)
		}
	}
	want := "basket payment_pending authorised packing in_transit return_requested refund_due completed"
	var got []string
	for _, r := range Regions(ms["order"]) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		t.Errorf("regions of the order (-want +got):\n%s", diff)
	}
}
