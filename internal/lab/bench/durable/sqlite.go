package durable

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/bench/measure"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// The names of loads that bars speak of.
const (
	Ours      = "fsmgen"
	Prepared  = "by hand: prepared statements"
	Grouped   = "by hand: group commit"
	AppendLog = "by hand: append-only log, one fdatasync a batch"
	Naive     = "by hand, naive: begin, select, select, update, insert, commit"
	Backlite  = "mikestefanello/backlite: add a task"
)

// settings are those that our store asks for, for a connection by hand.
const settings = "_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
	"&_pragma=foreign_keys(1)&_pragma=recursive_triggers(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_dqs=0"

// OpenSQLite opens our machine in a new file, at level full.
func OpenSQLite(ctx context.Context, path string, opts ...fsm.Option) (*lifecycle.Machine, fsm.Store, error) {
	return openSQLite(ctx, path, Full, opts...)
}

func openSQLite(ctx context.Context, path, level string, opts ...fsm.Option) (*lifecycle.Machine, fsm.Store, error) {
	store, err := sqlite.Open(path, sqlite.WithEnforce(level))
	if err != nil {
		return nil, nil, err
	}
	err = lifecycle.Migrate(ctx, store)
	var m *lifecycle.Machine
	if err == nil {
		m, err = lifecycle.Open(ctx, store, opts...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return m, store, nil
}

// SQLite compares transitions in SQLite files in the folder, each load in a file
// of its own, and calls f with the rates for each number of callers. What has
// tables of ours has them at the level; what has none is left out below level full.
func SQLite(ctx context.Context, dir, level string, t measure.Turns, callers []int, f func(callers int, rates []measure.Rate)) error {
	most := 0
	for _, n := range callers {
		most = max(most, n)
	}
	var cleanup []func()
	defer func() {
		for _, c := range cleanup {
			c()
		}
	}()
	m, store, err := openSQLite(ctx, filepath.Join(dir, "ours.db"), level)
	if err != nil {
		return err
	}
	cleanup = append(cleanup, func() { store.Close() })
	ours, err := Running(ctx, m, most)
	if err != nil {
		return err
	}
	loads := []measure.Load{{Name: Ours, Step: func(ctx context.Context, c int) error { return ours[c].Beat(ctx, m) }}}
	for _, way := range []struct {
		name string
		step func(*handSQLite) func(*Job) error
	}{
		{Prepared, func(h *handSQLite) func(*Job) error { return h.one }},
		{Grouped, func(h *handSQLite) func(*Job) error { return h.group.do }},
		{Naive, func(h *handSQLite) func(*Job) error { return h.naive }},
	} {
		h, err := newHandSQLite(ctx, filepath.Join(dir, fmt.Sprintf("hand%d.db", len(loads))), level, most)
		if err != nil {
			return err
		}
		cleanup = append(cleanup, h.close)
		step := way.step(h)
		loads = append(loads, measure.Load{Name: way.name, Step: func(_ context.Context, c int) error { return step(h.jobs[c]) }})
	}
	if level == Full {
		more, err := withoutTables(ctx, dir, most, &cleanup)
		if err != nil {
			return err
		}
		loads = append(loads, more...)
	}
	for _, n := range callers {
		t.Callers = n
		rates, err := measure.Rates(ctx, t, loads...)
		if err != nil {
			return fmt.Errorf("%d callers: %w", n, err)
		}
		f(n, rates)
	}
	return nil
}

// withoutTables returns the loads that know nothing of our tables.
func withoutTables(ctx context.Context, dir string, callers int, cleanup *[]func()) ([]measure.Load, error) {
	log, err := newAppendLog(filepath.Join(dir, "log"), callers)
	if err != nil {
		return nil, err
	}
	*cleanup = append(*cleanup, log.close)
	peer, stop, err := backliteLoad(ctx, filepath.Join(dir, "backlite.db"))
	if err != nil {
		return nil, err
	}
	*cleanup = append(*cleanup, stop)
	return []measure.Load{{Name: AppendLog, Step: func(_ context.Context, c int) error { return log.group.do(log.jobs[c]) }}, peer}, nil
}

// handSQLite is the same work written by hand over one connection.
type handSQLite struct {
	db    *sql.DB
	jobs  []*Job
	mu    sync.Mutex
	event *sql.Stmt
	row   *sql.Stmt
	group *gatherer
}

const sqliteEvent = `INSERT INTO "lifecycle_events" ("id", "rev", "n", "operation", "name", "from_state", "to_state", "occurred_at",
	"actor", "reason", "request_id", "request_n", "fingerprint", "inputs", "changes", "version", "checksum")
	VALUES (?, ?, 0, 'heartbeat', 'heartbeat', 'running', 'running', ?, 'w', '', ?, -1, ?, ?, ?, 1, 0)`

func newHandSQLite(ctx context.Context, path, level string, callers int) (*handSQLite, error) {
	m, store, err := openSQLite(ctx, path, level) // makes the tables and the jobs
	if err != nil {
		return nil, err
	}
	h := &handSQLite{}
	h.jobs, err = Running(ctx, m, callers)
	if err = errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	if h.db, err = sql.Open("sqlite", "file:"+path+"?"+settings); err != nil {
		return nil, err
	}
	h.db.SetMaxOpenConns(1)
	if h.event, err = h.db.PrepareContext(ctx, sqliteEvent); err == nil {
		h.row, err = h.db.PrepareContext(ctx, `UPDATE "lifecycle" SET "rev" = "rev" + 1, "updated_at" = ?, "lease" = ?
			WHERE "id" = ? AND "rev" = ? AND "state" = 'running' AND "owner" = 'w'`)
	}
	if err != nil {
		return nil, errors.Join(err, h.db.Close())
	}
	h.group = newGatherer(h.commit)
	return h, nil
}

func (h *handSQLite) close() {
	h.group.stop()
	h.db.Close()
}

// one is a transaction for one caller, one after the other.
func (h *handSQLite) one(j *Job) error { return h.commit([]*Job{j}) }

// commit does the work of some callers in one transaction of prepared statements.
func (h *handSQLite) commit(jobs []*Job) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	tx, err := h.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	event, row := tx.Stmt(h.event), tx.Stmt(h.row)
	for _, j := range jobs {
		request, now := j.next(), time.Now().UnixMicro()
		fingerprint, inputs, changes := j.documents()
		if _, err := event.Exec(j.id, j.rev+1, now, request, fingerprint, inputs, changes); err != nil {
			return err
		}
		if err := oneRow(row.Exec(now, j.lease.UnixMicro(), j.id, j.rev)); err != nil {
			return err
		}
		j.rev++
	}
	return tx.Commit()
}

// naive is the work as it is mostly written: nothing is prepared, what is known is
// read before it is written.
func (h *handSQLite) naive(j *Job) error {
	request := j.next()
	fingerprint, inputs, changes := j.documents()
	tx, err := h.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var known int
	if err := tx.QueryRow(`SELECT count(*) FROM "lifecycle_events" WHERE "id" = ? AND "request_id" = ?`, j.id, request).Scan(&known); err != nil || known > 0 {
		return errors.Join(err, errMoved)
	}
	var rev int64
	var state, owner string
	err = tx.QueryRow(`SELECT "rev", "state", "owner" FROM "lifecycle" WHERE "id" = ?`, j.id).Scan(&rev, &state, &owner)
	if err != nil || rev != j.rev || state != "running" || owner != worker {
		return errors.Join(err, errMoved)
	}
	now := time.Now().UnixMicro()
	if _, err := tx.Exec(sqliteEvent, j.id, rev+1, now, request, fingerprint, inputs, changes); err != nil {
		return err
	}
	if err := oneRow(tx.Exec(`UPDATE "lifecycle" SET "rev" = ?, "updated_at" = ?, "lease" = ? WHERE "id" = ?`, rev+1, now, j.lease.UnixMicro(), j.id)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	j.rev++
	return nil
}

// oneRow asks whether exactly one row was written.
func oneRow(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errMoved)
	}
	return nil
}

// appendLog writes a line per transition to a file, and makes a batch durable by
// one fdatasync: the floor under everything that is to be on the disk.
type appendLog struct {
	file  *os.File
	to    *bufio.Writer
	jobs  []*Job
	group *gatherer
}

func newAppendLog(path string, callers int) (*appendLog, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	l := &appendLog{file: f, to: bufio.NewWriterSize(f, 1<<16), jobs: make([]*Job, callers)}
	for i := range l.jobs {
		l.jobs[i] = &Job{id: driver.NewID(), rev: 3, lease: time.Now()}
	}
	l.group = newGatherer(l.commit)
	return l, nil
}

func (l *appendLog) commit(jobs []*Job) error {
	for _, j := range jobs {
		request := j.next()
		fingerprint, inputs, changes := j.documents()
		j.rev++
		fmt.Fprintf(l.to, "%s %d heartbeat running running %d w %s %s %s %s\n",
			j.id, j.rev, time.Now().UnixMicro(), request, fingerprint, inputs, changes)
	}
	if err := l.to.Flush(); err != nil {
		return err
	}
	return dataSync(l.file)
}

func (l *appendLog) close() {
	l.group.stop()
	l.file.Close()
}
