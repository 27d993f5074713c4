package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/validate"
)

// The repository's own documents: each finding has its page, each machine its picture,
// and the same tree gives the same bytes.
func TestRepository(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	var trees [2]map[string]string
	for i := range trees {
		out := t.TempDir()
		if _, err := build(root, out); err != nil {
			t.Fatal(err)
		}
		trees[i] = tree(t, out)
	}
	if len(trees[0]) != len(trees[1]) {
		t.Errorf("%d files, then %d", len(trees[0]), len(trees[1]))
	}
	for name, text := range trees[0] {
		if trees[1][name] != text {
			t.Errorf("%s is another file the second time", name)
		}
	}
	for _, r := range validate.Rules {
		page := trees[0]["findings/"+strings.ToLower(r.Code)+".html"]
		if !strings.Contains(page, "<h1") || !strings.Contains(page, "fsmgen explain "+r.Code) || strings.Count(page, "<pre") < 3 {
			t.Errorf("%s: expected a page with a bad and a good example", r.Code)
		}
	}
	for _, name := range []string{"lifecycle", "task", "jobstate", "ingest", "execution"} {
		if !strings.HasPrefix(trees[0]["specs/docs/"+name+".svg"], "<svg") || !strings.Contains(trees[0]["specs/docs/"+name+".html"], name+".svg") {
			t.Errorf("%s has no picture", name)
		}
	}
	if page := trees[0]["index.html"]; !strings.Contains(page, `href="docs/tutorial.html"`) || !strings.Contains(page, `src="docs/img/job.svg"`) {
		t.Error("the first page does not lead to the tutorial, or has no picture")
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Where links lead, and which of them lead nowhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	tests := []struct{ link, want, wrong string }{
		{"b.md", "../docs/b.html", ""},
		{"b.md#two-words", "../docs/b.html#two-words", ""},
		{"b.md#two-words-1", "../docs/b.html#two-words-1", ""},
		{"#a", "#a", ""},
		{"../x", "../x/index.html", ""},
		{"../x/README.md", "../x/index.html", ""},
		{"../x/code.go#L3", repository + "blob/main/x/code.go#L3", ""},
		{"../empty", repository + "tree/main/empty", ""},
		{"https://example.com/b.md", "https://example.com/b.md", ""},
		{"c.md", "", "there is no such file"},
		{"b.md#three", "", "has no heading #three"},
		{"../../b.md", "", "leads out of the repository"},
	}
	for _, tt := range tests {
		root := t.TempDir()
		for name, text := range map[string]string{
			"docs/a.md": "# A\n\n[link](" + tt.link + ")\n", "docs/b.md": "# B\n\n## Two *words*\n\n## Two words\n",
			"x/README.md": "# X\n", "x/code.go": "package x\n", "empty/.keep": "",
		} {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := read(root)
		if err != nil {
			t.Fatal(err)
		}
		err = s.link()
		switch body := s.pages["docs/a.md"].body; {
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), "docs/a.md: "+tt.link+": ") || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%s: expected %q, got %v", tt.link, tt.wrong, err)
		case tt.wrong == "" && err != nil:
			t.Errorf("%s: %v", tt.link, err)
		case tt.wrong == "" && !strings.Contains(body, ` href="`+tt.want+`"`):
			t.Errorf("%s: expected a link to %s, got %s", tt.link, tt.want, body)
		}
	}
}
