package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/cli"
)

// TestMan writes the pages and looks that each command has one, with all of its
// flags; where groff or mandoc is installed, that it finds nothing wrong.
func TestMan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	var out, errs bytes.Buffer
	if code := newCLI(strings.NewReader(""), &out, &errs).run([]string{"man", dir}); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	root := newCLI(strings.NewReader(""), &out, &errs).rootCommand()
	want := []string{"fsmgen.1"}
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		page := "fsmgen-" + c.Name() + ".1"
		want = append(want, page)
		text, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, section := range []string{".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH OPTIONS\n", ".SH SEE ALSO\n.BR fsmgen (1)"} {
			if !strings.Contains(string(text), section) {
				t.Errorf("%s has no %q", page, section)
			}
		}
		for _, line := range strings.Split(strings.TrimSpace(c.LocalFlags().FlagUsages()), "\n") {
			if _, flag, ok := strings.Cut(line, "--"); ok && strings.HasPrefix(strings.TrimSpace(line), "-") {
				flag, _, _ = strings.Cut(flag, " ")
				if !strings.Contains(string(text), `\-\-`+strings.ReplaceAll(flag, "-", `\-`)) {
					t.Errorf("%s does not tell of --%s", page, flag)
				}
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if !slices.Contains(files, filepath.Join(dir, name)) {
			t.Errorf("there is no %s", name)
		}
	}
	for _, f := range files {
		judge(t, f)
	}
}

// judge has the page read by what is there of the programs that set pages.
func judge(t *testing.T, page string) {
	t.Helper()
	for _, program := range [][]string{{"groff", "-man", "-Tutf8", "-ww", "-z"}, {"mandoc", "-Tlint", "-Wwarning"}} {
		if _, err := exec.LookPath(program[0]); err != nil {
			continue
		}
		said, err := exec.CommandContext(t.Context(), program[0], append(program[1:], page)...).CombinedOutput()
		if err != nil || len(said) > 0 {
			t.Errorf("%s of %s: %v\n%s", program[0], filepath.Base(page), err, said)
		}
	}
}
