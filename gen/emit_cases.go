package gen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// caseWriter writes the cases of a package with a store as texts.
type caseWriter struct {
	testWriter
	m *spec.Machine
	n *names
}

// cases writes the calls and what must come of them.
func (e *testEmitter) cases() {
	w := &caseWriter{m: e.m, n: e.n}
	e.line("// testCases are calls and what must come of each, found in the specification when this")
	e.line("// package was generated. A time begins with @: \"@now\" is noon of the first of January 2026.")
	e.line("var testCases = []%s{", e.n.of("fsmcases.Case"))
	search := newSearch(e.m)
	for _, o := range e.m.Operations {
		e.line("// %s", o.Name)
		for _, p := range search.cases(o) {
			if text := w.text(&p); text != "" {
				e.line("%s", text)
			}
		}
	}
	e.line("}")
	e.line("")
	var checks []string
	var base interp.Record
	for _, x := range search.checks() {
		given := jsonKey("Given", w.given(x.record))
		if x.record.State == base.State {
			given = jsonKey("But", w.changes(base, x.record))
		} else {
			base = x.record
		}
		checks = append(checks, "{"+strings.Join(slices.DeleteFunc([]string{
			entry("In", x.record.State.Name), given, entry("Broken", violations(x.broken)),
		}, func(s string) bool { return s == "" }), ", ")+"},")
	}
	e.line("// testChecks are records, and the rules that each breaks: in each state one that is whole, and")
	e.line("// then what is different in others.")
	e.line("var testChecks = []%s{\n%s\n}", e.n.of("fsmcases.Check"), strings.Join(checks, "\n"))
	e.line("")
	e.steps(w, search)
	e.groups(w)
}

// steps writes pairs of records and which rule over a step they break.
func (e *testEmitter) steps(w *caseWriter, s search) {
	if len(e.m.Kept()) == 0 {
		return
	}
	e.line("// testSteps are records, each but for what changes after a step, and the rule that this breaks.")
	e.line("var testSteps = []%s{", e.n.of("fsmcases.Check"))
	for _, x := range s.steps() {
		e.line("{%s},", strings.Join(slices.DeleteFunc([]string{
			entry("In", x.before.State.Name), jsonKey("Given", w.given(x.before)),
			jsonKey("But", w.changes(x.before, x.after)), entry("Broken", x.broken),
		}, func(s string) bool { return s == "" }), ", "))
	}
	e.line("}")
	e.line("")
}

// jsonKey is a key with a text of JSON; empty where it says nothing.
func jsonKey(key, text string) string {
	if text == "" {
		return ""
	}
	return key + ": " + rawText(text)
}

