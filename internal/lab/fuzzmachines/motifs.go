package fuzzmachines

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A motif is a part of a machine whose facts hang together, as those of real
// systems do: people who must be others, a number that follows another one, a
// quorum. What is drawn field by field seldom has such parts and is still sound. Each
// brings fields, states, guards and operations of its own, and is entered out of an
// open state of the machine.

// motifs draws which ones a machine has.
func (m *machine) motifs() {
	for _, draw := range []func(){
		m.people, m.upload, m.purse, m.refund, m.quorum, m.keys, m.alarm, m.lane, m.crossroads,
		m.bound, m.numbered, m.deputy,
	} {
		if m.chance(5) {
			draw()
		}
	}
	if r := beside(fmt.Sprint(m.extras, m.own, m.ops)); r.IntN(5) == 0 {
		m.loans(r)
	}
	if r := beside(fmt.Sprint("spells", m.extras, m.own, m.ops)); r.IntN(5) == 0 {
		m.spells(r)
	}
	if r := beside(fmt.Sprint("owners", m.extras, m.own, m.ops)); r.IntN(5) == 0 {
		m.owners(r)
	}
	if r := beside(fmt.Sprint("lots", m.extras, m.own, m.ops)); r.IntN(5) == 0 {
		m.lots(r)
	}
}

// lots: one call moves all records of a lot, and some of them may refuse. Its names are its own, and it draws from a source of
// its own.
func (m *machine) lots(r *rand.Rand) {
	kind, set := "string", "lot: input"
	if r.IntN(2) == 0 {
		kind, set = "optional string", "lot: input or absent"
	}
	m.extras = append(m.extras, "  lot: "+kind+"\n", "  lifts: {type: counter, changed_by: [lift_lot]}\n")
	m.initial = append(m.initial, set)
	m.places = append(m.places, "  stacked: {}\n", "  lifted: {}\n", "  shipped_lot: {final: true}\n")
	where := []string{
		"where: lot == input.of, ", "where: [lot == input.of, lifts < 3], ", "where: ['lot == ''it is''', lot == input.of], ", "where: lifts != 1, ", "",
	}[r.IntN(5)]
	most := fmt.Sprint("most: ", []int{1, 2, 5, 10000}[r.IntN(4)])
	ends := []string{"to: lifted", "choose: [{when: lifts > 2, to: shipped_lot}, {when: lifts > 1, to: lifted}, {to: same}]"}[r.IntN(2)]
	m.own = append(m.own, "  few_lifted: {fewer: {than: 2, same: lot, in: [lifted]}, error: lot_full}\n")
	asks := []string{"", ", require: [few_lifted]", ", require: [few_lifted], on_refusal: record_only"}[r.IntN(3)]
	by := []string{"", "by: operator, "}[r.IntN(2)]
	m.ops = append(m.ops,
		"  stack_up: {from: "+stateNames(append(m.open(len(m.states))[:1:1], &state{name: "lifted"}))+", to: stacked}\n",
		"  lift_lot: {"+by+"from: stacked, "+ends+", increment: [lifts], input: {of: string}, each: {"+where+most+"}"+asks+"}\n",
		"  ship_lot: {from: [stacked, lifted], to: shipped_lot, each: {where: lot == actor, "+most+"}}\n")
}

// owners: who leaves relies on another one who stays, and others take away on whom they rely. Its names are its own, and it
// draws from a source of its own.
func (m *machine) owners(r *rand.Rand) {
	kind, set := "string", "account: input"
	if r.IntN(2) == 0 {
		kind, set = "optional string", "account: input or absent"
	}
	m.extras, m.initial = append(m.extras, "  account: "+kind+"\n"), append(m.initial, set)
	m.places = append(m.places, "  owning: {}\n", "  idle_owner: {}\n", "  gone_owner: {final: true}\n")
	same := []string{"account", "{account: account}", "{account: 'input.of'}", "{account: '''it is'''}"}[r.IntN(4)]
	if r.IntN(4) == 0 {
		same = "{account: actor}"
	}
	in := []string{"[owning]", "[owning, idle_owner]"}[r.IntN(2)]
	m.own = append(m.own, "  owner_stays: {some: {same: "+same+", in: "+in+"}, error: last_owner}\n")
	asks := ", require: [owner_stays], input: {of: " + []string{"string", "optional string"}[r.IntN(2)] + "}"
	rests := []string{asks, "", ", next: {order: [created_at]}" + asks}[r.IntN(3)]
	m.ops = append(m.ops,
		"  own_up: {from: "+stateNames(append(m.open(len(m.states))[:1:1], &state{name: "idle_owner"}))+", to: owning}\n",
		"  rest_owner: {from: owning, to: idle_owner"+rests+"}\n",
		"  leave_owner: {from: [owning, idle_owner], to: gone_owner"+asks+"}\n",
		"  shift_owner: {from: owning, to: same, set: {"+set+"}}\n")
}

