package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// logFlags are the flags of `log`.
type logFlags struct {
	db     string
	asJSON bool
	follow bool
}

// followEvery is how often log --follow looks for new events.
const followEvery = 250 * time.Millisecond

func (c *ctl) logCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log --db DATABASE SPEC [ID]",
		Short: "Print the log of a record: who moved it, when, and what changed",
		Long: `Log prints the events of one record in their order, or without ID the events of
all records in commit order: time, revision, operation, states, actor, request
id, and the fields that changed. A line numbered 2.1 is a call that was logged
at revision 2 without changing anything.

On PostgreSQL the log of all records holds back what was committed behind an older
transaction that is open; standard error names that transaction.

With --follow it keeps printing new events until Ctrl-C. With --json each event
is one line of JSON, in the form that CONTRACT.md describes and "fsmgen replay"
reads. The database is only read.`,
		Example: `  fsmctl log --db jobs.db job.yaml order-17
  fsmctl log --db "$DATABASE_URL" --follow job.yaml order-17
  fsmctl log --db jobs.db --json job.yaml > events.jsonl`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cli.SpecThen,
		RunE: func(_ *cobra.Command, args []string) error {
			id := ""
			if len(args) == 2 {
				if id = args[1]; id == "" {
					return cli.Usagef("the id is empty; name a record, or leave it out for all records")
				}
			}
			return c.log(args[0], id, f)
		},
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "keep printing new events until Ctrl-C")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print each event as one line of JSON")
	c.QuietFlag(cmd)
	return cmd
}

func (c *ctl) log(path, id string, f logFlags) error {
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
	err = c.printLog(ctx, db, id, f)
	if f.follow && errors.Is(err, context.Canceled) {
		err = nil // that is how one ends it
	}
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return cli.Usagef("%s: %w", cli.Plain(db.Address.Shown), cli.Broken(err))
	}
	return nil
}

func (c *ctl) printLog(ctx context.Context, db *live.DB, id string, f logFlags) error {
	var row driver.Row
	var missing error
	if id != "" {
		if row, missing = db.Row(ctx, id); missing != nil && !errors.Is(missing, live.ErrNoRecord) {
			return missing
		}
	}
	if missing != nil && f.follow {
		c.Errorf("no %s has the id %q yet; waiting for it\n", db.Spec.Entity, id)
	}
	l := newLogPrinter(db.Spec, id == "", cli.Colourful(c.Out))
	n := 0
	for e, err := range events(ctx, db, id, f.follow) {
		if err != nil {
			return err
		}
		n++
		if !f.asJSON {
			c.Printf("%s", l.event(&e))
		} else if err := c.jsonLine(&e); err != nil {
			return err
		}
	}
	if h := audit.HealthOf(db.Machine); id == "" && h.Lag > 0 {
		c.Errorf("the log holds back events, the oldest for %s, while %s is open; docs/queries.md has what holds the log back\n",
			h.Lag.Round(time.Millisecond), cli.Plain(cmp.Or(h.HeldBy, "an older transaction")))
	}
	switch {
	case id != "" && n == 0 && missing != nil:
		return fmt.Errorf("no %s has the id %q", db.Spec.Entity, id)
	case f.asJSON:
	case id == "":
		c.Remarkf("%s\n", cli.Count(n, "event"))
	case missing != nil && n > 0:
		c.Printf("%s has a log but no row: it was purged, or the row is lost (run fsmctl audit)\n", cli.Plain(id))
	default:
		c.Remarkf("%s is %s, at revision %d\n", cli.Plain(id), cli.Plain(l.state(row.State)), row.Rev)
	}
	return nil
}

// events returns the log of one record, or that of all.
func events(ctx context.Context, db *live.DB, id string, follow bool) iter.Seq2[fsm.Event, error] {
	switch {
	case id != "" && follow:
		return db.Follow(ctx, id, live.Place{}, followEvery)
	case id != "":
		return db.Events(ctx, id, live.Place{})
	}
	return func(yield func(fsm.Event, error) bool) {
		list := db.Machine.Log(ctx, "")
		if follow {
			list = db.Machine.Watch(ctx, "")
		}
		for e, err := range list {
			if !yield(e.Event, db.Address.Clean(err)) {
				return
			}
		}
	}
}

// jsonLine prints a line of JSON. Into a file or a pipe goes the exact text of an event, which its checksum covers.
func (c *ctl) jsonLine(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := b.Bytes()
	if cli.IsTerminal(c.Out) {
		text = append(cli.PlainJSON(bytes.TrimSuffix(text, []byte("\n"))), '\n')
	}
	return c.Write(text)
}

// logPrinter writes events for people.
type logPrinter struct {
	m          *spec.Machine
	ids        bool // of all records
	inputs     bool // also what each call was given
	colours    bool
	operations map[string]string // stored word -> name
	states     map[string]string
	operation  int // width of the column
	move       int
}

