package postgres_test

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Writers, a redactor, a repairer and a retention job work on the same records: they
// wait for each other in one order, so the server has no deadlock to end.
func TestErasersBesideWriters(t *testing.T) {
	t.Parallel()
	const records, rounds = 6, 60
	d := newDepot(t, pgtest.DSN(t))
	beside, _ := parcels(t, d.dsn)
	who := storetest.Meta{Actor: "Ann", Reason: "a reason"}
	id := func(i int) string { return fmt.Sprint("p", i%records) }
	for i := range records {
		if _, err := d.m.Create(t.Context(), storetest.Register(who, storetest.RegisterInput{ID: id(i), Lane: "a"})); err != nil {
			t.Fatal(err)
		}
	}
	met := deadlocks(t, d.dsn)
	var all sync.WaitGroup
	run := func(name string, f func(i int) error) {
		all.Go(func() {
			for i := range rounds {
				if err := f(i); err != nil && !(name == "redactor" && errors.Is(err, fsm.ErrQuarantined)) {
					t.Errorf("%s, round %d: %v", name, i, err)
					return
				}
			}
		})
	}
	for w := range records {
		run("writer", func(int) error {
			_, err := beside.Apply(t.Context(), fsm.Ref{ID: id(w)}, storetest.Bill(who))
			return err
		})
	}
	run("redactor", func(i int) error {
		_, _, err := audit.Redact(t.Context(), d.m, id(i), audit.RedactOptions{Reasons: true, Actor: "root", Reason: "asked"})
		return err
	})
	run("repairer", func(i int) error {
		d.edit(fmt.Sprintf(`UPDATE "parcel" SET "weight" = 77 WHERE "id" = '%s'`, id(i)))
		_, _, err := audit.Repair(t.Context(), beside, id(i), "root", "it was edited")
		return err
	})
	run("purger", func(i int) error {
		out, err := d.m.Create(t.Context(), storetest.Register(who, storetest.RegisterInput{ID: fmt.Sprint("gone", i), Lane: "b"}))
		if err == nil {
			out, err = d.m.Apply(t.Context(), out, storetest.Hold(who, "b", time.Now().Add(time.Hour)))
		}
		if err == nil {
			_, err = d.m.Apply(t.Context(), out, storetest.Expel(who)) // and it is sent
		}
		if err == nil {
			_, err = audit.Purge(t.Context(), d.m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Actor: "root", Reason: "retention"})
		}
		if err == nil {
			_, err = audit.Forget(t.Context(), d.m, audit.ForgetOptions{Before: time.Now().Add(time.Hour)})
		}
		return err
	})
	all.Wait()
	if n := met(); n > 0 {
		t.Errorf("the server ended %d deadlocks", n)
	}
	for i := range records {
		if _, _, err := audit.Repair(t.Context(), d.m, id(i), "root", "the end"); err != nil {
			t.Error(err)
		}
	}
	for f, err := range audit.Run(t.Context(), d.m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}

// edit runs a statement that no trigger looks at, as a restored backup might.
func (d *depot) edit(text string) {
	d.Helper()
	if _, err := d.db.Exec("SET session_replication_role = replica; " + text + "; SET session_replication_role = origin"); err != nil {
		d.Error(err)
	}
}

