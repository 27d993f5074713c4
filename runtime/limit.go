package fsm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The limits of what is stored. They are the same over every store, and a call is
// held against them before anything is written, so that whatever is accepted can
// be read again everywhere: an event wraps the values of a call, and a transaction
// of the smallest store (etcd: 1.5 MiB) holds inputs, changes and image of an
// event, the row that was and the row that comes.
const (
	// MaxCall is the greatest size of a call in bytes: inputs as JSON, labels and
	// reason. It is also that of a record: all its fields as JSON. See WithMaxCall.
	MaxCall = 192 << 10
	// mostCall is the greatest size that WithMaxCall can set.
	mostCall = 8 << 20
	// MaxDepth is how deep arrays and objects of a JSON value may be nested.
	// SQLite reads 1 000 levels, encoding/json 10 000; an event adds two.
	MaxDepth = 500
	// MaxIndexed is how many bytes, as JSON, the texts of one record may have that
	// stand together in an index: those of a unique rule, of an order, of a group.
	MaxIndexed = 2000
)

// WithMaxCall sets how large a call and a record may be, from MaxCall (the default)
// to 8 MiB. Only SQLite and PostgreSQL hold calls that are larger than MaxCall.
func WithMaxCall(bytes int) Option { return func(o *Options) { o.most = bytes } }

// sizeError is what a value is too large for; it becomes a refusal.
type sizeError struct{ text string }

func (e *sizeError) Error() string { return e.text }

// checkJSON returns an error unless a JSON text can be stored and read everywhere.
func checkJSON(text string) error {
	if err := CheckText(text); err != nil {
		return err
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	if deepest > MaxDepth {
		return &sizeError{fmt.Sprintf("it is nested %d levels deep, at most %d are possible", deepest, MaxDepth)}
	}
	return nil
}

// badInput makes a refusal of an input that cannot be written.
func (m *Machine[R]) badInput(err error, op *Operation[R], id string) error {
	var bad *memberError
	if !errors.As(err, &bad) {
		return err
	}
	code := CodeInvalidInput
	if size := (*sizeError)(nil); errors.As(err, &size) {
		code = CodeTooLarge
	}
	r := m.refusal(code, op, id, "")
	r.Name, r.Message = bad.name, bad.err.Error()
	return r
}

// fits refuses a step that would make a record larger than stores can hold, or put
// a text into an index that is longer than indexes take. A record that is too large
// already may stay so.
func (m *Machine[R]) fits(op *Operation[R], prev, row *Row, changed []int) error {
	upper := 0
	for _, v := range row.Values {
		if s, ok := v.(string); ok {
			upper += len(s)
		}
	}
	if upper *= 6; upper <= MaxIndexed { // no text grows more by being written as JSON
		return nil
	}
	if err := m.fitsIndexes(op, row, changed); err != nil || upper+64*len(row.Values) <= m.options.most {
		return err
	}
	image, err := imageOf(m.schema, row)
	if err != nil || len(image.text) <= m.options.most {
		return err
	}
	if before, err := imageOf(m.schema, prev); err == nil && len(before.text) >= len(image.text) {
		return nil
	}
	return m.oversize(op, row.ID, "", "the record would have %d bytes, at most %d are possible", len(image.text), m.options.most)
}

// fitsIndexes is fits for the texts by which records are found.
func (m *Machine[R]) fitsIndexes(op *Operation[R], row *Row, changed []int) error {
	for _, columns := range m.indexed {
		size, touched := 0, false
		var names []string
		for _, i := range columns {
			s, _ := row.Values[i].(string)
			size += textSize(s)
			touched = touched || slices.Contains(changed, i)
		}
		if size <= MaxIndexed || !touched {
			continue
		}
		for _, i := range columns {
			names = append(names, m.schema.Columns[i].Name)
		}
		return m.oversize(op, row.ID, strings.Join(names, ", "),
			"an index holds it: it has %d bytes, at most %d are possible", size, MaxIndexed)
	}
	return nil
}

// textSize returns how many bytes appendText makes of s, its quotes aside.
func textSize(s string) int {
	size := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			size++
		case c < 0x20:
			size += len(`\u0000`) - 1
		}
	}
	return size
}

// indexedColumns lists the columns of each index that hold texts.
func indexedColumns(s *Schema) [][]int {
	var lists [][]int
	add := func(names []string) {
		var list []int
		for _, name := range names {
			if i := s.Column(name); i >= 0 && s.Columns[i].Kind == KindString {
				list = append(list, i)
			}
		}
		if list != nil {
			lists = append(lists, list)
		}
	}
	for i := range s.Uniques {
		add(s.Uniques[i].Columns)
	}
	for i := range s.Indexes {
		names := slices.Clone(s.Indexes[i].Columns)
		for _, o := range s.Indexes[i].Order {
			names = append(names, o.Column)
		}
		add(names)
	}
	return lists
}

func (m *Machine[R]) oversize(op *Operation[R], id, name, format string, args ...any) error {
	r := m.refusal(CodeTooLarge, op, id, "")
	r.Name, r.Message = name, fmt.Sprintf(format, args...)
	return r
}
