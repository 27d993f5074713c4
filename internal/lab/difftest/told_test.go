package difftest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted are faults of the generated code of lifecycle, each behind a switch, with the lines
// of the specification that a failing test has to name.
var planted = []struct {
	fault, file, method, from, to string
	names                         []string
}{
	{"guard", "lifecycle_fsm.go", "(j *Job) Heartbeat(", "if j.Owner != fsm.Some(actor) {", "if (j.Owner != fsm.Some(actor)) != planted(`guard`) {", []string{"heartbeat", "owner_only"}},
	{"clear", "lifecycle_fsm.go", "(j *Job) Fail(", "next.Owner = fsm.Optional[string]{}", "if !planted(`clear`) {\nnext.Owner = fsm.Optional[string]{}\n}", []string{"fail"}},
	{"target", "lifecycle_fsm.go", "(j *Job) Stall(", "&next, StateStalled, now)", "&next, map[bool]State{false: StateStalled, true: StateQueued}[planted(`target`)], now)", []string{"stall"}},
	{"check", "lifecycle_fsm.go", "func (j *Job) rules(", "j.Attempt >= 1", "(j.Attempt >= 1 || planted(`check`))", []string{"claimed"}},
	{"store", "lifecycle_store.go", "func heartbeatCall(", "j.Heartbeat(in, c.Actor, now)", "j.Heartbeat(HeartbeatInput{Lease: in.Lease.Add(map[bool]time.Duration{true: time.Hour}[planted(`store`)])}, c.Actor, now)", []string{"heartbeat"}},
}

// TestOneFaultIsToldBriefly holds that a user reads at most 20 lines of one fault, and the
// lines of the specification that speak of it.
func TestOneFaultIsToldBriefly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles a package")
	}
	program := withFaults(t)
	spec, err := os.ReadFile("../../../specs/lifecycle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range planted {
		t.Run(p.fault, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestLifecycle$", "-test.skip", "/postgres")
			cmd.Dir = folder("lifecycle")
			cmd.Env = append(os.Environ(), "FSMGEN_PLANTED="+p.fault)
			out, err := cmd.CombinedOutput()
			told := string(out)
			if n := strings.Count(told, "\n"); err == nil || n > 20 {
				t.Errorf("%v, %d lines; want it told in at most 20:\n%s", err, n, told)
			}
			for _, name := range p.names {
				before, _, _ := strings.Cut(string(spec), "\n  "+name+":")
				if at := fmt.Sprintf("specs/lifecycle.yaml:%d (%s)", strings.Count(before, "\n")+2, name); !strings.Contains(told, at) {
					t.Errorf("it does not name %s:\n%s", at, told)
				}
			}
		})
	}
}

// withFaults compiles the tests of lifecycle with all faults.
func withFaults(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	put := func(name, text string) {
		path, err := filepath.Abs(filepath.Join(folder("lifecycle"), name))
		if err != nil {
			t.Fatal(err)
		}
		replaced[path] = filepath.Join(dir, name)
		write(t, replaced[path], []byte(text))
	}
	put("planted.go", "package lifecycle\n\nimport \"os\"\n\nfunc planted(fault string) bool { return os.Getenv(\"FSMGEN_PLANTED\") == fault }\n")
	for _, file := range []string{"lifecycle_fsm.go", "lifecycle_store.go"} {
		src, err := os.ReadFile(filepath.Join(folder("lifecycle"), file))
		if err != nil {
			t.Fatal(err)
		}
		text := string(src)
		for _, p := range planted {
			if p.file != file {
				continue
			}
			before, rest, ok := strings.Cut(text, p.method)
			if !ok || !strings.Contains(rest, p.from) {
				t.Fatalf("%s has no %s with %s", file, p.method, p.from)
			}
			text = before + p.method + strings.Replace(rest, p.from, p.to, 1)
		}
		put(file, text)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), overlay)
	program := filepath.Join(dir, "lifecycle.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, ".")
	cmd.Dir = folder("lifecycle")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
