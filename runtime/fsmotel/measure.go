package fsmotel

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/figures"
)

const (
	keyState   = attribute.Key("fsm.state")
	keyTrigger = attribute.Key("fsm.trigger")
)

// MeasureOptions say how Measure asks. The zero value is a good choice.
type MeasureOptions struct {
	// Every is the time between two readings of the database, however often the metrics are collected; zero is a
	// minute. After a reading that failed the next one comes after a sixth of it.
	Every time.Duration
	// Within is the time for one reading; zero is 2 s. What is not answered by then is left out.
	Within time.Duration
	// Most is how many records are counted of one state or one trigger: a greater number is told as this one. Zero
	// is 100 000.
	Most int64
}

// gauges are the instruments of Measure.
type gauges struct {
	meter                           metric.Meter
	all                             []metric.Observable
	records, overdue                metric.Int64ObservableGauge
	oldest, late                    metric.Float64ObservableGauge
	due, up, sound, refused, broken metric.Int64ObservableGauge
	dueAge, swept                   metric.Float64ObservableGauge
}

// newGauges makes the instruments.
func newGauges(meter metric.Meter, errs *[]error) *gauges {
	g := &gauges{meter: meter}
	count := func(name, unit, what string) metric.Int64ObservableGauge {
		o, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		*errs, g.all = append(*errs, err), append(g.all, o)
		return o
	}
	age := func(name, what string) metric.Float64ObservableGauge {
		o, err := meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(what))
		*errs, g.all = append(*errs, err), append(g.all, o)
		return o
	}
	g.records = count("fsm.records", "{record}", "Records in a state.")
	g.oldest = age("fsm.oldest.age", "Since when the record in a state that moved last longest ago has not moved.")
	g.overdue = count("fsm.overdue", "{record}", "Records whose deadline is over.")
	g.late = age("fsm.overdue.age", "For how long the first of those deadlines is over.")
	g.due = count("fsm.outbox.due", "{delivery}", "Entries of the outbox that are due.")
	g.dueAge = age("fsm.outbox.age", "For how long the first of those entries is due.")
	g.refused = count("fsm.outbox.refused", "{delivery}", "Deliveries that gave up and whose next step is refused.")
	g.swept = age("fsm.sweep.age", "Since when no sweep of this process has come to its end.")
	g.up = count("fsm.store.up", "", "Whether the store answered the last reading and takes writes: 1 or 0.")
	g.sound = count("fsm.sound", "", "Whether the last check of all records found nothing: 1 or 0.")
	g.broken = count("fsm.quarantined", "{record}", "Records in quarantine, as the last check found them.")
	return g
}

// measured are the figures of one machine, as they were last read.
type measured struct {
	g    *gauges
	of   *figures.Machine
	opt  MeasureOptions
	name metric.MeasurementOption

	reading sync.Mutex // held by who asks the database
	mu      sync.Mutex
	last    *figures.Figures // nil: the last reading failed, or there was none
	next    time.Time        // when to read again
	asked   bool
}

// Measure makes metrics of how a machine's records stand, until stop is called: how many are in each state and since
// when, what is overdue, what waits in the outbox, and the machine's health. m is the Machine of a generated package.
//
// The database is asked when metrics are collected, once in a minute at most and within 2 s: see MeasureOptions. Of
// collections at the same time one asks, and the others tell what was known. Each process tells the same figures, but
// for its own sweeps and its own check: take the greatest, not the sum.
func Measure[R any](t *Telemetry, m interface{ Core() *fsm.Machine[R] }, o MeasureOptions) (stop func() error, err error) {
	x := &measured{g: t.gauges, of: figures.Of(m), opt: o}
	x.opt.Every, x.opt.Within = cmp.Or(o.Every, time.Minute), cmp.Or(o.Within, 2*time.Second)
	x.name = metric.WithAttributes(keyMachine.String(x.of.Name()))
	r, err := t.gauges.meter.RegisterCallback(x.observe, t.gauges.all...)
	if err != nil {
		return nil, fmt.Errorf("fsmotel: measure %s: %w", x.of.Name(), err)
	}
	return r.Unregister, nil
}

// figures returns what is known, and asks the database where that is too old.
func (x *measured) figures(ctx context.Context) (*figures.Figures, bool) {
	x.mu.Lock()
	last, asked, fresh := x.last, x.asked, time.Now().Before(x.next)
	x.mu.Unlock()
	if fresh || !x.reading.TryLock() {
		return last, asked
	}
	defer x.reading.Unlock()
	f, err := x.of.Read(ctx, figures.Options{Most: x.opt.Most, Within: x.opt.Within})
	pause := x.opt.Every
	if err != nil {
		f, pause = nil, x.opt.Every/6
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last, x.asked, x.next = f, true, time.Now().Add(pause)
	return f, true
}

// observe tells the figures.
func (x *measured) observe(ctx context.Context, o metric.Observer) error {
	f, asked := x.figures(ctx)
	h := x.of.Health()
	if asked {
		o.ObserveInt64(x.g.up, one(f != nil && h.Store == nil), x.name)
	}
	if !h.Ended.IsZero() {
		o.ObserveInt64(x.g.sound, one(h.Sound()), x.name)
		o.ObserveInt64(x.g.broken, h.Quarantined, x.name)
	}
	if !h.Swept.IsZero() {
		o.ObserveFloat64(x.g.swept, max(0, x.of.Now().Sub(h.Swept).Seconds()), x.name)
	}
	if f == nil {
		return nil
	}
	with := func(key attribute.Key, value string, more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributes(append(more, keyMachine.String(x.of.Name()), key.String(value))...)
	}
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, f.At.Sub(since).Seconds())
	}
	for i := range f.States {
		s := &f.States[i]
		if !s.Known {
			continue
		}
		at := with(keyState, s.Name)
		o.ObserveInt64(x.g.records, s.Count, at)
		if !s.Terminal && (s.Count == 0 || !s.Oldest.IsZero()) {
			o.ObserveFloat64(x.g.oldest, age(s.Oldest), at)
		}
	}
	for i := range f.Triggers {
		t := &f.Triggers[i]
		if !t.Known {
			continue
		}
		at := with(keyOperation, t.Operation, keyTrigger.String(t.After))
		o.ObserveInt64(x.g.overdue, t.Count, at)
		if t.Count == 0 || !t.Oldest.IsZero() {
			o.ObserveFloat64(x.g.late, age(t.Oldest), at)
		}
	}
	for i := range f.Effects {
		e := &f.Effects[i]
		at := with(keyEffect, e.Name)
		o.ObserveInt64(x.g.due, int64(e.Due), at)
		o.ObserveFloat64(x.g.dueAge, age(e.Oldest), at)
		o.ObserveInt64(x.g.refused, h.Refused[e.Name], at)
	}
	return nil
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
