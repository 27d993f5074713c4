package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Report is the JSON form of what a command found and did.
type Report struct {
	Findings []findingReport `json:"findings"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Files    []FileReport    `json:"files,omitempty"`
	Output   *OutputReport   `json:"output,omitempty"` // what is printed without --json
}

// OutputReport is a result that stands in no file.
type OutputReport struct {
	Format string `json:"format"`
	Text   string `json:"text,omitempty"`
	Base64 string `json:"base64,omitempty"` // of a result that is no text
}

// NewOutputReport reports a result of a format.
func NewOutputReport(format string, data []byte) *OutputReport {
	if !utf8.Valid(data) {
		return &OutputReport{Format: format, Base64: base64.StdEncoding.EncodeToString(data)}
	}
	return &OutputReport{Format: format, Text: string(data)}
}

// Give prints a result: as it is, or as JSON with what was found beside it.
func (c *CLI) Give(s *Source, asJSON bool, format string, data []byte) error {
	if !asJSON {
		return c.Write(data)
	}
	r := NewReport([]*Source{s}, nil)
	r.Output = NewOutputReport(format, data)
	return c.PrintJSON(r)
}

// Accepts prints what was found in a specification that is about to be used, and
// reports whether it can be. As JSON, findings that do not hinder it are printed
// with the result.
func (c *CLI) Accepts(s *Source, asJSON bool) error {
	if !asJSON {
		c.RenderAll(c.Err, []*Source{s}, spec.Warning)
	}
	if !s.Found.HasErrors() {
		return nil
	}
	if asJSON {
		if err := c.PrintJSON(NewReport([]*Source{s}, nil)); err != nil {
			return err
		}
	}
	return ErrFindings
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
	Fix      []editReport    `json:"fix,omitempty"`
	Choice   bool            `json:"choice,omitempty"` // fix is one of several ways out
}

// editReport is an edit of the file that makes a finding go.
type editReport struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Length int    `json:"length"`
	Text   string `json:"text"`
}

type relatedReport struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// NewReport reports what was found in sources, and files. It tries the edits that
// findings offer.
func NewReport(sources []*Source, files []FileReport) Report {
	r := Report{Findings: []findingReport{}, Files: files}
	r.Errors, r.Warnings = Tally(sources)
	for _, s := range sources {
		for _, d := range validate.Tried(s.Name, s.Text, s.Machine, s.Found) {
			r.Findings = append(r.Findings, newFindingReport(d))
		}
	}
	return r
}

// Tally counts the errors and the warnings of sources.
func Tally(sources []*Source) (errors, warnings int) {
	for _, s := range sources {
		for _, d := range s.Found {
			switch d.Severity {
			case spec.Error:
				errors++
			case spec.Warning:
				warnings++
			}
		}
	}
	return errors, warnings
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
	for _, e := range d.Fix {
		f.Fix = append(f.Fix, editReport{Line: e.Pos.Line, Column: e.Pos.Col, Length: e.Len, Text: e.Text})
		f.Choice = validate.Choice(d)
	}
	return f
}

// PrintJSON prints v as a result.
func (c *CLI) PrintJSON(v any) error {
	e := json.NewEncoder(c.Out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return Usagef("cannot print: %w", err)
	}
	return nil
}

// AnyErrors reports whether a finding of the sources is an error.
func AnyErrors(sources []*Source) bool {
	for _, s := range sources {
		if s.Found.HasErrors() {
			return true
		}
	}
	return false
}

// Count writes a number of things: 1 file, 2 files.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Least is how light a finding may be to be printed: informations are remarks.
func (c *CLI) Least(s spec.Severity) spec.Severity {
	if c.Quiet {
		return min(s, spec.Warning)
	}
	return s
}

// RenderAll prints what was found in the sources as text, down to a severity,
// and how many findings there are when there is more than one. Informations are
// for `check`: those who generate have asked for something else.
func (c *CLI) RenderAll(w io.Writer, sources []*Source, least spec.Severity) {
	colours := Colourful(w)
	errors, warnings := Tally(sources)
	for _, s := range sources {
		lines := spec.Lines(s.Text)
		for _, d := range s.Found {
			if d.Severity > least {
				continue
			}
			text := spec.Render(d, lines)
			if colours {
				text = coloured(d, text)
			}
			_, _ = io.WriteString(w, text) // a reader that went away is no error of ours
			c.ToExplain(d.Code)
		}
	}
	if errors+warnings > 1 {
		_, _ = fmt.Fprintf(w, "%s, %s\n", Count(errors, "error"), Count(warnings, "warning"))
	}
}

// ToExplain remembers that a finding of the code was printed: see PointOut.
func (c *CLI) ToExplain(code string) {
	if code != "" && !slices.Contains(c.explain, code) {
		c.explain = append(c.explain, code)
	}
}

// PointOut names, once for all findings that were printed, the command that explains
// them. It is no part of a result, so it goes to the error stream.
func (c *CLI) PointOut() {
	if len(c.explain) > 0 && !c.Quiet {
		slices.Sort(c.explain)
		c.Errorf("for more, run: fsmgen explain %s\n", strings.Join(c.explain, " "))
	}
	c.explain = nil
}

// OneLine writes v as JSON that a terminal may have.
func OneLine(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // reports are made of texts and numbers
	}
	return string(PlainJSON([]byte(strings.TrimSuffix(b.String(), "\n"))))
}

// Place names a record, or an event of it.
func Place(id string, rev, n int64) string {
	switch {
	case rev == 0:
		return id
	case n == 0:
		return fmt.Sprintf("%s@%d", id, rev)
	}
	return fmt.Sprintf("%s@%d.%d", id, rev, n)
}

// FileReport is the JSON form of one file on disk.
type FileReport struct {
	Path    string `json:"path"`
	Status  string `json:"status"` // before the run
	Written bool   `json:"written"`
}
