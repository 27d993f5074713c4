// Command shop moves the orders of an old table into a machine: docs/adopt.md.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"example.com/shop/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/adopt"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
)

// shop is the program: the old table and the machine in one database.
type shop struct {
	db     *sql.DB
	store  *sqlstore.Store
	orders *order.Machine
}

// held is since when the machine is responsible: what was due before waits until somebody releases it.
var held = flag.String("held", "2026-03-01", "leave alone what was due before this day")

// settings are those that a transaction needs which the machine is to join.
const settings = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" +
	"&_pragma=recursive_triggers(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_txlock=immediate"

func open(ctx context.Context, address string) (*shop, error) {
	s := &shop{}
	var err error
	if strings.HasPrefix(address, "postgres://") {
		s.db, err = sql.Open("pgx", address)
		if err == nil {
			s.store, err = postgres.Open(ctx, address)
		}
	} else {
		s.db, err = sql.Open("sqlite", "file:"+address+settings)
		if err == nil {
			s.store, err = sqlite.Open(address)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := order.Migrate(ctx, s.store); err != nil {
		return nil, err
	}
	if s.orders, err = order.Open(ctx, s.store); err != nil {
		return nil, err
	}
	return s, s.hold(*held)
}

func (s *shop) hold(day string) error {
	before, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	return s.orders.Core().HoldDeadlines(before)
}

func (s *shop) close() error { return errors.Join(s.store.Close(), s.db.Close()) }

func main() {
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), flag.Arg(1)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, verb, id string) error {
	s, err := open(ctx, os.Getenv("DB"))
	if err != nil {
		return err
	}
	defer s.close()
	switch verb {
	case "try":
		return s.try(ctx)
	case "import":
		return s.move(ctx)
	case "pay":
		return s.pay(ctx, id, "card 4711")
	case "due":
		return s.due(ctx)
	case "sweep":
		n, err := s.orders.Sweep(ctx)
		fmt.Printf("%d orders moved\n", n)
		return err
	}
	return fmt.Errorf("there is no %q", verb)
}

func (s *shop) try(ctx context.Context) error {
	report, err := adopt.Try(ctx, s.orders, s.old(ctx), adopt.Options{First: 2})
	fmt.Print(report)
	return err
}

func (s *shop) move(ctx context.Context) error {
	report, err := adopt.Import(ctx, s.orders, s.old(ctx), adopt.Options{First: 2})
	fmt.Print(report)
	return err
}

func (s *shop) due(ctx context.Context) error {
	moves, err := adopt.Due(ctx, s.orders, adopt.Options{First: 2})
	for _, m := range moves {
		fmt.Println(m)
	}
	return err
}

// pay writes both: the old column as before, and the machine in the same transaction.
func (s *shop) pay(ctx context.Context, id, payment string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `UPDATE old_orders SET status = 'PAID' WHERE id = $1`, id); err != nil {
		return err
	}
	in, err := s.orders.In(ctx, fsm.Join(s.store, tx))
	if err != nil {
		return err
	}
	call := fsm.Call{RequestID: "pay " + id, Actor: "shop"}
	if _, err := in.Pay(ctx, fsm.Ref{ID: id}, order.PayInput{Payment: payment}, call); err != nil {
		return err
	}
	return tx.Commit()
}