// text writes a case; empty where it cannot be told.
func (w *caseWriter) text(p *played) string {
	o, storeOnly := p.call.Op, p.picks() || p.stepRefused() || p.trigger != "" || p.out.Existing ||
		p.want != nil && (p.want.Code == interp.CodeNotUnique || p.want.Code == interp.CodeExists)
	if !p.pure && !storeOnly || w.n.alone && (!p.pure || storeOnly) {
		return ""
	}
	pureOnly := p.noStore || w.n.alone
	var list []string
	add := func(text string) {
		if text != "" {
			list = append(list, text)
		}
	}
	if p.before.State != nil {
		add(entry("In", p.before.State.Name))
		add(jsonKey("Given", w.given(p.before)))
	}
	if len(p.beside) > 0 && !w.n.alone {
		var texts []string
		for _, r := range p.beside {
			texts = append(texts, rawText(strings.TrimSpace(r.ID+" "+r.State.Name+" "+w.given(r))))
		}
		add("Beside: []string{" + strings.Join(texts, ", ") + "}")
	}
	add(entry("Do", o.Name))
	add(jsonKey("With", w.inputs(p.call)))
	switch {
	case p.trigger != "":
		add("By: fsmcases." + p.trigger)
	case o.By == spec.BySystem:
	case p.call.Actor != someone:
		add(entry("By", cmp.Or(p.call.Actor, "-")))
	}
	if p.trigger == "" && p.call.Reason != reason {
		add(entry("Why", cmp.Or(p.call.Reason, "-")))
	}
	if !p.call.At.Equal(noon) {
		add(entry("At", w.instant(p.call.At)))
	}
	if others := w.others(o, p.others); p.pure && others != "" {
		add("Others: map[string]int64{" + others + "}")
	}
	if p.picks() && p.want == nil || p.out.Existing {
		id := p.out.Record.ID
		if len(p.events) > 0 {
			id = p.events[0].ID
		}
		add(entry("Picks", id))
	}
	if p.picks() && p.want != nil && p.want.ID != "" {
		add(entry("Picks", p.want.ID))
	}
	add(entry("Want", w.want(p)))
	if p.stepRefused() && !p.noStore {
		add(fmt.Sprintf("Then: []string{%q}", p.want.Operation+" in "+p.want.State))
	}
	r := p.of(w.m)
	if pureOnly {
		if p.refusal == nil && !p.done.RecordOnly {
			add(jsonKey("After", w.changes(r, p.done.Record)))
			if w.n.alone {
				add(entry("Asks", strings.Join(effectNames(p.done.Asks), ", ")))
			}
		}
	} else if p.want == nil && len(p.events) > 0 {
		next := after(w.m, r, p.events[0])
		add(jsonKey("After", w.changes(r, next)))
		var then, later []string
		for i, event := range p.events[1:] {
			r, next = next, after(w.m, next, event)
			text := rawOrQuoted(w.moved(event) + w.changed(r, next))
			if i+1 < p.first {
				then = append(then, text)
			} else {
				later = append(later, text)
			}
		}
		if then != nil {
			add("Then: []string{" + strings.Join(then, ", ") + "}")
		}
		if later != nil {
			add("Later: []string{" + strings.Join(later, ", ") + "}")
		}
		if p.effects != nil {
			var texts []string
			for _, x := range p.effects {
				texts = append(texts, rawOrQuoted(x))
			}
			add("Effects: []string{" + strings.Join(texts, ", ") + "}")
		}
		if p.gives.effect != "" {
			add("GivesUp: " + rawOrQuoted(p.gives.String()))
			if p.gives.tries > 0 {
				add(fmt.Sprintf("Tries: %d", p.gives.tries))
			}
		}
		var again []string
		for i, word := range p.again {
			again = append(again, rawText(word+" "+w.inputs(p.retry[i])))
		}
		if again != nil {
			add("Again: []string{" + strings.Join(again, ", ") + "}")
		}
	}
	if p.noStore && !w.n.alone {
		add("NoStore: true")
	}
	return "{" + strings.Join(list, ", ") + "},"
}

func effectNames(list []*spec.Effect) (names []string) {
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}

// changed is what an event changes, behind it.
func (w *caseWriter) changed(r, next interp.Record) string {
	if text := w.changes(r, next); text != "" {
		return " " + text
	}
	return ""
}

// others writes what a pure method is told of other records.
func (w *caseWriter) others(o *spec.Operation, others interp.Others) string {
	var list []string
	for _, g := range peerGuards(o) {
		list = append(list, fmt.Sprintf("%q: %d", g.Name, others.Count[g.Name]))
	}
	for _, f := range sequences(w.m, o) {
		if slices.ContainsFunc(peerGuards(o), func(g *spec.Guard) bool { return g.Name == f.Name }) {
			continue // one name for both
		}
		list = append(list, fmt.Sprintf("%q: %d", f.Name, others.Next[f.Name]))
	}
	return strings.Join(list, ", ")
}

// want writes what must come of a call.
func (w *caseWriter) want(p *played) string {
	refusal := p.want
	if p.noStore || w.n.alone {
		refusal = p.refusal
	}
	switch {
	case p.idle:
		return ""
	case refusal != nil:
		return w.refused(refusal)
	case p.out.Existing:
		return "existing"
	case !p.noStore && !w.n.alone:
		return w.moved(p.events[0])
	}
	return w.move(p.call.Op, p.done.From, p.done.To, p.done.RecordOnly, p.done.Guard)
}

