//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// flocked is a file that is locked by flock, which belongs to the open file: two
// stores of one process take turns as those of two do.
type flocked struct{ *os.File }

// openLock gives a new lock the mode and the owner of the database, whatever the umask
// and the user that makes it, as SQLite does for the files that it makes beside one.
func openLock(name string, of fs.FileInfo) (fileLock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil && of != nil:
		err = f.Chmod(of.Mode().Perm())
		if owner, ok := of.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
			err = errors.Join(err, f.Chown(int(owner.Uid), int(owner.Gid)))
		}
	case errors.Is(err, fs.ErrExist):
		f, err = os.OpenFile(name, os.O_RDWR, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open the lock beside the database: %w", err)
	}
	return flocked{f}, nil
}

func (f flocked) flock(how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func (f flocked) try() (bool, error) {
	switch err := f.flock(syscall.LOCK_EX | syscall.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	default:
		return false, f.failed("lock", err)
	}
}

func (f flocked) lock() error   { return f.failed("lock", f.flock(syscall.LOCK_EX)) }
func (f flocked) unlock() error { return f.failed("unlock", f.flock(syscall.LOCK_UN)) }
func (f flocked) close() error  { return f.Close() }

func (f flocked) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlstore: %s %s: %w", doing, f.Name(), err)
}
