package migration_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/spec"
)

// edits are changes of the shipped specifications, and of both tickets, after
// which an empty database must be what the generator makes of the new version.
var edits = []struct {
	name, machine string
	swaps         []string // old, new, old, new ...
}{
	{"new state and operation", "ingest", []string{"release, retry_stalled]   # 003:386", "release, retry_stalled, unpark]   # 003:386", "  quarantined:  ", "  parked: {}\n  quarantined:  ", "  progress:  ", "  park: {from: pending, to: parked}\n  unpark: {from: parked, to: pending, clear: [active_at]}\n  progress:  "}},
	{"fields come and go", "lifecycle", []string{"fields:\n", "fields:\n  extra: string\n  seen: set\n  size: optional int 0..9\n", "payload: input or absent, ", "payload: input or absent, extra: input, "}},
	{"a column changes its type", "ingest", []string{"type: time ", "type: int ", "run_after <= now", "run_after <= 1", "{run_after: now}", "{run_after: 1}", "{run_after: now + 1m}", "{run_after: 1}"}},
	{"mandatory becomes optional", "ingest", []string{"type: time ", "type: optional time "}},
	{"a unique rule goes", "execution", []string{"  one_lease_per_job:          # 000:12,129 a lease is acquired only while the job is PENDING\n    fields: [job_id]\n    in: [leased, in_progress]\n    error: job_already_leased\n    message: another execution of this job holds a lease\n", ""}},
	{"a rule about sets", "jobstate", []string{"\n  created:", "\n  created:\n    invariant: [expected covers satisfied]"}},
	{"the projection goes", "execution", []string{}},
	{"only the version rises", "task", []string{"entity: Task", "entity: Task\nversion: 2"}},
	{"names change", "task", []string{"pending", "waiting", "  waiting:  ", "  waiting:\n    was: pending  "}},
	{"a look-up comes", "ingest", []string{"guards:\n", "lookup:\n  ready: {fields: attempts, in: [pending, failed], order: [-run_after]}\n  stalling: {fields: active_at}\n\nguards:\n"}},
}

func edited(t *testing.T, i int) (old, next *spec.Machine) {
	t.Helper()
	e := edits[i]
	src := read(t, filepath.Join("..", "..", "specs", e.machine+".yaml"))
	text := src
	for k := 0; k < len(e.swaps); k += 2 {
		if !strings.Contains(text, e.swaps[k]) {
			t.Fatalf("%s.yaml does not hold %q", e.machine, e.swaps[k])
		}
		text = strings.ReplaceAll(text, e.swaps[k], e.swaps[k+1])
	}
	if e.name == "the projection goes" {
		text, _, _ = strings.Cut(text, "projection:")
	}
	return parse(t, "old.yaml", src), parse(t, "new.yaml", text)
}

// everyEdit runs a test for each edit, for the tickets, and back, at each level.
func everyEdit(t *testing.T, levels []string, test func(t *testing.T, old, next *spec.Machine, enforce string)) {
	for i := range edits {
		if i%3 > 0 && !campaign.On() {
			continue
		}
		for _, enforce := range levels {
			if enforce != "full" && i%4 > 0 {
				continue
			}
			t.Run(edits[i].name+"/"+enforce, func(t *testing.T) {
				t.Parallel()
				old, next := edited(t, i)
				test(t, old, next, enforce)
				test(t, next, old, enforce)
			})
		}
	}
	t.Run("tickets", func(t *testing.T) {
		t.Parallel()
		old, next := versions(t, "ticket")
		test(t, old, next, "full")
		test(t, next, old, "full")
	})
}

// After the migration of an empty database it is what the generator makes.
func TestSQLiteSchemaIsTheGeneratedOne(t *testing.T) {
	t.Parallel()
	everyEdit(t, []string{"full", "checks", "none"}, func(t *testing.T, old, next *spec.Machine, enforce string) {
		m, err := migration.New(old, next, migration.SQLite, enforce)
		if err != nil {
			t.Fatal(err)
		}
		db, fresh := openSQLite(t, ":memory:"), openSQLite(t, ":memory:")
		execute(t, db, generate(t, old, enforce)[old.Name+".sqlite.sql"])
		for _, q := range m.Queries {
			if rows := rowsOf(t, db, q.SQL); len(rows) > 0 {
				t.Errorf("%s: rows of an empty table: %q", q.Rule, rows)
			}
		}
		execute(t, db, m.Script)
		execute(t, fresh, generate(t, next, enforce)[next.Name+".sqlite.sql"])
		if d := cmp.Diff(sqliteObjects(t, fresh), sqliteObjects(t, db)); d != "" {
			t.Errorf("(-generated +migrated):\n%s", d)
		}
	})
}