// A trigger of the user's sees what a redaction and a repair write, and stays as it was,
// switched on or off.
func TestUsersTriggersWhileErasing(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	for _, text := range []string{
		`CREATE TABLE "mirror" ("id" text PRIMARY KEY, "note" text, "weight" bigint)`,
		`CREATE FUNCTION "mine"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO "mirror" VALUES (NEW."id", NEW."note"::text, NEW."weight")
			ON CONFLICT ("id") DO UPDATE SET "note" = excluded."note", "weight" = excluded."weight"; RETURN NULL; END $$`,
		`CREATE TRIGGER "mine" AFTER INSERT OR UPDATE ON "parcel" FOR EACH ROW EXECUTE FUNCTION "mine"()`,
		`CREATE TRIGGER "mine_off" AFTER INSERT OR UPDATE ON "parcel" FOR EACH ROW EXECUTE FUNCTION "mine"()`,
		`CREATE TRIGGER "mine_off" AFTER UPDATE ON "parcel_events" FOR EACH ROW EXECUTE FUNCTION "mine"()`,
		`ALTER TABLE "parcel" DISABLE TRIGGER "mine_off"`,
		`ALTER TABLE "parcel_events" DISABLE TRIGGER "mine_off"`,
		`ALTER TABLE "parcel" ENABLE ALWAYS TRIGGER "mine"`,
	} {
		if _, err := d.db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(text string) (answer string) {
		t.Helper()
		if err := d.db.QueryRow(text).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	const triggers = `SELECT string_agg(tgrelid::regclass || '.' || tgname || '=' || tgenabled::text, ' ' ORDER BY tgrelid, tgname) FROM pg_trigger`
	before := ask(triggers)
	out, err := d.m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "Ann"}, storetest.RegisterInput{ID: "p1", Lane: "a"}))
	if err == nil {
		_, err = d.m.Apply(t.Context(), out, storetest.Annotate(storetest.Meta{}, fsm.Some(fsm.MustJSON(`"secret"`)), fsm.Optional[string]{}, fsm.Optional[bool]{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	const mirror = `SELECT concat_ws(' ', "note", "weight") FROM "mirror"`
	if text := ask(mirror); !strings.Contains(text, "secret") {
		t.Fatalf("before it the mirror holds %q", text)
	}
	if _, redacted, err := audit.Redact(t.Context(), d.m, "p1", audit.RedactOptions{Fields: []string{"note"}, Actor: "root", Reason: "asked"}); !redacted || err != nil {
		t.Fatal(redacted, err)
	}
	if text := ask(mirror); strings.Contains(text, "secret") {
		t.Errorf("the user's mirror holds %q after the redaction", text)
	}
	if _, err := d.db.Exec(`UPDATE "mirror" SET "weight" = 77`); err != nil {
		t.Fatal(err)
	}
	d.edit(`UPDATE "parcel" SET "weight" = 77`)
	if _, repaired, err := audit.Repair(t.Context(), d.m, "p1", "root", "it was edited"); !repaired || err != nil {
		t.Fatal(repaired, err)
	}
	if text := ask(mirror); strings.Contains(text, "77") {
		t.Errorf("the user's mirror holds %q after the repair", text)
	}
	if after := ask(triggers); after != before {
		t.Errorf("the triggers were\n%s\nand are\n%s", before, after)
	}
}

// What makes the triggers stand aside holds in one transaction, and for the owner.
func TestNobodyStandsAsideByAccident(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	if _, err := d.m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "Ann", Reason: "why"}, storetest.RegisterInput{ID: "p1", Lane: "a"})); err != nil {
		t.Fatal(err)
	}
	const edit = `UPDATE "parcel_events" SET "actor" = 'eve'`
	for _, text := range []string{
		`SET fsm.unguarded = 'on'`,
		`SET fsm.unguarded = ' parcel'`,
		`SELECT set_config('fsm.unguarded', pg_current_xact_id()::text || ' parcel', false)`,    // of a transaction that is over
		`BEGIN; SELECT set_config('fsm.unguarded', pg_current_xact_id()::text || ' job', true)`, // of another machine
	} {
		for _, statement := range []string{edit, `UPDATE "parcel" SET "lane" = 'b'`} {
			conn, err := d.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "fsm: parcel: ") {
				t.Errorf("after %s: %s: %v", text, statement, err)
			}
			for _, text := range []string{"ROLLBACK", "RESET ALL"} {
				if _, err := conn.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			conn.Close()
		}
	}
	// A role that may write the tables and does not own them.
	address := d.dsn + "&user=" + d.clerk()
	clerk, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clerk.Close() })
	for _, statement := range []string{edit, `TRUNCATE "parcel_events"`} {
		tx, err := clerk.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(`SELECT set_config('fsm.unguarded', pg_current_xact_id()::text || ' parcel', true)`); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(statement); err == nil || !strings.Contains(err.Error(), "fsm: parcel: ") {
			t.Errorf("who does not own the tables: %s: %v", statement, err)
		}
		tx.Rollback()
	}
	m, _ := parcels(t, address)
	if _, _, err := audit.Redact(t.Context(), m, "p1", audit.RedactOptions{Reasons: true, Actor: "root", Reason: "asked"}); !errors.Is(err, fsm.ErrDenied) {
		t.Errorf("a redaction by who does not own the tables: %v, want ErrDenied", err)
	}
	// Triggers that a hand has changed know of no such setting.
	if _, err := d.db.Exec(`CREATE OR REPLACE FUNCTION "parcel_events_keep"() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'fsm: parcel: the log is append-only: update' USING ERRCODE = 'FS006'; END $$`); err != nil {
		t.Fatal(err)
	}
	o := audit.RedactOptions{Reasons: true, Actor: "root", Reason: "asked"}
	if _, _, err := audit.Redact(t.Context(), d.m, "p1", o); !errors.Is(err, fsm.ErrSchemaMismatch) || !strings.Contains(err.Error(), "Migrate") {
		t.Errorf("a redaction under changed triggers: %v, want ErrSchemaMismatch", err)
	}
	if err := fsmimpl.Migrate(t.Context(), d.store, d.schema); err != nil {
		t.Fatal(err)
	}
	if _, redacted, err := audit.Redact(t.Context(), d.m, "p1", o); !redacted || err != nil {
		t.Error(redacted, err)
	}
}

// clerk makes a role that may write all tables and owns none.
func (d *depot) clerk() (role string) {
	d.Helper()
	role = "clerk_" + strings.ToLower(rand.Text())
	for _, text := range []string{`CREATE ROLE ` + role + ` LOGIN`, `GRANT ALL ON ALL TABLES IN SCHEMA public TO ` + role} {
		if _, err := d.db.Exec(text); err != nil {
			d.Fatal(err)
		}
	}
	d.Cleanup(func() { _, _ = d.db.Exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	return role
}

// The row by which a group is locked tells nothing of the records that were in it, and
// there are not more such rows than places.
func TestGroupsKeepNoTexts(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	for i := range 3 {
		id := fmt.Sprint("p", i)
		out, err := d.m.Create(t.Context(), storetest.Register(storetest.Meta{Actor: "Ann"}, storetest.RegisterInput{ID: id, Lane: "ann@secret.example " + id}))
		if err == nil {
			out, err = d.m.Apply(t.Context(), out, storetest.Hold(storetest.Meta{Actor: "Ann"}, out.Record.Lane, time.Now().Add(time.Hour)))
		}
		if err == nil {
			_, err = d.m.Apply(t.Context(), out, storetest.Shelve(storetest.Meta{Actor: "Ann"}, id, "x"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var rows, places int
	if err := d.db.QueryRow(`SELECT count(*), count(*) FILTER (WHERE "key" ~ '^[0-9a-f]{1,4}$') FROM "parcel_groups"`).Scan(&rows, &places); err != nil || rows == 0 || rows != places {
		t.Errorf("%d rows, of which %d are of places, %v", rows, places, err)
	}
}
