package interp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// One call raises a counter by one, or not at all. What a file would raise twice,
// in the operation and in a branch, is refused, and nothing else is.
func TestCounterRisesByOne(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(36, 2))
	counters := []string{"x", "y", "z"}
	some := func() (list []string) {
		for _, c := range counters {
			if rnd.IntN(3) == 0 {
				list = append(list, c)
			}
		}
		return list
	}
	twice := 0
	for range 200 {
		creates := rnd.IntN(3) == 0
		always, given := some(), some()
		given = slices.DeleteFunc(given, func(c string) bool { return !creates || slices.Contains(always, c) })
		branches, clash := [][]string{some(), some(), some()}, false
		head, sets := "from: here", ""
		if creates {
			head = "creates: here"
		}
		for _, c := range given {
			sets += c + ": 5, "
		}
		var b strings.Builder
		b.WriteString("fsm: 1\nmachine: thing\nentity: Thing\notherwise: reject\nfields: {x: counter, y: counter, z: counter}\n")
		b.WriteString("states: {here: {final: true}}\noperations:\n  make: {creates: here}\n  step:\n    input: {way: a|b|c}\n")
		fmt.Fprintf(&b, "    %s\n    set: {%s}\n    increment: [%s]\n    choose:\n", head, strings.TrimSuffix(sets, ", "), strings.Join(always, ", "))
		for i, list := range branches {
			fmt.Fprintf(&b, "      - {when: input.way == %c, to: here, increment: [%s]}\n", 'a'+i, strings.Join(list, ", "))
			clash = clash || slices.ContainsFunc(list, func(c string) bool { return slices.Contains(always, c) || slices.Contains(given, c) })
		}
		m, found := spec.Parse("thing.yaml", []byte(b.String()))
		if (m == nil) != clash || clash && !slices.ContainsFunc(found, func(d spec.Diagnostic) bool { return d.Code == "FSM021" }) {
			t.Fatalf("raised twice: %t\n%v\n%s", clash, found, b.String())
		}
		if clash {
			twice++
			continue
		}
		for i, list := range branches {
			s := tell(t, m)
			if !creates {
				s.does(s.call("make", nil))
			}
			s.does(s.call("step", in{"way": interp.Word(string(rune('a' + i)))}))
			for _, c := range counters {
				want := int64(0)
				if slices.Contains(given, c) {
					want = 5
				}
				if slices.Contains(always, c) || slices.Contains(list, c) {
					want++
				}
				if got := s.w.Records["a"].Value(m, m.Field(c)).Num; got != want {
					t.Errorf("%s is %d after branch %d, want %d\n%s", c, got, i, want, b.String())
				}
			}
		}
	}
	if twice < 20 || twice > 180 {
		t.Errorf("%d of 200 machines raise a counter twice: the draw says little", twice)
	}
}
