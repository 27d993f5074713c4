package gen

import (
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// No parameter of a look-up has the name of another one, or of what its method needs.
func TestLookupParams(t *testing.T) {
	t.Parallel()
	for _, fields := range [][]string{{"page", "page_value"}, {"page_value", "page"}, {"type", "type_value", "ctx", "err"}, {"string", "order_id", "page_value_value", "page"}} {
		var names []string
		for _, field := range fields {
			name := lookupParam(&spec.Field{Name: field}, names)
			if slices.Contains(append(names, "page", "ctx", "err", "type", "string"), name) {
				t.Errorf("%q: the parameter of %s is %s, which is used", fields, field, name)
			}
			names = append(names, name)
		}
	}
}
