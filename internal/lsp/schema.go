package lsp

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/fsmgen/fsmgen/spec"
)

// schema is what the server needs of a part of the JSON Schema of specifications.
type schema struct {
	Ref        string             `json:"$ref"`
	Doc        string             `json:"description"`
	Type       any                `json:"type"`
	Enum       []any              `json:"enum"`
	Const      any                `json:"const"`
	Properties ordered            `json:"properties"`
	Others     others             `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	Required   []string           `json:"required"`
	Defs       map[string]*schema `json:"$defs"`
}

// others is what the values of keys are that the schema does not name; nil where there are none.
type others struct{ *schema }

func (o *others) UnmarshalJSON(data []byte) error {
	if data[0] != '{' { // false
		return nil
	}
	return json.Unmarshal(data, &o.schema)
}

// ordered are properties in the order of the schema.
type ordered struct {
	names []string
	of    map[string]*schema
}

func (o *ordered) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &o.of); err != nil {
		return err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	if _, err := dec.Token(); err != nil { // the bracket
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if text, ok := name.(string); ok {
			o.names = append(o.names, text)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// theSchema is read once.
var theSchema = sync.OnceValue(func() *schema {
	s := new(schema)
	if err := json.Unmarshal(spec.Schema(), s); err != nil {
		panic(err) // a test reads it
	}
	return s
})

// schemasAt are the parts of the schema that a path may mean; several where there are
// alternatives.
func schemasAt(path []string) []*schema {
	here := flat(nil, theSchema())
	for _, step := range path {
		var next []*schema
		for _, s := range here {
			switch {
			case step == item:
				next = flat(next, s.Items)
			case s.Properties.of[step] != nil:
				next = flat(next, s.Properties.of[step])
			default:
				next = flat(next, s.Others.schema)
			}
		}
		here = next
	}
	return here
}

// flat adds a part with what it refers to and its alternatives.
func flat(list []*schema, s *schema) []*schema {
	if s == nil {
		return list
	}
	list = append(list, s)
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		list = flat(list, theSchema().Defs[name])
	}
	for _, a := range s.AnyOf {
		list = flat(list, a)
	}
	return list
}

// docOf says what a key is for; empty where the schema does not say.
func docOf(path []string) string {
	for _, s := range schemasAt(path) {
		if s.Doc != "" {
			return s.Doc
		}
	}
	return ""
}

// is reports whether one of the parts has a type.
func is(list []*schema, kind string) bool {
	return slices.ContainsFunc(list, func(s *schema) bool {
		if all, ok := s.Type.([]any); ok {
			return slices.Contains(all, any(kind))
		}
		return s.Type == kind
	})
}

// words are the values that the schema lists.
func words(list []*schema) (out []string) {
	for _, s := range list {
		for _, v := range append(slices.Clone(s.Enum), s.Const) {
			switch v := v.(type) {
			case string:
				out = append(out, v)
			case bool:
				out = append(out, map[bool]string{true: "true", false: "false"}[v])
			case float64:
				out = append(out, "1") // the version of the language is the only number
			}
		}
	}
	if is(list, "boolean") && !is(list, "string") {
		out = append(out, "true", "false")
	}
	return out
}
