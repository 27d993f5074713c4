package gen

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/spec"
)

// view writes the projection as a view: one row per key, its state by the
// first rule that holds. A record in which a field of the key is absent belongs
// to no group.
func (s *schemaText) view() {
	p := s.m.Projection
	if p == nil {
		return
	}
	s.line("")
	s.comment(fmt.Sprintf("The %s of each group of %s records, computed from them: the first rule that holds wins.", p.Entity, s.m.Name))
	s.line("%s %s AS", s.d.createView, quoteName(viewName(s.m)))
	s.line("SELECT")
	var present, keys []string
	for _, k := range p.Key {
		col := column(k.Field)
		keys = append(keys, col)
		if k.Field.Type.Optional {
			present = append(present, col+" IS NOT NULL")
		}
		if k.Field.Stored() != k.Field.Name {
			col += " AS " + quoteName(k.Field.Name)
		}
		s.line("    %s,", col)
	}
	s.line("    CASE")
	for _, r := range p.Rules {
		if conditions := s.ruleConditions(r); len(conditions) > 0 {
			s.line("        WHEN %s", strings.Join(conditions, "\n         AND "))
			s.line("            THEN %s", quoteText(r.State.Name))
			continue
		}
		s.line("        ELSE %s", quoteText(r.State.Name))
		break // a bare rule always holds
	}
	s.line("    END AS \"state\"%s", map[bool]string{true: ",", false: ""}[len(p.Fields) > 0])
	for i, f := range p.Fields {
		sql := "count(*)"
		if f.Agg != "count" {
			sql = f.Agg + "(" + column(f.Field) + ")"
		}
		comma := ","
		if i == len(p.Fields)-1 {
			comma = ""
		}
		s.line("    %s AS %s%s", sql, quoteName(f.Name), comma)
	}
	s.line("FROM %s", s.table(""))
	if len(present) > 0 {
		s.line("WHERE %s", strings.Join(present, " AND "))
	}
	s.line("GROUP BY %s;", strings.Join(keys, ", "))
}

// ruleConditions returns the conditions of a rule; none: it always holds.
func (s *schemaText) ruleConditions(r *spec.ProjectionRule) []string {
	count := func(states []spec.StateRef) string {
		return "count(*) FILTER (WHERE " + inStates(`"state"`, refStates(states)) + ")"
	}
	var conditions []string
	if len(r.Any) > 0 {
		conditions = append(conditions, count(r.Any)+" > 0")
	}
	if len(r.All) > 0 { // a group of a view is never empty
		conditions = append(conditions, count(r.All)+" = count(*)")
	}
	if len(r.None) > 0 {
		conditions = append(conditions, count(r.None)+" = 0")
	}
	if r.AtLeast > 0 {
		listed := append(append([]spec.StateRef{}, r.Any...), r.All...)
		counted := "0" // no state is listed, so none is counted
		if len(listed) > 0 {
			counted = count(listed)
		}
		conditions = append(conditions, fmt.Sprintf("%s >= %d", counted, r.AtLeast))
	}
	return conditions
}

// viewName returns the name of the projection's view: machine and entity. An
// entity whose name would give one of the machine's tables gets a suffix.
func viewName(m *spec.Machine) string {
	entity := snakeCase(m.Projection.Entity)
	switch entity {
	case "events", "outbox", "groups", "quarantine", "repairs":
		entity += "_view"
	}
	return m.Name + "_" + entity
}

// snakeCase turns HTTPJobRun into http_job_run.
func snakeCase(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && runes[i-1] != '_' &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
