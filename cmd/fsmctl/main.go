// Command fsmctl looks at the databases of machines: it audits and repairs their
// records, lists them, prints their logs, counts their moves and shows them on a page. It reads
// SQLite files, PostgreSQL and etcd with the specification alone; the generated package is not
// needed.
//
// It is a module of its own, so that fsmgen links no database and nobody downloads a
// driver to generate code. It writes by "do --yes" and "repair --yes" only.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
)

func main() {
	os.Exit(newCtl(os.Stdin, os.Stdout, os.Stderr).run(os.Args[1:]))
}

// ctl is one run of fsmctl.
type ctl struct{ *cli.CLI }

func newCtl(in io.Reader, out, err io.Writer) *ctl { return &ctl{cli.New("fsmctl", in, out, err)} }

// run executes one command line and returns the exit code.
func (c *ctl) run(args []string) int { return c.Run(c.rootCommand, args) }

func (c *ctl) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "fsmctl",
		Short: "Inspect the live databases of machines",
		Long: `fsmctl inspects the live databases of machines that fsmgen has generated: SQLite
files, PostgreSQL and etcd. It needs the specification and not the program.

A database is named by --db:
  jobs.db                                   the path of a SQLite file
  postgres://user:password@host:5432/name   a database of PostgreSQL
  etcd://host:2379,host:2379/prefix/        keys of etcd; without a prefix: fsm/
  etcds://user:password@host:2379/prefix/?cacert=ca.pem&cert=me.pem&key=me.key
                                            keys of etcd over TLS

Only "do --yes" and "repair --yes" write.

Exit codes: 0 ok; 1 the database contains something the machine could not have
done, or a call was refused; 2 the command line, or a file or database it names, cannot be used; 3 a
bug in fsmctl.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return cli.Usagef("a command is missing")
		},
	}
	root.AddCommand(
		c.auditCommand(), c.repairCommand(), c.logCommand(), c.historyCommand(), c.migrateCommand(),
		c.queriesCommand(), c.doCommand(), c.topCommand(), c.lsCommand(), c.showCommand(), c.ServeCommand(openPage),
		c.VersionCommand(),
	)
	cli.Group(root, "Look", "audit", "history", "log", "ls", "queries", "serve", "show", "top")
	cli.Group(root, "Change", "do", "migrate", "repair")
	return root
}
