package fsmotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/fsmotel"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// recorded is a telemetry whose spans and metrics stay here.
type recorded struct {
	*fsmotel.Telemetry
	tracer *sdktrace.TracerProvider
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
	second *sdkmetric.ManualReader
}

func record(t *testing.T) *recorded {
	t.Helper()
	r := &recorded{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader(), second: sdkmetric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	var err error
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader), sdkmetric.WithReader(r.second))
	r.Telemetry, err = fsmotel.New(fsmotel.WithTracerProvider(r.tracer), fsmotel.WithMeterProvider(meter))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// words writes attributes as "key=value", sorted, without the prefix and those
// that are left out.
func words(attrs []attribute.KeyValue, without ...string) string {
	var list []string
	for _, a := range attrs {
		if !slices.Contains(without, string(a.Key)) {
			list = append(list, strings.TrimPrefix(string(a.Key), "fsm.")+"="+a.Value.String())
		}
	}
	sort.Strings(list)
	return strings.Join(list, " ")
}

// told lists the ended spans, each with the name of what it stands in.
func (r *recorded) told() []string {
	names := map[string]string{}
	for _, s := range r.spans.Ended() {
		names[s.SpanContext().SpanID().String()] = s.Name()
	}
	var list []string
	for _, s := range r.spans.Ended() {
		line := s.Name() + " in " + names[s.Parent().SpanID().String()] + ": " + words(s.Attributes(), "fsm.machine", "fsm.operation")
		for _, e := range s.Events() {
			line += " [" + e.Name + " " + words(e.Attributes) + "]"
		}
		if s.Status().Code == codes.Error {
			line += " ERROR " + s.Status().Description
		}
		list = append(list, line)
	}
	return list
}

// counts lists the metrics: sums with their value, histograms with how many were
// recorded.
func (r *recorded) counts(t *testing.T) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	return lines(t, &all)
}

// lines lists metrics as counts does.
func lines(t *testing.T, all *metricdata.ResourceMetrics) []string {
	t.Helper()
	var list []string
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					list = append(list, fmt.Sprintf("%s{%s} %d", m.Name, words(p.Attributes.ToSlice()), p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					list = append(list, fmt.Sprintf("%s{%s} %d", m.Name, words(p.Attributes.ToSlice()), p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					list = append(list, fmt.Sprintf("%s{%s} %v", m.Name, words(p.Attributes.ToSlice()), p.Value))
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if p.Sum < 0 || p.Sum > 60 || m.Unit != "s" {
						t.Errorf("%s: %v %s in all", m.Name, p.Sum, m.Unit)
					}
					list = append(list, fmt.Sprintf("%s{%s} %d", m.Name, words(p.Attributes.ToSlice()), p.Count))
				}
			default:
				t.Fatalf("%s is a %T", m.Name, d)
			}
		}
	}
	sort.Strings(list)
	return list
}

