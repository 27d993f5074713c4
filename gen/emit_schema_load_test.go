package gen

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/spec"
)

// The schemas of the scenarios, which have what the shipped machines lack, load.
func TestSchemaLoads(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, diags := spec.Parse(file, src)
		if m == nil {
			t.Fatalf("parse %s: %v", file, diags)
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for _, level := range []string{enforceNone, enforceChecks, enforceFull} {
				db, err := sql.Open("sqlite", ":memory:")
				if err != nil {
					t.Fatal(err)
				}
				db.SetMaxOpenConns(1)
				newPrompt(t, m, sqliteDialect(), db, sqliteSchema(m, level))
				db.Close()
			}
			newPrompt(t, m, postgresDialect(), pgtest.Open(t), postgresSchema(m, enforceFull))
		})
	}
}
