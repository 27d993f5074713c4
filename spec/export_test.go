package spec

// Meaning is the canonical text that the hash is taken over.
var Meaning = meaning

// PrintsExactly reports whether Format prints src without falling back on the
// text as it is.
func PrintsExactly(src []byte) bool {
	r := &reporter{}
	text, _ := cleanText(r, src)
	root := readYAML(r, text)
	_, ok := printTree(root, text)
	return ok
}

// RootKeys and OperationKeys are the keys that the parser knows.
var (
	RootKeys      = rootKeys
	OperationKeys = operationKeys
)

// AssignText writes an assignment as the hash reads it.
var AssignText = assignText
