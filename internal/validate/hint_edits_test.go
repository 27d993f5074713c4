package validate_test

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/spec"
)

// What the hints of hint_ways_test.go make of a file: edits that several of them share.

// written puts what the hint writes in the place of what is marked.
func written(e *edit, a []string) []string { return []string{e.put(a[1])} }

// enclosing is the innermost mapping of a chain, or what the last key leads to.
func enclosing(chain []*yaml.Node) *yaml.Node {
	last := chain[len(chain)-1]
	if len(chain) > 1 && chain[len(chain)-2].Kind == yaml.MappingNode {
		parent := chain[len(chain)-2]
		for i := 0; i+1 < len(parent.Content); i += 2 {
			if parent.Content[i] == last && parent.Content[i+1].Kind == yaml.MappingNode {
				return parent.Content[i+1]
			}
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if chain[i].Kind == yaml.MappingNode {
			return chain[i]
		}
	}
	return last
}

// enclosingOf is the mapping in which a key leads to the chain.
func enclosingOf(chain []*yaml.Node, key string) *yaml.Node {
	for i := len(chain) - 2; i >= 0; i-- {
		for n := 0; chain[i].Kind == yaml.MappingNode && n < len(chain[i].Content); n += 2 {
			if chain[i].Content[n].Value == key && chain[i].Content[n+1] == chain[i+1] {
				return chain[i]
			}
		}
	}
	return nil
}

// requireNew adds a guard, and requires it in the operation of the finding.
var requireNew = tree(func(x *place) bool {
	if len(x.chain) < 3 {
		return false
	}
	*in(x.root, "guards", "new_one") = *value(`{when: ` + plain(x.a[1]) + `, error: new_one}`)
	return push(in(operation(x.root, x.chain), "require"), "new_one")
})

// plain writes facts so that YAML has them as they are.
func plain(facts string) string {
	if strings.HasPrefix(facts, "{") || strings.HasPrefix(facts, "[") {
		return facts
	}
	return `"` + facts + `"`
}

// narrower adds a fact to the `when` of the branch that a hint names by its line, or of
// that of the finding.
func narrower(e *edit, a []string) []string {
	return branchOf(e, a, func(_, branch *yaml.Node) bool { return push(in(branch, "when"), plain(a[1])) })
}

// branchOf edits that branch, in its list.
func branchOf(e *edit, a []string, change func(list, branch *yaml.Node) bool) []string {
	n := e.d.Pos.Line
	if len(a) > 2 {
		n, _ = strconv.Atoi(a[2])
	}
	end := spec.Pos{Line: n, Col: 1 + len(strings.Split(e.src, "\n")[n-1])}
	return e.tree(end, func(_ *yaml.Node, chain []*yaml.Node) bool {
		for i := len(chain) - 1; i > 0; i-- {
			if chain[i].Kind == yaml.MappingNode && chain[i].Line == n && chain[i-1].Kind == yaml.SequenceNode {
				return change(chain[i-1], chain[i])
			}
		}
		return false
	})
}

// unstated removes a state and the operations and branches that lead from or to it.
var unstated = tree(func(x *place) bool {
	ops, name := in(x.root, "operations"), x.e.word()
	for i := len(ops.Content) - 2; i >= 0; i -= 2 {
		op := ops.Content[i+1]
		gone := false
		for k := 0; k < len(op.Content); k += 2 {
			switch v := op.Content[k+1]; {
			case (op.Content[k].Value == "from" || op.Content[k].Value == "to") && v.Value == name:
				gone = true
			case op.Content[k].Value == "choose":
				v.Content = slices.DeleteFunc(v.Content, func(b *yaml.Node) bool {
					return slices.ContainsFunc(b.Content, func(n *yaml.Node) bool { return n.Value == name })
				})
				gone = gone || len(v.Content) == 0
			}
		}
		if gone {
			ops.Content = slices.Delete(ops.Content, i, i+2)
		}
	}
	without(x.root, name)
	return drop(x.chain)
})

// instead says what becomes of a field when its input is left out.
func instead(e *edit, a []string) []string { return []string{e.put(a[1] + " or " + a[2])} }
