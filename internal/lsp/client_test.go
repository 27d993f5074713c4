package lsp

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// client is an editor that a test writes the script of.
type client struct {
	t     *testing.T
	conn  *jsonrpc2.Conn
	found chan diagnosticsParams
	ended chan error
	at    map[string]int // version of each file
}

const uri = "file:///jobs/job.yaml"

func newClient(t *testing.T, options any) *client {
	t.Helper()
	mine, theirs := net.Pipe()
	c := &client{t: t, found: make(chan diagnosticsParams, 10_000), ended: make(chan error, 1), at: map[string]int{}}
	go func() { c.ended <- Serve(t.Context(), theirs, Options{Version: "test", Pause: time.Millisecond}) }()
	c.conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(mine, jsonrpc2.VSCodeObjectCodec{}),
		jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
			switch r.Method {
			case "textDocument/publishDiagnostics":
				var p diagnosticsParams
				if err := json.Unmarshal(*r.Params, &p); err != nil {
					t.Error(err)
				}
				select {
				case c.found <- p:
				default: // nobody waits for so many
				}
			case "window/logMessage":
				t.Errorf("the server says %s", *r.Params)
			}
			return nil, nil
		}))
	var told struct {
		Capabilities map[string]any `json:"capabilities"`
	}
	c.ask("initialize", map[string]any{"processId": nil, "initializationOptions": options}, &told)
	if told.Capabilities["hoverProvider"] != true {
		t.Fatalf("the server can do %v", told.Capabilities)
	}
	c.tell("initialized", map[string]any{})
	return c
}

func (c *client) ask(method string, params, result any) {
	c.t.Helper()
	if err := c.conn.Call(c.t.Context(), method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

// fails asks for what cannot be done, and returns why.
func (c *client) fails(method string, params any) string {
	c.t.Helper()
	err := c.conn.Call(c.t.Context(), method, params, nil)
	if err == nil {
		c.t.Fatalf("%s is answered", method)
	}
	return err.Error()
}

func (c *client) tell(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(c.t.Context(), method, params); err != nil {
		c.t.Fatal(err)
	}
}

// open opens a text in which <> stands for the cursor, and returns its place.
func (c *client) open(marked string) map[string]any {
	c.t.Helper()
	text, p := cut(marked)
	c.at[uri]++
	d := map[string]any{"uri": uri, "languageId": "yaml", "version": c.at[uri], "text": text}
	c.tell("textDocument/didOpen", map[string]any{"textDocument": d})
	return p
}

// write replaces the whole text, in which <> stands for the cursor.
func (c *client) write(marked string) map[string]any {
	c.t.Helper()
	text, p := cut(marked)
	c.change(map[string]any{"text": text})
	return p
}

func (c *client) change(changes ...any) {
	c.t.Helper()
	c.at[uri]++
	d := documentID{URI: uri, Version: c.at[uri]}
	c.tell("textDocument/didChange", map[string]any{"textDocument": d, "contentChanges": changes})
}

// cut takes the cursor out of a text.
func cut(marked string) (string, map[string]any) {
	before, after, _ := strings.Cut(marked, "<>")
	lines := strings.Split(before, "\n")
	at := position{len(lines) - 1, units(lines[len(lines)-1])}
	return before + after, map[string]any{"textDocument": documentID{URI: uri}, "position": at}
}

// findings waits for those of the newest version.
func (c *client) findings() []diagnostic {
	c.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case p := <-c.found:
			if p.Version == c.at[uri] {
				return p.Diagnostics
			}
		case <-late:
			c.t.Fatal("no findings are told")
		}
	}
}

// labels are the names of what is proposed at a place.
func (c *client) labels(p map[string]any) []string {
	c.t.Helper()
	var list completionList
	c.ask("textDocument/completion", p, &list)
	return each(list.Items, func(i completionItem) string { return i.Label })
}

func (c *client) hover(p map[string]any) string {
	c.t.Helper()
	var h *hover
	c.ask("textDocument/hover", p, &h)
	if h == nil {
		return ""
	}
	return h.Contents.Value
}

// edited is a text with edits of the server, which do not overlap.
func edited(src string, edits []textEdit) string {
	t := newText(src)
	for len(edits) > 0 {
		last := 0
		for i, e := range edits {
			if before(edits[last].Range.Start, e.Range.Start) {
				last = i
			}
		}
		e := edits[last]
		src = src[:t.offset(e.Range.Start)] + e.NewText + src[t.offset(e.Range.End):]
		edits = append(edits[:last:last], edits[last+1:]...)
	}
	return src
}

// machine is a shipped one.
func machine(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.FromSlash("../../specs/" + name + ".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

const small = `fsm: 1
machine: job
entity: Job
otherwise: reject
allow: {FSM609: callers are trusted}
fields:
  owner: optional string
  level: {type: low|high, default: low}
  due: time
  tries: {type: counter, changed_by: [take]}
states:
  open:
    doc: It waits.
    absent: [owner]
  taken: {present: [owner]}
  done:
    terminal: true
guards:
  mine: {when: owner == actor, error: not_mine, doc: Only its owner goes on.}
  ahead: {when: now < input.due, error: too_late}
operations:
  make: {creates: open, set: {due: input, level: input or default}}
  take:
    from: open
    to: taken
    require: [ahead]
    set: {owner: actor, due: input}
    increment: [tries]
  end:
    from: taken
    to: done
    require: [mine]
    record_only_in: [done]
  lapse: {by: system, from: [open, taken], to: done, trigger: [after due]}
`

// with is the small machine with another text in the place of one.
func with(t *testing.T, old, text string) string {
	t.Helper()
	if strings.Count(small, old) != 1 {
		t.Fatalf("%q stands %d times in the machine", old, strings.Count(small, old))
	}
	return strings.Replace(small, old, text, 1)
}
