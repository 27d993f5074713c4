package answers

import (
	"net/http"
	"strings"
	"testing"
)

// A search from the page finds what `check --model` finds, with its steps.
func TestCounterexample(t *testing.T) {
	t.Parallel()
	h := page(t, "../../validate/testdata/FSM801/bad.yaml", "../../validate/testdata/FSM801/ok.yaml")
	if m := get[File](t, h, "0/machine", "").Machine; m == nil || m.Bounds.Records < 1 || m.Bounds.MaxStates != PageStates {
		t.Fatalf("bounds: %+v", m)
	}
	v := get[modelView](t, h, "0/check", "{}")
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
	if ok := get[modelView](t, h, "1/check", `{"records": 2}`); ok.What != "" || len(ok.Trace) > 0 || ok.Bounds.Records != 2 {
		t.Errorf("of the text after its fix: %+v", ok)
	}
	for _, body := range []string{`{"records": -1}`, `{"records": 9}`, `{"maxStates": 2000001}`, `{"speed": 1}`} {
		if w := ask(t, h, "0/check", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, w.Code)
		}
	}
}

// What is shown of the five machines stands where it says.
func TestViews(t *testing.T) {
	t.Parallel()
	files := []string{"../../../specs/execution.yaml", "../../../specs/ingest.yaml", "../../../specs/jobstate.yaml", "../../../specs/lifecycle.yaml", "../../../specs/task.yaml"}
	h := page(t, files...)
	for i, file := range files {
		v := get[File](t, h, string(rune('0'+i))+"/machine", "")
		if v.Machine == nil {
			t.Fatalf("%s: %+v", file, v.Findings)
		}
		m := v.Machine
		at := func(p Place) string {
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
		svg := ask(t, h, string(rune('0'+i))+"/picture.svg", "").Body
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
