package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/examples/fm001/naive"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// machine is what the story needs of both generated packages.
type machine interface {
	lease(ctx context.Context, exec, job, worker string, until time.Time) error
	start(ctx context.Context, exec, worker string) error
	commit(ctx context.Context, exec, worker string) error
	sweep(ctx context.Context) (int, error)
	startup(ctx context.Context) (int, error)
	state(ctx context.Context, exec string) (string, error)
}

// book is the effect: it books the job's result in a table beside the machine's
// own, in the transaction of the commit. Nothing in the table keeps a second
// booking out: what keeps it out is the machine.
func book(ctx context.Context, tx *sql.Tx, job, worker string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO effects (job, worker) VALUES (?, ?)`, job, worker)
	return err
}

// place is the database: the store of the machine and a connection of the
// application's own, for its table of effects.
type place struct {
	store *sqlstore.Store
	db    *sql.DB
}

// open opens the database in dir and makes the table of effects.
func open(ctx context.Context, dir string) (*place, error) {
	path := filepath.Join(dir, "fm001.db")
	store, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS effects (job TEXT NOT NULL, worker TEXT NOT NULL) STRICT`)
	return &place{store, db}, err
}

// close closes both.
func (p *place) close() {
	_ = p.db.Close()
	_ = p.store.Close()
}

// effects returns how often the effect of a job was applied.
func (p *place) effects(ctx context.Context, job string) (n int, err error) {
	err = p.db.QueryRowContext(ctx, `SELECT count(*) FROM effects WHERE job = ?`, job).Scan(&n)
	return n, err
}

// safe is the machine of specs/execution.yaml.
type safe struct {
	m *execution.Machine
	// held is what each worker holds: the revision it saw last. A worker that
	// wakes up late acts on this, not on what the store says now.
	held map[string]fsm.Ref
}

// safeEffects applies the result in the commit's transaction.
type safeEffects struct{}

func (safeEffects) ApplyResult(ctx context.Context, tx *sql.Tx, e execution.Execution, _ string, _ fsm.Event) error {
	return book(ctx, tx, e.JobID, e.LeaseOwner)
}

func openSafe(ctx context.Context, store *sqlstore.Store, clock func() time.Time) (machine, error) {
	if err := execution.Migrate(ctx, store); err != nil {
		return nil, err
	}
	m, err := execution.Open(ctx, store, safeEffects{}, fsm.WithClock(clock))
	return &safe{m, map[string]fsm.Ref{}}, err
}

func (s *safe) lease(ctx context.Context, exec, job, worker string, until time.Time) error {
	out, err := s.m.Lease(ctx, exec, execution.LeaseInput{JobID: job, LeaseExpiresAt: until}, fsm.Call{RequestID: "lease-" + exec, Actor: worker})
	return s.hold(out, err)
}

func (s *safe) start(ctx context.Context, exec, worker string) error {
	out, err := s.m.Start(ctx, s.held[exec], fsm.Call{RequestID: "start", Actor: worker})
	return s.hold(out, err)
}

func (s *safe) commit(ctx context.Context, exec, worker string) error {
	out, err := s.m.Commit(ctx, s.held[exec], execution.CommitInput{}, fsm.Call{RequestID: "commit", Actor: worker})
	return s.hold(out, err)
}

func (s *safe) hold(out execution.Outcome, err error) error {
	if err == nil {
		s.held[out.Record.ID] = out.Ref()
	}
	return err
}

func (s *safe) sweep(ctx context.Context) (int, error)   { return s.m.Sweep(ctx) }
func (s *safe) startup(ctx context.Context) (int, error) { return s.m.Startup(ctx) }

func (s *safe) state(ctx context.Context, exec string) (string, error) {
	e, err := s.m.Record(ctx, exec)
	return e.State.String(), err
}

// unsafe is the machine of naive.yaml.
type unsafe struct {
	m    *naive.Machine
	held map[string]fsm.Ref
}

// unsafeEffects applies the result in the commit's transaction.
type unsafeEffects struct{}

func (unsafeEffects) ApplyResult(ctx context.Context, tx *sql.Tx, e naive.Execution, _ string, _ fsm.Event) error {
	return book(ctx, tx, e.JobID, e.LeaseOwner)
}

func openUnsafe(ctx context.Context, store *sqlstore.Store, clock func() time.Time) (machine, error) {
	if err := naive.Migrate(ctx, store); err != nil {
		return nil, err
	}
	m, err := naive.Open(ctx, store, unsafeEffects{}, fsm.WithClock(clock))
	return &unsafe{m, map[string]fsm.Ref{}}, err
}

func (u *unsafe) lease(ctx context.Context, exec, job, worker string, until time.Time) error {
	out, err := u.m.Lease(ctx, exec, naive.LeaseInput{JobID: job, LeaseExpiresAt: until}, fsm.Call{RequestID: "lease-" + exec, Actor: worker})
	return u.hold(out, err)
}

func (u *unsafe) start(ctx context.Context, exec, worker string) error {
	out, err := u.m.Start(ctx, u.held[exec], fsm.Call{RequestID: "start", Actor: worker})
	return u.hold(out, err)
}

func (u *unsafe) commit(ctx context.Context, exec, worker string) error {
	out, err := u.m.Commit(ctx, u.held[exec], fsm.Call{RequestID: "commit", Actor: worker})
	return u.hold(out, err)
}

func (u *unsafe) hold(out naive.Outcome, err error) error {
	if err == nil {
		u.held[out.Record.ID] = out.Ref()
	}
	return err
}

func (u *unsafe) sweep(ctx context.Context) (int, error)   { return u.m.Sweep(ctx) }
func (u *unsafe) startup(ctx context.Context) (int, error) { return u.m.Startup(ctx) }

func (u *unsafe) state(ctx context.Context, exec string) (string, error) {
	e, err := u.m.Record(ctx, exec)
	return e.State.String(), err
}
