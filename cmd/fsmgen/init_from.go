package main

import (
	"errors"
	"io"
	"os"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/internal/draft"
)

// draftReport is what init --from prints with --json.
type draftReport struct {
	cli.Report
	Format string       `json:"format"`
	States int          `json:"states"`
	Moves  int          `json:"moves"`
	Rows   int64        `json:"rows,omitempty"`
	Notes  []draft.Note `json:"notes"`
}

// initFrom writes a specification that is drafted from a file.
func (c *tool) initFrom(o initOptions) error {
	if o.name != "" {
		if err := validName(o.name); err != nil {
			return err
		}
	}
	name, in, closing, err := c.openLog(o.from)
	if err != nil {
		return err
	}
	defer closing()
	file := name
	if o.from == "-" {
		file = "machine"
	}
	d, err := draft.From(in, draft.Options{File: file, Format: o.format, Name: o.name, Columns: o.columns})
	if err != nil {
		return placed(name, err)
	}
	path, err := c.writeSpec(d.Name, d.Text)
	if err != nil {
		return err
	}
	if o.asJSON {
		report := cli.NewReport(nil, []cli.FileReport{{Path: path, Status: statusMissing, Written: true}})
		if d.Notes == nil {
			d.Notes = []draft.Note{}
		}
		return c.PrintJSON(draftReport{report, d.Format, d.States, d.Moves, d.Rows, d.Notes})
	}
	for _, n := range d.Notes {
		if n.Line > 0 {
			c.Errorf("%s:%d: %s: %s\n", name, n.Line, n.Kind, cli.Plain(n.Text))
		} else {
			c.Errorf("%s: %s: %s\n", name, n.Kind, cli.Plain(n.Text))
		}
	}
	c.Remarkf("wrote %s: %s, %s, from %s; %s to read\n", path, cli.Count(d.States, "state"), cli.Count(d.Moves, "move"), d.Format,
		cli.Count(len(d.Notes), "note"))
	return nil
}

// placed says where in a file an error is.
func placed(name string, err error) error {
	var e *draft.Error
	switch {
	case !errors.As(err, &e):
		return cli.Usagef("%s: %w", name, err)
	case e.Col > 0:
		return cli.Usagef("%s:%d:%d: %s", name, e.Line, e.Col, e.Message)
	case e.Line > 0:
		return cli.Usagef("%s:%d: %s", name, e.Line, e.Message)
	}
	return cli.Usagef("%s: %s", name, e.Message)
}

// openLog opens a file, or the standard input for "-".
func (c *tool) openLog(path string) (name string, in io.Reader, closing func(), err error) {
	if path == "-" {
		return "<stdin>", c.In, func() {}, nil
	}
	name = cli.Shown(path)
	f, err := os.Open(path)
	if err != nil {
		return "", nil, nil, cli.Usagef("cannot read: %w", err)
	}
	closing = func() { _ = f.Close() } // it was read only
	if info, err := f.Stat(); err == nil && info.IsDir() {
		closing()
		return "", nil, nil, cli.Usagef("%s is a folder; name a file in it", name)
	}
	return name, f, closing, nil
}

// mostShown is how many kinds of rows replay --changes prints.
const mostShown = 20

// replayChanges says how many rows of a log of status changes are moves of a machine.
func (c *tool) replayChanges(path, specPath string, columns map[string]string, asJSON bool) error {
	if path == "-" && specPath == "-" {
		return cli.Usagef("the standard input is either the log or the specification; name a file for the other one")
	}
	s, err := c.Sound(specPath)
	if err != nil {
		return err
	}
	name, in, closing, err := c.openLog(path)
	if err != nil {
		return err
	}
	defer closing()
	e, err := draft.Explain(s.Machine, in, draft.Options{File: name, Columns: columns})
	if err != nil {
		return placed(name, err)
	}
	if asJSON {
		if e.Unexplained == nil {
			e.Unexplained = []draft.Unexplained{}
		}
		err = c.PrintJSON(e)
	} else {
		c.printExplained(name, e)
	}
	if err == nil && e.Explained < e.Rows {
		err = cli.ErrFindings
	}
	return err
}

func (c *tool) printExplained(name string, e *draft.Explained) {
	for i, u := range e.Unexplained {
		if i == mostShown {
			c.Printf("%s: and %s; --json lists all\n", cli.Plain(name), cli.Count(len(e.Unexplained)-i, "more kind"))
			break
		}
		c.Printf("%s:%d: error: %s: %s; %s like it [%s]\n", cli.Plain(name), u.Line, cli.Plain(u.ID), cli.Plain(u.Message), cli.Count(int(u.Count), "row"), u.Rule)
	}
	share := 100.0
	if e.Rows > 0 {
		share = 100 * float64(e.Explained) / float64(e.Rows)
	}
	c.Remarkf("%s: %d of %s of %s explained, %.2f %%\n", cli.Plain(name), e.Explained, cli.Count(int(e.Rows), "row"), cli.Count(int(e.Records), "record"), share)
}
