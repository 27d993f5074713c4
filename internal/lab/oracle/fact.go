package oracle

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
	Op          string // "is present", "is absent", "==", ..., "in", "not in", "covers"
	Left, Right Term
}

// Term is one side of a fact.
type Term struct {
	Field string // a declared or built-in field
	Input string
	word  string // "actor", "now" or a word of an enum
	value any    // a literal
}

func (t Term) isActor() bool { return t.word == "actor" }

// IsNow reports whether the term is the time of the call.
func (t Term) IsNow() bool { return t.word == "now" }

// parseFact reads one fact. A bare word that is no field is a word of an enum.
func parseFact(text string, isField func(string) bool) (fact, error) {
	w := strings.Fields(text)
	switch {
	case len(w) == 3 && w[1] == "is" && (w[2] == "present" || w[2] == "absent"):
		return fact{text: text, Op: "is " + w[2], Left: parseTerm(w[0], isField)}, nil
	case len(w) == 4 && w[1] == "not" && w[2] == "in":
		return fact{text: text, Op: "not in", Left: parseTerm(w[0], isField), Right: parseTerm(w[3], isField)}, nil
	case len(w) == 3 && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "in", "covers"}, w[1]):
		return fact{text: text, Op: w[1], Left: parseTerm(w[0], isField), Right: parseTerm(w[2], isField)}, nil
	}
	return fact{}, fmt.Errorf("%q is no fact", text)
}

func parseTerm(w string, isField func(string) bool) Term {
	if x, ok := strings.CutPrefix(w, "input."); ok {
		return Term{Input: x}
	}
	if isField(w) {
		return Term{Field: w}
	}
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		return Term{value: n}
	}
	switch w {
	case "true", "false":
		return Term{value: w == "true"}
	}
	return Term{word: w}
}

// holds decides a fact. A comparison with something absent is false.
func (m *Model) holds(f fact, op *Op, r driver.Row, c Call) bool {
	left := m.TermValue(f.Left, op, r, c)
	switch f.Op {
	case "is present":
		return m.present(f.Left, op, left)
	case "is absent":
		return !m.present(f.Left, op, left)
	}
	right := m.TermValue(f.Right, op, r, c)
	if left == nil || right == nil {
		return false
	}
	// Two enums may write one word in two ways: it is compared by its name.
	left, right = m.named(f.Left, op, left), m.named(f.Right, op, right)
	switch f.Op {
	case "==":
		return left == right
	case "!=":
		return left != right
	case "in":
		return slices.Contains(Members(right), left.(string))
	case "not in":
		return !slices.Contains(Members(right), left.(string))
	case "covers":
		for _, x := range Members(right) {
			if !slices.Contains(Members(left), x) {
				return false
			}
		}
		return true
	}
	d := Compare(left, right)
	switch f.Op {
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
func (m *Model) present(t Term, op *Op, v any) bool {
	if y := m.termType(t, op); y != nil && y.Kind == driver.KindSet {
		return len(Members(v)) > 0
	}
	return v != nil
}

// named turns the stored word of an enum into the word that the specification
// uses now, as a word that stands in the fact itself is written.
func (m *Model) named(t Term, op *Op, v any) any {
	y := m.termType(t, op)
	if y == nil || y.Kind != driver.KindEnum {
		return v
	}
	if i := slices.Index(y.StoredWords, v.(string)); i >= 0 {
		return y.Names[i]
	}
	return v
}

func (m *Model) termType(t Term, op *Op) *Typ {
	switch {
	case t.Field != "" && m.FieldByName[t.Field] != nil:
		return &m.FieldByName[t.Field].Typ
	case t.Input != "" && op != nil && op.InputNamed(t.Input) != nil:
		return &op.InputNamed(t.Input).Typ
	}
	return nil
}

// TermValue returns the value of a term, nil when it is absent. The other side
// says which enum a word belongs to.
func (m *Model) TermValue(t Term, op *Op, r driver.Row, c Call) any {
	switch {
	case t.Field == "created_at":
		return r.CreatedAt
	case t.Field == "updated_at":
		return r.UpdatedAt
	case t.Field != "":
		return r.Values[m.FieldByName[t.Field].Index]
	case t.Input != "":
		v := c.Inputs[t.Input]
		if y := m.termType(t, op); v == nil && y != nil && !y.Optional {
			v = y.Empty()
		}
		return v
	case t.isActor():
		if c.Actor == "" {
			return nil
		}
		return c.Actor
	case t.IsNow():
		return driver.Time(c.At)
	case t.word != "":
		return t.word
	}
	return t.value
}

// Compare orders two values of one kind.
func Compare(a, b any) int {
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
	panic(fmt.Sprintf("fsmcases: %T has no order", a))
}

// Members reads a set as rows hold it.
func Members(v any) []string {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	var list []string
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		panic("fsmcases: " + s + " is no set")
	}
	return list
}

// SetOf writes a set as rows hold it.
func SetOf(items ...string) string {
	b, err := fsm.NewSet(items...).MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(b)
}
