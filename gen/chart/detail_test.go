package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// all are the machines of the repository and those of well-known systems.
func all(t *testing.T) map[string]*spec.Machine {
	t.Helper()
	ms := shipped(t)
	files, err := filepath.Glob("../../examples/machines/*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d specifications, expected nine: %v", len(files), err)
	}
	for _, f := range files {
		ms[strings.TrimSuffix(filepath.Base(f), ".yaml")] = machine(t, f)
	}
	return ms
}

// said lists the moves of a machine by its operations: "from operation to".
func said(m *spec.Machine) []string {
	list := make(map[string]bool)
	for _, o := range m.Operations {
		sources := []*spec.State{nil}
		if len(o.Creates) == 0 {
			sources = nil
			for _, f := range o.From {
				sources = append(sources, f.State)
			}
		}
		for _, s := range sources {
			from := "-"
			if s != nil {
				from = s.Name
			}
			add := func(to string) { list[from+" "+o.Name+" "+to] = true }
			switch {
			case len(o.Choose) > 0:
				for _, b := range o.Branches(s) {
					if b.To != nil {
						add(b.To.State.Name)
					} else if b.Same {
						add(from)
					}
				}
			case s == nil:
				add(o.Creates[0].State.Name)
			case o.Same || o.To == nil:
				add(from)
			default:
				add(o.To.State.Name)
			}
		}
	}
	return slices.Sorted(maps.Keys(list))
}

// read lists the moves that a chart shows: groups and choice points are
// followed as a reader follows them.
func read(c *Chart) []string {
	list := make(map[string]bool)
	name := func(n *Node) string {
		if n.Kind == Start {
			return "-"
		}
		return n.Name
	}
	for _, e := range c.Edges {
		for _, s := range e.Steps {
			if s.Branch {
				continue
			}
			sources := []*Node{e.From}
			if e.From.Kind == Group {
				sources = e.From.Of
			}
			for _, from := range sources {
				add := func(to string) { list[name(from)+" "+s.Operation.Name+" "+to] = true }
				switch {
				case e.Loop():
					add(name(from))
				case e.To.Kind == Choice:
					for _, b := range c.Edges {
						if b.From == e.To {
							add(b.To.Name)
						}
					}
				default:
					add(e.To.Name)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(list))
}

// With less detail, boxes for many states and arrows that part show the same
// moves as the machine has, no more and no less.
func TestLessDetailShowsEveryMove(t *testing.T) {
	t.Parallel()
	grouped := 0
	for name, m := range all(t) {
		for _, d := range []Detail{Brief, Guards} {
			c := At(m, d)
			if diff := cmp.Diff(said(m), read(c)); diff != "" {
				t.Errorf("%s, %s: moves (-machine +picture):\n%s", name, d, diff)
			}
			for _, n := range c.Nodes {
				if n.Kind == Group {
					grouped++
				}
			}
			if len(c.Never) > 0 || c.Projection != nil || d == Brief && len(c.Guards) > 0 {
				t.Errorf("%s, %s shows what is for more detail", name, d)
			}
			for _, e := range c.Edges {
				for _, s := range e.Steps {
					if s.refused || s.recordOnly {
						t.Errorf("%s, %s: %s has a branch that leads nowhere", name, d, s.Operation.Name)
					}
				}
			}
			for _, n := range c.Nodes {
				ends := make(map[*Node]bool)
				for _, e := range c.Edges {
					if e.From == n {
						ends[e.To] = true
					}
				}
				if n.Kind == Choice && len(ends) < 2 {
					t.Errorf("%s, %s: the choice point %s has one way", name, d, n.ID)
				}
			}
		}
	}
	if grouped < 10 {
		t.Errorf("%d groups: this test sees too little", grouped)
	}
}

// chain is a machine of states s0, s1, … of which the last ones are terminal
// or final.
func chain(open, terminal, final int) *spec.Machine {
	m := &spec.Machine{Entity: "Thing"}
	for i := range open + terminal + final {
		m.States = append(m.States, &spec.State{Index: i, Name: fmt.Sprintf("s%d", i), Terminal: i >= open && i < open+terminal, Final: i >= open+terminal})
	}
	return m
}

func TestGroupLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, to string
		want   string
	}{
		{"s0 s1 s2 s3 s4 s5 s6 s7 s8 s9", "s8", "every state"},
		{"s0 s1 s2 s3 s4 s5 s6 s7 s9", "s8", "every other state"},
		{"s0 s1 s2 s3 s4 s5 s6 s7 s9", "", "every state|but s8"},
		{"s0 s1 s2 s3 s4 s5", "s6", "every non-final state"},
		{"s0 s1 s2 s3 s4 s5 s8 s9", "s6", "every non-terminal|state"},
		{"s0 s1 s2 s3 s4 s5 s8", "s9", "s0, s1, s2, s3, s4,|s5, s8"},
		{"s0 s1 s2 s3", "s4", "s0, s1, s2, s3"},
		{"s0 s1 s3 s4 s5", "s6", "s0, s1, s3, s4, s5"},
	} {
		ch := At(chain(6, 2, 2), Brief)
		var states []*Node
		for n := range strings.FieldsSeq(c.in) {
			states = append(states, ch.node("s_"+n))
		}
		got := strings.Join(ch.groupLines(states, ch.node("s_"+c.to)), "|")
		if got != c.want {
			t.Errorf("%s to %q is %q, want %q", c.in, c.to, got, c.want)
		}
	}
}

// An arrow of a group is counted once for each event of any of its states.
func TestWeighedGroup(t *testing.T) {
	t.Parallel()
	m := machine(t, "../../examples/machines/batchjob.yaml")
	c := At(m, Brief)
	if _, unknown := c.Weigh([]Traffic{
		{Operation: "terminate", From: "submitted", To: "failed", Count: 3},
		{Operation: "terminate", From: "running", To: "failed", Count: 4},
		{Operation: "terminate", From: "succeeded", To: "failed", Count: 9}, // of no state of the group
	}); unknown != 9 {
		t.Errorf("%d events are on no arrow, want 9", unknown)
	}
	for _, e := range c.Edges {
		if e.From.Kind == Group && e.Steps[0].Operation.Name == "terminate" && e.Count != 7 {
			t.Errorf("the arrow of the group counts %d, want 7", e.Count)
		}
	}
}
