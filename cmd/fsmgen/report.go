package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// report is the JSON form of what a command found and did.
type report struct {
	Findings []findingReport `json:"findings"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Files    []fileReport    `json:"files,omitempty"`
	Output   *outputReport   `json:"output,omitempty"` // what is printed without --json
}

// outputReport is a result that stands in no file.
type outputReport struct {
	Format string `json:"format"`
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"` // of a result that is no text
}

func newOutputReport(format string, data []byte) *outputReport {
	if !utf8.Valid(data) {
		return &outputReport{Format: format, Base64: base64.StdEncoding.EncodeToString(data)}
	}
	return &outputReport{Format: format, Text: string(data)}
}

// give prints a result: as it is, or as JSON with what was found beside it.
func (c *cli) give(s *source, asJSON bool, format string, data []byte) error {
	if !asJSON {
		return c.write(data)
	}
	r := newReport([]*source{s}, nil)
	r.Output = newOutputReport(format, data)
	return c.printJSON(r)
}

// accepts prints what was found in a specification that is about to be used, and
// reports whether it can be. As JSON, findings that do not hinder it are printed
// with the result.
func (c *cli) accepts(s *source, asJSON bool) error {
	if !asJSON {
		c.renderAll(c.err, []*source{s}, spec.Warning)
	}
	if !s.found.HasErrors() {
		return nil
	}
	if asJSON {
		if err := c.printJSON(newReport([]*source{s}, nil)); err != nil {
			return err
		}
	}
	return errFindings
}

type findingReport struct {
	File     string          `json:"file"`
	Line     int             `json:"line"`
	Column   int             `json:"column"` // in characters, from 1
	Length   int             `json:"length"` // of the marked text in characters
	Severity string          `json:"severity"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
	Before   string          `json:"before,omitempty"`
	After    string          `json:"after,omitempty"`
	Related  []relatedReport `json:"related,omitempty"`
}

type relatedReport struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newReport(sources []*source, files []fileReport) report {
	r := report{Findings: []findingReport{}, Files: files}
	for _, s := range sources {
		for _, d := range s.found {
			switch d.Severity {
			case spec.Error:
				r.Errors++
			case spec.Warning:
				r.Warnings++
			}
			r.Findings = append(r.Findings, newFindingReport(d))
		}
	}
	return r
}

func newFindingReport(d spec.Diagnostic) findingReport {
	f := findingReport{
		File: d.File, Line: d.Pos.Line, Column: d.Pos.Col, Length: max(d.Len, 1),
		Severity: d.Severity.String(), Code: d.Code, Message: d.Message, Hint: d.Hint,
		Before: d.Before, After: d.After,
	}
	for _, r := range d.Related {
		f.Related = append(f.Related, relatedReport{Line: r.Pos.Line, Column: r.Pos.Col, Message: r.Message})
	}
	return f
}

// printJSON prints v as a result.
func (c *cli) printJSON(v any) error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return usagef("cannot print: %w", err)
	}
	return nil
}

// anyErrors reports whether a finding of the sources is an error.
func anyErrors(sources []*source) bool {
	for _, s := range sources {
		if s.found.HasErrors() {
			return true
		}
	}
	return false
}

// summary says how large a machine is, and how much of it was proven.
func summary(m *spec.Machine) string {
	cells := 0
	for _, o := range m.Operations {
		if len(o.Creates) == 0 {
			cells += len(m.States)
		}
	}
	proof := validate.Proof(m)
	return fmt.Sprintf("%s, %s, %s, %s, %s", count(len(m.States), "state"), count(len(m.Operations), "operation"), count(cells, "cell"),
		count(proof.Steps, "transition"), count(proof.Obligations, "proof obligation"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// least is how light a finding may be to be printed: informations are remarks.
func (c *cli) least(s spec.Severity) spec.Severity {
	if c.quiet {
		return min(s, spec.Warning)
	}
	return s
}

// renderAll prints what was found in the sources as text, down to a severity,
// and how many findings there are when there is more than one. Informations are
// for `check`: those who generate have asked for something else.
func (c *cli) renderAll(w io.Writer, sources []*source, least spec.Severity) {
	colours := colourful(w)
	r := newReport(sources, nil)
	for _, s := range sources {
		for _, d := range s.found {
			if d.Severity > least {
				continue
			}
			text := spec.Render(d, s.text)
			if colours {
				text = coloured(d, text)
			}
			_, _ = io.WriteString(w, text) // a reader that went away is no error of ours
		}
	}
	if r.Errors+r.Warnings > 1 {
		_, _ = fmt.Fprintf(w, "%s, %s\n", count(r.Errors, "error"), count(r.Warnings, "warning"))
	}
}
