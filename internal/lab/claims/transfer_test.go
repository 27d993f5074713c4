package claims_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/claims/account"
	"github.com/fsmgen/fsmgen/internal/lab/claims/transfer"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
)

// bank is both machines over one store.
type bank struct {
	accounts  *account.Machine
	transfers *transfer.Machine
}

func openBank(t testing.TB, store fsm.Store) bank {
	t.Helper()
	ctx := t.Context()
	if err := errors.Join(account.Migrate(ctx, store), transfer.Migrate(ctx, store)); err != nil {
		t.Fatal(err)
	}
	accounts, err := account.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	transfers, err := transfer.Open(ctx, store, accounts)
	if err != nil {
		t.Fatal(err)
	}
	return bank{accounts, transfers}
}

// TestMoneyIsKept: many callers move money between few accounts, in all directions, alone and several in a call. Two
// accounts are locked by each, in the one order: nobody is told to come again for a deadlock, and the sum stays.
func TestMoneyIsKept(t *testing.T) {
	t.Parallel()
	yards(t, func(t *testing.T, list []yard) {
		var banks []bank
		for _, y := range list {
			banks = append(banks, openBank(t, y.store))
		}
		const accounts, each = 4, 1000
		name := func(n int) string { return fmt.Sprint("account-", n) }
		for n := range accounts {
			if _, err := banks[0].accounts.Start(t.Context(), name(n), account.StartInput{Balance: each}, fsm.Call{RequestID: name(n)}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for caller := range 8 {
			b := banks[caller%len(banks)]
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			wg.Go(func() {
				for i := range rounds() {
					id := fmt.Sprintf("t%d-%d", caller, i)
					if err := b.move(t, id, name, random); err != nil && !errors.Is(err, account.ErrTooLittle) {
						t.Errorf("%s: %v", id, err)
					}
				}
			})
		}
		wg.Wait()
		var sum int64
		for n := range accounts {
			rec, err := banks[0].accounts.Record(t.Context(), name(n))
			if err != nil {
				t.Fatal(err)
			}
			sum += rec.Balance
		}
		if sum != accounts*each {
			t.Errorf("the accounts have %d, they had %d", sum, accounts*each)
		}
		for f, err := range audit.Run(t.Context(), banks[0].accounts) {
			t.Error(f, err)
		}
		for f, err := range audit.Run(t.Context(), banks[0].transfers) {
			t.Error(f, err)
		}
	})
}

// move books a transfer, gives one back, or books several in one call.
func (b bank) move(t *testing.T, id string, name func(int) string, random *rand.Rand) error {
	ctx := t.Context()
	book := func(m *transfer.Machine, id string) error {
		from := random.IntN(4)
		in := transfer.BookInput{Payer: name(from), Payee: name((from + 1 + random.IntN(3)) % 4), Amount: 1 + random.Int64N(200)}
		_, err := m.Book(ctx, id, in, fsm.Call{RequestID: "book " + id})
		return err
	}
	switch random.IntN(4) {
	case 0:
		_, err := b.transfers.Batch(ctx, func(m *transfer.Machine) error {
			return errors.Join(book(m, id+"a"), book(m, id+"b"), book(m, id+"c"))
		})
		return err
	case 1:
		if err := book(b.transfers, id); err != nil {
			return err
		}
		_, err := b.transfers.GiveBack(ctx, fsm.Ref{ID: id}, fsm.Call{RequestID: "back " + id})
		return err
	}
	return book(b.transfers, id)
}
