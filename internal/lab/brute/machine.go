package brute

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// datum is a field or an input of a random machine.
type datum struct{ name, family, typ string }

func (d datum) optional() bool { return strings.Contains(d.typ, "optional") }

// families are the kinds whose values can be compared, with types of each.
var families = map[string][]string{
	"int":    {"int 0..3", "int -1..", "int", "optional int", "optional int 0..2", "counter", "counter"},
	"span":   {"duration", "duration 0s..3s", "duration 1s..", "optional duration", "{type: duration 500ms..2s, default: 1s}"},
	"time":   {"time", "optional time"},
	"bool":   {"{type: bool, default: false}", "optional bool", "bool"},
	"enum":   {"red|green", "optional red|green|'dark blue'"},
	"string": {"string", "optional string", "string 1..1", "optional string 2..", "{type: string, default: b}"},
	"set":    {"set"},
}

// order draws the families, numbers and times more than others.
var order = []string{"int", "int", "int", "span", "span", "time", "time", "bool", "enum", "string", "set"}

// maker writes one random machine of few data, so that all of their values can be tried.
type maker struct {
	*rand.Rand
	fields, inputs []datum
	far            bool // numbers at the ends of what is added
}

func pick[T any](m *maker, list ...T) T { return list[m.IntN(len(list))] }

// Machine draws a machine, and says whether its numbers are near to the limit of sums.
func Machine(r *rand.Rand) (text string, far bool) {
	m := &maker{Rand: r, far: r.IntN(8) == 0}
	for i := range 3 + m.IntN(2) {
		family := pick(m, order...)
		m.fields = append(m.fields, datum{fmt.Sprintf("f%d", i), family, pick(m, families[family]...)})
	}
	for i := range 1 + m.IntN(2) {
		family := pick(m, m.fields...).family
		if family == "set" {
			family = "string"
		}
		typ := pick(m, families[family]...)
		for strings.Contains(typ, "default") || typ == "counter" {
			typ = pick(m, families[family]...)
		}
		m.inputs = append(m.inputs, datum{fmt.Sprintf("i%d", i), family, typ})
	}
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: brute\nentity: Brute\notherwise: reject\nfields:\n")
	for _, f := range m.fields {
		fmt.Fprintf(&b, "  %s: %s\n", f.name, f.typ)
	}
	fmt.Fprintf(&b, "invariant: %s\n", m.facts(0, 1, plain))
	if m.IntN(4) == 0 {
		if rule := m.fact(old); strings.Contains(rule, "old.") {
			fmt.Fprintf(&b, "steps:\n  - {when: [%s]}\n", rule)
		}
	}
	b.WriteString("states:\n")
	for _, s := range states {
		fmt.Fprintf(&b, "  %s: {%s, invariant: %s}\n", s, m.presence(), m.facts(0, 2, plain))
	}
	b.WriteString("state_groups: {both: [alpha, beta]}\nguards:\n")
	for i := range 3 {
		fmt.Fprintf(&b, "  g%d: {when: %s, error: refused}\n", i, m.facts(1, 2, caller))
	}
	b.WriteString("operations:\n")
	m.operation(&b, "make", true)
	for i := range 3 {
		m.operation(&b, fmt.Sprintf("op%d", i), false)
	}
	return b.String(), m.far
}

var states = []string{"alpha", "beta"}

// What a fact may name besides fields.
type reach uint8

const (
	plain  reach = iota // nothing
	caller              // inputs, the caller and the time
	old                 // the record before
)

// terms lists what a fact names of a family.
func (m *maker) terms(family string, r reach) []string {
	var list []string
	for _, f := range m.fields {
		if f.family == family {
			list = append(list, f.name)
			if r == old {
				list = append(list, "old."+f.name)
			}
		}
	}
	if r == caller {
		for _, in := range m.inputs {
			if in.family == family {
				list = append(list, "input."+in.name)
			}
		}
		switch family {
		case "time":
			list = append(list, "now")
		case "string":
			list = append(list, "actor")
		}
	}
	return list
}

func (m *maker) constant(family string) string {
	switch family {
	case "int":
		if m.far {
			return pick(m, "0", "1", "1152921504606846976", "-1152921504606846976", "1152921504606846975")
		}
		return fmt.Sprint(m.IntN(6) - 1)
	case "span":
		return pick(m, "0s", "500ms", "1s", "2s", "3s")
	case "bool":
		return pick(m, "true", "false")
	case "enum":
		return pick(m, "red", "green")
	case "string":
		return pick(m, "'a'", "'b'", "'bb'")
	}
	return ""
}