func (w *caseWriter) moved(e interp.Event) string {
	return w.move(e.Op, e.From, e.To, e.N > 0, e.Guard)
}

func (w *caseWriter) move(o *spec.Operation, from, to *spec.State, recorded bool, guard string) string {
	text := o.StoredEvent() + ": (new) -> "
	if from != nil {
		text = o.StoredEvent() + ": " + from.Name + " -> "
	}
	switch {
	case !recorded:
		return text + to.Name
	case guard != "":
		return text + "(recorded) for " + guard
	}
	return text + "(recorded)"
}

// refused writes a refusal as the tests tell it.
func (w *caseWriter) refused(r *interp.Refusal) string {
	text, message := "refused "+r.Code, ""
	if i := slices.IndexFunc(w.m.Guards, func(g *spec.Guard) bool { return g.Name == r.Guard && g.Error == r.Sentinel }); i >= 0 && r.Code == interp.CodeGuard {
		message = w.n.ownMessage(w.m.Guards[i])
	}
	if message != "" {
		message = ": " + message
	}
	switch r.Code {
	case interp.CodeGuard:
		return fmt.Sprintf("%s %s (%s)%s", text, r.Guard, r.Sentinel, message)
	case interp.CodeInvalidInput, interp.CodeOverflow:
		return text + " " + r.Name
	case interp.CodeNotUnique:
		if r.Sentinel != "" {
			return fmt.Sprintf("%s %s (%s)", text, r.Name, r.Sentinel)
		}
		return text + " " + r.Name
	case interp.CodeWrongState, interp.CodeTerminal:
		var from []string
		for _, s := range w.m.States {
			if slices.Contains(r.Allowed, s.Name) {
				from = append(from, s.Name)
			}
		}
		return fmt.Sprintf("%s (%s)", text, strings.Join(from, ", "))
	}
	return text
}

