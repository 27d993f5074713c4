package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/gen/export"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/spec"
)

// diagramFlags are the flags of `diagram`.
type diagramFlags struct {
	format string // "": by the extension of -o, else mermaid
	detail string
	out    string
	focus  string
	only   []string
	theme  string
	check  bool
	asJSON bool

	regions  bool
	detailed bool // --detail was given

	inject  string
	history string
	traffic []chart.Traffic // what --history found
}

// page reports whether the output is a page with pictures of all regions.
func (f *diagramFlags) page() bool { return f.regions && filepath.Ext(f.out) == ".md" }

// diagramFormat is a way to write a machine down.
type diagramFormat struct {
	name  string
	ext   string // of files
	fence string // the language of a code block in Markdown; "" when it cannot stand in one
	whole bool   // it has no parts and no counts
	write func(*chart.Chart, diagramFlags) ([]byte, error)
}

// exported is a format that takes the machine as it is.
func exported(name, ext, fence string, write func(*spec.Machine) ([]byte, error)) diagramFormat {
	return diagramFormat{name, ext, fence, true, func(c *chart.Chart, _ diagramFlags) ([]byte, error) { return write(c.Machine) }}
}

// diagramFormats are the values of --format; of those with one extension the
// first is meant when -o alone says the format.
var diagramFormats = func() []diagramFormat {
	var fs []diagramFormat
	for _, f := range chart.Formats {
		fs = append(fs, diagramFormat{f.Name, f.Ext, f.Fence, false, func(c *chart.Chart, _ diagramFlags) ([]byte, error) {
			return f.Write(c), nil
		}})
	}
	return append(fs,
		diagramFormat{"svg", ".svg", "", false, func(c *chart.Chart, f diagramFlags) ([]byte, error) { return draw.SVG(c, themes[f.theme]), nil }},
		diagramFormat{"png", ".png", "", false, func(c *chart.Chart, f diagramFlags) ([]byte, error) { return draw.PNG(c, themes[f.theme]) }},
		exported("matrix", ".md", "markdown", func(m *spec.Machine) ([]byte, error) { return export.Matrix(m), nil }),
		exported("csv", ".csv", "csv", export.CSV),
	)
}()

// themes are the values of --theme.
var themes = map[string]draw.Theme{"auto": draw.Auto, "light": draw.Light, "dark": draw.Dark}

// details are the values of --detail.
var details = map[string]chart.Detail{"brief": chart.Brief, "normal": chart.Guards, "full": chart.Full}

func formatNames(fs []diagramFormat) []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	return names
}

