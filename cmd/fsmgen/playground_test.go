package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/playground"
	"github.com/fsmgen/fsmgen/internal/playground/written"
)

// The playground answers, byte for byte, what the commands print and write.
func TestPlayground(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"execution", "ingest", "jobstate", "lifecycle", "task"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile("../../specs/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, name+".yaml")
			if err := os.WriteFile(path, src, 0o600); err != nil {
				t.Fatal(err)
			}
			d := playground.Desk{Write: written.Answer}
			ask := func(question, request string) string {
				answer, err := d.Ask(question, []byte(request))
				if err != nil {
					t.Fatalf("%s: %v", question, err)
				}
				return string(answer)
			}
			// Findings name the file as the command was given it.
			ask("text", filepath.ToSlash(path)+"\n"+string(src))
			for question, args := range map[[2]string][]string{
				{"report"}:                   {"check"},
				{"diagram", "mermaid brief"}: {"diagram", "-q"},
				{"diagram", "svg normal"}:    {"diagram", "-q", "--format", "svg", "--detail", "normal"},
				{"sql", "sqlite"}:            {"sql", "-q", "--dialect", "sqlite"},
				{"sql", "postgres"}:          {"sql", "-q", "--dialect", "postgres"},
			} {
				var stdout bytes.Buffer
				if code := newCLI(strings.NewReader(""), &stdout, io.Discard).run(append(args, path)); code != 0 {
					t.Fatalf("%v: exit code %d", args, code)
				}
				if got := ask(question[0], question[1]); got != stdout.String() {
					t.Errorf("%v differs from %v", question, args)
				}
			}
			if code := newCLI(strings.NewReader(""), io.Discard, io.Discard).run([]string{"gen", "-q", path}); code != 0 {
				t.Fatalf("gen: exit code %d", code)
			}
			ask("text", name+".yaml\n"+string(src))
			var files []struct{ Name, Text string }
			if err := json.Unmarshal([]byte(ask("gen", "")), &files); err != nil {
				t.Fatal(err)
			}
			made, err := os.ReadDir(filepath.Join(dir, name))
			if err != nil || len(made) != len(files) {
				t.Fatalf("%d files, want %d: %v", len(files), len(made), err)
			}
			for _, f := range files {
				want, err := os.ReadFile(filepath.Join(dir, name, f.Name))
				if err != nil || string(want) != f.Text {
					t.Errorf("%s differs from what gen writes: %v", f.Name, err)
				}
			}
		})
	}
}
