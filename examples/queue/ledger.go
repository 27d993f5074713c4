package main

import (
	"context"
	"database/sql"
	"net/url"

	_ "modernc.org/sqlite" // the driver of the ledger
)

// ledger is the outside world: a second database that knows nothing of jobs
// and takes each effect once, by its key.
type ledger struct{ db *sql.DB }

// openLedger opens or makes the ledger.
func openLedger(ctx context.Context, path string) (*ledger, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: path, RawQuery: url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)"},
		"_txlock": {"immediate"},
	}.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	// No constraint keeps a second entry out: a double shows as a double.
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ledger (job TEXT NOT NULL, worker TEXT NOT NULL) STRICT`); err != nil {
		return nil, err
	}
	return &ledger{db}, nil
}

// apply books the effect of a job unless it is booked already.
func (l *ledger) apply(ctx context.Context, job, worker string) error {
	_, err := l.db.ExecContext(ctx,
		`INSERT INTO ledger (job, worker) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE job = ?)`, job, worker, job)
	return err
}

// count returns how many effects are booked and how many of them are doubles.
func (l *ledger) count(ctx context.Context) (applied, doubled int, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT count(*), count(*) - count(DISTINCT job) FROM ledger`).Scan(&applied, &doubled)
	return applied, doubled, err
}

func (l *ledger) close() { _ = l.db.Close() }
