package fsmotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// scope is the name of what makes the spans and metrics.
const scope = "github.com/fsmgen/fsmgen/runtime/fsmotel"

// The attributes.
const (
	keyMachine   = attribute.Key("fsm.machine")
	keyOperation = attribute.Key("fsm.operation")
	keyEffect    = attribute.Key("fsm.effect")
	keyOutcome   = attribute.Key("fsm.outcome")
	keyFrom      = attribute.Key("fsm.state.from")
	keyTo        = attribute.Key("fsm.state.to")
	keyKind      = attribute.Key("fsm.worker.kind")
	keyID        = attribute.Key("fsm.record.id")
	keyRev       = attribute.Key("fsm.record.rev")
	keyRequest   = attribute.Key("fsm.request.id")
	keyActor     = attribute.Key("fsm.actor")
	keyCalls     = attribute.Key("fsm.calls")
	keyReplayed  = attribute.Key("fsm.replayed")
	keyError     = attribute.Key("error.type")
	keyCheck     = attribute.Key("fsm.audit.check")
)

// Telemetry makes spans and metrics. It is safe for use by any number of
// goroutines and machines; make one for a program.
type Telemetry struct {
	tracer                   trace.Tracer
	calls, effects, worked   metric.Float64Histogram
	audits                   metric.Float64Histogram
	found                    metric.Int64Gauge
	skew, lag                metric.Float64Gauge
	steps, replays, happened metric.Int64Counter
	working, stuck           metric.Int64UpDownCounter
	gauges                   *gauges
}

// Option sets where spans and metrics go.
type Option func(*providers)

type providers struct {
	tracer trace.TracerProvider
	meter  metric.MeterProvider
}

// WithTracerProvider replaces the global provider of tracers.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(o *providers) { o.tracer = p }
}

// WithMeterProvider replaces the global provider of meters.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(o *providers) { o.meter = p }
}

// New returns a Telemetry over the global providers, or those of the options. It
// fails when the provider of meters refuses an instrument.
func New(opts ...Option) (*Telemetry, error) {
	p := providers{tracer: otel.GetTracerProvider(), meter: otel.GetMeterProvider()}
	for _, opt := range opts {
		opt(&p)
	}
	t := &Telemetry{tracer: p.tracer.Tracer(scope)}
	meter := p.meter.Meter(scope)
	var errs []error
	seconds := func(name, what string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600))
		errs = append(errs, err)
		return h
	}
	count := func(name, unit, what string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	t.calls = seconds("fsm.call.duration", "Time from the begin of a call to its durable answer.")
	t.effects = seconds("fsm.effect.duration", "Time of a run of an effect.")
	t.audits = seconds("fsm.audit.duration", "Time of an audit of all records.")
	t.worked = seconds("fsm.worker.duration", "Time of a piece of work, from claim to end.")
	t.steps = count("fsm.transitions", "{event}", "Events written to the log.")
	t.replays = count("fsm.replays", "{call}", "Calls whose request id was known: the first outcome was returned.")
	t.happened = count("fsm.worker.events", "{event}", "What happened to a worker.")
	now := func(name, what string) metric.Int64UpDownCounter {
		c, err := meter.Int64UpDownCounter(name, metric.WithUnit("{record}"), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	t.working = now("fsm.worker.work", "Records worked on now.")
	t.stuck = now("fsm.worker.stuck", "Records whose work still runs though its context has ended.")
	var err error
	t.skew, err = meter.Float64Gauge("fsm.clock.skew", metric.WithUnit("s"), metric.WithDescription("How far the database's clock is ahead of the process's."))
	errs = append(errs, err)
	t.lag, err = meter.Float64Gauge("fsm.log.lag", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest committed event that Log and Watch hold back."))
	errs = append(errs, err)
	t.found, err = meter.Int64Gauge("fsm.audit.findings", metric.WithUnit("{finding}"), metric.WithDescription("Findings of the last audit."))
	errs = append(errs, err)
	t.gauges = newGauges(meter, &errs)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("fsmotel: make the instruments: %w", err)
	}
	return t, nil
}

// Observer returns what fsm.WithObserver takes, for any machine.
func (t *Telemetry) Observer() fsm.Observer {
	return func(ctx context.Context, c fsm.Observed) (context.Context, func(fsm.Observation)) {
		if c.Clock {
			return ctx, func(o fsm.Observation) {
				t.skew.Record(ctx, o.Skew.Seconds(), metric.WithAttributes(keyMachine.String(c.Machine)))
			}
		}
		if c.Log {
			return ctx, func(o fsm.Observation) {
				t.lag.Record(ctx, o.Lag.Seconds(), metric.WithAttributes(keyMachine.String(c.Machine)))
			}
		}
		name := c.Machine + "." + c.Operation
		attrs := []attribute.KeyValue{keyMachine.String(c.Machine), keyOperation.String(c.Operation)}
		duration := t.calls
		if c.Audit {
			name = c.Machine + " audit"
			attrs = attrs[:1]
			duration = t.audits
		}
		if c.Effect != "" {
			name += " effect " + c.Effect
			attrs = append(attrs, keyEffect.String(c.Effect))
			duration = t.effects
		}
		said := attrs[:len(attrs):len(attrs)]
		for _, a := range []attribute.KeyValue{keyID.String(c.ID), keyRequest.String(c.RequestID), keyActor.String(c.Actor)} {
			if a.Value.AsString() != "" {
				said = append(said, a)
			}
		}
		if c.Calls > 1 {
			said = append(said, keyCalls.Int(c.Calls))
		}
		began := time.Now()
		ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(said...))
		return ctx, func(o fsm.Observation) {
			duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(append(attrs, keyOutcome.String(o.Outcome()))...))
			for check, n := range o.Findings {
				t.found.Record(ctx, n, metric.WithAttributes(keyMachine.String(c.Machine), keyCheck.String(check)))
			}
			if o.Replayed > 0 {
				span.SetAttributes(keyReplayed.Int(o.Replayed))
				t.replays.Add(ctx, int64(o.Replayed), metric.WithAttributes(attrs...))
			}
			for i := range o.Events {
				e := &o.Events[i]
				step := []attribute.KeyValue{keyOperation.String(e.Operation), keyFrom.String(e.From), keyTo.String(e.To)}
				t.steps.Add(ctx, 1, metric.WithAttributes(append(step, keyMachine.String(c.Machine))...))
				if span.IsRecording() {
					span.AddEvent(e.Name, trace.WithAttributes(append(step, keyID.String(e.ID), keyRev.Int64(e.Rev))...))
				}
			}
			fail(span, o)
			span.End()
		}
	}
}

