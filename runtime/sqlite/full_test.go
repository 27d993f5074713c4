package sqlite_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// fullError is what a driver says when there is no room.
type fullError struct{}

func (fullError) Error() string { return "database or disk is full (13)" }
func (fullError) Code() int     { return 13 }

// While there is no room each call is refused at its first try, and once there is, the same store
// does the same calls: where a statement finds out, and where the commit does.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	tries := 0
	for _, c := range []struct {
		name       string
		full, room func(f *faulty)
	}{
		{"a statement", func(f *faulty) { f.tell("PRAGMA max_page_count = 1") }, func(f *faulty) { f.tell("PRAGMA max_page_count = 1000000") }},
		{"the commit", func(f *faulty) { f.set(func(func() error) error { tries++; return fullError{} }) }, func(f *faulty) { f.commit.Store(nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			store, f := openFaulty(t, path)
			m, err := openParcels(t, store)
			if err != nil {
				t.Fatal(err)
			}
			create := func(i int) error {
				call := storetest.Register(storetest.Meta{RequestID: fmt.Sprint("r", i), Reason: strings.Repeat("long ", 2000)},
					storetest.RegisterInput{ID: fmt.Sprint("p", i), Lane: "a"})
				_, err := m.Create(t.Context(), call)
				return err
			}
			if err := create(0); err != nil {
				t.Fatal(err)
			}
			c.full(f)
			acked, refused := 0, 0
			for i := 1; i < 20 && refused < 2; i++ {
				err := create(i)
				var full *fsm.Refusal
				switch {
				case err == nil:
					acked++
				case errors.As(err, &full) && full.Code == fsm.ErrFull && !errors.Is(err, fsm.ErrAmbiguous):
					refused++
				default:
					t.Fatalf("p%d: %v, want ErrFull", i, err)
				}
			}
			if refused != 2 {
				t.Fatalf("nothing was full: %d acknowledged", acked)
			}
			if c.name == "the commit" && tries != 2 {
				t.Errorf("2 calls tried to commit %d times, want one try each", tries)
			}
			c.room(f)
			for i := range 24 {
				if err := create(i); err != nil {
					t.Fatalf("with room again, p%d: %v", i, err)
				}
			}
			sound(t, m)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := foreign(t, path, settings).QueryRow(`SELECT count(*) FROM parcel`).Scan(&n); err != nil || n != 24 {
				t.Errorf("%d parcels, want 24: %v", n, err)
			}
		})
	}
}

// Temporary tables and those of an attached database with our names get none of our
// rows, and give none.
func TestShadows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	if m, err := openParcels(t, open(t, path)); err != nil || m == nil {
		t.Fatal(err)
	}
	store, f := openFaulty(t, path)
	tables := []string{"parcel", "parcel_events", "parcel_outbox", "parcel_groups", "fsm_meta"}
	f.tell(`ATTACH ':memory:' AS theirs`)
	for _, name := range tables {
		f.tell(fmt.Sprintf(`CREATE TEMP TABLE %q AS SELECT * FROM main.%[1]q`, name))
		f.tell(fmt.Sprintf(`CREATE TABLE theirs.%q AS SELECT * FROM main.%[1]q`, name))
	}
	m, err := joinParcels(t, store)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	out, err := m.Create(ctx, storetest.Register(storetest.Meta{RequestID: "1"}, storetest.RegisterInput{ID: "p1", Lane: "a"}))
	for _, call := range []fsmimpl.Call[storetest.Parcel]{
		storetest.Weigh(storetest.Meta{RequestID: "2"}, 7), storetest.Hold(storetest.Meta{RequestID: "3", Actor: "ann"}, "a", corpusTime.AddDate(90, 0, 0)),
		storetest.Shelve(storetest.Meta{RequestID: "4"}, "s", "t"), storetest.Send(storetest.Meta{RequestID: "5"}),
	} {
		if err == nil {
			out, err = m.Apply(ctx, out, call)
		}
	}
	if err == nil {
		_, err = m.Startup(ctx)
	}
	if err == nil {
		_, err = m.Deliver(ctx)
	}
	if err == nil {
		_, _, err = audit.Redact(ctx, m, "p1", audit.RedactOptions{Fields: []string{"weight"}, Actor: "root", Reason: "asked"})
	}
	if err != nil {
		t.Fatal(err)
	}
	sound(t, m)
	db := foreign(t, path, settings)
	for text, want := range map[string]string{
		`SELECT "state" || "rev" FROM parcel`: "sent6", `SELECT count(*) FROM parcel_events`: "6", `SELECT count(*) FROM parcel_outbox`: "0",
	} {
		var got string
		if err := db.QueryRow(text).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, want %q: %v", text, got, want, err)
		}
	}
	later := corpusTime.AddDate(90, 0, 0)
	if n, err := audit.Purge(ctx, m, audit.PurgeOptions{Before: later, Actor: "root", Reason: "old"}); n != 1 || err != nil {
		t.Errorf("Purge: %d, %v", n, err)
	}
	if n, err := audit.Forget(ctx, m, audit.ForgetOptions{Before: later}); n != 1 || err != nil {
		t.Errorf("Forget: %d, %v", n, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.conns {
		for _, name := range tables[:4] {
			for _, schema := range []string{"temp", "theirs"} {
				rows, err := c.QueryContext(ctx, fmt.Sprintf(`SELECT * FROM %s.%q`, schema, name), nil)
				if err != nil {
					continue // it is closed
				}
				if err := rows.Next(make([]driver.Value, len(rows.Columns()))); err == nil {
					t.Errorf("connection %d: %s.%s holds rows", i, schema, name)
				}
				rows.Close()
			}
		}
	}
}
