package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsmgen/fsmgen/examples/orders/order"
)

// tell serves an order on a temporary file, and prints what its customer and the shop send and hear.
func tell(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, orders, err := open(ctx, filepath.Join(dir, "orders.db"), &mailbox{out: out})
	if err != nil {
		return err
	}
	defer store.Close()
	handler, path := (&service{orders, slog.Default()}).handler(), "/orders"
	for _, step := range []struct{ user, key, verb, body string }{
		{"ann", "a1", "", `{"customer":"ann@example.org","total":4500}`},
		{"ann", "a2", "/pay", `{"tip":500}`},
		{"ben", "b1", "/refunds", `{"amount":2000,"reason":"a cup was broken"}`},
		{"ben", "b1", "/refunds", `{"amount":2000,"reason":"a cup was broken"}`}, // he has heard no answer
		{"ben", "b1", "/refunds", `{"amount":2500,"reason":"a cup was broken"}`},
		{"ben", "b2", "/refunds", `{"amount":3001,"reason":"all came back"}`},
		{"ben", "b3", "/refunds", `{"amount":3000,"reason":"all came back"}`},
		{"ann", "a3", "/cancel", ``},
	} {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path+step.verb, strings.NewReader(step.body))
		r.Header.Set(userHeader, step.user)
		r.Header.Set(keyHeader, step.key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Fprintf(out, "%s, key %s: POST %s %s\n", step.user, step.key, path+step.verb, step.body)
		fmt.Fprintf(out, "    %d %s %s", w.Code, strings.Repeat("replayed", len(w.Header()[replayHeader])), w.Body)
		if _, err := orders.Deliver(ctx); err != nil { // worker.Run does so, where the service serves
			return err
		}
		if step.verb == "" {
			var o order.Order
			if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
				return err
			}
			path += "/" + o.ID
		}
	}
	return nil
}
