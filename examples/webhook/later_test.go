package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		code int
		text string
		want time.Duration // 0: nothing was asked
	}{
		{429, "120", 2 * time.Minute},
		{503, "120", 2 * time.Minute},
		{429, "Tue, 01 Jan 2030 12:03:00 GMT", 3 * time.Minute},
		{429, "Tuesday, 01-Jan-30 12:03:00 GMT", 3 * time.Minute},
		{503, "86400", longestAsked},
		{503, "18446744073709551615", longestAsked},
		{503, "Wed, 02 Jan 2030 12:00:00 GMT", longestAsked},
		{429, "0", 0},
		{429, "-5", 0},
		{429, "soon", 0},
		{429, "", 0},
		{429, "Tue, 01 Jan 2030 11:00:00 GMT", 0},
		{500, "120", 0},
		{400, "120", 0},
	} {
		resp := &http.Response{StatusCode: c.code, Header: http.Header{"Retry-After": {c.text}}}
		until, told := retryAfter(resp, now)
		if told != (c.want > 0) || told && !until.Equal(now.Add(c.want)) {
			t.Errorf("%d with Retry-After %q: %v, %t; want %s from now", c.code, c.text, until, told, c.want)
		}
	}
}

// A receiver that asks for two minutes is left alone for two minutes, although the
// next try would be due after a second, and then gets the notice.
func TestReceiverIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries++; tries == 1 {
			w.Header().Set("Retry-After", "120")
			http.Error(w, "too much", http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	now := start
	clock := func() time.Time { return now }
	store := memstore.New()
	if err := notice.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	p := newPoster(sendConfig{to: server.URL, workers: 1, timeout: 5 * time.Second})
	p.now = clock
	m, err := notice.Open(ctx, store, p, fsm.WithClock(clock), fsm.WithBackoff(time.Second, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Publish(ctx, "", notice.PublishInput{Topic: "order", Body: fsm.MustJSON(`{}`)}, fsm.Call{RequestID: "p", Actor: "a"}); err != nil {
		t.Fatal(err)
	}
	var later *fsm.LaterError
	if n, err := m.Deliver(ctx); n != 0 || !errors.As(err, &later) || !later.Until.Equal(start.Add(2*time.Minute)) {
		t.Fatalf("delivered %d, %v; want to be put off by two minutes", n, err)
	}
	for now.Before(start.Add(2*time.Minute - time.Second)) {
		now = now.Add(time.Second)
		if n, err := m.Deliver(ctx); n != 0 || err != nil || tries != 1 {
			t.Fatalf("after %s: delivered %d at try %d, %v", now.Sub(start), n, tries, err)
		}
	}
	now = now.Add(time.Second)
	if n, err := m.Deliver(ctx); n != 1 || err != nil || tries != 2 {
		t.Errorf("after two minutes: delivered %d at try %d, %v", n, tries, err)
	}
}
