package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	runs "github.com/fsmgen/fsmgen/runtime/console/run"
)

// serve shows the machine at an address, beside its probes, until the context ends, and lets people work with it; wait returns then.
// Everybody who reaches the address may do everything: a program that others reach says in Who who they are.
func serve(ctx context.Context, address string, store fsm.Store, jobs *lifecycle.Machine, out io.Writer) (wait func() error, err error) {
	if err := runs.Migrate(ctx, store); err != nil {
		return nil, err
	}
	many, err := runs.Open(ctx, store)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	h, err := console.New(console.Options{
		Who: func(r *http.Request) (console.Viewer, error) {
			if r.Host != l.Addr().String() { // a page elsewhere whose name leads here
				return console.Viewer{}, errors.New("this console answers at " + l.Addr().String() + " only")
			}
			return console.Operator("you"), nil
		},
		Machines: []console.Machine{console.Of(console.Place{Name: "queue"}, jobs)},
		Runs:     many,
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	fmt.Fprintf(out, "The console is at http://%s/ until you press Ctrl-C.\n", l.Addr())
	s := &http.Server{Handler: withProbes(h, jobs), ReadHeaderTimeout: 5 * time.Second}
	s.BaseContext = func(net.Listener) context.Context { return ctx }
	context.AfterFunc(ctx, func() { _ = s.Close() }) // pages that are open hold connections
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return func() error {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}
