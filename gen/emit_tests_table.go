package gen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// testWriter writes Go text of a test file, in the lines of gofmt; layout aligns
// it at the end.
type testWriter struct{ strings.Builder }

func (w *testWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// fill writes the elements of a literal on one line where they fit, else one a line.
func fill(list []string) string {
	if one := strings.Join(list, ", "); len(one) <= 80 {
		return one
	}
	return "\n" + strings.Join(list, ",\n") + ",\n"
}

// matrixText draws the matrix between two texts: one line for each operation, one
// column for creations and each state. Most cells of a large machine are refusals,
// so a line begins as one of refusals, and what is none of them is put in its place.
func matrixText(m *spec.Machine, before, after []byte) []byte {
	const refused = "refused"
	texts := []string{"", "(new)"}
	for _, s := range m.States {
		texts = append(texts, s.Name)
	}
	width := make([]int, len(texts))
	for i, text := range texts {
		width[i] = len(text)
	}
	rows := make([][]spec.Class, len(m.Operations))
	for i, o := range m.Operations {
		width[0], width[1] = max(width[0], len(o.Name)), max(width[1], len(newCell(o)))
		rows[i] = m.Row(o)
		for j, class := range rows[i] {
			if class == spec.Reject && !creates(o) {
				width[j+2] = max(width[j+2], len(refused))
			} else {
				width[j+2] = max(width[j+2], len(cellText(class, m.States[j], o)))
			}
		}
	}
	var line []byte
	at := make([]int, len(width))
	for i, w := range width {
		if i > 0 {
			line = append(line, " | "...)
		}
		at[i] = len(line)
		line = append(line, strings.Repeat(" ", w)...)
	}
	last := len(texts) - 1
	b := append(make([]byte, 0, len(before)+(len(rows)+1)*(len(line)+1)+len(after)), before...)
	draw := func(line []byte, text func(i int) string) { // no text: what the line has
		begin := len(b)
		b = append(b, line[:at[last]]...)
		for i := range last {
			if s := text(i); s != "" {
				n := copy(b[begin+at[i]:], s)
				for ; n < width[i]; n++ {
					b[begin+at[i]+n] = ' '
				}
			}
		}
		s := text(last)
		if s == "" {
			s = refused
		}
		b = append(append(b, s...), '\n')
	}
	draw(line, func(i int) string { return texts[i] })
	for i, s := range at[2:] {
		if width[i+2] >= len(refused) {
			copy(line[s:], refused)
		}
	}
	for i, o := range m.Operations {
		draw(line, func(j int) string {
			switch {
			case j == 0:
				return o.Name
			case j == 1:
				return newCell(o)
			case rows[i][j-2] == spec.Reject && !creates(o):
				return ""
			}
			return cellText(rows[i][j-2], m.States[j-2], o)
		})
	}
	return append(b, after...)
}

func newCell(o *spec.Operation) string {
	switch {
	case !creates(o):
		return "."
	case len(o.Choose) > 0:
		return "choose"
	}
	return "-> " + o.Creates[0].State.Name
}

// cellText is what stands in a cell that is no refusal.
func cellText(class spec.Class, s *spec.State, o *spec.Operation) string {
	switch {
	case creates(o):
		return "."
	case class == spec.RecordOnly:
		return "record only"
	case len(o.Choose) > 0:
		return "choose"
	case o.Same:
		return "-> " + s.Name
	}
	return "-> " + o.To.State.Name
}

// writeTable writes the rules of the machine in the specification's words.
func (w *testWriter) writeTable(m *spec.Machine, opt Options) {
	w.line("var engineTable = enginetest.Table{")
	w.line("%s, Version: %d,", entry("Machine", m.Name, "Entity", m.Entity), m.Version)
	if opt.Spec != "" {
		w.line("%s,", entry("Spec", opt.Spec))
	}
	w.line("%s,", entry("Hash", m.Hash))
	w.line("%s,", entry("Enforce", opt.Enforce, "RequestID", demandWord(m.RequestID), "ExpectedRev", demandWord(m.ExpectedRev)))
	w.line("Matrix: engineMatrix,")
	if len(m.Fields) > 0 {
		w.line("Fields: []enginetest.Field{")
		for _, f := range m.Fields {
			w.line("{%s},", entry("Name", f.Name, "Type", typeText(f.Type), "Stored", f.Was, "Words", storedWords(f.Type), "Per", fieldList(f.Per)))
		}
		w.line("},")
	}
	w.line("States: []enginetest.State{")
	for _, s := range m.States {
		text := entry("Name", s.Name, "Stored", s.Was)
		if s.Terminal {
			text += ", Terminal: true"
		}
		if s.Final {
			text += ", Final: true"
		}
		text += tail(entry("Present", refList(s.Present), "Absent", refList(s.Absent),
			"ShouldPresent", refList(s.ShouldPresent), "ShouldAbsent", refList(s.ShouldAbsent)))
		var probes []string
		for _, p := range s.Probes {
			probes = append(probes, p.Name)
		}
		w.line("{%s%s%s%s},", text, tail(factList("Invariant", s.Invariant)), tail(entry("Probes", strings.Join(probes, ", "))),
			tail(witnessList(m, nil, breaches(m, s))))
	}
	w.line("},")
	if len(m.Invariant) > 0 {
		w.line("%s,", factList("Invariant", m.Invariant))
	}
	if len(m.Guards) > 0 {
		w.line("Guards: []enginetest.Guard{")
		errors := &names{byError: make(map[string]*sentinel)}
		errors.collectErrors(m)
		for _, g := range m.Guards {
			text := entry("Name", g.Name)
			if g.Peers != nil {
				text += fmt.Sprintf(", Fewer: %d", g.Peers.Than) + tail(entry("Same", refList(g.Peers.Same), "In", stateList(g.Peers.In)))
			}
			w.line("{%s%s%s},", text, tail(factList("When", g.When)), tail(entry("Error", g.Error, "Message", errors.ownMessage(g))))
		}
		w.line("},")
	}
	if len(m.Unique) > 0 {
		w.line("Uniques: []enginetest.Unique{")
		for _, u := range m.Unique {
			w.line("{%s},", entry("Name", u.Name, "Fields", refList(u.Fields), "In", stateList(u.In), "Error", u.Error))
		}
		w.line("},")
	}
	w.line("Operations: []enginetest.Operation{")
	for _, o := range m.Operations {
		w.writeOperation(m, o)
	}
	w.line("},")
	if len(m.Forbidden) > 0 {
		w.line("Forbidden: []enginetest.Move{")
		for _, f := range m.Forbidden {
			w.line("{%s},", entry("From", f.From.State.Name, "To", f.To.State.Name, "Reason", f.Reason))
		}
		w.line("},")
	}
	w.writeProjection(m.Projection)
	w.line("}")
}

// ownMessage returns what a guard says beside its error: its message, when the
// error has its words from somebody else.
func (n *names) ownMessage(g *spec.Guard) string {
	if message := phrase(g.Message); message != phrase(n.error(g.Error).Message) {
		return message
	}
	return ""
}

// operationParts lists the keys of an operation with their values.
func operationParts(m *spec.Machine, o *spec.Operation) []string {
	var list []string
	add := func(parts ...string) {
		list = append(list, slices.DeleteFunc(parts, func(s string) bool { return s == "" })...)
	}
	text := func(pairs ...string) { add(entry(pairs...)) }
	text("Name", o.Name)
	text("Stored", o.Was)
	if o.Event != o.Name || o.EventWas != "" {
		add(entry("Event", o.Event, "StoredEvent", o.EventWas))
	}
	if o.By != spec.ByCaller {
		text("By", map[spec.Actor]string{spec.BySystem: "system", spec.ByOperator: "operator"}[o.By])
	}
	if len(o.Inputs) > 0 {
		var inputs []string
		for _, in := range o.Inputs {
			text := entry("Name", in.Name, "Type", typeText(in.Type), "Words", storedWords(in.Type))
			if looseInput(m, o, in) {
				text += ", Loose: true"
			}
			inputs = append(inputs, "{"+text+"}")
		}
		add("Inputs: []enginetest.Input{" + fill(inputs) + "}")
	}
	var guards, implied []string
	for _, r := range o.Require {
		guards = append(guards, r.Guard.Name)
	}
	for _, g := range prove.Implied(m, o) {
		implied = append(implied, g.Name)
	}
	text("Require", strings.Join(guards, ", "))
	text("Implied", strings.Join(implied, ", "))
	if o.OnRefusalRecordOnly {
		text("OnRefusal", "record only")
	}
	add(effectEntries(&o.Effects)...)
	if len(o.Choose) > 0 {
		var branches []string
		for _, b := range o.Choose {
			branches = append(branches, "{"+branchText(b)+"}")
		}
		add("Choose: []enginetest.Branch{\n" + strings.Join(branches, ",\n") + ",\n}")
	}
	add(witnessList(m, o, witnesses(m, o)))
	if o.DedupeBy != nil {
		text("Dedupe", refList(o.DedupeBy.Fields))
		if u := o.DedupeBy.Unique; u != nil {
			text("DedupeIn", stateList(u.In))
		}
	}
	if o.Next != nil {
		var keys []string
		for _, k := range o.Next.Order {
			keys = append(keys, map[bool]string{true: "-"}[k.Descending]+k.Field.Name)
		}
		add("Picks: true", factList("Where", o.Next.Where), entry("Order", strings.Join(keys, ", ")))
	}
	if len(o.Triggers) > 0 {
		var triggers []string
		for _, t := range o.Triggers {
			triggers = append(triggers, triggerText(t))
		}
		add("Triggers: " + stringsExpr(triggers))
	}
	if e := o.Effect; e != nil {
		text("Effect", e.Name)
		text("EffectKey", refList(e.Key))
		if e.Atomic {
			add("Atomic: true")
		}
	}
	if o.Then != nil {
		text("Then", o.Then.Operation.Name)
	}
	return list
}

// writeOperation writes an operation, with as many keys on a line as fit.
func (w *testWriter) writeOperation(m *spec.Machine, o *spec.Operation) {
	const width = 100
	parts := operationParts(m, o)
	if one := strings.Join(parts, ", "); len(one) <= width && !strings.Contains(one, "\n") {
		w.line("{%s},", one)
		return
	}
	w.line("{")
	line := ""
	for _, p := range parts {
		if line != "" && (len(line)+len(p) > width || strings.Contains(line+p, "\n")) {
			w.line("%s", line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+p+",", " ")
	}
	w.line("%s", line)
	w.line("},")
}

func (w *testWriter) writeProjection(p *spec.Projection) {
	if p == nil {
		return
	}
	w.line("Projection: &enginetest.Projection{")
	w.line("%s,", entry("Entity", p.Entity, "Key", refList(p.Key)))
	var fields []string
	for _, f := range p.Fields {
		text := f.Name + ": " + f.Agg
		if f.Field != nil {
			text += " " + f.Field.Name
		}
		fields = append(fields, text)
	}
	if len(fields) > 0 {
		w.line("Fields: %s,", stringsExpr(fields))
	}
	w.line("Rules: []enginetest.Rule{")
	for _, r := range p.Rules {
		text := entry("State", r.State.Name, "Any", stateList(r.Any), "All", stateList(r.All), "None", stateList(r.None))
		if r.AtLeast > 0 {
			text += fmt.Sprintf(", AtLeast: %d", r.AtLeast)
		}
		w.line("{%s},", text)
	}
	w.line("},")
	if len(p.Transitions) > 0 {
		w.line("Moves: []enginetest.Move{")
		for _, t := range p.Transitions {
			w.line("{%s},", entry("From", t.From.Name, "To", t.To.Name))
		}
		w.line("},")
	}
	w.line("},")
}

func branchText(b *spec.Branch) string {
	var parts []string
	if len(b.From) > 0 {
		parts = append(parts, entry("From", stateList(b.From)))
	}
	if len(b.When) > 0 {
		parts = append(parts, factList("When", b.When))
	}
	switch {
	case b.To != nil:
		parts = append(parts, entry("To", b.To.State.Name))
	case b.Same:
		parts = append(parts, entry("To", "same"))
	case b.RecordOnly:
		parts = append(parts, "RecordOnly: true")
	case b.Reject != "":
		parts = append(parts, entry("Reject", b.Reject))
	}
	return strings.Join(append(parts, effectEntries(&b.Effects)...), ", ")
}

func effectEntries(e *spec.Effects) []string {
	assigns := func(key string, list []spec.Assign) string {
		var texts []string
		for _, a := range list {
			texts = append(texts, a.Field.Name+": "+a.Value.Text)
		}
		if texts == nil {
			return ""
		}
		return key + ": " + stringsExpr(texts)
	}
	return slices.DeleteFunc([]string{
		assigns("Set", e.Set), entry("Clear", refList(e.Clear)), entry("Increment", refList(e.Increment)), assigns("Add", e.Add),
	}, func(s string) bool { return s == "" })
}

// entry writes `Key: "value"` pairs, without the empty ones.
func entry(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, pairs[i]+": "+strconv.Quote(pairs[i+1]))
		}
	}
	return strings.Join(list, ", ")
}

