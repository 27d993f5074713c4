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
		file = filepath.Join("..", "internal", "lab", "storetest", "parcel.yaml")
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

// A rule whose name is too long for the database ends behind one of its parts or a word, and
// is told whole in a comment. No two have one name.
func TestConstraintNames(t *testing.T) {
	t.Parallel()
	long := "invariant: " + strings.Repeat("very_long_field >= 1 ", 4)
	parts := []string{"held: present owner", ", lease_of_the_owner", "; absent result", ", error_of_the_worker", "; attempt >= 1"}
	s := &schemaText{d: postgresDialect(), names: map[string]bool{}}
	for _, c := range []struct {
		check         sqlCheck
		name, comment string
	}{
		{sqlCheck{rule: "rev is at least 1"}, `"rev is at least 1"`, ""},
		{sqlCheck{rule: strings.Join(parts, ""), parts: parts}, `"held: present owner, lease_of_the_owner; absent result; 2 more"`, strings.Join(parts, "")},
		{sqlCheck{rule: strings.Join(parts, ""), parts: parts}, `"held: present owner, lease_of_the_owner; 3 more (2)"`, strings.Join(parts, "") + " (2)"},
		{sqlCheck{rule: long}, `"invariant: very_long_field >= 1 very_long_field >= 1..."`, long},
		{sqlCheck{rule: strings.Repeat("é", 40)}, `"` + strings.Repeat("é", 30) + `..."`, strings.Repeat("é", 40)},
	} {
		if name, comment := s.constraint(c.check); name != c.name || comment != c.comment {
			t.Errorf("%s: %s, %q, want %s, %q", c.check.rule, name, comment, c.name, c.comment)
		}
	}
}
