package claims_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/claims/account"
	"github.com/fsmgen/fsmgen/internal/lab/claims/transfer"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// BenchmarkThreeRecords compares a transfer, which moves two accounts, with a program that makes the three steps in a
// transaction of its own. Both in turns of one run; the metric "ratio" is the first time over the second.
func BenchmarkThreeRecords(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			ctx := b.Context()
			var store interface {
				fsm.Store
				driver.Transactional[*sql.Tx]
			}
			address := filepath.Join(b.TempDir(), "bank.db")
			db, err := sqlite.OpenDB(address)
			if kind == "postgres" {
				address = pgtest.DSN(b)
				db, err = sql.Open("pgx", address)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if kind == "sqlite" { // it has one writer, so both share the database
				store, err = sqlstore.New(db, sqlstore.SQLite())
			} else {
				store = server(b, address)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			bank := openBank(b, store)
			for _, id := range []string{"a", "b"} {
				if _, err := bank.accounts.Start(ctx, id, account.StartInput{Balance: 500_000}, fsm.Call{RequestID: id}); err != nil {
					b.Fatal(err)
				}
			}
			var used, byHand time.Duration
			for i := 0; b.Loop(); i++ {
				in := transfer.BookInput{Payer: "a", Payee: "b", Amount: 1}
				begun := time.Now()
				if _, err := bank.transfers.Book(ctx, fmt.Sprint("t", i), in, fsm.Call{RequestID: fmt.Sprint("t", i)}); err != nil {
					b.Fatal(err)
				}
				used += time.Since(begun)
				begun = time.Now()
				if err := threeByHand(ctx, db, store, bank, fmt.Sprint("h", i)); err != nil {
					b.Fatal(err)
				}
				byHand += time.Since(begun)
			}
			b.ReportMetric(float64(used)/float64(byHand), "ratio")
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "µs/uses")
		})
	}
}

// threeByHand makes a record and moves two others back, in a transaction of the program's own.
func threeByHand(ctx context.Context, db *sql.DB, store driver.Transactional[*sql.Tx], bank bank, id string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	in, err := bank.accounts.In(ctx, fsm.Join(store, tx))
	if err != nil {
		return err
	}
	if _, err := in.Start(ctx, id, account.StartInput{Balance: 0}, fsm.Call{RequestID: id}); err != nil {
		return err
	}
	if _, err := in.Credit(ctx, fsm.Ref{ID: "a"}, account.CreditInput{Amount: 1}, fsm.Call{}); err != nil {
		return err
	}
	if _, err := in.Debit(ctx, fsm.Ref{ID: "b"}, account.DebitInput{Amount: 1}, fsm.Call{}); err != nil {
		return err
	}
	return tx.Commit()
}
