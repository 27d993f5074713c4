package fuzzmachines

import (
	"fmt"
	"slices"
	"strings"
)

// operations draws the guards and the operations: one creation or two, a way
// into each state and out of each that is not terminal, and some more.
func (m *machine) operations() {
	m.guardsBefore()
	if m.chance(4) {
		m.creation()
	}
	m.creation()
	left := map[*state]bool{}
	for i, s := range m.states {
		if i == 0 {
			continue
		}
		from := m.states[0]
		if earlier := m.open(i); len(earlier) > 0 {
			from = one(m, earlier)
		}
		m.move([]*state{from}, s)
		left[from] = true
	}
	for _, s := range m.open(len(m.states)) {
		if !left[s] {
			m.move([]*state{s}, one(m, m.states))
		}
	}
	for range m.IntN(4) {
		m.move(some(m, m.open(len(m.states))), one(m, m.states))
	}
	if m.chance(2) {
		m.stay(some(m, m.open(len(m.states))))
	}
	if m.chance(2) {
		m.branching(some(m, m.open(len(m.states))))
	}
}

// open are the states among the first n that may be left.
func (m *machine) open(n int) []*state {
	var out []*state
	for _, s := range m.states[:n] {
		if !s.terminal {
			out = append(out, s)
		}
	}
	return out
}

