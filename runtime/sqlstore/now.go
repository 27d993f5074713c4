package sqlstore

import (
	"context"
	"fmt"
	"time"
)

// Now returns the time of the server's clock; zero for SQLite, whose processes have
// that of their machine.
func (s *Store) Now(ctx context.Context) (at time.Time, err error) {
	if s.dialect.writers() == 1 {
		return at, nil
	}
	x, err := s.readers.take(ctx)
	if err != nil {
		return at, fmt.Errorf("sqlstore: ask for the time: %w", err)
	}
	err = x.conn.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&at)
	s.readers.give(x, err != nil)
	if err != nil {
		return at, fmt.Errorf("sqlstore: ask for the time: %w", err)
	}
	return at, nil
}
