package fsmotel_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmotel"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// exported are the metrics of a program in which everything has happened, by their names in Prometheus, each with its
// labels; and their names here.
func exported(t *testing.T) (metrics map[string][]string, names []string) {
	t.Helper()
	registry := client.NewRegistry()
	exporter, err := prometheus.New(prometheus.WithRegisterer(registry), prometheus.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithReader(reader))
	watch, err := fsmotel.New(fsmotel.WithMeterProvider(meter))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsmotel.Measure(watch, parcels(t, &counted{Store: memstore.New()}), fsmotel.MeasureOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		begin fsm.Observed
		end   fsm.Observation
	}{
		{fsm.Observed{Operation: "op"}, fsm.Observation{Events: []driver.Event{{}}}},
		{fsm.Observed{Operation: "op"}, fsm.Observation{Replayed: 1}},
		{fsm.Observed{Operation: "op", Effect: "x"}, fsm.Observation{Err: errors.New("no")}},
		{fsm.Observed{Audit: true}, fsm.Observation{Findings: map[string]int64{audit.CheckFold: 1}}},
		{fsm.Observed{Clock: true}, fsm.Observation{Skew: time.Second}},
		{fsm.Observed{Log: true}, fsm.Observation{Lag: time.Second}},
	} {
		x.begin.Machine = "parcel"
		_, end := watch.Observer()(t.Context(), x.begin)
		end(x.end)
	}
	happen := watch.Worker("parcel")
	for _, kind := range []worker.Kind{worker.Claimed, worker.Stuck, worker.Returned, worker.Done} {
		happen(worker.Event{Kind: kind, Took: time.Second})
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	metrics = map[string][]string{}
	for _, f := range families {
		of := []string{f.GetName()}
		var labels []string
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName())
			}
			if m.GetHistogram() != nil {
				of, labels = []string{f.GetName() + "_bucket", f.GetName() + "_sum", f.GetName() + "_count"}, append(labels, "le")
			}
		}
		slices.Sort(labels)
		for _, name := range of {
			metrics[name] = slices.Compact(labels)
		}
	}
	r := recorded{reader: reader}
	for _, line := range r.counts(t) {
		name, _, _ := strings.Cut(line, "{")
		names = append(names, name)
	}
	return metrics, slices.Compact(names)
}

var (
	selector = regexp.MustCompile(`\b(fsm_[a-z_]+)(?:\{([^}]*)\})?`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	label    = regexp.MustCompile(`[a-z_]+`)
	matcher  = regexp.MustCompile(`([a-z_]+) ?(?:=~|!~|!=|=) ?"[^"]*"`)
	legend   = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)
)

// held holds a query to what is exported, and the labels that its legend names to those that it keeps.
func held(t *testing.T, metrics map[string][]string, query, said string) {
	t.Helper()
	var keeps []string
	for _, m := range grouping.FindAllStringSubmatch(query, -1) {
		keeps = append(keeps, label.FindAllString(m[1], -1)...)
	}
	found := selector.FindAllStringSubmatch(grouping.ReplaceAllString(query, ""), -1)
	if len(found) == 0 || len(keeps) == 0 {
		t.Errorf("%s: asks for no metric, or keeps no label", query)
	}
	for _, m := range found {
		labels, there := metrics[m[1]]
		if !there {
			t.Errorf("%s: fsmotel exports no %s", query, m[1])
			continue
		}
		asked := slices.Clone(keeps)
		for _, x := range matcher.FindAllStringSubmatch(m[2], -1) {
			asked = append(asked, x[1])
		}
		for _, name := range asked {
			if !slices.Contains(labels, name) {
				t.Errorf("%s: %s has no label %s, only %s", query, m[1], name, labels)
			}
		}
	}
	for _, m := range legend.FindAllStringSubmatch(said, -1) {
		if !slices.Contains(keeps, m[1]) {
			t.Errorf("%q names the label %s, which %s does not keep", said, m[1], query)
		}
	}
}

// The dashboard asks only for what is exported.
func TestDashboard(t *testing.T) {
	t.Parallel()
	metrics, _ := exported(t)
	text, err := os.ReadFile("../../docs/grafana/fsmgen.json")
	if err != nil {
		t.Fatal(err)
	}
	type source struct{ Type, UID string }
	var d struct {
		UID        string
		Templating struct {
			List []struct{ Name, Type, Query, Definition string }
		}
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			Datasource  source
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct {
				Datasource         source
				Expr, LegendFormat string
			}
		}
	}
	raw := regexp.MustCompile(`"query": \{"query": ("[^"]*")[^}]*\}`).ReplaceAll(text, []byte(`"query": $1`))
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	if v := d.Templating.List; len(v) != 2 || v[0].Name != "datasource" || v[0].Type != "datasource" || v[0].Query != "prometheus" ||
		v[1].Name != "machine" || v[1].Definition != v[1].Query || v[1].Definition != "label_values(fsm_store_up, fsm_machine)" {
		t.Errorf("the variables are %v", v)
	}
	asked, ids, place := 0, map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: two panels have the id %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := place[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%s lies on %q or outside", p.Title, other)
				}
				place[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.Datasource != (source{"prometheus", "${datasource}"}) {
			t.Errorf("panel %d (%s) lacks a title, a description, a query or the data source", p.ID, p.Title)
		}
		for _, q := range p.Targets {
			if asked++; q.Datasource != p.Datasource || !strings.Contains(q.Expr, `fsm_machine=~"$machine"`) {
				t.Errorf("%s: a query does not use the variables: %s", p.Title, q.Expr)
			}
			held(t, metrics, q.Expr, q.LegendFormat)
		}
	}
	if asked < 20 {
		t.Errorf("%d queries", asked)
	}
}

// The alarms ask only for what is exported.
func TestAlarms(t *testing.T) {
	t.Parallel()
	metrics, _ := exported(t)
	text, err := os.ReadFile("../../docs/grafana/alarms.yml")
	if err != nil {
		t.Fatal(err)
	}
	alarms := strings.Split(string(text), "\n      - alert: ")[1:]
	for _, a := range alarms {
		_, rest, _ := strings.Cut(a, "\n        expr: ")
		i := strings.IndexAny(rest, "\n")
		query, said := rest[:i], rest[i:]
		if query == ">-" {
			query = ""
			for line := range strings.SplitSeq(said[1:], "\n") {
				if !strings.HasPrefix(line, "          ") {
					break
				}
				query += strings.TrimSpace(line) + " "
			}
		}
		if !strings.Contains(said, "summary: ") || !strings.Contains(said, "severity: ") {
			t.Errorf("%s: it lacks a summary or a severity", a)
		}
		held(t, metrics, query, said)
	}
	if len(alarms) < 12 {
		t.Errorf("%d alarms", len(alarms))
	}
}

// The comment of the package and docs/operate.md name each metric.
func TestMetricsAreNamed(t *testing.T) {
	t.Parallel()
	_, names := exported(t)
	if len(names) < 20 {
		t.Fatalf("%d metrics", len(names))
	}
	for _, file := range []string{"doc.go", "../../docs/operate.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !regexp.MustCompile(regexp.QuoteMeta(name) + "[` ]").Match(text) {
				t.Errorf("%s does not name %s", file, name)
			}
		}
	}
}
