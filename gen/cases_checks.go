package gen

import (
	"fmt"
	"slices"

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
	several := false
	for _, st := range s.m.States {
		for _, x := range essential(s.records(st), func(x checked) []string { return x.shows }) {
			if len(x.shows) == 1 && x.shows[0] == "several" {
				if several {
					continue
				}
				several = true
			}
			list = append(list, x)
		}
	}
	return list
}

// records are those among which checks chooses, in one state.
func (s search) records(st *spec.State) []checked {
	m := s.m
	var list []checked
	try := func(r interp.Record, changed *spec.Field) {
		x := checked{record: r, broken: interp.Check(m, r)}
		show := func(format string, args ...any) { x.shows = append(x.shows, fmt.Sprintf(format, args...)) }
		if !s.store || len(x.broken) <= 1 {
			show("%s %v", st.Name, x.broken)
		}
		for _, f := range slices.Concat(m.Invariant, st.Invariant) {
			if s.store && changed != nil && f.Left.Field != changed && f.Right.Field != changed {
				continue
			}
			show("%s %s %s", st.Name, f.Text, relation(m, f, r, interp.Call{}))
		}
		for i, f := range m.Fields {
			if s.store && changed != nil && f != changed {
				continue
			}
			show("%s %s %s %s", st.Name, f.Name, edge(r.Fields[i], f.Type.Min), edge(r.Fields[i], f.Type.Max))
		}
		list = append(list, x)
	}
	base := tried{before: s.soundRecord(st)}
	try(base.before, nil)
	worst := base.before // breaks rules of several fields
	for _, f := range m.Fields {
		for _, v := range s.pool(base, f.Type, nil, func(t spec.Term) bool { return t.Field == f }) {
			if v.Kind == interp.KindAbsent && !f.Type.Optional || s.store && v == interp.Word("") {
				continue
			}
			try(base.before.With(m, f.Name, v), f)
			if more := worst.With(m, f.Name, v); len(interp.Check(m, more)) > len(interp.Check(m, worst)) {
				worst = more
			}
		}
	}
	try(worst, nil)
	if s.store { // that not the first one ends it is shown once for all states
		last := &list[len(list)-1]
		if last.shows = nil; len(last.broken) > 1 {
			last.shows = []string{"several"}
		}
	}
	return list
}
