package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
)

// showFlags are the flags of `show`.
type showFlags struct {
	db     string
	at     int64
	asJSON bool
}

func (c *ctl) showCommand() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show --db DATABASE SPEC ID",
		Short: "Show a record: its fields, and its log with inputs and changes",
		Long: `Show prints a record: its state, its fields, and the newest 500 events of its log
with what each call was given and what it changed.

With --at it shows the record as it was at that revision, and its log up to there.
With --json it prints one object: id, state, rev, created_at, updated_at, fields,
events (in the form that CONTRACT.md describes), gone (there is a log and no row),
earlier and newer (there are events before and behind those). The database is only
read.`,
		Example: `  fsmctl show --db jobs.db job.yaml order-17
  fsmctl show --db "$DATABASE_URL" --at 3 job.yaml order-17`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cli.SpecThen,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") && f.at < 1 {
				return cli.Usagef("--at is %d; revisions count from 1", f.at)
			}
			if args[1] == "" {
				return cli.Usagef("the id is empty; name a record")
			}
			return c.show(args[0], args[1], f)
		},
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().Int64Var(&f.at, "at", 0, "show the record as it was at this revision")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one object of JSON")
	return cmd
}

func (c *ctl) show(path, id string, f showFlags) error {
	s, err := c.Sound(path)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	db, err := c.open(ctx, f.db, s, false)
	if err != nil {
		return err
	}
	p, err := db.Past(ctx, id, f.at)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if errors.Is(err, live.ErrNoRecord) {
		what := fmt.Sprintf("no %s has the id %q", db.Spec.Entity, id)
		if f.at > 0 && len(p.Lines) > 0 {
			before := p.Lines[len(p.Lines)-1].Rev
			what = fmt.Sprintf("%s %q has no revision %d; the last one before it is %d", db.Spec.Entity, id, f.at, before)
		}
		return cli.Usagef("%s: %s", cli.Plain(db.Address.Shown), cli.Plain(what))
	}
	if err != nil {
		return cli.Usagef("%s: %w", cli.Plain(db.Address.Shown), cli.Broken(err))
	}
	if f.asJSON {
		return c.showJSON(db, id, &p)
	}
	return c.showText(db, id, &p, f.at)
}

func (c *ctl) showText(db *live.DB, id string, p *live.Past, at int64) error {
	var b strings.Builder
	switch {
	case p.Gone && at == 0:
		fmt.Fprintf(&b, "%s has a log but no row: it was purged, or the row is lost (run fsmctl audit)\n", cli.Plain(id))
	case at > 0:
		fmt.Fprintf(&b, "%s was %s at revision %d\n", cli.Plain(id), cli.Plain(stateName(db.Spec, p.Row.State)), p.Row.Rev)
	default:
		fmt.Fprintf(&b, "%s is %s, at revision %d\n", cli.Plain(id), cli.Plain(stateName(db.Spec, p.Row.State)), p.Row.Rev)
	}
	if p.Row.Rev > 0 {
		fmt.Fprintf(&b, "created %s, moved %s\n", stamp(p.Row.CreatedAt), stamp(p.Row.UpdatedAt))
		for i, f := range db.Spec.Fields {
			if i < len(p.Row.Values) {
				fmt.Fprintf(&b, "  %s\n", said(f, p.Row.Values[i]))
			}
		}
	}
	b.WriteString("\n")
	if p.Earlier {
		b.WriteString("earlier events: fsmctl log\n")
	}
	l := newLogPrinter(db.Spec, false, cli.Colourful(c.Out))
	l.inputs = true
	for i := range p.Lines {
		if bad := p.Lines[i].Unreadable; bad != nil {
			fmt.Fprintf(&b, "revision %d.%d cannot be read: %s\n", bad.Rev, bad.N, cli.Plain(bad.Err.Error()))
			continue
		}
		b.WriteString(l.event(&p.Lines[i].Event))
	}
	return c.Write([]byte(b.String()))
}

// showReport is a record with its log, in JSON.
type showReport struct {
	recordReport
	Gone    bool  `json:"gone,omitempty"`
	Events  []any `json:"events"` // fsm.Event or unreadableReport
	Earlier bool  `json:"earlier,omitempty"`
	Newer   bool  `json:"newer,omitempty"`
}

// unreadableReport stands in the place of an event that cannot be read.
type unreadableReport struct {
	ID         string `json:"id"`
	Rev        int64  `json:"rev"`
	N          int64  `json:"n"`
	Unreadable string `json:"unreadable"`
}

func (c *ctl) showJSON(db *live.DB, id string, p *live.Past) error {
	r := showReport{recordReport: recordReport{ID: id}, Gone: p.Gone, Events: []any{}, Earlier: p.Earlier, Newer: p.Newer}
	if p.Row.Rev > 0 {
		r.recordReport = reportOf(db.Spec, &p.Row)
	}
	for i := range p.Lines {
		if bad := p.Lines[i].Unreadable; bad != nil {
			r.Events = append(r.Events, unreadableReport{bad.ID, bad.Rev, bad.N, bad.Err.Error()})
			continue
		}
		r.Events = append(r.Events, p.Lines[i].Event)
	}
	return c.jsonLine(r)
}
