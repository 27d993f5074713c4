package prove

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// Report is what the proof of a machine came to.
type Report struct {
	Steps       int // operation × source state × branch
	Obligations int // facts of the targets to be proven, and lists of branches to be complete
	Findings    []Finding
}

// Finding is an obligation that does not hold, or a line that can never play a
// part.
type Finding struct {
	Code    string
	Pos     spec.Pos
	Mark    string // the text that stands at Pos
	Message string
	Hint    string
	Fix     []spec.Edit // the hint as edits, where it leaves nothing to decide
	Related []spec.Related
	Example *Example // how it fails, or nil
}

// Machine proves every transition of a machine.
func Machine(m *spec.Machine) Report {
	w := &work{m: m, words: wordsOf(m), meter: newMeter(m), empty: map[*spec.State]bool{}}
	w.rules()
	for _, op := range m.Operations {
		w.shape(op)
		w.merged, w.ends = map[mergeKey]int{}, map[mergeKey][2]bool{}
		w.branches, w.meets = make([]branchUse, len(op.Choose)), meeting(op)
		if len(op.Creates) > 0 {
			w.step(op, nil)
		}
		for _, s := range distinct(op.From) {
			w.step(op, s)
		}
		w.unused(op)
	}
	w.deadAlternatives()
	return w.report
}

// work is the proof of one machine.
type work struct {
	m        *spec.Machine
	words    map[string]int64
	report   Report
	merged   map[mergeKey]int      // obligations that fail from several states, in report.Findings
	ends     map[mergeKey][2]bool  // of bounds: which ends any of these states leaves
	branches []branchUse           // of the operation at hand
	meets    map[*spec.State][]int // its branches by source
	meter    *meter
	empty    map[*spec.State]bool // states whose facts contradict each other
	gaps     bool                 // the operation at hand has a finding FSM203
	broken   []*spec.Fact         // rules that every step breaks: one finding is enough
	any      []alternative        // of each `any` that was met
}

// part is one operation in one source state: what is known before any branch.
type part struct {
	*problem
	from  *spec.State // nil for a creation
	given []formula   // the source's facts and the guards
	own   []formula   // the source's SHOULD, which own writes keep
	meter *meter
	base  *base

	brought []formula // of inputs that a finding says may be absent: that they are there

	long   *value // a text that an example has longer or shorter than within
	within span
}

// ask decides whether the facts can be true together with what is given; check asks
// for an example besides, can for the answer only.
func (s *part) ask(example bool, fs ...[]formula) (verdict, *solution) {
	if s.meter.work < 0 {
		return undecided, nil
	}
	if !example {
		if s.base == nil {
			s.base = &base{state: &state{bools: map[int]bool{}, meter: s.meter, heap: &heap{}}}
			s.base.grow(1)
		}
		s.base.add(s.given[s.base.given:])
		s.base.add(s.facts[s.base.facts:])
		s.base.given, s.base.facts = len(s.given), len(s.facts)
		v := s.base.ask(fs...)
		if v == impossible || v == possible && s.sets == 0 && len(s.covers) == 0 && s.meter.work >= 0 {
			return v, nil
		}
	}
	list := slices.Concat(fs...)
	list = append(list, s.given...)
	// What the types promise and what sets mean comes last: building it may
	// not be over before everything else was read.
	members, ok := s.ground(s.meter)
	if !ok {
		return undecided, nil
	}
	list = append(list, members...)
	list = append(list, s.facts...)
	var want func(int) int64
	if example {
		want = func(n int) int64 { return s.nums[n].want }
	}
	return solve(list, want, s.meter)
}

// check prefers a solution whose back-offs are known.
func (s *part) check(fs ...[]formula) (verdict, *solution) {
	v, sol := s.ask(true, fs...)
	if v != possible || s.told(sol) {
		return v, sol
	}
	for _, n := range []int64{2, doublings} { // the less, the fewer cases
		if v, known := s.ask(true, append(slices.Clone(fs), s.tried(n))...); v == possible && s.told(known) {
			return v, known
		}
	}
	return v, sol
}

func (s *part) can(fs ...[]formula) bool {
	v, _ := s.ask(false, fs...)
	return v != impossible
}

