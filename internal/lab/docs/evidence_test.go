package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
)

// TestEvidenceNamesTests holds the tests that pages of docs/evidence name to the code.
func TestEvidenceNamesTests(t *testing.T) {
	t.Parallel()
	root := outside.Root(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "evidence", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	grep := exec.CommandContext(t.Context(), "git", "grep", "-ohE", "^func Test[A-Za-z0-9]+", "--", "*_test.go")
	grep.Dir = root
	known, err := grep.Output()
	if err != nil {
		t.Skip("no git here:", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllSubmatch(text, -1)
		for _, name := range names {
			if !bytes.Contains(append(known, '\n'), append([]byte("func "+string(name[1])), '\n')) {
				t.Errorf("%s names %s, which no package has", filepath.Base(page), name[1])
			}
		}
		if len(names) == 0 {
			t.Errorf("%s names no test", filepath.Base(page))
		}
	}
}
