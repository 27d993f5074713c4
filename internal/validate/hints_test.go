package validate_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Hints are ways out. One that is an edit, applied to the file, takes the finding away,
// makes no error, and takes no promise back unless it says so. What is no edit here is
// advice: it asks for something that only the author knows.
func TestHintsLeadOut(t *testing.T) {
	t.Parallel()
	applied := map[string]int{}
	for _, r := range validate.Rules {
		for _, file := range fixtures(t, r.Code, "bad") {
			src := string(read(t, file))
			_, found := r.Check(filepath.Base(file), []byte(src))
			for _, d := range found {
				if r.Changes || r.Model {
					continue // they speak of two versions, or of bounds
				}
				for _, said := range clauses(d.Hint) {
					w, args := wayOf(said)
					if w == nil {
						t.Errorf("%s: nobody said whether %q is an edit (%s)", file, said, d)
						continue
					}
					if w.edit == nil {
						continue
					}
					applied[w.says.String()]++
					if wrong := leadsOut(r, file, src, d, w, args); wrong != "" {
						t.Errorf("%s: %s\n\t%q, applied: %s", file, d, said, wrong)
					}
				}
			}
		}
	}
	for _, w := range ways {
		if w.edit != nil && applied[w.says.String()] == 0 {
			t.Errorf("no fixture has a hint like %s", w.says)
		}
	}
}

// leadsOut says what is wrong with all ways to apply an edit, or nothing.
func leadsOut(r validate.Rule, file, src string, d spec.Diagnostic, w *way, args []string) string {
	e := &edit{src: src, d: d}
	all := "it cannot be applied"
	for _, next := range w.edit(e, args) {
		_, found := r.Check(filepath.Base(file), []byte(next))
		wrong := ""
		before, _ := spec.Parse(file, []byte(src))
		after, _ := spec.Parse(file, []byte(next))
		for _, f := range found {
			if f.Code == d.Code && f.Message == d.Message {
				wrong = "the finding stays"
			}
		}
		_, was := validate.Source(file, []byte(src))
		_, is := validate.Source(file, []byte(next))
		for _, f := range is {
			known := slices.ContainsFunc(was, func(o spec.Diagnostic) bool { return o.Code == f.Code })
			if f.Severity == spec.Error && !known {
				wrong = "a new error: " + f.String()
			}
		}
		if lost := weaker(before, after); lost != "" && !w.weakens {
			wrong = "a promise is lost: " + lost
		}
		for _, f := range found { // where several findings are one another's cause, all are acted upon
			offered := clauses(f.Hint)
			other, args := wayOf(offered[len(offered)-1])
			if wrong != "" && f.Code == d.Code && f.Message != d.Message && other == w {
				wrong = leadsOut(r, file, next, f, w, args)
				break
			}
		}
		if wrong == "" {
			return ""
		}
		all = fmt.Sprintf("%s\n%s:\n%s", all, wrong, next)
	}
	return all
}

// weaker names a promise of a machine that another one does not make.
func weaker(before, after *spec.Machine) string {
	if before == nil || after == nil {
		return ""
	}
	kept := promises(after)
	for _, p := range promises(before) {
		if !slices.Contains(kept, p) && !droppedWhole(after, p) {
			return strings.Join(p[:], " ")
		}
	}
	return ""
}

// promise is what is promised, about what, of which kind. A promise of something that
// is no longer there is not lost.
type promise [3]string

func droppedWhole(m *spec.Machine, p promise) bool {
	named := func(n string) bool { return n == p[1] }
	switch p[0] {
	case "state":
		return !slices.ContainsFunc(m.States, func(s *spec.State) bool { return named(s.Name) })
	case "field":
		return !slices.ContainsFunc(m.Fields, func(f *spec.Field) bool { return named(f.Name) })
	case "operation":
		return !slices.ContainsFunc(m.Operations, func(o *spec.Operation) bool { return named(o.Name) })
	}
	return false
}

func promises(m *spec.Machine) []promise {
	var list []promise
	add := func(kind, of, what string) { list = append(list, promise{kind, of, what}) }
	for _, f := range m.Invariant {
		add("machine", "", f.Text)
	}
	for _, s := range m.States {
		for _, f := range s.Invariant {
			add("state", s.Name, f.Text)
		}
		for _, f := range s.Present {
			add("state", s.Name, f.Field.Name+" is present")
		}
		for _, f := range s.Absent {
			add("state", s.Name, f.Field.Name+" is absent")
		}
		if s.Terminal {
			add("state", s.Name, "terminal")
		}
	}
	for _, o := range m.Operations {
		if o.By != spec.ByCaller {
			add("operation", o.Name, fmt.Sprint("by ", o.By))
		}
		for _, r := range o.Require {
			for _, f := range r.When {
				if r.Limit != nil {
					break // told below
				}
				add("operation", o.Name, "requires "+f.Text)
			}
			if p := r.Guard.Peers; p != nil {
				if p.Limit != nil {
					add("operation", o.Name, "requires fewer than "+p.Number())
				}
				if p.Some {
					add("operation", o.Name, "requires another record")
				}
				for n := p.Than; n < 12 && p.Limit == nil && !p.Some; n++ {
					add("operation", o.Name, fmt.Sprint("requires fewer than ", n))
				}
				for _, s := range p.In {
					add("operation", o.Name, fmt.Sprint("looks at ", s.State.Name))
				}
			}
		}
	}
	for _, u := range m.Unique {
		for _, s := range u.In {
			add("unique", u.Name, "in "+s.State.Name)
		}
	}
	for _, f := range m.Forbidden {
		add("forbidden", "", f.From.State.Name+" -> "+f.To.State.Name)
	}
	for _, f := range m.Fields {
		if !f.Type.Optional {
			add("field", f.Name, "always present")
		}
		if f.Type.Min != nil {
			add("field", f.Name, fmt.Sprint("at least ", *f.Type.Min))
		}
		if f.Type.Max != nil {
			add("field", f.Name, fmt.Sprint("at most ", *f.Type.Max))
		}
	}
	return list
}

