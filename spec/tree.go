package spec

// Tree is a node of a YAML file that is no specification, such as the mapping of a table to a machine. It is read by the
// rules of specifications: one document, without anchors, tags and merge keys.
type Tree struct {
	Pos   Pos
	Len   int    // of the text in the file, in characters
	Kind  string // "mapping", "list", "text", or "nothing"
	Text  string // of a text
	Items []*Tree
	Keys  []*Tree // of a mapping
	Under []*Tree // the values of Keys
}

// ReadTree reads such a file. It returns nil when a finding is an error. An empty file is a
// mapping without keys.
func ReadTree(file string, src []byte) (*Tree, Diagnostics) {
	r := &reporter{file: file}
	root := &Tree{Pos: Pos{1, 1}, Len: 1, Kind: "mapping"}
	if text, ok := cleanText(r, src); ok {
		if n := readYAML(r, text); n != nil {
			root = r.tree(n)
		}
	}
	r.finish()
	if r.found.HasErrors() {
		return nil, r.found
	}
	return root, r.found
}

func (r *reporter) tree(n *node) *Tree {
	t := &Tree{Pos: n.pos, Len: n.span(), Text: n.text}
	switch n.kind {
	case mapNode:
		t.Kind = "mapping"
		seen := map[string]bool{}
		for _, p := range n.pairs {
			if seen[p.key.text] {
				r.at(codeDuplicate, p.key.word(), "remove one of them", "the key %q stands here twice", p.key.text)
			}
			seen[p.key.text] = true
			t.Keys, t.Under = append(t.Keys, r.tree(p.key)), append(t.Under, r.tree(p.value))
		}
	case listNode:
		t.Kind = "list"
		for _, item := range n.items {
			t.Items = append(t.Items, r.tree(item))
		}
	case scalarNode:
		t.Kind = "text"
	default:
		t.Kind = "nothing"
	}
	return t
}