func (c *tool) diagramCommand() *cobra.Command {
	var f diagramFlags
	cmd := &cobra.Command{
		Use:   "diagram SPEC",
		Short: "Draw a machine",
		Long: `Diagram draws a machine. "-" reads the standard input.

How much it shows (--detail):
  brief          states, operations, and when the system acts; an operation that
                 leads from many states to one is one arrow (the default)
  normal         guards and the conditions of choices, too
  full           effects, what is recorded only, refused or forbidden, and the
                 projection, too; nothing is put together

Formats (--format, or the extension of -o):
  mermaid        a stateDiagram-v2: GitHub and most wikis draw it in a code
                 block of the language "mermaid" (.mmd)
  mermaid-flow   a Mermaid flowchart: with colours, and arrows of different
                 weight
  dot            for Graphviz (.dot)
  svg, png       a picture, drawn by fsmgen itself: states have colours by kind,
                 and an SVG is light or dark as the viewer prefers (.svg, .png)
  matrix, csv    what each operation does in each state, as a table (.md, .csv)

--regions is for machines of more than fifteen states. It draws an index
picture, and each region with its neighbours: as one page of Markdown with links
(-o FILE.md, or the standard output), or as files (-o order.svg: order.svg,
order-paid.svg, ...). A region is a run of states in the order of the file, cut
where few moves cross.

--inject replaces what stands in a Markdown file between the lines
  <!-- fsmgen:begin MACHINE -->
  <!-- fsmgen:end MACHINE -->
MACHINE is the name of the machine; a format after it (fsmgen:begin job matrix)
is that of the block, else --format says it. Any number of blocks may stand in a
file.

--history reads what "fsmctl history" prints, from a file or "-": arrows are as
thick as their traffic and carry its count, and arrows never taken are dashed.`,
		Example: `  fsmgen diagram specs/lifecycle.yaml
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.mmd
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.mmd --check
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.svg
  fsmgen diagram specs/lifecycle.yaml --detail full -o docs/lifecycle.svg
  fsmgen diagram specs/lifecycle.yaml --focus running   # with its neighbours
  fsmgen diagram specs/lifecycle.yaml --only stall,requeue_stalled
  fsmgen diagram order.yaml --regions -o docs/order.md   # a large machine
  fsmctl history --db jobs.db job.yaml |
    fsmgen diagram job.yaml --history - -o traffic.svg
  fsmgen diagram specs/lifecycle.yaml --inject README.md --check`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.SpecFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.detailed = cmd.Flags().Changed("detail")
			return c.diagram(args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "", "what to write: "+strings.Join(formatNames(diagramFormats), ", ")+" (default: by the extension of -o, else mermaid)")
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the file instead of printing")
	cmd.Flags().StringVar(&f.focus, "focus", "", "show this state and what touches it")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "show these operations and the states that they touch")
	cmd.Flags().BoolVar(&f.regions, "regions", false, "show an index of regions, and each region in a picture of its own")
	cmd.Flags().StringVar(&f.detail, "detail", "brief", "how much to show: brief, normal, full")
	cmd.Flags().StringVar(&f.theme, "theme", "auto", "colours of svg and png: auto, light, dark")
	cmd.Flags().StringVar(&f.history, "history", "", "weigh the arrows by the counts in this file, which fsmctl history printed")
	cmd.Flags().StringVar(&f.inject, "inject", "", "keep the diagram between the markers in this Markdown file up to date")
	c.JSONFlag(cmd, &f.asJSON, "output (format and text, or base64\nfor a png), or files with -o and --inject.")
	c.QuietFlag(cmd)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 when the file of -o or --inject is not up to date")
	cli.OneOf(cmd, "format", formatNames(diagramFormats)...)
	cli.OneOf(cmd, "detail", "brief", "normal", "full")
	cli.OneOf(cmd, "theme", "auto", "light", "dark")
	return cmd
}

// diagramFormatOf returns the format that the flags ask for.
func diagramFormatOf(f diagramFlags) (diagramFormat, error) {
	if f.format != "" {
		for _, d := range diagramFormats {
			if d.name == f.format {
				return d, nil
			}
		}
		names := formatNames(diagramFormats)
		return diagramFormat{}, cli.Usagef("--format is %q; %s", f.format, spec.DidYouMean(spec.Nearest(f.format, names), "write one of", names))
	}
	if f.out == "" || f.page() {
		return diagramFormats[0], nil
	}
	var exts []string
	for _, d := range diagramFormats {
		if filepath.Ext(f.out) == d.ext {
			return d, nil
		}
		if !slices.Contains(exts, d.ext) {
			exts = append(exts, d.ext)
		}
	}
	return diagramFormat{}, cli.Usagef("-o is %q; a diagram is a file with one of the extensions %s", f.out, strings.Join(exts, ", "))
}

