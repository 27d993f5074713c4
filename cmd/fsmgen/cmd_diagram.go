package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/gen/export"
	"github.com/fsmgen/fsmgen/internal/traffic"
	"github.com/fsmgen/fsmgen/spec"
)

// diagramFlags are the flags of `diagram`.
type diagramFlags struct {
	format string // "": by the extension of -o, else mermaid
	out    string
	focus  string
	only   []string
	theme  string
	check  bool
	asJSON bool

	inject  string
	history string
	traffic []chart.Traffic // what --history found
}

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
		exported("xstate", ".json", "json", export.XState),
		exported("scxml", ".scxml", "xml", func(m *spec.Machine) ([]byte, error) { return export.SCXML(m), nil }),
	)
}()

// themes are the values of --theme.
var themes = map[string]draw.Theme{"auto": draw.Auto, "light": draw.Light, "dark": draw.Dark}

func formatNames(fs []diagramFormat) []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	return names
}

func (c *cli) diagramCommand() *cobra.Command {
	var f diagramFlags
	cmd := &cobra.Command{
		Use:   "diagram SPEC",
		Short: "Draw a machine",
		Long: `Diagram draws a machine: its states, which operations lead from one to the other,
their guards, triggers and effects, what is recorded only and what is forbidden.
"-" reads the standard input.

Formats (--format, or the extension of -o):
  mermaid        a stateDiagram-v2: GitHub and most wikis draw it in a code block of
                 the language "mermaid" (.mmd)
  mermaid-flow   a Mermaid flowchart: with colours, and arrows of different weight
  dot            for Graphviz (.dot)
  plantuml       for PlantUML (.puml)
  d2             for D2 (.d2)
  svg, png       a picture, drawn by fsmgen itself: states have colours by kind, and an
                 SVG is light or dark as the viewer prefers (.svg, .png)
  matrix, csv    what each operation does in each state, as a table (.md, .csv)
  xstate         a machine for XState, version 5 (.json)
  scxml          a W3C state chart with ECMAScript conditions (.scxml)

--inject replaces what stands in a Markdown file between the lines
  <!-- fsmgen:begin MACHINE -->
  <!-- fsmgen:end MACHINE -->
MACHINE is the name of the machine; a format behind it (fsmgen:begin job matrix) is
that of the block, else --format says it. Any number of blocks may stand in a file.

--history reads the event log of a database, which it never writes: arrows are as
thick as their traffic and carry its count, and those never taken are grey.`,
		Example: `  fsmgen diagram specs/lifecycle.yaml
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.mmd
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.mmd --check
  fsmgen diagram specs/lifecycle.yaml -o docs/lifecycle.svg
  fsmgen diagram specs/lifecycle.yaml --focus running      # one state and its neighbours
  fsmgen diagram specs/lifecycle.yaml --only stall,requeue_stalled
  fsmgen diagram specs/lifecycle.yaml --history jobs.db -o traffic.svg
  fsmgen diagram specs/lifecycle.yaml --inject README.md --check`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: specFiles,
		RunE:              func(_ *cobra.Command, args []string) error { return c.diagram(args[0], f) },
	}
	cmd.Flags().StringVar(&f.format, "format", "", "what to write: "+strings.Join(formatNames(diagramFormats), ", ")+" (default: by the extension of -o, else mermaid)")
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the file instead of printing")
	cmd.Flags().StringVar(&f.focus, "focus", "", "show this state and what touches it")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "show these operations and the states that they touch")
	cmd.Flags().StringVar(&f.theme, "theme", "auto", "colours of svg and png: auto, light, dark")
	cmd.Flags().StringVar(&f.history, "history", "", "weigh the arrows by the event log of this database: the path of a SQLite file, or postgres://...")
	cmd.Flags().StringVar(&f.inject, "inject", "", "keep the diagram between the markers in this Markdown file up to date")
	c.jsonFlag(cmd, &f.asJSON, "output (format and text, or base64 for a\npng), or files with -o and --inject.")
	c.quietFlag(cmd)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; exit with 1 when the file of -o or --inject is not up to date")
	oneOf(cmd, "format", formatNames(diagramFormats)...)
	oneOf(cmd, "theme", "auto", "light", "dark")
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
		return diagramFormat{}, usagef("--format is %q; %s", f.format, spec.DidYouMean(spec.Nearest(f.format, names), "write one of", names))
	}
	if f.out == "" {
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
	return diagramFormat{}, usagef("-o is %q; a diagram is a file with one of the extensions %s", f.out, strings.Join(exts, ", "))
}

func (c *cli) diagram(path string, f diagramFlags) error {
	format, err := diagramFormatOf(f)
	switch {
	case err != nil:
		return err
	case !slices.Contains([]string{"auto", "light", "dark"}, f.theme):
		return usagef("--theme is %q; write auto, light or dark", f.theme)
	case f.inject != "" && f.out != "":
		return usagef("-o and --inject do not go together; write one of them")
	case f.check && f.out == "" && f.inject == "":
		return usagef("--check compares with a file; name it with -o or --inject")
	case f.out != "" && filepath.Ext(f.out) != format.ext:
		return usagef("-o is %q; a diagram of the format %s is a %s file", f.out, format.name, format.ext)
	case format.whole && (f.focus != "" || len(f.only) > 0 || f.history != ""):
		return usagef("--format %s takes the whole machine; --focus, --only and --history are for pictures", format.name)
	case f.focus != "" && len(f.only) > 0:
		return usagef("--focus and --only do not go together; write one of them")
	}
	s, err := c.load(path)
	if err != nil {
		return err
	}
	if err := c.accepts(s, f.asJSON); err != nil {
		return err
	}
	if f.history != "" {
		if f.traffic, err = readTraffic(f.history, s.machine); err != nil {
			return usagef("--history: %w", err)
		}
	}
	if f.inject != "" {
		return c.diagramInto(s, format, f)
	}
	ch, err := c.chart(s.machine, f)
	if err != nil {
		return err
	}
	data, err := format.write(ch, f)
	if err != nil {
		return internalError{fmt.Errorf("draw %s: %w", format.name, err)}
	}
	if f.out == "" {
		return c.give(s, f.asJSON, format.name, data)
	}
	return c.put([]*plan{{source: s, targets: []*target{{path: f.out, data: data}}}}, putOptions{check: f.check, asJSON: f.asJSON})
}

// historyDeadline bounds how long a database is waited for.
const historyDeadline = time.Minute

// readTraffic counts the events of m in a database.
func readTraffic(address string, m *spec.Machine) ([]chart.Traffic, error) {
	ctx, cancel := context.WithTimeout(context.Background(), historyDeadline)
	defer cancel()
	return traffic.Read(ctx, address, m.Name)
}

// chart returns what the flags ask to show of m.
func (c *cli) chart(m *spec.Machine, f diagramFlags) (*chart.Chart, error) {
	ch := chart.Of(m)
	if f.history != "" {
		if _, unknown := ch.Weigh(f.traffic); unknown > 0 {
			c.errorf("%d events of the log are on no arrow: the machine does not have their move (any more)\n", unknown)
		}
	}
	if f.focus != "" {
		if err := ch.Focus(f.focus); err != nil {
			return nil, usagef("--focus: %w", err)
		}
	}
	if len(f.only) > 0 {
		if err := ch.Only(f.only...); err != nil {
			return nil, usagef("--only: %w", err)
		}
	}
	return ch, nil
}
