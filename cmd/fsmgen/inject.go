package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/spec"
)

// inject keeps the blocks of one machine in a Markdown file up to date: what
// stands between
//
//	<!-- fsmgen:begin lifecycle -->
//	<!-- fsmgen:end lifecycle -->
//
// is replaced. A format behind the name (`fsmgen:begin lifecycle matrix`) is
// that of the block; others have the one of the command. What stands outside
// of the markers is never touched. Markers inside of a code block are text.

var (
	beginMarker = regexp.MustCompile(`^<!-- fsmgen:begin ([a-z][a-z0-9_]*)(?: ([a-z0-9-]+))? -->$`)
	endMarker   = regexp.MustCompile(`^<!-- fsmgen:end ([a-z][a-z0-9_]*) -->$`)
	anyMarker   = regexp.MustCompile(`^<!--\s*fsmgen:(begin|end)\b`)
	fence       = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

// blockWriter writes the block of a format, or the usual one for "".
type blockWriter func(format string) ([]byte, error)

// injected returns text with the blocks of the machine replaced.
func injected(file string, text []byte, machine string, write blockWriter) ([]byte, error) {
	var out bytes.Buffer
	lines := strings.SplitAfter(string(text), "\n")
	found, open, code := 0, 0, "" // open: the line of the begin marker; code: the fence that is open
	var others []string
	for i, line := range lines {
		bare := strings.TrimRight(line, "\r\n")
		at := fmt.Sprintf("%s:%d", file, i+1)
		if open == 0 {
			out.WriteString(line)
			if code = fenced(bare, code); code != "" || !anyMarker.MatchString(bare) {
				continue
			}
			m := beginMarker.FindStringSubmatch(bare)
			switch {
			case m == nil && endMarker.MatchString(bare):
				if endMarker.FindStringSubmatch(bare)[1] == machine {
					return nil, fmt.Errorf("%s: the end marker has no begin; write <!-- fsmgen:begin %s --> on a line above it", at, machine)
				}
			case m == nil:
				return nil, fmt.Errorf("%s: %q is no marker; expected <!-- fsmgen:begin NAME --> or <!-- fsmgen:begin NAME FORMAT -->", at, bare)
			case m[1] != machine:
				others = append(others, m[1])
			default:
				block, err := write(m[2])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", at, err)
				}
				newline := strings.TrimPrefix(line, bare)
				if newline == "" {
					newline = "\n"
				}
				out.WriteString(newline + strings.ReplaceAll(string(block), "\n", newline) + newline)
				open, found = i+1, found+1
			}
			continue
		}
		if m := endMarker.FindStringSubmatch(bare); len(m) > 1 && m[1] == machine {
			out.WriteString(line)
			open = 0
		} else if anyMarker.MatchString(bare) {
			return nil, fmt.Errorf("%s: %q stands in a block that began in line %d; expected <!-- fsmgen:end %s -->", at, bare, open, machine)
		}
	}
	switch {
	case open > 0:
		return nil, fmt.Errorf("%s:%d: the block has no end; write <!-- fsmgen:end %s --> on a line below it", file, open, machine)
	case found == 0:
		hint := ""
		if len(others) > 0 {
			hint = fmt.Sprintf(" (it has markers of %s)", strings.Join(others, ", "))
		}
		return nil, fmt.Errorf("%s has no markers for the machine %s%s; write <!-- fsmgen:begin %s --> and <!-- fsmgen:end %s --> on lines of their own where the diagram belongs", file, machine, hint, machine, machine)
	}
	return out.Bytes(), nil
}

// fenced returns the fence of the code block that is open behind the line.
func fenced(line, open string) string {
	m := fence.FindStringSubmatch(line)
	switch {
	case m == nil:
		return open
	case open == "":
		return m[1]
	case strings.HasPrefix(m[1], open) && strings.TrimSpace(line) == m[1]:
		return ""
	}
	return open
}

// block returns what stands between the markers for a format.
func block(f diagramFormat, data []byte) ([]byte, error) {
	if f.fence == "" {
		return nil, fmt.Errorf("a picture of the format %s cannot stand in Markdown; write it into a file with -o and link that", f.name)
	}
	if f.fence == "markdown" {
		return data, nil
	}
	marks := "```"
	for bytes.Contains(data, []byte(marks)) {
		marks += "`"
	}
	return slices.Concat([]byte(marks+f.fence+"\n"), data, []byte(marks+"\n")), nil
}

// diagramInto brings the blocks of the machine in the file of --inject up to date.
func (c *tool) diagramInto(s *cli.Source, usual diagramFormat, f diagramFlags) error {
	text, err := os.ReadFile(f.inject)
	if err != nil {
		return cli.Usagef("cannot read the Markdown file: %w", err)
	}
	data, err := injected(cli.Shown(f.inject), text, s.Machine.Name, func(name string) ([]byte, error) {
		format := usual
		if name != "" {
			i := slices.IndexFunc(diagramFormats, func(d diagramFormat) bool { return d.name == name })
			if i < 0 {
				names := formatNames(diagramFormats)
				return nil, fmt.Errorf("the format %q of the marker is not known; %s", name, spec.DidYouMean(spec.Nearest(name, names), "write one of", names))
			}
			format = diagramFormats[i]
		}
		ch, err := c.chart(s.Machine, f)
		if err != nil {
			return nil, err
		}
		data, err := format.write(ch, f)
		if err != nil {
			return nil, err
		}
		return block(format, data)
	})
	if err != nil {
		return cli.Usagef("--inject: %w", err)
	}
	t := &target{path: f.inject, data: data, status: statusDiffers}
	if bytes.Equal(data, text) {
		t.status = statusUnchanged
	}
	if !f.check {
		if err := writeAll([]*target{t}); err != nil {
			return cli.Usagef("cannot write: %w", err)
		}
	}
	if f.asJSON {
		if err := c.PrintJSON(cli.NewReport([]*cli.Source{s}, newFileReports([]*target{t}, nil, f.check))); err != nil {
			return err
		}
	} else {
		c.printTargets([]*target{t}, nil, f.check, false)
	}
	if f.check && t.status != statusUnchanged {
		return cli.ErrFindings
	}
	return nil
}