// Rows that do not fit are listed by the queries, and stop the migration, which
// then has changed nothing.
func TestRowsThatDoNotFit(t *testing.T) {
	t.Parallel()
	old, next := versions(t, "ticket")
	event := func(id, to string) string {
		return fmt.Sprintf(`INSERT INTO "ticket_events" ("id", "rev", "n", "operation", "name", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
			VALUES ('%s', 1, 0, 'submit', 'submitted', '%s', 1, 'a', '', -1, '', 1, 0);`, id, to)
	}
	record := func(id, state, values string) string {
		return fmt.Sprintf(`INSERT INTO "ticket" ("id", "state", "rev", "created_at", "updated_at", "number", "queue", "priority", "owner", "due", "note", "place", "tries", "tags", "colour")
			VALUES ('%s', '%s', 1, 1, 1, %s);`, id, state, values)
	}
	for _, tt := range []struct{ name, rows, rule, row string }{
		{"a mandatory field is absent", record("x", "open", "1, 'q', 'low', NULL, NULL, NULL, NULL, 0, '[]', 'red'"), "place is mandatory", "x | open"},
		{"a new invariant", record("x", "taken", "1, 'q', 'low', 'ann', 5, NULL, 'p', 0, '[]', 'red'"), "held: tries >= 1", "x | taken"},
		{"a text is too long", record("x", "open", "1, 'a queue whose name has forty-one charaçté', 'low', NULL, NULL, NULL, 'p', 0, '[]', 'red'"), "queue is from 1 to 40 characters long", "x | open"},
		{"an invariant of the target", record("x", "solved", "1, 'q', 'low', NULL, NULL, 'n', 'p', 0, '[]', 'red'"), "solved: tries >= 1", "x | solved"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := openSQLite(t, ":memory:")
			execute(t, db, generate(t, old, "checks")["ticket.sqlite.sql"])
			execute(t, db, event("x", "open")+tt.rows)
			m, err := migration.New(old, next, migration.SQLite, "checks")
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, q := range m.Queries {
				rows := rowsOf(t, db, q.SQL)
				switch {
				case q.Rule == tt.rule:
					found = cmp.Equal(rows, []string{tt.row})
				case len(rows) > 0:
					t.Errorf("%s: %q", q.Rule, rows)
				}
			}
			if !found {
				t.Errorf("no query lists %q for %q", tt.row, tt.rule)
			}
			before := sqliteObjects(t, db)
			if _, err := db.Exec(m.Script); err == nil {
				t.Fatal("the migration went through")
			}
			execute(t, db, "ROLLBACK")
			if d := cmp.Diff(before, sqliteObjects(t, db)); d != "" {
				t.Errorf("something changed:\n%s", d)
			}
		})
	}
}

// Nothing is migrated while an effect waits that nothing delivers afterwards,
// and nothing at all without an empty table where the log would be lost.
func TestWhatStopsAMigration(t *testing.T) {
	t.Parallel()
	task := read(t, filepath.Join("..", "..", "specs", "task.yaml"))
	ingest := read(t, filepath.Join("..", "..", "specs", "ingest.yaml"))
	for _, tt := range []struct{ name, old, from, to, rows, message string }{
		{"an effect waits", task, "name: execute_task", "name: run_task",
			`INSERT INTO "task_outbox" VALUES ('x', 2, 0, 'execute_task', 'k', 0, 1, '');`, "effects wait that the new version never delivers: execute_task"},
		{"a field goes", ingest, "type: counter", "type: counter # ", `INSERT INTO "ingest_events" ("id", "rev", "n", "operation", "name", "to_state", "occurred_at", "actor", "reason", "request_n", "fingerprint", "version", "checksum")
			VALUES ('x', 1, 0, 'enqueue', 'enqueue', 'pending', 1, 'a', '', -1, '', 1, 0);`, "which only a higher version can leave out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(tt.old, tt.from, tt.to)
			old := tt.old
			if tt.name == "a field goes" { // a field that goes while the version stays
				old = strings.Replace(old, "fields:\n", "fields:\n  extra: optional string\n", 1)
			}
			from, next := parse(t, "old.yaml", old), parse(t, "new.yaml", text)
			for _, dialect := range []string{migration.SQLite, migration.Postgres} {
				if m, err := migration.New(from, next, dialect, "none"); err != nil || !strings.Contains(m.Script, tt.message) {
					t.Errorf("%s: the script does not say %q (%v)", dialect, tt.message, err)
				}
			}
			m, err := migration.New(from, next, migration.SQLite, "none")
			if err != nil {
				t.Fatal(err)
			}
			db := openSQLite(t, ":memory:")
			execute(t, db, generate(t, from, "none")[from.Name+".sqlite.sql"]+tt.rows)
			if _, err := db.Exec(m.Script); err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("%v, want %q", err, tt.message)
			}
		})
	}
}

// A machine under another name has no migration, and the scripts are those of
// the goldens.
func TestScripts(t *testing.T) {
	t.Parallel()
	old, next := versions(t, "ticket")
	for _, dialect := range []string{migration.SQLite, migration.Postgres} {
		m, err := migration.New(old, next, dialect, "full")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", "ticket", dialect+".sql")
		if *update {
			if err := os.WriteFile(file, []byte(m.Script), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(read(t, file), m.Script); d != "" {
			t.Errorf("%s (-want +got); run `go test ./internal/migration -update` when it is meant:\n%s", file, d)
		}
	}
	other := parse(t, "new.yaml", strings.Replace(read(t, filepath.Join("testdata", "ticket", "new.yaml")), "machine: ticket", "machine: case_file", 1))
	if _, err := migration.New(old, other, migration.SQLite, "full"); !errors.Is(err, migration.ErrNone) {
		t.Errorf("a machine under another name: %v", err)
	}
	if _, err := migration.New(old, next, "oracle", "full"); err == nil {
		t.Error("there is a migration for oracle")
	}
}
