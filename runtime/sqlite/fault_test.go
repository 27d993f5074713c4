package sqlite_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	modernc "modernc.org/sqlite"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// faulty opens connections whose commits can be made to fail, and that can all be told
// the same.
type faulty struct {
	sqldriver.Connector
	commit atomic.Pointer[func(commit func() error) error]
	mu     sync.Mutex
	conns  []fullConn
	told   []string
}

func (f *faulty) Connect(ctx context.Context) (sqldriver.Conn, error) {
	c, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns = append(f.conns, c.(fullConn))
	for _, text := range f.told {
		if _, err := c.(fullConn).ExecContext(ctx, text, nil); err != nil {
			return nil, err
		}
	}
	return &faultyConn{c.(fullConn), f}, nil
}

// tell runs a statement on all connections, also on those to come. Nobody may use them
// meanwhile.
func (f *faulty) tell(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, text)
	for _, c := range f.conns {
		c.ExecContext(context.Background(), text, nil)
	}
}

// fullConn is what database/sql uses of the driver's connection.
type fullConn interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

type faultyConn struct {
	fullConn
	f *faulty
}

func (c *faultyConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &faultyTx{tx, c.f}, nil
}

// PrepareContext sees to the commits of batches, which are statements.
func (c *faultyConn) PrepareContext(ctx context.Context, text string) (sqldriver.Stmt, error) {
	st, err := c.fullConn.PrepareContext(ctx, text)
	if err != nil || text != "COMMIT" {
		return st, err
	}
	return &faultyStmt{st.(fullStmt), c.f}, nil
}

// fullStmt is what the store uses of the driver's statements.
type fullStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
}

type faultyStmt struct {
	fullStmt
	f *faulty
}

func (s *faultyStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	var res sqldriver.Result
	commit := func() (err error) {
		res, err = s.fullStmt.ExecContext(ctx, args)
		return err
	}
	err := error(nil)
	if fault := s.f.commit.Load(); fault != nil {
		err = (*fault)(commit)
	} else {
		err = commit()
	}
	return res, err
}

type faultyTx struct {
	sqldriver.Tx
	f *faulty
}

func (t *faultyTx) Commit() error {
	if fault := t.f.commit.Load(); fault != nil {
		return (*fault)(t.Tx.Commit)
	}
	return t.Tx.Commit()
}

func (f *faulty) set(fault func(commit func() error) error) { f.commit.Store(&fault) }

func openFaulty(t *testing.T, path string) (*sqlstore.Store, *faulty) {
	t.Helper()
	connector, err := modernc.NewConnector("file:" + path + "?" + settings)
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{Connector: connector}
	db := sql.OpenDB(f)
	t.Cleanup(func() { db.Close() })
	store, err := sqlstore.New(db, sqlstore.SQLite())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store, f
}

var errDisk = errors.New("disk I/O error")

// An input/output error at the commit leaves open what happened, and the store
// writes no more until it is opened again. What happened is then found by the
// request id.
func TestCommitErrorPoisons(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		fault func(commit func() error) error
		wrote bool
	}{
		{"before", func(func() error) error { return errDisk }, false},
		{"after", func(commit func() error) error { return errors.Join(commit(), errDisk) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			store, f := openFaulty(t, path)
			s := executionSchema(t)
			tab := table(t, store, s)
			if err := tab.Commit(ctx, lease("e0", "j0", 1)); err != nil {
				t.Fatal(err)
			}
			f.set(c.fault)
			err := tab.Commit(ctx, lease("e1", "j1", 1))
			var lost *fsm.AmbiguousError
			if !errors.As(err, &lost) || lost.ID != "e1" || lost.Operation != "lease" || lost.RequestID != "lease-e1" || !errors.Is(err, errDisk) {
				t.Fatalf("got %v, want an ambiguous error that names the call", err)
			}
			f.set(func(commit func() error) error { return commit() })
			if err := tab.Commit(ctx, lease("e2", "j2", 1)); !errors.Is(err, fsm.ErrPoisoned) {
				t.Errorf("a poisoned store wrote: %v", err)
			}
			err = tab.View(ctx, func(r driver.Reader) error { _, err := r.Row("e0"); return err })
			if err != nil {
				t.Errorf("a poisoned store does not read: %v", err)
			}
			store.Close()

			tab = table(t, open(t, path), s)
			want := error(nil)
			if c.wrote {
				want = driver.ErrRequestTaken
			}
			if err := tab.Commit(ctx, lease("e1", "j1", 1)); !errors.Is(err, want) {
				t.Errorf("the same call again: got %v, want %v", err, want)
			}
		})
	}
}

