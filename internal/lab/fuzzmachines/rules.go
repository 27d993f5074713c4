package fuzzmachines

import (
	"fmt"
	"slices"
	"strings"
)

// rest writes what stands below the operations: guards, and rules over several
// records.
func (m *machine) rest() {
	if len(m.guards)+len(m.clauses)+len(m.own)+len(m.caps) > 0 {
		m.printf("guards:\n")
	}
	m.text.WriteString(strings.Join(m.own, ""))
	for _, c := range sortedKeys(m.caps) {
		if m.counters[c] != nil {
			m.printf("  %s: {when: %s < %d, error: not_%s}\n", m.capped[c], c, m.caps[c], m.capped[c])
		}
	}
	for _, g := range m.guards {
		m.guard(g, true)
	}
	for _, g := range m.clauses {
		m.guard(g, false)
	}
	if m.group != "" && m.chance(3) {
		m.uniques = append(m.uniques, fmt.Sprintf("  only_one: {fields: %s, in: [%s], error: not_alone}\n", m.group, m.bare(some(m, m.states))))
	}
	if len(m.uniques) > 0 {
		m.printf("unique:\n%s", strings.Join(m.uniques, ""))
	}
	if m.group != "" && m.chance(3) {
		m.projection()
	}
	if m.chance(5) {
		// Nothing ever leads back into a state that only creations lead to, if so.
		last := m.states[len(m.states)-1]
		m.printf("forbidden:\n  - {from: %s, to: %s, reason: %s}\n", last.name, m.states[0].name, quoted(one(m, texts)))
	}
}

func (m *machine) bare(list []*state) string { return strings.Trim(stateNames(list), "[]") }

// guard writes a guard; with a caller it may ask who calls.
func (m *machine) guard(name string, caller bool) {
	condition := ""
	switch {
	case m.group != "" && m.chance(4):
		condition = fmt.Sprintf("fewer: {than: %d, same: %s, in: [%s]}",
			one(m, []int{1, 2, 3, 4, 9, 1000, 100000}), m.counted(name, caller), m.bare(some(m, m.states)))
	case m.group != "" && m.chance(4):
		condition = fmt.Sprintf("none: {same: %s, in: [%s]}", m.counted(name, caller), m.bare(some(m, m.states)))
		if beside(fmt.Sprint("some", name, m.text.String())).IntN(3) == 0 {
			condition = "some" + strings.TrimPrefix(condition, "none")
		}
	default:
		facts := []string{m.fact(caller)}
		if second := m.fact(caller); m.chance(2) && second != facts[0] {
			facts = append(facts, second)
		}
		condition = "when: ['" + strings.Join(facts, "', '") + "']"
		if third := m.fact(caller); len(facts) == 2 && m.chance(3) && third != facts[0] && third != facts[1] {
			condition = "when: " + one(m, []string{
				fmt.Sprintf("{any: ['%s', '%s', '%s']}", facts[0], facts[1], third),
				fmt.Sprintf("{any: [['%s', '%s'], '%s']}", facts[0], facts[1], third),
				fmt.Sprintf("['%s', {any: ['%s', '%s']}]", facts[0], facts[1], third),
			})
		}
	}
	message := ""
	if m.chance(2) {
		message = ", message: " + quoted(one(m, texts))
	}
	m.printf("  %s: {%s, error: not_%s%s}\n", name, condition, name, message)
}

// counted draws whose records a guard counts: those of the record's own group, or of another value.
func (m *machine) counted(name string, caller bool) string {
	i := slices.IndexFunc(m.fields, func(f field) bool { return f.name == m.group })
	r := beside(name + m.text.String())
	if i < 0 || !isText(m.fields[i].kind) || r.IntN(2) == 0 {
		return m.group
	}
	var values []string
	if m.fields[i].kind == "string" {
		values = append(values, "''it is''")
	}
	if caller {
		values = append(values, "actor", "actor")
	}
	for _, f := range m.fields {
		if isText(f.kind) && f.name != m.group {
			values = append(values, f.name)
		}
	}
	if values == nil {
		return m.group
	}
	return "{" + m.group + ": '" + values[r.IntN(len(values))] + "'}"
}

// fact draws a fact about the record and the call.
func (m *machine) fact(caller bool) string {
	for _, c := range sortedKeys(m.counters) {
		if m.chance(3) {
			return fmt.Sprintf("%s < %d", c, 1+m.IntN(4))
		}
	}
	for _, s := range sortedKeys(m.sets) {
		if m.chance(3) {
			return s + one(m, []string{" is present", " is absent"})
		}
	}
	if len(m.sets) > 1 && m.chance(3) {
		return strings.Join(sortedKeys(m.sets)[:2], " covers ")
	}
	return m.fieldFact(caller)
}

// fieldFact draws a fact about a field that is neither a counter nor a set.
func (m *machine) fieldFact(caller bool) string {
	f := one(m, m.fields)
	if f.optional && m.chance(3) {
		return f.name + one(m, []string{" is present", " is absent"})
	}
	order := one(m, []string{"==", "!=", "<", "<=", ">", ">="})
	switch {
	case isText(f.kind) && caller:
		return f.name + " == actor"
	case isText(f.kind) && f.name != m.group && m.chance(2):
		return f.name + one(m, []string{" == ", " != ", " < "}) + "''it is''"
	case isText(f.kind):
		return f.name + " == " + f.name
	case f.kind == "time":
		return fmt.Sprintf("%s %s now", f.name, order)
	case f.kind == "bool":
		return f.name + " == " + one(m, []string{"true", "false"})
	case strings.HasPrefix(f.kind, "int"):
		return fmt.Sprintf("%s %s %d", f.name, order, m.IntN(4))
	case strings.Contains(f.kind, "|"):
		return f.name + one(m, []string{" == ", " != "}) + one(m, strings.Split(f.kind, "|"))
	}
	return "created_at == updated_at"
}

// projection writes a state of the group.
func (m *machine) projection() {
	m.printf("projection:\n  entity: Group\n  key: %s\n  fields: {how_many: count, newest: max updated_at}\n  rules:\n", m.group)
	last := m.states[len(m.states)-1]
	atLeast := []string{"", ", at_least: 2", "", ", at_least: 2", "", ", at_least: 2", "", ", at_least: 1000"}
	m.printf("    - {state: some_at_end, any: [%s]%s}\n", last.name, one(m, atLeast))
	if m.chance(2) {
		m.printf("    - {state: all_at_start, all: [%s]}\n", m.states[0].name)
	}
	m.printf("    - {state: mixed}\n")
}
