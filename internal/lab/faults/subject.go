package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Subject is the machine under test.
type Subject struct {
	M     *execution.Machine
	Limit time.Duration // of each call; 0: none
	db    *sql.DB       // the ledger's
}

// ledgerTable has no constraint that keeps a second entry out: a double shows
// as a double.
const ledgerTable = `CREATE TABLE IF NOT EXISTS ledger (job TEXT NOT NULL, execution TEXT NOT NULL)`

// bookEffect is the effect of a commit.
type bookEffect struct{}

func (bookEffect) ApplyResult(ctx context.Context, tx *sql.Tx, e execution.Execution, _ string, _ fsm.Event) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger (job, execution) VALUES ($1, $2)`, e.JobID, e.ID)
	return err
}

// Migrate makes the tables of the machine and the ledger. db is on the same
// database as the store.
func Migrate(ctx context.Context, store fsm.Store, db *sql.DB) error {
	if err := execution.Migrate(ctx, store); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, ledgerTable)
	return err
}

// Open opens the machine over a store that was migrated.
func Open(ctx context.Context, store driver.Transactional[*sql.Tx], db *sql.DB, opts ...fsm.Option) (*Subject, error) {
	m, err := execution.Open(ctx, store, bookEffect{}, opts...)
	return &Subject{M: m, db: db}, err
}

// OpenOver migrates, if asked to, and opens the machine over a store and a
// database, which the function that it returns closes.
func OpenOver(ctx context.Context, store driver.Transactional[*sql.Tx], db *sql.DB, migrate bool) (*Subject, func() error, error) {
	end := func() error { return errors.Join(db.Close(), store.Close()) }
	if migrate {
		if err := Migrate(ctx, store, db); err != nil {
			return nil, nil, errors.Join(err, end())
		}
	}
	s, err := Open(ctx, store, db)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return s, end, nil
}

// steps of an execution's life, in their order; each makes the revision of its
// place, from 1.
const steps = 4

// farAway is when every lease ends: no recovery runs in these tests.
var farAway = time.Date(time.Now().Year()+4, 1, 1, 0, 0, 0, 0, time.UTC)

// step makes the n-th call of an execution's life, from 1. at is what the call
// before it came to.
func (s *Subject) step(ctx context.Context, id string, n int, at fsm.Target) (execution.Outcome, error) {
	const worker = "w"
	if s.Limit > 0 {
		limited, cancel := context.WithTimeout(ctx, s.Limit)
		defer cancel()
		ctx = limited
	}
	switch n {
	case 1:
		return s.M.Lease(ctx, id, execution.LeaseInput{JobID: "job-" + id, LeaseExpiresAt: farAway}, fsm.Call{RequestID: "lease-" + id, Actor: worker})
	case 2:
		return s.M.Start(ctx, at, fsm.Call{RequestID: "start", Actor: worker})
	case 3:
		return s.M.Commit(ctx, at, execution.CommitInput{}, fsm.Call{RequestID: "commit", Actor: worker})
	}
	return s.M.Finish(ctx, at, fsm.Call{RequestID: "finish", Actor: worker})
}

// Hook sees the calls of a writer.
type Hook struct {
	Asked func(id string, rev int)            // before the call that is to make revision rev
	Told  func(id string, rev int, err error) // after it
}

// Drive takes executions through their lives, one after another: at most n,
// or until ctx ends, or a call fails. The error is the failed call's.
func (s *Subject) Drive(ctx context.Context, name string, n int, h Hook) error {
	for i := 0; n == 0 || i < n; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		var at fsm.Target
		for rev := 1; rev <= steps; rev++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			h.Asked(id, rev)
			out, err := s.step(ctx, id, rev, at)
			h.Told(id, rev, err)
			if err != nil {
				return fmt.Errorf("%s: step %d: %w", id, rev, err)
			}
			at = out
		}
	}
	return nil
}

// Twice leases an execution, and then leases another one and starts the first in
// one transaction of the caller's own, which nobody tries again.
func (s *Subject) Twice(ctx context.Context, store driver.Transactional[*sql.Tx], db *sql.DB, name string) error {
	out, err := s.step(ctx, name, 1, nil)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	m, err := s.M.In(ctx, fsm.Join(store, tx))
	if err != nil {
		return err
	}
	in := &Subject{M: m}
	if _, err := in.step(ctx, name+".more", 1, nil); err != nil {
		return err
	}
	if _, err := in.step(ctx, name, 2, out); err != nil {
		return err
	}
	return tx.Commit()
}

// Settle makes the calls of an execution's life again, the same with the same
// request ids, up to revision rev. It returns which revision was there already.
func (s *Subject) Settle(ctx context.Context, id string, rev int) (there int, err error) {
	for n := 1; n <= rev; n++ {
		out, err := s.step(ctx, id, n, fsm.Ref{ID: id, Rev: int64(n - 1)})
		if err != nil {
			return there, fmt.Errorf("settle %s at revision %d: %w", id, n, err)
		}
		if out.Record.Rev != int64(n) {
			return there, fmt.Errorf("settle %s: the call of revision %d came to revision %d", id, n, out.Record.Rev)
		}
		if out.Replayed {
			if there != n-1 {
				return there, fmt.Errorf("settle %s: revision %d was there, revision %d was not", id, n, n-1)
			}
			there = n
		}
	}
	return there, nil
}

// Verdict is what became of everything.
type Verdict struct {
	Acked     int64 // acknowledged transitions
	Written   int64 // transitions that stand
	Lost      int64 // of them
	Records   int64
	Committed int64 // executions whose commit is in their log
	Ledger    int64 // entries
	Doubled   int64 // entries beyond the first of a job
	Findings  int   // of the audit
	First     string
}

// Wrong says what must not be; empty when all is right.
func (v Verdict) Wrong() string {
	switch {
	case v.Lost > 0:
		return fmt.Sprintf("%d of %d acknowledged transitions are lost", v.Lost, v.Acked)
	case v.Doubled > 0:
		return fmt.Sprintf("%d effects happened twice", v.Doubled)
	case v.Ledger != v.Committed:
		return fmt.Sprintf("%d effects of %d commits", v.Ledger, v.Committed)
	case v.Findings > 0:
		return fmt.Sprintf("the audit has %d findings: %s", v.Findings, v.First)
	}
	return ""
}

// Verify compares the store with what was acknowledged: the highest revision of
// each execution.
func (s *Subject) Verify(ctx context.Context, acked map[string]int) (Verdict, error) {
	var v Verdict
	seen := map[string]int{}
	for e, err := range s.M.List(ctx) {
		if err != nil {
			return v, err
		}
		v.Records++
		seen[e.ID] = int(e.Rev)
		v.Written += e.Rev
		if e.State == execution.StateCommitted || e.State == execution.StateDone {
			v.Committed++
		}
	}
	for id, rev := range acked {
		v.Acked += int64(rev)
		v.Lost += int64(max(0, rev-seen[id]))
	}
	if err := s.db.QueryRowContext(ctx, `SELECT count(*), count(*) - count(DISTINCT job) FROM ledger`).Scan(&v.Ledger, &v.Doubled); err != nil {
		return v, fmt.Errorf("read the ledger: %w", err)
	}
	for f, err := range audit.Run(ctx, s.M) {
		if err != nil {
			return v, err
		}
		if v.Findings++; v.First == "" {
			v.First = f.String()
		}
	}
	return v, nil
}

// Unknown reports whether an error leaves open what happened.
func Unknown(err error) bool {
	var lost *fsm.AmbiguousError
	return errors.As(err, &lost)
}
