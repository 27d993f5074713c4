package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	fsmdriver "github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

const settings = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
	"&_pragma=recursive_triggers(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"

func foreign(t testing.TB, path, query string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?"+query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestRefusesSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, query, want string }{
		{"rollback journal", strings.Replace(settings, "journal_mode(WAL)", "journal_mode(DELETE)", 1), "journal_mode"},
		{"synchronous normal", strings.Replace(settings, "synchronous(FULL)", "synchronous(NORMAL)", 1), "synchronous"},
		{"no foreign keys", strings.Replace(settings, "foreign_keys(1)", "foreign_keys(0)", 1), "foreign_keys"},
		{"no recursive triggers", strings.Replace(settings, "recursive_triggers(1)", "recursive_triggers(0)", 1), "recursive_triggers"},
		{"trusted schema", strings.Replace(settings, "trusted_schema(0)", "trusted_schema(1)", 1), "trusted_schema"},
		{"no cell size check", strings.Replace(settings, "cell_size_check(1)", "cell_size_check(0)", 1), "cell_size_check"},
		{"no busy timeout", strings.Replace(settings, "busy_timeout(5000)", "busy_timeout(0)", 1), "busy_timeout"},
		{"no checks", settings + "&_pragma=ignore_check_constraints(1)", "ignore_check_constraints"},
		{"writable schema", settings + "&_pragma=writable_schema(1)", "writable_schema"},
		{"the driver's defaults", "", "journal_mode"},
		{"all as it should be", settings, ""},
		{"synchronous extra", strings.Replace(settings, "synchronous(FULL)", "synchronous(EXTRA)", 1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, err := sqlstore.New(foreign(t, filepath.Join(t.TempDir(), "x.db"), c.query), sqlstore.SQLite())
			if err == nil {
				defer store.Close()
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want a refusal that names %s", err, c.want)
			}
		})
	}
}

func TestRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", ":memory:", "file:x.db", filepath.Join(t.TempDir(), "missing", "x.db")} {
		if store, err := sqlite.Open(path); err == nil {
			store.Close()
			t.Errorf("Open(%q) worked", path)
		}
	}
	memory := foreign(t, ":memory:", strings.Replace(settings, "journal_mode(WAL)", "journal_mode(MEMORY)", 1))
	if _, err := sqlstore.New(memory, sqlstore.SQLite()); err == nil {
		t.Error("a database in memory was taken")
	}
}

