// Package storetest is the door to the conformance suite for those who write a store.
// A store that passes it keeps what package driver promises at each method, and the
// engine over it keeps the guarantees of package fsm.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) fsm.Store {
//			s := mystore.Open(tb.TempDir())
//			tb.Cleanup(func() { s.Close() })
//			return s
//		})
//	}
//
// Whether a commit survives a crash or a power cut cannot be seen from inside the
// process: a store needs tests of its own for that.
//
// This is a module of its own, so that a program never requires it by accident.
package storetest

import (
	"context"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Option sets something about the suite.
type Option = storetest.Option

// CallersTx is a transaction that a caller of the store has begun by itself: how it is
// joined, and how it ends.
type CallersTx = storetest.CallersTx

// Spec is the specification of the machine that the suite works with. A store that runs
// on generated SQL generates it from this text: see WithSQL.
var Spec = storetest.Spec

// Run runs the suite. open returns an empty store and closes it with tb.Cleanup; every
// test opens one, and many run at once.
func Run(t *testing.T, open func(tb testing.TB) fsm.Store, opts ...Option) {
	storetest.Run(t, open, opts...)
}

// RunJoined runs what a store promises to callers who call a machine within a transaction
// of their own: see fsm.Joined. open is as in Run; begin begins such a transaction.
func RunJoined(
	t *testing.T, open func(tb testing.TB) fsm.Store,
	begin func(ctx context.Context, store fsm.Store) (CallersTx, error), opts ...Option,
) {
	storetest.RunJoined(t, open, begin, opts...)
}

// WithSQL hands in the SQL that was generated from Spec, by dialect.
func WithSQL(sql map[string]string) Option { return storetest.WithSQL(sql) }
