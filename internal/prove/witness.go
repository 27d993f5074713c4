package prove

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Way is one way to decide a call of an operation on a record that keeps its
// promises: a guard refuses it, a branch takes it or, with neither, its move. With Any
// a guard or a branch lets it pass since this list of an `any` alone holds.
type Way struct {
	Guard   *spec.Guard
	Branch  *spec.Branch
	Any     []*spec.Fact
	Witness *Example // a record and a call that are decided so, or nil
	Never   bool     // there are none
}

// Ways looks for a witness of each way to decide an operation. What holds
// reports whether an example is one after all: the search goes on in the next
// source state where it is not.
func Ways(m *spec.Machine, op *spec.Operation, holds func(Way) bool) []Way {
	w := &search{work: work{m: m, words: wordsOf(m), meter: newMeter(m)}, op: op, holds: holds}
	for i, req := range op.Require {
		if !slices.ContainsFunc(op.Require[:i], func(r *spec.Requirement) bool { return r.Guard == req.Guard }) {
			w.ways = append(w.ways, Way{Guard: req.Guard, Never: true})
		}
	}
	for _, b := range op.Choose {
		w.ways = append(w.ways, Way{Branch: b, Never: true})
	}
	if len(op.Choose) == 0 {
		w.ways = append(w.ways, Way{Never: true})
	}
	for _, req := range op.Require {
		w.alternatives(req.When)
	}
	for _, b := range op.Choose {
		w.alternatives(b.When)
	}
	for _, from := range sources(op) {
		if slices.ContainsFunc(w.ways, func(x Way) bool { return x.Witness == nil }) {
			w.from(from)
		}
	}
	return w.ways
}

// alternatives adds a way for each list of an `any`.
func (w *search) alternatives(facts []*spec.Fact) {
	for _, f := range facts {
		for _, list := range f.Any {
			w.ways = append(w.ways, Way{Any: list, Never: true})
		}
	}
}

// each looks for witnesses of the lists of each `any` among the facts of a guard or a
// branch: all facts hold, and of the `any` that list alone.
func (w *search) each(s *part, facts []*spec.Fact, read reader, record after, readable bool, given []formula) {
	for _, f := range facts {
		for i, list := range f.Any {
			fs, ok := slices.Concat(given, s.assumed(facts, read), s.assumed(list, read)), true
			for j, other := range f.Any {
				if j != i {
					refuted, known := s.refuted(other, read)
					fs, ok = append(fs, refuted), ok && known
				}
			}
			w.look(s, func(x Way) bool { return len(x.Any) > 0 && x.Any[0] == list[0] }, record, readable && ok, fs)
		}
	}
}

// sources are the states that an operation leaves; nil for a creation.
func sources(op *spec.Operation) []*spec.State {
	if len(op.Creates) > 0 {
		return []*spec.State{nil}
	}
	var list []*spec.State
	for _, r := range op.From {
		if !slices.Contains(list, r.State) {
			list = append(list, r.State)
		}
	}
	return list
}

// search is the search for the witnesses of one operation.
type search struct {
	work
	op    *spec.Operation
	ways  []Way
	holds func(Way) bool
}

// from looks for witnesses in one source state.
func (w *search) from(from *spec.State) {
	s := &part{problem: newProblem(w.m, w.op, w.words), from: from, meter: w.meter}
	if from != nil {
		s.given = s.guaranteed(from)
		s.own = s.presence(from.ShouldPresent, from.ShouldAbsent)
	}
	s.touch()
	begin := s.begin()
	for _, req := range w.op.Require {
		fails, readable := yes, true
		if req.Guard.Peers == nil {
			fails, readable = s.refuted(req.When, s.field)
		}
		is := func(x Way) bool { return x.Guard == req.Guard }
		w.look(s, is, begin, readable, []formula{fails})
		w.each(s, req.When, s.field, begin, true, nil)
		s.given = append(s.given, s.assumed(req.When, s.field)...)
	}
	record := s.apply(&w.op.Effects, begin)
	if len(w.op.Choose) == 0 {
		w.look(s, func(x Way) bool { return x.Guard == nil }, record, true, nil)
		return
	}
	read := record.read(s.problem)
	var passed []formula // that the branches above were not taken
	complete := true
	for _, b := range w.op.Choose {
		if b.From != nil && !slices.ContainsFunc(b.From, func(r spec.StateRef) bool { return r.State == from }) {
			continue
		}
		w.look(s, func(x Way) bool { return x.Branch == b }, record, complete, slices.Concat(s.assumed(b.When, read), passed))
		w.each(s, b.When, read, record, complete, passed)
		refuted, ok := s.refuted(b.When, read)
		passed, complete = append(passed, refuted), complete && ok
	}
}

// look looks for a witness of the way that is asked for, unless there is one:
// one that keeps what its state should be like, or else any.
func (w *search) look(s *part, is func(Way) bool, record after, readable bool, fs []formula) {
	way := &w.ways[slices.IndexFunc(w.ways, is)]
	if way.Witness != nil {
		return
	}
	asked := [][]formula{append(slices.Clone(s.own), fs...), fs}
	if len(s.own) == 0 {
		asked = asked[1:]
	}
	for _, fs := range asked {
		v, sol := s.check(fs)
		if v == impossible {
			continue
		}
		way.Never = false
		if v != possible {
			continue
		}
		way.Witness = w.example(s, nil, record, sol)
		if w.holds(*way) {
			return
		}
		way.Witness = nil
	}
	way.Never = way.Never && readable
}

// Sound is a record of a state that keeps all that the state must and should be
// like; never says that there is none.
func Sound(m *spec.Machine, state *spec.State) (found *Example, never bool) {
	w, s := ofState(m, state)
	s.given = slices.Concat(s.guaranteed(state), s.presence(state.ShouldPresent, state.ShouldAbsent))
	switch v, sol := s.check(); v {
	case impossible:
		return nil, true
	case possible:
		return w.example(s, state, after{}, sol), false
	}
	return nil, false
}

// ofState begins a proof about the records of a state.
func ofState(m *spec.Machine, state *spec.State) (*work, *part) {
	op := &spec.Operation{Name: "record", From: []spec.StateRef{{State: state}}, By: spec.BySystem}
	w := &work{m: m, words: wordsOf(m), meter: newMeter(m)}
	s := &part{problem: newProblem(m, op, w.words), from: state, meter: w.meter}
	s.touch()
	return w, s
}