// violations writes the rules that a record breaks.
func violations(list []interp.Violation) string {
	var rules []string
	for _, v := range list {
		rule := v.Rule
		if !v.Must {
			rule = "should: " + rule
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, "; ")
}

// given writes what a record holds, as far as it is not what nothing has set.
func (w *caseWriter) given(r interp.Record) string {
	var pairs []string
	add := func(name, v string) { pairs = append(pairs, strconv.Quote(name)+":"+v) }
	blank := interp.NewRecord(w.m, "")
	for i, f := range w.m.Fields {
		zero := !f.Type.Optional && (r.Fields[i] == interp.Int(0) || r.Fields[i] == interp.Span(0) || r.Fields[i] == interp.Bool(false))
		if v := r.Fields[i]; v != blank.Fields[i] && !zero {
			add(f.Name, w.value(v, f.Type))
		}
	}
	for i, at := range []time.Time{r.CreatedAt, r.UpdatedAt} {
		if !at.Equal(noon.Add(-time.Hour)) {
			add(w.m.Builtin[i].Name, strconv.Quote(w.instant(at)))
		}
	}
	return w.object(pairs)
}

// changes writes the fields in which two records differ, as the second one has them.
func (w *caseWriter) changes(r, next interp.Record) string {
	var pairs []string
	for i, f := range w.m.Fields {
		if r.Fields[i] != next.Fields[i] {
			pairs = append(pairs, strconv.Quote(f.Name)+":"+w.value(next.Fields[i], f.Type))
		}
	}
	return w.object(pairs)
}

// inputs writes what a call carries.
func (w *caseWriter) inputs(c interp.Call) string {
	var pairs []string
	given := filledInputs(w.m, c).Inputs
	for _, in := range c.Op.Inputs {
		if v := given[in.Name]; v.Kind != interp.KindAbsent {
			pairs = append(pairs, strconv.Quote(in.Name)+":"+w.value(v, in.Type))
		}
	}
	return w.object(pairs)
}

func (w *caseWriter) object(pairs []string) string {
	if pairs == nil {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// value writes a value as JSON.
func (w *caseWriter) value(v interp.Value, t spec.Type) string {
	switch v.Kind {
	case interp.KindAbsent:
		return "null"
	case interp.KindJSON, interp.KindSet:
		return v.Text
	case interp.KindTime:
		return strconv.Quote(w.instant(v.AsTime()))
	case interp.KindInt, interp.KindDuration:
		return strconv.FormatInt(v.Num, 10)
	case interp.KindBool:
		return strconv.FormatBool(v.Num != 0)
	case interp.KindWord:
		i := slices.IndexFunc(t.Values, func(word *spec.EnumValue) bool { return word.Name == v.Text })
		if i < 0 {
			return `"no\tword"`
		}
		v.Text = t.Values[i].Stored()
	}
	text := v.Text
	if strings.HasPrefix(text, "@") { // what begins so is a time
		text = "@" + text
	}
	b, _ := json.Marshal(text) // a text is JSON
	return string(b)
}

// mostApart is how far from now a time is written as a distance.
const mostApart = 100 * 365 * 24 * time.Hour

// instant writes a time as it stands to that of most calls.
func (w *caseWriter) instant(t time.Time) string {
	switch d := t.Sub(noon); {
	case t.Equal(time.Time{}):
		return "@zero"
	case t.Year() <= 1 || d > mostApart || d < -mostApart:
		return "@" + t.Format(time.RFC3339Nano)
	case d == 0:
		return "@now"
	case d > 0:
		return "@now+" + short(d)
	default:
		return "@now-" + short(-d)
	}
}

// short writes a duration without parts that are zero.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// moves writes the states of the machine, and where each operation can be called.
func (e *testEmitter) moves() {
	var names, system []string
	for _, s := range e.m.States {
		switch {
		case s.Terminal:
			names = append(names, s.Name+" (terminal)")
		case s.Final:
			names = append(names, s.Name+" (final)")
		default:
			names = append(names, s.Name)
		}
	}
	if e.opt.Spec != "" {
		e.line("Spec: %q,", e.opt.Spec)
	}
	if e.n.alone {
		e.line("Machine: %q, States: %q,", e.m.Name, strings.Join(names, ", "))
	} else {
		demands := map[spec.Demand]string{spec.Required: "required", spec.Optional: "optional", spec.None: "none"}
		e.line("Version: %d, RequestID: %q, ExpectedRev: %q, States: %q,", e.m.Version, demands[e.m.RequestID], demands[e.m.ExpectedRev], strings.Join(names, ", "))
	}
	var fields []string
	for _, f := range e.m.Fields {
		text := f.Name
		if f.Stored() != f.Name {
			text += " (" + f.Stored() + ")"
		}
		fields = append(fields, text)
	}
	if fields != nil && !e.n.alone {
		e.line("Fields: %q,", strings.Join(fields, ", "))
	}
	e.line("Moves: map[string]string{")
	for _, o := range e.m.Operations {
		if o.By == spec.BySystem {
			system = append(system, o.Name)
		}
		var list []string
		for _, mv := range movesOf(o) {
			from := "(new)"
			if mv.from != nil {
				from = mv.from.Name
			}
			list = append(list, from+" -> "+mv.to.Name)
		}
		for i, class := range e.m.Row(o) {
			s := e.m.States[i]
			moves := func(mv move) bool { return mv.from == s }
			switch {
			case creates(o):
			case class == spec.RecordOnly:
				list = append(list, s.Name+" -> (recorded)")
			case class == spec.Transition && !slices.ContainsFunc(movesOf(o), moves):
				list = append(list, s.Name+" -> (nothing)")
			}
		}
		e.line("%q: %q,", o.Name, strings.Join(list, ", "))
	}
	e.line("},")
	if system != nil && !e.n.alone {
		e.line("System: %q,", strings.Join(system, ", "))
	}
	told := map[string]bool{}
	var values []string
	for _, o := range e.m.Operations {
		for _, r := range o.Require {
			if names := toldBy(r); names != nil && !told[r.Guard.Name] {
				told[r.Guard.Name] = true
				values = append(values, fmt.Sprintf("%q: %q", r.Guard.Name, strings.Join(names, ", ")))
			}
		}
	}
	if values != nil && !e.n.alone {
		slices.Sort(values)
		e.line("Told: map[string]string{%s},", strings.Join(values, ", "))
	}
	records := map[string]string{}
	for _, o := range e.m.Operations {
		var states []string
		for _, s := range recordedIn(e.m, o) {
			if e.m.Class(s, o) != spec.RecordOnly {
				states = append(states, s.Name)
			}
		}
		if states != nil && !e.n.alone {
			records[o.Name] = strings.Join(states, ", ")
		}
	}
	if len(records) > 0 {
		e.line("Records: map[string]string{")
		for _, name := range slices.Sorted(maps.Keys(records)) {
			e.line("%q: %q,", name, records[name])
		}
		e.line("},")
	}
	renamed := map[string]string{}
	for _, o := range e.m.Operations {
		if o.Stored() != o.Name {
			renamed[o.Name] = o.Stored()
		}
	}
	if len(renamed) > 0 {
		e.line("Stored: map[string]string{")
		for _, name := range slices.Sorted(maps.Keys(renamed)) {
			e.line("%q: %q,", name, renamed[name])
		}
		e.line("},")
	}
	e.line("Cases: testCases, Checks: testChecks,")
	if len(e.m.Kept()) > 0 {
		e.line("Steps: testSteps,")
		if e.n.alone {
			e.line("Moved: func(before, after %s) string { return after.moved(&before) },", e.n.Record)
		}
	}
	if p := e.m.Projection; p != nil && !e.n.alone {
		e.line("Groups: testGroups,")
		var key, moves []string
		for _, k := range p.Key {
			key = append(key, k.Field.Stored())
		}
		for _, t := range p.Transitions {
			moves = append(moves, t.From.Name+" -> "+t.To.Name)
		}
		e.line("Derived: fsmcases.Derived{%s},", entry("Entity", p.Entity, "Key", strings.Join(key, ", "), "States", strings.Join(projectedStates(p), ", "), "Moves", strings.Join(moves, ", ")))
	}
}

// groups writes groups of records and what the projection makes of them.
func (e *testEmitter) groups(w *caseWriter) {
	if e.m.Projection == nil || e.n.alone {
		return
	}
	e.line("// testGroups are groups of records, and what is made of each.")
	e.line("var testGroups = []fsmcases.Group{")
	for _, g := range newSearch(e.m).groups() {
		var records []string
		for _, r := range g.records {
			records = append(records, rawOrQuoted(strings.TrimSpace(r.State.Name+" "+w.given(r))))
		}
		var fields []string
		for i, v := range g.made.Key {
			f := e.m.Projection.Key[i].Field
			switch f.Type.Kind {
			case spec.KindEnum, spec.KindJSON, spec.KindSet:
				continue
			}
			fields = append(fields, strconv.Quote(f.Name)+":"+w.value(v, f.Type))
		}
		for _, name := range slices.Sorted(maps.Keys(g.made.Fields)) {
			fields = append(fields, strconv.Quote(name)+":"+w.value(g.made.Fields[name], spec.Type{}))
		}
		text := entry("State", g.made.State)
		if records != nil {
			text = "Records: []string{" + strings.Join(records, ", ") + "}, " + text
		}
		e.line("{%s, %s},", text, jsonKey("Fields", w.object(fields)))
	}
	e.line("}")
	e.line("")
}

// ownMessage returns what a guard says beside its error: its message, when the
// error has its words from somebody else.
func (n *names) ownMessage(g *spec.Guard) string {
	if message := phrase(g.Message); message != phrase(n.error(g.Error).Message) {
		return message
	}
	return ""
}
