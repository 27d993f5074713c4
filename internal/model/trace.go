package model

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// Step is one line of a trace.
type Step struct {
	Op      *spec.Operation // nil when time passes
	Who     string          // "worker 1", "operator", "system", "time", "effect"
	What    string          // "lease", "effect apply_result performed", "an instant passes"
	Record  int             // 1, 2, 3 ... in the order of their creation
	From    string          // its state before, "(new)" for a creation
	To      string          // its state after
	Changed []string        // "lease_owner: absent -> w1"
	Pos     spec.Pos        // of the operation in the specification

	kind   moveKind
	call   interp.Call
	seen   interp.Record // the record before, as the checker sees it
	passed []*spec.Field // movePass: the times that are over
	soon   []*spec.Field // movePass: that are about to come
	gone   []*spec.Field // movePass: that are long over
}

// violation tells how the state at i is reached, and what goes wrong there.
func (c *checker) violation(i int, found move) *Violation {
	v := &Violation{What: found.wrong, kind: found.what, effect: found.about}
	v.Pos, v.Mark = found.op.Pos, found.op.Name
	var now *state
	v.Trace, now = c.way(i)
	c.successors(now, func(m move, next *state) bool {
		if m.wrong == "" || m.what != found.what {
			return true
		}
		if next != nil {
			next = next.clone()
		}
		last := c.step(m, now, next)
		v.What, v.effect, v.Pos, v.Mark = m.wrong, m.about, m.op.Pos, m.op.Name
		v.Trace = append(v.Trace, last)
		return false
	})
	v.real = c.tell(v.Trace)
	return v
}

// way is a shortest way to the state at i, and the state as it goes there.
func (c *checker) way(i int) (trace []Step, now *state) {
	var path []int
	for ; i > 0; i = int(c.seen.parent[i]) {
		path = append(path, i)
	}
	slices.Reverse(path)
	now = &state{effects: make([]uint32, len(c.effects))}
	for _, want := range path {
		key := slices.Clone(c.seen.at(want))
		var to *state
		c.successors(now, func(m move, next *state) bool {
			if m.wrong != "" || !bytes.Equal(c.key(next), key) {
				return true
			}
			to = next.clone()
			trace = append(trace, c.step(m, now, to))
			return false
		})
		now = to
	}
	return trace, now
}

// step describes a move between two states; to is nil when it is not taken.
func (c *checker) step(m move, from, to *state) Step {
	s := Step{Op: m.op, Record: m.slot + 1, From: "(new)", kind: m.kind}
	var before, after interp.Record
	if m.slot < len(from.slots) {
		before = c.t.locals[from.slots[m.slot].local].record
		s.seen = before
		s.From, s.To = before.State.Name, before.State.Name
		after = before
	} else {
		before = interp.NewRecord(c.m, "")
	}
	if to != nil {
		after = c.t.locals[to.slots[m.slot].local].record
		s.To = after.State.Name
	}
	switch m.kind {
	case movePass:
		s.Who, s.What = "time", "an instant passes"
	case movePerform:
		s.Who, s.What, s.Pos = "effect", m.effect.Name+" performed", m.effect.Pos
	case moveDeliver:
		s.Who, s.What, s.Pos = "system", m.effect.Name+" recorded", m.effect.Pos
		if then := m.effect.Then; then != nil {
			s.What, s.Pos = then.Operation.Name, then.Operation.Pos
		}
	case moveCall:
		s.call = c.t.calls[m.call].call
		s.What, s.Pos, s.Who = m.op.Name, m.op.Pos, who(c, m.op, s.call)
		// What the call changes, before anything is left out of the state.
		if d, refusal := interp.Decide(c.m, before, s.call, c.t.others()); refusal == nil {
			after = d.Record
			if s.To == "" {
				s.To = d.To.Name
			}
		}
	}
	for i, f := range c.m.Fields {
		if to == nil && m.kind != moveCall || i >= len(after.Fields) || before.Fields[i] == after.Fields[i] {
			continue
		}
		if f.Type.Kind == spec.KindSequence && !c.t.pools.matters(f) {
			continue // numbers are left out of the state
		}
		if m.kind == movePass {
			s.What = s.stood(c.t.pools, f, before.Fields[i], after.Fields[i])
			if s.What == "" {
				continue // it only stands elsewhere among the others
			}
		}
		s.Changed = append(s.Changed, fmt.Sprintf("%s: %s -> %s", f.Name, show(before.Fields[i]), show(after.Fields[i])))
	}
	return s
}

