package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// newInbox returns a receiver over an empty file.
func newInbox(t *testing.T) *inbox {
	t.Helper()
	db, err := sqlite.OpenDB(filepath.Join(t.TempDir(), "inbox.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), inboxTables); err != nil {
		t.Fatal(err)
	}
	return &inbox{db}
}

// booked counts the entries of the ledger.
func (b *inbox) booked(t *testing.T) (n int) {
	t.Helper()
	if err := b.db.QueryRowContext(t.Context(), `SELECT count(*) FROM ledger`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDeadLetter follows a notice to an endpoint that takes it, but whose answers
// never arrive: the tries come at growing distances and under one key, end with the
// hour, and an operator's retry gets the first answer.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newInbox(t)
	var lost atomic.Bool
	lost.Store(true)
	keys := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get(keyHeader)]++
		if !lost.Load() {
			b.ServeHTTP(w, r)
			return
		}
		b.ServeHTTP(httptest.NewRecorder(), r)
		http.Error(w, "the proxy has lost the answer", http.StatusBadGateway)
	}))
	defer server.Close()

	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	now := start
	store := memstore.New()
	if err := notice.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := notice.Open(ctx, store, newPoster(sendConfig{to: server.URL, workers: 1, timeout: 5 * time.Second}),
		fsm.WithClock(func() time.Time { return now }), fsm.WithBackoff(time.Second, 5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Publish(ctx, "", notice.PublishInput{Topic: "order\n1", Body: fsm.MustJSON(`{"x":1}`)}, fsm.Call{RequestID: "p", Actor: "a"})
	if err != nil {
		t.Fatal(err)
	}

	var waits []time.Duration
	for last := start; now.Before(start.Add(time.Hour)); now = now.Add(time.Second) {
		n, err := m.Deliver(ctx)
		var failed *fsm.EffectError
		switch {
		case n != 0:
			t.Fatalf("%s: delivered", now)
		case errors.As(err, &failed):
			waits = append(waits, now.Sub(last))
			last = now
		case err != nil:
			t.Fatal(err)
		}
		if n, err := m.Sweep(ctx); n != 0 || err != nil {
			t.Fatalf("swept %d before the hour was over: %v", n, err)
		}
	}
	s := time.Second
	want := []time.Duration{0, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s}
	if diff := cmp.Diff(want, waits[:min(len(want), len(waits))]); diff != "" {
		t.Errorf("the waits (-want +got):\n%s", diff)
	}
	for _, w := range waits[len(want):] {
		if w != 5*time.Minute {
			t.Errorf("a wait of %s, want 5m at most and no less by then", w)
		}
	}
	tries := len(waits)

	if n, err := m.Sweep(ctx); n != 1 || err != nil {
		t.Fatalf("after an hour: swept %d, %v", n, err)
	}
	for range 3 {
		now = now.Add(time.Hour)
		if n, err := m.Deliver(ctx); n != 0 || err != nil {
			t.Fatalf("a dead letter was sent: %d, %v", n, err)
		}
	}
	letter, err := m.Record(ctx, out.Record.ID)
	if err != nil || letter.State != notice.StateDead {
		t.Fatalf("after an hour: %+v, %v", letter, err)
	}

	// The endpoint answers again, and an operator sends what is dead.
	lost.Store(false)
	if err := (&sender{sendConfig{retry: "they are back", operator: "me"}, m, nil}).again(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := m.Deliver(ctx); n != 1 || err != nil {
		t.Fatalf("after the retry: %d, %v", n, err)
	}
	letter, err = m.Record(ctx, out.Record.ID)
	if err != nil || letter.State != notice.StateDelivered {
		t.Errorf("after the retry: %+v, %v", letter, err)
	}
	if diff := cmp.Diff(map[string]int{"%22order%5Cu000a1%22%2F1": tries + 1}, keys); diff != "" {
		t.Errorf("tries by key (-want +got):\n%s", diff)
	}
	if n := b.booked(t); n != 1 {
		t.Errorf("the endpoint took it %d times", n)
	}
	var steps []string
	for e, err := range m.History(ctx, out.Record.ID) {
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, e.Name+" by "+e.Actor)
	}
	if diff := cmp.Diff([]string{"publish by a", "give_up by system", "retry by me", "confirm by system"}, steps); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// TestPoisonHoldsBackNothing: a notice that is refused waits alone.
func TestPoisonHoldsBackNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newInbox(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get(keyHeader), "%2F2") {
			http.Redirect(w, r, "/elsewhere", http.StatusFound) // not followed
			return
		}
		b.ServeHTTP(w, r)
	}))
	defer server.Close()
	store := memstore.New()
	if err := notice.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := notice.Open(ctx, store, newPoster(sendConfig{to: server.URL, workers: 1, timeout: 5 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 40 {
		if _, err := m.Publish(ctx, "", notice.PublishInput{Topic: "t", Body: fsm.MustJSON("1")}, fsm.Call{RequestID: fmt.Sprint(n), Actor: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	n, err := m.Deliver(ctx)
	if n != 39 || err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("delivered %d, %v; want 39 and the word of the one that was not taken", n, err)
	}
	if got := b.booked(t); got != 39 {
		t.Errorf("the endpoint took %d", got)
	}
}

// TestInbox holds the receiver against what may come.
func TestInbox(t *testing.T) {
	t.Parallel()
	b := newInbox(t)
	ask := func(key, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/notices", strings.NewReader(body))
		if key != "" {
			r.Header.Set(keyHeader, key)
		}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		return strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("Idempotent-Replayed"), " ", w.Body))
	}
	for _, c := range []struct{ key, body, want string }{
		{"k1", `{"topic":"t","number":2,"body":"two"}`, `200  {"place":1}`},
		{"k1", `{"topic":"t","number":2,"body":"two"}`, `200 true {"place":1}`},
		{"k1", `{"topic":"t","number":3,"body":"two"}`, `422  {"error":"this key was used for another notice"}`},
		{"k2", `{"topic":"t","number":1,"body":"late"}`, `200  {"place":2}`},
		{"k1", `{"topic":"t","number":2,"body":"two"}`, `200 true {"place":1}`},
		{"", `{"topic":"t","number":3}`, `400  expected the header Idempotency-Key with 1 to 1000 bytes`},
		{"k3", `{"topic":"t"}`, `400  expected JSON with topic, number (from 1) and body`},
		{"k3", `{`, `400  expected JSON with topic, number (from 1) and body`},
		{"k3", strings.Repeat("x", largest+1), `400  the body cannot be read, or has more than 1 MiB`},
		{"k3", `{"topic":"t","number":3,"body":"three"}`, `200  {"place":3}`}, // a refusal is not remembered
	} {
		if got := ask(c.key, c.body); got != c.want {
			t.Errorf("%s %.40s: got %s, want %s", c.key, c.body, got, c.want)
		}
	}
	var number int
	if err := b.db.QueryRowContext(t.Context(), `SELECT number FROM latest WHERE topic = 't'`).Scan(&number); err != nil || number != 3 {
		t.Errorf("the latest is %d, %v", number, err)
	}
	if n := b.booked(t); n != 3 {
		t.Errorf("booked %d, want 3", n)
	}
	// Of many tries at a time one is the first.
	answers := make(chan string, 20)
	for range cap(answers) {
		go func() { answers <- ask("k4", `{"topic":"u","number":1,"body":1}`) }()
	}
	firsts := 0
	for range cap(answers) {
		switch got := <-answers; got {
		case `200  {"place":4}`:
			firsts++
		case `200 true {"place":4}`:
		default:
			t.Errorf("got %s", got)
		}
	}
	if firsts != 1 || b.booked(t) != 4 {
		t.Errorf("%d first answers, %d booked", firsts, b.booked(t))
	}
}

// TestFlags refuses what makes no sense.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"", "sand", "send -topics 0", "send -workers 0", "send -timeout 0s", "send -backoff 2s -longest 1s", "send more", "receive more", "send -nothing"} {
		if err := run(context.Background(), strings.Fields(args), t.Output()); err == nil {
			t.Errorf("webhook %s: no error", args)
		}
	}
}
