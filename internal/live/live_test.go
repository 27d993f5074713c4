package live_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	"github.com/fsmgen/fsmgen/examples/machines/obanjob"
	"github.com/fsmgen/fsmgen/examples/machines/taskinstance"
	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/examples/pipeline/ingest"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/examples/scheduler/task"
	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/spec"
)

// machine reads one of the specifications of specs/.
func machine(t testing.TB, name string) *spec.Machine {
	t.Helper()
	path := filepath.Join("..", "..", "specs", name+".yaml")
	if strings.Contains(name, "/") {
		path = filepath.Join("..", "..", "examples", name+".yaml")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, found := spec.Parse(name+".yaml", text)
	if found.HasErrors() {
		t.Fatal(found)
	}
	return m
}

// told is a store that keeps what it is told of a machine.
type told struct {
	fsm.Store
	schema *driver.Schema
}

func (s *told) Table(schema *driver.Schema) (driver.Table, error) {
	s.schema = schema
	return nil, errors.New("enough")
}

// TestSchemaIsThePackages holds what is made of the specification to what the
// generated packages say.
func TestSchemaIsThePackages(t *testing.T) {
	t.Parallel()
	for name, migrate := range map[string]func(context.Context, fsm.Store) error{
		"lifecycle": lifecycle.Migrate, "jobstate": jobstate.Migrate, "ingest": ingest.Migrate, "task": task.Migrate,
		"machines/obanjob": obanjob.Migrate, "machines/taskinstance": taskinstance.Migrate, "orders/order": order.Migrate,
		"webhook/notice": notice.Migrate,
	} {
		s := &told{}
		_ = migrate(t.Context(), s)
		for dialect, sql := range s.schema.SQL {
			got, err := live.Schema(machine(t, name), dialect, s.schema.Enforce)
			if err != nil {
				t.Fatal(err)
			}
			text := cmp.Transformer("text", func(err error) string { return fmt.Sprint(err) })
			if diff := cmp.Diff(s.schema, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(driver.Schema{}, "SQL"), text); diff != "" {
				t.Errorf("%s (-package +specification):\n%s", name, diff)
			}
			if got.SQL[dialect] != sql {
				t.Errorf("%s, %s: the SQL differs", name, dialect)
			}
		}
	}
}

// fault is one thing that is wrong with a database, made by SQL past the engine.
type fault struct{ name, sql string }

var faults = map[string][]fault{
	"lifecycle": {
		{"nothing", ``},
		{"an unknown state", `UPDATE lifecycle SET state = 'lost' WHERE id = 'job-2'`},
		{"a running job without owner", `UPDATE lifecycle SET owner = NULL WHERE id = 'job-2'`},
		{"a rule and a number", `UPDATE lifecycle SET lease = NULL, attempt = 0 WHERE id = 'job-2'`},
		{"a negative counter", `UPDATE lifecycle SET attempt = -1 WHERE id = 'job-4'`},
		{"another state", `UPDATE lifecycle SET state = 'stalled' WHERE id = 'job-4'`},
		{"a value of the row", `UPDATE lifecycle SET payload = '{"url":"x"}' WHERE id = 'job-4'`},
		{"a should", `UPDATE lifecycle SET owner = 'w1' WHERE id = 'job-1'`},
		{"a time", `UPDATE lifecycle SET updated_at = updated_at + 1 WHERE id = 'job-5'`},
		{"a revision ahead", `UPDATE lifecycle SET rev = 9 WHERE id = 'job-5'`},
		{"a revision behind", `UPDATE lifecycle SET rev = 2 WHERE id = 'job-1'`},
		{"a row that is gone", `DELETE FROM lifecycle WHERE id = 'job-3'`},
		{"a log that is gone", `DELETE FROM lifecycle_events WHERE id = 'job-3'`},
		{"an event that is gone", `DELETE FROM lifecycle_events WHERE id = 'job-1' AND rev = 2`},
		{"an altered event", `UPDATE lifecycle_events SET actor = 'w2' WHERE id = 'job-1' AND rev = 2`},
		{"a move that there is not", `UPDATE lifecycle_events SET "to_state" = 'succeeded' WHERE id = 'job-1' AND rev = 2`},
		{"another operation", `UPDATE lifecycle_events SET operation = 'enqueue' WHERE id = 'job-1' AND rev = 3`},
		{"an unknown field", `UPDATE lifecycle_events SET changes = '{"colour":1}' WHERE id = 'job-2' AND rev = 2`},
		{"a place held twice", `DROP INDEX lifecycle_unique_dedupe_enqueue; UPDATE lifecycle SET dedupe_key = 'k' WHERE id IN ('job-4', 'job-5')`},
	},
	"jobstate": {
		{"nothing", ``},
		{"a smaller set", `UPDATE jobstate SET satisfied = '[]' WHERE id = 'plan-1'`},
		{"an empty plan", `UPDATE jobstate SET expected = '[]', state = 'created' WHERE id = 'plan-2'`},
		{"no set", `UPDATE jobstate SET satisfied = '{}' WHERE id = 'plan-2'`},
		{"recorded in another state", `UPDATE jobstate_events SET "from_state" = 'failed', "to_state" = 'failed' WHERE id = 'plan-2' AND n = 1`},
		{"recorded under another number", `UPDATE jobstate_events SET n = 3 WHERE id = 'plan-2' AND n = 1`},
		{"a request twice", `DROP INDEX jobstate_events_request; UPDATE jobstate_events SET request_id = 'kick plan-2' WHERE id = 'plan-2' AND rev = 3`},
	},
}

// database makes a database at path that enforces as little as it can.
func database(t testing.TB, name, path string) {
	t.Helper()
	store, err := sqlite.Open(path, sqlite.WithEnforce("none"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fill := map[string]func(context.Context, fsm.Store) error{"lifecycle": livetest.Jobs, "jobstate": livetest.Plans}[name]
	if err := fill(t.Context(), store); err != nil {
		t.Fatal(err)
	}
}

func execute(t testing.TB, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=ignore_check_constraints(1)") // they stand in the tables at every level
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func all(t testing.TB, found iter.Seq2[audit.Finding, error]) []audit.Finding {
	t.Helper()
	var list []audit.Finding
	for f, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// generated audits with the generated package.
func generated(t testing.TB, name, path string) []audit.Finding {
	t.Helper()
	store, err := sqlite.Open(path, sqlite.WithEnforce("none"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if name == "jobstate" {
		m, err := jobstate.Open(t.Context(), store, fsm.WithOpenCheck(-1))
		if err != nil {
			t.Fatal(err)
		}
		return all(t, audit.Run(t.Context(), m))
	}
	m, err := lifecycle.Open(t.Context(), store, fsm.WithOpenCheck(-1))
	if err != nil {
		t.Fatal(err)
	}
	return all(t, audit.Run(t.Context(), m))
}

// TestAuditIsThePackages plants faults and demands the findings of the generated
// package, in its words; what is proposed is then done, and what cannot be is
// refused.
func TestAuditIsThePackages(t *testing.T) {
	t.Parallel()
	for name, list := range faults {
		clean := filepath.Join(t.TempDir(), name+".db")
		database(t, name, clean)
		text, err := os.ReadFile(clean)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "a.db")
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
				execute(t, path, f.sql)
				if strings.HasPrefix(f.sql, "DROP INDEX") { // a store without it is refused
					index, _, _ := strings.Cut(strings.TrimPrefix(f.sql, "DROP INDEX "), ";")
					execute(t, path, "CREATE INDEX "+index+" ON "+name+" (id)")
				}
				want := generated(t, name, path)
				if (f.sql == "") != (len(want) == 0) {
					t.Errorf("the generated package found %v", want)
				}
				auditAndRepair(t, name, path, want)
			})
		}
	}
}

func auditAndRepair(t *testing.T, name, path string, want []audit.Finding) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), path, machine(t, name), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var last, total int64
	got := all(t, db.Audit(t.Context(), func(n, of int64) { last, total = n, of }))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-package +live):\n%s", diff)
	}
	if last != total || total < 2 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	byID := map[string][]audit.Finding{}
	for _, f := range got {
		byID[f.ID] = append(byID[f.ID], f)
	}
	proposals := map[string]live.Proposal{}
	for id, list := range byID {
		p, found, err := db.Propose(t.Context(), id, list)
		if err != nil {
			t.Fatal(err)
		}
		if found {
			proposals[id] = p
		}
	}
	if _, err := db.Repair(t.Context(), "job-1", "o", "r"); err == nil {
		t.Error("a database that is open for reading was repaired")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the audit changed the database")
	}

	w, err := sqldb.Open(t.Context(), path, machine(t, name), sqldb.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for id, p := range proposals {
		done, err := w.Repair(t.Context(), id, "operator", "the audit")
		if (p.Why == "") != (err == nil && done) {
			t.Errorf("%s: proposed %+v; repaired %v, %v", id, p, done, err)
		}
		for _, f := range all(t, w.Audit(t.Context(), nil)) {
			if f.ID == id && p.Why == "" && f.Must {
				t.Errorf("%s: after the repair %v", id, f)
			}
		}
	}
}

