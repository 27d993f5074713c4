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
