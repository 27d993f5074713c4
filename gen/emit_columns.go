package gen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/fsmgen/fsmgen/spec"
)

// encode adds the function that turns a record into a row.
func (s *store) encode(f *jen.File) {
	f.Line()
	f.Add(doc("encode returns the record as a row: stored words, and absent values as nil.")).
		Func().Id("encode").Params(raw("j *%s", s.n.Record)).Add(raw("driver.Row")).Block(
		jen.Return(raw("driver.Row").Values(
			jen.Line().Add(raw("ID: j.ID, State: j.State.%s(), Rev: j.Rev, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt", s.stateWord())),
			jen.Line().Id("Values").Op(":").Index().Any().ValuesFunc(func(g *jen.Group) {
				for _, x := range s.m.Fields {
					g.Line().Add(raw(s.rows.storedColumn(x)))
				}
				if len(s.m.Fields) > 0 {
					g.Line()
				}
			}),
			jen.Line(),
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
func (s *store) decode(f *jen.File) {
	f.Line()
	f.Add(doc("decode returns the record of a row. It refuses unknown words and wrong types, and does not look at invariants: see Check.")).
		Func().Id("decode").Params(raw("r driver.Row")).Params(raw(s.n.Record), raw("error")).BlockFunc(func(g *jen.Group) {
		g.Add(raw("j := %s{ID: r.ID, Rev: r.Rev, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}", s.n.Record))
		g.Add(raw("rd := fsmimpl.Read(schema, r)"))
		g.Add(raw("rd.State(&j.State)"))
		for _, x := range s.m.Fields {
			g.Add(raw("fsmimpl.%s(rd, &j.%s)", reader(x.Type), s.n.field(x)))
		}
		g.If(raw("err := rd.Err()"), raw("err != nil")).Block(jen.Return(raw(s.n.Record + "{}, err")))
		g.Return(raw("j"), jen.Nil())
	})
}

// reader names the function of the runtime that reads a value of the type.
func reader(t spec.Type) string {
	read := "Plain"
	switch t.Kind {
	case spec.KindEnum:
		read = "Word"
	case spec.KindJSON, spec.KindSet:
		read = "Scan"
	case spec.KindDuration:
		read = "Duration"
	}
	if isOptional(t) {
		read += "Optional"
	}
	return read
}

// stepFunction adds the bridge from a pure method to the engine.
func (s *store) stepFunction(f *jen.File) {
	word, branch := s.stateWord(), ""
	if asksByBranch(s.m) {
		branch = ", Branch: e.branch"
	}
	f.Line()
	f.Add(doc("step hands what a pure method decided to the engine, in stored words.")).
		Func().Id("step").Params(raw("e Event, err error")).Params(raw("fsmimpl.Step"), raw("error")).Block(
		jen.If(raw("err != nil")).Block(jen.Return(raw("fsmimpl.Step{}, err"))),
		raw("s := fsmimpl.Step{To: e.To.%s(), RecordOnly: e.RecordOnly, Guard: e.Guard%s}", word, branch),
		jen.If(raw("e.From != 0")).Block(raw("s.From = e.From.%s()", word)),
		jen.Return(raw("s, nil")),
	)
}

// schema adds the embedded SQL and the description of the machine to stores.
func (s *store) schema(f *jen.File) {
	for _, dialect := range []string{"sqlite", "postgres"} {
		f.Line()
		f.Add(jen.Comment(fmt.Sprintf("//go:embed %s.%s.sql", s.m.Name, dialect)).Line()).
			Var().Id(dialect + "SQL").String()
	}
	if pictured(s.m) {
		f.Line()
		f.Add(jen.Comment(fmt.Sprintf("//go:embed %s.svg", s.m.Name)).Line()).Var().Id("pictureSVG").String()
	}
	f.Line()
	f.Add(doc("schema describes the machine to a store.")).
		Var().Id("schema").Op("=").Add(raw("&driver.Schema")).ValuesFunc(func(g *jen.Group) {
		pair := func(name string, value jen.Code) { g.Line().Id(name).Op(":").Add(value) }
		pair("Machine", jen.Lit(s.m.Name))
		pair("Entity", jen.Lit(s.m.Entity))
		pair("Version", jen.Lit(s.m.Version))
		pair("Hash", jen.Lit(s.m.Hash))
		if len(s.opt.Beside) > 0 {
			pair("Beside", jen.Index().Add(raw("driver.SpecID")).ValuesFunc(func(g *jen.Group) {
				for _, id := range s.opt.Beside {
					g.Line().Values(jen.Id("Version").Op(":").Lit(id.Version), jen.Id("Hash").Op(":").Lit(id.Hash))
				}
				g.Line()
			}))
		}
		pair("Table", jen.Lit(s.m.Name))
		pair("Enforce", jen.Lit(s.opt.Enforce))
		pair("RequestID", raw(demand(s.m.RequestID)))
		pair("ExpectedRev", raw(demand(s.m.ExpectedRev)))
		pair("Columns", jen.Index().Add(raw("driver.Column")).ValuesFunc(func(g *jen.Group) {
			for _, x := range s.m.Fields {
				g.Line().Add(raw(columnInfo(x)))
			}
			if len(s.m.Fields) > 0 {
				g.Line()
			}
		}))
		pair("States", jen.Index().Add(raw("driver.StateInfo")).ValuesFunc(func(g *jen.Group) {
			for _, x := range s.m.States {
				g.Line().Add(raw(stateInfo(x)))
			}
			g.Line()
		}))
		if rules := uniqueRules(s.m); len(rules) > 0 {
			pair("Uniques", jen.Index().Add(raw("driver.UniqueRule")).ValuesFunc(func(g *jen.Group) {
				for _, x := range rules {
					g.Line().Add(raw(s.uniqueInfo(x)))
				}
				g.Line()
			}))
		}
		facts := FactsOf(s.m)
		pair("Operations", jen.Index().Add(raw("driver.OperationInfo")).ValuesFunc(func(g *jen.Group) {
			for _, x := range facts.Operations {
				g.Line().Add(raw(operationInfo(x)))
			}
			g.Line()
		}))
		if facts.NoOutbox {
			pair("NoOutbox", jen.True())
		}
		if all := queried(s.m); len(all) > 0 {
			pair("Indexes", jen.Index().Add(raw("driver.Index")).ValuesFunc(func(g *jen.Group) {
				for _, x := range all {
					g.Line().Add(raw(indexInfo(x)))
				}
				g.Line()
			}))
		}
		if len(facts.Parkings) > 0 {
			pair("Parkings", jen.Index().Add(raw("driver.Parking")).ValuesFunc(func(g *jen.Group) {
				for _, p := range facts.Parkings {
					g.Line().Add(raw(parkInfo(p)))
				}
				g.Line()
			}))
		}
		if len(facts.Worked) > 0 {
			pair("Worked", jen.Index().Add(raw("driver.WorkedColumn")).ValuesFunc(func(g *jen.Group) {
				for _, c := range facts.Worked {
					g.Line().Add(raw(workedInfo(c)))
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
		return "driver.Optionally"
	case spec.None:
		return "driver.Never"
	}
	return "driver.Required"
}

func columnInfo(f *spec.Field) string {
	text := fmt.Sprintf("{Name: %q, Stored: %q, Kind: driver.%s", f.Name, f.Stored(), kindName(f.Type.Kind))
	if f.Type.Optional {
		text += ", Optional: true"
	}
	if f.Default != nil {
		text += ", Default: " + defaultColumn(f)
	}
	return text + valuesInfo(f.Type) + "}"
}

// valuesInfo is what bounds the values of a column: its words, or the lengths of its texts.
func valuesInfo(t spec.Type) (text string) {
	if t.Kind == spec.KindEnum {
		var stored []string
		for _, v := range t.Values {
			stored = append(stored, v.Stored())
		}
		text += ", Words: " + stringsExpr(stored)
	}
	if t.HasLength() {
		text += fmt.Sprintf(", Least: %d", *t.Min)
		if t.Max != nil {
			text += fmt.Sprintf(", Most: %d", *t.Max)
		}
	}
	return text
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

func operationInfo(f OperationFact) string {
	text := fmt.Sprintf("{Stored: %q", f.Operation.Stored())
	for _, is := range []struct {
		so   bool
		name string
	}{{len(f.Operation.Creates) > 0, "Creates"}, {f.Leaves, "Leaves"}, {f.Stays, "Stays"}} {
		if is.so {
			text += ", " + is.name + ": true"
		}
	}
	if len(f.Sets) > 0 {
		text += ", Sets: []int{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Sets), " ", ", "), "[]") + "}"
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
		text += ", Order: []driver.Order{"
		for i, o := range l.order {
			if i > 0 {
				text += ", "
			}
			text += orderExpr(o, l.by)
		}
		text += "}"
	}
	if len(l.states) > 0 {
		text += ", States: " + stringsExpr(storedStates(l.states))
	}
	return text + "}"
}

func workedInfo(c WorkedFact) string {
	if c.Minute != nil {
		return fmt.Sprintf("{Name: %q, Minute: %q}", c.Name, c.Minute.Stored())
	}
	return fmt.Sprintf("{Name: %q, States: %s}", c.Name, stringsExpr(storedStates(c.States)))
}

func orderExpr(o spec.Order, by *spec.Field) string {
	text := fmt.Sprintf("{Column: %q", o.Field.Stored())
	if by != nil {
		text += fmt.Sprintf(", By: %q", by.Stored())
	}
	if o.Descending {
		text += ", Descending: true"
	}
	return text + "}"
}

// stringsExpr writes a list of strings.
func stringsExpr(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return "[]string{" + strings.Join(quoted, ", ") + "}"
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