// loans: a guard counts the records of somebody who is not stored in this one yet. Its names
// are its own, and it draws from a source of its own.
func (m *machine) loans(r *rand.Rand) {
	whose := []string{"actor", "input.lent_to", "''it is''"}[r.IntN(3)]
	group := "same: {reader: '" + whose + "'"
	if m.group != "" && r.IntN(2) == 0 {
		group += ", " + m.group + ": " + m.group
	}
	condition, brings := "none: {", ""
	if n := r.IntN(4); n > 0 {
		limit := fmt.Sprint(n)
		switch l := beside(fmt.Sprint(n, group, m.ops)); l.IntN(6) {
		case 0:
			limit = "allowed"
			m.extras, m.initial = append(m.extras, "  allowed: int 0..4\n"), append(m.initial, "allowed: input")
		case 1:
			limit = "allowed"
			m.extras, m.initial = append(m.extras, "  allowed: optional int\n"), append(m.initial, "allowed: input or absent")
		case 2:
			limit, brings = "input.allowed", ", allowed: "+[]string{"int", "optional int"}[l.IntN(2)]
		}
		condition = "fewer: {than: " + limit + ", "
	}
	m.extras = append(m.extras, "  reader: optional string\n")
	m.places = append(m.places, "  lent: {present: [reader]}\n", "  back: {absent: [reader]}\n")
	m.own = append(m.own, "  few_lent: {"+condition+group+"}, in: [lent]}, error: lent_enough}\n")
	reader, kind := "input.lent_to", "string"
	if r.IntN(2) == 0 {
		reader, kind = "actor", []string{"string", "optional string"}[r.IntN(2)]
	}
	lends := "require: [few_lent], input: {lent_to: " + kind + brings + "}, set: {reader: " + reader + "}}\n"
	m.ops = append(m.ops,
		"  lend: {from: "+stateNames(append(m.open(len(m.states))[:1:1], &state{name: "back"}))+", to: lent, "+lends,
		"  pass_on: {from: lent, to: same, "+lends,
		"  give_back: {from: lent, to: back, clear: [reader]}\n")
}

// extra declares a field that only the motif's operations change. A creation sets
// it, unless first is empty.
func (m *machine) extra(kind, first string) string {
	name := m.nextName()
	m.extras = append(m.extras, fmt.Sprintf("  %s: %s\n", name, kind))
	if first != "" {
		m.initial = append(m.initial, name+": "+first)
	}
	return name
}

// place declares a state of a motif.
func (m *machine) place(format string, args ...any) string {
	name := m.nextName()
	m.places = append(m.places, "  "+name+": {"+fmt.Sprintf(format, args...)+"}\n")
	return name
}

// must declares a guard of a motif.
func (m *machine) must(facts ...string) string {
	name := m.nextName()
	m.own = append(m.own, fmt.Sprintf("  %s: {when: ['%s'], error: not_%s}\n", name, strings.Join(facts, "', '"), name))
	return name
}

// does declares an operation of a motif.
func (m *machine) does(lines ...string) {
	w := m.operation("caller")
	m.ops = append(m.ops, "  "+w.name+":\n    "+strings.Join(lines, "\n    ")+"\n")
}

// entrance is an open state of the machine itself.
func (m *machine) entrance() string { return one(m, m.open(len(m.states))).name }

