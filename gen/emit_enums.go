package gen

import (
	"fmt"
	"math"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// enumType is one closed list of words as a Go type: State
// and the enums of fields and inputs.
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

// table is the variable that holds the names.
func (t *enumType) table(suffix string) string { return lowerFirst(t.name) + suffix }

// integer is the integer behind the type: a byte, where one is left besides the
// values and zero.
func (t *enumType) integer() string {
	if len(t.consts) < math.MaxUint8 {
		return "uint8"
	}
	return "uint16"
}

// enum adds a type with its constants, its texts, and its form in JSON.
func enum(f *jen.File, n *names, t *enumType) {
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
		enumTable(f.Add(doc(fmt.Sprintf("%s are the words in %s: the first names.", t.table("Words"), n.stored()))), t.table("Words"), t, func(c enumConst) string { return c.stored })
	}
	enumMethods(f, n, t)
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

// stored is where the words of enums are found again.
func (n *names) stored() string {
	if n.alone {
		return "JSON"
	}
	return "rows, events and JSON"
}

func enumMethods(f *jen.File, n *names, t *enumType) {
	r := receiver(t.name)
	names, stored := t.table("Names"), t.table("Names")
	if t.renamed() {
		stored = t.table("Words")
	}
	method := func(text, on, name string, params, result jen.Code, body ...jen.Code) {
		f.Line()
		f.Add(doc(text)).Func().Params(raw("%s %s%s", r, on, t.name)).Id(name).Params(params).Add(result).Block(body...)
	}
	method("String returns the name in the specification.", "", "String", nil, jen.String(),
		jen.Return(raw("%s(%s[:], %s, %q)", n.of("fsmimpl.Name"), names, r, t.name)))
	if t.renamed() && t.inRows && !n.alone {
		method("word returns what rows and events hold.", "", "word", nil, jen.String(),
			jen.If(raw("!%s.Valid()", r)).Block(jen.Return(jen.Lit(""))),
			jen.Return(raw("%s[%s]", stored, r)))
	}
	method(fmt.Sprintf("Valid reports whether %s is one of the %ss of the specification.", r, t.noun), "", "Valid", nil, jen.Bool(),
		jen.Return(raw("%s > 0 && int(%s) < len(%s)", r, r, names)))
	method("MarshalText returns the word that "+n.stored()+" hold.", "", "MarshalText", nil, jen.Params(raw("[]byte"), raw("error")),
		jen.Return(raw("%s(%s[:], %s, %q)", n.of("fsmimpl.Text"), stored, r, t.noun)))
	var body []jen.Code
	if t.gone != nil {
		body = append(body, jen.Switch(raw("string(text)")).BlockFunc(func(g *jen.Group) {
			for _, c := range t.gone {
				g.Case(jen.Lit(c.stored)).Block(jen.Comment("// "+c.doc), raw("*%s = %s", r, c.name), jen.Return(jen.Nil()))
			}
		}))
	}
	method("UnmarshalText reads what MarshalText returns. An unknown word is an error.", "*", "UnmarshalText", raw("text []byte"), jen.Error(),
		append(body, jen.Return(raw("%s(%s[:], text, %s, %q)", n.of("fsmimpl.Parse"), stored, r, t.noun)))...)
}

// receiver is the one letter that methods of a type call their value.
func receiver(typ string) string { return lowerFirst(typ)[:1] }

// stateType is the type of the states.
func stateType(m *spec.Machine, n *names) *enumType {
	t := &enumType{
		name:   "State",
		doc:    []string{fmt.Sprintf("State is the state of %s. The zero State is invalid.", withArticle(m.Entity))},
		block:  "The states, in the order of the specification.",
		noun:   "state",
		inRows: true,
	}
	for _, s := range m.States {
		t.consts = append(t.consts, enumConst{n.state(s), s.Name, s.Stored(), stateDoc(s)})
	}
	for _, r := range m.Removed {
		text := fmt.Sprintf("a state that is gone: what names it is read as %s", r.To.State.Name)
		t.gone = append(t.gone, enumConst{name: n.state(r.To.State), stored: r.Name, doc: text})
	}
	return t
}

// valueType is the type of an enum field or input.
func valueType(e *enumNames) *enumType {
	t := &enumType{
		name:   e.Type,
		doc:    []string{fmt.Sprintf("%s is a value of %s. Its zero value is invalid.", e.Type, e.Doc)},
		block:  "The values, in the order of the specification.",
		noun:   "value",
		inRows: true,
	}
	for i, v := range e.Values {
		t.consts = append(t.consts, enumConst{e.Consts[i], v.Name, v.Stored(), ""})
	}
	return t
}
