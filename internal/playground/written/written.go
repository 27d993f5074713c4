// Package written answers what the commands gen, sql and diff print about a text.
//
// It guarantees that no text and no request makes it panic, and that its answers are the
// bytes of the commands.
package written

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/serve/answers"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// file is a generated file.
type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Answer answers the questions gen, sql and diff. gen answers with a list of files, as
// `fsmgen gen` writes them into a folder beside the specification. sql takes a dialect.
// diff takes the older version: its name, a line feed, and its text. known is false for
// another question. An error is an *[answers.Refused].
func Answer(t *answers.Text, question string, request []byte) (answer []byte, known bool, err error) {
	switch question {
	case "gen", "sql", "diff":
	default:
		return nil, false, nil
	}
	if !t.Usable() {
		return nil, true, refuse("the specification has errors; fix them first")
	}
	switch question {
	case "gen":
		answer, err = files(t)
	case "sql":
		answer, err = gen.Schema(t.Machine, string(request), "full")
	default:
		answer, err = compare(t, string(request))
	}
	var refused *answers.Refused
	if err != nil && !errors.As(err, &refused) {
		err = refuse("%v", err)
	}
	return answer, true, err
}

func refuse(format string, args ...any) error {
	return &answers.Refused{Status: answers.Conflict, Text: fmt.Sprintf(format, args...)}
}

func files(t *answers.Text) ([]byte, error) {
	made, err := gen.Generate(t.Machine, gen.Options{Spec: "../" + t.Name})
	var found spec.Diagnostics
	switch {
	case errors.As(err, &found):
		return nil, refuse("%s", strings.TrimSuffix(spec.Render(found[0], spec.Lines(t.Source)), "\n"))
	case err != nil:
		return nil, err
	}
	list := make([]file, len(made))
	for i, f := range made {
		list[i] = file{f.Name, string(f.Data)}
	}
	return json.Marshal(list)
}

// compare is what `fsmgen diff` prints.
func compare(t *answers.Text, older string) ([]byte, error) {
	name, src, _ := strings.Cut(older, "\n")
	old, found := validate.Source(name, []byte(src))
	if old == nil {
		return nil, refuse("the older version has errors: %v", found.Err())
	}
	report := diff.Machines(old, t.Machine)
	was, notOld := gen.Symbols(old)
	is, notNew := gen.Symbols(t.Machine)
	if notOld == nil && notNew == nil { // else a version has errors, and so no package
		report.Symbols(was, is)
	}
	return []byte(report.Text()), nil
}
