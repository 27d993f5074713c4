package gen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchemaParts finds parts of the schemas' files that nothing writes. A word that
// nothing fills in is a panic of the tests that write a schema.
func TestSchemaParts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("emit_schema*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for dialect, parts := range schemaFiles {
		if len(parts) < 8 {
			t.Errorf("%s: %d parts; the file was not read", dialect, len(parts))
		}
		for name := range parts {
			if !strings.Contains(source.String(), `"`+name+`"`) {
				t.Errorf("%s.schema.sql: nothing writes the part %s", dialect, name)
			}
		}
	}
}
