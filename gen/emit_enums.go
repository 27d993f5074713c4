package gen

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// enumType is one closed list of words as a Go type: State, Operation,
// EventName, and the enums of fields and inputs.
type enumType struct {
	name   string   // of the type
	doc    []string // of the type
	block  string   // comment above the constants
	consts []enumConst
	noun   string      // what a value is, in messages: "state"
	inRows bool        // records hold it
	gone   []enumConst // words that are read as another constant, and never written
}

type enumConst struct {
	name   string // StateQueued
	word   string // name in the specification
	stored string // in rows and events
	doc    string
}

// renamed reports whether a stored word differs from its name.
func (t *enumType) renamed() bool {
	for _, c := range t.consts {
		if c.word != c.stored {
			return true
		}
	}
	return false
}

// tableOf returns the variable that holds the names.
func (t *enumType) table(suffix string) string { return lowerFirst(t.name) + suffix }

// integer is the integer behind the type: a byte, where one is left besides the
// values and zero.
func (t *enumType) integer() string {
	if len(t.consts) < math.MaxUint8 {
		return "uint8"
	}
	return "uint16"
}

// enum adds a type with its constants, its texts, and its forms in JSON and SQL.
func enum(f *jen.File, t *enumType) {
	f.Line()
	f.Add(doc(t.doc...)).
		Type().Id(t.name).Id(t.integer())
	f.Line()
	f.Add(doc(t.block)).
		Const().DefsFunc(func(g *jen.Group) {
		for i, c := range t.consts {
			if c.doc != "" {
				g.Add(docIndented(1, c.name+": "+lead(c.doc))).Add(enumConstant(t, i, c))
			} else {
				g.Add(enumConstant(t, i, c))
			}
		}
	})
	f.Line()
	enumTable(f.Null(), t.table("Names"), t, func(c enumConst) string { return c.word })
	if t.renamed() {
		f.Line()
		enumTable(f.Add(doc(fmt.Sprintf("%s are the words in rows and events: the first names.", t.table("Words")))), t.table("Words"), t, func(c enumConst) string { return c.stored })
	}
	f.Line()
	enumMethods(f, t)
}

func enumConstant(t *enumType, i int, c enumConst) *jen.Statement {
	if i == 0 {
		return jen.Id(c.name).Id(t.name).Op("=").Iota().Op("+").Lit(1)
	}
	return jen.Id(c.name)
}

func enumTable(s *jen.Statement, name string, t *enumType, text func(enumConst) string) {
	s.Var().Id(name).Op("=").Index(jen.Op("...")).String().ValuesFunc(func(g *jen.Group) {
		for _, c := range t.consts {
			g.Line().Id(c.name).Op(":").Lit(text(c))
		}
		g.Line()
	})
}

