// Package mdpage writes the Markdown page of a machine: the picture, its states with
// their invariants, its operations with guards, effects and refusals, the matrix,
// the events as JSON, and the schema. The text depends on the machine alone.
package mdpage

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/export"
	"github.com/fsmgen/fsmgen/spec"
)

// page is one in the making.
type page struct {
	bytes.Buffer
	m *spec.Machine
}

// Markdown returns the page of a machine without findings of severity error.
func Markdown(m *spec.Machine) ([]byte, error) {
	p := &page{m: m}
	p.head()
	p.states()
	p.fields()
	p.guards()
	p.lookups()
	p.operations()
	p.matrix()
	p.projection()
	p.events()
	if err := p.schema(); err != nil {
		return nil, err
	}
	return p.Bytes(), nil
}

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

var markup = strings.NewReplacer(`\`, `\\`, "&", "&amp;", "|", `\|`, "<", "&lt;", "*", `\*`, "`", "\\`", "[", `\[`, "~", `\~`)

// paragraph is text at the begin of a line, where nothing of it begins anything else.
func paragraph(s string) string {
	s = text(s)
	if s != "" && strings.ContainsRune("#>-+=", rune(s[0])) {
		s = `\` + s
	}
	return s
}

// text returns a text out of the specification as Markdown shows it: on one line,
// and with nothing that ends a cell or begins a tag.
func text(s string) string {
	return markup.Replace(strings.Join(strings.Fields(s), " "))
}

// code returns a code span, also within a table.
func code(s string) string {
	s = strings.ReplaceAll(s, "|", `\|`)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence != "`" {
		s = " " + s + " "
	}
	return fence + s + fence
}

func (p *page) head() {
	m := p.m
	p.line("<!-- %s -->", chart.Header)
	p.line("")
	p.line("# %s", m.Entity)
	p.line("")
	if m.Doc != "" {
		p.line("%s", paragraph(m.Doc))
		p.line("")
	}
	if p.alone() {
		p.line("Machine %s, version %d. Its package has no store: operations are methods on a value.", code(m.Name), m.Version)
	} else {
		p.line("Machine %s, version %d. %s %s", code(m.Name), m.Version, requests(m), revisions(m))
	}
	p.line("")
	for _, a := range m.Allow {
		p.line("Meant, and so no finding %s: %s", code(a.Code), paragraph(a.Reason))
		p.line("")
	}
	p.line("## Picture")
	p.line("")
	p.line("```mermaid")
	p.Write(gen.Mermaid(m))
	p.line("```")
}

// alone reports whether the package of the machine has no store.
func (p *page) alone() bool { return p.m.Alone() }

func requests(m *spec.Machine) string {
	return map[spec.Demand]string{
		spec.Required: "Every call carries a request id: the same one again returns the first outcome.",
		spec.Optional: "A call may carry a request id: the same one again returns the first outcome.",
		spec.None:     "Calls carry no request id.",
	}[m.RequestID]
}

func revisions(m *spec.Machine) string {
	return map[spec.Demand]string{
		spec.Required: "It names the revision that it was decided on, and is refused as stale when the record has moved.",
		spec.Optional: "It may name the revision that it was decided on, and is then refused as stale when the record has moved.",
		spec.None:     "No revision is asked for: a call is decided on the record as it is.",
	}[m.ExpectedRev]
}

