package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Now returns the time of the server's clock, and how long the question took; zero for
// SQLite, whose processes have the clock of their machine.
func (s *Store) Now(ctx context.Context) (at time.Time, took time.Duration, err error) {
	if !s.dialect.server() {
		return at, 0, nil
	}
	if err := driver.Inside(ctx, s); err != nil {
		return at, 0, fmt.Errorf("sqlstore: %w", err)
	}
	x, err := s.readers.take(ctx)
	if err != nil {
		return at, 0, fmt.Errorf("sqlstore: ask for the time: %w", err)
	}
	defer func() {
		x.cut = err != nil && ctx.Err() != nil
		s.readers.give(x, err != nil)
	}()
	began := time.Now()
	err = x.query(ctx, func(rows Rows) error {
		defer func() { took = time.Since(began) }()
		return rows.Scan(&at)
	}, "SELECT clock_timestamp()")
	if err != nil {
		return at, 0, fmt.Errorf("sqlstore: ask for the time: %w", err)
	}
	return at, took, nil
}
