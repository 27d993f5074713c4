package lsp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// lenses tell at a line how many cells, of a state and an operation each, it decides.
func lenses(d *document, _ at) ([]codeLens, error) {
	list := []codeLens{}
	v := d.source()
	m := v.read().Draft
	if !d.specification || m == nil {
		return list, nil
	}
	put := func(pos spec.Pos, title string) {
		if title != "" && !pos.IsZero() {
			list = append(list, codeLens{v.rangeOf(pos, 0), command{Title: title}})
		}
	}
	counts := countCells(m)
	for _, o := range m.Operations {
		put(o.Pos, counts.of(o))
		if line := firstOf(o.RecordOnlyIn); line.Line > o.Pos.Line {
			put(line, cells(len(o.RecordOnlyIn), "recorded only"))
		}
		for _, b := range o.Choose {
			if n := counts.branches[b]; n > 0 {
				put(b.Pos, cells(n, "may take the branch"))
			}
		}
	}
	put(v.keyOf("otherwise", 0), counts.rest(nil))
	for _, s := range m.States {
		if s.Otherwise != spec.OtherwiseUnset {
			put(s.Pos, counts.rest(s))
		}
	}
	slices.SortStableFunc(list, func(a, b codeLens) int { return a.Range.Start.Line - b.Range.Start.Line })
	return list, nil
}

func firstOf(refs []spec.StateRef) spec.Pos {
	if len(refs) == 0 {
		return spec.Pos{}
	}
	return refs[0].Pos
}

// cells counts cells in words.
func cells(n int, what string) string {
	if n == 1 {
		return "1 cell: " + what
	}
	return fmt.Sprintf("%d cells: %s", n, what)
}

// cellsOf tells how the cells of an operation are decided; empty for a creation, which has none.
func cellsOf(m *spec.Machine, o *spec.Operation) string { return countCells(m).of(o) }

// counted is how many cells the lines of a machine decide. What no operation lists is counted
// by what is left, so that it takes time by the names in the file and not by the cells.
type counted struct {
	m        *spec.Machine
	stepping int                    // operations that have cells
	listed   map[*spec.State]int    // cells of a state that operations list
	branches map[*spec.Branch]int   // cells that may take a branch
	ways     map[spec.Otherwise]int // states, by what happens to what nobody lists
}

func countCells(m *spec.Machine) counted {
	c := counted{m, 0, map[*spec.State]int{}, map[*spec.Branch]int{}, map[spec.Otherwise]int{}}
	for _, s := range m.States {
		c.ways[c.way(s)]++
	}
	for _, o := range m.Operations {
		if len(o.Creates) > 0 {
			continue
		}
		c.stepping++
		for s := range listed(o) {
			c.listed[s]++
			for _, b := range o.Branches(s) {
				c.branches[b]++
			}
		}
	}
	return c
}

// way is what happens to the operations that a state is not listed by.
func (c counted) way(s *spec.State) spec.Otherwise {
	if s.Otherwise != spec.OtherwiseUnset {
		return s.Otherwise
	}
	return c.m.Otherwise
}

// listed are the states that an operation lists, with what it does to them.
func listed(o *spec.Operation) map[*spec.State]spec.Class {
	list := map[*spec.State]spec.Class{}
	for _, r := range o.RecordOnlyIn {
		list[r.State] = spec.RecordOnly
	}
	for _, r := range o.From {
		list[r.State] = spec.Transition
	}
	return list
}

// of tells how the cells of an operation are decided.
func (c counted) of(o *spec.Operation) string {
	if len(o.Creates) > 0 {
		return ""
	}
	left := maps.Clone(c.ways)
	count := map[spec.Class]int{}
	for s, class := range listed(o) {
		left[c.way(s)]--
		count[class]++
	}
	count[spec.RecordOnly] += left[spec.OtherwiseRecordOnly]
	count[spec.Reject] += left[spec.OtherwiseReject]
	count[spec.Unclassified] += left[spec.OtherwiseUnset]
	var parts []string
	for _, c := range []struct {
		class spec.Class
		what  string
	}{{spec.Transition, "transition"}, {spec.RecordOnly, "recorded only"}, {spec.Reject, "refused"}, {spec.Unclassified, "undecided"}} {
		n := count[c.class]
		if n > 1 && c.class == spec.Transition {
			c.what += "s"
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.what))
		}
	}
	return cells(len(c.m.States), strings.Join(parts, ", "))
}

// rest tells how many cells the `otherwise` of a state decides, or that of the machine.
func (c counted) rest(of *spec.State) string {
	n, way := 0, c.m.Otherwise
	for _, s := range c.m.States {
		if s == of || of == nil && s.Otherwise == spec.OtherwiseUnset {
			n += c.stepping - c.listed[s]
		}
	}
	if of != nil {
		way = of.Otherwise
	}
	what := map[spec.Otherwise]string{spec.OtherwiseReject: "refused", spec.OtherwiseRecordOnly: "recorded only"}[way]
	if what == "" {
		return ""
	}
	return cells(n, what+" by `otherwise`")
}

// keyOf returns where a key of the given indentation stands; the zero place when it is not there.
func (t text) keyOf(key string, indent int) spec.Pos {
	for n := range t.lines {
		if strings.HasPrefix(t.line(n), strings.Repeat(" ", indent)+key+":") {
			return spec.Pos{Line: n + 1, Col: indent + 1}
		}
	}
	return spec.Pos{}
}
