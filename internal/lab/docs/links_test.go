package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link   = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	target = regexp.MustCompile("(?m)(?:^|`)make ((?:[a-z][a-z0-9-]* ?)+)")
	path   = regexp.MustCompile("`((?:cmd|spec|gen|runtime|specs|internal|examples)/[A-Za-z0-9_./*#-]+)`")
)

// TestAnchors holds each link of a guide to a section to the headings of the document that it names.
func TestAnchors(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		doc := read(t, filepath.Join("docs", filepath.Base(page)))
		for _, m := range anchor.FindAllStringSubmatch(doc, -1) {
			to := doc
			if m[1] != "" {
				to = read(t, filepath.Join("docs", m[1]))
			}
			found := slices.ContainsFunc(heading.FindAllStringSubmatch(to, -1), func(h []string) bool {
				return strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			})
			if !found {
				t.Errorf("%s: %s has no heading #%s", page, filepath.Base(m[1]), m[2])
			}
		}
	}
}

var (
	anchor  = regexp.MustCompile(`\]\(([a-zA-Z0-9_./-]+\.md)?#([^)]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unsaid  = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestReferences holds every link, path and make target that a document at the
// root names to what is there, and every link of the others.
func TestReferences(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CONTRACT.md", "BENCHMARKS.md", "SCALING.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, re := range []*regexp.Regexp{link, path} {
				for _, m := range re.FindAllStringSubmatch(string(doc), -1) {
					paths = append(paths, strings.ReplaceAll(m[1], "FSM###", "FSM101"))
				}
			}
			for _, p := range paths {
				if found, err := filepath.Glob(filepath.Join(root, p)); err != nil || len(found) == 0 {
					t.Errorf("there is no %s", p)
				}
			}
			for _, m := range target.FindAllStringSubmatch(string(doc), -1) {
				for _, word := range strings.Fields(m[1]) {
					if !strings.Contains(string(makefile), "\n"+word+": ##") && !strings.Contains(string(makefile), "\n"+word+":") {
						t.Errorf("there is no target %q of make", word)
					}
				}
			}
		})
	}
	folders, err := filepath.Glob(filepath.Join(root, "[a-z]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if err := filepath.WalkDir(folder, func(p string, _ fs.DirEntry, err error) error {
			switch {
			case err != nil || filepath.Ext(p) != ".md":
				return err
			case strings.Contains(p, "testdata") || strings.Contains(p, "node_modules"):
				return nil
			}
			doc, err := os.ReadFile(p)
			for _, m := range link.FindAllStringSubmatch(string(doc), -1) {
				if _, missing := os.Stat(filepath.Join(filepath.Dir(p), m[1])); missing != nil {
					t.Errorf("%s: there is no %s", p, m[1])
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
