package interp

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Projected is the derived state of one group of records.
type Projected struct {
	Key    []Value // the values of the projection's key, in its order
	State  string
	Fields map[string]Value // the aggregates; max and min of nothing are absent
}

// Project derives one state per group of records with the same key, in the
// order of the keys. A record whose key is absent belongs to no group. A group
// without records cannot be listed: ask [ProjectGroup].
func Project(m *spec.Machine, records []Record) []Projected {
	type keyed struct {
		key     []Value
		records []Record
	}
	var groups []keyed
	for _, r := range records {
		key, ok := group(m, m.Projection.Key, r)
		if !ok {
			continue
		}
		i := slices.IndexFunc(groups, func(g keyed) bool { return slices.Equal(g.key, key) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, keyed{key: key})
		}
		groups[i].records = append(groups[i].records, r)
	}
	slices.SortFunc(groups, func(a, b keyed) int { return slices.CompareFunc(a.key, b.key, Value.Compare) })
	list := make([]Projected, len(groups))
	for i, g := range groups {
		list[i] = ProjectGroup(m, g.records)
		list[i].Key = g.key
	}
	return list
}

// ProjectGroup derives the state of the records of one group, which may be
// none. The first rule whose conditions all hold wins.
func ProjectGroup(m *spec.Machine, records []Record) Projected {
	p := Projected{Fields: make(map[string]Value)}
	for _, rule := range m.Projection.Rules {
		if ruleHolds(rule, records) {
			p.State = rule.State.Name
			break
		}
	}
	for _, f := range m.Projection.Fields {
		p.Fields[f.Name] = aggregate(m, f, records)
	}
	return p
}

func ruleHolds(rule *spec.ProjectionRule, records []Record) bool {
	count := func(in ...spec.StateRef) int {
		n := 0
		for _, r := range records {
			if inStates(r.State, in) {
				n++
			}
		}
		return n
	}
	switch {
	case rule.Any != nil && count(rule.Any...) == 0:
		return false
	case rule.All != nil && (len(records) == 0 || count(rule.All...) < len(records)):
		return false
	case rule.None != nil && count(rule.None...) > 0:
		return false
	}
	return int64(count(slices.Concat(rule.Any, rule.All)...)) >= rule.AtLeast
}

func aggregate(m *spec.Machine, f *spec.ProjectionField, records []Record) Value {
	if f.Agg == "count" {
		return Int(int64(len(records)))
	}
	best := Absent
	for _, r := range records {
		v := r.Value(m, f.Field)
		switch {
		case !v.IsPresent():
		case !best.IsPresent(), f.Agg == "max" && v.Compare(best) > 0, f.Agg == "min" && v.Compare(best) < 0:
			best = v
		}
	}
	return best
}