// stood notes that an instant passes, or comes nearer or goes by, and says so.
func (s *Step) stood(p *pools, f *spec.Field, before, after interp.Value) string {
	switch {
	case passes(before, after):
		s.passed = append(s.passed, f)
		return f.Name + " passes"
	case !p.reach || p.ordered || before.Kind != interp.KindTime:
	case after.AsTime().After(epoch):
		s.soon = append(s.soon, f)
		return f.Name + " comes near"
	default:
		s.gone = append(s.gone, f)
		return f.Name + " is long ago"
	}
	return ""
}

// passes reports whether an instant that was to come is past.
func passes(before, after interp.Value) bool {
	return before.Kind == interp.KindTime && before.AsTime().After(epoch) && !after.AsTime().After(epoch)
}

// who names the caller of an operation.
func who(c *checker, op *spec.Operation, call interp.Call) string {
	switch op.By {
	case spec.BySystem:
		return "system"
	case spec.ByOperator:
		return "operator"
	}
	p := c.t.pools
	named := func(worker string) bool {
		return call.Actor == worker || call.Actor == fitted(p.lengths[p.root(theActor{})], worker)
	}
	if i := slices.IndexFunc(p.workers, named); i >= 0 {
		return fmt.Sprintf("worker %d", i+1)
	}
	return call.Actor // a text of the file
}

// show writes a value; a time is where it stands to the clock.
func show(v interp.Value) string {
	if v.Kind != interp.KindTime {
		return v.String()
	}
	switch at := v.AsTime(); {
	case at.Equal(epoch):
		return "now"
	case at.After(epoch) && at.Sub(epoch) < 10*day:
		return "now + " + at.Sub(epoch).String()
	case at.After(epoch):
		return "to come"
	}
	return "past"
}

// text names a group: "job_id k1".
func (k *groupKey) text(id int) string {
	var parts []string
	for i, f := range k.fields {
		text := show(k.values[id][i])
		if k.values[id][i].Kind == interp.KindString {
			text = k.values[id][i].Text
		}
		parts = append(parts, f.Field.Name+" "+text)
	}
	return strings.Join(parts, ", ")
}

