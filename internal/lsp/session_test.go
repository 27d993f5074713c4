package lsp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Findings follow the text, with their codes, documents and hints; edits of a version are made in their order.
func TestFindingsWhileTyping(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	src := machine(t, "execution")
	c.open(src)
	if found := c.findings(); len(found) != 0 {
		t.Fatalf("a sound machine: %v", found)
	}
	line := slices.Index(strings.Split(src, "\n"), "    from: leased                                   # 000:115")
	if line < 0 {
		t.Fatal("the line is gone")
	}
	// leased becomes leasd, by two edits of one character
	c.change(map[string]any{"range": span{position{line, 14}, position{line, 16}}, "text": "d"},
		map[string]any{"range": span{position{line, 10}, position{line, 11}}, "text": "l"})
	found := c.findings()
	if len(found) == 0 {
		t.Fatal("no finding for a name that is not declared")
	}
	f := found[0]
	if f.Code != "FSM010" || f.Severity != 1 || f.Range != (span{position{line, 10}, position{line, 15}}) ||
		f.About == nil || !strings.HasSuffix(f.About.Href, "RULES.md#fsm010") ||
		f.Message != "state \"leasd\" is not declared\nhint: did you mean \"leased\"?" {
		t.Errorf("%+v", f)
	}
	c.write(strings.Replace(src, "    absent:  [finished_at]                         # 000:64\n  committed", "  committed", 1))
	if found = c.findings(); !slices.ContainsFunc(found, func(f diagnostic) bool { return f.Code > "FSM100" }) {
		t.Errorf("no finding of the rules: %v", found)
	}
	c.write(src)
	if found = c.findings(); len(found) != 0 {
		t.Errorf("it is sound again: %v", found)
	}
}

// Columns are UTF-16 units: a character outside of the first plane is two of them.
func TestColumnsAreUTF16(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	c.open(with(t, "doc: Only its owner goes on.", `doc: "𝄞 ä", messag: x`))
	found := c.findings()
	col := units(`  mine: {when: owner == actor, error: not_mine, doc: "𝄞 ä", `)
	if len(found) != 1 || found[0].Range.Start.Character != col || found[0].Range.End.Character != col+len("messag") {
		t.Errorf("columns %d..%d are expected: %+v", col, col+6, found)
	}
	line := found[0].Range.Start.Line
	c.change(map[string]any{"range": span{position{line, col + 6}, position{line, col + 6}}, "text": "e"})
	if found = c.findings(); len(found) != 0 {
		t.Errorf("an edit behind such characters: %v", found)
	}
}

// A file of somebody else is left alone; one that was a specification stays one.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	p := c.open("services:\n  web: {image: nginx, ports: [80], restart: always, environment: {A: b}}\n  <>\n")
	if found := c.findings(); len(found) != 0 || len(c.labels(p)) != 0 || c.hover(p) != "" {
		t.Error("a file without `fsm` is read")
	}
	c.write(small)
	c.findings()
	c.write(strings.Replace(small, "fsm: 1\nmachine: job\nentity: Job\n", "", 1))
	if found := c.findings(); len(found) == 0 {
		t.Error("a specification that lost its head has no finding")
	}
	c.tell("textDocument/didClose", map[string]any{"textDocument": documentID{URI: uri}})
	if why := c.fails("textDocument/hover", p); !strings.Contains(why, "not open") {
		t.Error(why)
	}
}

// A session ends with shutdown and exit; a panic or a message that means nothing ends none.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	p := c.open(small)
	if why := c.fails("textDocument/nothing", p); !strings.Contains(why, "not known") {
		t.Error(why)
	}
	c.fails("textDocument/hover", map[string]any{"textDocument": 7})
	s := &server{}
	if _, err := s.safely("test", func() (any, error) { panic("oh") }); err == nil || !strings.Contains(err.Error(), "a bug in fsmgen") {
		t.Errorf("a panic: %v", err)
	}
	for _, at := range []position{{-1, -1}, {1 << 30, 1 << 30}, {3, 1 << 30}} {
		p["position"] = at
		c.labels(p)
		c.hover(p)
	}
	c.ask("shutdown", nil, nil)
	if why := c.fails("textDocument/hover", p); !strings.Contains(why, "shut down") {
		t.Error(why)
	}
	c.tell("exit", nil)
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
	again := newClient(t, nil)
	_ = again.conn.Close()
	if err := <-again.ended; err == nil {
		t.Error("an editor that went away is no error")
	}
}

// Any text, cut anywhere, gets answers to all questions, and none that ends the session.
func TestAnyText(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil)
	c.open(small)
	for n := 0; n < len(small); n += 7 {
		for _, tail := range []string{"", ": ", "[", "{a: ", "'", "\t", "- - {"} {
			p := c.write(small[:n] + tail + "<>" + small[min(len(small), n+3*len(tail)):])
			for method := range requests {
				params := map[string]any{"newName": "x", "range": span{}, "context": map[string]any{}}
				for k, v := range p {
					params[k] = v
				}
				var result json.RawMessage
				if err := c.conn.Call(t.Context(), method, params, &result); err != nil && strings.Contains(err.Error(), "bug") {
					t.Fatalf("%s after %q: %v", method, small[:n]+tail, err)
				}
			}
		}
	}
}
