package docs

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the generated blocks of README.md anew")

const root = "../../.."

// fence matches one block of a Markdown file: its info string and its body.
var fence = regexp.MustCompile("(?ms)^```([a-z ]*)\n(.*?)^```$")

// block returns the body of the first block with that info string.
func block(t *testing.T, doc, info string) string {
	t.Helper()
	for _, m := range fence.FindAllStringSubmatch(doc, -1) {
		if m[1] == info {
			return m[2]
		}
	}
	t.Fatalf("there is no block %q", info)
	return ""
}

// setBlock replaces the body of the first block with that info string.
func setBlock(doc, info, body string) string {
	done := false
	return fence.ReplaceAllStringFunc(doc, func(s string) string {
		if done || fence.FindStringSubmatch(s)[1] != info {
			return s
		}
		done = true
		return "```" + info + "\n" + body + "```"
	})
}

func readme(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// TestReadmeIsGenerated holds the picture and the Go excerpt to the YAML block
// above them.
func TestReadmeIsGenerated(t *testing.T) {
	doc := readme(t)
	m, found := spec.Parse("job.yaml", []byte(block(t, doc, "yaml")))
	if m == nil || len(found) > 0 {
		t.Fatalf("the machine of README.md has findings: %v", found)
	}
	files, err := gen.Generate(m, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"mermaid": string(gen.Mermaid(m))}
	for _, f := range files {
		if f.Name == "job_fsm.go" {
			_, decision, ok := strings.Cut(method(t, string(f.Data), "Finish"), "\tswitch j.State {\n")
			if !ok {
				t.Fatal("Finish has no switch over the state")
			}
			want["go excerpt"] = "\tswitch j.State {\n" + decision
		}
	}
	if *update {
		for info, body := range want {
			doc = setBlock(doc, info, body)
		}
		if err := os.WriteFile(filepath.Join(root, "README.md"), []byte(doc), 0o644); err != nil { //nolint:gosec // a document is read by everybody
			t.Fatal(err)
		}
	}
	for info, body := range want {
		if diff := cmp.Diff(body, block(t, doc, info)); diff != "" {
			t.Errorf("block %q (go test ./internal/lab/docs -update writes it anew), -want +got:\n%s", info, diff)
		}
	}
}

// method returns one method of generated code with its comment.
func method(t *testing.T, src, name string) string {
	t.Helper()
	start := strings.Index(src, "\n// "+name+" moves")
	if start < 0 {
		t.Fatalf("there is no method %s", name)
	}
	end := strings.Index(src[start:], "\n}\n")
	return src[start+1 : start+end+3]
}

// TestReadmeRuns walks the way of the README in an empty folder: its YAML, its
// commands, its program, and the output it shows.
func TestReadmeRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	t.Parallel()
	doc := readme(t)
	module := outside.Empty(t)
	module.Write("job.yaml", []byte(block(t, doc, "yaml")))
	steps := blocks(doc, "sh")
	if len(steps) != 2 {
		t.Fatalf("want two blocks of commands, got %d", len(steps))
	}
	if n := strings.Count(steps[1], "\n"); n > 6 {
		t.Errorf("the walk-through has %d commands; more than five after `go mod init` are too many", n)
	}
	for line := range strings.Lines(steps[1]) {
		words := strings.Fields(line)
		switch line = strings.Join(words, " "); {
		case strings.HasPrefix(line, "go mod init"):
			module.Run(words[0], words[1:]...)
			module.Know()
		case strings.HasPrefix(line, "go get "):
			module.Get(words[2:]...)
		case line == "go mod tidy":
			module.Tidy()
		case strings.HasPrefix(line, "go test"):
			out, err := module.Test(words[2:]...)
			if err != nil || !strings.Contains(out, "ok  \texample.com/shop/job\t") {
				t.Errorf("the generated tests did not run: %v\n%s", err, out)
			}
		default:
			module.Run(words[0], words[1:]...)
		}
		if strings.HasPrefix(line, "go tool fsmgen gen") {
			module.Write("main.go", []byte(program(block(t, doc, "go"))))
		}
	}
	got := module.Run("go", append(append([]string{"run"}, outside.Fast...), ".")...)
	if diff := cmp.Diff(block(t, doc, "text"), got); diff != "" {
		t.Errorf("the program prints something else, -want +got:\n%s", diff)
	}
}

// program makes a program of the statements that the README shows.
func program(body string) string {
	return `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"example.com/shop/job"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

func main() {
	ctx := context.Background()
` + body + `}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`
}

// blocks returns the bodies of all blocks with that info string.
func blocks(doc, info string) (bodies []string) {
	for _, m := range fence.FindAllStringSubmatch(doc, -1) {
		if m[1] == info {
			bodies = append(bodies, m[2])
		}
	}
	return bodies
}
