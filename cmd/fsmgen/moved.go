package main

import (
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
)

// moved says which command of fsmctl does what fsmgen does no longer. It repeats no
// argument, for an address may hold a password.
func moved(command string) string {
	return "fsmgen opens no database; write: " + command + " (go get -tool github.com/fsmgen/fsmgen/cmd/fsmctl adds it)"
}

// movedCommand answers to the name of a command that is one of fsmctl.
func (c *tool) movedCommand(name, usage string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "Is a command of fsmctl", Long: "Is a command of fsmctl: " + usage, Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return cli.Usagef("%s", moved(usage)) },
	}
}

// hidden takes a flag that is one of fsmctl, so that its answer can say so.
func hidden(cmd *cobra.Command, into *string, name string) {
	cmd.Flags().StringVar(into, name, "", "is a flag of fsmctl")
	if err := cmd.Flags().MarkHidden(name); err != nil {
		panic(err) // the flag does not exist
	}
}

// serveCommand shows machines on a page, without a database.
func (c *tool) serveCommand() *cobra.Command {
	cmd := c.ServeCommand(nil)
	var db string
	hidden(cmd, &db, "db")
	serve := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if db != "" {
			return cli.Usagef("%s", moved("fsmctl serve --db DATABASE SPEC"))
		}
		return serve(cmd, args)
	}
	return cmd
}
