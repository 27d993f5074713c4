package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/runtime/figures"
)

// topFlags are the flags of `top`.
type topFlags struct {
	db     string
	every  time.Duration
	once   bool
	asJSON bool
}

// The bounds of what top asks.
const (
	topCounts = 10_000
	topEvents = 20_000
	topAsk    = 2 * time.Second
)

// topSpans are the stretches of time whose transitions are counted.
var topSpans = []time.Duration{time.Minute, time.Hour}

func (c *ctl) topCommand() *cobra.Command {
	var f topFlags
	cmd := &cobra.Command{
		Use:   "top --db DATABASE SPEC",
		Short: "Show how many records are where, what is late, and what happens",
		Long: `Top shows a machine at a glance: how many records are in each state and since when
the one that moved last longest ago has not moved; the records whose deadline is
over; what waits in the outbox; and the transitions of the last minute and hour.

On a terminal it shows this again every 2 seconds until you press q or Ctrl-C. With
--once, with --json, and where the output is no terminal, it does so once.

Counts stop at 10 000. The hour is read from the end of the log, 20 000 events at
most. No question takes longer than 2 seconds; what was not answered is a "?". The
database is only read.`,
		Example: `  fsmctl top --db jobs.db job.yaml
  fsmctl top --db "$DATABASE_URL" --json job.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.top(args[0], f) },
	}
	databaseFlag(cmd, &f.db)
	cmd.Flags().DurationVar(&f.every, "every", 2*time.Second, "how long to wait before it is shown again")
	cmd.Flags().BoolVar(&f.once, "once", false, "show it once")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one object of JSON")
	return cmd
}

func (c *ctl) top(path string, f topFlags) error {
	if f.every < 100*time.Millisecond {
		return cli.Usagef("--every is %s; write at least 100ms", f.every)
	}
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
	if f.once || f.asJSON || !cli.IsTerminal(c.Out) {
		err = c.topOnce(ctx, db, f.asJSON)
	} else {
		err = c.topUntil(ctx, db, f.every)
	}
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return cli.Usagef("%s: %w", cli.Plain(db.Address.Shown), cli.Broken(err))
	}
	return nil
}

func (c *ctl) topOnce(ctx context.Context, db *live.DB, asJSON bool) error {
	g, err := glanceAt(ctx, db)
	if err != nil {
		return err
	}
	if asJSON {
		return c.jsonLine(g.report())
	}
	return c.Write([]byte(g.text(cli.Colourful(c.Out))))
}

// topUntil shows it again and again, until somebody presses q or Ctrl-C.
func (c *ctl) topUntil(ctx context.Context, db *live.DB, every time.Duration) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	keys, newline, restore := false, "\n", func() {}
	defer func() { restore() }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for first := true; ; first = false {
		g, err := glanceAt(ctx, db)
		text := ""
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			text = "the database does not answer: " + cli.Plain(err.Error()) + "\n"
		default:
			text = g.text(cli.Colourful(c.Out))
		}
		if in, ok := c.In.(*os.File); ok && !keys && term.IsTerminal(int(in.Fd())) {
			if before, err := term.MakeRaw(int(in.Fd())); err == nil {
				restore = func() { _ = term.Restore(int(in.Fd()), before) }
				keys, newline = true, "\r\n" // nobody else returns the carriage now
			}
		}
		text += "\nq or Ctrl-C ends it\n"
		if err := c.Write([]byte("\x1b[H\x1b[J" + strings.ReplaceAll(text, "\n", newline))); err != nil {
			return err
		}
		if first && keys {
			go waitForQ(c.In, end)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// waitForQ reads keys until one of them ends the show.
func waitForQ(in io.Reader, end func()) {
	key := make([]byte, 1)
	for {
		n, err := in.Read(key)
		if err != nil || n == 1 && strings.ContainsAny(string(key), "qQ\x03\x04") {
			end()
			return
		}
	}
}

// glance is a machine at a time.
type glance struct {
	db      *live.DB
	figures *figures.Figures
	spans   []figures.Span
}

// glanceAt asks for all of it.
func glanceAt(ctx context.Context, db *live.DB) (*glance, error) {
	g, m := &glance{db: db}, figures.Of(db.Machine)
	var err error
	if g.figures, err = m.Read(ctx, figures.Options{Most: topCounts, Within: 2 * topAsk}); err == nil {
		g.spans, err = m.Moves(ctx, topSpans, topEvents, topAsk)
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = live.ErrSlow
	}
	return g, db.Address.Clean(err)
}

// text writes it for people.
func (g *glance) text(colours bool) string {
	f := g.figures
	since := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return lasted(f.At.Sub(at))
	}
	count := func(n int64, over, known bool) string {
		if !known {
			return "?"
		}
		return bounded(n, over)
	}
	t := table{{"state", "records", "oldest"}}
	for _, s := range f.States {
		t = append(t, []string{s.Name, count(s.Count, s.Over, s.Known), since(s.Oldest)})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s, %s\n\n%s", g.db.Spec.Name, cli.Plain(g.db.Address.Shown), stamp(f.At), t.text(colours))
	if len(f.Triggers) > 0 {
		t = table{{"overdue", "after", "records", "for"}}
		for _, x := range f.Triggers {
			t = append(t, []string{x.Operation, x.After, count(x.Count, x.Over, x.Known), since(x.Oldest)})
		}
		b.WriteString("\n" + t.text(colours))
	}
	if len(f.Effects) > 0 {
		t = table{{"outbox", "due", "tried", "for"}}
		for _, x := range f.Effects {
			t = append(t, []string{cli.Plain(x.Name), bounded(int64(x.Due), f.Cut), number(int64(x.Tried)), since(x.Oldest)})
		}
		b.WriteString("\n" + t.text(colours))
	}
	hour := g.spans[len(g.spans)-1]
	t = table{{"operation", "from", "to", "last minute", "last hour"}}
	for _, v := range hour.Moves {
		minute := 0
		for _, w := range g.spans[0].Moves {
			if w.Operation == v.Operation && w.From == v.From && w.To == v.To {
				minute = w.Count
			}
		}
		from := v.From
		if from == "" {
			from = "(new)"
		}
		t = append(t, []string{cli.Plain(v.Operation), cli.Plain(from), cli.Plain(v.To), number(int64(minute)), number(int64(v.Count))})
	}
	if len(t) > 1 {
		b.WriteString("\n" + t.text(colours))
	} else {
		b.WriteString("\nno transition in the last hour\n")
	}
	if !hour.Whole {
		fmt.Fprintf(&b, "the log was read back to %s, not for the whole hour\n", stamp(hour.Read))
	}
	return b.String()
}

// topReport is it in JSON. What was not answered in time is left out.
type topReport struct {
	Machine  string          `json:"machine"`
	At       string          `json:"at"`
	States   []topState      `json:"states"`
	Triggers []topTrigger    `json:"overdue"`
	Effects  []topEffect     `json:"outbox"`
	Moves    []topMoveReport `json:"transitions"`
}

type topState struct {
	State   string   `json:"state"`
	Records *int64   `json:"records,omitempty"`
	Over    bool     `json:"more,omitempty"` // than that
	Oldest  *float64 `json:"oldest_seconds,omitempty"`
}

type topTrigger struct {
	Operation string   `json:"operation"`
	After     string   `json:"after"`
	Records   *int64   `json:"records,omitempty"`
	Over      bool     `json:"more,omitempty"`
	Oldest    *float64 `json:"oldest_seconds,omitempty"`
}

type topEffect struct {
	Effect string   `json:"effect"`
	Due    int      `json:"due"`
	Tried  int      `json:"tried"`
	Over   bool     `json:"more,omitempty"`
	Oldest *float64 `json:"oldest_seconds,omitempty"`
}

type topMoveReport struct {
	Seconds int       `json:"seconds"`
	Whole   bool      `json:"whole"` // all of that time was read
	Moves   []topMove `json:"moves"`
}

type topMove struct {
	Operation string `json:"operation"`
	From      string `json:"from,omitempty"`
	To        string `json:"to"`
	Count     int    `json:"count"`
}

func (g *glance) report() topReport {
	f := g.figures
	since := func(at time.Time) *float64 {
		if at.IsZero() {
			return nil
		}
		return new(max(0, f.At.Sub(at).Seconds()))
	}
	count := func(n int64, known bool) *int64 {
		if !known {
			return nil
		}
		return &n
	}
	r := topReport{
		Machine: g.db.Spec.Name, At: microTime(f.At),
		States: []topState{}, Triggers: []topTrigger{}, Effects: []topEffect{}, Moves: []topMoveReport{},
	}
	for _, s := range f.States {
		r.States = append(r.States, topState{s.Name, count(s.Count, s.Known), s.Over, since(s.Oldest)})
	}
	for _, t := range f.Triggers {
		r.Triggers = append(r.Triggers, topTrigger{t.Operation, t.After, count(t.Count, t.Known), t.Over, since(t.Oldest)})
	}
	for _, e := range f.Effects {
		r.Effects = append(r.Effects, topEffect{e.Name, e.Due, e.Tried, f.Cut, since(e.Oldest)})
	}
	for _, s := range g.spans {
		m := topMoveReport{Seconds: int(s.Length.Seconds()), Whole: s.Whole, Moves: []topMove{}}
		for _, v := range s.Moves {
			m.Moves = append(m.Moves, topMove{v.Operation, v.From, v.To, v.Count})
		}
		r.Moves = append(r.Moves, m)
	}
	return r
}