func enumMethods(f *jen.File, t *enumType) {
	r := receiver(t.name)
	names, stored := t.table("Names"), t.table("Names")
	if t.renamed() {
		stored = t.table("Words")
	}
	f.Add(doc("String returns the name in the specification.")).
		Func().Params(raw("%s %s", r, t.name)).Id("String").Params().String().Block(
		jen.If(raw("!%s.Valid()", r)).Block(
			jen.Return(jen.Qual("fmt", "Sprintf").Call(jen.Lit(t.name+"(%d)"), raw("%s(%s)", t.integer(), r))),
		),
		jen.Return(raw("%s[%s]", names, r)),
	)
	if t.renamed() && t.inRows {
		f.Line()
		f.Add(doc("word returns what rows and events hold.")).
			Func().Params(raw("%s %s", r, t.name)).Id("word").Params().String().Block(
			jen.If(raw("!%s.Valid()", r)).Block(jen.Return(jen.Lit(""))),
			jen.Return(raw("%s[%s]", stored, r)),
		)
	}
	f.Line()
	f.Add(doc(fmt.Sprintf("Valid reports whether %s is one of the %ss of the specification.", r, t.noun))).
		Func().Params(raw("%s %s", r, t.name)).Id("Valid").Params().Bool().Block(
		jen.Return(raw("%s > 0 && int(%s) < len(%s)", r, r, names)),
	)
	f.Line()
	f.Add(doc("MarshalText returns the word that rows, events and JSON hold.")).
		Func().Params(raw("%s %s", r, t.name)).Id("MarshalText").Params().Params(raw("[]byte"), raw("error")).Block(
		jen.If(raw("!%s.Valid()", r)).Block(
			jen.Return(jen.Nil(), jen.Qual("fmt", "Errorf").Call(jen.Lit(fmt.Sprintf("%%d is no %s", t.noun)), raw("%s(%s)", t.integer(), r))),
		),
		jen.Return(raw("[]byte(%s[%s])", stored, r), jen.Nil()),
	)
	f.Line()
	f.Add(doc("UnmarshalText reads what MarshalText writes. An unknown word is an error.")).
		Func().Params(raw("%s *%s", r, t.name)).Id("UnmarshalText").Params(raw("text []byte")).Error().Block(
		jen.Switch(raw("string(text)")).BlockFunc(func(g *jen.Group) {
			for _, c := range t.consts {
				g.Case(jen.Lit(c.stored)).Block(raw("*%s = %s", r, c.name))
			}
			for _, c := range t.gone {
				g.Case(jen.Lit(c.stored)).Block(jen.Comment("// "+c.doc), raw("*%s = %s", r, c.name))
			}
			g.Default().Block(jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit(fmt.Sprintf("unknown %s %%q; expected %s", t.noun, expectedWords(t))), raw("text"))))
		}),
		jen.Return(jen.Nil()),
	)
	f.Line()
	f.Add(doc("Value writes a column.")).
		Func().Params(raw("%s %s", r, t.name)).Id("Value").Params().Params(jen.Qual("database/sql/driver", "Value"), raw("error")).Block(
		raw("text, err := %s.MarshalText()", r),
		jen.If(raw("err != nil")).Block(jen.Return(raw("nil, err"))),
		jen.Return(raw("string(text), nil")),
	)
	f.Line()
	f.Add(doc("Scan reads a column.")).
		Func().Params(raw("%s *%s", r, t.name)).Id("Scan").Params(raw("src any")).Error().Block(
		jen.Switch(raw("text := src.(type)")).Block(
			jen.Case(jen.String()).Block(jen.Return(raw("%s.UnmarshalText([]byte(text))", r))),
			jen.Case(raw("[]byte")).Block(jen.Return(raw("%s.UnmarshalText(text)", r))),
		),
		jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit(fmt.Sprintf("cannot read %s from %%T", withArticle(t.noun))), raw("src"))),
	)
}

// expectedWords lists the words of a type for a message, unless they are many.
func expectedWords(t *enumType) string {
	const many = 12
	var words []string
	for _, c := range t.consts {
		words = append(words, c.stored)
	}
	if len(words) > many {
		return strconv.Itoa(len(words)) + " words that the specification lists"
	}
	return list(words, "or")
}

// receiver is the one letter that methods of a type call their value.
func receiver(typ string) string { return lowerFirst(typ)[:1] }

// stateType is the type of the states.
func stateType(m *spec.Machine, n *names) *enumType {
	t := &enumType{
		name:   "State",
		doc:    []string{fmt.Sprintf("State is the state of %s. The zero State is no state.", withArticle(m.Entity))},
		block:  "The states, in the order of the specification.",
		noun:   "state",
		inRows: true,
	}
	for _, s := range m.States {
		t.consts = append(t.consts, enumConst{n.state(s), s.Name, s.Stored(), stateDoc(s)})
	}
	for _, r := range m.Removed {
		text := fmt.Sprintf("a state that is gone: old rows and events that name it are read as %s", r.To.State.Name)
		t.gone = append(t.gone, enumConst{name: n.state(r.To.State), stored: r.Name, doc: text})
	}
	return t
}

// operationType is the type of the operations.
func operationType(m *spec.Machine, n *names) *enumType {
	t := &enumType{
		name:  "Operation",
		doc:   []string{"Operation is one of the operations. The zero Operation is none."},
		block: "The operations, in the order of the specification.",
		noun:  "operation",
	}
	for _, o := range m.Operations {
		t.consts = append(t.consts, enumConst{n.op(o).Const, o.Name, o.Stored(), ""})
	}
	return t
}

// eventType is the type of the event names.
func eventType(n *names) *enumType {
	t := &enumType{
		name:  "EventName",
		doc:   []string{"EventName is what the log calls an event. The zero EventName is none."},
		block: "The event names, in the order of the operations that write them.",
		noun:  "event",
	}
	for _, e := range n.events {
		t.consts = append(t.consts, enumConst{e.Const, e.Name, e.Stored, ""})
	}
	return t
}

// valueType is the type of an enum field or input.
func valueType(e *enumNames) *enumType {
	t := &enumType{
		name:   e.Type,
		doc:    []string{fmt.Sprintf("%s is a value of %s. The zero %s is none.", e.Type, e.Doc, e.Type)},
		block:  "The values, in the order of the specification.",
		noun:   "value",
		inRows: true,
	}
	for i, v := range e.Values {
		t.consts = append(t.consts, enumConst{e.Consts[i], v.Name, v.Stored(), ""})
	}
	return t
}
