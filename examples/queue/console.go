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
	"github.com/fsmgen/fsmgen/runtime/console"
)

// serve shows the machine at an address, beside its probes, until the context ends; wait returns then. Everybody who reaches the
// address may look: a program that others reach says in Who who they are.
func serve(ctx context.Context, address string, jobs *lifecycle.Machine, out io.Writer) (wait func() error, err error) {
	h, err := console.New(console.Options{
		Who:      func(*http.Request) (console.Viewer, error) { return console.Reader("you"), nil },
		Machines: []console.Machine{console.Of(console.Place{Name: "queue"}, jobs)},
	})
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "The console is at http://%s/ until you press Ctrl-C.\n", l.Addr())
	s := &http.Server{Handler: withProbes(h, jobs), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
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
