package driver

import "context"

// Neighbor is a Table whose machine can take part in the transaction of another one of its store.
type Neighbor interface {
	// Beside returns the reader and writer of this table within a transaction of another table of
	// the store. It is of no use after the end of that.
	Beside(ctx context.Context, tx Tx) (Tx, error)
}