// people: who decides is neither of those who are recorded.
func (m *machine) people() {
	asker := m.extra("string", one(m, []string{"actor", "input"}))
	first, second := m.extra("optional string", ""), m.extra("optional string", "")
	asked := m.place("absent: [%s, %s]", first, second)
	half := m.place("present: [%s], absent: [%s], invariant: [%s != %s]", first, second, first, asker)
	done := m.place("terminal: true, present: [%s, %s], invariant: [%s != %s, %s != %s, %s != %s]",
		first, second, first, asker, second, asker, first, second)
	other := m.must(asker + " != actor")
	m.does("from: "+m.entrance(), "to: "+asked, fmt.Sprintf("clear: [%s, %s]", first, second))
	twice := fmt.Sprintf("  - {when: %s == actor, reject: twice}", first)
	branches := []string{fmt.Sprintf("  - {from: %s, to: %s, set: {%s: actor}}", asked, half, first), twice}
	if m.chance(2) {
		branches[0], branches[1] = strings.Replace(twice, "{when", "{from: "+half+", when", 1), branches[0]
	}
	m.does(append([]string{
		fmt.Sprintf("from: [%s, %s]", asked, half), "require: [" + other + "]", "choose:",
	}, append(branches, fmt.Sprintf("  - {from: %s, to: %s, set: {%s: actor}}", half, done, second))...)...)
	if m.chance(2) {
		m.does(fmt.Sprintf("from: [%s, %s]", asked, half), "to: "+asked, "require: ["+m.must(asker+" == actor")+"]",
			fmt.Sprintf("clear: [%s, %s]", first, second))
	}
}

// upload: an offset that the call must name, and that goes up to a length.
func (m *machine) upload() {
	least := m.IntN(2)
	offset, length := m.extra("int 0..", "0"), m.extra(fmt.Sprintf("optional int %d..", least), "")
	under := m.place("present: [%s], invariant: [%s < %s]", length, offset, length)
	whole := m.place("%s: true, present: [%s], invariant: [%s == %s]", one(m, []string{"terminal", "final"}), length, offset, length)
	in := m.nextName()
	begin := []string{
		"from: " + m.entrance(), fmt.Sprintf("input: {%s: int %d..}", in, least),
		fmt.Sprintf("set: {%s: 0, %s: input.%s}", offset, length, in), "choose:",
	}
	if least == 0 {
		begin = append(begin, fmt.Sprintf("  - {when: %s == 0, to: %s}", length, whole))
	}
	m.does(append(begin, "  - {to: "+under+"}")...)
	at, to, total := m.nextName(), m.nextName(), m.nextName()
	here, forward := m.must(fmt.Sprintf("input.%s == %s", at, offset)), m.must(fmt.Sprintf("input.%s >= %s", to, offset))
	part := []string{
		"from: " + under, fmt.Sprintf("input: {%s: int 0.., %s: int 0.., %s: optional int 0..}", at, to, total),
		fmt.Sprintf("require: [%s, %s]", here, forward), fmt.Sprintf("set: {%s: input.%s}", offset, to), "choose:",
	}
	if m.chance(2) {
		part = append(part, fmt.Sprintf("  - {when: input.%s is present, reject: known_already}", total))
	}
	m.does(append(part,
		fmt.Sprintf("  - {when: %s > %s, reject: too_long}", offset, length),
		fmt.Sprintf("  - {when: %s == %s, to: %s}", offset, length, whole), "  - {to: "+under+"}")...)
}

