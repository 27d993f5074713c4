package faults_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

var update = flag.Bool("update", false, "write ATTACKS.md anew")

// attack is something that a hand at the SQL prompt, or another program, may
// try. There are five executions: leased, in_progress, committed, done and
// aborted, each named after its state and of the job "job-<state>".
type attack struct {
	name string
	sql  []string // in one transaction
	only string   // the dialect, where it is for one
	open string   // why it is not refused: what it needs, and what finds it
}

// event is the SQL of a forged event, of the operation that makes the move if
// there is one.
func event(id string, rev, n int, from, to string) string {
	operation := map[string]string{"NULL leased": "lease", "'leased' in_progress": "start", "'in_progress' committed": "commit", "'committed' done": "finish"}[from+" "+to]
	if operation == "" {
		operation = "start"
	}
	return fmt.Sprintf(`INSERT INTO execution_events (id, rev, n, operation, name, from_state, to_state, occurred_at, actor, reason, request_n, fingerprint, version, checksum)
		SELECT '%s', %d, %d, '%s', 'x', %s, '%s', occurred_at, 'mallory', '', -1, '', 1, 0 FROM execution_events LIMIT 1`, id, rev, n, operation, from, to)
}

const columns = `id, state, rev, created_at, updated_at, job_id, attempt, lease_owner, lease_expires_at, started_at, finished_at`

// copyAs inserts a copy of an execution with other values.
func copyAs(verb, of, id, state string, rev int, job string) string {
	return fmt.Sprintf(`%s INTO execution (%s) SELECT '%s', '%s', %d, created_at, updated_at, '%s', 1, lease_owner, lease_expires_at, started_at, finished_at
		FROM execution WHERE id = '%s'`, verb, columns, id, state, rev, job, of)
}

