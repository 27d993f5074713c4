package fsmotel_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmotel"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// The metrics of a machine at /metrics, for Prometheus.
func ExampleMeasure() {
	ctx := context.Background()
	registry := client.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo())
	if err != nil {
		log.Fatal(err)
	}
	watch, err := fsmotel.New(fsmotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))))
	if err != nil {
		log.Fatal(err)
	}

	now := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	store := memstore.New()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		log.Fatal(err)
	}
	jobs, err := lifecycle.Open(ctx, store, fsm.WithObserver(watch.Observer()), fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		log.Fatal(err)
	}
	stop, err := fsmotel.Measure(watch, jobs, fsmotel.MeasureOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"job-1", "job-2"} {
		if _, err := jobs.Enqueue(ctx, id, lifecycle.EnqueueInput{}, fsm.Call{RequestID: id}); err != nil {
			log.Fatal(err)
		}
		now = now.Add(time.Minute)
	}
	if _, err := jobs.As("w1").ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: now.Add(time.Minute)}, fsm.Call{RequestID: "c"}); err != nil {
		log.Fatal(err)
	}
	now = now.Add(90 * time.Second)

	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, request)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		for _, name := range []string{"fsm_records", "fsm_oldest", "fsm_overdue", "fsm_store", "fsm_transitions"} {
			if strings.HasPrefix(lines.Text(), name) {
				fmt.Println(lines.Text())
			}
		}
	}
	stop()
	// Output:
	// fsm_oldest_age_seconds{fsm_machine="lifecycle",fsm_state="claimed"} 90
	// fsm_oldest_age_seconds{fsm_machine="lifecycle",fsm_state="queued"} 150
	// fsm_oldest_age_seconds{fsm_machine="lifecycle",fsm_state="running"} 0
	// fsm_oldest_age_seconds{fsm_machine="lifecycle",fsm_state="stalled"} 0
	// fsm_overdue{fsm_machine="lifecycle",fsm_operation="stall",fsm_trigger="lease"} 1
	// fsm_overdue_age_seconds{fsm_machine="lifecycle",fsm_operation="stall",fsm_trigger="lease"} 30
	// fsm_records{fsm_machine="lifecycle",fsm_state="claimed"} 1
	// fsm_records{fsm_machine="lifecycle",fsm_state="failed"} 0
	// fsm_records{fsm_machine="lifecycle",fsm_state="queued"} 1
	// fsm_records{fsm_machine="lifecycle",fsm_state="running"} 0
	// fsm_records{fsm_machine="lifecycle",fsm_state="stalled"} 0
	// fsm_records{fsm_machine="lifecycle",fsm_state="succeeded"} 0
	// fsm_store_up{fsm_machine="lifecycle"} 1
	// fsm_transitions_total{fsm_machine="lifecycle",fsm_operation="claim_next",fsm_state_from="queued",fsm_state_to="claimed"} 1
	// fsm_transitions_total{fsm_machine="lifecycle",fsm_operation="enqueue",fsm_state_from="",fsm_state_to="queued"} 2
}
