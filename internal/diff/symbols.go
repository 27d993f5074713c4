package diff

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// Symbols adds what breaks callers of the generated package beyond the changes
// found so far. It compares what Go programs can name of both packages, see
// gen.Symbols; a symbol is told where no change of class SOURCE names its part.
func (r *Report) Symbols(old, next map[string]string) {
	told := r.told()
	groups := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if of, _, member := strings.Cut(name, "."); member && next[of] == "" {
			continue // it goes with its type
		} else if _, stays := next[name]; member && !stays && strings.HasPrefix(next[of], "asks interface") {
			continue // a program that has a method more compiles
		}
		if to, ok := next[name]; (!ok || !serves(old[name], to)) && !covered(told, name, old[name], to) {
			group := r.part(name)
			groups[group] = append(groups[group], change(name, old[name], to))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		of, _, member := strings.Cut(name, ".")
		if _, ok := old[name]; !ok && member && strings.HasPrefix(old[of], "asks interface") && !covered(told, name, "", next[name]) {
			group := r.part(name)
			groups[group] = append(groups[group], of+" asks for "+strings.TrimPrefix(name, of+"."))
		}
	}
	parts := r.places()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		list, where := groups[group], at{r.Old.Pos, r.New.Pos}
		if p, ok := parts[group]; ok {
			where = p
		}
		text := strings.Join(list[:min(3, len(list))], "; ")
		if len(list) > 3 {
			text += fmt.Sprintf("; and %d more", len(list)-3)
		}
		r.Changes = append(r.Changes, Change{Code: "FSM703", Class: Source, Old: where.old, New: where.next,
			Hint: advice["FSM703"], Message: "in Go, " + text})
	}
	r.sort()
}

// serves reports whether callers of a symbol compile where it becomes another one.
func serves(old, next string) bool {
	const rest = " that == does not compare"
	return old == next || strings.TrimSuffix(old, rest) == next
}

func change(name, old, next string) string {
	switch {
	case next == "":
		return name + " is gone"
	case name == "package":
		return "the package is " + next + ", it was " + old
	}
	if was, is := strings.CutPrefix(old, "*func"); is && strings.HasPrefix(next, "*func") { // both change their record
		old, next = "func"+was, strings.TrimPrefix(next, "*")
	}
	return name + " is " + next + ", it was " + old
}

var identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// told are the Go names of what the SOURCE changes speak of.
func (r *Report) told() []string {
	known := r.places()
	var names []string
	for _, c := range r.Changes {
		if c.Class != Source {
			continue
		}
		for _, w := range identifiers.FindAllString(c.Message, -1) {
			if _, ok := known[spec.GoName(w)]; ok {
				names = append(names, spec.GoName(w))
			}
		}
	}
	return names
}

// covered reports whether a SOURCE change names the part that a symbol belongs
// to: by its name, or by a type that it no longer has.
func covered(told []string, name, old, next string) bool {
	words := identifiers.FindAllString(name, -1)
	has := identifiers.FindAllString(next, -1)
	for _, w := range identifiers.FindAllString(old, -1) {
		if !slices.Contains(has, w) {
			words = append(words, w)
		}
	}
	return slices.ContainsFunc(told, func(t string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return begins(w, t) || strings.HasSuffix(w, t) })
	})
}

// begins reports whether a Go name begins with another one: TakeInput with Take.
func begins(word, name string) bool {
	rest, ok := strings.CutPrefix(word, name)
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(first))
}

// part is the Go name of the declaration that a symbol belongs to, the longest
// that fits; "" where none does.
func (r *Report) part(symbol string) string {
	words := identifiers.FindAllString(symbol, -1)
	slices.Reverse(words) // the member says more than its type
	known := slices.SortedFunc(maps.Keys(r.places()), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, fits := range []func(word, name string) bool{begins, strings.HasSuffix} {
		for _, w := range words {
			if i := slices.IndexFunc(known, func(name string) bool { return fits(w, name) }); i >= 0 {
				return known[i]
			}
		}
	}
	return ""
}

// places are the declarations of both versions by their Go names.
func (r *Report) places() map[string]at {
	all := map[string]at{}
	for i, m := range []*spec.Machine{r.Old, r.New} {
		put := func(name string, pos spec.Pos) {
			p := all[spec.GoName(name)]
			if i == 0 {
				p.old = pos
			} else {
				p.next = pos
			}
			all[spec.GoName(name)] = p
		}
		put(m.Entity, m.Pos)
		for _, f := range m.Fields {
			put(f.Name, f.Pos)
		}
		for _, g := range m.Guards {
			put(g.Error, g.Pos)
		}
		for _, s := range m.States {
			put(s.Name, s.Pos)
		}
		for _, l := range m.Lookups {
			put(l.Name, l.Pos)
		}
		for _, p := range m.Probes {
			put(p.Name, p.Pos)
		}
		if m.Projection != nil {
			put(m.Projection.Entity, m.Projection.Pos)
		}
		for _, o := range m.Operations {
			put(o.Event, eventPlace(o))
			for _, in := range o.Inputs {
				put(in.Name, in.Pos)
			}
		}
		for _, o := range m.Operations { // last: where names are the same, the operation is meant
			put(o.Name, o.Pos)
		}
	}
	return all
}
