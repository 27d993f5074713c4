package mdpage

import (
	"encoding/json"
	"strings"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/spec"
)

// events shows what each operation writes into the log, as JSON with types for
// values.
func (p *page) events() {
	p.line("")
	p.line("## Events")
	p.line("")
	p.line("Each step appends one event to the log, and so does a call that is recorded only (with `n` from 1). Besides what is shown here it")
	p.line("holds `id`, `rev`, `n`, `at`, `actor`, `reason`, `request_id`, `labels`, `version` and checksums. Values stand as their types here;")
	p.line("`changes` names the fields that changed, and of a set the members that came; where some went `{\"came\": [...], \"gone\": [...]}`, and null where it is empty.")
	p.line("")
	p.line("```json")
	for _, f := range gen.FactsOf(p.m).Operations {
		p.line("%s", event(p.m, f))
	}
	p.line("```")
}

// event is the shape of an operation's event, on one line.
func event(m *spec.Machine, f gen.OperationFact) string {
	o := f.Operation
	var from, to []string
	add := func(list *[]string, word string) {
		for _, w := range *list {
			if w == word {
				return
			}
		}
		*list = append(*list, word)
	}
	for _, mv := range f.Moves {
		if mv.From != nil {
			add(&from, mv.From.Stored())
		}
		add(&to, mv.To.Stored())
	}
	for _, s := range f.Recorded {
		add(&from, s.Stored())
		add(&to, s.Stored())
	}
	var b strings.Builder
	b.WriteString(`{"operation": ` + quoted(o.Stored()) + `, "name": ` + quoted(o.StoredEvent()))
	if len(from) > 0 {
		b.WriteString(`, "from": ` + quoted(strings.Join(from, "|")))
	}
	b.WriteString(`, "to": ` + quoted(strings.Join(to, "|")))
	var members []string
	for _, in := range o.Inputs {
		members = append(members, quoted(in.Name)+": "+quoted(shape(in.Type)))
	}
	b.WriteString(`, "inputs": {` + strings.Join(members, ", ") + `}`)
	members = nil
	for _, x := range m.Fields {
		if writes(o, x) {
			members = append(members, quoted(x.Stored())+": "+quoted(shape(x.Type)))
		}
	}
	b.WriteString(`, "changes": {` + strings.Join(members, ", ") + `}}`)
	return b.String()
}

// shape is a type in stored words, with null where a value may be absent.
func shape(t spec.Type) string {
	name := map[spec.Kind]string{
		spec.KindString: "string", spec.KindInt: "integer", spec.KindBool: "true|false", spec.KindTime: "time", spec.KindJSON: "any",
		spec.KindCounter: "integer", spec.KindSet: "array of strings", spec.KindSequence: "integer", spec.KindDuration: "microseconds",
	}[t.Kind]
	if t.Kind == spec.KindEnum {
		var words []string
		for _, w := range t.Values {
			words = append(words, spec.QuoteWord(w.Stored()))
		}
		name = strings.Join(words, "|")
	}
	if t.Optional {
		name += "|null"
	}
	return name
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // strings always marshal
	return string(b)
}
