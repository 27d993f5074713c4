package draft

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"strings"
)

// value is a value of JSON that knows where it stands, with its members in order.
type value struct {
	line   int
	object bool
	array  bool
	keys   []string
	items  []*value
	text   string // of a string, or of another scalar as it is written
	str    bool
}

// get returns a member, or nil.
func (v *value) get(key string) *value {
	if v == nil || !v.object {
		return nil
	}
	for i := len(v.keys) - 1; i >= 0; i-- {
		if v.keys[i] == key {
			return v.items[i]
		}
	}
	return nil
}

// word returns a string member, or "".
func (v *value) word(key string) string {
	if c := v.get(key); c != nil && c.str {
		return c.text
	}
	return ""
}

// list returns the items of an array, or a value that stands for a list of one.
func (v *value) list() []*value {
	switch {
	case v == nil || !v.array && !v.object && !v.str && v.text == "null":
		return nil
	case v.array:
		return v.items
	}
	return []*value{v}
}

// jsonReader reads values and knows the lines.
type jsonReader struct {
	dec   *json.Decoder
	lines []int // where each line begins
}

func newJSONReader(src []byte) *jsonReader {
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(src)), lines: []int{0}}
	r.dec.UseNumber()
	for i, c := range src {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	return r
}

func (r *jsonReader) place(offset int64) (line, col int) {
	line = sort.SearchInts(r.lines, int(offset)+1)
	return line, int(offset) - r.lines[line-1] + 1
}

// parseJSON reads a text that is one value.
func parseJSON(src []byte) (*value, error) {
	r := newJSONReader(src)
	v, err := r.value(0)
	if err == nil {
		if _, err = r.dec.Token(); errors.Is(err, io.EOF) {
			return v, nil
		} else if err == nil {
			line, col := r.place(r.dec.InputOffset())
			return nil, fail(line, max(col-1, 1), "something follows the JSON; expected one object")
		}
	}
	var broken *json.SyntaxError
	var placed *Error
	line, col := r.place(r.dec.InputOffset())
	switch {
	case errors.As(err, &placed):
		return nil, err
	case errors.As(err, &broken):
		at := max(min(broken.Offset, int64(len(src))-1), 0)
		for at < int64(len(src))-1 && strings.IndexByte(" \t\r\n", src[at]) >= 0 {
			at++
		}
		line, col = r.place(at)
		return nil, fail(line, col, "this is no JSON: %s; expected the machine as JSON, such as Stately exports it", broken.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fail(line, col, "the JSON ends too early; expected the machine as JSON, such as Stately exports it")
	}
	return nil, fail(line, col, "this is no JSON: %v", err)
}

func (r *jsonReader) value(depth int) (*value, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	line, col := r.place(max(r.dec.InputOffset()-1, 0))
	v := &value{line: line}
	if depth > 4*maxDepth {
		return nil, fail(line, col, "the values lie too deep in one another")
	}
	switch t := token.(type) {
	case json.Delim:
		v.object, v.array = t == '{', t == '['
		for r.dec.More() {
			if v.object {
				key, err := r.dec.Token()
				if err != nil {
					return nil, err
				}
				name, _ := key.(string)
				v.keys = append(v.keys, name)
			}
			at, _ := r.place(r.dec.InputOffset())
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			item.line = at
			v.items = append(v.items, item)
		}
		_, err := r.dec.Token()
		return v, err
	case string:
		v.text, v.str = t, true
	case json.Number:
		v.text = t.String()
	case bool:
		v.text = map[bool]string{true: "true", false: "false"}[t]
	default:
		v.text = "null"
	}
	return v, nil
}
