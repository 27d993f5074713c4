package migration_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/migration"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/spec"
)

// postgresObjects is what a database is made of, without the order of columns.
func postgresObjects(t testing.TB, db *sql.DB) []string {
	var list []string
	for _, query := range []string{
		`SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2`,
		`SELECT conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid <> 0 AND contype <> 't' ORDER BY 1, 2`,
		`SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
		`SELECT tgrelid::regclass, tgname, pg_get_triggerdef(oid), (SELECT prosrc FROM pg_proc WHERE pg_proc.oid = tgfoid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
		`SELECT viewname, definition FROM pg_views WHERE schemaname = 'public' ORDER BY 1`,
		`SELECT "version", "hash", "enforce" FROM "fsm_meta"`,
	} {
		list = append(list, rowsOf(t, db, query)...)
	}
	return generatedOnly(list)
}

func TestPostgresSchemaIsTheGeneratedOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	everyEdit(t, []string{"full", "none"}, func(t *testing.T, old, next *spec.Machine, enforce string) {
		m, err := migration.New(old, next, migration.Postgres, enforce)
		if err != nil {
			t.Fatal(err)
		}
		db, fresh := pgtest.Open(t), pgtest.Open(t)
		db.SetMaxOpenConns(1)
		execute(t, db, generate(t, old, enforce)[old.Name+".postgres.sql"])
		for _, q := range m.Queries {
			if rows := rowsOf(t, db, q.SQL); len(rows) > 0 {
				t.Errorf("%s: rows of an empty table: %q", q.Rule, rows)
			}
		}
		execute(t, db, m.Script)
		execute(t, fresh, generate(t, next, enforce)[next.Name+".postgres.sql"])
		if d := cmp.Diff(postgresObjects(t, fresh), postgresObjects(t, db)); d != "" {
			t.Errorf("(-generated +migrated):\n%s", d)
		}
	})
}

// The rows that a program of the old version wrote are carried into PostgreSQL
// as that program would write them there, under all of the old triggers; then
// the printed SQL migrates them.
func TestTicketsLiveOnInPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own and starts PostgreSQL")
	}
	t.Parallel()
	db := pgtest.Open(t)
	db.SetMaxOpenConns(1)
	old, next := versions(t, "ticket")
	file := filepath.Join(t.TempDir(), "tickets.db")
	run(t, build(t, "ticket", packages(t, old, next)), "fill", file)
	execute(t, db, generate(t, old, "full")["ticket.postgres.sql"])
	carry(t, openSQLite(t, file), db, old)
	m, err := migration.New(old, next, migration.Postgres, "full")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range m.Queries {
		if rows := rowsOf(t, db, q.SQL); len(rows) > 0 {
			t.Errorf("%s: %q", q.Rule, rows)
		}
	}
	const log = `SELECT "id", "rev", "n", "operation", "from", "to", "at", "changes", "sum" FROM "ticket_events" WHERE "operation" <> 'migrate' ORDER BY 1, 2, 3`
	before := rowsOf(t, db, log)
	execute(t, db, m.Script)
	if d := cmp.Diff(before, rowsOf(t, db, log)); d != "" {
		t.Errorf("the log changed (-before +after):\n%s", d)
	}
	if n := audit(t, db, next); n != 15 {
		t.Errorf("%d records were moved, want 15", n)
	}
	if left := rowsOf(t, db, `SELECT conname FROM pg_constraint WHERE NOT convalidated`); len(left) > 0 {
		t.Errorf("not validated: %q", left)
	}
	if _, err := db.Exec(m.Script); err == nil || !strings.Contains(err.Error(), "this is no database of version 1") {
		t.Errorf("the second run: %v", err)
	}
	execute(t, db, "ROLLBACK")
}

