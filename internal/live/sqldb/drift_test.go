package sqldb

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// schemas describes the machines of the tree.
func schemas(t *testing.T, dialect string) (list []*driver.Schema) {
	t.Helper()
	for _, pattern := range []string{"../../../specs/*.yaml", "../../../examples/machines/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) < 5 {
			t.Fatalf("%s: %q, %v", pattern, paths, err)
		}
		for _, path := range paths {
			list = append(list, schemaOf(t, path, dialect))
		}
	}
	return list
}

func schemaOf(t *testing.T, path, dialect string) *driver.Schema {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, found := validate.Source(path, src)
	if found.HasErrors() {
		t.Fatalf("%s: %v", path, found)
	}
	s, err := live.Schema(m, dialect, "full")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// base is an empty database, written past every rule.
func base(t *testing.T, dialect string) (Address, func(string)) {
	t.Helper()
	text, name := filepath.Join(t.TempDir(), "x.db"), "sqlite"
	if dialect == "postgres" {
		text, name = pgtest.DSN(t), "pgx"
	}
	a, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(name, text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return a, func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%.200s: %v", text, err)
		}
	}
}

// advice is what a finding says to run before the schema.
var advice = regexp.MustCompile(`; run (.*?)(?:; and then what .generate. prints)?$`)

// What somebody has changed is named by what it is, and nothing else. Who does what is advised has the
// generated schema again.
func TestDrift(t *testing.T) {
	t.Parallel()
	for dialect, harms := range map[string][]string{
		"sqlite": {
			`DROP TRIGGER "execution_delete"; CREATE TRIGGER "execution_delete" BEFORE DELETE ON "execution" BEGIN SELECT RAISE(ABORT, 'fsm: execution: never'); END`,
			`DROP INDEX "execution_state"; CREATE INDEX "execution_state" ON "execution" ("state", "attempt")`,
		},
		"postgres": {
			`DROP TRIGGER "execution_has_event" ON "execution"; CREATE TRIGGER "execution_has_event" AFTER INSERT ON "execution" FOR EACH ROW EXECUTE FUNCTION "execution_has_event"()`,
			`CREATE OR REPLACE TRIGGER "execution_removed" BEFORE DELETE ON "execution" FOR EACH ROW WHEN (OLD.rev = 1) EXECUTE FUNCTION "execution_guard"()`,
			`ALTER TABLE "execution" DISABLE TRIGGER "execution_guard"`,
			`CREATE OR REPLACE FUNCTION "execution_guard"() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
			`DROP INDEX "execution_open"; CREATE INDEX "execution_open" ON "execution" ("attempt")`,
			`DROP INDEX "execution_unique_one_lease_per_job"; CREATE UNIQUE INDEX "execution_unique_one_lease_per_job" ON "execution" ("job_id")`,
			`DROP INDEX "execution_unique_one_lease_per_job"; CREATE INDEX "execution_unique_one_lease_per_job" ON "execution" ("job_id") WHERE "state" IN ('leased', 'in_progress')`,
			`DROP INDEX "execution_due_reconcile"; CREATE INDEX "execution_due_reconcile" ON "execution" ("_minute_lease_expires_at" DESC) WHERE "_in_committed"`,
			`ALTER TABLE "execution" DROP CONSTRAINT "attempt is a number of a sequence"; ALTER TABLE "execution" ADD CONSTRAINT "attempt is a number of a sequence" CHECK ("attempt" >= 1) NOT VALID`,
		},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a, run := base(t, dialect)
			drift := func(s *driver.Schema) []string {
				t.Helper()
				list, err := store{address: a}.Drift(t.Context(), s, "generate")
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			for _, s := range schemas(t, dialect) {
				run(s.SQL[dialect])
				if diff := cmp.Diff([]string(nil), drift(s)); diff != "" {
					t.Errorf("%s, as it was generated:\n%s", s.Machine, diff)
				}
			}
			s := schemaOf(t, "../../../specs/execution.yaml", dialect)
			run(`CREATE INDEX "execution_own" ON "execution" ("attempt")`)
			for _, harm := range harms {
				name := regexp.MustCompile(`(?:INDEX|TRIGGER|FUNCTION|CONSTRAINT) (".*?")`).FindStringSubmatch(harm)[1]
				run(harm)
				list := drift(s)
				if len(list) != 1 || !strings.Contains(list[0], name) {
					t.Errorf("%s: %q", harm, list)
					continue
				}
				t.Log(list[0])
				if told := advice.FindStringSubmatch(list[0])[1]; !strings.HasPrefix(told, "what ") {
					run(told)
				}
				run(s.SQL[dialect])
				if diff := cmp.Diff([]string(nil), drift(s)); diff != "" {
					t.Fatalf("%s, after what is advised:\n%s", harm, diff)
				}
			}
		})
	}
}

// What the catalog says in its own words is the same.
func TestForm(t *testing.T) {
	t.Parallel()
	const head = `CREATE INDEX "x" ON "t" `
	for ours, catalog := range map[string]string{
		`("a", "b" NULLS LAST, "id")`:       `CREATE INDEX x ON t USING btree (a, b, id)`,
		`("b" DESC NULLS LAST, "id")`:       `CREATE INDEX x ON t USING btree (b DESC NULLS LAST, id)`,
		`("b", "id") WHERE "b" IS NOT NULL`: `CREATE INDEX x ON t USING btree (b, id) WHERE b IS NOT NULL`,
	} {
		if form(head+ours) != form(catalog) {
			t.Errorf("%s: %q, the catalog has %q", ours, form(head+ours), form(catalog))
		}
	}
	for _, other := range []string{`("b")`, `("b" DESC NULLS LAST)`} {
		if form(head+`("b" DESC)`) == form(head+other) {
			t.Errorf("%s is taken for the same as DESC", other)
		}
	}
}
