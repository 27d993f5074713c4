package cookbook

import (
	"context"

	"example.com/cookbook/ticket2"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// upgrade opens the tables of version 1 as version 2. On SQLite it migrates them, too.
func upgrade(ctx context.Context, store fsm.Store) (*ticket2.Machine, error) {
	if err := ticket2.Migrate(ctx, store); err != nil {
		return nil, err
	}
	return ticket2.Open(ctx, store)
}
