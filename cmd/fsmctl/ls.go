package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// lsFlags are the flags of `ls`.
type lsFlags struct {
	db           string
	states       []string
	where        []string
	actor        string
	since, until string
	limit        int
	asJSON       bool
}

// mostListed is how many records one list has.
const mostListed = 1000

func (c *ctl) lsCommand() *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:   "ls --db DATABASE SPEC",
		Short: "List records: by state, fields, actor and time, the newest first",
		Long: `Ls lists the records of a machine, the one that moved last first: id, state,
revision, the time of its last step, and its first fields.

All filters must hold. --actor, --since and --until are about a record's last step.
A time is 2026-01-02T15:04:05Z, 2026-01-02, now, or a length such as 90m for that
long ago. --where compares a field by = != < <= > >=, or asks whether it is there:
"owner present", "owner absent".

The database sorts the records where they are few. Of more than 10 000, and with
--actor, the newest 100 000 events are looked at, and standard error says so when
that was not all. No question takes longer than 5 seconds.

With --json each record is one line: id, state, rev, created_at, updated_at and
fields, in the words of the specification. The database is only read.`,
		Example: `  fsmctl ls --db jobs.db job.yaml --state failed --since 24h
  fsmctl ls --db jobs.db job.yaml --where 'lease<now' --where owner=w1
  fsmctl ls --db "$DATABASE_URL" job.yaml --actor ann --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.ls(args[0], f) },
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().StringArrayVar(&f.states, "state", nil, "only records in this state; several --state are alternatives")
	cmd.Flags().StringArrayVar(&f.where, "where", nil, "only records of which this comparison holds, such as attempt>=3")
	cmd.Flags().StringVar(&f.actor, "actor", "", "only records whose last step this actor made")
	cmd.Flags().StringVar(&f.since, "since", "", "only records that moved at that time or later")
	cmd.Flags().StringVar(&f.until, "until", "", "only records that moved before that time")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many records, at most 1000")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print each record as one line of JSON")
	c.QuietFlag(cmd)
	c.completeStates(cmd)
	return cmd
}

// completeStates completes --state with the states of the specification on the command line.
func (c *ctl) completeStates(cmd *cobra.Command) {
	names := func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := c.Load(args[0])
		if err == nil && s.Machine != nil {
			for _, state := range s.Machine.States {
				names = append(names, state.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc("state", names); err != nil {
		panic(err)
	}
}

func (c *ctl) ls(path string, f lsFlags) error {
	if f.limit < 1 || f.limit > mostListed {
		return cli.Usagef("--limit is %d; write a number from 1 to %d", f.limit, mostListed)
	}
	s, err := c.Sound(path)
	if err != nil {
		return err
	}
	now := time.Now()
	of := live.Filter{Actor: f.actor, Limit: f.limit}
	if of.States, err = statesOf(s.Machine, f.states); err != nil {
		return err
	}
	if of.Since, err = flagTime("since", f.since, now); err != nil {
		return err
	}
	if of.Until, err = flagTime("until", f.until, now); err != nil {
		return err
	}
	for _, text := range f.where {
		cond, err := readWhere(s.Machine, text, now)
		if err != nil {
			return err
		}
		of.Where = append(of.Where, cond)
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	db, err := c.open(ctx, f.db, s, false)
	if err != nil {
		return err
	}
	l, err := db.List(ctx, of)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return cli.Usagef("%s: %w", cli.Plain(db.Address.Shown), cli.Broken(err))
	}
	if err := c.printList(db, l.Rows, f.asJSON); err != nil {
		return err
	}
	if l.Looked > 0 {
		c.Errorf("these are of the newest %d events; for older ones narrow the list by --state, --where or --until without --actor\n", l.Looked)
	}
	if f.asJSON {
		return nil
	}
	if l.More {
		c.Remarkf("%s, and there are more: --limit says how many are listed\n", cli.Count(len(l.Rows), "record"))
	} else {
		c.Remarkf("%s\n", cli.Count(len(l.Rows), "record"))
	}
	return nil
}

// printList prints records, one on a line.
func (c *ctl) printList(db *live.DB, rows []driver.Row, asJSON bool) error {
	t := table{{"id", "state", "rev", "moved", "fields"}}
	for i := range rows {
		row := &rows[i]
		if asJSON {
			if err := c.jsonLine(reportOf(db.Spec, row)); err != nil {
				return err
			}
			continue
		}
		t = append(t, []string{
			cli.Plain(row.ID), cli.Plain(stateName(db.Spec, row.State)), number(row.Rev), stamp(row.UpdatedAt),
			strings.Join(fieldsText(db.Spec, row, 5), ", "),
		})
	}
	if asJSON || len(rows) == 0 {
		return nil
	}
	return c.Write([]byte(t.text(cli.Colourful(c.Out))))
}
