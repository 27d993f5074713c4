package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// pipes is the stream to a command that was started.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// The command as an editor starts it: a session from initialize to exit, by its standard streams.
func TestLSP(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(filepath.FromSlash("../../specs/task.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("fsmgen", "lsp", "--stdio")
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err = errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(pipes{out, in}, jsonrpc2.VSCodeObjectCodec{}),
		jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
			told <- r.Method + " " + string(*r.Params)
			return nil, nil
		}), jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	ask := func(method string, params any) string {
		t.Helper()
		var result json.RawMessage
		if err := conn.Call(t.Context(), method, params, &result); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return string(result)
	}
	tell := func(method string, params any) {
		t.Helper()
		if err := conn.Notify(t.Context(), method, params); err != nil {
			t.Fatal(err)
		}
	}
	able := ask("initialize", map[string]any{})
	if !strings.Contains(able, `"hoverProvider":true`) || !strings.Contains(able, `"name":"fsmgen"`) {
		t.Error(able)
	}
	tell("initialized", map[string]any{})
	text := strings.Replace(string(src), "fsm: 1", "fsm: 2", 1)
	tell("textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{"uri": "file:///task.yaml", "languageId": "yaml", "version": 7, "text": text},
	})
	got := <-told
	if !strings.HasPrefix(got, "textDocument/publishDiagnostics") || !strings.Contains(got, `"version":7`) || !strings.Contains(got, "FSM015") {
		t.Error(got)
	}
	head, _, _ := strings.Cut(text, "machine:")
	line := strings.Count(head, "\n")
	if got := ask("textDocument/hover", map[string]any{
		"textDocument": map[string]string{"uri": "file:///task.yaml"}, "position": map[string]int{"line": line, "character": 2},
	}); !strings.Contains(got, "Name of the Go package") {
		t.Error(got)
	}
	ask("shutdown", nil)
	tell("exit", nil)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
