//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// lockFile makes the file beside the database, which must not exist: this
// system has no lock that ends with the process. After a crash somebody has to
// remove the file by hand.
func lockFile(database string) (func() error, error) {
	if real, err := filepath.EvalSymlinks(database); err == nil {
		database = real
	}
	name := database + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, &fsm.Refusal{Ground: &fsm.Ground{Code: fsm.CodeLocked, Machine: "store", Message: fmt.Sprintf("%q exists; remove it when no process uses the database", name)}}
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: make the lock beside the database: %w", err)
	}
	return func() error { return errors.Join(f.Close(), os.Remove(name)) }, nil
}
