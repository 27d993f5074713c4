package model

import (
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// permutation renames workers and groups: no rule tells them apart by name.
type permutation map[string]string

// permutations lists all renamings; the first changes nothing.
func permutations(p *pools) []permutation {
	workers, groups := p.nameless(p.workers), p.nameless(p.groups)
	orders := [][]string{workers}
	if p.matters(theActor{}) {
		orders = arrangements(workers)
	}
	shapes := append(slices.Collect(maps.Values(p.lengths)), spec.Type{})
	var list []permutation
	for _, w := range orders {
		for _, g := range arrangements(groups) {
			perm := permutation{}
			for _, t := range shapes {
				for i := range w {
					perm[fitted(t, workers[i])] = fitted(t, w[i])
				}
				for i := range g {
					perm[fitted(t, groups[i])] = fitted(t, g[i])
				}
			}
			list = append(list, perm)
		}
	}
	return list
}

// nameless lists the names that the file does not have as a text, however long they are.
func (p *pools) nameless(names []string) []string {
	var list []string
	for _, s := range names {
		in := func(t spec.Type) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(p.consts)),
				func(texts []string) bool { return slices.Contains(texts, fitted(t, s)) })
		}
		if !in(spec.Type{}) && !slices.ContainsFunc(slices.Collect(maps.Values(p.lengths)), in) {
			list = append(list, s)
		}
	}
	return list
}

// arrangements lists the orders of names, the given one first.
func arrangements(names []string) [][]string {
	if len(names) > 3 {
		return [][]string{names} // more than 6 orders cost more than they save
	}
	if len(names) < 2 {
		return [][]string{names}
	}
	var list [][]string
	for i := range names {
		rest := slices.Concat(names[:i], names[i+1:])
		for _, tail := range arrangements(rest) {
			list = append(list, append([]string{names[i]}, tail...))
		}
	}
	return list
}

// renamed returns the local that another becomes by a renaming.
func (t *table) renamed(n uint16, perm int) uint16 {
	l := t.locals[n]
	if to := l.perms[perm]; to >= 0 {
		return uint16(to) //nolint:gosec // it came from a uint16
	}
	r := l.record
	r.Fields = slices.Clone(r.Fields)
	for i, f := range t.m.Fields {
		if t.pools.matters(f) {
			r.Fields[i] = t.rename(r.Fields[i], t.perms[perm])
		}
	}
	to := t.intern(r)
	l.perms[perm] = int32(to)
	return to
}

// rename renames a value: what is no worker and no group stays.
func (t *table) rename(v interp.Value, perm permutation) interp.Value {
	to := func(s string) string {
		if r, ok := perm[s]; ok {
			return r
		}
		return s
	}
	switch v.Kind {
	case interp.KindString:
		return interp.String(to(v.Text))
	case interp.KindSet:
		members := v.Members()
		for i, s := range members {
			members[i] = to(s)
		}
		return interp.Set(members...)
	}
	return v
}

// renamedKey returns the number of the group that another becomes.
func (t *table) renamedKey(key int, id int, perm int) int {
	k := t.keys[key]
	r := interp.NewRecord(t.m, "")
	for i, f := range k.fields {
		if !f.Field.Builtin {
			r = r.With(t.m, f.Field.Name, t.rename(k.values[id][i], t.perms[perm]))
		}
	}
	return int(k.of(t.m, r))
}
