package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// auditFlags are the flags of `audit` and `repair`.
type auditFlags struct {
	db            string
	asJSON        bool
	repair, yes   bool
	actor, reason string
	mapping       string
	compare       bool
	first         int
}

func (c *ctl) auditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit --db DATABASE [--mapping FILE] SPEC",
		Short: "Check a database against its machine",
		Long: `Audit reads every record of a machine and its whole log, and reports what is
wrong: rows that break a rule or differ from their log, events that were altered
or are missing, steps that the machine cannot take. It also names the indexes and
triggers of the machine that somebody has changed, and how to make them right
(check "schema"). SPEC is the specification
that the database was made for; a database of another one is refused. The
generated package is not needed.

It only reads, takes no lock, and may run beside the program: each record is
compared with its log at one instant. It does not run the program's probes.

With --json it prints one object: machine, version and hash, findings (id, rev,
n, check, severity, message), records, errors and warnings (how many), the
probes that were not run, and error if the audit was interrupted.

With --mapping it holds a table that no machine has written to the machine, and
moves nothing: FILE says which column is which field, and which word is which
state. It reports by rule: how many records break it, and the first of them. The
history of the table is followed too, where FILE names it, and warnings say what the
first sweep would do. With --compare it also compares the table with the machine's
own records in the same database, for the time in which programs write both. The
object of --json then has table, records, moves, compared, findings (check,
severity, rule, count, first), errors and warnings (how often a rule is broken).

The exit code is 1 when a MUST rule is broken, 2 when the database cannot be
read.`,
		Example: `  fsmctl audit --db jobs.db job.yaml
  fsmctl audit --db "$DATABASE_URL" --json job.yaml
  fsmctl audit --db "$DATABASE_URL" --mapping jobs.mapping.yaml job.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.mapping != "" {
				return c.auditMapped(args[0], f)
			}
			if f.compare || cmd.Flags().Changed("first") {
				return cli.Usagef("--compare and --first belong to --mapping FILE")
			}
			return c.audit(args[0], f)
		},
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().StringVar(&f.mapping, "mapping", "", "audit the table that this file maps to the machine")
	cmd.Flags().BoolVar(&f.compare, "compare", false, "with --mapping: compare the table with the machine's records")
	cmd.Flags().IntVar(&f.first, "first", 5, "with --mapping: how many records are named of each rule")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print findings as JSON")
	c.QuietFlag(cmd)
	return cmd
}

func (c *ctl) repairCommand() *cobra.Command {
	f := auditFlags{repair: true}
	cmd := &cobra.Command{
		Use:   "repair --db DATABASE SPEC",
		Short: "Rebuild the rows that an audit found wrong, from their logs",
		Long: `Repair audits a database and prints what it would change: it rebuilds the row of
a record from its log, where the log is complete. Nothing is changed without
--yes, which also needs --actor and --reason. The log then gets an event
"__repair" with both and with the old row. Close every program that has the
SQLite file open first.

With --json it prints the object of "fsmctl audit --json", and besides repaired
(how many errors) and repairs (id, changes, why_not, repaired).

The exit code is 1 when a MUST rule is broken (with --yes: and is still), 2 when
the database cannot be read.`,
		Example: `  fsmctl repair --db jobs.db job.yaml
  fsmctl repair --db jobs.db --yes --actor ann --reason 'disk fault' job.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.audit(args[0], f) },
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print findings as JSON")
	c.QuietFlag(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it")
	cmd.Flags().StringVar(&f.actor, "actor", "", "with --yes: who does it, for the log")
	cmd.Flags().StringVar(&f.reason, "reason", "", "with --yes: why, for the log")
	return cmd
}

func (f *auditFlags) validate() error {
	switch {
	case !f.yes && (f.actor != "" || f.reason != ""):
		return cli.Usagef("--actor and --reason belong to --yes; add --yes, or leave them out")
	case f.yes && (f.actor == "" || f.reason == ""):
		return cli.Usagef("the log says who repaired a record and why; write --actor NAME --reason TEXT")
	}
	return nil
}

func (c *ctl) audit(path string, f auditFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	s, err := c.Sound(path)
	if err != nil {
		return err
	}
	ctx, stop := cli.Interrupted()
	defer stop()
	db, err := c.open(ctx, f.db, s, f.yes)
	if err != nil {
		return err
	}
	a := &auditing{c: c, f: f, db: db, bar: c.NewBar("records")}
	if f.asJSON {
		a.out = &auditJSON{c: c, db: db}
	} else {
		a.out = &auditText{c: c, f: f, db: db}
	}
	a.out.begin()
	err = a.run(ctx)
	a.bar.Hide()
	a.out.end(a.result, err)
	if closed := db.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return cli.Usagef("%s: %w", cli.Plain(db.Address.Shown), cli.Broken(err))
	case a.result.Errors > a.result.Repaired:
		return cli.ErrFindings
	}
	return nil
}

// auditResult is what an audit found in all.
type auditResult struct {
	Records    int64 `json:"records"`
	Errors     int   `json:"errors"`   // findings that break a MUST
	Warnings   int   `json:"warnings"` // others
	Drift      int   `json:"-"`        // errors that are no record's
	Repairable int   `json:"-"`        // records that a repair would put right
	Hopeless   int   `json:"-"`        // records that it would not
	Repaired   int   `json:"repaired"` // errors of records that were repaired
}

// auditPrinter prints what is found while it is found.
type auditPrinter interface {
	begin()
	finding(f audit.Finding)
	proposal(p live.Proposal, done bool)
	end(r auditResult, err error)
}