// coded is an error with SQLite's result code.
type coded int

func (c coded) Error() string { return "made up" }
func (c coded) Code() int     { return int(c) }

// A commit that the database surely took back is no ambiguity.
func TestCommitRefusedIsBusy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store, f := openFaulty(t, filepath.Join(t.TempDir(), "x.db"))
	tab := table(t, store, executionSchema(t))
	f.set(func(func() error) error { return coded(5 | 2<<8) })
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); !errors.Is(err, fsm.ErrBusy) {
		t.Fatalf("got %v, want ErrBusy", err)
	}
	f.set(func(commit func() error) error { return commit() })
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
		t.Errorf("the same call again: %v", err)
	}
}

// A panic of the caller's function takes the transaction back.
func TestPanicRollsBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db")), executionSchema(t))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		tab.Update(ctx, func(tx fsm.Tx) error {
			if err := tx.Write(lease("e1", "j1", 1)); err != nil {
				t.Error(err)
			}
			panic("the effect broke")
		})
	}()
	if err := tab.Commit(ctx, lease("e1", "j1", 1)); err != nil {
		t.Errorf("the same call again: %v", err)
	}
}

// A reader sees one state of the database, whatever is written meanwhile.
func TestViewIsASnapshot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab := table(t, open(t, filepath.Join(t.TempDir(), "x.db")), executionSchema(t))
	w1 := lease("e1", "j1", 1)
	if err := tab.Commit(ctx, w1); err != nil {
		t.Fatal(err)
	}
	err := tab.View(ctx, func(r driver.Reader) error {
		before, err := r.Row("e1")
		if err != nil {
			return err
		}
		if err := tab.Commit(ctx, step(w1, "start", "in_progress", "r2", map[int]any{4: start})); err != nil {
			return err
		}
		after, err := r.Row("e1")
		if err == nil && before.Rev != after.Rev {
			t.Errorf("the snapshot moved from revision %d to %d", before.Rev, after.Rev)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A file that is found damaged gets no more writes, whether a write or a read has found it, and the
// error and the store say so.
func TestDamageStopsTheStore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := executionSchema(t)
	for _, finder := range []string{"write", "read"} {
		t.Run(finder, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			store, err := sqlite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			tab := table(t, store, s)
			if err := tab.Commit(ctx, lease("e0", "j0", 1)); err != nil {
				t.Fatal(err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, path, s.Table+"_events")
			if store, err = sqlite.Open(path); err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if tab, err = store.Table(s); err != nil {
				t.Fatal(err)
			}
			if finder == "write" {
				err = tab.Commit(ctx, lease("e1", "j1", 1))
			} else {
				err = tab.View(ctx, func(r driver.Reader) error { _, err := r.Request("e0", "lease-e0"); return err })
			}
			var said *sqlstore.DatabaseError
			if !errors.Is(err, fsm.ErrPoisoned) || !errors.Is(err, sqlstore.ErrCorrupt) || !errors.As(err, &said) || said.Code != "11" {
				t.Errorf("what found it: %v", err)
			}
			if err := tab.Commit(ctx, lease("e2", "j2", 1)); !errors.Is(err, fsm.ErrPoisoned) || !errors.Is(err, sqlstore.ErrCorrupt) {
				t.Errorf("it wrote again: %v", err)
			}
			if !errors.Is(store.Failed(), sqlstore.ErrCorrupt) {
				t.Errorf("the store says %v", store.Failed())
			}
		})
	}
}

// damage makes the first page of a table no page at all.
func damage(t *testing.T, path, name string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	if err := errors.Join(db.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name = ?`, name).Scan(&page), db.QueryRow(`PRAGMA page_size`).Scan(&size), db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("no page"), (page-1)*size); err != nil {
		t.Fatal(err)
	}
}
