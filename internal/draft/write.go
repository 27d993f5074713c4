package draft

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// writer writes the text of a plan. It need not be well formed: spec.Format makes it so.
type writer struct {
	bytes.Buffer
	p *plan
}

func (w *writer) line(indent int, format string, args ...any) {
	w.WriteString(strings.Repeat(" ", indent))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// comment writes a comment of its own, wrapped.
func (w *writer) comment(indent int, text string) {
	const width = 100
	line := "#"
	for _, word := range strings.Fields(clean(text)) {
		if len(line)+1+len(word) > width && line != "#" {
			w.line(indent, "%s", line)
			line = "#  "
		}
		line += " " + word
	}
	w.line(indent, "%s", line)
}

// quoted returns a text as a scalar of YAML.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(shortened(text, 4000)); err != nil {
		panic(err) // a string always has a form
	}
	return strings.TrimSpace(b.String())
}

// named is the comment that tells the first name.
func named(name, first string) string {
	if first = shortened(first, 120); first == "" || first == name {
		return ""
	}
	return "  # in the file: " + first
}

// longestList is how many notes stand in the text; all are told beside it.
const longestList = 100

func (p *plan) text(file string) []byte {
	w := &writer{p: p}
	w.head(file)
	w.fields()
	w.states()
	w.groups()
	w.guards()
	w.line(0, "operations:")
	for _, o := range p.operations {
		w.operation(o)
	}
	return w.Bytes()
}

func (w *writer) head(file string) {
	p := w.p
	w.line(0, "# yaml-language-server: $schema=https://raw.githubusercontent.com/fsmgen/fsmgen/main/spec/schema.json")
	w.line(0, "#")
	w.comment(0, fmt.Sprintf("A draft, from %s (%s). It passes `fsmgen check`; whether it says what is meant, only you can tell. "+
		"Comments with \"guess:\" tell what the file does not say, and how it was filled in.", clean(file), p.format))
	for _, h := range p.tree.head {
		w.comment(0, h)
	}
	lost := slices.DeleteFunc(slices.Clone(p.notes), func(n Note) bool { return n.Kind != Lost })
	if len(lost) > 0 {
		w.line(0, "#")
		w.line(0, "# Not carried over:")
	}
	for i, n := range lost {
		if i == longestList {
			w.line(0, "# - and %d more, which `fsmgen init --json` lists", len(lost)-i)
			break
		}
		at := ""
		if n.Line > 0 {
			at = fmt.Sprintf("line %d: ", n.Line)
		}
		w.comment(0, "- "+at+n.Text)
	}
	w.line(0, "fsm: 1")
	w.line(0, "machine: %s%s", p.machine, named(p.machine, p.name))
	w.line(0, "entity: %s", p.entity)
	if p.doc != "" {
		w.line(0, "doc: %s", quoted(p.doc))
	}
	w.line(0, "\n# Each call names its request, so that a repeated one changes nothing, and may")
	w.line(0, "# name the revision that it decided on.")
	w.line(0, "requests:\n  request_id: required\n  expected_rev: optional")
	w.line(0, "\n# Every step that is not listed below is refused.")
	w.line(0, "otherwise: reject\n")
}

func (w *writer) fields() {
	if len(w.p.deadlines) == 0 && !w.p.owner {
		return
	}
	w.line(0, "fields:")
	if w.p.owner {
		w.line(2, "owner:  # guess: who moved the record here is the one who moves it on")
		w.line(4, "type: optional string")
	}
	for _, d := range w.p.deadlines {
		w.line(2, "%s:  # %s", d.field, d.guess)
		w.line(4, "type: optional time")
	}
	w.line(0, "")
}

func (w *writer) states() {
	p := w.p
	w.line(0, "states:")
	for _, l := range p.leaves {
		for _, r := range slices.Concat(l.remarks, p.said[l.node]) {
			w.comment(2, r)
		}
		w.line(2, "%s:%s", l.id, named(l.id, l.name))
		size := w.Len()
		if l.doc != "" {
			w.line(4, "doc: %s", quoted(l.doc))
		}
		w.end(l)
		var present, absent []string
		if p.owner {
			if l.owned {
				present = append(present, "owner")
			} else {
				absent = append(absent, "owner")
			}
		}
		for _, d := range p.deadlines {
			if d.scope[l] {
				present = append(present, d.field)
			} else {
				absent = append(absent, d.field)
			}
		}
		w.list(4, "present", present)
		w.list(4, "absent", absent)
		w.effects(4, "enter", p.enter[l.node])
		w.effects(4, "exit", p.exit[l.node])
		if w.Len() == size {
			w.Truncate(size - 1)
			text, comment, _ := strings.Cut(string(w.Bytes()[bytes.LastIndexByte(w.Bytes(), '\n')+1:]), ":")
			w.Truncate(bytes.LastIndexByte(w.Bytes(), '\n') + 1)
			w.line(0, "%s: {}%s", text, comment)
		}
	}
	w.line(0, "")
}

