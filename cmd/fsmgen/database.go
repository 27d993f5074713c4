package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/spec"
)

// databaseFlag adds the flag --db of commands that look at a database.
func databaseFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "db", "", "the database: the path of a SQLite file, or postgres://user:password@host:5432/database (required)")
}

// interrupted returns a context that ends with the first Ctrl-C, so that nothing is
// left open; a second one ends the program.
func interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// open opens the database for a specification that is sound.
func (c *cli) open(ctx context.Context, address string, s *source, write bool) (*live.DB, error) {
	if address == "" {
		return nil, usagef("--db is missing; name the database: --db jobs.db, or --db postgres://user:password@host:5432/database")
	}
	db, err := live.Open(ctx, address, s.machine, live.Options{Write: write, SpecFile: s.name})
	if err != nil {
		return nil, usagef("--db: %w", broken(err))
	}
	return db, nil
}

// broken says what the end of a context means to who pressed Ctrl-C.
func broken(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("broken off")
	}
	return err
}

// sound loads a specification that has no errors.
func (c *cli) sound(path string) (*source, error) {
	s, err := c.load(path)
	if err != nil {
		return nil, err
	}
	if s.found.HasErrors() {
		c.renderAll(c.err, []*source{s}, spec.Error)
		return nil, usagef("%s is not sound; mend it first", s.name)
	}
	return s, nil
}

// specThen completes a specification first, and nothing after it.
func specThen(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
