package validate

import (
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// instant is a sum of times and lengths: how often each is in it, and between which lengths
// its constants and its back-off are. The time of the call is under nil.
type instant struct {
	times, lengths map[*spec.Field]int64
	low, high      int64 // microseconds
}

// add adds a term, or takes it off; false: it is no time and no length of a record.
func (x *instant) add(t spec.Term, sign int64) bool {
	switch t.Kind {
	case spec.TermNow:
		x.times[nil] += sign
	case spec.TermField:
		switch t.Field.Type.Kind {
		case spec.KindTime:
			x.times[t.Field] += sign
		case spec.KindDuration:
			x.lengths[t.Field] += sign
		default:
			return false
		}
	case spec.TermSpan:
		x.between(t.Int, t.Int, sign)
	case spec.TermBackoff:
		low, _ := lengthOf(t.Backoff.Base)
		least, high := lengthOf(t.Backoff.Max)
		x.between(min(low, least), high, sign)
	case spec.TermSum:
		for _, p := range t.Parts {
			if !x.add(p.Term, p.Signed(sign)) {
				return false
			}
		}
	default:
		return false
	}
	return true
}

func (x *instant) between(low, high, sign int64) {
	if sign < 0 {
		low, high = high, low
	}
	x.low, x.high = x.low+sign*low, x.high+sign*high
}

// lengthOf returns between which lengths a part of a sum is.
func lengthOf(t spec.Term) (low, high int64) {
	switch {
	case t.Kind == spec.TermSpan:
		return t.Int, t.Int
	case t.Kind == spec.TermBackoff:
		least, _ := lengthOf(t.Backoff.Base)
		low, high := lengthOf(t.Backoff.Max)
		return min(least, low), high
	case t.Field != nil && t.Field.Type.Kind == spec.KindDuration:
		return *t.Field.Type.Min, *t.Field.Type.Max
	case t.Input != nil && t.Input.Type.Kind == spec.KindDuration:
		return *t.Input.Type.Min, *t.Input.Type.Max
	}
	return 0, spec.MaxSpan
}

// notPast reports whether a fact says that the deadline of a trigger is still to come,
// whatever the lengths are. One that also holds at the very instant says so too: no sweeper
// is that punctual.
func notPast(x *spec.Fact, t spec.Trigger) bool {
	earlier, later := x.Left, x.Right
	switch x.Op {
	case spec.Gt, spec.Ge:
		earlier, later = later, earlier
	case spec.Lt, spec.Le:
	default:
		return false
	}
	// What the fact keeps below 0, less what the trigger keeps above: now - after - plus.
	d := instant{times: map[*spec.Field]int64{}, lengths: map[*spec.Field]int64{}}
	if !d.add(earlier, 1) || !d.add(later, -1) {
		return false
	}
	d.times[nil]--
	d.times[t.After]++
	d.low += t.Plus.Microseconds()
	if t.By != nil {
		d.lengths[t.By]++
	}
	for _, n := range d.times {
		if n != 0 {
			return false
		}
	}
	for f, n := range d.lengths {
		if n > 0 {
			d.low += n * *f.Type.Min
		} else {
			d.low += n * *f.Type.Max
		}
	}
	return d.low >= 0
}

// deadline writes when a trigger is due, as the file has it.
func deadline(t spec.Trigger) string { return strings.TrimPrefix(t.Text, "after ") }

// atOnce reports whether a trigger is due as soon as its field is set to a value: with all that
// is added, no later than now.
func atOnce(t spec.Trigger, v spec.Value) bool {
	d := instant{times: map[*spec.Field]int64{nil: -1}, lengths: map[*spec.Field]int64{}}
	switch v.Kind {
	case spec.ValueNow:
		d.times[nil]++
		d.high = v.Plus.Microseconds()
	case spec.ValueSum:
		if !d.add(spec.Term{Kind: spec.TermSum, Parts: v.Parts}, 1) {
			return false
		}
	default:
		return false
	}
	d.high += t.Plus.Microseconds()
	if t.By != nil {
		d.lengths[t.By]++
	}
	for _, n := range d.times {
		if n != 0 {
			return false
		}
	}
	for f, n := range d.lengths {
		if n > 0 {
			d.high += n * *f.Type.Max
		} else {
			d.high += n * *f.Type.Min
		}
	}
	return d.high <= 0
}

// parts lists the fields that a deadline is made of.
func parts(t spec.Trigger) []*spec.Field {
	if t.By != nil {
		return []*spec.Field{t.After, t.By}
	}
	return []*spec.Field{t.After}
}

// waitsFor reports whether a trigger reads the field.
func waitsFor(t spec.Trigger, f *spec.Field) bool { return f != nil && (t.After == f || t.By == f) }

// absentPart is a part of a deadline that is absent in a state; nil where each may be there.
func absentPart(s *spec.State, t spec.Trigger) *spec.Field {
	for _, f := range parts(t) {
		if absentIn(s, f) {
			return f
		}
	}
	return nil
}

// readsNow reports whether a value follows the time of the call.
func readsNow(v spec.Value) bool {
	return v.Kind == spec.ValueNow || slices.ContainsFunc(v.Parts, func(p spec.Part) bool { return p.Term.Kind == spec.TermNow })
}

// later reports whether a value is a time that is still to come: a length is added to one.
func later(v spec.Value) bool {
	if v.Kind == spec.ValueNow {
		return v.Plus > 0
	}
	return spec.SumKind(v.Parts) == spec.KindTime && slices.ContainsFunc(v.Parts, func(p spec.Part) bool {
		_, high := lengthOf(p.Term)
		return !p.Minus && isLength(p.Term) && high > 0
	})
}

func isLength(t spec.Term) bool {
	return t.Kind == spec.TermSpan || t.Kind == spec.TermBackoff || t.Field != nil && t.Field.Type.Kind == spec.KindDuration ||
		t.Input != nil && t.Input.Type.Kind == spec.KindDuration
}

// usual is how long a length is as a rule: what it is at most where the file bounds it, else its default.
func usual(t spec.Term) time.Duration {
	_, high := lengthOf(t)
	if high == spec.MaxSpan {
		high = 0
		if t.Field != nil && t.Field.Default != nil {
			high = t.Field.Default.Int
		}
	}
	return time.Duration(high) * time.Microsecond
}

// howFar is how far in the future a value is as a rule.
func howFar(v spec.Value) time.Duration {
	sum := v.Plus
	for _, p := range v.Parts {
		if isLength(p.Term) && !p.Minus {
			sum += usual(p.Term)
		}
	}
	return sum
}
