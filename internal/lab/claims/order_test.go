package claims_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/claims/account"
	"github.com/fsmgen/fsmgen/internal/lab/claims/transfer"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// TestOneOrderOfLocks: transfers between two accounts in both directions make no deadlock on PostgreSQL, in calls on one and
// on several. Where a program moves the same accounts in its own transactions, in two orders, the server sees one.
func TestOneOrderOfLocks(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	ctx := t.Context()
	ours := server(t, dsn)
	b := openBank(t, ours)
	for _, id := range []string{"a", "b"} {
		if _, err := b.accounts.Start(ctx, id, account.StartInput{Balance: 100_000}, fsm.Call{RequestID: id}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for caller := range 8 {
		random := rand.New(rand.NewPCG(2, uint64(caller)))
		wg.Go(func() {
			for i := range rounds() {
				if err := both(ctx, b.transfers, fmt.Sprintf("%d-%d", caller, i), random); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	met := make(chan struct{})
	reached := make(chan struct{}, 2)
	go func() { <-reached; <-reached; close(met) }()
	results := make(chan error, 2)
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		go func() { results <- inOwnOrder(ctx, db, ours, b.accounts, order, reached, met) }()
	}
	first, second := <-results, <-results
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), fsm.ErrBusy) {
		t.Errorf("of two transactions in two orders one must be told to begin again; got %v and %v", first, second)
	}
	db.Close()
	ours.Close()
	if n := pgtest.Deadlocks(t, dsn); n != 1 {
		t.Errorf("the server has seen %d deadlocks; want that of the two orders, and no other", n)
	}
}

// both books a transfer in one of the directions, or several in one call.
func both(ctx context.Context, m *transfer.Machine, id string, random *rand.Rand) error {
	book := func(m *transfer.Machine, id string) error {
		in := transfer.BookInput{Payer: "a", Payee: "b", Amount: 1 + random.Int64N(5)}
		if random.IntN(2) == 0 {
			in.Payer, in.Payee = in.Payee, in.Payer
		}
		_, err := m.Book(ctx, id, in, fsm.Call{RequestID: id})
		return err
	}
	if random.IntN(3) > 0 {
		return book(m, id)
	}
	_, err := m.Batch(ctx, func(m *transfer.Machine) error { return errors.Join(book(m, id+"x"), book(m, id+"y")) })
	return err
}

// inOwnOrder moves accounts in a transaction of its own: the first one, and when the other transaction has done so, the second.
func inOwnOrder(
	ctx context.Context, db *sql.DB, store *sqlstore.Store, accounts *account.Machine, order []string,
	reached chan<- struct{}, met <-chan struct{},
) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	in, err := accounts.In(ctx, fsm.Join(store, tx))
	if err != nil {
		return err
	}
	if _, err := in.Credit(ctx, fsm.Ref{ID: order[0]}, account.CreditInput{Amount: 1}, fsm.Call{}); err != nil {
		return err
	}
	reached <- struct{}{}
	<-met
	if _, err := in.Credit(ctx, fsm.Ref{ID: order[1]}, account.CreditInput{Amount: 1}, fsm.Call{}); err != nil {
		return err
	}
	return tx.Commit()
}
