package gen

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/golang"
	"github.com/fsmgen/fsmgen/spec"
)

// encode adds the function that turns a record into a row.
func (s *store) encode(f *golang.File) {
	f.Line()
	f.Add(doc("encode returns the record as a row: stored words, and absent values as nil.")).
		Id("func").Id("encode").Params(raw("j *%s", s.n.Record)).Add(fsmName("Row")).Block(
		golang.Return(raw("fsm.Row").Values(
			golang.Line().Id("ID").Op(":").Add(raw("j.ID")),
			golang.Line().Id("State").Op(":").Add(raw("j.State.%s()", s.stateWord())),
			golang.Line().Id("Rev").Op(":").Add(raw("j.Rev")),
			golang.Line().Id("CreatedAt").Op(":").Add(raw("j.CreatedAt")),
			golang.Line().Id("UpdatedAt").Op(":").Add(raw("j.UpdatedAt")),
			golang.Line().Id("Values").Op(":").Index().Id("any").ValuesFunc(func(g *golang.Group) {
				for _, x := range s.m.Fields {
					g.Line().Add(raw(s.rows.storedColumn(x)))
				}
				if len(s.m.Fields) > 0 {
					g.Line()
				}
			}),
			golang.Line(),
		)),
	)
}

// stateWord names the method of State that returns the stored word.
func (s *store) stateWord() string {
	if stateType(s.m, s.n).renamed() {
		return "word"
	}
	return "String"
}

// decode adds the function that turns a row into a record.
func (s *store) decode(f *golang.File) {
	f.Line()
	f.Add(doc("decode returns the record of a row. It refuses unknown words and wrong types, and does not look at invariants: see Check.")).
		Id("func").Id("decode").Params(raw("r fsm.Row")).Params(raw(s.n.Record), raw("error")).BlockFunc(func(g *golang.Group) {
		g.Add().If(raw("len(r.Values) != len(schema.Columns)")).Block(
			golang.Return(raw(s.n.Record+"{}"), golang.Qual("fmt", "Errorf").Call(
				golang.Lit(s.m.Name+" %q: the row has %d columns, expected %d"), raw("r.ID"), raw("len(r.Values)"), raw("len(schema.Columns)"))),
		)
		g.Add(raw("j := %s{ID: r.ID, Rev: r.Rev, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}", s.n.Record))
		g.Add().Id("err").Op(":=").Qual("errors", "Join").CallFunc(func(g *golang.Group) {
			g.Line().Add(raw("j.State.UnmarshalText([]byte(r.State))"))
			for i, x := range s.m.Fields {
				read := "read"
				switch x.Type.Kind {
				case spec.KindEnum, spec.KindJSON, spec.KindSet:
					read = "scan"
				}
				if isOptional(x.Type) {
					read += "Optional"
				}
				s.rows.used[read] = true
				g.Line().Add(raw("%s(r, %d, &j.%s)", read, i, s.n.field(x)))
			}
			g.Line()
		})
		g.Add().If(raw("err != nil")).Block(
			golang.Return(raw(s.n.Record+"{}"), golang.Qual("fmt", "Errorf").Call(golang.Lit(s.m.Name+" %q: %w"), raw("r.ID"), raw("err"))),
		)
		g.Add().Return(raw("j"), raw("nil"))
	})
}

