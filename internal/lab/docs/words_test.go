package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/validate"
)

// unplain matches words that plain English does without. Fix: write repair or fix, invalid, retry, manual SQL; name
// who does it.
var unplain = regexp.MustCompile(`(?i)\b(mend(s|ed|ing)?|belongs into|any more|for ever|anew|what of it|` +
	`all that is to be|whoever|who asks|at the prompt|sound)\b`)

var (
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	quoted = regexp.MustCompile("`[^`\n]*`")
	linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	pieces = regexp.MustCompile(`\n\s*\n|\n\s*(?:-|\d+\.) `)
	tables = regexp.MustCompile(`(?m)^\|.*$`)
	stops  = regexp.MustCompile(`[.:;?!](\s+|$)`)
)

// prose returns the text of a document without its code and the targets of its links.
func prose(doc string) string {
	doc = quoted.ReplaceAllString(fenced.ReplaceAllString(doc, ""), "X")
	return strings.ReplaceAll(linked.ReplaceAllString(doc, "$1"), "**", "")
}

func documents(t *testing.T, patterns ...string) []string {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no document matches %s: %v", pattern, err)
		}
		for _, f := range found {
			name, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

// TestWords keeps words out of the documents that a reader would stop at.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t, "README.md", "ARCHITECTURE.md", "CONTRACT.md", "CONTRIBUTING.md", "SCALING.md", "SECURITY.md",
		"spec/*.md", "runtime/postgres/STANDBY.md", "docs/*.md", "docs/decisions/*.md") {
		for _, word := range unplain.FindAllString(prose(read(t, name)), -1) {
			t.Errorf("%s: %q is not plain English", name, word)
		}
	}
}

// TestMessages keeps the same words out of what commands print: of every text in the Go code of their packages.
func TestMessages(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, name := range documents(t, "cmd/fsmgen/*.go", "internal/cli/*.go", "internal/diff/*.go", "internal/mdpage/*.go", "internal/migration/*.go",
		"internal/model/*.go", "internal/prove/*.go", "internal/replay/*.go", "internal/validate/*.go", "spec/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				seen++
				for _, word := range unplain.FindAllString(text.Value, -1) {
					t.Errorf("%s: %q is not plain English", files.Position(text.Pos()), word)
				}
			}
			return true
		})
	}
	if seen < 2000 {
		t.Errorf("looked at %d texts; are the packages elsewhere?", seen)
	}
}

// TestExplanations holds what fsmgen explain prints to short sentences.
func TestExplanations(t *testing.T) {
	t.Parallel()
	for _, r := range validate.Rules {
		for _, sentence := range long(prose(r.Doc)) {
			t.Errorf("%s: more than 25 words: %s", r.Code, sentence)
		}
	}
}

// TestDecisions holds each decision to its parts, to short sentences and to the index.
func TestDecisions(t *testing.T) {
	t.Parallel()
	index := read(t, "docs/decisions/README.md")
	for _, name := range documents(t, "docs/decisions/[0-9]*.md") {
		doc := read(t, name)
		for _, part := range []string{"**Context.**", "**Decision.**", "**Consequences.**"} {
			if strings.Count(doc, part) != 1 {
				t.Errorf("%s: expected one %s", name, part)
			}
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(doc, "# "), "\n")
		file := filepath.Base(name)
		if line := "- [" + file[:4] + "](" + file + ") " + title + "\n"; !strings.Contains(index, line) {
			t.Errorf("docs/decisions/README.md has no line %q", line)
		}
		for _, sentence := range long(prose(doc)) {
			t.Errorf("%s: more than 25 words: %s", name, sentence)
		}
	}
}

// long returns the sentences of a text that have more than 25 words. A colon and a semicolon end one, too.
func long(text string) (sentences []string) {
	for _, piece := range pieces.Split(tables.ReplaceAllString("\n"+text, ""), -1) {
		for _, sentence := range stops.Split(strings.Join(strings.Fields(piece), " "), -1) {
			if len(strings.Fields(sentence)) > 25 {
				sentences = append(sentences, sentence)
			}
		}
	}
	return sentences
}

// The tests above see what they should.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"How to mend it": true, "Whoever calls": true, "any\nmore": false, "`anew`": false, "a recommendation": false, "a [sound](x.md) row": true,
	} {
		if unplain.MatchString(prose(text)) != want {
			t.Errorf("%q: expected %v", text, want)
		}
	}
	words := strings.Repeat("word ", 25)
	for text, want := range map[string]int{words + "end.": 1, words + "; " + words: 0, "- " + words + "\n- " + words: 0, "1.5 " + words: 1} {
		if got := long(text); len(got) != want {
			t.Errorf("%q: got %d long sentences, want %d", text, len(got), want)
		}
	}
}
