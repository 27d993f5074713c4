package answers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// wander makes a session of n steps that tries whatever a page could send: any
// operation, records that are there and others, requests again, old revisions, an
// hour going by, effects that are performed late.
func wander(t *testing.T, m *spec.Machine, seed uint64, n int) []stepRequest {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	at := epoch
	var w interp.World
	var steps []stepRequest
	for i := range n {
		at = at.Add(time.Duration(r.IntN(3)) * []time.Duration{time.Second, 20 * time.Minute}[r.IntN(2)])
		s := stepRequest{At: stamp(at), Inputs: map[string]json.RawMessage{}}
		if len(w.Outbox) > 0 && r.IntN(3) == 0 {
			d := w.Outbox[r.IntN(len(w.Outbox))]
			s.Deliver, s.Operation, s.Record, s.Rev = true, d.Op.Name, d.ID, d.Rev
		} else {
			op := m.Operations[r.IntN(len(m.Operations))]
			if i == 0 { // nothing is there to be picked yet
				op = m.Operations[max(0, slices.IndexFunc(m.Operations, func(o *spec.Operation) bool { return o.Next != nil }))]
			}
			if interp.Internal(m, op) {
				continue
			}
			s.Operation = op.Name
			if op.Next == nil || r.IntN(2) == 0 {
				s.Record = one("r1", "r1", "r2", "r3")
			}
			if i == 0 && op.Next != nil {
				s.Record = ""
			}
			if op.By != spec.BySystem {
				s.Actor = one("w1", "w1", "w2", "")
				if m.RequestID != spec.None {
					s.Request = one(fmt.Sprint("q", i), fmt.Sprint("q", i), fmt.Sprint("q", i), fmt.Sprint("q", r.IntN(i+1)), "")
				}
			}
			if op.By == spec.ByOperator {
				s.Reason = one("by hand", "by hand", "")
			}
			if rec, ok := w.Records[s.Record]; ok && len(op.Creates) == 0 && m.ExpectedRev != spec.None {
				s.Rev = max(0, rec.Rev-int64(r.IntN(5)/4))
			}
			for _, in := range op.Inputs {
				if in.Type.Optional && r.IntN(2) == 0 {
					continue
				}
				var v any
				switch in.Type.Kind {
				case spec.KindSet:
					v = []string{"a", one("b", `c "<é>`)}
				case spec.KindTime:
					v = stamp(at.Add(time.Hour))
				case spec.KindBool:
					v = r.IntN(2) == 0
				case spec.KindEnum:
					v = in.Type.Values[r.IntN(len(in.Type.Values))].Name
				case spec.KindJSON:
					v = `{"n":[1,"é"]}`
				case spec.KindInt, spec.KindCounter, spec.KindSequence:
					v = one("1", "2", "-7")
				default:
					v = one("a", "b", `c "<é>`)
				}
				raw, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				s.Inputs[in.Name] = raw
			}
		}
		if len(steps) > 0 && r.IntN(10) == 0 && steps[len(steps)-1].Request != "" { // it is sent once more
			s = steps[len(steps)-1]
			s.At = stamp(at)
		}
		shown, next, err := playStep(m, w, s)
		if err != nil {
			t.Fatalf("step %d, %+v: %v", i+1, s, err)
		}
		if shown.Refusal != nil && i > 0 && (s.Deliver || shown.Refusal.Code != interp.CodeGuard && r.IntN(3) > 0) {
			continue // not too many refusals
		}
		if steps = append(steps, s); s.Deliver { // as the test of it does
			for len(w.Outbox) > 0 {
				var no *interp.Refusal
				if _, w, no = interp.Deliver(m, w, w.Outbox[0], at); no != nil {
					t.Fatalf("step %d: %v", i+1, no)
				}
			}
			continue
		}
		w = next
	}
	return steps
}

