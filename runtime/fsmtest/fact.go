package fsmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// fact is a condition in the words of the specification, taken apart.
type fact struct {
	text        string
	op          string // "is present", "is absent", "==", ..., "in", "not in", "covers"
	left, right term
}

// term is one side of a fact.
type term struct {
	field string // a declared or built-in field
	input string
	word  string // "actor", "now" or a word of an enum
	value any    // a literal
}

func (t term) isActor() bool { return t.word == "actor" }
func (t term) isNow() bool   { return t.word == "now" }

// parseFact reads one fact. A bare word that is no field is a word of an enum.
func parseFact(text string, isField func(string) bool) (fact, error) {
	w := strings.Fields(text)
	switch {
	case len(w) == 3 && w[1] == "is" && (w[2] == "present" || w[2] == "absent"):
		return fact{text: text, op: "is " + w[2], left: parseTerm(w[0], isField)}, nil
	case len(w) == 4 && w[1] == "not" && w[2] == "in":
		return fact{text: text, op: "not in", left: parseTerm(w[0], isField), right: parseTerm(w[3], isField)}, nil
	case len(w) == 3 && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "in", "covers"}, w[1]):
		return fact{text: text, op: w[1], left: parseTerm(w[0], isField), right: parseTerm(w[2], isField)}, nil
	}
	return fact{}, fmt.Errorf("%q is no fact", text)
}

func parseTerm(w string, isField func(string) bool) term {
	if x, ok := strings.CutPrefix(w, "input."); ok {
		return term{input: x}
	}
	if isField(w) {
		return term{field: w}
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return term{value: n}
	}
	switch w {
	case "true", "false":
		return term{value: w == "true"}
	}
	return term{word: w}
}

// holds decides a fact. A comparison with something absent is false.
func (m *model) holds(f fact, op *operation, r driver.Row, c Call) bool {
	left := m.termValue(f.left, op, r, c)
	switch f.op {
	case "is present":
		return m.present(f.left, op, left)
	case "is absent":
		return !m.present(f.left, op, left)
	}
	right := m.termValue(f.right, op, r, c)
	if left == nil || right == nil {
		return false
	}
	// Two enums may write one word in two ways: it is compared by its name.
	left, right = m.named(f.left, op, left), m.named(f.right, op, right)
	switch f.op {
	case "==":
		return left == right
	case "!=":
		return left != right
	case "in":
		return slices.Contains(members(right), left.(string))
	case "not in":
		return !slices.Contains(members(right), left.(string))
	case "covers":
		for _, x := range members(right) {
			if !slices.Contains(members(left), x) {
				return false
			}
		}
		return true
	}
	d := compare(left, right)
	switch f.op {
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	case ">":
		return d > 0
	}
	return d >= 0
}

// present says whether a term has a value; a set has one when it is not empty.
func (m *model) present(t term, op *operation, v any) bool {
	if y := m.termType(t, op); y != nil && y.kind == driver.KindSet {
		return len(members(v)) > 0
	}
	return v != nil
}

// named turns the stored word of an enum into the word that the specification
// uses now, as a word that stands in the fact itself is written.
func (m *model) named(t term, op *operation, v any) any {
	y := m.termType(t, op)
	if y == nil || y.kind != driver.KindEnum {
		return v
	}
	if i := slices.Index(y.stored, v.(string)); i >= 0 {
		return y.words[i]
	}
	return v
}

func (m *model) termType(t term, op *operation) *typ {
	switch {
	case t.field != "" && m.fields[t.field] != nil:
		return &m.fields[t.field].typ
	case t.input != "" && op != nil && op.input(t.input) != nil:
		return &op.input(t.input).typ
	}
	return nil
}

// termValue returns the value of a term, nil when it is absent. The other side
// says which enum a word belongs to.
func (m *model) termValue(t term, op *operation, r driver.Row, c Call) any {
	switch {
	case t.field == "created_at":
		return r.CreatedAt
	case t.field == "updated_at":
		return r.UpdatedAt
	case t.field != "":
		return r.Values[m.fields[t.field].index]
	case t.input != "":
		v := c.Inputs[t.input]
		if y := m.termType(t, op); v == nil && y != nil && !y.optional {
			v = y.empty()
		}
		return v
	case t.isActor():
		if c.Actor == "" {
			return nil
		}
		return c.Actor
	case t.isNow():
		return driver.Time(c.At)
	case t.word != "":
		return t.word
	}
	return t.value
}

func compare(a, b any) int {
	switch a := a.(type) {
	case int64:
		switch b := b.(int64); {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	case time.Time:
		return a.Compare(b.(time.Time))
	case string:
		return strings.Compare(a, b.(string))
	}
	panic(fmt.Sprintf("fsmtest: %T has no order", a))
}

// members reads a set as rows hold it.
func members(v any) []string {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	var list []string
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		panic("fsmtest: " + s + " is no set")
	}
	return list
}

// setOf writes a set as rows hold it.
func setOf(items ...string) string {
	b, err := fsm.NewSet(items...).MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(b)
}
