package lsp

import (
	"fmt"
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
		put(o.Pos, cellsOf(m, o))
		if line := firstOf(o.RecordOnlyIn); line.Line > o.Pos.Line {
			put(line, cells(len(o.RecordOnlyIn), "recorded only"))
		}
		for _, b := range o.Choose {
			if n := counts.branches[b]; n > 0 {
				put(b.Pos, cells(n, "may take the branch"))
			}
		}
	}
	put(v.keyOf("otherwise", 0), counts.rest(m, nil))
	for _, s := range m.States {
		if s.Otherwise != spec.OtherwiseUnset {
			put(s.Pos, counts.rest(m, s))
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
func cellsOf(m *spec.Machine, o *spec.Operation) string {
	if len(o.Creates) > 0 {
		return ""
	}
	count := map[spec.Class]int{}
	for _, c := range m.Row(o) {
		count[c]++
	}
	var parts []string
	for _, c := range []struct {
		class spec.Class
		what  string
	}{{spec.Transition, "transition"}, {spec.RecordOnly, "recorded only"}, {spec.Reject, "refused"}, {spec.Unclassified, "undecided"}} {
		if n := count[c.class]; n > 0 {
			if n > 1 && c.class == spec.Transition {
				c.what += "s"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, c.what))
		}
	}
	return cells(len(m.States), strings.Join(parts, ", "))
}

// counted is how many cells the lines of a machine decide that are no lists of states.
type counted struct {
	others   map[*spec.State]int // cells that no operation lists, by the state
	branches map[*spec.Branch]int
}

func countCells(m *spec.Machine) counted {
	c := counted{map[*spec.State]int{}, map[*spec.Branch]int{}}
	for _, o := range m.Operations {
		if len(o.Creates) > 0 {
			continue
		}
		listed := map[*spec.State]bool{}
		for _, r := range o.From {
			listed[r.State] = true
			if len(o.Choose) > 0 {
				for _, b := range o.Branches(r.State) {
					c.branches[b]++
				}
			}
		}
		for _, r := range o.RecordOnlyIn {
			listed[r.State] = true
		}
		for _, s := range m.States {
			if !listed[s] {
				c.others[s]++
			}
		}
	}
	return c
}

// rest tells how many cells the `otherwise` of a state decides, or that of the machine.
func (c counted) rest(m *spec.Machine, of *spec.State) string {
	n, way := 0, m.Otherwise
	for s, count := range c.others {
		if s == of || of == nil && s.Otherwise == spec.OtherwiseUnset {
			n += count
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