// Sessions become tests that the generated package passes, whatever they hold, and
// fails when the package does something else than was seen.
func TestSessionAsGoTest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles tests of generated packages; run without -short")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, overlay := t.TempDir(), map[string]string{}
	var packages []string
	const sessions = 8
	missing := map[string]bool{"left out": true}
	for _, word := range []string{"accepted", "replayed", "existing", "delivered", "stale", "guard", "wrong_state", "terminal", "nothing_to_do", "request_reused", "request_missing", "reason_missing"} {
		missing[`Leads: "`+word+`"`] = true
	}
	for _, c := range []struct{ spec, folder string }{
		{"specs/lifecycle.yaml", "examples/queue/lifecycle"},
		{"examples/webhook/notice.yaml", "examples/webhook/notice"},
	} {
		path := filepath.Join(root, filepath.FromSlash(c.spec))
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, found := validate.Source(c.spec, src)
		if m == nil || found.HasErrors() {
			t.Fatal(found)
		}
		h := page(t, path)
		put := func(name, text string) {
			file := filepath.Join(dir, m.Name+name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay[filepath.Join(root, filepath.FromSlash(c.folder), "told_"+name)] = file
		}
		for seed := range uint64(sessions) {
			body, err := json.Marshal(playRequest{Steps: wander(t, m, seed, 100)})
			if err != nil {
				t.Fatal(err)
			}
			v := get[goTestView](t, h, "0/gotest", string(body))
			text := strings.Replace(v.GoTest, "func TestSession(", fmt.Sprintf("func TestSession%d(", seed), 1)
			put(fmt.Sprintf("%d_test.go", seed), text)
			for word := range missing {
				if strings.Contains(text, word) {
					delete(missing, word)
				}
			}
			if seed == 0 { // the control: one step leads elsewhere
				wrong := strings.Replace(text, `Leads: "accepted"`, `Leads: "replayed"`, 1)
				put("wrong_test.go", strings.Replace(wrong, "func TestSession0(", "func TestWrong(", 1))
			}
		}
		packages = append(packages, "./"+c.folder)
	}
	if len(missing) > 0 {
		t.Errorf("no session holds %v", missing)
	}
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"test", "-v", "-vet=off", "-ldflags=-s -w", "-count=1", "-overlay", file, "-run", "^Test(Session[0-9]|Wrong)$"}, packages...)...) //nolint:gosec // a fixed command
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	text := string(out)
	if passed, failed := strings.Count(text, "--- PASS: TestSession"), strings.Count(text, "--- FAIL: TestWrong"); err == nil || passed != sessions*len(packages) || failed != len(packages) || strings.Count(text, "--- FAIL") != failed {
		t.Errorf("%d sessions passed, %d wrong ones failed; want %d and %d: %v\n%s", passed, failed, sessions*len(packages), len(packages), err, text)
	}
	if n := strings.Count(text, "accepted, want replayed"); n != len(packages) {
		t.Errorf("%d of the wrong ones say why:\n%s", n, text)
	}
}

// What cannot be told is said.
func TestGoTestOfASession(t *testing.T) {
	t.Parallel()
	h := page(t, "../../../specs/lifecycle.yaml", "../../../examples/webhook/notice.yaml")
	v := get[goTestView](t, h, "0/gotest", session("", enqueue, claim, step("start", "r1", 2, "00:02", `"request": "d", "actor": "w2"`), step("start", "", 2, "00:03", `"request": "c"`)))
	for _, want := range []string{
		"package lifecycle\n", `Leads: "accepted", Is: map[string]string{"r1": "claimed@2"}}`, `Inputs: map[string]any{"lease": at("2026-01-01T09:01:01Z")}`,
		`Rev: 2, Leads: "guard", Guard: "owner_only", Is: map[string]string{"r1": "claimed@2"}}`, `Leads: "actor_missing"}`,
	} {
		if !strings.Contains(v.GoTest, want) {
			t.Errorf("there is no %s in\n%s", want, v.GoTest)
		}
	}
	if v.Steps != 4 || v.Left != 0 {
		t.Errorf("%d steps, %d left out", v.Steps, v.Left)
	}
	for body, want := range map[string]string{
		session(""): "the session has no step that can be told in Go; take one first",
		session("", step("enqueue", "", 0, "00:00", `"request": "a"`)): "no step that can be told in Go",
		session("", enqueue, step("fly", "r1", 1, "00:01", "")):        `step 2: the machine has no operation \"fly\"`,
		`{"steps": [{"operation": "enqueue", "at": "noon"}]}`:          `step 1: \"noon\" is not a time`,
	} {
		if w := ask(t, h, "0/gotest", body); w.Code != http.StatusConflict || !strings.Contains(w.Body, want) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
		}
	}
}
