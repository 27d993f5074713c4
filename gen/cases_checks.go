package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// The records that show the rules of the states.

// checked is a record and the rules that it breaks.
type checked struct {
	record interp.Record
	broken []interp.Violation
	shows  []string
}

// checks returns the records that show the rules of the states.
func (s search) checks() []checked {
	var list []checked
	for _, st := range s.m.States {
		list = append(list, essential(s.records(st), func(x checked) []string { return x.shows })...)
	}
	return list
}

// ruled are the fields about which a state has a rule of its own.
func (s search) ruled(st *spec.State) map[*spec.Field]bool {
	ruled := map[*spec.Field]bool{}
	for _, refs := range [][]spec.FieldRef{st.Present, st.Absent, st.ShouldPresent, st.ShouldAbsent} {
		for _, f := range refs {
			ruled[f.Field] = true
		}
	}
	for _, f := range spec.Leaves(slices.Concat(s.m.Invariant, st.Invariant)) {
		for _, t := range f.Names() {
			ruled[t.Field] = true
		}
	}
	return ruled
}

// alternatives tries records in which two fields of an `any` have other values: that only one of
// its lists holds takes a change of what makes the others hold.
func (s search) alternatives(base tried, f *spec.Fact, try func(interp.Record, *spec.Field)) {
	if f.Op != spec.AnyOf {
		return
	}
	values := map[*spec.Field][]interp.Value{}
	for _, x := range s.m.Fields {
		if mentions(f, x) {
			values[x] = s.pool(base, x.Type, nil, func(t spec.Term) bool { return t.Field == x })
		}
	}
	for i, a := range s.m.Fields {
		for _, b := range s.m.Fields[i+1:] {
			for _, v := range values[a] {
				for _, w := range values[b] {
					absent := v.Kind == interp.KindAbsent && !a.Type.Optional || w.Kind == interp.KindAbsent && !b.Type.Optional
					if !absent && v != interp.Word("") && w != interp.Word("") {
						try(base.before.With(s.m, a.Name, v).With(s.m, b.Name, w), a)
					}
				}
			}
		}
	}
}

// records are those among which checks chooses, in one state.
func (s search) records(st *spec.State) []checked {
	m := s.m
	var list []checked
	try := func(r interp.Record, changed *spec.Field) {
		x := checked{record: r, broken: interp.Check(m, r)}
		show := func(format string, args ...any) { x.shows = append(x.shows, fmt.Sprintf(format, args...)) }
		if len(x.broken) <= 1 {
			show("%s %v", st.Name, x.broken)
		}
		for _, f := range slices.Concat(m.Invariant, st.Invariant) {
			if changed != nil && !mentions(f, changed) {
				continue
			}
			for _, text := range relations(m, f, r, interp.Call{}) {
				show("%s %s", st.Name, text)
			}
		}
		for i, f := range m.Fields {
			if changed != nil && f != changed {
				continue
			}
			show("any %s %s %s", f.Name, edge(r.Fields[i], f.Type.Min), edge(r.Fields[i], f.Type.Max))
		}
		list = append(list, x)
	}
	base := tried{before: s.soundRecord(st)}
	try(base.before, nil)
	const enough = 5
	worst, breaks := base.before, 0 // breaks rules of several fields
	first := st == m.States[0]
	ruled := s.ruled(st)
	for _, f := range m.Fields {
		number := f.Type.HasLength() || f.Type.Kind == spec.KindDuration || f.Type.Kind == spec.KindInt || f.Type.Kind == spec.KindCounter || f.Type.Kind == spec.KindSequence
		if !ruled[f] && !(first && number) {
			continue // its type is the same in all states, and only that of numbers and texts has bounds
		}
		for _, v := range s.pool(base, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
			if v.Kind == interp.KindAbsent && !f.Type.Optional || v == interp.Word("") {
				continue
			}
			try(base.before.With(m, f.Name, v), f)
			if s.known.several || len(list[len(list)-1].broken) == 0 || breaks == enough {
				continue
			}
			if more := worst.With(m, f.Name, v); len(interp.Check(m, more)) > breaks {
				worst, breaks = more, breaks+1
			}
		}
	}
	for _, f := range slices.Concat(m.Invariant, st.Invariant) {
		s.alternatives(base, f, try)
	}
	if !s.known.several { // that not the first one ends it is shown once for all states
		try(worst, nil)
		last := &list[len(list)-1]
		rules := len(slices.DeleteFunc(slices.Clone(last.broken), func(v interp.Violation) bool { return !strings.Contains(v.Rule, " ") }))
		if last.shows = nil; rules > 1 || first && len(last.broken) > 1 {
			last.shows = []string{"several"}
		}
		s.known.several = rules > 1
	}
	return list
}