// Print writes the trace, one line per step: who, what, the record with its
// states, where the operation stands in the specification, and what changed.
func (v *Violation) Print(w io.Writer, file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "VIOLATED: %s\n", v.What)
	width, moves := 0, 0
	for _, s := range v.Trace {
		width = max(width, len(s.What))
		moves = max(moves, len(s.moved()))
	}
	for i, s := range v.Trace {
		at := ""
		if !s.Pos.IsZero() {
			at = fmt.Sprintf("%s:%s", file, s.Pos)
		}
		line := fmt.Sprintf("  %2d  %-9s %-*s  %-*s  %s", i+1, s.Who, width, s.What, moves, s.moved(), at)
		if len(s.Changed) > 0 {
			line += "  {" + strings.Join(s.Changed, ", ") + "}"
		}
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// moved is the record of a step with its states.
func (s Step) moved() string {
	if s.From == s.To {
		return fmt.Sprintf("#%d: %s", s.Record, s.From)
	}
	return fmt.Sprintf("#%d: %s -> %s", s.Record, s.From, s.To)
}

// Diagnostic returns the violation as a finding, FSM801, with its steps as the
// places that it speaks of.
func (v *Violation) Diagnostic(m *spec.Machine) spec.Diagnostic {
	d := spec.Diagnostic{
		Code: "FSM801", Severity: spec.Error, File: m.File, Pos: v.Pos, Len: len(v.Mark),
		Message: fmt.Sprintf("%s: %s, after %d steps", v.Mark, v.What, len(v.Trace)),
		Hint:    "make one of the steps impossible: by a guard, a `unique`, or a smaller `from`",
	}
	d.Related = related(v.Trace, v.Pos)
	return d
}

// related lists steps as places that a finding at `at` speaks of.
func related(trace []Step, at spec.Pos) []spec.Related {
	var list []spec.Related
	for i, s := range trace {
		pos := s.Pos
		if pos.IsZero() {
			pos = at // time passes nowhere in the file
		}
		text := fmt.Sprintf("step %d: %s %s %s", i+1, s.Who, s.What, s.moved())
		if len(s.Changed) > 0 {
			text += " {" + strings.Join(s.Changed, ", ") + "}"
		}
		list = append(list, spec.Related{Pos: pos, Message: text})
	}
	return list
}

// Never returns what cannot happen as findings, FSM803. They are errors, unless the
// search met a bound: then there are none, and [Result.Limit] names it.
func (r Result) Never(m *spec.Machine) []spec.Diagnostic {
	var list []spec.Diagnostic
	for _, x := range r.Missing {
		if !r.Whole || x.Said == "" {
			continue
		}
		list = append(list, spec.Diagnostic{
			Code: "FSM803", Severity: spec.Error, File: m.File, Pos: x.Pos, Len: len(x.Mark),
			Message: x.Said + ", whatever operations do and in which order", Related: x.so,
			Hint: "remove it, or change what stands in its way: a fact, or what the steps before it set; " +
				"where it is meant, for imported records say, write `allow: {FSM803: <why>}` on " + x.On,
		})
	}
	return list
}

// Waits returns what waits in vain as findings, FSM804, with the steps that lead there.
func (r Result) Waits(m *spec.Machine) []spec.Diagnostic {
	var list []spec.Diagnostic
	for _, x := range r.Stuck {
		if slices.ContainsFunc(r.Missing, func(y Missing) bool { return y.What == "operation "+x.On }) {
			continue // FSM803 says more
		}
		list = append(list, spec.Diagnostic{
			Code: "FSM804", Severity: spec.Warning, File: m.File, Pos: x.Pos, Len: len(x.Mark),
			Message: fmt.Sprintf("%s: step %d leads there", x.What, len(x.Trace)),
			Hint:    x.Way + "; where a person looks after it, write `allow: {FSM804: <why>}` on " + x.On,
			Related: related(x.Trace, x.Pos),
		})
	}
	return list
}

// Limit returns the bounds that were met as an info, FSM802, or false when the
// search saw everything within the records, groups and workers it had.
func (r Result) Limit(m *spec.Machine) (spec.Diagnostic, bool) {
	d := spec.Diagnostic{Code: "FSM802", Severity: spec.Info, File: m.File, Pos: m.Pos, Len: len(m.Name)}
	var parts []string
	missing := slices.DeleteFunc(slices.Clone(r.Missing), func(x Missing) bool { return r.Whole && x.On != "" })
	if r.Violation == nil && len(missing) > 0 {
		parts = append(parts, "never happened: "+few(missing))
		d.Hint = "raise --records, --groups, --workers or --counter, or find out why it cannot happen"
	}
	if len(r.Limits) > 0 {
		parts = append(parts, "not explored: "+strings.Join(r.Limits, ", "))
		d.Hint = "raise --counter or --max-states, or lower --records"
	}
	d.Message = m.Name + ": " + strings.Join(parts, "; ")
	return d, len(parts) > 0
}

// Summary returns the figures of a search as one line.
func (r Result) Summary() string {
	return fmt.Sprintf("%d states, %d transitions, %s, %.0f states/s (records %d, groups %d, workers %d, counters to %d)",
		r.States, r.Transitions, r.Elapsed.Round(time.Millisecond/10), r.Speed(), r.Options.Records, r.Options.Groups, r.Options.Workers, r.Options.Counter)
}