// auditing is one run of the command.
type auditing struct {
	c      *ctl
	f      auditFlags
	db     *live.DB
	bar    *cli.Bar
	out    auditPrinter
	group  []audit.Finding // of one record
	result auditResult
}

func (a *auditing) run(ctx context.Context) error {
	progress := func(done, total int64) {
		a.result.Records = done
		a.bar.Set(done, total)
	}
	if err := a.drift(ctx); err != nil {
		return err
	}
	for f, err := range a.db.Audit(ctx, progress) {
		if err != nil {
			return err
		}
		a.bar.Hide()
		if len(a.group) > 0 && a.group[0].ID != f.ID {
			if err := a.record(ctx); err != nil {
				return err
			}
		}
		a.out.finding(f)
		if a.group = append(a.group, f); f.Must {
			a.result.Errors++
		} else {
			a.result.Warnings++
		}
	}
	return a.record(ctx)
}

// drift prints what of the schema somebody has changed. No repair changes it.
func (a *auditing) drift(ctx context.Context) error {
	if a.f.repair {
		return nil
	}
	list, err := a.db.Drift(ctx)
	a.result.Errors, a.result.Drift = len(list), len(list)
	for _, text := range list {
		a.out.finding(audit.Finding{Check: "schema", Must: true, Message: text})
	}
	return err
}

// record ends the findings of one record: it is time to say how to repair it.
func (a *auditing) record(ctx context.Context) error {
	group := a.group
	a.group = nil
	if !a.f.repair || len(group) == 0 {
		return nil
	}
	p, ok, err := a.db.Propose(ctx, group[0].ID, group)
	if err != nil || !ok {
		return err
	}
	done := false
	if p.Why != "" {
		a.result.Hopeless++
	} else {
		a.result.Repairable++
		if a.f.yes {
			if done, err = a.db.Repair(ctx, p.ID, a.f.actor, a.f.reason); err != nil {
				return err
			}
		}
	}
	if done {
		for _, f := range group {
			if f.Must && f.Check != audit.CheckUnique {
				a.result.Repaired++
			}
		}
	}
	a.out.proposal(p, done)
	return nil
}

// auditText prints for people.
type auditText struct {
	c  *ctl
	f  auditFlags
	db *live.DB
}

func (t *auditText) begin() {
	if t.db.Beside {
		t.c.Errorf("the database has a later version, and programs of this version may run beside it; it is checked against this one\n")
	}
}

func (t *auditText) finding(f audit.Finding) {
	word, colour := "error", cli.Red
	if !f.Must {
		word, colour = "warning", cli.Yellow
	}
	if cli.Colourful(t.c.Out) {
		word = colour + word + ":" + cli.Off
	} else {
		word += ":"
	}
	t.c.Printf("%s: %s %s [%s]\n", cli.Plain(cmp.Or(cli.Place(f.ID, f.Rev, f.N), "schema")), word, cli.Plain(f.Message), f.Check)
}

func (t *auditText) proposal(p live.Proposal, done bool) {
	if p.Why != "" {
		t.c.Printf("  cannot be repaired: %s\n", p.Why)
		return
	}
	var changes []string
	for _, ch := range p.Changes {
		if p.Missing {
			changes = append(changes, fmt.Sprintf("%s: %s", ch.Field, t.shown(ch, ch.New)))
		} else {
			changes = append(changes, fmt.Sprintf("%s: %s, not %s", ch.Field, t.shown(ch, ch.New), t.shown(ch, ch.Old)))
		}
	}
	verb := "repair would set"
	if done {
		verb = "repaired:"
	}
	if p.Missing {
		verb = strings.NewReplacer("would set", "would rebuild the row with", "repaired:", "repaired: rebuilt the row with").Replace(verb)
	}
	t.c.Printf("  %s %s\n", verb, strings.Join(changes, "; "))
}

// shown returns a value of a row as people read it.
func (t *auditText) shown(ch live.Change, v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case string:
		i := slices.IndexFunc(t.db.Machine.Schema().Columns, func(x driver.Column) bool { return x.Name == ch.Field })
		if i >= 0 && t.db.Machine.Schema().Columns[i].Kind == driver.KindString {
			return fmt.Sprintf("%q", v)
		}
		return cli.Plain(v)
	}
	return fmt.Sprint(v)
}

func (t *auditText) end(r auditResult, err error) {
	if err != nil || t.c.Quiet {
		return
	}
	entity := t.db.Spec.Entity
	if r.Errors+r.Warnings == 0 {
		t.c.Printf("%s: ok: %s and their logs match\n", cli.Plain(t.db.Address.Shown), cli.Count(int(r.Records), entity))
	} else {
		t.c.Printf("%s: %s and their logs, %s, %s\n", cli.Plain(t.db.Address.Shown), cli.Count(int(r.Records), entity), cli.Count(r.Errors, "error"), cli.Count(r.Warnings, "warning"))
	}
	for _, p := range t.db.Spec.Probes {
		t.c.Printf("not checked: the probe %s, which only the program can answer\n", p.Name)
	}
	switch {
	case t.f.yes && r.Repairable+r.Hopeless > 0:
		t.c.Printf("%s repaired, %d cannot be\n", cli.Count(r.Repairable, "record"), r.Hopeless)
	case r.Repairable > 0:
		t.c.Printf("nothing was changed; to repair %s, write --yes --actor NAME --reason TEXT\n", cli.Count(r.Repairable, "record"))
	case !t.f.repair && r.Errors > r.Drift:
		t.c.Printf("to see what can be repaired, run fsmctl repair\n")
	}
}