func stateNames(list []*state) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.name
	}
	if len(names) == 1 {
		return names[0]
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// guardsBefore draws the names of the guards; rest writes them.
func (m *machine) guardsBefore() {
	for range m.IntN(3) {
		m.guards = append(m.guards, m.nextName())
	}
	for range m.IntN(2) {
		m.clauses = append(m.clauses, m.nextName())
	}
}

// writer collects one operation.
type writer struct {
	*machine
	name       string
	by         string
	creates    bool
	silent     bool // it gets no inputs: a step of `then`
	branch     bool // of `choose`: it cannot require anything
	still      bool // a branch of it records only, so it changes nothing itself
	set, clear []string
	increments []string
	adds       []string
	resets     []string
	decrements []string
	removes    []string
	inputs     []string
	require    []string
	must       map[string]bool // counters that the target wants counted
	floor      map[string]bool // counters that some target wants counted
	never      map[string]bool // counters and sets that the branches change
	asks       []ask
	follows    string // the operation that follows it, or the delivery of its effect
	lines      []string
}

func (m *machine) operation(by string) *writer {
	taken := strings.Fields("core list table record open text data replay result events")
	i := slices.IndexFunc(m.names, func(n string) bool { return m.chance(9) || !slices.Contains(taken, n) })
	name := m.names[i]
	m.names = slices.Delete(m.names, i, i+1)
	return &writer{machine: m, name: name, by: by, must: map[string]bool{}, floor: map[string]bool{}, never: map[string]bool{}}
}

func (w *writer) line(format string, args ...any) {
	w.lines = append(w.lines, "    "+fmt.Sprintf(format, args...))
}

// value draws what a field is set to. An absent value is for those that may have
// none. A step without inputs may find nothing: the empty text.
func (w *writer) value(f field, mayBeAbsent bool) string {
	ways := []string{"input", "input"}
	if w.silent {
		ways, mayBeAbsent = nil, false
	}
	if f.optional && mayBeAbsent {
		ways = append(ways, "input or absent")
	}
	if f.optional && mayBeAbsent && !w.creates {
		ways = append(ways, "input or same")
	}
	switch {
	case isText(f.kind) && w.by != "system":
		ways = append(ways, "actor", "actor")
		if f.name != w.group {
			ways = append(ways, `"'it is'"`)
		}
	case f.kind == "time":
		ways = append(ways, "now", fmt.Sprintf("now + %d%s", 1+w.IntN(90), one(w.machine, []string{"s", "m", "h", "d"})))
	case f.kind == "bool":
		ways = append(ways, "true", "false")
	case strings.HasPrefix(f.kind, "int"):
		ways = append(ways, fmt.Sprint(w.IntN(4)))
	case strings.Contains(f.kind, "|"):
		ways = append(ways, worth(one(w.machine, strings.Split(f.kind, "|"))))
	}
	if len(ways) == 0 {
		return ""
	}
	return w.leftOut(f, one(w.machine, ways))
}

// leftOut makes an input one that may be left out, sometimes.
func (w *writer) leftOut(f field, way string) string {
	r := beside(w.name + f.name + w.names[0])
	switch {
	case way == "actor" && !takesActor(f.kind):
		way = "input"
	case way == "input" && f.constant != "" && r.IntN(2) == 0:
		way = "input or default"
	case way == "input" && w.branch && r.IntN(3) == 0:
		way = "input or reject"
	}
	if _, or, _ := strings.Cut(way, " or "); w.branch && (or == "default" || or == "reject") {
		name := "sent_" + f.name // another branch may need the input of the field
		w.inputs = append(w.inputs, name+": optional "+f.kind)
		return "input." + name + " or " + or
	}
	return way
}

// assign sets a field to a value that is there.
func (w *writer) assign(f field, value string) {
	if value != "" {
		w.set = append(w.set, f.name+": "+value)
	}
}

// keeps reports whether what the target says of a field holds in all sources.
func keeps(from []*state, to *state, field string) bool {
	for _, s := range from {
		if s.facts[field].text != to.facts[field].text {
			return false
		}
	}
	return len(from) > 0
}

// ask writes a guard of the operation's own and requires it.
func (w *writer) ask(condition string) {
	name := w.nextName()
	w.own = append(w.own, fmt.Sprintf("  %s: {when: '%s', error: not_%s}\n", name, condition, name))
	w.require = append(w.require, name)
}

// established makes hold what the target's invariant says of a field: by a value,
// or by a guard where the record may be so already. It reports whether there was
// something to do.
func (w *writer) established(from []*state, to *state, f field) bool {
	fact, ok := to.facts[f.name]
	if !ok {
		return false
	}
	stated := false // by some source: a guard may never pass there
	known := !f.optional
	for _, s := range from {
		stated = stated || s.facts[f.name].text != ""
		known = known || s.promises[f.name] == present
	}
	switch {
	case keeps(from, to, f.name) && !w.chance(3):
	case len(from) > 0 && !w.branch && !stated && known && w.chance(3):
		w.ask(fact.text)
	default:
		w.assign(f, one(w.machine, fact.values))
	}
	return true
}

// enter draws the effects that make the promises of the target hold when the
// record comes from one of the sources; none means that it is made.
func (w *writer) enter(from []*state, to *state) {
	for _, c := range sortedKeys(w.counters) {
		kept := len(from) > 0
		for _, s := range from {
			kept = kept && s.counted[c]
		}
		w.must[c] = w.must[c] || to.counted[c] && !kept
		w.floor[c] = w.floor[c] || to.counted[c]
	}
	for _, f := range w.fields {
		if w.established(from, to, f) {
			continue
		}
		if w.creates && f.constant != "" && w.chance(2) {
			continue
		}
		if w.creates && !f.optional {
			w.assign(f, w.value(f, false))
			continue
		}
		known := free
		if len(from) > 0 {
			known = from[0].promises[f.name]
		}
		for _, s := range from {
			if s.promises[f.name] != known {
				known = free
			}
		}
		if w.creates {
			known = absent
		}
		want := to.promises[f.name]
		if want == free && !w.chance(3) {
			want = to.should[f.name]
		}
		switch {
		case want == present && (known != present || w.chance(3)):
			w.assign(f, w.value(f, false))
		case want == absent && known != absent:
			w.clear = append(w.clear, f.name)
		case want == free && w.chance(5) && (f.name != w.group || w.chance(2)):
			if f.optional && !w.creates && w.chance(3) {
				w.clear = append(w.clear, f.name)
			} else {
				w.assign(f, w.value(f, true))
			}
		}
	}
}

// done writes the operation.
func (w *writer) done() {
	head := []string{"  " + w.name + ":"}
	if w.chance(3) {
		head = append(head, "    doc: "+quoted(one(w.machine, texts)))
	}
	if w.by != "caller" {
		head = append(head, "    by: "+w.by)
	}
	w.counts()
	if len(w.require) > 0 {
		slices.Sort(w.require)
		w.require = slices.Compact(w.require)
		w.Shuffle(len(w.require), func(i, j int) { w.require[i], w.require[j] = w.require[j], w.require[i] })
		w.line("require: [%s]", strings.Join(w.require, ", "))
		if !w.creates && w.chance(5) {
			w.line("on_refusal: record_only")
		}
	}
	for _, key := range asked(w.asks, w.follows) {
		w.line("%s", key)
	}
	if len(w.inputs) > 0 {
		w.line("input: {%s}", strings.Join(w.inputs, ", "))
	}
	if len(w.set) > 0 {
		w.line("set: {%s}", strings.Join(w.set, ", "))
	}
	if len(w.clear) > 0 {
		w.line("clear: [%s]", strings.Join(w.clear, ", "))
	}
	if len(w.increments) > 0 {
		w.line("increment: [%s]", strings.Join(w.increments, ", "))
	}
	if len(w.adds) > 0 {
		w.line("add: {%s}", strings.Join(w.adds, ", "))
	}
	w.lowers()
	if w.chance(3) {
		w.line("event: %s_happened", w.name)
	}
	if w.chance(12) {
		w.line("was: former_%s", w.name)
	}
	w.ops = append(w.ops, strings.Join(append(head, w.lines...), "\n")+"\n")
}

// creation draws an operation that makes a record.
func (m *machine) creation() {
	by := "caller"
	if m.chance(8) && !slices.ContainsFunc(m.initial, func(set string) bool { return strings.HasSuffix(set, ": actor") }) {
		by = "system"
	}
	w := m.operation(by)
	w.creates = true
	several := m.chance(5) && len(m.states[0].facts) == 0
	if several {
		m.arrivals(w, m.states[0])
	} else {
		w.line("creates: %s", m.states[0].name)
	}
	w.enter(nil, m.states[0])
	w.set = append(w.set, m.initial...)
	if m.chance(6) {
		m.before(w)
	}
	if m.group != "" && m.chance(4) {
		w.line("dedupe_by: %s", m.group)
	}
	if !several {
		w.follows = w.followed(m.states[0])
	}
	w.done()
}

// who draws who runs an operation, and the guards that it requires.
func (w *writer) who() {
	var require []string
	if w.by == "caller" {
		require = append(require, w.guards...)
	}
	require = append(require, w.clauses...)
	if len(require) > 0 && w.chance(2) {
		w.require = append(w.require, some(w.machine, require)...)
	}
	if !w.silent && w.by != "system" && w.chance(6) {
		w.compareInput()
	}
}

// compareInput draws a guard that compares an input with the record.
func (w *writer) compareInput() {
	in := w.nextName()
	f := one(w.machine, w.fields)
	order := one(w.machine, []string{"==", "!=", "<", "<=", ">", ">="})
	switch {
	case len(w.sets) > 0 && w.by == "caller" && w.chance(3):
		w.ask("actor" + one(w.machine, []string{" in ", " not in "}) + one(w.machine, sortedKeys(w.sets)))
	case len(w.sets) > 0 && w.chance(2):
		w.inputs = append(w.inputs, in+": string")
		w.ask("input." + in + one(w.machine, []string{" in ", " not in "}) + one(w.machine, sortedKeys(w.sets)))
	case strings.HasPrefix(f.kind, "int"):
		w.inputs = append(w.inputs, in+": int")
		w.ask(fmt.Sprintf("%s %s input.%s", f.name, order, in))
	case f.kind == "time":
		w.inputs = append(w.inputs, in+": optional time")
		w.ask(fmt.Sprintf("input.%s %s %s", in, order, f.name))
	case isText(f.kind):
		w.inputs = append(w.inputs, in+": "+[]string{"string", "string 1..12"}[beside(in).IntN(2)])
		w.ask(fmt.Sprintf("input.%s %s %s", in, one(w.machine, []string{"==", "!="}), f.name))
	default:
		w.inputs = append(w.inputs, in+": optional bool")
		w.ask("input." + in + one(w.machine, []string{" is present", " is absent", " == true"}))
	}
}

// next lets the store pick the record.
func (w *writer) next() {
	var parts []string
	switch {
	case w.chance(3):
		parts = append(parts, "where: ['"+w.fieldFact(w.by == "caller")+"']")
	case w.group != "" && w.chance(2):
		in := w.nextName()
		w.inputs = append(w.inputs, in+": string")
		parts = append(parts, "where: "+w.group+" == input."+in)
	}
	keys := []string{"created_at", "updated_at"}
	for _, f := range w.fields {
		if f.kind != "json" {
			keys = append(keys, f.name)
		}
	}
	keys = some(w.machine, keys)
	for i := range keys {
		keys[i] = one(w.machine, []string{"", "-"}) + keys[i]
	}
	parts = append(parts, "order: ["+strings.Join(keys[:min(2, len(keys))], ", ")+"]")
	w.line("next: {%s}", strings.Join(parts, ", "))
}

// reaches reports whether a step without inputs can establish what a state promises.
func (w *writer) reaches(from, to *state) bool {
	for _, f := range w.fields {
		_, stated := to.facts[f.name]
		if !stated && to.promises[f.name] == present && from.promises[f.name] != present && w.value(f, false) == "" {
			return false
		}
	}
	return true
}

// followed draws a second step that follows in the same transaction, or after the
// effect: from the state that the first one leads to. It returns its name, if any.
func (w *writer) followed(at *state) string {
	if at.terminal || !w.chance(4) {
		return ""
	}
	step := w.operation("system")
	step.silent = true
	step.line("from: %s", at.name)
	to := one(w.machine, w.states)
	if step.reaches(at, to) && !w.chance(4) {
		step.line("to: %s", to.name)
		step.enter([]*state{at}, to)
	} else {
		step.line("to: same")
		step.keepsCounted(at)
	}
	step.who()
	if w.chance(4) {
		step.trigger()
	}
	step.outside([]*state{at})
	step.done()
	return step.name
}

func (m *machine) move(from []*state, to *state) {
	w := m.operation(one(m, []string{"caller", "caller", "caller", "operator", "system"}))
	w.line("from: %s", stateNames(from))
	w.line("to: %s", to.name)
	w.enter(from, to)
	w.who()
	switch {
	case w.by == "system":
		w.trigger()
	case m.chance(3):
		w.next()
	}
	w.outside(from)
	w.follows = w.followed(to)
	w.done()
}

// trigger draws what fires an operation of the system.
func (w *writer) trigger() {
	var times []string
	for _, f := range w.fields {
		if f.kind == "time" {
			times = append(times, f.name)
		}
	}
	switch {
	case len(times) == 0 || w.chance(4):
		w.line("trigger: [startup]")
	case w.chance(2):
		w.line("trigger: [after %s]", one(w.machine, times))
	default:
		w.line("trigger: [startup, after %s + %dm]", one(w.machine, times), 1+w.IntN(90))
	}
}

// outside draws an effect, and the states in which a call is only recorded.
func (w *writer) outside(from []*state) {
	if w.chance(4) {
		w.asks = append(w.asks, w.work(w.name+"_effect"))
		if w.chance(3) {
			w.asks = append(w.asks, w.work(w.name+"_second"))
		}
	}
	if !w.chance(4) {
		return
	}
	for _, s := range w.states {
		listed := s.terminal
		for _, f := range from {
			listed = listed || f == s
		}
		if !listed {
			w.line("record_only_in: [%s]", s.name)
			return
		}
	}
}

// stay draws an operation that stays where the record is.
func (m *machine) stay(from []*state) {
	w := m.operation("caller")
	w.line("from: %s", stateNames(from))
	w.line("to: same")
	w.keepsCounted(from...)
	for _, f := range m.fields {
		mayBeAbsent, keep := true, f.name == m.group && !m.chance(3) || !m.chance(2)
		for _, s := range from {
			mayBeAbsent = mayBeAbsent && s.promises[f.name] == free
			keep = keep || s.promises[f.name] == absent || s.facts[f.name].text != ""
		}
		if !keep {
			w.assign(f, w.value(f, mayBeAbsent))
		}
	}
	w.who()
	if m.chance(4) {
		w.next()
	}
	w.outside(from)
	w.done()
}

// branching draws an operation that leads to one of several states.
func (m *machine) branching(from []*state) {
	w := m.operation("caller")
	words := colours[:2+m.IntN(3)]
	w.inputs = append(w.inputs, "way: "+strings.Join(words, "|"))
	w.line("from: %s", stateNames(from))
	w.line("choose:")
	for i, word := range words {
		when := "when: input.way == " + word + ", "
		if i == len(words)-1 {
			when = ""
		}
		switch m.IntN(6) {
		case 0:
			w.line("  - {%sreject: no_%s}", when, word)
		case 1:
			w.line("  - {%srecord_only: true}", when)
			w.still = true
		default:
			to := one(m, m.states)
			b := &writer{machine: m, name: w.name, branch: true, must: map[string]bool{}, floor: map[string]bool{}}
			b.enter(from, to)
			for _, in := range b.inputs {
				if !slices.Contains(w.inputs, in) {
					w.inputs = append(w.inputs, in)
				}
			}
			w.keepsCounted(to)
			var counted []string
			for _, c := range sortedKeys(b.must) {
				if b.must[c] {
					counted = append(counted, c)
					w.count(c)
					w.never[c] = true
				}
			}
			parts := when + "to: " + to.name
			if resets := b.resetsOf(w); len(resets) > 0 {
				parts += ", reset: [" + strings.Join(resets, ", ") + "]"
			}
			if len(b.set) > 0 {
				parts += ", set: {" + strings.Join(b.set, ", ") + "}"
			}
			if len(b.clear) > 0 {
				parts += ", clear: [" + strings.Join(b.clear, ", ") + "]"
			}
			if len(counted) > 0 {
				parts += ", increment: [" + strings.Join(counted, ", ") + "]"
			}
			w.line("  - {%s}", parts+w.branchAsks(word, to))
		}
	}
	w.who()
	w.done()
}
