package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/cli"
	"github.com/fsmgen/fsmgen/spec"
)

const jobYAML = `fsm: 1
machine: job
entity: Job
otherwise: reject
states:
  open: {}
  shut: {terminal: true}
operations:
  make: {creates: open}
  close: {from: open, to: shut}
`

// writeSpec makes a folder with job.yaml and returns its path.
func writeSpec(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(jobYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInternalErrors holds the promise about our own mistakes: exit code 3, the
// specification's name, where to report, and nothing on disk.
func TestInternalErrors(t *testing.T) {
	t.Parallel()
	for name, generate := range map[string]func(*spec.Machine, gen.Options) ([]gen.File, error){
		"panic": func(*spec.Machine, gen.Options) ([]gen.File, error) { panic("a cell without a class") },
		"nil": func(m *spec.Machine, _ gen.Options) ([]gen.File, error) {
			return nil, errors.New(m.Projection.Entity) // this machine has none
		},
		"error": func(*spec.Machine, gen.Options) ([]gen.File, error) { return nil, errors.New("a cell without a class") },
		"no header": func(*spec.Machine, gen.Options) ([]gen.File, error) {
			return []gen.File{{Name: "job_fsm.go", Data: []byte("package job\n")}}, nil
		},
		"a path": func(*spec.Machine, gen.Options) ([]gen.File, error) {
			return []gen.File{{Name: "../job.mmd", Data: []byte("%% " + chart.Header)}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeSpec(t)
			var out, errs bytes.Buffer
			c := newCLI(strings.NewReader(""), &out, &errs)
			c.generate = generate
			if code := c.run([]string{"gen", path}); code != cli.ExitInternal {
				t.Errorf("exit code %d, want %d", code, cli.ExitInternal)
			}
			for _, want := range []string{"internal error", path, "this is a bug in fsmgen, please report", cli.NewIssue} {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("the report lacks %q:\n%s", want, errs.String())
				}
			}
			if out.Len() > 0 {
				t.Errorf("the standard output holds %q", out.String())
			}
			if diff := cmp.Diff([]string{"job.yaml"}, filesBelow(t, filepath.Dir(path))); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGeneratorFindings shows findings that only the generator makes.
func TestGeneratorFindings(t *testing.T) {
	t.Parallel()
	path := writeSpec(t)
	var out, errs bytes.Buffer
	c := newCLI(strings.NewReader(""), &out, &errs)
	c.generate = func(m *spec.Machine, _ gen.Options) ([]gen.File, error) {
		return nil, spec.Diagnostics{{Code: "FSM017", Severity: spec.Error, File: m.File, Pos: spec.Pos{Line: 6, Col: 3}, Message: "two names"}}
	}
	if code := c.run([]string{"gen", path}); code != cli.ExitFindings {
		t.Errorf("exit code %d, want %d", code, cli.ExitFindings)
	}
	if want := "job.yaml:6:3: error: two names [FSM017]\n"; !strings.Contains(errs.String(), want) {
		t.Errorf("the findings lack %q:\n%s", want, errs.String())
	}
	if diff := cmp.Diff([]string{"job.yaml"}, filesBelow(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestRenderSeverities keeps informations out of the way of those who generate.
func TestRenderSeverities(t *testing.T) {
	t.Parallel()
	var found spec.Diagnostics
	for i, s := range []spec.Severity{spec.Error, spec.Warning, spec.Info} {
		found = append(found, spec.Diagnostic{Code: "FSM999", Severity: s, File: "a.yaml", Pos: spec.Pos{Line: i + 1, Col: 1}, Message: "so it is"})
	}
	const findings = "a.yaml:1:1: error: so it is [FSM999]\na.yaml:2:1: warning: so it is [FSM999]\n"
	for least, want := range map[spec.Severity]string{
		spec.Warning: findings + "1 error, 1 warning\n",
		spec.Info:    findings + "a.yaml:3:1: info: so it is [FSM999]\n1 error, 1 warning\n",
	} {
		var out bytes.Buffer
		newCLI(nil, nil, nil).RenderAll(&out, []*cli.Source{{Found: found}}, least)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("down to %s (-want +got):\n%s", least, diff)
		}
	}
}

// TestWriteAllOrNothing breaks the last of three files and expects the folder as
// it was, folders included.
func TestWriteAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "old.go")
	if err := os.WriteFile(old, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	targets := []*target{
		{path: old, data: []byte("after"), status: statusDiffers},
		{path: filepath.Join(dir, "new", "deep", "a.go"), data: []byte("a"), status: statusMissing},
		{path: filepath.Join(old, "b.go"), data: []byte("b"), status: statusMissing}, // below a file
	}
	if err := writeAll(targets); err == nil {
		t.Fatal("writing below a file works")
	}
	if diff := cmp.Diff([]string{"old.go"}, filesBelow(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got, err := os.ReadFile(old); string(got) != "before" {
		t.Errorf("old.go holds %q, %v", got, err)
	}
	if err := writeAll(targets[:2]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"new", "new/deep", "new/deep/a.go", "old.go"}, filesBelow(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got, err := os.ReadFile(old); string(got) != "after" {
		t.Errorf("old.go holds %q, %v", got, err)
	}
	if info, err := os.Stat(old); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of old.go changed: %v, %v", info.Mode(), err)
	}
}

// Files are written side by side; one that cannot be written leaves none of the
// others, nor anything beside them, and the error is that of the first.
func TestWriteManyOrNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var targets []*target
	for i := range 3 * syncs {
		name := fmt.Sprintf("f%02d.go", i)
		if i == syncs || i == 2*syncs {
			name = strings.Repeat("x", 245) + name // fits, but what stands beside it does not
		}
		targets = append(targets, &target{path: filepath.Join(dir, "new", name), data: []byte(name), status: statusMissing})
	}
	if err := writeAll(targets); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("f%02d.go", syncs)) {
		t.Errorf("got %v, want the first file that cannot be written", err)
	}
	if diff := cmp.Diff([]string(nil), filesBelow(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	good := slices.DeleteFunc(targets, func(t *target) bool { return len(t.path) > len(dir)+245 })
	if err := writeAll(good); err != nil {
		t.Fatal(err)
	}
	for _, g := range good {
		if got, err := os.ReadFile(g.path); !bytes.Equal(got, g.data) {
			t.Errorf("%s holds %q, %v", g.path, got, err)
		}
	}
	if n := len(filesBelow(t, dir)); n != 1+len(good) {
		t.Errorf("%d files, want %d and their folder", n, len(good))
	}
}

// What a killed run left beside its files goes with the next one; what may still be
// written, and what is not ours, stays.
func TestLeftoversOfAKilledRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := map[string]bool{".a.go.fsmgen1": false, ".b.go.fsmgen1": true, ".a.go.fsmgenx": true, ".a.go.fsmgen2": true, "a.go.fsmgen1": true}
	for name := range names {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-2 * leftoverAge); name != ".a.go.fsmgen2" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeLeftovers([]*target{{path: filepath.Join(dir, "a.go")}})
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %t", name, err, stays)
		}
	}
}

func TestIsGenerated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, data string
		want       bool
	}{
		{"a.go", "// Code generated by fsmgen; DO NOT EDIT.\n\npackage a\n", true},
		{"a.go", "// Code generated by fsmgen; DO NOT EDIT.\r\n\r\npackage a\r\n", true},
		{"a.go", "// Code generated by stringer; DO NOT EDIT.\n", false},
		{"a.go", "package a\n\n// Code generated by fsmgen; DO NOT EDIT. Or was it?\n", false},
		{"a.go", "-- Code generated by fsmgen; DO NOT EDIT.\n", false},
		{"a.go", "// mine\n// Code generated by fsmgen; DO NOT EDIT.\n", false},
		{"a.go", "\n// Code generated by fsmgen; DO NOT EDIT.\n", false},
		{"a.md", "# mine\n<!-- Code generated by fsmgen; DO NOT EDIT. -->\n", false},
		{"a.mmd", "%% mine\n%% Code generated by fsmgen; DO NOT EDIT.\n", false},
		{"a.sql", "-- Code generated by fsmgen; DO NOT EDIT.\n", true},
		{"a.mmd", "---\ntitle: \"A\"\n---\n%% Code generated by fsmgen; DO NOT EDIT.\n", true},
		{"a.mmd", strings.Repeat("%%\n", headerLines) + "%% Code generated by fsmgen; DO NOT EDIT.\n", false},
		{"a.txt", "// Code generated by fsmgen; DO NOT EDIT.\n", false},
		{"a.go", "", false},
	} {
		if got := isGenerated(c.name, []byte(c.data)); got != c.want {
			t.Errorf("isGenerated(%q, %q) = %v, want %v", c.name, c.data, got, c.want)
		}
	}
}

// filesBelow lists everything below dir.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// fullDisk is a standard output that cannot be written.
type fullDisk struct{ err error }

func (f fullDisk) Write([]byte) (int, error) { return 0, f.err }

// A result that could not be printed is no success; a reader that went away is.
func TestOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{{syscall.ENOSPC, cli.ExitUsage}, {syscall.EPIPE, cli.ExitOK}} {
		for _, args := range [][]string{{"check", "../../specs/task.yaml"}, {"explain", "FSM101"}} {
			var told bytes.Buffer
			if got := newCLI(strings.NewReader(""), fullDisk{c.err}, &told).run(args); got != c.want || strings.Contains(told.String(), c.err.Error()) != (c.want != cli.ExitOK) {
				t.Errorf("%v with %v: exit code %d, want %d, and told %q", args, c.err, got, c.want, told.String())
			}
		}
	}
}

// The size of a file that is not read to its end is not known.
func TestFileAboveWhatIsRead(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	in := io.MultiReader(strings.NewReader("fsm: 1\n"), strings.NewReader(strings.Repeat("#", cli.MaxInput+1000)))
	if got := newCLI(in, io.Discard, &told).run([]string{"check", "-"}); got != cli.ExitUsage || !strings.Contains(told.String(), "<stdin> is larger than 8 MiB") {
		t.Errorf("exit code %d, %q", got, told.String())
	}
}
