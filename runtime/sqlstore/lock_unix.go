//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// lockFile takes an exclusive lock on the file beside the database and returns
// what gives it back. SQLite's own locks do not do: they end when anything in
// the process closes the database's file, a backup that reads it for example.
// The lock file stays: removing it would let two processes lock two files of
// one name.
func lockFile(database string) (func() error, error) {
	if resolved, err := filepath.EvalSymlinks(database); err == nil {
		database = resolved
	}
	name := database + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open the lock beside the database: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f.Close, nil
	}
	_ = f.Close() // it holds nothing
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &fsm.Refusal{Ground: &fsm.Ground{Code: fsm.CodeLocked, Machine: "store", Message: fmt.Sprintf("%q is locked; close the other store, or the process that holds it", name)}}
	}
	return nil, fmt.Errorf("sqlstore: lock %s: %w", name, err)
}
