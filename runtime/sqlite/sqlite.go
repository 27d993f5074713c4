// Package sqlite opens a store in a SQLite file, with the driver
// modernc.org/sqlite: no cgo, no server.
//
// The database is in WAL mode with synchronous=FULL: an acknowledged transition
// survives a crash of the process and of the machine. Processes that write one
// file take turns, a transaction each, so that a new version of a program may
// begin before the old one ends; see package sqlstore. In one process all of them
// have to use one SQLite library: two would undo each other's locks. A path that
// is no file (":memory:") is refused: tests use memstore.
//
// What it does not do: it opens no file on a network file system (NFS, SMB)
// safely. SQLite needs locks and shared memory that such systems do not give, and
// processes of two machines would not see each other's writes.
package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// Option changes how Open opens a store.
type Option func(*options)

type options struct {
	busy     time.Duration
	mode     os.FileMode
	readOnly bool
	store    []sqlstore.Option
}

// WithEnforce lowers the level of enforcement, for tests that make up rows:
// "checks" leaves out what ties rows and events together. See
// sqlstore.WithEnforce.
func WithEnforce(level string) Option {
	return func(o *options) { o.store = append(o.store, sqlstore.WithEnforce(level)) }
}

// WithBusyTimeout sets how long a call waits, in all, before it is refused with
// fsm.ErrBusy: for the locks of other programs, and for other calls of this one.
// The time counts from the call on. The default is 5 s.
func WithBusyTimeout(d time.Duration) Option { return func(o *options) { o.busy = d } }

// WithMode sets who may read and write a file that is made, and with it the files
// that are beside a database. The default is 0600, its owner.
func WithMode(mode os.FileMode) Option { return func(o *options) { o.mode = mode } }

// WithReadOnly opens a file that is there, for reading only: it takes no lock, so
// that a program may write the file meanwhile, and sets nothing in it. A file of
// another journal mode, such as a copy by Backup, does as well. Writes are refused
// with sqlstore.ErrReadOnly. Beside a file that nobody has open SQLite leaves an
// empty -wal and a -shm, which whoever writes it next removes; in a folder that
// cannot be written a file without a -wal is taken to be one that nobody writes.
func WithReadOnly() Option { return func(o *options) { o.readOnly = true } }

// Open opens the store in the file at path and makes the file when there is
// none. It makes no tables: the generated Migrate does.
func Open(path string, opts ...Option) (*sqlstore.Store, error) {
	o, err := optionsFor(path, opts)
	if err != nil {
		return nil, err
	}
	if o.readOnly {
		return openReadOnly(path, o)
	}
	if err := o.create(path); err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", dsn(path, own, false))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	write.SetMaxOpenConns(1)
	write.SetConnMaxLifetime(0)
	read, err := sql.Open("sqlite", dsn(path, own, true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: %w", err), write.Close())
	}
	read.SetMaxOpenConns(sqlstore.Readers)
	read.SetMaxIdleConns(sqlstore.Readers)
	read.SetConnMaxLifetime(0)
	store, err := sqlstore.New(write, sqlstore.SQLite(), append(o.store,
		sqlstore.WithReaders(read), sqlstore.WithWait(o.busy),
		sqlstore.WithRelease(write.Close), sqlstore.WithRelease(read.Close))...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", path, err), read.Close(), write.Close())
	}
	return store, nil
}

// OpenDB opens the database at path as the store uses it, for a caller that keeps
// tables of its own in the file and joins its transactions (fsm.Join). Of the
// options it looks at WithBusyTimeout and WithMode only. SQLite has one writer: while
// such a transaction is open, the store waits, and the other way round. The file is
// made when there is none, and opened at the first use; the caller closes it.
func OpenDB(path string, opts ...Option) (*sql.DB, error) {
	o, err := optionsFor(path, opts)
	if err != nil {
		return nil, err
	}
	if err := o.create(path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, o.busy, false))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	return db, nil
}

// optionsFor applies the options, and refuses what cannot be opened.
func optionsFor(path string, opts []Option) (options, error) {
	o := options{busy: 5 * time.Second, mode: 0o600}
	for _, opt := range opts {
		opt(&o)
	}
	if path == "" || strings.HasPrefix(path, ":") || strings.HasPrefix(path, "file:") {
		return o, fmt.Errorf("sqlite: %q is not the path of a file; expected one like jobs.db (use memstore for a store in memory)", path)
	}
	if o.busy < time.Millisecond {
		return o, fmt.Errorf("sqlite: a busy timeout of %s; expected at least 1ms", o.busy)
	}
	if dir := filepath.Dir(path); dir != "." {
		if info, err := os.Stat(dir); err != nil {
			return o, fmt.Errorf("sqlite: the folder of the database: %w", err)
		} else if !info.IsDir() {
			return o, fmt.Errorf("sqlite: %s is no folder", dir)
		}
	}
	return o, nil
}

// create makes the file where there is none, so that not everybody may read it:
// SQLite would make it for everybody, and the files beside it like it. One that is
// there is not opened, for closing it would drop the locks of this process.
func (o *options) create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, o.mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sqlite: make the file: %w", err)
	}
	return f.Close()
}

// own is the busy timeout of the store's own connections: it does the waiting.
const own = time.Millisecond

// dsn returns the driver's name of the database with every setting that the
// store asks for. The first one is the busy timeout, since the others may have
// to wait already.
func dsn(path string, busy time.Duration, readOnly bool) string {
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"recursive_triggers(1)",
		"trusted_schema(0)",
		"cell_size_check(1)",
		"journal_size_limit(67108864)",
	}
	if runtime.GOOS == "darwin" { // fsync alone leaves data in the drive's cache there
		pragmas = append(pragmas, "fullfsync(1)", "checkpoint_fullfsync(1)")
	}
	query := url.Values{"_dqs": {"0"}}
	if readOnly {
		pragmas = append(pragmas, "query_only(1)")
	} else {
		query.Set("_txlock", "immediate")
	}
	query["_pragma"] = pragmas
	return address(path, query)
}

func address(path string, query url.Values) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: query.Encode()}).String()
}
