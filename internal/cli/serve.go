package cli

import (
	"context"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/serve"
)

// serveFlags are the flags of `serve`.
type serveFlags struct {
	address  string
	database string
	asJSON   bool
}

// OpenDatabase opens a database for the page, by its address.
type OpenDatabase func(address string) (*serve.Database, error)

// ServeCommand shows machines on a page. With a nil database the command has no --db.
func (c *CLI) ServeCommand(database OpenDatabase) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve SPEC...",
		Short: "Show machines on a local page, and step through them",
		Long: `Serve shows machines on a page in the browser, until it is interrupted: the
picture, states, operations and matrix; stepping through records, with undo,
each change and each refusal explained; counterexamples of the model checker,
step by step. The page follows changes of the files.

It listens on this computer alone, at a free port that it prints, unless --addr
says otherwise. With -q it prints the address alone. It writes nothing, has no
login, and needs no network.`,
		Example: `  NAME serve specs/lifecycle.yaml
  NAME serve specs/*.yaml --addr 127.0.0.1:8080`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: SpecFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.Serve(ctx, args, f.address, f.database, f.asJSON, database)
		},
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "NAME", c.name)
	if database != nil {
		cmd.Long += `

With --db it also has a console of a database, under /db/: how many records are
in each state, lists with filters, what is late, a record with all that happened
to it, the outbox, times, and what an audit finds. The database is opened for
reading only.`
		cmd.Example += "\n  " + c.name + " serve specs/lifecycle.yaml --db jobs.db"
		cmd.Flags().StringVar(&f.database, "db", "",
			"also show this database, read-only; \"fsmctl --help\" shows what an address looks like")
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the address as a line of JSON: {\"url\": \"http://...\"}")
	c.QuietFlag(cmd)
	cmd.Flags().StringVar(&f.address, "addr", "127.0.0.1:0", "address to listen on; port 0 is a free one")
	return cmd
}

// Serve serves the page at an address until the context ends.
func (c *CLI) Serve(ctx context.Context, paths []string, address, db string, asJSON bool, open OpenDatabase) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return Usagef("--addr is %q; write HOST:PORT, as in 127.0.0.1:8080", address)
	}
	for _, p := range paths {
		if p == "-" {
			return Usagef("standard input cannot be watched for changes; name a file")
		}
	}
	if _, err := SourcesOf(paths, c.Read); err != nil {
		return err
	}
	o := serve.Options{Files: paths, Check: Check}
	if db != "" {
		database, err := open(db)
		if err != nil {
			return Usagef("--db: %w", err)
		}
		defer func() { _ = database.Close() }() // it was only read
		o.Database = database
	}
	s, err := serve.New(o)
	if err != nil {
		return Usage(err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return Usagef("--addr: %w", err)
	}
	hosts, loopback := serve.HostsOf(l, host)
	if !loopback {
		c.Errorf("warning: %s is not only this computer: everyone who can reach it sees the specifications and the database, if any; there is no login\n", l.Addr())
	}
	at := hosts.Names[0]
	if hosts.AnyAddress { // no browser opens 0.0.0.0
		at = hosts.Names[1]
	}
	switch url := "http://" + at + "/"; {
	case asJSON:
		c.Printf("%s\n", OneLine(map[string]string{"url": url}))
	case c.Quiet:
		c.Printf("%s\n", url)
	default:
		c.Printf("The page is at %s until you press Ctrl-C.\n", url)
	}
	if err := s.Serve(ctx, l, hosts); err != nil {
		return Usagef("cannot serve: %w", err)
	}
	return nil
}