var attacks = []attack{
	{name: "a state that is none", sql: []string{`UPDATE execution SET state = 'PENDING', rev = rev + 1 WHERE id = 'leased'`}},
	{name: "a state in other letters", sql: []string{`UPDATE execution SET state = 'LEASED' WHERE id = 'leased'`}},
	{name: "no state", sql: []string{`UPDATE execution SET state = NULL WHERE id = 'leased'`}},
	{name: "a move that no operation makes", sql: []string{`UPDATE execution SET state = 'done', rev = rev + 1, started_at = created_at, finished_at = created_at WHERE id = 'leased'`}},
	{name: "the same with an event", sql: []string{event("leased", 2, 0, `'leased'`, "done"),
		`UPDATE execution SET state = 'done', rev = rev + 1, started_at = created_at, finished_at = created_at WHERE id = 'leased'`}},
	{name: "a move back", sql: []string{event("committed", 4, 0, `'committed'`, "in_progress"), `UPDATE execution SET state = 'in_progress', rev = 4 WHERE id = 'committed'`}},
	{name: "a legal move without an event", sql: []string{`UPDATE execution SET state = 'in_progress', rev = 2, started_at = created_at WHERE id = 'leased'`}},
	{name: "a legal move without a revision", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress"), `UPDATE execution SET state = 'in_progress', started_at = created_at WHERE id = 'leased'`}},
	{name: "a revision that jumps", sql: []string{event("leased", 3, 0, `'leased'`, "in_progress"), `UPDATE execution SET state = 'in_progress', rev = 3, started_at = created_at WHERE id = 'leased'`}},
	{name: "a revision that falls", sql: []string{`UPDATE execution SET rev = 1 WHERE id = 'committed'`}},
	{name: "a revision that is text", sql: []string{`UPDATE execution SET rev = 'x' WHERE id = 'leased'`}},
	{name: "a terminal record changes a field", sql: []string{`UPDATE execution SET lease_owner = 'mallory' WHERE id = 'done'`}},
	{name: "a terminal record changes with an event", sql: []string{event("done", 5, 0, `'done'`, "in_progress"), `UPDATE execution SET state = 'in_progress', rev = 5, finished_at = NULL WHERE id = 'done'`}},
	{name: "a field changes without a revision", sql: []string{`UPDATE execution SET lease_owner = 'mallory' WHERE id = 'leased'`}},
	{name: "a record gets another id", sql: []string{`UPDATE execution SET id = 'mine' WHERE id = 'leased'`}},
	{name: "a record gets another job", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress"), `UPDATE execution SET state = 'in_progress', rev = 2, started_at = created_at, job_id = 'mine' WHERE id = 'leased'`}},
	{name: "a record was made earlier", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress"), `UPDATE execution SET state = 'in_progress', rev = 2, started_at = updated_at, created_at = lease_expires_at WHERE id = 'leased'`}},
	{name: "a number of a sequence falls", sql: []string{`UPDATE execution SET attempt = 0 WHERE id = 'leased'`}},
	{name: "a field is missing that the state needs", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress"), `UPDATE execution SET state = 'in_progress', rev = 2 WHERE id = 'leased'`}},
	{name: "a record is deleted", sql: []string{`DELETE FROM execution WHERE id = 'leased'`}},
	{name: "a terminal record is deleted", sql: []string{`DELETE FROM execution WHERE id = 'done'`}},
	{name: "all records are deleted", sql: []string{`DELETE FROM execution`}},
	{name: "a record and its log are deleted", sql: []string{`DELETE FROM execution_events WHERE id = 'leased'`, `DELETE FROM execution WHERE id = 'leased'`}},
	{name: "a record without a log", sql: []string{copyAs("INSERT", "leased", "new", "leased", 1, "job-new")}},
	{name: "a record that begins in the middle", sql: []string{event("new", 1, 0, "NULL", "committed"), copyAs("INSERT", "committed", "new", "committed", 1, "job-new")}},
	{name: "a record that begins at revision 7", sql: []string{event("new", 7, 0, "NULL", "leased"), copyAs("INSERT", "leased", "new", "leased", 7, "job-new")}},
	{name: "a record without an id", sql: []string{event("", 1, 0, "NULL", "leased"), copyAs("INSERT", "leased", "", "leased", 1, "job-new")}},
	{name: "a second lease of a job", sql: []string{event("new", 1, 0, "NULL", "leased"), copyAs("INSERT", "leased", "new", "leased", 1, "job-in_progress")}},
	{name: "a second commit of a job", sql: []string{event("in_progress", 3, 0, `'in_progress'`, "committed"),
		`UPDATE execution SET state = 'committed', rev = 3, job_id = 'job-done' WHERE id = 'in_progress'`}},
	{name: "an upsert over a record", sql: []string{copyAs("INSERT", "leased", "done", "leased", 1, "job-new") + ` AND true ON CONFLICT (id) DO UPDATE SET state = 'leased', rev = 1`}},
	{name: "an event is changed", sql: []string{`UPDATE execution_events SET actor = 'mallory' WHERE id = 'done' AND rev = 2`}},
	{name: "an event gets another request id", sql: []string{`UPDATE execution_events SET request_id = NULL WHERE id = 'done' AND rev = 3`}},
	{name: "an event is deleted", sql: []string{`DELETE FROM execution_events WHERE id = 'done' AND rev = 2`}},
	{name: "the log is deleted", sql: []string{`DELETE FROM execution_events`}},
	{name: "an event twice", sql: []string{event("done", 2, 0, `'leased'`, "in_progress")}},
	{name: "an event after a gap", sql: []string{event("leased", 9, 0, `'leased'`, "in_progress")}},
	{name: "an event from a state that the record is not in", sql: []string{event("leased", 2, 0, `'committed'`, "done")}},
	{name: "an event of a record that is not there", sql: []string{event("ghost", 2, 0, `'leased'`, "in_progress")}},
	{name: "a recorded call of another revision", sql: []string{event("leased", 7, 1, `'leased'`, "leased")}},
	{name: "a known request id again", sql: []string{`INSERT INTO execution_events (id, rev, n, operation, name, from_state, to_state, occurred_at, actor, reason, request_id, request_n, fingerprint, version, checksum)
		SELECT id, rev, 1, operation, name, to_state, to_state, occurred_at, actor, reason, request_id, -1, fingerprint, 1, 0 FROM execution_events WHERE id = 'done' AND rev = 2`}},
	{name: "a legal event alone", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress")}, only: "postgres"},
	{name: "a legal event alone", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress")}, only: "sqlite",
		open: "SQLite has no check at the end of a transaction; the audit finds it, and the record's next step is refused"},

	{name: "REPLACE of a terminal record", only: "sqlite", sql: []string{copyAs("REPLACE", "leased", "done", "leased", 1, "job-new")}},
	{name: "INSERT OR REPLACE of another's place", only: "sqlite", sql: []string{event("new", 1, 0, "NULL", "leased"), copyAs("INSERT OR REPLACE", "leased", "new", "leased", 1, "job-in_progress")}},
	{name: "UPDATE OR REPLACE of another's commit", only: "sqlite", sql: []string{event("in_progress", 3, 0, `'in_progress'`, "committed"),
		`UPDATE OR REPLACE execution SET state = 'committed', rev = 3, job_id = 'job-done' WHERE id = 'in_progress'`}},
	{name: "UPDATE OR IGNORE", only: "sqlite", sql: []string{`UPDATE OR IGNORE execution SET state = 'PENDING', rev = rev + 1 WHERE id = 'leased'`}},
	{name: "INSERT OR REPLACE of an event", only: "sqlite", sql: []string{strings.Replace(event("done", 2, 0, `'leased'`, "in_progress"), "INSERT", "INSERT OR REPLACE", 1)}},
	{name: "UPDATE OR REPLACE of an event", only: "sqlite", sql: []string{`UPDATE OR REPLACE execution_events SET rev = 2 WHERE id = 'done' AND rev = 3`}},
	{name: "a view of the table is written", only: "sqlite", sql: []string{`CREATE TEMP VIEW v AS SELECT * FROM execution`, `UPDATE v SET state = 'done'`}},
	{name: "a temporary trigger writes", only: "sqlite", sql: []string{`CREATE TEMP TRIGGER x AFTER INSERT ON execution_outbox BEGIN UPDATE execution SET state = 'done' WHERE id = 'leased'; END`,
		`INSERT INTO execution_outbox (id, rev, n, effect, key, attempts, due, last_error) VALUES ('x', 1, 0, 'x', 'x', 0, 0, '')`}},
	{name: "a blob for a state", only: "sqlite", sql: []string{`UPDATE execution SET state = x'646F6E65' WHERE id = 'leased'`}},
	{name: "PRAGMA ignore_check_constraints, then a missing field", only: "sqlite", sql: []string{`PRAGMA ignore_check_constraints = ON`, event("leased", 2, 0, `'leased'`, "in_progress"),
		`UPDATE execution SET state = 'in_progress', rev = 2 WHERE id = 'leased'`},
		open: "whoever may switch the checks off for a connection may do anything; the audit finds the record, and it is quarantined"},
	{name: "DROP TRIGGER", only: "sqlite", sql: []string{`DROP TRIGGER execution_delete`, `DELETE FROM execution WHERE id = 'leased'`},
		open: "a SQLite file has no owner but the file system's: who may write it may drop what is in it. The audit finds the log without its record"},

	{name: "TRUNCATE of the records", only: "postgres", sql: []string{`TRUNCATE execution`}},
	{name: "TRUNCATE of the log", only: "postgres", sql: []string{`TRUNCATE execution_events`}},
	{name: "TRUNCATE CASCADE", only: "postgres", sql: []string{`TRUNCATE execution, execution_events CASCADE`}},
	{name: "MERGE", only: "postgres", sql: []string{`MERGE INTO execution e USING (SELECT 'leased' AS id) s ON e.id = s.id WHEN MATCHED THEN UPDATE SET state = 'done', rev = e.rev + 1`}},
	{name: "the deferred checks are put off", only: "postgres", sql: []string{`SET CONSTRAINTS ALL DEFERRED`, `UPDATE execution SET state = 'in_progress', rev = 2, started_at = created_at WHERE id = 'leased'`}},
	{name: "two revisions and one event", only: "postgres", sql: []string{event("leased", 2, 0, `'leased'`, "in_progress"),
		`UPDATE execution SET state = 'in_progress', rev = 2, started_at = created_at WHERE id = 'leased'`, `UPDATE execution SET state = 'committed', rev = 3 WHERE id = 'leased'`}},
	{name: "a write in a CTE", only: "postgres", sql: []string{`WITH x AS (UPDATE execution SET state = 'done', rev = rev + 1 WHERE id = 'leased' RETURNING id) SELECT * FROM x`}},
	{name: "DISABLE TRIGGER by another role", only: "postgres", sql: []string{`CREATE ROLE fsmgen_mallory`, `GRANT ALL ON ALL TABLES IN SCHEMA public TO fsmgen_mallory`, `SET LOCAL ROLE fsmgen_mallory`,
		`ALTER TABLE execution DISABLE TRIGGER ALL`}},
	{name: "session_replication_role by another role", only: "postgres", sql: []string{`CREATE ROLE fsmgen_mallory`, `SET LOCAL ROLE fsmgen_mallory`, `SET LOCAL session_replication_role = replica`}},
	{name: "session_replication_role by a superuser", only: "postgres", sql: []string{`SET LOCAL session_replication_role = replica`, `UPDATE execution SET state = 'done', rev = 2, started_at = created_at, finished_at = created_at WHERE id = 'leased'`},
		open: "a superuser may switch every trigger off; run the program as a role that owns nothing. The audit finds it, and a store refuses a session with this setting"},
	{name: "DISABLE TRIGGER by the owner", only: "postgres", sql: []string{`ALTER TABLE execution DISABLE TRIGGER ALL`, `DELETE FROM execution WHERE id = 'leased'`},
		open: "the owner of a table may switch its triggers off; run the program as another role. The audit finds the log without its record"},
}

// A hand at the SQL prompt cannot corrupt a record: each attack is refused, or
// it needs rights that the documentation says, and is found.
func TestAttacks(t *testing.T) {
	t.Parallel()
	results := map[string]map[string]string{}
	for _, d := range []string{"sqlite", "postgres"} {
		results[d] = map[string]string{}
		live := openPrompt(t, d, "full")
		refused, open := 0, 0
		for _, a := range attacks {
			if a.only != "" && a.only != d {
				continue
			}
			if !live.usable {
				live = openPrompt(t, d, "full")
			}
			results[d][a.name] = live.attack(t, a)
			if strings.HasPrefix(results[d][a.name], "refused") {
				refused++
			} else {
				open++
			}
		}
		bare := openPrompt(t, d, "none")
		through := 0
		for _, a := range attacks {
			if (a.only == "" || a.only == d) && bare.works(t, a) {
				through++
			}
		}
		if through < 25 {
			t.Errorf("%s: only %d attacks get through without enforcement: they attack nothing", d, through)
		}
		faults.Report(t, faults.Row{
			Test: "attacks at the SQL prompt", Store: d, How: "statements past the engine, each in a transaction, on five live records",
			Figures: fmt.Sprintf("%d: %d refused, %d need the rights of an owner or superuser and are found afterwards (ATTACKS.md)", refused+open, refused, open),
			Control: fmt.Sprintf("at level none %d of them get through", through),
		})
	}
	if t.Failed() {
		return
	}
	text := attackPage(results)
	if *update {
		if err := os.WriteFile("ATTACKS.md", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("ATTACKS.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("ATTACKS.md is not what happens (write it with -update):\n%s", diff)
	}
}

// attackPrompt is a SQL prompt at a database with one execution in each state.
type attackPrompt struct {
	dialect string
	db      *sql.DB
	m       *execution.Machine
	usable  bool // nothing got through yet
}

func openPrompt(t *testing.T, dialect, enforce string) *attackPrompt {
	t.Helper()
	p := &attackPrompt{dialect: dialect, usable: true}
	p.db, p.m = fiveExecutions(t, dialect, enforce)
	return p
}

// run runs the statements in a transaction and ends it.
func (p *attackPrompt) run(t *testing.T, a attack, commit bool) error {
	t.Helper()
	ctx := t.Context()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	statements := a.sql
	if strings.HasPrefix(statements[0], "PRAGMA") { // has no effect within a transaction
		if _, err := conn.ExecContext(ctx, statements[0]); err != nil {
			t.Fatal(err)
		}
		statements = statements[1:]
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			_ = tx.Rollback() // the statement's error is what matters
			return err
		}
	}
	if commit {
		return tx.Commit()
	}
	return tx.Rollback()
}

// works reports whether the statements pass, and takes them back.
func (p *attackPrompt) works(t *testing.T, a attack) bool {
	t.Helper()
	return p.run(t, a, false) == nil
}

// attack makes an attack and returns what came of it.
func (p *attackPrompt) attack(t *testing.T, a attack) string {
	t.Helper()
	before := dump(t, p.db)
	err := p.run(t, a, true)
	p.usable = dump(t, p.db) == before && !strings.HasPrefix(a.sql[0], "PRAGMA")
	switch {
	case err != nil && !p.usable && a.open == "":
		t.Errorf("%s: %s: refused (%v), but something changed", p.dialect, a.name, err)
	case err != nil && syntax(err):
		t.Errorf("%s: %s: is no attack: %v", p.dialect, a.name, err)
	case err != nil && a.open != "":
		t.Errorf("%s: %s: is refused (%v), but documented as open", p.dialect, a.name, err)
	case err != nil:
		return "refused: " + oneLine(err)
	case p.usable && a.open == "":
		return "refused: nothing happens"
	case a.open == "":
		t.Errorf("%s: %s: was let through:\n%s", p.dialect, a.name, strings.Join(a.sql, ";\n"))
	case !found(t.Context(), p.m):
		t.Errorf("%s: %s: was let through, and the audit does not find it", p.dialect, a.name)
	}
	return "not refused: " + a.open
}

// found reports whether an audit has a finding.
func found(ctx context.Context, m *execution.Machine) bool {
	for _, err := range audit.Run(ctx, m) {
		return err == nil
	}
	return false
}

// syntax reports whether an error is about the statement and not about a rule.
func syntax(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return strings.HasPrefix(state.SQLState(), "42") && state.SQLState() != "42501"
	}
	return strings.Contains(err.Error(), "syntax error") || strings.Contains(err.Error(), "no such column")
}

func oneLine(err error) string {
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "ERROR: ")
	return strings.ReplaceAll(text, "|", `\|`)
}

// fiveExecutions makes a database with one execution in each state.
func fiveExecutions(t *testing.T, dialect, enforce string) (*sql.DB, *execution.Machine) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	if dialect == "postgres" {
		path = pgtest.DSN(t)
	}
	return fiveIn(t, dialect, enforce, path)
}

// promptAt opens a SQL prompt.
func promptAt(dialect, path string) (*sql.DB, error) {
	if dialect == "sqlite" {
		return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=recursive_triggers(1)")
	}
	return sql.Open("pgx", path)
}

// fiveIn makes them there.
func fiveIn(t *testing.T, dialect, enforce, path string) (*sql.DB, *execution.Machine) {
	t.Helper()
	ctx := t.Context()
	var store driver.Transactional[*sql.Tx]
	var db *sql.DB
	var err error
	if dialect == "sqlite" {
		if store, err = sqlite.Open(path, sqlite.WithEnforce(enforce)); err == nil {
			db, err = promptAt(dialect, path)
		}
	} else if store, err = postgres.Open(ctx, path, quiet, postgres.WithEnforce(enforce)); err == nil {
		db, err = promptAt(dialect, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := faults.Migrate(ctx, store, db); err != nil {
		t.Fatal(err)
	}
	s, err := faults.Open(ctx, store, db)
	if err != nil {
		t.Fatal(err)
	}
	for n, state := range []string{"leased", "in_progress", "committed", "done"} {
		if _, err := s.Settle(ctx, state, n+1); err != nil {
			t.Fatal(err)
		}
	}
	// A process whose clock is years behind leases; the sweeper finds that lease over.
	behind, err := faults.Open(ctx, store, db, fsm.WithClock(func() time.Time { return time.Unix(0, 0) }))
	if err != nil {
		t.Fatal(err)
	}
	out, err := behind.M.Lease(ctx, "aborted", execution.LeaseInput{JobID: "job-aborted", LeaseExpiresAt: time.Unix(1, 0)}, fsm.Call{RequestID: "lease-aborted", Actor: "w"})
	if err == nil {
		_, err = s.M.Expire(ctx, out, fsm.Call{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return db, s.M
}

// dump returns all records and events as text.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, query := range []string{`SELECT * FROM execution ORDER BY id`, `SELECT * FROM execution_events ORDER BY id, rev, n`, `SELECT count(*) FROM execution_outbox`} {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(targets...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, values...)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// attackPage is the page that documents them.
func attackPage(results map[string]map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("# Attacks at the SQL prompt\n\n" +
		"What another program, or a hand at the prompt, tries on the tables of execution at the level `full`, and\n" +
		"what comes of it. Written by `go test ./internal/lab/faults -run TestAttacks -update`; the test fails when it is stale.\n\n" +
		"| attack | SQLite | PostgreSQL |\n|---|---|---|\n")
	var order []string
	seen := map[string]bool{}
	for _, a := range attacks {
		if !seen[a.name] {
			seen[a.name] = true
			order = append(order, a.name)
		}
	}
	cell := func(d, name string) string {
		if r, ok := results[d][name]; ok {
			return r
		}
		return "–"
	}
	for _, name := range order {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, cell("sqlite", name), cell("postgres", name))
	}
	return b.Bytes()
}