// Stores of one process take turns at a file, as those of several do, and a database
// that was lent to a store comes back as it was.
func TestStoresShareAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	lent := foreign(t, path, settings)
	lent.SetMaxOpenConns(1)
	other, err := sqlstore.New(lent, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	s := executionSchema(t)
	tabs := []fsmdriver.Table{table(t, open(t, path), s), table(t, open(t, path), s), table(t, other, s)}
	var wg sync.WaitGroup
	for n, tab := range tabs {
		for g := range 4 {
			wg.Go(func() {
				for i := range 10 {
					id := fmt.Sprintf("e%d-%d-%d", n, g, i)
					if err := tab.Commit(t.Context(), lease(id, "job "+id, 1)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for range 2 {
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var rows, timeout int
	if err := lent.QueryRow(`SELECT count(*) FROM "execution"`).Scan(&rows); err != nil || rows != 120 {
		t.Errorf("%d rows, want 120: %v", rows, err)
	}
	if err := lent.QueryRow("PRAGMA busy_timeout").Scan(&timeout); err != nil || timeout != 5000 {
		t.Errorf("the busy timeout is %d, want 5000: %v", timeout, err)
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "x.db"))
	tab := table(t, store, executionSchema(t))
	store.Close()
	if err := tab.Commit(context.Background(), lease("e1", "j1", 1)); err == nil {
		t.Error("a closed store committed")
	}
	if err := tab.View(context.Background(), func(fsmdriver.Reader) error { return nil }); err == nil {
		t.Error("a closed store read")
	}
}

// A pool of any size works, one connection included.
func TestForeignPools(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 2, 8} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			db := foreign(t, filepath.Join(t.TempDir(), "x.db"), settings)
			db.SetMaxOpenConns(size)
			store, err := sqlstore.New(db, sqlstore.SQLite())
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			tab := table(t, store, executionSchema(t))
			ctx := context.Background()
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 5 {
						id := fmt.Sprintf("e%d-%d", g, i)
						if err := tab.Commit(ctx, lease(id, "job "+id, 1)); err != nil {
							t.Error(err)
						}
						err := tab.View(ctx, func(r fsmdriver.Reader) error { _, err := r.Row(id); return err })
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestCheckFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct{ name, statement, want string }{
		{"trigger", `DROP TRIGGER "execution_update"`, "execution_update"},
		{"index", `DROP INDEX "execution_unique_one_committed_per_job"`, "execution_unique_one_committed_per_job"},
		{"view", `DROP VIEW "execution_job"`, "execution_job"},
		{"hash", `UPDATE "fsm_meta" SET "hash" = 'h0', "version" = 0; UPDATE "fsm_made" SET "hash" = 'h0'`, "version 0"},
		{"level", `UPDATE "fsm_meta" SET "enforce" = 'checks'`, "checks"},
		{"row of the meta table", `DELETE FROM "fsm_meta"`, "no tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			tab := table(t, open(t, path), executionSchema(t))
			if _, err := foreign(t, path, settings).Exec(c.statement); err != nil {
				t.Fatal(err)
			}
			err := tab.Check(ctx)
			if !errors.Is(err, fsm.ErrSchemaMismatch) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Migrate") {
				t.Errorf("got %v, want a mismatch that names %s and Migrate", err, c.want)
			}
			if err := tab.Migrate(ctx); err != nil {
				t.Errorf("Migrate: %v", err)
			}
			if err := tab.Check(ctx); err != nil {
				t.Errorf("Check after Migrate: %v", err)
			}
		})
	}
}

// Tables of another specification become this one's with their rows, or stay.
func TestMigrateRebuilds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.db")
	store := open(t, path)
	s := executionSchema(t)
	tab := table(t, store, s)
	w := lease("e1", "j1", 1)
	if err := tab.Commit(ctx, w); err != nil {
		t.Fatal(err)
	}

	// What somebody made over the tables stays.
	if _, err := foreign(t, path, settings).Exec(`CREATE INDEX "by_owner" ON "execution" ("lease_owner");
		CREATE VIEW "mine" AS SELECT "id" FROM execution WHERE "lease_owner" = 'w1'`); err != nil {
		t.Fatal(err)
	}

	wider := *s
	wider.Version, wider.Hash = 2, "h2"
	wider.Columns = append(append([]fsmdriver.Column(nil), s.Columns...), fsmdriver.Column{Name: "tries", Stored: "tries", Kind: fsmdriver.KindCounter},
		fsmdriver.Column{Name: "note", Stored: "note", Kind: fsmdriver.KindString, Optional: true})
	wider.SQL = map[string]string{"sqlite": strings.Replace(s.SQL["sqlite"], "    \"finished_at\" INTEGER,\n",
		"    \"finished_at\" INTEGER,\n    \"tries\" INTEGER NOT NULL,\n    \"note\" TEXT,\n", 1)}
	two, err := store.Table(&wider)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Check(ctx); !errors.Is(err, fsm.ErrSchemaMismatch) {
		t.Fatalf("Check before Migrate: %v", err)
	}
	if err := two.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	if err := two.Check(ctx); err != nil {
		t.Fatal(err)
	}
	err = two.View(ctx, func(r fsmdriver.Reader) error {
		row, err := r.Row("e1")
		if err == nil && (row.Values[0] != "j1" || row.Values[6] != int64(0) || row.Values[7] != nil) {
			t.Errorf("the row became %v", row.Values)
		}
		n := 0
		for range r.Events("e1", 0) {
			n++
		}
		if n != 1 {
			t.Errorf("%d events, want 1", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	var mine, indexes int
	if err := foreign(t, path, settings).QueryRow(`SELECT (SELECT count(*) FROM "mine"), (SELECT count(*) FROM sqlite_master WHERE "name" = 'by_owner' AND "tbl_name" = 'execution')`).Scan(&mine, &indexes); err != nil || mine != 1 || indexes != 1 {
		t.Errorf("the view shows %d rows, %d indexes are there: %v", mine, indexes, err)
	}

	narrow := *s
	narrow.Version, narrow.Hash = 3, "h3"
	narrow.SQL = map[string]string{"sqlite": strings.ReplaceAll(s.SQL["sqlite"], `CHECK ("attempt" >= 1)`, `CHECK ("attempt" >= 7)`)}
	three, err := store.Table(&narrow)
	if err != nil {
		t.Fatal(err)
	}
	if err := three.Migrate(ctx); !errors.Is(err, fsm.ErrSchemaMismatch) || !strings.Contains(err.Error(), "attempt is a number") {
		t.Fatalf("rows that do not fit: got %v, want a mismatch that names the rule", err)
	}
	if err := two.Check(ctx); err != nil {
		t.Fatalf("a refused Migrate changed something: %v", err)
	}
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db")), executionSchema(t))
	bg := context.Background()
	ctx, cancel := context.WithCancel(bg)
	err := tab.Update(ctx, func(tx fsm.Tx) error {
		if err := tx.Write(lease("e1", "j1", 1)); err != nil {
			return err
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := tab.Commit(ctx, lease("e2", "j2", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	reading, stop := context.WithCancel(bg)
	err = tab.View(reading, func(r fsmdriver.Reader) error {
		stop()
		_, err := r.Row("e1")
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a read that is cancelled: got %v, want context.Canceled", err)
	}
	err = tab.View(bg, func(r fsmdriver.Reader) error {
		for _, id := range []string{"e1", "e2"} {
			if _, err := r.Row(id); !errors.Is(err, fsmdriver.ErrNotFound) {
				t.Errorf("%s is there: %v", id, err)
			}
			for range r.Events(id, 0) {
				t.Errorf("%s has an event", id)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Commit(bg, lease("e1", "j1", 1)); err != nil {
		t.Errorf("after a cancelled transaction: %v", err)
	}
}

// Another program's write lock is waited for, then refused; nothing is written.
func TestBusy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.db")
	tab := table(t, open(t, path, sqlite.WithBusyTimeout(20_000_000)), executionSchema(t))
	conn, err := foreign(t, path, settings).Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); !errors.Is(err, fsm.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
		t.Errorf("after the lock is gone: %v", err)
	}
}

// A transaction of the caller's own carries a transition, and takes it back.
func TestAdopt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.db")
	store := open(t, path)
	s := executionSchema(t)
	tab := table(t, store, s)
	db := foreign(t, path, settings)
	write := func(id string, end func(*sql.Tx) error) {
		t.Helper()
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		in, err := store.Adopt(ctx, s, tx)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Write(lease(id, "job of "+id, 1)); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	write("kept", (*sql.Tx).Commit)
	write("dropped", (*sql.Tx).Rollback)
	err := tab.Update(ctx, func(tx fsm.Tx) error {
		if _, err := tx.Row("kept"); err != nil {
			return err
		}
		if _, err := tx.Row("dropped"); !errors.Is(err, fsmdriver.ErrNotFound) {
			return fmt.Errorf("dropped: %w", err)
		}
		in, err := store.Adopt(ctx, s, store.Transaction(tx))
		if err != nil {
			return err
		}
		return in.Write(lease("inside", "j9", 1))
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err := foreign(t, filepath.Join(t.TempDir(), "y.db"), settings).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	if _, err := store.Adopt(ctx, s, other); err == nil || !strings.Contains(err.Error(), "y.db") {
		t.Errorf("a transaction of another database: got %v, want a refusal", err)
	}
	weak, err := foreign(t, path, strings.Replace(settings, "synchronous(FULL)", "synchronous(OFF)", 1)).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer weak.Rollback()
	if _, err := store.Adopt(ctx, s, weak); err == nil || !strings.Contains(err.Error(), "synchronous") {
		t.Errorf("a transaction without durability: got %v, want a refusal", err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	db := foreign(t, filepath.Join(t.TempDir(), "x.db"), settings)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := driver.Limit(conn, lib.SQLITE_LIMIT_LENGTH, 100_000); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	store, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tab := table(t, store, executionSchema(t))
	w := lease("e1", strings.Repeat("j", 100_001), 1)
	if err := tab.Commit(context.Background(), w); !errors.Is(err, fsm.ErrTooLarge) {
		t.Errorf("got %.200v, want ErrTooLarge", err)
	}
}

func TestInvariantNamesTheRule(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db")), executionSchema(t))
	w1 := lease("e1", "j1", 1)
	if err := tab.Commit(ctx, w1); err != nil {
		t.Fatal(err)
	}
	err := tab.Commit(ctx, step(w1, "expire", "aborted", "r", nil))
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Code != fsm.ErrInvariant || r.Name != "aborted: finished_at is present" || r.ID != "e1" {
		t.Errorf("got %#v, want the rule's name", err)
	}
	w2 := lease("e2", "j2", 1)
	w2.Event.Sum = 0 // without a chain the triggers look
	if err := tab.Commit(ctx, w2); err != nil {
		t.Fatal(err)
	}
	w2 = step(w2, "expire", "done", "r", map[int]any{4: start, 5: start})
	w2.Event.Sum = 0
	err = tab.Commit(ctx, w2)
	if !errors.As(err, &r) || r.Name != "no operation makes this move" {
		t.Errorf("got %v, want the trigger's words", err)
	}
}

// Machines share a file, and a transaction carries steps of several.
func TestMachinesShareAFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := open(t, filepath.Join(t.TempDir(), "x.db"))
	executions := executionSchema(t)
	parcels := storetest.Schema()
	parcels.SQL = generated(t, "parcel")
	tab := table(t, store, executions)
	other := table(t, store, parcels)
	register := func(id string) *fsmdriver.Write {
		p := storetest.Parcel{ID: id, State: "waiting", Rev: 1, CreatedAt: start, UpdatedAt: start, Lane: "a"}
		row := storetest.Encode(&p)
		return &fsmdriver.Write{Prev: fsm.Ref{ID: id}, Row: &row, Event: fsm.Event{ID: id, Rev: 1, Operation: "register", Name: "register", To: "waiting", At: start, RequestID: "r-" + id}}
	}
	both := func(id string, after error) error {
		return tab.Update(ctx, func(tx fsm.Tx) error {
			if err := tx.Write(lease(id, "job "+id, 1)); err != nil {
				return err
			}
			in, err := store.Adopt(ctx, parcels, store.Transaction(tx))
			if err != nil {
				return err
			}
			if err := in.Write(register(id)); err != nil {
				return err
			}
			return after
		})
	}
	if err := both("kept", nil); err != nil {
		t.Fatal(err)
	}
	if err := both("dropped", errDisk); !errors.Is(err, errDisk) {
		t.Fatalf("got %v, want the function's own error", err)
	}
	for name, tab := range map[string]fsmdriver.Table{"execution": tab, "parcel": other} {
		err := tab.View(ctx, func(r fsmdriver.Reader) error {
			if _, err := r.Row("kept"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := r.Row("dropped"); !errors.Is(err, fsmdriver.ErrNotFound) {
				t.Errorf("%s: got %v, want ErrNotFound", name, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody loads the generated file by hand; the program then finds its tables.
func TestSchemaLoadedByHand(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.db")
	s := executionSchema(t)
	s.Hash = regexp.MustCompile(`'([0-9a-f]{64})'`).FindStringSubmatch(s.SQL["sqlite"])[1]
	db := foreign(t, path, "")
	for range 2 {
		if _, err := db.Exec(s.SQL["sqlite"]); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	tab, err := open(t, path).Table(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Check(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
		t.Fatal(err)
	}
}

// A backup is a whole database, also while others write.
func TestBackup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	store := open(t, filepath.Join(dir, "x.db"))
	s := executionSchema(t)
	tab := table(t, store, s)
	if err := tab.Commit(ctx, lease("before", "j", 1)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			id := fmt.Sprint("during", i)
			if err := tab.Commit(ctx, lease(id, "job "+id, 1)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	copied := filepath.Join(dir, "it's a copy.db")
	err := store.Backup(ctx, copied)
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Backup(ctx, copied); err == nil {
		t.Error("a backup was overwritten")
	}
	again := table(t, open(t, copied), s)
	err = again.View(ctx, func(r fsmdriver.Reader) error { _, err := r.Row("before"); return err })
	if err != nil {
		t.Fatal(err)
	}
}
