package fsmotel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/fsmotel"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// counted is a store that counts its views, and may hold them up or fail.
type counted struct {
	*memstore.Store
	views atomic.Int64
	view  atomic.Pointer[func(context.Context) error]
}

func (c *counted) Table(s *driver.Schema) (driver.Table, error) {
	t, err := c.Store.Table(s)
	return &countedTable{t, c}, err
}

type countedTable struct {
	driver.Table
	of *counted
}

func (t *countedTable) View(ctx context.Context, f func(driver.Reader) error) error {
	t.of.views.Add(1)
	if before := t.of.view.Load(); before != nil {
		if err := (*before)(ctx); err != nil {
			return err
		}
	}
	return t.Table.View(ctx, f)
}

// parcels opens a machine with a parcel that is held until a time that is over, and one whose notice nobody takes.
func parcels(t *testing.T, store *counted) *fsm.Machine[storetest.Parcel] {
	t.Helper()
	ctx, now := t.Context(), time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(ctx, store, schema); err != nil {
		t.Fatal(err)
	}
	effect := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": effect, "carry": effect, "notify": effect},
		fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	ann := storetest.Meta{Actor: "ann"}
	for _, id := range []string{"p1", "p2"} {
		if _, err := m.Create(ctx, storetest.Register(ann, storetest.RegisterInput{ID: id, Lane: "a"})); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Apply(ctx, fsm.Ref{ID: id}, storetest.Hold(ann, "a", now.Add(time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []fsmimpl.Call[storetest.Parcel]{storetest.Shelve(ann, "s", "x"), storetest.Send(ann)} {
		if _, err := m.Apply(ctx, fsm.Ref{ID: "p2"}, c); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(30 * time.Second)
	if _, err := m.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	now = now.Add(150 * time.Second)
	return m
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	r, store := record(t), &counted{Store: memstore.New()}
	stop, err := fsmotel.Measure(r.Telemetry, parcels(t, store), fsmotel.MeasureOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"fsm.oldest.age{machine=parcel state=held} 180",
		"fsm.oldest.age{machine=parcel state=shelved} 0",
		"fsm.oldest.age{machine=parcel state=waiting} 0",
		"fsm.outbox.age{effect=carry machine=parcel} 0",
		"fsm.outbox.age{effect=notify machine=parcel} 180",
		"fsm.outbox.due{effect=carry machine=parcel} 0",
		"fsm.outbox.due{effect=notify machine=parcel} 1",
		"fsm.outbox.refused{effect=carry machine=parcel} 0",
		"fsm.outbox.refused{effect=notify machine=parcel} 0",
		"fsm.overdue.age{machine=parcel operation=release trigger=due} 120",
		"fsm.overdue{machine=parcel operation=release trigger=due} 1",
		"fsm.quarantined{machine=parcel} 0",
		"fsm.records{machine=parcel state=held} 1",
		"fsm.records{machine=parcel state=sent} 1",
		"fsm.records{machine=parcel state=shelved} 0",
		"fsm.records{machine=parcel state=waiting} 0",
		"fsm.sound{machine=parcel} 1",
		"fsm.store.up{machine=parcel} 1",
		"fsm.sweep.age{machine=parcel} 150",
	}
	equal(t, "metrics", r.counts(t), want...)
	asked := store.views.Load()
	equal(t, "metrics of the same minute", r.counts(t), want...)
	if n := store.views.Load(); n != asked {
		t.Errorf("the database was asked %d times more within a minute", n-asked)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	equal(t, "metrics after the end", r.counts(t))
}

// A store that does not answer is told, and its last figures are not told as if they were new.
func TestMeasureAway(t *testing.T) {
	t.Parallel()
	r, store := record(t), &counted{Store: memstore.New()}
	if _, err := fsmotel.Measure(r.Telemetry, parcels(t, store), fsmotel.MeasureOptions{Every: 60 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.counts(t)); n != 19 {
		t.Fatalf("%d metrics", n)
	}
	gone := func(context.Context) error { return errors.New("the server is away") }
	store.view.Store(&gone)
	time.Sleep(70 * time.Millisecond)
	equal(t, "metrics without a server", r.counts(t),
		"fsm.quarantined{machine=parcel} 0", "fsm.sound{machine=parcel} 1", "fsm.store.up{machine=parcel} 0", "fsm.sweep.age{machine=parcel} 150")
	store.view.Store(nil)
	time.Sleep(20 * time.Millisecond) // a sixth of 60 ms is enough
	if list := r.counts(t); !slices.Contains(list, "fsm.store.up{machine=parcel} 1") || len(list) != 19 {
		t.Errorf("when the server is there again: %q", list)
	}
}

// Of collections at the same time one asks, and the others do not wait for it.
func TestMeasureInParallel(t *testing.T) {
	t.Parallel()
	r, store := record(t), &counted{Store: memstore.New()}
	if _, err := fsmotel.Measure(r.Telemetry, parcels(t, store), fsmotel.MeasureOptions{Within: time.Minute}); err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan bool, 100), make(chan bool)
	hold := func(context.Context) error { begun <- true; <-release; return nil }
	store.views.Store(0)
	store.view.Store(&hold)
	second := r.other(t)
	var first sync.WaitGroup
	first.Go(func() { r.counts(t) })
	<-begun
	if list := second(); slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "fsm.records") }) {
		t.Errorf("a second collection tells what the first one asks for: %q", list)
	}
	if n := store.views.Load(); n != 1 {
		t.Errorf("%d questions, want that of the first collection", n)
	}
	close(release)
	first.Wait()
	if list := second(); !slices.Contains(list, "fsm.records{machine=parcel state=held} 1") {
		t.Errorf("the second collection does not tell what the first one read: %q", list)
	}
}

// other returns collections by another reader of the same metrics.
func (r *recorded) other(t *testing.T) func() []string {
	return func() []string {
		var all metricdata.ResourceMetrics
		if err := r.second.Collect(t.Context(), &all); err != nil {
			t.Error(err)
		}
		return lines(t, &all)
	}
}