// TestAuditOfImports finds nothing wrong with records that came from elsewhere.
func TestAuditOfImports(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now().Add(-time.Hour)
	job := lifecycle.Job{ID: "old-1", State: lifecycle.StateRunning, CreatedAt: since, Owner: fsm.Some("w1"), Lease: fsm.Some(since), Attempt: 3}
	if _, err := m.Core().Import(t.Context(), job, fsm.Call{RequestID: "i", Actor: "ann", Reason: "moves in"}); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), path, machine(t, "lifecycle"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if found := all(t, db.Audit(t.Context(), nil)); len(found) > 0 {
		t.Errorf("the audit found %v", found)
	}
}

// TestProposals says what of a row would become what.
func TestProposals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	database(t, "lifecycle", path)
	execute(t, path, `UPDATE lifecycle SET state = 'stalled', owner = 'w9', attempt = 4, lease = NULL WHERE id = 'job-2'; DELETE FROM lifecycle WHERE id = 'job-5'`)
	db, err := sqldb.Open(t.Context(), path, machine(t, "lifecycle"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := map[string][]string{}
	for f, err := range db.Audit(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := db.Propose(t.Context(), f.ID, []audit.Finding{f})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Changes {
			got[f.ID] = append(got[f.ID], fmt.Sprintf("%s: %v -> %v", c.Field, c.Old, c.New))
		}
	}
	want := map[string][]string{
		"job-2": {"state: stalled -> running", "owner: w9 -> w1", "lease: <nil> -> 2026-01-02 04:04:05 +0000 UTC", "attempt: 4 -> 1"},
		"job-5": {
			"state: <nil> -> queued", "rev: <nil> -> 1", "created_at: <nil> -> 2026-01-02 03:11:05 +0000 UTC", "updated_at: <nil> -> 2026-01-02 03:11:05 +0000 UTC",
			`payload: <nil> -> {"url":"https://example.com/"}`, "queued_at: <nil> -> 2026-01-02 03:11:05 +0000 UTC", "attempt: <nil> -> 0",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRefuses opens what is not there or not the machine's.
func TestRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.db")
	database(t, "lifecycle", path)
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	empty := filepath.Join(dir, "empty.db")
	execute(t, empty, "CREATE TABLE x (y)")
	later := machine(t, "lifecycle")
	later.Version, later.Hash = 2, strings.Repeat("ab", 32)
	older := machine(t, "lifecycle")
	older.Version, older.Hash = 0, strings.Repeat("cd", 32)
	for _, c := range []struct {
		path string
		m    *spec.Machine
		want string
	}{
		{filepath.Join(dir, "nowhere.db"), later, "no such file or directory; expected the path of a SQLite file, or an address like postgres://"},
		{dir, later, "is a folder; expected the path of a SQLite file"},
		{write("nothing.db", ""), later, "is empty; expected a SQLite database"},
		{write("text.db", "a text that is no database"), later, "is not a SQLite database"},
		{empty, later, "holds no machine of fsmgen: the table fsm_meta is missing"},
		{path, machine(t, "task"), "does not hold the machine task; it holds lifecycle"},
		{path, later, "was made for another specification of lifecycle: version 1 (hash " + machine(t, "lifecycle").Hash[:12] + "), lifecycle.yaml is version 2 (hash abababababab); " +
			"name the one it was made for (the file it was generated from, e.g. out of git), or migrate the database: fsmgen sql --dialect sqlite --migrate-from OLD lifecycle.yaml"},
		{path, older, "lifecycle.yaml is version 0 (hash cdcdcdcdcdcd); name the later one, the file it was generated from"},
	} {
		db, err := sqldb.Open(t.Context(), c.path, c.m, sqldb.Options{})
		if err == nil {
			db.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", filepath.Base(c.path), err, c.want)
		}
	}
	execute(t, path, "DROP INDEX lifecycle_state")
	if db, err := sqldb.Open(t.Context(), path, machine(t, "lifecycle"), sqldb.Options{}); err == nil || !strings.Contains(err.Error(), `"lifecycle_state" is missing in the database; install what is missing: fsmgen sql --dialect sqlite --level none lifecycle.yaml`) {
		if err == nil {
			db.Close()
		}
		t.Errorf("without an index: %v", err)
	}
}

// TestBesideAProgram reads while the program has the file open, and is not let
// write then.
func TestBesideAProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := livetest.Jobs(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), path, machine(t, "lifecycle"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if found := all(t, db.Audit(t.Context(), nil)); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if w, err := sqldb.Open(t.Context(), path, machine(t, "lifecycle"), sqldb.Options{Write: true}); err != nil {
		t.Errorf("for writing: %v", err)
	} else {
		w.Close()
	}
	m, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string
	for e, err := range db.Follow(ctx, "job-2", live.Place{}, 5_000_000) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the end: %v", err)
			}
			break
		}
		if seen = append(seen, e.Name); len(seen) == 3 {
			if _, err := m.Heartbeat(t.Context(), fsm.Ref{ID: "job-2", Rev: 3}, lifecycle.HeartbeatInput{Lease: time.Now().Add(time.Hour)}, fsm.Call{RequestID: "beat", Actor: "w1"}); err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) == 4 {
			cancel()
		}
	}
	if diff := cmp.Diff([]string{"enqueued", "claimed", "started", "heartbeat"}, seen); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
}

// TestPostgres audits and repairs on a server.
func TestPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	store, err := postgres.Open(t.Context(), dsn, postgres.WithEnforce("none"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := livetest.Plans(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec(`UPDATE jobstate SET satisfied = '[]' WHERE id = 'plan-1'`); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), dsn, machine(t, "jobstate"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found := all(t, db.Audit(t.Context(), nil))
	if len(found) != 1 || found[0].ID != "plan-1" || found[0].Check != audit.CheckFold {
		t.Fatalf("found %v", found)
	}
	w, err := sqldb.Open(t.Context(), dsn, machine(t, "jobstate"), sqldb.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if done, err := w.Repair(t.Context(), "plan-1", "operator", "the audit"); err != nil || !done {
		t.Errorf("repaired %v, %v", done, err)
	}
	if found := all(t, db.Audit(t.Context(), nil)); len(found) > 0 {
		t.Errorf("after the repair %v", found)
	}
}
