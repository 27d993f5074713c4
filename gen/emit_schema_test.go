package gen

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

var updateSchemas = flag.Bool("update-schemas", false, "write the schemas of the five machines to testdata/schema")

var shippedMachines = []string{"execution", "ingest", "jobstate", "lifecycle", "task"}

// shipped parses one of the machines in the folder specs.
func shipped(t testing.TB, name string) *spec.Machine {
	t.Helper()
	file := filepath.Join("..", "specs", name+".yaml")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, diags := spec.Parse(file, src)
	if m == nil {
		t.Fatalf("parse %s: %v", file, diags)
	}
	return m
}

func TestSchemaGolden(t *testing.T) {
	t.Parallel()
	for _, name := range shippedMachines {
		m := shipped(t, name)
		for suffix, text := range map[string][]byte{
			".sqlite.sql": sqliteSchema(m, enforceFull),
		} {
			golden := filepath.Join("testdata", "schema", name+suffix)
			if *updateSchemas {
				if err := os.WriteFile(golden, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; write it with `go test ./gen -run TestSchemaGolden -update-schemas`", err)
			}
			if diff := cmp.Diff(string(want), string(text)); diff != "" {
				t.Errorf("schema of %s%s (-want +got):\n%s", name, suffix, diff)
			}
		}
	}
}