// sum is a sum of a family: of ints, a length or an instant.
func (m *maker) sum(family string, terms func(string) []string) string {
	name := func(family, or string) string {
		if list := terms(family); len(list) > 0 {
			return pick(m, list...)
		}
		return or
	}
	sign := pick(m, " + ", " - ")
	switch {
	case family == "int":
		text := name("int", "1") + sign + pick(m, name("int", "1"), m.constant("int"))
		if m.IntN(3) == 0 {
			text += pick(m, " + ", " - ") + name("int", "1")
		}
		return strings.ReplaceAll(strings.ReplaceAll(text, "+ -", "- "), "- -", "+ ")
	case family == "time":
		return name("time", "") + sign + m.length(name)
	case len(terms("time")) > 0 && m.IntN(2) == 0:
		return name("time", "") + " - " + name("time", "")
	}
	return name("span", "1s") + sign + m.length(name)
}

func (m *maker) length(name func(family, or string) string) string {
	for _, f := range m.fields {
		if f.typ == "counter" && m.IntN(3) == 0 {
			return "backoff " + pick(m, "500ms", "1s", name("span", "1s")) + " to " + pick(m, "2s", "3s", name("span", "2s")) + " by " + f.name
		}
	}
	return pick(m, name("span", "1s"), "500ms", "1s", "2s")
}

// fact is a random fact; it is empty where nothing can be compared.
func (m *maker) fact(r reach) string {
	if m.IntN(8) == 0 && r != old {
		a, b := m.simple(r), m.simple(r)
		if a != "" && b != "" && a != b {
			return "{any: [" + quote(a) + ", " + quote(b) + "]}"
		}
	}
	if f := m.simple(r); f != "" {
		return quote(f)
	}
	return ""
}

func quote(fact string) string { return `"` + fact + `"` }

func (m *maker) simple(r reach) string {
	family := pick(m, m.fields...).family
	terms := m.terms(family, r)
	left := pick(m, terms...)
	if family == "set" {
		switch m.IntN(4) {
		case 0:
			return left + pick(m, " is present", " is absent")
		case 1:
			return left + " covers " + pick(m, terms...)
		}
		if texts := m.terms("string", r); len(texts) > 0 {
			return pick(m, texts...) + pick(m, " in ", " not in ") + left
		}
		return left + " is present"
	}
	for _, d := range slices.Concat(m.fields, m.inputs) {
		if (left == d.name || left == "input."+d.name) && d.optional() && m.IntN(3) == 0 {
			return left + pick(m, " is present", " is absent")
		}
	}
	ops := []string{"==", "!=", "<", "<=", ">", ">="}
	if family == "bool" || family == "enum" {
		ops = ops[:2]
	}
	right := pick(m, terms...)
	if c := m.constant(family); c != "" && m.IntN(2) == 0 {
		right = c
	}
	if (family == "int" || family == "span" || family == "time") && m.IntN(2) == 0 {
		named := func(family string) []string { return m.terms(family, r) }
		left = m.sum(family, named)
		if m.IntN(4) == 0 {
			right = m.sum(family, named)
		}
	}
	return left + " " + pick(m, ops...) + " " + right
}

