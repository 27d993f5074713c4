package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// While the server says that its disk is full (53100), in a statement or at the commit,
// nothing is acknowledged. Once there is room the same store does the same calls.
func TestFullServer(t *testing.T) {
	t.Parallel()
	for name, trigger := range map[string]string{
		"a statement": `CREATE TRIGGER is_full BEFORE INSERT ON parcel_events FOR EACH ROW EXECUTE FUNCTION is_full()`,
		"the commit":  `CREATE CONSTRAINT TRIGGER is_full AFTER INSERT ON parcel_events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION is_full()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDepot(t, pgtest.DSN(t))
			run := func(text string) {
				t.Helper()
				if _, err := d.db.Exec(text); err != nil {
					t.Fatal(err)
				}
			}
			run(`CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`)
			run(trigger)
			for i := range 2 {
				if _, err := registerIn(t.Context(), d.m, fmt.Sprint("p", i), "l"); !errors.Is(err, fsm.ErrFull) {
					t.Errorf("with no room: %v, want ErrFull", err)
				}
			}
			run(`DROP TRIGGER is_full ON parcel_events`)
			var n int
			if err := d.db.QueryRow(`SELECT (SELECT count(*) FROM parcel) + (SELECT count(*) FROM parcel_events)`).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows were written, %v", n, err)
			}
			for i := range 4 {
				if _, err := registerIn(t.Context(), d.m, fmt.Sprint("p", i), "l"); err != nil {
					t.Errorf("with room again: %v", err)
				}
			}
			for f, err := range audit.Run(t.Context(), d.m) {
				t.Errorf("audit: %v, %v", f, err)
			}
		})
	}
}

// A schema that gets another name under open sessions: the error says what it is, and
// the store goes on when the name is back. No other schema takes the name here.
func TestSchemaIsRenamed(t *testing.T) {
	t.Parallel()
	d := newDepot(t, pgtest.DSN(t))
	run := func(text string) {
		t.Helper()
		if _, err := d.db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := registerIn(t.Context(), d.m, "p0", "l"); err != nil {
		t.Fatal(err)
	}
	run(`ALTER SCHEMA public RENAME TO gone`)
	_, err := registerIn(t.Context(), d.m, "p1", "l")
	if !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Errorf("the schema is gone: %v, want ErrSchemaMismatch", err)
	}
	run(`ALTER SCHEMA gone RENAME TO public`)
	if _, err := registerIn(t.Context(), d.m, "p1", "l"); err != nil {
		t.Errorf("it is back: %v", err)
	}
}