// clauses divides a hint into the ways that it offers.
func clauses(hint string) []string {
	var list []string
	quoted, from := false, 0
	for i := 0; i < len(hint); i++ {
		if hint[i] == '`' {
			quoted = !quoted
		}
		for _, sep := range []string{", or ", "; else ", "; "} {
			if !quoted && strings.HasPrefix(hint[i:], sep) && i >= from {
				list, from = append(list, hint[from:i]), i+len(sep)
			}
		}
	}
	return append(list, hint[from:])
}

func wayOf(said string) (*way, []string) {
	for i := range ways {
		if args := ways[i].says.FindStringSubmatch(said); args != nil {
			return &ways[i], args
		}
	}
	return nil, nil
}

// edit is a file and a finding in it.
type edit struct {
	src string
	d   spec.Diagnostic
}

// at is the offset of a position.
func (e *edit) at(p spec.Pos) int {
	lines := strings.SplitAfter(e.src, "\n")
	n := 0
	for i := range p.Line - 1 {
		n += len(lines[i])
	}
	return n + len(string([]rune(lines[p.Line-1])[:p.Col-1]))
}

// word is what is marked.
func (e *edit) word() string {
	return string([]rune(e.src[e.at(e.d.Pos):])[:e.d.Len])
}

// put writes a text in the place of what is marked.
func (e *edit) put(text string) string {
	i := e.at(e.d.Pos)
	return e.src[:i] + text + e.src[i+len(e.word()):]
}

// tree edits the file as YAML. The chain leads from the root to the node at a place.
func (e *edit) tree(p spec.Pos, change func(root *yaml.Node, chain []*yaml.Node) bool) []string {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(e.src), &doc); err != nil {
		return nil
	}
	root := doc.Content[0]
	var best []*yaml.Node
	var walk func(n *yaml.Node, chain []*yaml.Node)
	walk = func(n *yaml.Node, chain []*yaml.Node) {
		chain = append(slices.Clone(chain), n)
		if n.Line < p.Line || n.Line == p.Line && n.Column <= p.Col {
			last := n
			if len(best) > 0 {
				last = best[len(best)-1]
			}
			if last.Line < n.Line || last.Line == n.Line && last.Column <= n.Column {
				best = chain
			}
		}
		for _, c := range n.Content {
			walk(c, chain)
		}
	}
	walk(root, nil)
	if !change(root, best) {
		return nil
	}
	b, err := yaml.Marshal(&doc)
	if err != nil {
		return nil
	}
	return []string{string(b)}
}

// drop removes the entry or item that a chain leads to, and what is empty then.
func drop(chain []*yaml.Node) bool {
	for i := len(chain) - 2; i >= 0; i-- {
		parent, n := chain[i], slices.Index(chain[i].Content, chain[i+1])
		switch parent.Kind {
		case yaml.MappingNode:
			parent.Content = slices.Delete(parent.Content, n-n%2, n-n%2+2)
		case yaml.SequenceNode:
			parent.Content = slices.Delete(parent.Content, n, n+1)
		}
		if len(parent.Content) > 0 {
			return true
		}
	}
	return false
}

// in finds the value behind a path of keys; what is not there is made.
func in(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		i := 0
		for i < len(n.Content) && n.Content[i].Value != key {
			i += 2
		}
		if i >= len(n.Content) {
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &yaml.Node{Kind: yaml.MappingNode})
		}
		n = n.Content[i+1]
	}
	return n
}

// value reads a text as YAML.
func value(text string) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	return doc.Content[0]
}

// list makes a value a list.
func list(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode {
		one := *n
		*n = yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&one}}
	} else if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		n.Kind = yaml.SequenceNode
	}
	return n
}

func push(n *yaml.Node, texts ...string) bool {
	for _, t := range texts {
		list(n).Content = append(n.Content, value(t))
	}
	return true
}

func take(n *yaml.Node, text string) bool {
	i := slices.IndexFunc(list(n).Content, func(c *yaml.Node) bool { return c.Value == text })
	if i < 0 {
		return false
	}
	n.Content = slices.Delete(n.Content, i, i+1)
	return true
}

// fewer writes a guard with `none` as one with `fewer`.
var fewer = tree(func(x *place) bool {
	g := in(x.root, "guards", x.e.word())
	for i := 0; i < len(g.Content); i += 2 {
		if g.Content[i].Value == "none" {
			g.Content[i].Value = "fewer"
			*in(g.Content[i+1], "than") = *value("1")
			return true
		}
	}
	return false
})

// listed moves what is set under another key, which only names the field.
func listed(key string) func(*edit, []string) []string {
	return tree(func(x *place) bool {
		op := enclosingOf(x.chain, "set")
		return drop(x.chain) && op != nil && push(in(op, key), x.a[1])
	})
}