// end says whether a state is an end.
func (w *writer) end(l *leaf) {
	stays, leaves := false, false
	for _, o := range w.p.operations {
		for _, way := range o.ways[l] {
			if way.target != nil && slices.Contains(o.sources, l) {
				stays = stays || way.stays
				leaves = leaves || !way.stays
			}
		}
	}
	guess := ""
	if l.kind != final {
		guess = "  # guess: nothing in the file leaves it"
		if w.p.rows > 0 {
			guess = ""
		}
	}
	switch {
	case leaves && (l.kind == final || l.open):
		w.line(4, "final: true  # finished, and yet it may be left")
	case leaves:
	case stays || l.open:
		w.line(4, "final: true%s", guess)
	default:
		w.line(4, "terminal: true%s", guess)
	}
}

func (w *writer) list(indent int, key string, items []string) {
	if len(items) > 0 {
		w.line(indent, "%s: [%s]", key, strings.Join(items, ", "))
	}
}

func (e effect) String() string {
	text := "{name: " + e.name
	if e.then != "" {
		text += ", then: " + e.then
	}
	if e.failed != "" {
		text += ", failed: " + e.failed
	}
	return text + "}"
}

func (w *writer) effects(indent int, key string, list []effect) {
	switch len(list) {
	case 0:
	case 1:
		w.line(indent, "%s: %s", key, list[0])
	default:
		w.line(indent, "%s:", key)
		for _, e := range list {
			w.line(indent+2, "- %s", e)
		}
	}
}

func (w *writer) groups() {
	first := true
	for _, g := range w.p.groups {
		if first {
			w.line(0, "# States of the file that hold others.")
			w.line(0, "state_groups:")
			first = false
		}
		ids := make([]string, len(g.leaves))
		for i, l := range g.leaves {
			ids[i] = l.id
		}
		said := slices.Concat(g.remarks, w.p.said[g.node])
		for _, r := range said {
			w.comment(2, r)
		}
		if g.doc == "" && len(w.p.enter[g.node])+len(w.p.exit[g.node]) == 0 {
			w.line(2, "%s: [%s]%s", g.id, strings.Join(ids, ", "), named(g.id, g.name))
			continue
		}
		w.line(2, "%s:%s", g.id, named(g.id, g.name))
		if g.doc != "" {
			w.line(4, "doc: %s", quoted(g.doc))
		}
		w.list(4, "states", ids)
		w.effects(4, "enter", w.p.enter[g.node])
		w.effects(4, "exit", w.p.exit[g.node])
	}
	if !first {
		w.line(0, "")
	}
}

func (w *writer) guards() {
	p := w.p
	used := p.owner && slices.ContainsFunc(p.operations, func(o *operation) bool { return o.owner })
	for _, o := range p.operations {
		if t := o.required(); t != nil {
			used = true
			t.test.used = true
		}
	}
	if !used {
		return
	}
	w.line(0, "# Preconditions; each refuses with an error of its own.")
	w.line(0, "guards:")
	if slices.ContainsFunc(p.operations, func(o *operation) bool { return o.owner }) {
		w.line(2, "owner_only: {when: owner == actor, error: not_owner}  # guess")
	}
	for _, t := range p.tests {
		for _, not := range []bool{false, true} {
			if slices.ContainsFunc(p.operations, func(o *operation) bool { r := o.required(); return r != nil && r.test == t && r.not == not }) {
				w.line(2, "%s: {when: input.%s == %v, error: %s}%s", t.guard(not), t.name, !not, t.failure(not), named(t.name, t.text))
			}
		}
	}
	w.line(0, "")
}

func (t *test) guard(not bool) string {
	if not {
		return "not_" + t.name
	}
	return t.name
}

func (t *test) failure(not bool) string {
	if not {
		return t.name
	}
	return t.fail
}

// alike reports whether ways do the same.
func alike(a, b []*way) bool {
	return slices.EqualFunc(a, b, func(a, b *way) bool {
		to := a.target == b.target && a.stays == b.stays || a.stays && b.stays
		return to && a.test == b.test && a.not == b.not && a.outcome == b.outcome && slices.Equal(a.set, b.set) && slices.Equal(a.clear, b.clear) &&
			slices.Equal(a.effects, b.effects) && a.owner == b.owner
	})
}

// single returns the way that an operation takes from each state, or nil.
func (o *operation) single() *way {
	first := o.ways[o.sources[0]]
	if len(first) != 1 || first[0].outcome != "" {
		return nil
	}
	w := *first[0]
	for _, l := range o.sources[1:] {
		ways := o.ways[l]
		if len(ways) != 1 || ways[0].target == nil {
			return nil
		}
		v := *ways[0]
		if v.target == w.target && (v.stays || w.stays) { // "to" its own state is the same
			v.stays, w.stays = false, false
		}
		if !alike([]*way{&v}, []*way{&w}) {
			return nil
		}
	}
	return &w
}

// required returns the way of an operation whose one guard stands under `require`.
func (o *operation) required() *way {
	if w := o.single(); w != nil && w.test != nil {
		return w
	}
	return nil
}

// from writes a list of states, with groups where all of one are in it.
func (p *plan) from(list []*leaf) string {
	if len(list) > 1 {
		for _, g := range p.groups {
			if len(g.leaves) == len(list) && !slices.ContainsFunc(g.leaves, func(l *leaf) bool { return !slices.Contains(list, l) }) {
				return g.id
			}
		}
	}
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.id
	}
	if len(ids) == 1 {
		return ids[0]
	}
	return "[" + strings.Join(ids, ", ") + "]"
}

func entity(machine string, r *renames) string {
	name := spec.GoName(machine)
	for r.by["entity"][name] > 0 {
		name += "Record"
	}
	return name
}
