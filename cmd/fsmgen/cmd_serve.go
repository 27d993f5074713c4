package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/serve"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// serveFlags are the flags of `serve`.
type serveFlags struct {
	address  string
	database string
	asJSON   bool
}

func (c *cli) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve SPEC...",
		Short: "Show machines on a local page, and step through them",
		Long: `Serve shows machines on a page in the browser, until it is interrupted: the
picture, states, operations and matrix; stepping through records, with undo, each
change and each refusal explained; counterexamples of the model checker, step by
step. The page follows changes of the files.

With --db it also shows what a database holds: how many records are in each state,
those whose deadline has passed, a record's history, and what an audit finds. The
database is opened for reading only.

It listens on this computer alone, at a free port that it prints, unless --addr
says otherwise. It writes nothing, has no login, and needs no network.`,
		Example: `  fsmgen serve specs/lifecycle.yaml
  fsmgen serve specs/*.yaml --addr 127.0.0.1:8080
  fsmgen serve specs/lifecycle.yaml --db jobs.db`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: specFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.serve(ctx, args, f)
		},
	}
	cmd.Flags().StringVar(&f.database, "db", "", "also show what this database holds, which is never written: the path of a SQLite file, or postgres://...")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the address as a line of JSON: {\"url\": \"http://...\"}")
	c.quietFlag(cmd)
	cmd.Flags().StringVar(&f.address, "addr", "127.0.0.1:0", "address to listen on; port 0 is a free one")
	return cmd
}

func (c *cli) serve(ctx context.Context, paths []string, f serveFlags) error {
	host, _, err := net.SplitHostPort(f.address)
	if err != nil {
		return usagef("--addr is %q; write HOST:PORT, as in 127.0.0.1:8080", f.address)
	}
	for _, p := range paths {
		if p == "-" {
			return usagef("the standard input cannot be read again when it changes; name a file")
		}
	}
	if _, err := sourcesOf(paths, c.read); err != nil {
		return err
	}
	o := serve.Options{Files: paths, Check: validate.Source}
	if f.database != "" {
		database, end, err := serve.OpenDatabase(f.database)
		if err != nil {
			return usagef("--db: %w", err)
		}
		defer func() { _ = end() }() // it was only read
		o.Database = database
	}
	s, err := serve.New(o)
	if err != nil {
		return usageError{err}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.address)
	if err != nil {
		return usagef("--addr: %w", err)
	}
	hosts, loopback := serve.HostsOf(l, host)
	if !loopback {
		c.errorf("warning: %s is not only this computer: whoever can reach it sees the specifications, and the database if there is one; there is no login\n", l.Addr())
	}
	at := hosts.Names[0]
	if hosts.AnyAddress { // no browser opens 0.0.0.0
		at = hosts.Names[1]
	}
	if f.asJSON {
		c.printf("%s\n", oneLine(map[string]string{"url": "http://" + at + "/"}))
	} else {
		c.printf("http://%s/\n", at)
	}
	if err := s.Serve(ctx, l, hosts); err != nil {
		return usagef("cannot serve: %w", err)
	}
	return nil
}