// carry copies the log step by step: each event with the row that it makes.
func carry(t *testing.T, from, to *sql.DB, m *spec.Machine) {
	t.Helper()
	s := schemaOf(m)
	logs := map[string][]fsm.Event{}
	var order []string
	for _, e := range events(t, from, m, true) {
		if logs[e.ID] == nil {
			order = append(order, e.ID)
		}
		logs[e.ID] = append(logs[e.ID], e)
	}
	for _, id := range order {
		for i := range logs[id] {
			e := &logs[id][i]
			tx, err := to.Begin()
			if err != nil {
				t.Fatal(err)
			}
			run := func(query string, args ...any) {
				t.Helper()
				if _, err := tx.Exec(query, args...); err != nil {
					t.Fatalf("%v\n%s %v", err, query, args)
				}
			}
			run(`INSERT INTO "ticket_events" ("id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "image", "version", "sum")
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`, e.ID, e.Rev, e.N, e.Operation, e.Name, null(e.From), e.To, e.At,
				e.Actor, e.Reason, null(e.RequestID), e.RequestN, e.Fingerprint, null(e.Inputs.String()), null(e.Changes.String()), null(e.Image.String()), e.Version, int64(e.Sum))
			if e.N == 0 {
				row, err := fsm.FoldRow(s, logs[id][:i+1])
				if err != nil {
					t.Fatal(err)
				}
				args := []any{row.ID, row.State, row.Rev, row.CreatedAt, row.UpdatedAt}
				names := []string{`"state"`, `"rev"`, `"created_at"`, `"updated_at"`}
				for i, c := range s.Columns {
					names, args = append(names, `"`+c.Stored+`"`), append(args, row.Values[i])
				}
				var places, set []string
				for i, n := range names {
					places, set = append(places, fmt.Sprint("$", i+2)), append(set, fmt.Sprintf("%s = $%d", n, i+2))
				}
				if row.Rev == 1 {
					run(`INSERT INTO "ticket" ("id", `+strings.Join(names, ", ")+`) VALUES ($1, `+strings.Join(places, ", ")+`)`, args...)
				} else {
					run(`UPDATE "ticket" SET `+strings.Join(set, ", ")+` WHERE "id" = $1`, args...)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatalf("%s at revision %d: %v", e.ID, e.Rev, err)
			}
		}
	}
}

func null(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// audit checks what the runtime's audit checks, by the runtime's own functions:
// sums, revisions, chain, and that each row is the fold of its log under the new
// version. It returns how many records were moved.
func audit(t *testing.T, db *sql.DB, m *spec.Machine) (moved int) {
	t.Helper()
	s := schemaOf(m)
	logs := map[string][]fsm.Event{}
	for _, e := range events(t, db, m, false) {
		if sum := fsm.Checksum(&e); sum != e.Sum {
			t.Errorf("%q at revision %d: the sum is %08x, want %08x", e.ID, e.Rev, e.Sum, sum)
		}
		if e.Operation == "migrate" {
			moved++
			if e.Version != m.Version || e.From == "" || e.At.IsZero() {
				t.Errorf("the event of the migration is %+v", e)
			}
		}
		logs[e.ID] = append(logs[e.ID], e)
	}
	states := map[string]bool{}
	for _, st := range m.States {
		states[st.Stored()] = true
	}
	rows, err := db.Query(`SELECT * FROM "ticket"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
		values := make([]any, len(names))
		targets := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		for i, name := range names {
			if at, ok := values[i].(time.Time); ok {
				values[i] = fsm.Time(at)
			}
			if b, ok := values[i].([]byte); ok {
				values[i] = string(b)
			}
			got[name] = values[i]
		}
		row, err := fsm.FoldRow(s, logs[got["id"].(string)])
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		want := map[string]any{"id": row.ID, "state": row.State, "rev": row.Rev, "created_at": row.CreatedAt, "updated_at": row.UpdatedAt}
		for i, c := range s.Columns {
			want[c.Stored] = row.Values[i]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("row and log differ (-log +row):\n%s", d)
		}
		if !states[row.State] {
			t.Errorf("%q is in the state %q", row.ID, row.State)
		}
	}
	if err := rows.Err(); err != nil || n != len(logs) {
		t.Errorf("%d rows, %d logs (%v)", n, len(logs), err)
	}
	return moved
}

// events reads a log, in the order of each record.
func events(t *testing.T, db *sql.DB, m *spec.Machine, micros bool) []fsm.Event {
	t.Helper()
	rows, err := db.Query(`SELECT "id", "rev", "n", "operation", "name", "from", "to", "at", "actor", "reason", "request_id", "request_n", "fingerprint",
		"inputs", "changes", "image", "version", "sum" FROM "` + m.Name + `_events" WHERE "labels" IS NULL AND "cause" IS NULL AND "guard" IS NULL ORDER BY "id", "rev", "n"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []fsm.Event
	for rows.Next() {
		var e fsm.Event
		var from, request, inputs, changes, image sql.NullString
		var at any
		if err := rows.Scan(&e.ID, &e.Rev, &e.N, &e.Operation, &e.Name, &from, &e.To, &at, &e.Actor, &e.Reason, &request, &e.RequestN, &e.Fingerprint,
			&inputs, &changes, &image, &e.Version, &e.Sum); err != nil {
			t.Fatal(err)
		}
		e.From, e.RequestID = from.String, request.String
		if micros {
			e.At = time.UnixMicro(at.(int64)).UTC()
		} else {
			e.At = fsm.Time(at.(time.Time))
		}
		for to, text := range map[*fsm.JSON]string{&e.Inputs: inputs.String, &e.Changes: changes.String, &e.Image: image.String} {
			if text != "" {
				*to = fsm.MustJSON(text)
			}
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// schemaOf describes the columns of a machine, as far as a fold asks for them.
func schemaOf(m *spec.Machine) *fsm.Schema {
	kinds := map[spec.Kind]fsm.Kind{
		spec.KindString: fsm.KindString, spec.KindInt: fsm.KindInt, spec.KindBool: fsm.KindBool, spec.KindTime: fsm.KindTime, spec.KindJSON: fsm.KindJSON,
		spec.KindCounter: fsm.KindCounter, spec.KindSet: fsm.KindSet, spec.KindSequence: fsm.KindSequence, spec.KindEnum: fsm.KindEnum,
	}
	s := &fsm.Schema{Machine: m.Name, Table: m.Name, Version: m.Version, Hash: m.Hash}
	for _, f := range m.Fields {
		s.Columns = append(s.Columns, fsm.Column{Name: f.Name, Stored: f.Stored(), Kind: kinds[f.Type.Kind], Optional: f.Type.Optional})
	}
	return s
}