func (m *maker) facts(least, most int, r reach) string {
	var list []string
	for range least + m.IntN(most-least+1) {
		if f := m.fact(r); f != "" && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (m *maker) presence() string {
	var present, absent []string
	for _, f := range m.fields {
		if f.optional() || f.family == "set" {
			switch m.IntN(5) {
			case 0:
				present = append(present, f.name)
			case 1:
				absent = append(absent, f.name)
			}
		}
	}
	return "present: [" + strings.Join(present, ", ") + "], absent: [" + strings.Join(absent, ", ") + "]"
}

// value is what a field can be set to.
func (m *maker) value(f datum, creation, branch bool) string {
	var ways []string
	for _, in := range m.inputs {
		if in.family != f.family {
			continue
		}
		name := "input." + in.name
		switch {
		case !in.optional():
			ways = append(ways, name, name)
			continue
		case f.optional():
			ways = append(ways, name+" or absent")
		case strings.Contains(f.typ, "default"):
			ways = append(ways, name+" or default")
		}
		if m.IntN(3) == 0 {
			ways = append(ways, name)
		}
		if !creation {
			ways = append(ways, name+" or same")
			if branch {
				ways = append(ways, name+" or reject")
			}
		}
	}
	if !creation {
		for _, o := range m.fields {
			if o.family == f.family && o.name != f.name && (!o.optional() || f.optional()) && o.typ == f.typ {
				ways = append(ways, o.name)
			}
		}
	}
	names := func(family string) []string {
		var list []string
		for _, t := range m.terms(family, caller) {
			if !creation || t == "now" || strings.HasPrefix(t, "input.") {
				list = append(list, t)
			}
		}
		return list
	}
	switch {
	case f.family == "time" && m.IntN(2) == 0:
		return pick(m, "now", "now + 1s", m.sumIn("time", names, creation))
	case (f.family == "int" || f.family == "span") && m.IntN(2) == 0:
		if sum := m.sumIn(f.family, names, creation); strings.Contains(sum, "f") || strings.Contains(sum, "input") {
			return sum
		}
	case f.family == "string":
		ways = append(ways, "actor", `"`+pick(m, "'a'", "'bb'")+`"`)
	}
	switch c := m.constant(f.family); {
	case f.family == "int" && strings.HasPrefix(f.typ, "int 0"), f.family == "int" && strings.Contains(f.typ, "0..2"):
		ways = append(ways, "1")
	case f.family == "int" && !m.far && c != "-1", f.family == "bool", f.family == "enum":
		ways = append(ways, c)
	case f.family == "span":
		ways = append(ways, "1s")
	}
	if len(ways) == 0 {
		return map[string]string{"int": "1", "span": "1s", "time": "now", "bool": "true", "enum": "red", "string": "actor"}[f.family]
	}
	return pick(m, ways...)
}

// sumIn is a sum without a backoff where no record is.
func (m *maker) sumIn(family string, names func(string) []string, creation bool) string {
	for {
		if sum := m.sum(family, names); !creation || !strings.Contains(sum, "backoff") {
			return sum
		}
	}
}

// effects writes what changes, each field once.
func (m *maker) effects(creation, branch bool, taken map[string]bool) string {
	lists := map[string][]string{}
	put := func(key, text string) { lists[key] = append(lists[key], text) }
	for _, f := range m.fields {
		if taken[f.name] || !creation && m.IntN(2) == 0 || branch && m.IntN(2) == 0 {
			continue
		}
		taken[f.name] = true
		switch {
		case f.typ == "counter" && creation:
			delete(taken, f.name)
		case f.typ == "counter":
			key := pick(m, "increment", "increment", "reset", "decrement")
			put(key, f.name)
		case f.family == "set" && creation:
			put("add", f.name+": actor")
		case f.family == "set" && m.IntN(4) == 0:
			put("reset", f.name)
		case f.family == "set":
			member := "actor"
			for _, in := range m.inputs {
				if in.family == "string" && !in.optional() && m.IntN(2) == 0 {
					member = "input." + in.name
				}
			}
			put(pick(m, "add", "add", "remove"), f.name+": "+member)
		case f.optional() && m.IntN(3) == 0:
			if !creation {
				put("clear", f.name)
			}
		default:
			put("set", f.name+": "+m.value(f, creation, branch))
		}
	}
	var parts []string
	for _, key := range []string{"set", "add", "remove"} {
		if len(lists[key]) > 0 {
			parts = append(parts, key+": {"+strings.Join(lists[key], ", ")+"}")
		}
	}
	for _, key := range []string{"clear", "increment", "reset", "decrement"} {
		if len(lists[key]) > 0 {
			parts = append(parts, key+": ["+strings.Join(lists[key], ", ")+"]")
		}
	}
	return strings.Join(parts, ", ")
}

func (m *maker) operation(b *strings.Builder, name string, creation bool) {
	var keys, inputs []string
	for _, in := range m.inputs {
		inputs = append(inputs, in.name+": "+in.typ)
	}
	keys = append(keys, "input: {"+strings.Join(inputs, ", ")+"}")
	if m.IntN(3) > 0 && !creation {
		keys = append(keys, "require: ["+strings.Join([]string{"g0", "g1", "g2"}[:1+m.IntN(2)], ", ")+"]")
	}
	if creation {
		keys = append(keys, "creates: alpha")
	} else {
		keys = append(keys, "from: "+pick(m, "alpha", "beta", "both"))
	}
	taken := map[string]bool{}
	if e := m.effects(creation, false, taken); e != "" {
		keys = append(keys, e)
	}
	switch {
	case creation:
	case m.IntN(2) == 0:
		keys = append(keys, "to: "+pick(m, "alpha", "beta", "same"))
	default:
		var lines []string
		for range 1 + m.IntN(2) {
			line := "when: " + m.facts(1, 2, caller)
			own := map[string]bool{}
			for f := range taken {
				own[f] = true
			}
			switch e := m.effects(false, true, own); {
			case m.IntN(8) == 0:
				line += ", reject: refused"
			case e != "":
				line += ", to: " + pick(m, "alpha", "beta", "same") + ", " + e
			default:
				line += ", to: " + pick(m, "alpha", "beta", "same")
			}
			lines = append(lines, "{"+line+"}")
		}
		if m.IntN(4) > 0 {
			lines = append(lines, "{to: "+pick(m, "alpha", "beta", "same")+"}")
		}
		keys = append(keys, "choose: ["+strings.Join(lines, ", ")+"]")
	}
	fmt.Fprintf(b, "  %s: {%s}\n", name, strings.Join(keys, ", "))
}
