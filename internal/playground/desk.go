// Package playground is the compiler behind a page that has no server: it answers
// questions about the text in an editor.
//
// Its answers are those of the page of `fsmgen serve` (package answers), and what the
// commands check and diagram print, byte for byte. What the commands gen, sql and diff
// print is in package written, which is a larger program: a page loads it when somebody
// asks for it.
//
// It guarantees that no text and no request makes a desk panic, and that it reads no
// file, no clock and no network.
package playground

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/serve/answers"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// Writer answers the questions of a larger program; known is false for a question that is none of its.
type Writer func(t *answers.Text, question string, request []byte) (answer []byte, known bool, err error)

// Desk answers questions about one text, the last that was put on it.
type Desk struct {
	Format model.Format // what writes Go tests; nil: none are written
	Write  Writer       // nil: none
	text   *answers.Text
}

// Read reads and checks a text.
func Read(name string, src []byte) *answers.Text {
	sum := sha256.Sum256(src)
	t := &answers.Text{Name: name, Hash: hex.EncodeToString(sum[:]), Source: src}
	t.Machine, t.Found = validate.Source(name, src)
	return t
}

// Ask answers a question. The question "text" puts the text of a request on the desk: its
// name, a line feed, and the specification; the answer is that of "machine". "picture.css" is
// the style of pictures. An error is an *[answers.Refused].
func (d *Desk) Ask(question string, request []byte) ([]byte, error) {
	if question == "text" {
		name, src, _ := bytes.Cut(request, []byte("\n"))
		d.text, question, request = Read(string(name), bytes.Clone(src)), "machine", nil
	}
	t := d.text
	if question == "picture.css" {
		return draw.Stylesheet(), nil
	}
	if t == nil {
		return nil, refuse("there is no text yet")
	}
	switch question {
	case "report":
		return []byte(Report(t)), nil
	case "fixes":
		return fixes(t)
	case "diagram":
		return diagram(t, string(request))
	}
	if d.Write != nil {
		if answer, known, err := d.Write(t, question, request); known {
			return answer, err
		}
	}
	return answers.Answer(context.Background(), t, question, request, answers.Options{Search: model.Search, Format: d.Format})
}

func refuse(format string, args ...any) error {
	return &answers.Refused{Status: answers.Conflict, Text: fmt.Sprintf(format, args...)}
}

// Report is what `fsmgen check` prints about a text.
func Report(t *answers.Text) string {
	var b strings.Builder
	lines := spec.Lines(t.Source)
	warnings := 0
	for _, f := range t.Found {
		b.WriteString(spec.Render(f, lines))
		if f.Severity == spec.Warning {
			warnings++
		}
	}
	errors := t.Errors()
	if errors+warnings > 1 {
		fmt.Fprintf(&b, "%s, %s\n", validate.Counted(errors, "error"), validate.Counted(warnings, "warning"))
	}
	if errors == 0 {
		fmt.Fprintf(&b, "%s: ok, %s\n", t.Name, validate.Extent(t.Machine))
	}
	return b.String()
}

// diagram is what `fsmgen diagram` prints in a format, with the detail that follows it.
func diagram(t *answers.Text, request string) ([]byte, error) {
	if !t.Usable() {
		return nil, refuse("the specification has errors; fix them to see the picture")
	}
	format, detail, _ := strings.Cut(request, " ")
	of, known := map[string]chart.Detail{"": chart.Brief, "brief": chart.Brief, "normal": chart.Guards, "full": chart.Full}[detail]
	if !known {
		return nil, refuse("the detail is %q; write brief, normal or full", detail)
	}
	c := chart.At(t.Machine, of)
	if format == "svg" {
		return draw.SVG(c, draw.Auto), nil
	}
	for _, f := range chart.Formats {
		if f.Name == format {
			return f.Write(c), nil
		}
	}
	return nil, refuse("the format is %q; write svg or one that `fsmgen diagram` has as text", format)
}

// fix is what the edits of a finding are: the finding by its number in "machine".
type fix struct {
	Finding int    `json:"finding"`
	Choice  bool   `json:"choice,omitempty"` // one of several ways out
	Edits   []edit `json:"edits"`
}

// edit replaces characters by a text; the end of a line is a character, too.
type edit struct {
	Line   int    `json:"line"`
	Column int    `json:"column"` // in characters, from 1
	Length int    `json:"length"`
	Text   string `json:"text"`
}

// fixes are the edits that take a finding away and bring no other error.
func fixes(t *answers.Text) ([]byte, error) {
	list := []fix{}
	for i, f := range validate.Tried(t.Name, t.Source, t.Machine, t.Found) {
		if len(f.Fix) == 0 {
			continue
		}
		one := fix{Finding: i, Choice: validate.Choice(f)}
		for _, e := range f.Fix {
			one.Edits = append(one.Edits, edit{e.Pos.Line, e.Pos.Col, e.Len, e.Text})
		}
		list = append(list, one)
	}
	return json.Marshal(list)
}
