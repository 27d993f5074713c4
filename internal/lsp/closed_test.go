package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// TestClosedFilesKeepNothing: whenever a file is closed, no finding of it comes after those that are taken back.
func TestClosedFilesKeepNothing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../validate/testdata/FSM001/bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := net.Pipe()
	go func() { _ = Serve(t.Context(), theirs, Options{Pause: 300 * time.Microsecond}) }()
	var mu sync.Mutex
	last, told := map[string]int{}, 0
	heard := func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		var p diagnosticsParams
		if r.Method == "textDocument/publishDiagnostics" && json.Unmarshal(*r.Params, &p) == nil {
			mu.Lock()
			defer mu.Unlock()
			last[p.URI], told = len(p.Diagnostics), told+len(p.Diagnostics)
		}
		return nil, nil
	}
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(mine, jsonrpc2.VSCodeObjectCodec{}), jsonrpc2.HandlerWithError(heard))
	if err := conn.Call(t.Context(), "initialize", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	for n := range 400 {
		file := map[string]any{"uri": fmt.Sprint("file:///", n, ".yaml"), "version": 1, "text": string(text)}
		for _, call := range []string{"textDocument/didOpen", "textDocument/didClose"} {
			if err := conn.Notify(t.Context(), call, map[string]any{"textDocument": file}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(n) * 5 * time.Microsecond)
		}
	}
	time.Sleep(50 * time.Millisecond)
	_ = conn.Call(t.Context(), "nothing", nil, nil) // answered behind all that was told before
	mu.Lock()
	defer mu.Unlock()
	if told == 0 {
		t.Error("no findings were told at all")
	}
	for file, n := range last {
		if n > 0 {
			t.Errorf("%s is closed and keeps %d findings", file, n)
		}
	}
}
