// Command orders is a small service for orders: they are placed, paid with a tip, and given back in parts (order.yaml).
//
//	orders                                                a story on a temporary SQLite file
//	orders -listen 127.0.0.1:8080                         serve the orders of orders.db
//	orders -listen 127.0.0.1:8080 -db postgres://host/db  serve those of a PostgreSQL database
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

func main() {
	listen := flag.String("listen", "", "address to serve on; without it a story is told on a temporary file")
	db := flag.String("db", "orders.db", "SQLite file, or the postgres:// URL of a database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *listen == "" {
		err = tell(ctx, os.Stdout)
	} else {
		err = run(ctx, *listen, *db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

// run serves the orders of a database until ctx ends.
func run(ctx context.Context, listen, db string) error {
	store, orders, err := open(ctx, db, &mailbox{out: os.Stdout})
	if err != nil {
		return err
	}
	defer store.Close()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	slog.Info("listening", "address", l.Addr())
	return serve(ctx, l, orders, slog.Default())
}

// open opens the machine over a database, and makes its tables where there are none.
func open(ctx context.Context, db string, mails order.Effects, opts ...fsm.Option) (store *sqlstore.Store, m *order.Machine, err error) {
	if strings.HasPrefix(db, "postgres://") {
		store, err = postgres.Open(ctx, db)
	} else {
		store, err = sqlite.Open(db)
	}
	if err != nil {
		return nil, nil, err
	}
	if err = order.Migrate(ctx, store); err == nil {
		m, err = order.Open(ctx, store, mails, opts...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, m, nil
}

// serve answers requests and delivers mails until ctx ends. Any number of processes may do so on one database.
func serve(ctx context.Context, l net.Listener, orders *order.Machine, log *slog.Logger) error {
	server := &http.Server{
		Handler:           (&service{orders, log}).handler(),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	ctx, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(l)
		stop()
	}()
	err := worker.Run(ctx, orders.Core(), worker.Upkeep{Log: log}) // delivers
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(last))
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