// fail writes an error to its span. Most refusals are answers.
func fail(span trace.Span, o fsm.Observation) {
	if o.Err == nil {
		return
	}
	span.SetAttributes(keyError.String(o.Outcome()))
	if o.Fault() {
		span.SetStatus(codes.Error, o.Err.Error())
	}
}

// Worker returns what worker.Options.Observe takes, for the workers of a machine.
func (t *Telemetry) Worker(machine string) func(worker.Event) {
	name := keyMachine.String(machine)
	return func(e worker.Event) {
		ctx := context.Background()
		kind := metric.WithAttributes(name, keyKind.String(string(e.Kind)))
		t.happened.Add(ctx, 1, kind)
		switch e.Kind {
		case worker.Claimed:
			t.working.Add(ctx, 1, metric.WithAttributes(name))
		case worker.Done, worker.Failed, worker.Cancelled, worker.Lost, worker.Released:
			if e.Took > 0 { // else it was not begun
				t.working.Add(ctx, -1, metric.WithAttributes(name))
				t.worked.Record(ctx, e.Took.Seconds(), kind)
			}
		case worker.Stuck:
			t.stuck.Add(ctx, 1, metric.WithAttributes(name))
		case worker.Returned:
			t.stuck.Add(ctx, -1, metric.WithAttributes(name))
		}
	}
}

// Work returns the work of a generated worker with a span around it, in which
// everything that it does with its context stands. H is the handle that the work
// gets.
func Work[H fsm.Target](t *Telemetry, machine string, do func(ctx context.Context, h H) error) func(ctx context.Context, h H) error {
	return func(ctx context.Context, h H) error {
		ref := h.Ref()
		ctx, span := t.tracer.Start(ctx, machine+" work", trace.WithSpanKind(trace.SpanKindConsumer),
			trace.WithAttributes(keyMachine.String(machine), keyID.String(ref.ID), keyRev.Int64(ref.Rev)))
		failure := errors.New("the work panicked")
		defer func() {
			if failure != nil {
				span.SetAttributes(keyError.String("error"))
				span.SetStatus(codes.Error, failure.Error())
			}
			span.End()
		}()
		failure = do(ctx, h)
		return failure
	}
}
