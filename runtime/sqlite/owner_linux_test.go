package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An administrator who opens the database of a service leaves no file that the service
// may not open.
func TestOwnerOfNewFiles(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only the superuser opens files of others")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 1234, 1235)); err != nil {
		t.Fatal(err)
	}
	table(t, open(t, path), executionSchema(t))
	for _, end := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if owner, _ := info.Sys().(*syscall.Stat_t); owner.Uid != 1234 || owner.Gid != 1235 {
			t.Errorf("%s is of %d:%d, want 1234:1235", end, owner.Uid, owner.Gid)
		}
	}
}