func newLogPrinter(m *spec.Machine, ids, colours bool) *logPrinter {
	l := &logPrinter{m: m, ids: ids, colours: colours, operations: map[string]string{}, states: map[string]string{}}
	for _, s := range m.States {
		l.states[s.Stored()] = s.Name
	}
	for _, o := range m.Operations {
		l.operations[o.Stored()] = o.Name
		l.operation = max(l.operation, utf8.RuneCountInString(o.Name))
	}
	longest := 0
	for _, s := range m.States {
		longest = max(longest, len(s.Name))
	}
	l.move = longest + max(longest+len(" -> "), len(", recorded only"))
	return l
}

// state returns the name of a stored state.
func (l *logPrinter) state(stored string) string {
	if name, ok := l.states[stored]; ok {
		return name
	}
	return stored
}

// event returns the lines of one event.
func (l *logPrinter) event(e *fsm.Event) string {
	var b strings.Builder
	b.WriteString(e.At.UTC().Format("2006-01-02 15:04:05.000000Z"))
	if l.ids {
		fmt.Fprintf(&b, "  %s", cli.Plain(e.ID))
	}
	at := fmt.Sprint(e.Rev)
	if e.RecordOnly() {
		at = fmt.Sprintf("%d.%d", e.Rev, e.N)
	}
	operation := e.Operation
	if name, ok := l.operations[operation]; ok {
		operation = name
	}
	operation = fmt.Sprintf("%-*s", l.operation, cli.Plain(operation))
	if l.colours {
		operation = cli.Bold + operation + cli.Off
	}
	move := cli.Plain(l.state(e.From)) + " -> " + cli.Plain(l.state(e.To))
	switch {
	case e.RecordOnly():
		move = cli.Plain(l.state(e.To)) + ", recorded only"
	case e.From == "":
		move = "(new) -> " + cli.Plain(l.state(e.To))
	}
	fmt.Fprintf(&b, "  %-5s %s  %-*s", at, operation, l.move, move)
	if e.Actor != "" {
		fmt.Fprintf(&b, "  by %s", cli.Plain(e.Actor))
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, "  request %s", cli.Plain(e.RequestID))
	}
	text := strings.TrimRight(b.String(), " ") + "\n"
	for _, d := range l.details(e) {
		text += "    " + d + "\n"
	}
	return text
}

// details lists what an event has besides.
func (l *logPrinter) details(e *fsm.Event) []string {
	var list []string
	if given := l.given(e); l.inputs && len(given) > 0 {
		list = append(list, "given "+strings.Join(given, ", "))
	}
	if changed := l.changes(e); len(changed) > 0 {
		list = append(list, strings.Join(changed, ", "))
	}
	if e.Guard != "" {
		list = append(list, "the guard "+cli.Plain(e.Guard)+" failed")
	}
	if e.Cause != "" {
		list = append(list, "follows "+cli.Plain(e.Cause))
	}
	if e.Reason != "" {
		list = append(list, "reason: "+cli.Plain(e.Reason))
	}
	for _, k := range cli.SortedKeys(e.Labels) {
		list = append(list, "label "+cli.Plain(k)+": "+cli.Plain(e.Labels[k]))
	}
	if e.Version != l.m.Version {
		list = append(list, fmt.Sprintf("written under version %d of the specification", e.Version))
	}
	return list
}

// given lists the inputs of an event by name.
func (l *logPrinter) given(e *fsm.Event) (list []string) {
	var members map[string]json.RawMessage
	if e.Inputs.IsZero() || e.Inputs.Decode(&members) != nil {
		return nil
	}
	for _, name := range cli.SortedKeys(members) {
		if text := cut(cli.Plain(string(members[name]))); text == "null" {
			list = append(list, cli.Plain(name)+" absent")
		} else {
			list = append(list, cli.Plain(name)+" = "+text)
		}
	}
	return list
}

// changes lists the fields that an event changed, in the order of the specification,
// and then those that it does not know.
func (l *logPrinter) changes(e *fsm.Event) []string {
	var members map[string]json.RawMessage
	if e.Changes.IsZero() || e.Changes.Decode(&members) != nil {
		return nil
	}
	var list []string
	add := func(name string, set bool, value json.RawMessage) {
		text := cut(cli.Plain(string(value)))
		switch {
		case text == "null" && set:
			list = append(list, cli.Plain(name)+" empty")
		case text == "null":
			list = append(list, cli.Plain(name)+" absent")
		case set && text[0] == '{':
			if said, _, err := driver.ReadSetChange(value); err == nil {
				text = cut(cli.Plain(said.Gone.Text()))
				if !said.Came.IsZero() {
					list = append(list, cli.Plain(name)+" + "+cut(cli.Plain(said.Came.Text())))
				}
			}
			list = append(list, cli.Plain(name)+" - "+text)
		case set:
			list = append(list, cli.Plain(name)+" + "+text)
		default:
			list = append(list, cli.Plain(name)+" = "+text)
		}
	}
	for _, f := range l.m.Fields {
		if v, ok := members[f.Stored()]; ok {
			add(f.Name, f.Type.Kind == spec.KindSet, v)
			delete(members, f.Stored())
		}
	}
	for _, name := range cli.SortedKeys(members) {
		add(name, false, members[name])
	}
	return list
}

// longestValue is how much of a value stands in a line; --json has all of it.
const longestValue = 160

func cut(s string) string {
	if utf8.RuneCountInString(s) <= longestValue {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", string([]rune(s)[:longestValue-20]), len(s))
}
