package spec

import (
	_ "embed"
	"slices"
)

// SchemaURL is where editors find the JSON Schema of specifications.
const SchemaURL = "https://raw.githubusercontent.com/fsmgen/fsmgen/main/spec/schema.json"

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of specifications, for editors:
// it accepts every file that Parse accepts, and refuses unknown keys, nodes of
// the wrong kind and missing keys. Facts, and whether names are declared, it
// does not look at.
func Schema() []byte { return slices.Clone(schema) }