func (c *tool) diagram(path string, f diagramFlags) error {
	format, err := diagramFormatOf(f)
	switch {
	case err != nil:
		return err
	case !slices.Contains([]string{"auto", "light", "dark"}, f.theme):
		return cli.Usagef("--theme is %q; write auto, light or dark", f.theme)
	case details[f.detail] == 0:
		return cli.Usagef("--detail is %q; write brief, normal or full", f.detail)
	case f.inject != "" && f.out != "":
		return cli.Usagef("-o and --inject do not go together; write one of them")
	case f.check && f.out == "" && f.inject == "":
		return cli.Usagef("--check compares with a file; name it with -o or --inject")
	case f.out != "" && filepath.Ext(f.out) != format.ext && !f.page():
		return cli.Usagef("-o is %q; a diagram of the format %s is a %s file", f.out, format.name, format.ext)
	case format.whole && (f.focus != "" || len(f.only) > 0 || f.history != "" || f.detailed || f.regions):
		return cli.Usagef("--format %s takes the whole machine; --focus, --only, --regions, --detail and --history are for pictures",
			format.name)
	case f.theme != "auto" && f.inject == "" && format.name != "svg" && format.name != "png":
		return cli.Usagef("--theme is for the formats svg and png; the format is %s", format.name)
	case path == "-" && f.history == "-":
		return cli.Usagef("the standard input is either the specification or the history; name a file for the other one")
	case f.regions && (f.focus != "" || len(f.only) > 0 || f.history != "" || f.inject != ""):
		return cli.Usagef("--regions draws the whole machine; it does not go together with --focus, --only, --history and --inject")
	case f.regions && f.out == "" && format.fence == "":
		return cli.Usagef("--regions with the format %s writes files; name the first of them with -o", format.name)
	}
	s, err := c.Load(path)
	if err != nil {
		return err
	}
	if err := c.Accepts(s, f.asJSON); err != nil {
		return err
	}
	if f.history != "" {
		if f.traffic, err = c.readTraffic(f.history, s.Machine); err != nil {
			return cli.Usagef("--history: %w", err)
		}
	}
	switch {
	case f.inject != "":
		return c.diagramInto(s, format, f)
	case f.regions:
		return c.regions(s, format, f)
	}
	ch, err := c.chart(s.Machine, f)
	if err != nil {
		return err
	}
	data, err := format.write(ch, f)
	if err != nil {
		return cli.Internal(fmt.Errorf("draw %s: %w", format.name, err))
	}
	if f.out == "" {
		return c.Give(s, f.asJSON, format.name, data)
	}
	return c.put([]*plan{{source: s, targets: []*target{{path: f.out, data: data}}}}, putOptions{check: f.check, asJSON: f.asJSON})
}

// readTraffic reads the counts of m that "fsmctl history" has printed.
func (c *tool) readTraffic(path string, m *spec.Machine) ([]chart.Traffic, error) {
	if strings.Contains(path, "://") {
		return nil, errors.New(moved(historyPipe))
	}
	in := c.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // it was read only
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, cli.MaxInput))
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(text, []byte("SQLite format 3\x00")):
		return nil, errors.New(moved(historyPipe))
	}
	var h cli.History
	if err := json.Unmarshal(text, &h); err != nil || h.Machine == "" {
		return nil, fmt.Errorf("%s does not hold what fsmctl history prints; write: %s", cli.Shown(path), historyPipe)
	}
	if h.Machine != m.Name {
		return nil, fmt.Errorf("%s counts the moves of the machine %q, not of %q", cli.Shown(path), h.Machine, m.Name)
	}
	return h.Moves, nil
}

const historyPipe = "fsmctl history --db DATABASE SPEC | fsmgen diagram SPEC --history -"

// chart returns what the flags ask to show of m.
func (c *tool) chart(m *spec.Machine, f diagramFlags) (*chart.Chart, error) {
	ch := chart.At(m, details[f.detail])
	if f.history != "" {
		if _, unknown := ch.Weigh(f.traffic); unknown > 0 {
			c.Errorf("%d events of the log are on no arrow: imports, redactions, "+
				"and moves that the machine does not have, or no longer has\n", unknown)
		}
	}
	if f.focus != "" {
		if err := ch.Focus(f.focus); err != nil {
			return nil, cli.Usagef("--focus: %w", err)
		}
	}
	if len(f.only) > 0 {
		if err := ch.Only(f.only...); err != nil {
			return nil, cli.Usagef("--only: %w", err)
		}
	}
	return ch, nil
}
