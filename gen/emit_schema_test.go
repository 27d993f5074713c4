package gen

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

var updateSchemas = flag.Bool("update-schemas", false, "write the schemas to testdata/schema")

// The five machines of the folder specs, and that of the stores' conformance
// suite, which the tests of the stores run on.
var shippedMachines = []string{"execution", "ingest", "jobstate", "lifecycle", "parcel", "task"}

// shipped parses one of the machines.
func shipped(t testing.TB, name string) *spec.Machine {
	t.Helper()
	file := filepath.Join("..", "specs", name+".yaml")
	if name == "parcel" {
		file = filepath.Join("..", "runtime", "storetest", "parcel.yaml")
	}
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
			".sqlite.sql":   sqliteSchema(m, enforceFull),
			".postgres.sql": postgresSchema(m, enforceFull),
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

func TestSchemaLevels(t *testing.T) {
	t.Parallel()
	for _, name := range shippedMachines {
		m := shipped(t, name)
		for _, emit := range []func(*spec.Machine, string) []byte{sqliteSchema, postgresSchema} {
			none, checks, full := string(emit(m, enforceNone)), string(emit(m, enforceChecks)), string(emit(m, enforceFull))
			if strings.Contains(none, "CHECK (") || strings.Contains(none, "RAISE") {
				t.Errorf("%s: level none enforces something:\n%s", name, none)
			}
			if !strings.Contains(checks, "CHECK (") || strings.Contains(checks, "-- section: full") {
				t.Errorf("%s: level checks is not what it says:\n%s", name, checks)
			}
			for _, section := range []string{"tables", "checks", "full", "meta"} {
				if strings.Count(full, "\n-- section: "+section+"\n") != 1 {
					t.Errorf("%s: level full has no single section %s", name, section)
				}
			}
			if again := string(emit(m, enforceFull)); again != full {
				t.Errorf("%s: two emissions differ:\n%s", name, cmp.Diff(full, again))
			}
		}
	}
}
