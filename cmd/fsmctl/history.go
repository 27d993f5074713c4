package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	"github.com/fsmgen/fsmgen/spec"
)

// historyDeadline bounds how long a database is waited for.
const historyDeadline = time.Minute

func (c *ctl) historyCommand() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use:   "history --db DATABASE SPEC",
		Short: "Count how often each operation led from one state to another",
		Long: `History counts the events of the whole log of a machine by operation and states,
and prints them as JSON: machine, and moves (operation, from, to, recorded,
count) in the words that the database holds. "fsmgen diagram --history" draws
them. It does not check the log; run an audit for that. It only reads the
database.`,
		Example: `  fsmctl history --db jobs.db job.yaml > moves.json
  fsmctl history --db "$DATABASE_URL" job.yaml |
    fsmgen diagram job.yaml --history - -o traffic.svg`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.history(args[0], db) },
	}
	databaseFlag(cmd, &db)
	c.QuietFlag(cmd)
	return cmd
}

func (c *ctl) history(path, address string) error {
	s, err := c.Sound(path)
	if err != nil {
		return err
	}
	if address == "" {
		return errNoDatabase
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, historyDeadline)
	defer cancel()
	moves, err := countMoves(ctx, address, s.Machine, s.Name)
	if err != nil {
		return cli.Usagef("--db: %w", cli.Broken(err))
	}
	return c.printHistory(cli.History{Machine: s.Machine.Name, Moves: moves})
}

// printHistory prints one line for each move.
func (c *ctl) printHistory(h cli.History) error {
	var lines []string
	for _, m := range h.Moves {
		lines = append(lines, cli.OneLine(m))
	}
	return c.Write([]byte("{\"machine\":" + cli.OneLine(h.Machine) + ",\"moves\":[\n" + strings.Join(lines, ",\n") + "\n]}\n"))
}

// countMoves counts the events of a machine.
func countMoves(ctx context.Context, address string, m *spec.Machine, file string) ([]chart.Traffic, error) {
	if isEtcd(address) {
		return etcdMoves(ctx, address, m, file)
	}
	return sqldb.History(ctx, address, m.Name)
}
