package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/validate"
)

const small = "fsm: 1\nmachine: job\nentity: Job\notherwise: reject\nstates:\n  open: {}\n  shut: {terminal: true}\noperations:\n  make: {creates: open}\n  close: {from: open, to: shut}\n"

// A changed file is told, whether it became wrong, right or went away; ending ends
// the streams as well.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	path := write(t, small)
	s, err := New(Options{Files: []string{path}, Check: validate.Source, Poll: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	allowed, loopback := HostsOf(l, "127.0.0.1")
	if !loopback || allowed.AnyAddress {
		t.Errorf("%s: loopback %v, any address %v", l.Addr(), loopback, allowed.AnyAddress)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, allowed) }()
	stream, err := http.Get("http://" + l.Addr().String() + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	next := func() (c change) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return c
	}
	first := next()
	if err := os.WriteFile(path, []byte(strings.Replace(small, "shut}", "shutt}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	// A reader may meet a file that is being written: what counts is where it ends.
	wrong := next()
	for wrong.Hash == "" || wrong.Hash == first.Hash {
		wrong = next()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	gone := next()
	for gone.Problem == "" {
		gone = next()
	}
	if !strings.HasSuffix(gone.Problem, "spec.yaml is gone. Put it back, or start the command again with the path that the file has now. "+
		"This page shows it as soon as it can be read.") {
		t.Errorf("a file that is gone: %s", gone.Problem)
	}
	answer, err := http.Get("http://" + l.Addr().String() + "/api/machine/0")
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a file that is gone: %s", answer.Status)
	}
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	back := next()
	for back.Hash != first.Hash {
		back = next()
	}
	end()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("an open stream keeps the server from ending")
	}
}

func TestNoSuchFile(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Files: []string{"nowhere.yaml"}, Check: validate.Source}); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// A search from the page finds what `check --model` finds, with its steps.
func TestCounterexample(t *testing.T) {
	t.Parallel()
	h := page(t, Options{Files: []string{"../validate/testdata/FSM801/bad.yaml", "../validate/testdata/FSM801/ok.yaml"}})
	if m := get[fileView](t, h, "/api/machine/0", "").Machine; m == nil || m.Bounds.Records < 1 || m.Bounds.MaxStates != pageStates {
		t.Fatalf("bounds: %+v", m)
	}
	v := get[modelView](t, h, "/api/machine/0/check", "{}")
	if v.What == "" || len(v.Trace) < 2 || v.Place == nil || !strings.Contains(v.GoTest, "func TestModelTrace") {
		t.Fatalf("found: %+v", v)
	}
	if first := v.Trace[0]; first.From != "(new)" || first.Record != 1 || first.Place == nil || len(first.Records) != 1 || first.Records[0] != first.To {
		t.Errorf("the first step: %+v", first)
	}
	for i, s := range v.Trace[1:] {
		if len(s.Records) < len(v.Trace[i].Records) || s.Records[s.Record-1] != s.To {
			t.Errorf("step %d: %+v", i+2, s)
		}
	}
	if ok := get[modelView](t, h, "/api/machine/1/check", `{"records": 2}`); ok.What != "" || len(ok.Trace) > 0 || ok.Bounds.Records != 2 {
		t.Errorf("of the mended one: %+v", ok)
	}
	for _, body := range []string{`{"records": -1}`, `{"records": 9}`, `{"maxStates": 2000001}`, `{"speed": 1}`} {
		if w := ask(t, h, "/api/machine/0/check", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, w.Code)
		}
	}
}

// What is shown of the five machines stands where it says.
func TestViews(t *testing.T) {
	t.Parallel()
	files := []string{"../../specs/execution.yaml", "../../specs/ingest.yaml", "../../specs/jobstate.yaml", "../../specs/lifecycle.yaml", "../../specs/task.yaml"}
	h := page(t, Options{Files: files})
	for i, file := range files {
		v := get[fileView](t, h, "/api/machine/"+string(rune('0'+i)), "")
		if v.Machine == nil {
			t.Fatalf("%s: %+v", file, v.Findings)
		}
		m := v.Machine
		at := func(p place) string {
			line := []rune(v.Lines[p.Line-1])
			return string(line[p.Column-1 : min(p.Column-1+p.Length, len(line))])
		}
		for _, s := range m.States {
			if at(s.Place) != s.Name {
				t.Errorf("%s: state %s is said to be at %q", file, s.Name, at(s.Place))
			}
		}
		for k, o := range m.Operations {
			if at(o.Place) != o.Name {
				t.Errorf("%s: operation %s is said to be at %q", file, o.Name, at(o.Place))
			}
			for _, g := range o.Guards {
				if at(g.Place) != g.Name || g.Meaning == "" {
					t.Errorf("%s: guard %s is said to be at %q", file, g.Name, at(g.Place))
				}
			}
			if len(m.Rows[k]) != len(m.Columns) || len(m.Columns) != len(m.States)+1 {
				t.Errorf("%s: row %d of the matrix has %d cells, %d columns", file, k, len(m.Rows[k]), len(m.Columns))
			}
		}
		svg := ask(t, h, "/api/machine/"+string(rune('0'+i))+"/picture.svg", "").Body.String()
		for _, s := range m.States {
			if !strings.Contains(svg, `data-state="`+s.Name+`"`) {
				t.Errorf("%s: state %s cannot be pointed at", file, s.Name)
			}
		}
		for _, o := range m.Operations {
			// other of jobstate moves nothing: it is on no arrow
			if o.Name != "other" && !strings.Contains(svg, `data-operation="`+o.Name+`"`) {
				t.Errorf("%s: operation %s cannot be pointed at", file, o.Name)
			}
		}
	}
}
