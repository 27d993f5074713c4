package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// TestReadOnly reads a file that a program writes, and one that nobody has open:
// no lock, no byte changed, and every write refused.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	if _, err := sqlite.Open(path, sqlite.WithReadOnly()); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Fatalf("a file that there is not: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("the file was made")
	}
	program, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if err := lifecycle.Migrate(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	writer, err := lifecycle.Open(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(m *lifecycle.Machine, id string) error {
		_, err := m.Enqueue(t.Context(), id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: "enqueue " + id})
		return err
	}
	if err := enqueue(writer, "a"); err != nil {
		t.Fatal(err)
	}
	look := func(path, want string) {
		t.Helper()
		store, err := sqlite.Open(path, sqlite.WithReadOnly())
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		list, err := store.Installed(t.Context())
		if err != nil || len(list) != 1 || list[0].Machine != "lifecycle" || list[0].Version != 1 || list[0].Enforce != "full" || list[0].Dialect != "sqlite" || len(list[0].Hash) != 64 {
			t.Errorf("installed: %+v, %v", list, err)
		}
		reader, err := lifecycle.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for j, err := range reader.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got += j.ID
		}
		if got != want {
			t.Errorf("the records are %q, want %q", got, want)
		}
		_, _, repair := audit.Repair(t.Context(), reader, "a", "o", "r")
		_, adopt := store.Adopt(t.Context(), &driver.Schema{Machine: "lifecycle", Table: "lifecycle"}, nil)
		_, claim := reader.ClaimNextOf(t.Context(), fsm.Ref{ID: "a", Rev: 1}, lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Hour)}, fsm.Call{RequestID: "c", Actor: "a"})
		for name, err := range map[string]error{
			"a creation": enqueue(reader, "x"), "a call by id": claim, "a migration": lifecycle.Migrate(t.Context(), store), "a repair": repair, "a transaction of the caller's": adopt,
		} {
			if !errors.Is(err, sqlstore.ErrReadOnly) || errors.Is(err, fsm.ErrAmbiguous) {
				t.Errorf("%s: %v, want ErrReadOnly", name, err)
			}
		}
	}
	look(path, "a")
	if err := enqueue(writer, "b"); err != nil { // no lock of the reader's is in its way
		t.Fatal(err)
	}
	look(path, "ab")
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := program.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, copied} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		look(path, "ab")
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("%s was changed by reading it", filepath.Base(path))
		}
	}
	if names, err := filepath.Glob(copied + "*"); err != nil || cmp.Diff([]string{copied}, names) != "" {
		t.Errorf("beside a copy there is %q, %v", names, err)
	}
}

// TestReadOnlySettings holds the store to its own connections: one that may write
// is none for a store that must not.
func TestReadOnlySettings(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if store, err := sqlstore.New(db, sqlstore.SQLite(), sqlstore.WithReadOnly()); err == nil || !strings.Contains(err.Error(), `query_only is "0"`) {
		if err == nil {
			store.Close()
		}
		t.Errorf("a connection that may write: %v", err)
	}
	one, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "y.db")+"?_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	one.SetMaxOpenConns(1)
	store, err := sqlstore.New(one, sqlstore.SQLite(), sqlstore.WithReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if list, err := store.Installed(t.Context()); err != nil || list != nil {
		t.Errorf("an empty database holds %v, %v", list, err)
	}
}
