package diff

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Text returns the changes for a terminal: one line each, at its place in the
// new file where it has one, with its other place and what to do about it. The same
// advice is given once, below the first change that it is for.
func (r *Report) Text() string {
	var b strings.Builder
	given := map[string]bool{}
	for _, c := range r.Changes {
		file, pos, other, otherPos := r.New.File, c.New, r.Old.File, c.Old
		if c.New.IsZero() {
			file, pos, other, otherPos = r.Old.File, c.Old, "", spec.Pos{}
		}
		fmt.Fprintf(&b, "%s:%s: %s: %s", file, pos, c.Class, c.Message)
		if c.Code != "" {
			fmt.Fprintf(&b, " [%s]", c.Code)
		}
		b.WriteByte('\n')
		if !otherPos.IsZero() && c.Breaking() {
			fmt.Fprintf(&b, "  before: %s:%s\n", other, otherPos)
		}
		if c.Hint != "" && !given[c.Hint] {
			fmt.Fprintf(&b, "  hint: %s\n", c.Hint)
			given[c.Hint] = true
		}
	}
	b.WriteString(r.Summary() + "\n")
	return b.String()
}

// Summary counts the changes in one line.
func (r *Report) Summary() string {
	if len(r.Changes) == 0 {
		return fmt.Sprintf("%s: nothing changed", r.New.File)
	}
	var parts []string
	for _, class := range Classes {
		if n := r.Count(class); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, class))
		}
	}
	text := r.New.File + ": " + strings.Join(parts, ", ")
	if r.unraised() {
		text += fmt.Sprintf("; the version is still %d: raise it, events carry it", r.New.Version)
	}
	return text
}

// unraised reports whether the meaning changed and the version did not rise.
func (r *Report) unraised() bool {
	return r.Old.Hash != r.New.Hash && r.Breaking() && r.New.Version <= r.Old.Version
}

// Document is the JSON form of a report.
type Document struct {
	Old      Version  `json:"old"`
	New      Version  `json:"new"`
	Breaking bool     `json:"breaking"`
	Changes  []Entry  `json:"changes"`
	Counts   Counts   `json:"counts"`
	Notes    []string `json:"notes,omitempty"`
}

// Version names one of the two specifications.
type Version struct {
	File    string `json:"file"`
	Machine string `json:"machine"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
}

// Entry is the JSON form of a change.
type Entry struct {
	Code    string `json:"code,omitempty"`
	Class   Class  `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Old     *Place `json:"old,omitempty"` // absent: not in the old file
	New     *Place `json:"new,omitempty"` // absent: not in the new file
}

// Place is a position in a file.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Counts is how many changes there are of each class.
type Counts struct {
	Data       int `json:"data"`
	Source     int `json:"source"`
	Behavior   int `json:"behavior"`
	Compatible int `json:"compatible"`
}

// Document returns the report for a program.
func (r *Report) Document() Document {
	version := func(m *spec.Machine) Version { return Version{m.File, m.Name, m.Version, m.Hash} }
	at := func(p spec.Pos) *Place {
		if p.IsZero() {
			return nil
		}
		return &Place{p.Line, p.Col}
	}
	d := Document{Old: version(r.Old), New: version(r.New), Breaking: r.Breaking(), Changes: []Entry{},
		Counts: Counts{r.Count(Data), r.Count(Source), r.Count(Behavior), r.Count(Compatible)}}
	for _, c := range r.Changes {
		d.Changes = append(d.Changes, Entry{c.Code, c.Class, c.Message, c.Hint, at(c.Old), at(c.New)})
	}
	if r.unraised() {
		d.Notes = append(d.Notes, fmt.Sprintf("the version is still %d: raise it, events carry it", r.New.Version))
	}
	return d
}

// Markdown returns the report as a comment on a change: one table per class.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Changes of `%s`\n\n", r.New.Name)
	if len(r.Changes) == 0 {
		b.WriteString("Nothing changed.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "From `%s` (version %d) to `%s` (version %d).\n", r.Old.File, r.Old.Version, r.New.File, r.New.Version)
	if r.unraised() {
		fmt.Fprintf(&b, "The version is still %d: raise it, events carry it.\n", r.New.Version)
	}
	titles := map[Class]string{
		Data: "Breaks stored rows and events (DATA)", Source: "Breaks Go code (SOURCE)",
		Behavior: "Changes what others rely on (BEHAVIOR)", Compatible: "Compatible",
	}
	for _, class := range Classes {
		if r.Count(class) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n| code | change | old | new | what to do |\n|---|---|---|---|---|\n", titles[class])
		for _, c := range r.Changes {
			if c.Class == class {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.Code, cell(c.Message), line(c.Old), line(c.New), cell(c.Hint))
			}
		}
	}
	return b.String()
}

// cell keeps a text within its cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

func line(p spec.Pos) string {
	if p.IsZero() {
		return ""
	}
	return p.String()
}