func tail(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

func factList(key string, facts []*spec.Fact) string {
	if len(facts) == 0 {
		return ""
	}
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.Text
	}
	return key + ": " + stringsExpr(texts)
}

func refList(refs []spec.FieldRef) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.Field.Name
	}
	return strings.Join(names, ", ")
}

func fieldList(fields []*spec.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func stateList(refs []spec.StateRef) string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.State.Name
	}
	return strings.Join(names, ", ")
}

func demandWord(d spec.Demand) string {
	return map[spec.Demand]string{spec.Required: "required", spec.Optional: "optional", spec.None: "none"}[d]
}

// typeText writes a type as the specification does.
func typeText(t spec.Type) string {
	text := map[spec.Kind]string{
		spec.KindString: "string", spec.KindInt: "int", spec.KindBool: "bool", spec.KindTime: "time", spec.KindJSON: "json",
		spec.KindCounter: "counter", spec.KindSet: "set", spec.KindSequence: "sequence",
	}[t.Kind]
	if t.Kind == spec.KindEnum {
		var words []string
		for _, v := range t.Values {
			words = append(words, v.Name)
		}
		text = strings.Join(words, "|")
	}
	if t.Min != nil || t.Max != nil {
		text += " "
		if t.Min != nil {
			text += strconv.FormatInt(*t.Min, 10)
		}
		text += ".."
		if t.Max != nil {
			text += strconv.FormatInt(*t.Max, 10)
		}
	}
	if t.Optional {
		text = "optional " + text
	}
	return text
}

// storedWords lists the stored words of an enum, when one was renamed.
func storedWords(t spec.Type) string {
	var words []string
	renamed := false
	for _, v := range t.Values {
		words = append(words, v.Stored())
		renamed = renamed || v.Was != ""
	}
	if !renamed {
		return ""
	}
	return strings.Join(words, "|")
}

func triggerText(t spec.Trigger) string {
	switch {
	case t.Startup:
		return "startup"
	case t.Plus == 0:
		return "after " + t.After.Name
	}
	return fmt.Sprintf("after %s + %ds", t.After.Name, int64(t.Plus.Seconds()))
}

// looseInput reports whether an input is left out when two requests are
// compared: it is set into a field that some trigger waits for, or the
// operation is triggered itself.
func looseInput(m *spec.Machine, o *spec.Operation, in *spec.Input) bool {
	if len(o.Triggers) > 0 {
		return true
	}
	for _, e := range allEffects(o) {
		for _, a := range e.Set {
			if a.Value.Input != in {
				continue
			}
			for _, other := range m.Operations {
				for _, t := range other.Triggers {
					if t.After == a.Field {
						return true
					}
				}
			}
		}
	}
	return false
}
