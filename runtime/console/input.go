package console

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// input is an input of an operation, as a form asks for it.
type input struct {
	Name, Doc string
	Optional  bool
	Wide      bool     // it may have several lines
	Words     []string // what it may be; none: a text
	Hint      string   // how it is written
	Given     string
	Known     suggestions // what the record at hand has there
}

// asks are the inputs of a form about a record; nil: about none, or many.
func (q *request) asks(s *step, given url.Values, row *driver.Row) (list []input) {
	for i := range s.takes {
		t := &s.takes[i]
		in := input{Name: t.Name, Doc: t.Doc, Optional: t.Optional, Words: t.Words, Given: given.Get("in." + t.Name)}
		switch {
		case t.Length:
			in.Hint = "90s, 5m, 12h"
		case t.Kind == driver.KindInt, t.Kind == driver.KindCounter, t.Kind == driver.KindSequence:
			in.Hint = "a whole number"
		case t.Kind == driver.KindTime:
			in.Hint = "2006-01-02T15:04:05Z, or +5m from when this page was made"
		case t.Kind == driver.KindBool:
			in.Words = []string{"true", "false"}
		case t.Kind == driver.KindJSON:
			in.Hint, in.Wide = "JSON", true
		case t.Kind == driver.KindSet:
			in.Hint, in.Wide = "one on each line", true
		case t.Kind == driver.KindString:
			in.Wide = t.Most > 200 || t.Most == 0
		}
		if in.Words == nil {
			in.Known = q.known(s, &in, row)
		}
		list = append(list, in)
	}
	return list
}

// values reads the inputs of a form.
func (q *request) values(s *step, made string) (map[string]any, error) {
	return valuesOf(s, made, func(name string) string { return q.r.PostForm.Get("in." + name) })
}

// valuesOf reads the inputs of a form that was made at a time.
func valuesOf(s *step, made string, given func(name string) string) (map[string]any, error) {
	values := map[string]any{}
	base, err := time.Parse(time.RFC3339Nano, made)
	if err != nil {
		return nil, badRequest("The form does not say when it was made. Load its page again.")
	}
	for i := range s.takes {
		t := &s.takes[i]
		text := strings.ReplaceAll(given(t.Name), "\r\n", "\n")
		if text == "" && (t.Optional || t.Kind != driver.KindString && t.Kind != driver.KindSet) {
			continue
		}
		v, err := inputValue(t, text, base)
		if err != nil {
			return nil, err
		}
		values[t.Name] = v
	}
	return values, nil
}

// inputValue reads an input as people write it, as a row would hold it. A time may be told from when the form was made: the
// same form sent again says the same.
func inputValue(t *fsmimpl.Argument, text string, base time.Time) (any, error) {
	wrong := func(problem string) error { return &fsmimpl.InputError{Input: t.Name, Problem: problem} }
	switch {
	case t.Length:
		d, err := lengthOf(text)
		if err != nil {
			return nil, wrong(fmt.Sprintf("%q is no length of time: write it as 90s, 5m or 12h", text))
		}
		return d.Microseconds(), nil
	case t.Kind == driver.KindTime && strings.HasPrefix(text, "+"):
		d, err := lengthOf(text[1:])
		if err != nil {
			return nil, wrong(fmt.Sprintf("%q is no length of time: write it as +90s, +5m or +12h", text))
		}
		return driver.Time(base.Add(d)), nil
	case t.Kind == driver.KindJSON:
		j, err := driver.ParseJSON(text)
		if err != nil {
			return nil, wrong("it is no JSON: " + err.Error())
		}
		return j.String(), nil
	case t.Kind == driver.KindSet:
		var words []string
		for word := range strings.SplitSeq(text, "\n") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
		return driver.NewSet(words...).Text(), nil
	}
	return parseValue(&t.Column, text)
}

// lengthOf reads a length of time; days are 24 hours.
func lengthOf(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 32)
		if most := int64(math.MaxInt64 / (24 * time.Hour)); n > most || n < -most {
			return 0, strconv.ErrRange
		}
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// likely is a value that an input may well take.
func likely(t *fsmimpl.Argument, now time.Time) any {
	switch t.Kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return int64(1)
	case driver.KindBool:
		return true
	case driver.KindTime:
		return now
	case driver.KindJSON:
		return "{}"
	case driver.KindSet:
		return driver.NewSet("x").Text()
	}
	if len(t.Words) > 0 {
		return t.Words[0]
	}
	return strings.Repeat("x", max(1, t.Least))
}