// states lists the states with what holds in each of them.
func (p *page) states() {
	p.line("")
	p.line("## States")
	p.line("")
	if len(p.m.Invariant) > 0 {
		p.line("In every state: %s.", facts(p.m.Invariant))
		p.line("")
	}
	p.line("| state | kind | must | should | |")
	p.line("|---|---|---|---|---|")
	for _, s := range p.m.States {
		kind := ""
		switch {
		case s.Terminal:
			kind = "terminal"
		case s.Final:
			kind = "final"
		}
		must := append(presence(s.Present, "is present"), presence(s.Absent, "is absent")...)
		for _, f := range s.Invariant {
			must = append(must, code(f.Text))
		}
		should := append(presence(s.ShouldPresent, "is present"), presence(s.ShouldAbsent, "is absent")...)
		for _, b := range s.Probes {
			should = append(should, "probe "+code(b.Name))
		}
		p.line("| %s | %s | %s | %s | %s |", code(s.Name)+was(s.Name, s.Stored()), kind, strings.Join(must, "<br>"), strings.Join(should, "<br>"), text(s.Doc))
	}
	p.borders()
	if len(p.m.Kept()) > 0 {
		p.line("")
		p.line("Each step keeps, of the record before it (`old.`) and after it:")
		p.line("")
		for _, s := range p.m.Steps {
			why := ""
			if s.Reason != "" {
				why = ": " + text(s.Reason)
			}
			p.line("- %s%s", facts(s.When), why)
		}
	}
	for _, r := range p.m.Removed {
		p.line("")
		p.line("The state %s is gone; its records are %s.", code(r.Name), code(r.To.State.Name))
	}
	if len(p.m.Forbidden) > 0 {
		p.line("")
		p.line("Forbidden transitions:")
		p.line("")
		for _, f := range p.m.Forbidden {
			why := ""
			if f.Reason != "" {
				why = ": " + text(f.Reason)
			}
			if f.After {
				p.line("- %s to %s, by any number of steps%s", code(f.From.State.Name), code(f.To.State.Name), why)
				continue
			}
			p.line("- %s to %s%s", code(f.From.State.Name), code(f.To.State.Name), why)
		}
	}
}

// borders lists the effects of entering and leaving states and groups.
func (p *page) borders() {
	places := p.m.Places()
	if len(places) == 0 {
		return
	}
	p.line("")
	p.line("Effects of entering and leaving:")
	p.line("")
	for _, x := range places {
		name := code(x.Name)
		if p.m.State(x.Name) == nil {
			var states []string
			for _, s := range x.States {
				states = append(states, code(s.Name))
			}
			name += " (" + strings.Join(states, ", ") + ")"
		}
		for _, text := range p.asked(x.Enter) {
			p.line("- entering %s: %s", name, text)
		}
		for _, text := range p.asked(x.Exit) {
			p.line("- leaving %s: %s", name, text)
		}
	}
}

// was says under which word something is stored, where that is another one.
func was(name, stored string) string {
	if name == stored {
		return ""
	}
	return " (stored as " + code(stored) + ")"
}

func presence(fields []spec.FieldRef, what string) (list []string) {
	for _, f := range fields {
		list = append(list, code(f.Field.Name+" "+what))
	}
	return list
}

func facts(list []*spec.Fact) string {
	var texts []string
	for _, f := range list {
		texts = append(texts, code(f.Text))
	}
	return strings.Join(texts, " and ")
}

func (p *page) fields() {
	p.line("")
	p.line("## Fields")
	p.line("")
	p.line("Every record has an `id`, a `state`, a `rev` that counts its transitions from 1, `created_at` and `updated_at`.")
	if len(p.m.Fields) == 0 {
		return
	}
	p.line("")
	p.line("| field | type | changed by | |")
	p.line("|---|---|---|---|")
	for _, f := range p.m.Fields {
		var by []string
		for _, o := range p.m.Operations {
			if writes(o, f) {
				by = append(by, code(o.Name))
			}
		}
		kind := f.Type.String()
		if len(f.Per) > 0 {
			var per []string
			for _, x := range f.Per {
				per = append(per, x.Name)
			}
			kind += " per " + strings.Join(per, ", ")
		}
		about := text(f.Doc)
		if f.Default != nil {
			about = strings.TrimSpace("Default " + code(f.Default.Text) + ". " + about)
		}
		p.line("| %s | %s | %s | %s |", code(f.Name)+was(f.Name, f.Stored()), code(kind), strings.Join(by, ", "), about)
	}
}

// writes reports whether an operation can give a field another value.
func writes(o *spec.Operation, f *spec.Field) bool {
	if f.Type.Kind == spec.KindSequence {
		return len(o.Creates) > 0
	}
	for _, e := range effectsOf(o) {
		if e.Changes(f) {
			return true
		}
	}
	return false
}

func effectsOf(o *spec.Operation) []*spec.Effects {
	list := []*spec.Effects{&o.Effects}
	for _, b := range o.Choose {
		list = append(list, &b.Effects)
	}
	return list
}