// purse: two numbers, of which one is never more, and calls that bring both.
func (m *machine) purse() {
	kind := one(m, []string{"int 0..", "int"})
	whole, free := m.extra(kind, "0"), m.extra(kind, "0")
	if within := free + " <= " + whole; beside(whole+free+m.names[0]).IntN(2) == 0 {
		m.facts = append(m.facts, within)
	} else {
		m.facts = append(m.facts, whole+" - "+free+" >= 0")
	}
	a, b := m.nextName(), m.nextName()
	rises := m.must(fmt.Sprintf("input.%s > %s", a, whole), fmt.Sprintf("input.%s > %s", b, free))
	within := m.must(fmt.Sprintf("input.%s <= input.%s", b, a))
	m.does("from: "+m.entrance(), "to: same", fmt.Sprintf("input: {%s: %s, %s: %s}", a, kind, b, kind),
		fmt.Sprintf("require: [%s, %s]", rises, within), fmt.Sprintf("set: {%s: input.%s, %s: input.%s}", whole, a, free, b))
	less := m.nextName()
	m.does("from: "+m.entrance(), "to: same", fmt.Sprintf("input: {%s: %s}", less, kind),
		"require: ["+m.must(fmt.Sprintf("input.%s < %s", less, free))+"]", fmt.Sprintf("set: {%s: input.%s}", free, less))
}

// refund: the operation writes what its branches read.
func (m *machine) refund() {
	paid, back := m.extra("int 0..", "0"), m.extra("int 0..", "0")
	m.facts = append(m.facts, back+" <= "+paid)
	done := m.place("terminal: true, invariant: [%s == %s]", back, paid)
	in, out := m.nextName(), m.nextName()
	from := m.entrance()
	m.does("from: "+from, "to: same", fmt.Sprintf("input: {%s: int 0..}", in),
		"require: ["+m.must(fmt.Sprintf("input.%s >= %s", in, back))+"]", fmt.Sprintf("set: {%s: input.%s}", paid, in))
	more, within, becomes := fmt.Sprintf("input.%s > %s", out, back), fmt.Sprintf("input.%s <= %s", out, paid), "input."+out
	if beside(paid+out).IntN(2) == 0 { // the call brings what is added
		more, within, becomes = fmt.Sprintf("input.%s > 0", out), fmt.Sprintf("%s + input.%s <= %s", back, out, paid), back+" + input."+out
	}
	m.does("from: "+from, fmt.Sprintf("input: {%s: int 0..}", out), fmt.Sprintf("require: [%s, %s]", m.must(more), m.must(within)),
		fmt.Sprintf("set: {%s: %s}", back, becomes), "choose:",
		fmt.Sprintf("  - {when: %s == %s, to: %s}", back, paid, done), "  - {to: same}")
}

// quorum: who may decide is in one set and not in another one, and a counter
// stands beside a number, bounded or not.
func (m *machine) quorum() {
	need := m.extra(one(m, []string{"int 1..5", "int 1..", "int"}), "input")
	may, did, count := m.extra("set", "input"), m.extra("set", ""), m.extra("counter", "")
	open := m.place("invariant: [%s < %s, %s covers %s]", count, need, may, did)
	done := m.place("terminal: true, present: [%s], invariant: [%s >= %s]", did, count, need)
	m.does("from: "+m.entrance(), "to: "+open, "require: ["+m.must(count+" < "+need, may+" covers "+did)+"]")
	who, lines := "actor", []string{"from: " + open}
	if m.chance(2) {
		in := m.nextName()
		who = "input." + in
		lines = append(lines, "input: {"+in+": string}")
	}
	m.does(append(lines, fmt.Sprintf("require: [%s, %s]", m.must(who+" in "+may), m.must(who+" not in "+did)),
		fmt.Sprintf("add: {%s: %s}", did, who), "increment: ["+count+"]", "choose:",
		fmt.Sprintf("  - {when: %s >= %s, to: %s}", count, need, done), "  - {to: same}")...)
}

// keys: several rules across records, of different fields and states.
func (m *machine) keys() {
	a, b := m.extra(m.sized("string", "key"), "input"), m.extra("string", "input")
	fields := [][]string{{a}, {b}, {a, b}}
	if m.chance(2) {
		c := m.extra("optional string", "input or absent")
		fields = append(fields, []string{c}, []string{a, c})
	}
	for _, i := range m.Perm(len(fields))[:1+m.IntN(3)] {
		name := m.nextName()
		m.uniques = append(m.uniques, fmt.Sprintf("  %s: {fields: [%s], in: [%s], error: taken_%s}\n",
			name, strings.Join(fields[i], ", "), m.bare(some(m, m.states)), name))
	}
}

