package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says how much a finding matters.
type Severity uint8

const (
	// Error stops generation.
	Error Severity = iota + 1
	// Warning is worth a change, but the machine can be generated.
	Warning
	// Info is a fact about the machine and no finding.
	Info
)

// String returns "error", "warning" or "info".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Info:
		return "info"
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// Related is a second place that a finding speaks of.
type Related struct {
	Pos     Pos
	Message string
}

// Diagnostic is one finding about a specification file. The message starts in
// lower case, says what is and what was expected, and has no full stop; Hint
// says how to fix it.
type Diagnostic struct {
	Code     string // "FSM010"
	Severity Severity
	File     string
	Pos      Pos
	Len      int // length of the marked text in characters; 0 marks one
	Message  string
	Hint     string
	Before   string // the record before the step, for findings of the proof
	After    string // the record after it
	Related  []Related
	Fix      []Edit // edits of the file that should make the finding go; nil where the author has to decide
}

// String returns "file:line:col: severity: message [code]".
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", d.File, d.Pos.Line, d.Pos.Col, d.Severity, d.Message, d.Code)
}

// Diagnostics is a list of findings. It is an error when it holds one of
// severity Error: see Err.
type Diagnostics []Diagnostic

// Sort orders the findings by file, position and code, and drops repetitions.
func (ds *Diagnostics) Sort() {
	slices.SortStableFunc(*ds, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	*ds = slices.CompactFunc(*ds, func(a, b Diagnostic) bool {
		return a.File == b.File && a.Pos == b.Pos && a.Code == b.Code && a.Message == b.Message
	})
}

// HasErrors reports whether a finding of severity Error is among ds.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err returns ds as an error when it holds a finding of severity Error, else nil.
func (ds Diagnostics) Err() error {
	if ds.HasErrors() {
		return ds
	}
	return nil
}

// Error returns the findings, one per line.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}
