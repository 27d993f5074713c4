package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// ground opens a machine on a new database, and a connection beside it.
func ground(t *testing.T) (dsn string, db *sql.DB, open func() (*sqlstore.Store, *fsm.Machine[storetest.Parcel])) {
	t.Helper()
	dsn = pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return dsn, db, func() (*sqlstore.Store, *fsm.Machine[storetest.Parcel]) {
		t.Helper()
		store, err := postgres.Open(t.Context(), dsn, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		schema := storetest.Schema()
		schema.SQL = parcelSQL(t)
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
		if err != nil {
			t.Fatal(err)
		}
		return store, m
	}
}

func registerIn(ctx context.Context, m *fsm.Machine[storetest.Parcel], id, lane string) (fsm.Outcome[storetest.Parcel], error) {
	return m.Create(ctx, storetest.Register(storetest.Meta{Actor: "w", RequestID: id}, storetest.RegisterInput{ID: id, Lane: lane}))
}

// A server that ended its sessions costs each way to use it one call at most.
func TestEndedSessionsAreReplaced(t *testing.T) {
	t.Parallel()
	_, db, open := ground(t)
	store, m := open()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	for name, use := range map[string]func() error{
		"Migrate": func() error { return fsmimpl.Migrate(t.Context(), store, schema) },
		"NewMachine": func() error {
			_, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
			return err
		},
		"Installed": func() error { _, err := store.Installed(t.Context()); return err },
		"Create":    func() error { _, err := registerIn(t.Context(), m, "p1", "l"); return err },
		"Record":    func() error { _, err := m.Record(t.Context(), "p1"); return err },
	} {
		if _, err := registerIn(t.Context(), m, "p1", "l"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			t.Fatal(err)
		}
		if first := use(); first != nil {
			if err := use(); err != nil {
				t.Errorf("%s: after %v: %v", name, first, err)
			}
		}
	}
}

// A trigger of the user's gives each code of PostgreSQL's list that is definite, or says that the
// database is damaged: in the statement, and at the commit. The caller hears it once, as what it
// is, with the words of the server, and nothing was written.
func TestWhatTheServerRefuses(t *testing.T) {
	t.Parallel()
	_, db, open := ground(t)
	store, m := open()
	if _, err := db.Exec(`CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF length(NEW."lane") = 5 THEN RAISE EXCEPTION 'in its own words' USING ERRCODE = NEW."lane"; END IF; RETURN NEW; END $$;
		CREATE TRIGGER a_say BEFORE INSERT ON "parcel" FOR EACH ROW EXECUTE FUNCTION say()`); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "sqlstore", "testdata", "sqlstates.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"in the statement", "at the commit"} {
		for line := range strings.Lines(string(text)) {
			v := strings.Fields(line)
			if v[1] != "definite" && v[1] != "stop" || v[0] == "23505" { // that one names an index where the server gives it
				continue
			}
			_, err := registerIn(t.Context(), m, v[0]+how, v[0])
			var refused *fsm.Refusal
			if !errors.As(err, &refused) || refused.Retry() != fsm.NoRetry || errors.Is(err, fsm.ErrAmbiguous) || !strings.Contains(err.Error(), "in its own words") {
				t.Errorf("%s %s: %v, want a refusal in the server's words", v[0], how, err)
				continue
			}
			var said *sqlstore.DatabaseError
			if (refused.Code == fsm.ErrDenied || v[1] == "stop") && (!errors.As(err, &said) || said.Code != v[0]) {
				t.Errorf("%s %s: the refusal holds %+v", v[0], how, said)
			}
			if v[1] == "stop" {
				if _, err := registerIn(t.Context(), m, v[0]+" then "+how, "l"); !errors.Is(err, fsm.ErrPoisoned) || !errors.Is(err, sqlstore.ErrCorrupt) {
					t.Errorf("%s %s: then %v, want a store that takes no more writes", v[0], how, err)
				}
				if h := audit.HealthOf(m); !errors.Is(h.Store, sqlstore.ErrCorrupt) || h.Sound() || !errors.Is(store.Failed(), sqlstore.ErrCorrupt) {
					t.Errorf("%s %s: its health is %+v", v[0], how, h)
				}
				store, m = open()
			}
		}
		if how == "in the statement" {
			if _, err := db.Exec(`DROP TRIGGER a_say ON "parcel"; CREATE CONSTRAINT TRIGGER a_say AFTER INSERT ON "parcel" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION say()`); err != nil {
				t.Fatal(err)
			}
		}
	}
	var n int
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM "parcel") + (SELECT count(*) FROM "parcel_events")`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v; want none", n, err)
	}
}

// A right that is taken away is told at each kind of call, and the call goes through when it is
// given back.
func TestRightsTakenAway(t *testing.T) {
	t.Parallel()
	dsn, db, open := ground(t)
	open()
	role := fmt.Sprintf("u%d", os.Getpid())
	if _, err := db.Exec(`CREATE ROLE ` + role + ` LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO ` + role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = db.Exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	store, err := postgres.Open(t.Context(), dsn+"&user="+role, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(schema), effects)
	if err != nil {
		t.Fatal(err)
	}
	p, err := registerIn(t.Context(), m, "a", "l")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"REVOKE INSERT ON parcel_events FROM ", "GRANT INSERT ON parcel_events TO "} {
		if _, err := db.Exec(way + role); err != nil {
			t.Fatal(err)
		}
		_, created := registerIn(t.Context(), m, "b", "l")
		_, billed := m.Apply(t.Context(), p, storetest.Bill(storetest.Meta{Actor: "w", RequestID: "bill"}))
		for call, err := range map[string]error{"create": created, "apply in a transaction": billed} {
			var said *sqlstore.DatabaseError
			if denied := errors.Is(err, fsm.ErrDenied) && errors.As(err, &said) && said.Code == "42501"; denied != strings.HasPrefix(way, "REVOKE") || !denied && err != nil {
				t.Errorf("%s%s: %s: %v", way, role, call, err)
			}
		}
	}
}