// columnFunctions adds the small functions between values and columns that the
// package uses.
func (s *store) columnFunctions(f *golang.File) {
	used := s.rows.used
	add := func(name, text string, signature *golang.Code, body ...*golang.Code) {
		if used[name] {
			f.Line()
			f.Add(doc(text)).Id("func").Id(name).Add(signature).Block(body...)
		}
	}
	wrongType := func(expected string) *golang.Code {
		return golang.Return(golang.Qual("fmt", "Errorf").Call(
			golang.Lit("column %s holds %T, expected "+expected), raw("schema.Columns[column].Stored"), raw("r.Values[column]")))
	}
	columnError := golang.Return(golang.Qual("fmt", "Errorf").Call(golang.Lit("column %s: %w"), raw("schema.Columns[column].Stored"), raw("err")))
	absentThen := golang.If(raw("r.Values[column] == nil")).Block(golang.Return(raw("nil")))
	scanner := golang.New().Types(raw("T any"), raw("P").Interface(raw("*T"), golang.Qual("database/sql", "Scanner")))

	add("column", "column returns an optional value as rows hold it: nil when it is absent.",
		raw("[T any](o fsm.Optional[T]) any"),
		golang.If(raw("v, ok := o.Get()"), raw("ok")).Block(golang.Return(raw("v"))),
		golang.Return(raw("nil")))
	add("columnOf", "columnOf is column for a value that rows hold in another form.",
		raw("[T, V any](o fsm.Optional[T], form func(T) V) any"),
		golang.If(raw("v, ok := o.Get()"), raw("ok")).Block(golang.Return(raw("form(v)"))),
		golang.Return(raw("nil")))
	add("keyPart", "keyPart writes one column of an effect's key. Strings are quoted, so that no two keys read the same.",
		raw("(column any) string"),
		golang.Switch(raw("v := column.(type)")).Block(
			golang.Case(raw("nil")).Block(golang.Return(golang.Lit("-"))),
			golang.Case(raw("string")).Block(golang.Return(golang.Qual("strconv", "Quote").Call(raw("v")))),
			golang.Case(golang.Qual("time", "Time")).Block(golang.Return(raw("v.Format(time.RFC3339Nano)"))),
		),
		golang.Return(golang.Qual("fmt", "Sprint").Call(raw("column"))))
	add("read", "read copies a column that must be there.",
		raw("[T any](r fsm.Row, column int, to *T) error"),
		raw("v, ok := r.Values[column].(T)"),
		golang.If(raw("!ok")).Block(golang.Return(golang.Qual("fmt", "Errorf").Call(
			golang.Lit("column %s holds %T, expected %T"), raw("schema.Columns[column].Stored"), raw("r.Values[column]"), raw("*to")))),
		raw("*to = v"),
		golang.Return(raw("nil")))
	add("readOptional", "readOptional copies a column that may be absent.",
		raw("[T any](r fsm.Row, column int, to *fsm.Optional[T]) error"),
		absentThen,
		raw("v, ok := r.Values[column].(T)"),
		golang.If(raw("!ok")).Block(golang.Return(golang.Qual("fmt", "Errorf").Call(
			golang.Lit("column %s holds %T, expected %T"), raw("schema.Columns[column].Stored"), raw("r.Values[column]"), raw("v")))),
		raw("*to = fsm.Some(v)"),
		golang.Return(raw("nil")))
	add("scan", "scan reads a text column that must be there.",
		golang.Params(raw("r fsm.Row"), raw("column int"), raw("to").Qual("database/sql", "Scanner")).Id("error"),
		raw("text, ok := r.Values[column].(string)"),
		golang.If(raw("!ok")).Block(wrongType("a text")),
		golang.If(raw("err := to.Scan(text)"), raw("err != nil")).Block(columnError),
		golang.Return(raw("nil")))
	add("scanOptional", "scanOptional reads a text column that may be absent.",
		scanner.Params(raw("r fsm.Row"), raw("column int"), raw("to *fsm.Optional[T]")).Id("error"),
		absentThen,
		raw("text, ok := r.Values[column].(string)"),
		golang.If(raw("!ok")).Block(wrongType("a text")),
		raw("var v T"),
		golang.If(raw("err := P(&v).Scan(text)"), raw("err != nil")).Block(columnError),
		raw("*to = fsm.Some(v)"),
		golang.Return(raw("nil")))
}

// stepFunction adds the bridge from a pure method to the engine.
func (s *store) stepFunction(f *golang.File) {
	word := s.stateWord()
	f.Line()
	f.Add(doc("step hands what a pure method decided to the engine, in stored words.")).
		Id("func").Id("step").Params(raw("e Event, err error")).Params(raw("fsm.Step"), raw("error")).Block(
		golang.If(raw("err != nil")).Block(golang.Return(raw("fsm.Step{}, err"))),
		raw("s := fsm.Step{To: e.To.%s(), RecordOnly: e.RecordOnly, Guard: e.Guard}", word),
		golang.If(raw("e.From != 0")).Block(raw("s.From = e.From.%s()", word)),
		golang.Return(raw("s, nil")),
	)
}