// alarm: a deadline acts for a caller, and the effect's key has an absent part.
func (m *machine) alarm() {
	due, note := m.extra("optional time", "input or absent"), m.extra("optional string", "input or absent")
	m.does("from: "+m.entrance(), "to: same", fmt.Sprintf("trigger: [after %s]", due), fmt.Sprintf("clear: [%s]", due),
		fmt.Sprintf("effect: {name: ring_%s, key: [%s], atomic: %t}", due, strings.Join(some(m, []string{due, note}), ", "), m.chance(2)))
}

// lane: a pick that meets records which it cannot take, and sets them aside until it is
// their time, they change, or another one makes room.
func (m *machine) lane() {
	due, lane := m.extra("optional time", "input or absent"), m.extra("string", "input")
	waiting, busy := m.place("doc: waits"), m.place("doc: is worked on")
	m.does("from: "+m.entrance(), "to: "+waiting)
	var require []string
	group := func(condition string, size string) {
		name := m.nextName()
		m.own = append(m.own, fmt.Sprintf("  %s: {%s: {%ssame: %s, in: [%s]}, error: not_%s}\n", name, condition, size, lane, busy, name))
		require = append(require, name)
	}
	if m.chance(2) {
		require = append(require, m.must(due+" <= now"))
	}
	switch m.IntN(4) {
	case 0:
		group("none", "")
	case 1:
		group("fewer", fmt.Sprintf("than: %d, ", one(m, []int{1, 2, 5, 1000})))
	case 2:
		m.uniques = append(m.uniques, fmt.Sprintf("  %s_once: {fields: %s, in: [%s], error: full}\n", lane, lane, busy))
	case 3:
		require = append(require, m.must(due+" is present"))
	}
	lines := []string{"from: " + waiting, "to: " + busy, "next: {order: [" + one(m, []string{due, "created_at", "-" + lane}) + "]}"}
	if len(require) > 0 {
		lines = append(lines, "require: ["+strings.Join(require, ", ")+"]")
	}
	m.does(lines...)
	m.does("from: "+busy, "to: "+waiting, "set: {"+due+": input or absent}")
}

// crossroads: branches without a condition, each for one of the states that the operation leaves,
// stand above others that look at the record.
func (m *machine) crossroads() {
	mark := m.extra("optional int", "")
	left, right := m.place("doc: left"), m.place("present: [%s]", mark)
	end := m.place("terminal: true")
	in := m.nextName()
	m.does("from: "+m.entrance(), "to: "+left)
	branches := []string{
		fmt.Sprintf("  - {from: %s, to: %s, set: {%s: 3}}", left, right, mark),
		fmt.Sprintf("  - {when: input.%s is present, to: %s}", in, end),
		fmt.Sprintf("  - {when: %s > %d, to: same, set: {%s: 1}}", mark, m.IntN(4), mark),
		"  - {to: " + left + "}",
	}
	if m.chance(2) {
		branches[1] = fmt.Sprintf("  - {from: %s, when: input.%s is present, reject: not_now}", right, in)
	}
	m.does(append([]string{
		fmt.Sprintf("from: [%s, %s]", left, right), fmt.Sprintf("input: {%s: optional bool}", in), "choose:",
	}, branches...)...)
	m.does(fmt.Sprintf("from: [%s, %s]", left, right), "to: "+end)
}

// arrivals lets a creation lead to several states, or be refused: a branch for each.
func (m *machine) arrivals(w *writer, first *state) {
	in := m.nextName()
	other := m.place("doc: arrived otherwise")
	w.inputs = append(w.inputs, in+": optional "+strings.Join(colours[:3], "|"))
	w.line("creates: [%s, %s]", first.name, other)
	w.line("choose:")
	if m.chance(2) {
		w.line("  - {when: input.%s == %s, reject: turned_away}", in, colours[2])
	}
	w.line("  - {when: input.%s is present, to: %s}", in, one(m, []string{first.name, other}))
	bare := first.name
	if strings.HasSuffix(w.lines[len(w.lines)-1], first.name+"}") {
		bare = other
	}
	w.line("  - {to: %s}", bare)
	m.does("from: "+other, "to: "+m.place("terminal: true"))
}

