package chart

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/spec"
)

// movesSpec writes a random machine whose operations leave, stay, choose and meet
// each other: up to eight states, most operations from many of them.
func movesSpec(r *rand.Rand) string {
	var b strings.Builder
	states := make([]string, 2+r.IntN(7))
	b.WriteString("fsm: 1\nmachine: moves\nentity: Moves\notherwise: reject\nfields: {n: int, due: {type: time}}\nstates:\n")
	for i := range states {
		states[i] = fmt.Sprintf("s%d", i)
		fmt.Fprintf(&b, "  s%d: {}\n", i)
	}
	some := func(of []string) []string {
		list := slices.Clone(of)
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		return list[:1+r.IntN(len(list))]
	}
	listed := func(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
	one := func() string { return states[r.IntN(len(states))] }
	b.WriteString("operations:\n  make: {creates: s0, set: {n: input, due: input}}\n")
	fmt.Fprintf(&b, "  split: {set: {n: input, due: input}, creates: [%s, %s], choose: [{when: n > 1, to: %[1]s}, {to: %[2]s}]}\n", states[0], states[1])
	for i := range 1 + r.IntN(6) {
		sources := some(states)
		fmt.Fprintf(&b, "  o%d:\n    from: %s\n", i, listed(sources))
		if r.IntN(4) == 0 {
			b.WriteString("    by: system\n    trigger: [after due]\n")
		}
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "    to: %s\n", one())
			continue
		case 1:
			b.WriteString("    to: same\n")
			continue
		}
		b.WriteString("    choose:\n")
		for range r.IntN(4) {
			from, when := "", ""
			switch r.IntN(3) {
			case 0:
				when = "when: n == 1, "
			case 1:
				from, when = "from: "+listed(some(sources))+", ", "when: n == 2, "
			default:
				from = "from: " + listed(some(sources)) + ", "
			}
			fmt.Fprintf(&b, "      - {%s%s%s}\n", from, when, target(r, one))
		}
		fmt.Fprintf(&b, "      - {%s}\n", target(r, one))
	}
	return b.String()
}

func target(r *rand.Rand, one func() string) string {
	return [...]string{"to: same", "to: same", "to: " + one(), "to: " + one(), "record_only: true", "reject: never"}[r.IntN(6)]
}

var mermaidArrow = regexp.MustCompile(`^  (\S+) --> (\S+?)(?: : (.*))?$`)

// readText lists the moves that the Mermaid text of a chart shows, as read does; the
// chart says only which states a group has.
func readText(c *Chart) []string {
	type arrow struct{ from, to, label string }
	var arrows []arrow
	var list []string
	add := func(from, operation, to string) {
		sources := []string{strings.TrimPrefix(from, "s_")}
		if n := c.node(from); n != nil && n.Kind == Group {
			sources = names(n.Of)
		}
		for _, s := range sources {
			end := strings.TrimPrefix(to, "s_")
			if from == to {
				end = s
			}
			list = append(list, strings.Replace(s, "[*]", "-", 1)+" "+operation+" "+end)
		}
	}
	for line := range strings.Lines(string(Mermaid(c))) {
		line = strings.TrimSuffix(line, "\n")
		if m := mermaidArrow.FindStringSubmatch(line); m != nil {
			arrows = append(arrows, arrow{m[1], m[2], m[3]})
		} else if id, loop, ok := strings.Cut(line, " : ↻ "); ok {
			add(strings.TrimSpace(id), strings.Fields(loop)[0], strings.TrimSpace(id))
		}
	}
	for _, a := range arrows {
		for _, op := range regexp.MustCompile(`<b>(\w+)</b>`).FindAllStringSubmatch(a.label, -1) {
			if !strings.HasPrefix(a.to, "c_") {
				add(a.from, op[1], a.to)
				continue
			}
			for _, b := range arrows {
				if b.from == a.to {
					add(a.from, op[1], b.to)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Whatever the operations of a machine do, each of its moves is in the pictures with
// less detail: on an arrow, behind a choice point, or on the arrow of a group.
func TestEveryMoveIsDrawn(t *testing.T) {
	t.Parallel()
	draws := 500
	if campaign.On() {
		draws = 100_000
	}
	moves := 0
	for seed := range draws {
		text := movesSpec(rand.New(rand.NewPCG(uint64(seed), 36)))
		m, found := spec.Parse("moves.yaml", []byte(text))
		if m == nil || found.Err() != nil {
			t.Fatalf("%v\n%s", found.Err(), text)
		}
		want := said(m)
		moves += len(want)
		for _, d := range []Detail{Brief, Guards} {
			c := At(m, d)
			if diff := cmp.Diff(want, read(c)); diff != "" {
				t.Fatalf("seed %d, %s: moves (-machine +picture):\n%s\n%s", seed, d, diff, text)
			}
			if diff := cmp.Diff(want, readText(c)); diff != "" {
				t.Fatalf("seed %d, %s: moves (-machine +text):\n%s\n%s", seed, d, diff, text)
			}
		}
	}
	t.Logf("%d machines, %d moves", draws, moves)
}
