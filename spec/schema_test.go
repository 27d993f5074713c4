package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// schemaNode is what the tests below look at in a schema.
type schemaNode struct {
	ID            string                `json:"$id"`
	Ref           string                `json:"$ref"`
	Description   string                `json:"description"`
	Properties    map[string]schemaNode `json:"properties"`
	Additional    json.RawMessage       `json:"additionalProperties"`
	Items         *schemaNode           `json:"items"`
	Defs          map[string]schemaNode `json:"$defs"`
	PropertyNames *schemaNode           `json:"propertyNames"`
}

func readSchema(t *testing.T) schemaNode {
	t.Helper()
	var root schemaNode
	if err := json.Unmarshal(spec.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// The keys of the schema are those that the parser knows, level by level.
func TestSchemaKeys(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	if root.ID != spec.SchemaURL {
		t.Errorf("$id is %s, want %s", root.ID, spec.SchemaURL)
	}
	tests := map[string]struct {
		got  schemaNode
		want []string
	}{
		"specification": {root, spec.RootKeys},
		"operation":     {root.Defs["operation"], spec.OperationKeys},
	}
	for name, tt := range tests {
		var got []string
		for key := range tt.got.Properties {
			got = append(got, key)
		}
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(slices.Values(tt.want)), got); diff != "" {
			t.Errorf("keys of %s (-parser +schema):\n%s", name, diff)
		}
	}
}

// Every key has a text that an editor shows, every mapping of keys refuses
// others, and every reference leads somewhere.
func TestSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	root := readSchema(t)
	keys := 0
	var walk func(where string, n schemaNode)
	walk = func(where string, n schemaNode) {
		if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
			if _, there := root.Defs[name]; !there {
				t.Errorf("%s: %s leads nowhere", where, n.Ref)
			}
		}
		if n.Properties != nil && string(n.Additional) != "false" {
			t.Errorf("%s: other keys are not refused", where)
		}
		for key, p := range n.Properties {
			keys++
			described := p.Description != "" || root.Defs[strings.TrimPrefix(p.Ref, "#/$defs/")].Description != ""
			if !described {
				t.Errorf("%s: key %s has no description", where, key)
			}
			walk(where+"."+key, p)
		}
		for name, d := range n.Defs {
			walk(name, d)
		}
		if n.Items != nil {
			walk(where+"[]", *n.Items)
		}
		if strings.HasPrefix(string(n.Additional), "{") {
			var inner schemaNode
			if err := json.Unmarshal(n.Additional, &inner); err != nil {
				t.Fatal(err)
			}
			walk(where+".*", inner)
		}
	}
	walk("specification", root)
	if keys < 90 {
		t.Errorf("%d keys were looked at, want at least 90", keys)
	}
}
