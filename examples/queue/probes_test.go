package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// The probes stand beside the console.
func TestProbes(t *testing.T) {
	t.Parallel()
	store := memstore.New()
	if err := lifecycle.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	jobs, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out strings.Builder
	wait, err := serve(ctx, "127.0.0.1:0", store, jobs, &out)
	if err != nil {
		t.Fatal(err)
	}
	address := strings.Fields(out.String())[4]
	for path, want := range map[string]string{
		"live": `{"status":"live"}`, "ready": `{"status":"ready","machines":[{"machine":"lifecycle","ready":true}]}`, "": "lifecycle",
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("/%s: %d %s, %v", path, answer.StatusCode, body, err)
		}
	}
	stop()
	if err := wait(); err != nil {
		t.Error(err)
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/")); err == nil {
		t.Error("the address answers after the end")
	}
}
