// Package answers says what a page shows of a specification: the machine, its picture,
// where steps lead and why one is refused, and what the model checker finds.
//
// Each answer is a function of bytes: the text of the specification and a request, which
// is JSON. So the page of `fsmgen serve` and the one that runs in a browser alone have
// the same answers. Nothing here knows of HTTP, files or the clock.
//
// It guarantees that no text of a specification or a request makes it panic; that an
// answer depends on text and request alone, but for the seconds that a search took; and
// that names and values, which may be hostile, stand in an answer as text alone.
package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

// Text is a specification that was read and checked. Its parts are not changed.
type Text struct {
	Name    string // as findings show it
	Hash    string // of the source: another one means another text
	Source  []byte
	Machine *spec.Machine // nil when the text cannot be understood
	Found   spec.Diagnostics
}

// Usable reports whether the machine can be drawn and stepped through.
func (t *Text) Usable() bool { return t.Machine != nil && !t.Found.HasErrors() }

// Title is the name of the machine, or of the file where there is none.
func (t *Text) Title() string {
	if t.Machine != nil && t.Machine.Name != "" {
		return t.Machine.Name
	}
	return path.Base(t.Name)
}

// Errors counts the findings that are errors.
func (t *Text) Errors() int {
	_, n := findings(t)
	return n
}

// Search is [model.Search].
type Search func(context.Context, *spec.Machine, model.Options, func(looked, known int)) (model.Result, error)

// Options are what an answer may need besides the text.
type Options struct {
	Search Search
	Format model.Format // nil: no Go tests are made
}

// The kinds of refusals, as HTTP numbers them.
const (
	BadRequest = 400
	NotFound   = 404
	Conflict   = 409
	TooLarge   = 413
)

// Refused is a request that has no answer. Its text is for people.
type Refused struct {
	Status int // BadRequest, NotFound, Conflict or TooLarge
	Text   string
}

func (r *Refused) Error() string { return r.Text }

func refuse(status int, format string, args ...any) error {
	return &Refused{status, fmt.Sprintf(format, args...)}
}

// Answer answers one question about a text. The questions are machine and picture.svg,
// which take no request, and play, gotest and check. The answer is JSON, or the picture.
// An error is a *[Refused], or that of a search that was ended.
func Answer(ctx context.Context, t *Text, question string, request []byte, o Options) ([]byte, error) {
	var answer any
	var err error
	switch question {
	case "machine":
		return encode(machineOf(t)), nil
	case "picture.svg":
		if !t.Usable() {
			return nil, refuse(Conflict, "the specification has errors; fix them to see the picture")
		}
		return draw.Live(chart.At(t.Machine, chart.Brief)), nil
	case "play", "gotest":
		var session playRequest
		session, err = readSession(request)
		switch {
		case err != nil:
		case !t.Usable():
			err = refuse(Conflict, "the specification has errors; fix them to step through it")
		case question == "gotest" && o.Format == nil:
			err = refuse(NotFound, "nothing here writes Go")
		case question == "play":
			answer, err = play(t, session)
		default:
			answer, err = goTest(t, session, o.Format)
		}
	case "check":
		if t.Usable() {
			answer, err = check(ctx, t, request, o)
		} else {
			err = refuse(Conflict, "the specification has errors; fix them to search it")
		}
	default:
		err = refuse(NotFound, "nothing answers %q", question)
	}
	if err != nil {
		return nil, err
	}
	return encode(answer), nil
}

// encode writes an answer.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // answers are made of texts and numbers
	}
	return append(text, '\n')
}

// decode reads a request.
func decode(request []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(request))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the JSON value")
		}
	}
	if err != nil {
		return refuse(BadRequest, "the request cannot be read: %v", err)
	}
	return nil
}
