// Command desk is a program with a console, which the browser tests use as people do: jobs of riverjob, one of which
// has failed for good, orders whose receipts cannot be mailed, and jobs with leases, on which workers may be at work
// meanwhile. It prints its address and runs until it is interrupted. Its database is a file of SQLite, or PostgreSQL by
// an address; the schema of its search_path is made.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/fsmgen/fsmgen/examples/machines/riverjob"
	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/browser/database"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/run"
)

func main() {
	load := len(os.Args) == 4 && os.Args[3] == "load"
	if len(os.Args) != 3 && !load {
		fmt.Fprintln(os.Stderr, "usage: desk FILE|URL ADDRESS [load]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, os.Args[1], os.Args[2], load); err != nil {
		fmt.Fprintln(os.Stderr, "desk:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// away is a mail server that does not answer.
type away struct{}

func (away) MailReceipt(context.Context, order.Order, string, fsm.Event) error {
	return errors.New("dial tcp 192.0.2.1:25: i/o timeout")
}

// rescue says that a job whose client is gone may be tried at once.
func rescue(_ riverjob.Job, now time.Time) (riverjob.RescueInput, error) {
	return riverjob.RescueInput{RetryAt: now, Error: fsm.MustJSON(`"the client is gone"`)}, nil
}

func serve(ctx context.Context, db, address string, load bool) (err error) {
	store, err := database.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := errors.Join(
		riverjob.Migrate(ctx, store), order.Migrate(ctx, store), lifecycle.Migrate(ctx, store), run.Migrate(ctx, store),
	); err != nil {
		return err
	}
	leased, err := lifecycle.Open(ctx, store)
	if err != nil {
		return err
	}
	jobs, err := riverjob.Open(ctx, store, riverjob.Sources{Rescue: rescue})
	if err != nil {
		return err
	}
	orders, err := order.Open(ctx, store, away{})
	if err != nil {
		return err
	}
	runs, err := run.Open(ctx, store)
	if err != nil {
		return err
	}
	if err := fill(ctx, jobs, orders); err != nil {
		return err
	}
	here := console.Place{Name: "production", Colour: "#a51d2d"}
	h, err := console.New(console.Options{
		Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
		Machines: []console.Machine{console.Of(here, jobs), console.Of(here, orders), console.Of(here, leased)}, Runs: runs,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", h))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "http://%s/ops/\n", l.Addr())
	end := work(ctx, leased, load)
	defer func() { err = errors.Join(err, end()) }()
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fill makes what the tests find, once.
func fill(ctx context.Context, jobs *riverjob.Machine, orders *order.Machine) error {
	now := time.Now()
	for i := range 140 {
		id := fmt.Sprintf("mail-%03d", i)
		in := riverjob.InsertInput{
			Kind: "mail", Queue: "default", Args: fsm.MustJSON(fmt.Sprintf(`{"to":"customer %d"}`, i)),
			Priority: 1, MaxAttempts: 1, ScheduledAt: now,
		}
		out, err := jobs.Insert(ctx, id, in, fsm.Call{RequestID: "insert " + id, Actor: "shop"})
		if err != nil || i != 77 || out.Replayed {
			if err != nil {
				return err
			}
			continue
		}
		if out, err = jobs.FetchOf(ctx, out, riverjob.FetchInput{Queue: "default"}, fsm.Call{RequestID: "fetch", Actor: "worker-3"}); err != nil {
			return err
		}
		failed := riverjob.FailInput{RetryAt: now, Error: fsm.MustJSON(`{"message":"550 mailbox is full","at":"smtp"}`)}
		if _, err = jobs.Fail(ctx, out, failed, fsm.Call{RequestID: "fail", Actor: "worker-3"}); err != nil {
			return err
		}
	}
	in := order.PlaceInput{Customer: "ben@example.org", Total: 100}
	out, err := orders.Place(ctx, "order-1", in, fsm.Call{RequestID: "place", Actor: "ben"})
	if err != nil || out.Replayed {
		return err
	}
	if _, err = orders.Pay(ctx, out, order.PayInput{Tip: 5}, fsm.Call{RequestID: "pay", Actor: "ben"}); err != nil {
		return err
	}
	_, _ = orders.Deliver(ctx) // it fails, which is what the test looks at
	return nil
}
