package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/replay"
)

func (c *tool) replayCommand() *cobra.Command {
	var asJSON, changes bool
	var columns map[string]string
	cmd := &cobra.Command{
		Use:   "replay FILE SPEC",
		Short: "Check a log of events from elsewhere against a machine",
		Long: `Replay reads events, one JSON object per line in the form that CONTRACT.md
describes and "fsmctl log --json" prints, and says which line breaks which rule:
a gap, a step that the machine does not have, a guard that does not hold, a
field with another value than the operation sets, a wrong checksum. All lines
are judged, in one pass; "-" reads the standard input.

An event needs id, rev, operation, to and at, and from unless it is a creation.
Further members are judged too: with changes, the rules of the states; with
inputs and actor, the guards and branches; with sum and chain, the checksums.
The lines stand in the order of their commits; those of one record by rev and n.

With --json it prints one object: findings (file, line, id, rev, n, rule,
message), how many events and records were judged, errors (how many), and error
when the file could not be read to its end.

With --changes, and for a .csv or .tsv file, the log is one of status changes, as
"fsmgen init --from" reads it: CSV or JSONL with columns such as id, at, from and
to. Then it says how many rows are moves of the machine, and for each other kind
of row how many there are, with the line of the first one; guards and fields are
not looked at. With --json these are rows, records, explained, unexplained.

The exit code is 1 when a line breaks a rule, 2 when the file cannot be read.`,
		Example: `  fsmgen replay events.jsonl job.yaml
  fsmctl log --db jobs.db --json job.yaml | fsmgen replay - job.yaml
  fsmgen replay --changes order_history.csv order.yaml`,
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"jsonl", "ndjson", "json", "csv", "tsv"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return cli.SpecFiles(nil, nil, "")
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if lower := strings.ToLower(args[0]); changes || len(columns) > 0 || strings.HasSuffix(lower, ".csv") || strings.HasSuffix(lower, ".tsv") {
				return c.replayChanges(args[0], args[1], columns, asJSON)
			}
			return c.replay(args[0], args[1], asJSON)
		},
	}
	cmd.Flags().BoolVar(&changes, "changes", false, "FILE is a log of status changes")
	cmd.Flags().StringToStringVar(&columns, "columns", nil, "which columns of it are id, at, from, to, actor, event")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print findings as JSON")
	c.QuietFlag(cmd)
	return cmd
}

func (c *tool) replay(path, specPath string, asJSON bool) error {
	if path == "-" && specPath == "-" {
		return cli.Usagef("the standard input is either the log or the specification; name a file for the other one")
	}
	if ext := strings.ToLower(path[max(0, len(path)-5):]); strings.HasSuffix(ext, ".yaml") || strings.HasSuffix(ext, ".yml") {
		return cli.Usagef("%s is a specification; the log comes first: fsmgen replay FILE SPEC", cli.Shown(path))
	}
	s, err := c.Sound(specPath)
	if err != nil {
		return err
	}
	name, in, size := "<stdin>", c.In, int64(0)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return cli.Usagef("cannot read the log: %w", err)
		}
		defer func() { _ = f.Close() }() // it was read only
		name, in = cli.Shown(path), f
		switch info, err := f.Stat(); {
		case err != nil:
		case info.IsDir():
			return cli.Usagef("%s is a folder; name a file with one event per line", name)
		case info.Mode().IsRegular():
			size = info.Size()
		}
	}
	var out findingPrinter = &replayText{c: c, name: name}
	if asJSON {
		out = &replayJSON{c: c, name: name}
	}
	out.begin()
	b := c.NewBar("MB")
	result, err := replay.Check(s.Machine, &watchedReader{r: in, name: name, size: size, bar: b}, func(f replay.Finding) {
		b.Hide()
		out.finding(f)
	})
	b.Hide()
	out.end(result, err)
	switch {
	case err != nil:
		return cli.Usagef("cannot read the log: %s: %w", name, err)
	case result.Findings > 0:
		return cli.ErrFindings
	}
	return nil
}

// watchedReader shows how much of a file was read.
type watchedReader struct {
	r    io.Reader
	name string
	size int64 // in bytes; 0: nobody knows
	done int64
	bar  *cli.Bar
}

func (w *watchedReader) Read(p []byte) (int, error) {
	const mb = 1_000_000
	n, err := w.r.Read(p)
	w.done += int64(n)
	if w.size >= mb {
		w.bar.Set(w.done/mb, w.size/mb)
	} else if w.size == 0 {
		w.bar.Count(w.name, w.done/mb)
	}
	return n, err
}

// findingPrinter prints what replay finds while it is found.
type findingPrinter interface {
	begin()
	finding(f replay.Finding)
	end(r replay.Result, err error)
}

type replayText struct {
	c    *tool
	name string
}

func (*replayText) begin() {}

func (t *replayText) finding(f replay.Finding) {
	word := "error:"
	if cli.Colourful(t.c.Out) {
		word = cli.Red + word + cli.Off
	}
	who := ""
	if f.ID != "" {
		who = cli.Plain(cli.Place(f.ID, f.Rev, f.N)) + ": "
	}
	t.c.Printf("%s:%d: %s %s%s [%s]\n", cli.Plain(t.name), f.Line, word, who, cli.Plain(f.Message), f.Rule)
}

func (t *replayText) end(r replay.Result, err error) {
	if err != nil || t.c.Quiet {
		return
	}
	verdict := "each is the machine's work"
	if r.Findings > 0 {
		verdict = cli.Count(int(r.Findings), "error")
	}
	t.c.Printf("%s: %s of %s, %s\n", cli.Plain(t.name), cli.Count(int(r.Events), "event"), cli.Count(int(r.Records), "record"), verdict)
	if r.Older > 0 {
		t.c.Printf("%s of an older version of the specification: judged by order, states and checksums only\n", cli.Count(int(r.Older), "event"))
	}
}

type replayJSON struct {
	c    *tool
	name string
	any  bool
}

type replayFindingReport struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	ID      string `json:"id,omitempty"`
	Rev     int64  `json:"rev,omitempty"`
	N       int64  `json:"n,omitempty"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

func (j *replayJSON) begin() { j.c.Printf("{\"findings\":[") }

func (j *replayJSON) finding(f replay.Finding) {
	separator := "\n"
	if j.any {
		separator = ",\n"
	}
	j.any = true
	j.c.Printf("%s%s", separator, cli.OneLine(replayFindingReport{j.name, f.Line, f.ID, f.Rev, f.N, f.Rule, f.Message}))
}

func (j *replayJSON) end(r replay.Result, err error) {
	if j.any {
		j.c.Printf("\n")
	}
	tail := struct {
		replay.Result
		Errors int64  `json:"errors"`
		Error  string `json:"error,omitempty"` // the log could not be read to its end
	}{Result: r, Errors: r.Findings}
	if err != nil {
		tail.Error = err.Error()
	}
	j.c.Printf("],%s\n", strings.TrimPrefix(cli.OneLine(tail), "{"))
}