// before draws a guard of a creation that reads the record: before it is made, its fields
// are absent, its counters 0 and its sets empty.
func (m *machine) before(w *writer) {
	var facts []string
	for _, f := range m.fields {
		if !f.optional {
			continue
		}
		facts = append(facts, f.name+" is absent")
		if m.chance(4) { // never so
			facts = append(facts, f.name+" is present")
		}
	}
	for _, c := range sortedKeys(m.counters) {
		facts = append(facts, c+" < 2", c+" <= 0")
	}
	for _, s := range sortedKeys(m.sets) {
		facts = append(facts, s+" is absent")
	}
	if len(facts) > 0 {
		w.ask(one(m, facts))
	}
}

// bound: an unbounded number between constants and inputs, so that what refuses one
// guard lies where another one holds.
func (m *machine) bound() {
	ops := []string{"<", "<=", ">", ">=", "!="}
	n := m.extra("optional int", "")
	a, b := m.nextName(), m.nextName()
	within := m.must(n+" is present", fmt.Sprintf("%s %s %d", n, one(m, ops), m.IntN(9)-3))
	beside := m.must(fmt.Sprintf("%s %s input.%s", n, one(m, ops), a))
	inputs := m.must(fmt.Sprintf("input.%s %s input.%s", a, one(m, ops), b))
	m.does("from: "+m.entrance(), "to: same", fmt.Sprintf("input: {%s: int}", n), fmt.Sprintf("set: {%s: input}", n))
	m.does("from: "+m.entrance(), "to: same", fmt.Sprintf("input: {%s: int, %s: int}", a, b),
		fmt.Sprintf("require: [%s]", strings.Join([]string{within, beside, inputs}[:2+m.IntN(2)], ", ")))
}

// numbered: facts about the number that a record gets by itself.
func (m *machine) numbered() {
	group, copied := m.extra("a|b", "input"), m.extra("optional int", "")
	number := m.extra("{type: sequence, per: "+group+"}", "")
	order := one(m, []string{"==", "<=", ">="})
	busy := m.place("present: [%s], invariant: [%s %s %s]", copied, copied, order, number)
	low := m.must(fmt.Sprintf("%s %s %d", number, one(m, []string{"<", ">", "!="}), 1+m.IntN(6)))
	m.does("from: "+m.entrance(), "to: "+busy, fmt.Sprintf("set: {%s: %s}", copied, number))
	m.does("from: "+busy, "to: "+m.place("terminal: true"), "require: ["+low+"]")
}

// deputy: one of two may decide, and what is raised has somebody who knows of it.
func (m *machine) deputy() {
	chief, deputy := m.extra("string", one(m, []string{"actor", "input"})), m.extra("optional string", "input or absent")
	raised, boss, count := m.extra("{type: bool, default: false}", ""), m.extra("optional string", ""), m.extra("counter", "")
	least := 1 + m.IntN(3)
	m.ruled = append(m.ruled, fmt.Sprintf("{any: ['%s == false', '%s is present']}", raised, boss))
	done := m.place("terminal: true, invariant: [{any: ['%s >= %d', ['%s == true', '%s is present']]}]", count, least, raised, boss)
	may := m.mustAny(chief+" == actor", deputy+" == actor")
	patient := m.mustAny(raised+" == false", fmt.Sprintf("%s < %d", count, 2+m.IntN(4)))
	from := m.entrance()
	m.does("from: "+from, "to: same", "require: ["+may+"]", fmt.Sprintf("set: {%s: true, %s: input}", raised, boss))
	m.does("from: "+from, "require: ["+one(m, []string{may, patient + ", " + may})+"]", "increment: ["+count+"]", "choose:",
		fmt.Sprintf("  - {when: {any: ['%s >= %d', ['%s == true', '%s == actor']]}, to: %s}", count, least, raised, boss, done), "  - {to: same}")
}

// mustAny declares a guard of which one fact holds.
func (m *machine) mustAny(facts ...string) string {
	name := m.nextName()
	m.own = append(m.own, fmt.Sprintf("  %s: {when: {any: ['%s']}, error: not_%s}\n", name, strings.Join(facts, "', '"), name))
	return name
}
