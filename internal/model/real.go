package model

import (
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// teller gives the steps of a trace real instants and real calls. Every record
// has a clock of its own, as no rule compares the times of two records: a tick
// goes by between two steps of it, and an instant passes by its clock being
// moved behind it.
type teller struct {
	t       *table
	clocks  []time.Time     // by record
	records []interp.Record // by record, with real values
}

// tick is shorter than any duration of a file, also many times.
const tick = time.Millisecond

// clock moves the clock of a record on by a tick and returns it.
func (r *teller) clock(i int) time.Time {
	for len(r.clocks) <= i {
		r.clocks = append(r.clocks, epoch)
		r.records = append(r.records, interp.NewRecord(r.t.m, ""))
	}
	r.clocks[i] = r.clocks[i].Add(tick)
	return r.clocks[i]
}

// call makes the real call of a step on record i, which looks like seen.
func (r *teller) call(i int, c interp.Call, seen interp.Record) interp.Call {
	c.At = r.clock(i)
	inputs := map[string]interp.Value{}
	for name, v := range c.Inputs {
		if v.Kind == interp.KindTime {
			v = interp.Time(r.instant(i, v.AsTime(), seen))
		}
		inputs[name] = v
	}
	c.Inputs = inputs
	return c
}

// instant returns the real instant that stands to the clock of record i, and
// to its times where that matters, as at stands to epoch and those of seen.
func (r *teller) instant(i int, at time.Time, seen interp.Record) time.Time {
	now := r.clocks[i]
	if !r.t.pools.ordered {
		return now.Add(at.Sub(epoch))
	}
	low, high := time.Time{}, time.Time{} // the nearest real instants on both sides
	know := func(a, actual time.Time) {
		if a.Before(at) && (low.IsZero() || actual.After(low)) {
			low = actual
		}
		if a.After(at) && (high.IsZero() || actual.Before(high)) {
			high = actual
		}
	}
	know(epoch, now)
	if seen.State != nil {
		abstract, _ := r.t.times(&seen)
		actual, _ := r.t.times(&r.records[i])
		for k := range min(len(abstract), len(actual)) {
			know(abstract[k], actual[k])
		}
	}
	switch {
	case low.IsZero():
		return high.Add(-day)
	case high.IsZero():
		return low.Add(aheadUnit)
	}
	return low.Add(high.Sub(low) / 2)
}

// pass moves the clock of record i behind the times of it that a step passes, shortly before
// those that come near, and far behind those that are long over.
func (r *teller) pass(i int, s Step) {
	r.clock(i)
	move := func(fields []*spec.Field, by time.Duration) {
		for _, f := range fields {
			if v := r.records[i].Value(r.t.m, f); v.Kind == interp.KindTime && r.clocks[i].Before(v.AsTime().Add(by)) {
				r.clocks[i] = v.AsTime().Add(by)
			}
		}
	}
	move(s.passed, tick)
	move(s.soon, -nearby/2)
	move(s.gone, far)
}

// like returns a real record as the checker sees it, at the clock of record i.
func (r *teller) like(i int, record interp.Record) uint16 {
	shift := func(at time.Time) time.Time {
		return time.UnixMicro(epoch.UnixMicro() - r.clocks[i].UnixMicro() + at.UnixMicro()).UTC()
	}
	seen := record
	seen.Fields = slices.Clone(record.Fields)
	at, set := r.t.times(&seen)
	for k := range at {
		set[k](shift(at[k]))
	}
	return r.t.intern(seen)
}