// schema adds the embedded SQL and the description of the machine to stores.
func (s *store) schema(f *golang.File) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		f.Line()
		f.Add(golang.New().Comment(fmt.Sprintf("//go:embed %s.%s.sql", s.m.Name, dialect)).Line()).
			Id("var").Id(dialect + "SQL").Id("string")
	}
	f.Line()
	f.Add(doc("schema describes the machine to a store.")).
		Id("var").Id("schema").Op("=").Op("&").Add(fsmName("Schema")).ValuesFunc(func(g *golang.Group) {
		pair := func(name string, value *golang.Code) { g.Line().Id(name).Op(":").Add(value) }
		pair("Machine", golang.Lit(s.m.Name))
		pair("Entity", golang.Lit(s.m.Entity))
		pair("Version", golang.Lit(s.m.Version))
		pair("Hash", golang.Lit(s.m.Hash))
		if len(s.opt.Beside) > 0 {
			pair("Beside", golang.Index().Add(fsmName("SpecID")).ValuesFunc(func(g *golang.Group) {
				for _, id := range s.opt.Beside {
					g.Line().Values(raw("Version").Op(":").Lit(id.Version), raw("Hash").Op(":").Lit(id.Hash))
				}
				g.Line()
			}))
		}
		pair("Table", golang.Lit(s.m.Name))
		pair("Enforce", golang.Lit(s.opt.Enforce))
		pair("RequestID", raw(demand(s.m.RequestID)))
		pair("ExpectedRev", raw(demand(s.m.ExpectedRev)))
		pair("Columns", golang.Index().Add(fsmName("Column")).ValuesFunc(func(g *golang.Group) {
			for _, x := range s.m.Fields {
				g.Line().Add(raw(columnInfo(x)))
			}
			if len(s.m.Fields) > 0 {
				g.Line()
			}
		}))
		pair("States", golang.Index().Add(fsmName("StateInfo")).ValuesFunc(func(g *golang.Group) {
			for _, x := range s.m.States {
				g.Line().Add(raw(stateInfo(x)))
			}
			g.Line()
		}))
		if rules := uniqueRules(s.m); len(rules) > 0 {
			pair("Uniques", golang.Index().Add(fsmName("UniqueRule")).ValuesFunc(func(g *golang.Group) {
				for _, x := range rules {
					g.Line().Add(raw(s.uniqueInfo(x)))
				}
				g.Line()
			}))
		}
		if all := lookups(s.m); len(all) > 0 {
			pair("Indexes", golang.Index().Add(fsmName("Index")).ValuesFunc(func(g *golang.Group) {
				for _, x := range all {
					g.Line().Add(raw(indexInfo(x)))
				}
				g.Line()
			}))
		}
		pair("SQL", raw(`map[string]string{"sqlite": sqliteSQL, "postgres": postgresSQL}`))
		g.Line()
	})
}

func demand(d spec.Demand) string {
	switch d {
	case spec.Optional:
		return "fsm.Optionally"
	case spec.None:
		return "fsm.Never"
	}
	return "fsm.Required"
}

func columnInfo(f *spec.Field) string {
	text := fmt.Sprintf("{Name: %q, Stored: %q, Kind: fsm.%s", f.Name, f.Stored(), kindName(f.Type.Kind))
	if f.Type.Optional {
		text += ", Optional: true"
	}
	if f.Type.Kind == spec.KindEnum {
		var stored []string
		for _, v := range f.Type.Values {
			stored = append(stored, v.Stored())
		}
		text += ", Words: " + stringsExpr(stored)
	}
	return text + "}"
}

func stateInfo(s *spec.State) string {
	text := fmt.Sprintf("{Name: %q, Stored: %q", s.Name, s.Stored())
	if s.Terminal {
		text += ", Terminal: true"
	}
	if s.Final {
		text += ", Final: true"
	}
	return text + "}"
}

func (s *store) uniqueInfo(rule uniqueRule) string {
	text := fmt.Sprintf("{Name: %q", rule.name)
	if len(rule.fields) > 0 {
		text += ", Columns: " + stringsExpr(storedFields(rule.fields))
	}
	if rule.states != nil {
		text += ", States: " + stringsExpr(storedStates(rule.states))
	}
	for _, u := range s.m.Unique {
		if u.Name != rule.name {
			continue
		}
		if x := s.n.error(u.Error); x != nil {
			text += ", Err: " + x.Var
			if u.Message != "" && phrase(u.Message) != phrase(x.Message) {
				text += fmt.Sprintf(", Message: %q", phrase(u.Message))
			}
		}
	}
	return text + "}"
}

func indexInfo(l lookup) string {
	text := fmt.Sprintf("{Name: %q", strings.Join(l.name, "."))
	if len(l.fields) > 0 {
		text += ", Columns: " + stringsExpr(storedFields(l.fields))
	}
	if len(l.order) > 0 {
		text += ", Order: []fsm.Order{"
		for i, o := range l.order {
			if i > 0 {
				text += ", "
			}
			text += orderExpr(o)
		}
		text += "}"
	}
	if len(l.states) > 0 {
		text += ", States: " + stringsExpr(storedStates(l.states))
	}
	return text + "}"
}

func orderExpr(o spec.Order) string {
	text := fmt.Sprintf("{Column: %q", o.Field.Stored())
	if o.Descending {
		text += ", Descending: true"
	}
	return text + "}"
}

// stringsExpr writes a list of strings.
func stringsExpr(words []string) string {
	text := "[]string{"
	for i, w := range words {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", w)
	}
	return text + "}"
}

func storedStates(list []*spec.State) []string {
	var words []string
	for _, s := range list {
		words = append(words, s.Stored())
	}
	return words
}

func storedFields(list []*spec.Field) []string {
	var words []string
	for _, f := range list {
		words = append(words, f.Stored())
	}
	return words
}
