package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// A new database, and the files beside it, are their owner's; one that is there
// keeps its mode and gives it to the others.
func TestModeOfNewFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode there")
	}
	for name, c := range map[string]struct {
		there fs.FileMode // 0: nothing
		opts  []sqlite.Option
		want  fs.FileMode
	}{
		"new":                   {want: 0o600},
		"new, for a group":      {opts: []sqlite.Option{sqlite.WithMode(0o640)}, want: 0o640},
		"there":                 {there: 0o644, want: 0o644},
		"there, for a group":    {there: 0o660, want: 0o660}, // wider than the umask
		"there, and the option": {there: 0o640, opts: []sqlite.Option{sqlite.WithMode(0o600)}, want: 0o640},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			if c.there != 0 {
				if err := errors.Join(os.WriteFile(path, nil, c.there), os.Chmod(path, c.there)); err != nil {
					t.Fatal(err)
				}
			}
			table(t, open(t, path, c.opts...), executionSchema(t))
			for _, end := range []string{"", "-wal", "-shm", ".lock"} {
				if info, err := os.Stat(path + end); err != nil || info.Mode().Perm() != c.want {
					t.Errorf("%s: %v, %v, want %v", end, info.Mode(), err, c.want)
				}
			}
			made := filepath.Join(t.TempDir(), "y.db")
			db, err := sqlite.OpenDB(made, c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("CREATE TABLE t (a)"); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(made); err != nil || info.Mode().Perm()&0o007 != 0 {
				t.Errorf("by OpenDB: %v, %v", info.Mode(), err)
			}
		})
	}
}

// What cannot be opened is named.
func TestErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "no database")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"no database": path, "nothing": filepath.Join(dir, "nothing"), "a folder": dir} {
		if _, err := sqlite.Open(path, sqlite.WithReadOnly()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s, for reading: %v", name, err)
		}
		if name == "nothing" {
			continue // it is made
		}
		if _, err := sqlite.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
