package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// Under a running store, the search_path of its role comes to lead to tables of the same names.
// Every row lands in the store's own; when those are made again, new sessions are refused.
func TestSearchPathChanges(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	role := fmt.Sprintf("walker%d", os.Getpid())
	run := func(text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	count := func(table string) (n int) {
		t.Helper()
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	run("CREATE ROLE " + role + " LOGIN; CREATE SCHEMA app AUTHORIZATION " + role + "; CREATE SCHEMA decoy AUTHORIZATION " + role + "; ALTER ROLE " + role + " SET search_path = app")
	t.Cleanup(func() { _, _ = db.Exec("DROP OWNED BY " + role + " CASCADE; DROP ROLE " + role) })
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	open := func(opts ...postgres.Option) *sqlstore.Store {
		t.Helper()
		store, err := postgres.Open(t.Context(), dsn+"&user="+role, append(opts, quiet)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	open(postgres.WithSchema("decoy"))
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	renew := "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = '" + role + "'"
	for i, path := range []string{"decoy, app", "pg_temp, decoy", "nowhere"} {
		run("ALTER ROLE " + role + " SET search_path = " + path)
		run(renew)
		for n := range 5 {
			if _, err := registerIn(t.Context(), m, fmt.Sprint("r", i, n), "l"); err != nil {
				t.Errorf("search_path = %s: %v", path, err)
			}
		}
	}
	if own, others := count("app.parcel"), count("decoy.parcel")+count("decoy.parcel_events"); own != 15 || others != 0 {
		t.Errorf("%d rows in the store's table, %d in decoys; want 15 and 0", own, others)
	}
	run("ALTER SCHEMA app RENAME TO gone; ALTER SCHEMA decoy RENAME TO app")
	run(renew)
	if _, err := registerIn(t.Context(), m, "lost", "l"); err == nil { // its session was ended, and no other can find out
		t.Error("a call went through in other tables")
	}
	_, err = registerIn(t.Context(), m, "late", "l")
	var refused *fsm.Refusal
	if !errors.As(err, &refused) || refused.Code != fsm.ErrSchemaMismatch || !errors.Is(err, sqlstore.ErrTables) {
		t.Errorf("tables of the same name: %v", err)
	}
	if _, err := m.Record(t.Context(), "r00"); !errors.Is(err, sqlstore.ErrTables) { // which no write looks at
		t.Errorf("a read of tables of the same name: %v", err)
	}
	if n := count("app.parcel"); n != 0 {
		t.Errorf("%d rows in other tables", n)
	}
}

// Under open sessions the names of the tables come to lead elsewhere: a schema or a table is renamed, or
// made again. Each write finds out by itself, in any form of it, and goes on where the names lead back.
func TestTablesAreRenamed(t *testing.T) {
	t.Parallel()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	dsn := pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	run := func(text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run("CREATE SCHEMA app; CREATE SCHEMA decoy; CREATE SCHEMA held")
	var tables []driver.Table
	machine := func(place string) *fsm.Machine[storetest.Parcel] {
		t.Helper()
		store, err := postgres.Open(t.Context(), dsn, postgres.WithSchema(place), quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
		if err == nil {
			_, err = m.Startup(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		table, err := store.Table(schema)
		if err == nil {
			err = table.Check(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, table)
		return m
	}
	m, decoy := machine("app"), machine("decoy")
	n, same := 0, storetest.RegisterInput{Lane: "l"}
	meta := func() storetest.Meta { n++; return storetest.Meta{Actor: "w", RequestID: fmt.Sprint("r", n)} }
	hold := func() fsmimpl.Call[storetest.Parcel] {
		return storetest.Hold(meta(), "h", time.Now().Add(time.Hour))
	}
	for _, x := range []*fsm.Machine[storetest.Parcel]{m, decoy} { // the same records in both
		for i := range 20 {
			same.ID = fmt.Sprint("p", i)
			if _, err := x.Create(t.Context(), storetest.Register(meta(), same)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []*fsm.Machine[storetest.Parcel]{m, decoy} { // an effect is due in both
		out, err := x.Apply(t.Context(), fsm.Ref{ID: "p19", Rev: 1}, hold())
		if err == nil {
			out, err = x.Apply(t.Context(), out, storetest.Shelve(meta(), "s", "t"))
		}
		if err == nil {
			_, err = x.Apply(t.Context(), out, storetest.Send(meta()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	next := 0
	id := func() fsm.Ref { next++; return fsm.Ref{ID: fmt.Sprint("p", next-1), Rev: 1} }
	forms := map[string]func() error{
		"creation": func() error {
			_, err := m.Create(t.Context(), storetest.Register(meta(), storetest.RegisterInput{ID: fmt.Sprint("new", n), Lane: "l"}))
			return err
		},
		"move": func() error { _, err := m.Apply(t.Context(), id(), hold()); return err },
		"move in a transaction": func() error {
			_, err := m.Apply(t.Context(), fsm.Ref{ID: id().ID}, hold())
			return err
		},
		"batch": func() error {
			_, err := m.ApplyMany(t.Context(), []fsmimpl.Item[storetest.Parcel]{{At: id(), Call: hold()}, {At: id(), Call: hold()}})
			return err
		},
	}
	forms["delivery"] = func() error { _, err := m.Deliver(t.Context()); return err }
	row := storetest.Encode(&storetest.Parcel{ID: "p18", Rev: 1, State: "waiting", Lane: "l"})
	mark := driver.Event{ID: "p18", Rev: 1, N: 1, Operation: "__purge", Name: "__purge", From: "waiting", To: "waiting",
		RequestN: -1, Inputs: fsm.MustJSON("{}"), Changes: fsm.MustJSON("{}")}
	write := &driver.Write{Prev: fsm.Ref{ID: "p18", Rev: 1}, PrevState: "waiting", Row: &row, Event: mark}
	now := time.Now()
	alone := map[string]func() error{}
	for name, f := range map[string]func(tx fsm.Tx) error{ // each alone would change what is stored
		"claim":    func(tx fsm.Tx) error { _, err := tx.Claim("notify", now, now.Add(time.Hour), 1); return err },
		"settle":   func(tx fsm.Tx) error { _, err := tx.Settle("p19", 4, 0, 0); return err },
		"postpone": func(tx fsm.Tx) error { _, err := tx.Postpone("p19", 4, 0, 0, now, "late"); return err },
		"purge":    func(tx fsm.Tx) error { _, err := tx.Purge(write); return err },
		"forget":   func(tx fsm.Tx) error { _, err := tx.Forget("p18", now); return err },
		"restore":  func(tx fsm.Tx) error { e := mark; return tx.Restore(&row, &e) },
		"redact":   func(tx fsm.Tx) error { _, err := tx.Redact(write, []driver.Event{mark}); return err },
	} {
		alone[name] = func() error { return tables[0].Update(t.Context(), f) }
	}
	all := func(want bool, when string) {
		t.Helper()
		tried := maps.Clone(forms)
		if !want {
			maps.Copy(tried, alone)
		}
		for name, form := range tried {
			var refused *fsm.Refusal
			switch err := form(); {
			case want && err != nil:
				t.Errorf("%s: %s: %v", when, name, err)
			case !want && (!errors.As(err, &refused) || refused.Code != fsm.ErrSchemaMismatch || !errors.Is(err, sqlstore.ErrTables)):
				t.Errorf("%s: %s: got %v, want that the tables are others", when, name, err)
			}
		}
	}
	all(true, "before")
	swap := "ALTER SCHEMA app RENAME TO other; ALTER SCHEMA decoy RENAME TO app; ALTER SCHEMA other RENAME TO decoy"
	moved := func(table string) string {
		return fmt.Sprintf(`ALTER TABLE app.%[1]q SET SCHEMA held; ALTER TABLE decoy.%[1]q SET SCHEMA app; ALTER TABLE held.%[1]q SET SCHEMA decoy`, table)
	}
	for _, change := range []string{swap, moved("parcel"), moved("parcel_events")} {
		was := next
		total := func() (all string) { // of both
			t.Helper()
			for _, place := range []string{"app", "decoy"} {
				var events, stored, asked string
				if err := db.QueryRow(fmt.Sprintf(`SELECT (SELECT count(*) FROM %[1]s."parcel_events"), (SELECT count(*) FROM %[1]s."parcel"),
					(SELECT coalesce(string_agg(o::text, ' '), '') FROM %[1]s."parcel_outbox" AS o)`, place)).Scan(&events, &stored, &asked); err != nil {
					t.Fatal(err)
				}
				all += fmt.Sprintf("%s events, %s rows, outbox %q; ", events, stored, asked)
			}
			return all
		}
		run(change)
		before := total()
		all(false, change)
		if got := total(); got != before {
			t.Errorf("%s: tables that are not the store's were %s and are %s", change, before, got)
		}
		next = was
		run(change) // back
		all(true, "after "+change)
	}
	run("DROP SCHEMA app CASCADE; ALTER SCHEMA decoy RENAME TO app") // as a dump that is restored
	next = 0
	all(false, "made again")
}

// A temporary table of the log's name makes no trigger believe that a row has its event, and takes
// no event of a call in the same transaction.
func TestTemporaryTables(t *testing.T) {
	t.Parallel()
	_, db, open := ground(t)
	store, m := open()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`CREATE TEMP TABLE "parcel_events" ON COMMIT DROP AS SELECT * FROM public."parcel_events"; CREATE TEMP TABLE "parcel" ON COMMIT DROP AS SELECT * FROM public."parcel"`); err != nil {
		t.Fatal(err)
	}
	in, err := m.In(t.Context(), fsm.Join(store, tx))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "w", RequestID: "a"}, storetest.RegisterInput{ID: "a", Lane: "l"})); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM public."parcel") + (SELECT count(*) FROM public."parcel_events")`).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v; want the row and its event", n, err)
	}
	forge, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer forge.Rollback()
	var columns string
	if err := forge.QueryRow(`SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
		WHERE attrelid = 'public."parcel"'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`).Scan(&columns); err != nil {
		t.Fatal(err)
	}
	if _, err := forge.Exec(`CREATE TEMP TABLE "parcel_events" ON COMMIT DROP AS SELECT * FROM public."parcel_events";
		UPDATE pg_temp."parcel_events" SET "id" = 'forged';
		INSERT INTO public."parcel" (` + columns + `) SELECT ` + columns + `
		FROM (SELECT (jsonb_populate_record(p, '{"id": "forged"}')).* FROM public."parcel" p) AS f`); err != nil {
		t.Fatal(err)
	}
	if err := forge.Commit(); err == nil {
		t.Error("a row without an event was let in")
	}
}