func (p *page) guards() {
	if len(p.m.Guards)+len(p.m.Unique) == 0 {
		return
	}
	p.line("")
	p.line("## Guards and unique rules")
	p.line("")
	p.line("| name | holds when | refuses with | |")
	p.line("|---|---|---|---|")
	for _, g := range p.m.Guards {
		p.line("| %s | %s | %s | %s |", code(g.Name), code(chart.Meaning(g)), code(g.Error), text(strings.TrimSpace(g.Message+" "+g.Doc)))
	}
	for _, u := range p.m.Unique {
		var names, states []string
		for _, f := range u.Fields {
			names = append(names, f.Field.Name)
		}
		for _, s := range u.In {
			states = append(states, s.State.Name)
		}
		p.line("| %s | no other record in %s has the same %s | %s | %s |", code(u.Name), text(strings.Join(states, ", ")), code(strings.Join(names, ", ")), code(u.Error), text(u.Message))
	}
}

func (p *page) lookups() {
	if len(p.m.Lookups) == 0 {
		return
	}
	p.line("")
	p.line("## Look-ups")
	p.line("")
	p.line("| name | finds by | in | in the order of | |")
	p.line("|---|---|---|---|---|")
	for _, l := range p.m.Lookups {
		var fields, states, order []string
		for _, f := range l.Fields {
			fields = append(fields, f.Field.Name)
		}
		for _, s := range l.In {
			states = append(states, s.State.Name)
		}
		for _, o := range l.Order {
			order = append(order, map[bool]string{true: "-"}[o.Descending]+o.Field.Name)
		}
		in, by := "all states", code(strings.Join(append(order, "id"), ", "))
		if len(states) > 0 {
			in = text(strings.Join(states, ", "))
		}
		if p.m.OneRecord(l) {
			by = "one record at most"
		}
		p.line("| %s | %s | %s | %s | %s |", code(l.Name), code(strings.Join(fields, ", ")), in, by, text(l.Doc))
	}
}

func (p *page) matrix() {
	p.line("")
	p.line("## Matrix")
	p.line("")
	_, table, _ := strings.Cut(string(export.Matrix(p.m)), "\n\n")
	p.WriteString(table)
}

func (p *page) projection() {
	x := p.m.Projection
	if x == nil {
		return
	}
	p.line("")
	p.line("## %s, derived", text(x.Entity))
	p.line("")
	var names []string
	for _, f := range x.Key {
		names = append(names, f.Field.Name)
	}
	p.line("One for all records with the same %s. The first rule that holds gives its state:", code(strings.Join(names, ", ")))
	p.line("")
	for _, r := range x.Rules {
		var parts []string
		for _, c := range []struct {
			what string
			in   []spec.StateRef
		}{{"some record is in", r.Any}, {"all records are in", r.All}, {"no record is in", r.None}} {
			if len(c.in) == 0 {
				continue
			}
			var states []string
			for _, s := range c.in {
				states = append(states, code(s.State.Name))
			}
			parts = append(parts, c.what+" "+strings.Join(states, ", "))
		}
		if r.AtLeast > 0 {
			parts = append(parts, fmt.Sprintf("there are at least %d of these", r.AtLeast))
		}
		if parts == nil {
			parts = []string{"otherwise"}
		}
		p.line("1. %s: %s", code(r.State.Name), strings.Join(parts, ", and "))
	}
}

// schema shows the table of the records in both databases.
func (p *page) schema() error {
	p.line("")
	p.line("## Schema")
	p.line("")
	p.line("The table of the records; the log is in %s, as CONTRACT.md of fsmgen describes it. All of it: `fsmgen sql --dialect sqlite|postgres`.", code(p.m.Name+"_events"))
	for _, d := range []struct{ name, title string }{{"sqlite", "SQLite"}, {"postgres", "PostgreSQL"}} {
		sql, err := gen.Schema(p.m, d.name, "full")
		if err != nil {
			return err
		}
		begin := bytes.Index(sql, []byte(`CREATE TABLE IF NOT EXISTS "`+p.m.Name+`" (`))
		if begin < 0 {
			return fmt.Errorf("the schema for %s makes no table of the records", d.name)
		}
		table, _, _ := strings.Cut(string(sql)[begin:], ";\n")
		p.line("")
		p.line("<details><summary>%s</summary>", d.title)
		p.line("")
		p.line("```sql")
		p.line("%s;", table)
		p.line("```")
		p.line("")
		p.line("</details>")
	}
	return nil
}