func equal(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Calls, effects within them, replays, refusals and failures are told apart.
func TestCalls(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := record(t)
	store := memstore.New()
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("no money")
	var fail error
	effect := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return fail }
	m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": effect, "carry": effect, "notify": effect}, fsm.WithObserver(r.Observer()))
	if err != nil {
		t.Fatal(err)
	}
	outer, span := r.tracer.Tracer("test").Start(ctx, "caller")
	register := storetest.Register(storetest.Meta{RequestID: "r1", Actor: "ann"}, storetest.RegisterInput{ID: "p1", Lane: "a"})
	for range 2 {
		if _, err := m.Create(outer, register); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.Apply(outer, fsm.Ref{ID: "p1"}, storetest.Bill(storetest.Meta{RequestID: "b1"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(outer, out, storetest.Send(storetest.Meta{RequestID: "s1"})); !errors.Is(err, fsm.ErrWrongState) {
		t.Fatal(err)
	}
	fail = broke
	if _, err := m.Apply(outer, out, storetest.Bill(storetest.Meta{RequestID: "b2"})); !errors.Is(err, broke) {
		t.Fatal(err)
	}
	if _, err := m.ApplyMany(outer, []fsmimpl.Item[storetest.Parcel]{{At: out}, {}}); err == nil {
		t.Fatal("two calls of nothing")
	}
	span.End()
	equal(t, "spans", r.told(),
		"parcel.register in caller: actor=ann record.id=p1 request.id=r1 [register operation=register record.id=p1 record.rev=1 state.from= state.to=waiting]",
		"parcel.register in caller: actor=ann record.id=p1 replayed=1 request.id=r1",
		"parcel.bill effect charge in parcel.bill: effect=charge record.id=p1 request.id=a",
		"parcel.bill in caller: record.id=p1 request.id=b1 [bill operation=bill record.id=p1 record.rev=2 state.from=waiting state.to=waiting]",
		"parcel.send in caller: error.type=wrong_state record.id=p1 request.id=s1",
		"parcel.bill effect charge in parcel.bill: effect=charge error.type=error record.id=p1 request.id=a ERROR no money",
		`parcel.bill in caller: error.type=effect record.id=p1 request.id=b2 ERROR parcel "p1" at revision 3: effect charge (key "a"): no money`,
		"parcel. in caller: calls=2 error.type=error ERROR item 0: the call's operation is not one of this machine",
		"caller in : ",
	)
	equal(t, "metrics", r.counts(t),
		"fsm.call.duration{machine=parcel operation= outcome=error} 1",
		"fsm.call.duration{machine=parcel operation=bill outcome=effect} 1",
		"fsm.call.duration{machine=parcel operation=bill outcome=ok} 1",
		"fsm.call.duration{machine=parcel operation=register outcome=ok} 1",
		"fsm.call.duration{machine=parcel operation=register outcome=replayed} 1",
		"fsm.call.duration{machine=parcel operation=send outcome=wrong_state} 1",
		"fsm.effect.duration{effect=charge machine=parcel operation=bill outcome=error} 1",
		"fsm.effect.duration{effect=charge machine=parcel operation=bill outcome=ok} 1",
		"fsm.replays{machine=parcel operation=register} 1",
		"fsm.transitions{machine=parcel operation=bill state.from=waiting state.to=waiting} 1",
		"fsm.transitions{machine=parcel operation=register state.from= state.to=waiting} 1",
	)
}

// An audit is a span, and its findings are gauges that fall again.
func TestAudit(t *testing.T) {
	t.Parallel()
	r := record(t)
	for _, n := range []int64{3, 2} {
		_, end := r.Observer()(t.Context(), fsm.Observed{Machine: "m", Audit: true})
		end(fsm.Observation{Findings: map[string]int64{audit.CheckProbe: n, audit.CheckRule: 0}})
	}
	_, end := r.Observer()(t.Context(), fsm.Observed{Machine: "m", Audit: true})
	end(fsm.Observation{Err: errors.New("cut")})
	equal(t, "spans", r.told(), "m audit in : ", "m audit in : ", "m audit in : error.type=error ERROR cut")
	equal(t, "metrics", r.counts(t),
		"fsm.audit.duration{machine=m outcome=error} 1",
		"fsm.audit.duration{machine=m outcome=ok} 2",
		"fsm.audit.findings{audit.check=probe machine=m} 2",
		"fsm.audit.findings{audit.check=rule machine=m} 0",
	)
}

// The clocks are a gauge, without a span.
func TestClock(t *testing.T) {
	t.Parallel()
	r := record(t)
	_, end := r.Observer()(t.Context(), fsm.Observed{Machine: "m", Clock: true})
	end(fsm.Observation{Skew: -2 * time.Minute})
	equal(t, "spans", r.told())
	equal(t, "metrics", r.counts(t), "fsm.clock.skew{machine=m} -120")
}

// What the log holds back is a gauge, without a span.
func TestLog(t *testing.T) {
	t.Parallel()
	r := record(t)
	_, end := r.Observer()(t.Context(), fsm.Observed{Machine: "m", Log: true})
	end(fsm.Observation{Lag: 2 * time.Minute, HeldBy: "a session"})
	equal(t, "spans", r.told())
	equal(t, "metrics", r.counts(t), "fsm.log.lag{machine=m} 120")
}

// An answer that was lost is an error of its own.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	r := record(t)
	_, end := r.Observer()(t.Context(), fsm.Observed{Machine: "m", Operation: "op", Calls: 1})
	end(fsm.Observation{Err: &fsm.AmbiguousError{Machine: "m", ID: "x", Operation: "op", RequestID: "r", Err: errors.New("cut")}})
	got := r.told()
	if len(got) != 1 || !strings.HasPrefix(got[0], "m.op in : error.type=ambiguous ERROR m \"x\"") {
		t.Errorf("got %q", got)
	}
}

// made are the request ids that a worker makes.
var made = regexp.MustCompile(`request.id=[-0-9a-f]+`)

// A worker's work is a span in which its calls stand; how it ended is counted.
func TestWorker(t *testing.T) {
	t.Parallel()
	r := record(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	store := memstore.New()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(ctx, store, fsm.WithObserver(r.Observer()))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"good", "bad", "worse"} {
		if _, err := m.Enqueue(ctx, id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: id, Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	count := r.Worker("lifecycle")
	w, err := lifecycle.NewWorker(m, "w1", lifecycle.WorkerConfig{
		Work: fsmotel.Work(r.Telemetry, "lifecycle", func(ctx context.Context, c lifecycle.ClaimedJob) error {
			running, err := c.Start(ctx)
			if err != nil {
				return err
			}
			switch running.Ref().ID {
			case "bad":
				return errors.New("out of paper")
			case "worse":
				panic("on fire")
			}
			_, err = running.Complete(ctx, lifecycle.CompleteInput{Result: fsm.MustJSON(`{}`)})
			return err
		}),
		Failed: func(ctx context.Context, j lifecycle.AnyJob, cause error) error { return nil },
		Options: worker.Options{
			Lease: time.Hour, Log: slog.New(slog.DiscardHandler),
			Observe: func(e worker.Event) {
				if e.Kind == worker.Idle {
					if seen++; seen > 1 {
						stop()
						return
					}
				}
				count(e)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var work []string
	for _, line := range r.told() {
		if strings.Contains(line, "lifecycle work") {
			work = append(work, made.ReplaceAllString(line, "request.id=*"))
		}
	}
	sort.Strings(work)
	started := func(id string) string {
		return "lifecycle.start in lifecycle work: actor=w1 record.id=" + id + " request.id=*.start [started operation=start record.id=" + id +
			" record.rev=3 state.from=claimed state.to=running]"
	}
	equal(t, "the work's spans", work,
		"lifecycle work in : error.type=error record.id=bad record.rev=2 ERROR out of paper",
		"lifecycle work in : error.type=error record.id=worse record.rev=2 ERROR the work panicked",
		"lifecycle work in : record.id=good record.rev=2",
		"lifecycle.complete in lifecycle work: actor=w1 record.id=good request.id=*.complete [succeeded operation=complete record.id=good record.rev=4 state.from=running state.to=succeeded]",
		started("bad"), started("good"), started("worse"))
	equal(t, "the worker's metrics", slices.DeleteFunc(r.counts(t), func(s string) bool { return !strings.HasPrefix(s, "fsm.worker") }),
		"fsm.worker.duration{machine=lifecycle worker.kind=done} 1",
		"fsm.worker.duration{machine=lifecycle worker.kind=failed} 2",
		"fsm.worker.events{machine=lifecycle worker.kind=claimed} 3",
		"fsm.worker.events{machine=lifecycle worker.kind=done} 1",
		"fsm.worker.events{machine=lifecycle worker.kind=failed} 2",
		"fsm.worker.events{machine=lifecycle worker.kind=idle} 1",
		"fsm.worker.work{machine=lifecycle} 0")
}

// The records that are worked on, and those whose work is stuck, are counted apart, however
// the work ends.
func TestStuckWork(t *testing.T) {
	t.Parallel()
	r := record(t)
	count := r.Worker("m")
	for _, kinds := range [][]worker.Kind{
		{worker.Claimed, worker.Cancelled},
		{worker.Claimed, worker.Lost, worker.Stuck, worker.Returned},
		{worker.Claimed, worker.Stuck, worker.Returned, worker.Released},
		{worker.Claimed, worker.Cancelled, worker.Stuck},
		{worker.Claimed},
	} {
		for _, kind := range kinds {
			e := worker.Event{Kind: kind, ID: "p1"}
			if kind != worker.Claimed {
				e.Took = time.Second
			}
			count(e)
		}
	}
	count(worker.Event{Kind: worker.Lost, ID: "p1"}) // its work did not begin
	equal(t, "the worker's metrics", slices.DeleteFunc(r.counts(t), func(s string) bool { return strings.Contains(s, ".events") }),
		"fsm.worker.duration{machine=m worker.kind=cancelled} 2",
		"fsm.worker.duration{machine=m worker.kind=lost} 1",
		"fsm.worker.duration{machine=m worker.kind=released} 1",
		"fsm.worker.stuck{machine=m} 1",
		"fsm.worker.work{machine=m} 1")
}