// step proves one operation from one source state.
func (w *work) step(op *spec.Operation, from *spec.State) {
	s := &part{problem: newProblem(w.m, op, w.words), from: from, meter: w.meter}
	if from != nil {
		s.given = s.guaranteed(from)
		s.own = s.presence(from.ShouldPresent, from.ShouldAbsent)
		empty, known := w.empty[from]
		if !known {
			empty = !s.can()
			w.empty[from] = empty
		}
		if empty {
			return // no record is ever in this state: whoever leads to it has the finding
		}
	}
	if w.guards(s) {
		return
	}
	s.brought = w.bare(s, nil, &op.Effects, nil)
	record := s.apply(&op.Effects, s.begin())
	if len(op.Choose) == 0 {
		to := from
		switch {
		case from == nil:
			to = op.Creates[0].State
		case op.To != nil:
			to = op.To.State
		}
		w.prove(s, nil, to, s.brought, record)
		return
	}
	w.choose(s, record)
}

// guaranteed are the facts of a record in the state.
func (s *part) guaranteed(state *spec.State) []formula {
	fs := s.presence(state.Present, state.Absent)
	fs = append(fs, s.assumed(s.m.Invariant, s.field)...)
	return append(fs, s.assumed(state.Invariant, s.field)...)
}

func (s *part) presence(present, absent []spec.FieldRef) []formula {
	var fs []formula
	for _, f := range present {
		fs = append(fs, s.present(s.field(f.Field)))
	}
	for _, f := range absent {
		fs = append(fs, not(s.present(s.field(f.Field))))
	}
	return fs
}

// guards assumes what the operation requires, and reports whether it can never
// pass here.
func (w *work) guards(s *part) (dead bool) {
	for _, req := range s.op.Require {
		s.given = append(s.given, s.assumed(req.When, s.field)...)
		if len(req.When) > 0 && !s.can() {
			w.deadGuard(s, req)
			return true
		}
		w.alternatives(s, req.When, req.Guard.When, s.field, nil)
	}
	return false
}

// prove proves everything that the target needs of one step.
func (w *work) prove(s *part, branch *spec.Branch, to *spec.State, taken []formula, record after) {
	w.report.Steps++
	if stampMatters(w.m, to) {
		record = s.stamped(record)
	}
	goals := s.goals(branch, to, record)
	if s.from != nil {
		goals = append(goals, s.kept(record.read(s.problem))...)
	}
	for _, g := range goals {
		w.report.Obligations++
		if slices.Contains(w.broken, g.fact) {
			continue
		}
		if g.accepted || s.framed(g, to, record) {
			continue
		}
		holds, readable := g.condition()
		against := append([]formula{not(holds)}, taken...)
		if g.should {
			against = append(against, s.own...)
		}
		if !readable || s.can(against) {
			w.failed(s, branch, to, record, g, readable, against)
		}
	}
}

// framed reports whether the obligation is one of the source's own facts, about
// fields that the step does not touch: nothing is left to prove.
func (s *part) framed(g goal, to *spec.State, record after) bool {
	if s.from == nil || g.code == "FSM305" || slices.ContainsFunc(g.fields, func(f *spec.Field) bool { _, ok := record[f]; return ok }) {
		return false
	}
	if s.from == to || g.everywhere {
		return true
	}
	if g.fact != nil {
		return slices.ContainsFunc(s.from.Invariant, func(f *spec.Fact) bool { return f.Text == g.fact.Text })
	}
	lists := [][]spec.FieldRef{s.from.Absent, s.from.ShouldAbsent}
	if g.present {
		lists = [][]spec.FieldRef{s.from.Present, s.from.ShouldPresent}
	}
	if !g.should {
		lists = lists[:1]
	}
	return slices.ContainsFunc(slices.Concat(lists...), func(r spec.FieldRef) bool { return r.Field == g.fields[0] })
}

// stampMatters reports whether a fact of the state reads updated_at.
func stampMatters(m *spec.Machine, to *spec.State) bool {
	reads := func(f *spec.Fact) bool {
		return slices.ContainsFunc(fieldsOf(f), func(f *spec.Field) bool { return f.Builtin && f.Name == "updated_at" })
	}
	return slices.ContainsFunc(m.Invariant, reads) || slices.ContainsFunc(m.Kept(), reads) || slices.ContainsFunc(to.Invariant, reads)
}

// fieldsOf lists the fields that a fact names.
func fieldsOf(f *spec.Fact) []*spec.Field {
	var fields []*spec.Field
	for _, x := range spec.Leaves([]*spec.Fact{f}) {
		for _, t := range x.Names() {
			if t.Kind == spec.TermField {
				fields = append(fields, t.Field)
			}
		}
	}
	return fields
}
