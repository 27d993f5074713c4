package health_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/health"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// away is a store that may be away.
type away struct {
	*memstore.Store
	look   atomic.Pointer[func(context.Context) error]
	asked  atomic.Int64
	failed atomic.Pointer[error]
}

func (a *away) Failed() error {
	if err := a.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (a *away) Table(s *driver.Schema) (driver.Table, error) {
	t, err := a.Store.Table(s)
	return &awayTable{t, a}, err
}

type awayTable struct {
	driver.Table
	of *away
}

func (t *awayTable) Look(ctx context.Context, f func(driver.Reader) error) error {
	t.of.asked.Add(1)
	if look := t.of.look.Load(); look != nil {
		if err := (*look)(ctx); err != nil {
			return err
		}
	}
	return t.Table.Look(ctx, f)
}

var start = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)

// depot opens a machine over a store; the time it has is at now.
func depot(t *testing.T, store fsm.Store, now *time.Time) *fsm.Machine[storetest.Parcel] {
	t.Helper()
	if err := fsmimpl.Migrate(t.Context(), store, storetest.Schema()); err != nil {
		t.Fatal(err)
	}
	effect := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(t.Context(), store, storetest.Descriptor(storetest.Schema()),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": effect, "carry": effect, "notify": effect},
		fsm.WithClock(func() time.Time { return *now }))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func probe(t *testing.T, h http.Handler, method string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil))
	if w.Code < 400 || w.Code == http.StatusServiceUnavailable {
		if kind := w.Header().Get("Content-Type"); kind != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("the head is %v", w.Header())
		}
		if method == http.MethodGet && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s is no JSON", w.Body)
		}
	}
	return w.Code, strings.TrimSpace(w.Body.String())
}

func want(t *testing.T, h http.Handler, status int, body string) {
	t.Helper()
	if got, text := probe(t, h, http.MethodGet); got != status || text != body {
		t.Errorf("got %d %s, want %d %s", got, text, status, body)
	}
}

const (
	fine     = `{"status":"ready","machines":[{"machine":"parcel","ready":true}]}`
	unwell   = `{"status":"not ready","machines":[{"machine":"parcel","ready":false,"reasons":["`
	unwellTo = `"]}]}`
)

// An answer holds for a second, so each state is asked by a Health of its own. That of the store must not be told.
func TestReady(t *testing.T) {
	t.Parallel()
	now, store := start, &away{Store: memstore.New()}
	m := depot(t, store, &now)
	secret := errors.New("dial postgres://ann:secret@db")
	l := slog.New(slog.DiscardHandler)
	fresh := func(o health.Options) http.Handler { o.Log = l; return health.New(o, health.Of(m)).Ready() }
	want(t, fresh(health.Options{}), http.StatusOK, fine)

	gone := func(context.Context) error { return secret }
	store.look.Store(&gone)
	want(t, fresh(health.Options{}), http.StatusServiceUnavailable, unwell+"the store cannot be read"+unwellTo)
	slow := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	store.look.Store(&slow)
	want(t, fresh(health.Options{Within: 20 * time.Millisecond}), http.StatusServiceUnavailable,
		unwell+"the store does not answer within 20ms"+unwellTo)
	store.look.Store(nil)
	store.failed.Store(&secret)
	want(t, fresh(health.Options{}), http.StatusServiceUnavailable, unwell+"the store takes no more writes"+unwellTo)
	store.failed.Store(nil)

	if _, err := m.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, fresh(health.Options{Swept: time.Minute}), http.StatusOK, fine)
	now = now.Add(3 * time.Minute)
	want(t, fresh(health.Options{}), http.StatusOK, fine)
	want(t, fresh(health.Options{Swept: time.Minute}), http.StatusServiceUnavailable,
		unwell+"no sweep has come to its end for 3m0s"+unwellTo)
}

// A program in which no sweep has ended yet has as long for the first as for each.
func TestReadyBeforeTheFirstSweep(t *testing.T) {
	t.Parallel()
	now := start
	h := health.New(health.Options{Swept: 5 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}, health.Of(depot(t, memstore.New(), &now)))
	time.Sleep(10 * time.Millisecond)
	want(t, h.Ready(), http.StatusServiceUnavailable, unwell+"no sweep has come to its end for 0s"+unwellTo)
}

// A record in quarantine is told, and makes the program unready where that is asked for.
func TestReadyWithFindings(t *testing.T) {
	t.Parallel()
	now, store := start, memstore.New()
	m := depot(t, store, &now)
	at := storetest.Register(storetest.Meta{Actor: "ann"}, storetest.RegisterInput{ID: "p1", Lane: "a"})
	if _, err := m.Create(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	e := m.Engine()
	if err := e.Table.Update(t.Context(), func(tx driver.Tx) error {
		row, err := tx.Row("p1")
		if err != nil {
			return err
		}
		row.State = "shelved" // which has a slot
		return tx.Restore(&row, &driver.Event{
			ID: "p1", Rev: row.Rev, Operation: "x", Name: "x", From: row.State, To: row.State, At: now, Version: 1,
		})
	}); err != nil {
		t.Fatal(err)
	}
	m = depot(t, store, &now) // its check at open finds it
	note := `"records in quarantine: 1; run fsmctl audit"`
	want(t, health.New(health.Options{}, health.Of(m)).Ready(), http.StatusOK,
		`{"status":"ready","machines":[{"machine":"parcel","ready":true,"notes":[`+note+`]}]}`)
	want(t, health.New(health.Options{Sound: true, Log: slog.New(slog.DiscardHandler)}, health.Of(m)).Ready(), http.StatusServiceUnavailable,
		`{"status":"not ready","machines":[{"machine":"parcel","ready":false,"reasons":[`+note+`]}]}`)
}

// Probes at the same time ask once, an answer holds for a second, and its change is logged with the error.
func TestReadyAsksOnce(t *testing.T) {
	t.Parallel()
	now, store := start, &away{Store: memstore.New()}
	m := depot(t, store, &now)
	var log bytes.Buffer
	h := health.New(health.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, health.Of(m))
	gone := func(context.Context) error { return errors.New("no route to db") }
	store.look.Store(&gone)
	store.asked.Store(0)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if code, _ := probe(t, h.Ready(), http.MethodGet); code != http.StatusServiceUnavailable {
				t.Errorf("got %d", code)
			}
		})
	}
	all.Wait()
	if n := store.asked.Load(); n != 1 {
		t.Errorf("20 probes asked %d times", n)
	}
	store.look.Store(nil)
	time.Sleep(1100 * time.Millisecond)
	want(t, h.Ready(), http.StatusOK, fine)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `level=WARN msg="not ready" machine=parcel`) ||
		!strings.Contains(lines[0], `error="no route to db"`) || !strings.Contains(lines[1], `level=INFO msg="ready again" machine=parcel`) {
		t.Errorf("the log has %q", lines)
	}
}

// The process lives whatever its store does, and probes read only.
func TestLive(t *testing.T) {
	t.Parallel()
	now, store := start, &away{Store: memstore.New()}
	h := health.New(health.Options{}, health.Of(depot(t, store, &now)))
	gone := func(context.Context) error { return errors.New("away") }
	store.look.Store(&gone)
	want(t, h.Live(), http.StatusOK, `{"status":"live"}`)
	if code, body := probe(t, h.Live(), http.MethodHead); code != http.StatusOK || body != "" {
		t.Errorf("HEAD: %d %s", code, body)
	}
	for _, x := range []http.Handler{h.Live(), h.Ready()} {
		if code, _ := probe(t, x, http.MethodPost); code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", code)
		}
	}
}
