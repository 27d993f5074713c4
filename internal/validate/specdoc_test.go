package validate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// docs are the pages about the language, in ../../spec: the guide, the reference and the fine print.
var docs = []string{"GUIDE.md", "SPEC.md", "FINEPRINT.md"}

// docBlock is one fenced block of such a page.
type docBlock struct {
	line     int    // of the fence
	fragment string // key that the block shows; empty for a complete machine
	finding  string // code that the block must give
	text     string
}

func readDoc(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile("../../spec/" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// docBlocks returns the YAML blocks; every other block must be marked as text.
func docBlocks(t *testing.T, page string) []docBlock {
	t.Helper()
	var out []docBlock
	var open *docBlock
	other := false
	for i, line := range strings.Split(readDoc(t, page), "\n") {
		info, isFence := strings.CutPrefix(line, "```")
		switch {
		case !isFence:
			if open != nil {
				open.text += line + "\n"
			}
		case open != nil:
			out = append(out, *open)
			open = nil
		case other:
			other = false
		default:
			words := strings.Fields(info)
			if len(words) > 0 && words[0] == "text" {
				other = true
				continue
			}
			if len(words) == 0 || words[0] != "yaml" {
				t.Fatalf("%s:%d: block %q is neither yaml nor text, so nothing runs it", page, i+1, info)
			}
			open = &docBlock{line: i + 1}
			for _, w := range words[1:] {
				switch key, value, _ := strings.Cut(w, "="); key {
				case "fragment":
					open.fragment = value
				case "finding":
					open.finding = value
				default:
					t.Fatalf("%s:%d: unknown mark %q", page, i+1, w)
				}
			}
		}
	}
	if open != nil || other {
		t.Fatalf("%s: the last block is not closed", page)
	}
	return out
}

// merged are the sections whose declarations a fragment adds or replaces one
// by one; any other section is replaced as a whole.
var merged = []string{"fields", "states", "guards", "unique", "lookup", "operations", "probes"}

// complete puts the declarations of a fragment into a machine.
func complete(base, fragment string) string {
	sections := parts(base, 0)
	for _, add := range parts(fragment, 0) {
		i := slices.IndexFunc(sections, func(p part) bool { return p.key == add.key })
		switch {
		case i < 0:
			sections = append(sections, add)
		case !slices.Contains(merged, add.key):
			sections[i] = add
		default:
			entries := parts(sections[i].body(), 2)
			for _, e := range parts(add.body(), 2) {
				if j := slices.IndexFunc(entries, func(p part) bool { return p.key == e.key }); j >= 0 {
					entries[j] = e
				} else {
					entries = append(entries, e)
				}
			}
			sections[i].text = add.key + ":\n" + join(entries)
		}
	}
	return join(sections)
}

// part is one entry of a block mapping, with its text.
type part struct{ key, text string }

func (p part) body() string {
	_, body, _ := strings.Cut(p.text, "\n")
	return body
}

// parts splits the text of a block mapping at its keys.
func parts(text string, indent int) []part {
	var out []part
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " ")
		key, _, isKey := strings.Cut(trimmed, ":")
		if isKey && len(line)-len(trimmed) == indent && !strings.HasPrefix(trimmed, "#") {
			out = append(out, part{key: key})
		}
		if len(out) > 0 {
			out[len(out)-1].text += line
		}
	}
	return out
}

func join(list []part) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.text)
	}
	return b.String()
}

func TestSpecDocBlocks(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"GUIDE.md": 20, "SPEC.md": 40, "FINEPRINT.md": 0} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			blocks := docBlocks(t, page)
			if len(blocks) < least || len(blocks) > 0 && (blocks[0].fragment != "" || blocks[0].finding != "") {
				t.Fatalf("%s has %d blocks, and the first must be the complete machine that fragments stand for", page, len(blocks))
			}
			for _, b := range blocks {
				t.Run(fmt.Sprintf("line%d", b.line), func(t *testing.T) {
					t.Parallel()
					tryBlock(t, page, blocks[0].text, b)
				})
			}
		})
	}
}

// tryBlock holds one block, beside the first of its page, to the finding that it names, or to none.
func tryBlock(t *testing.T, page, base string, b docBlock) {
	t.Helper()
	text := b.text
	if b.fragment != "" {
		if !regexp.MustCompile(`(?m)(^|[\s{])` + b.fragment + `:`).MatchString(b.text) {
			t.Errorf("%s:%d: the fragment does not show %q", page, b.line, b.fragment)
		}
		text = complete(base, b.text)
	}
	_, found := validate.Source("SPEC.yaml", []byte(text))
	found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info })
	if b.finding == "" {
		if len(found) > 0 {
			t.Errorf("%s:%d: findings:\n%v\nin\n%s", page, b.line, found, text)
		}
		return
	}
	var codes []string
	for _, d := range found {
		codes = append(codes, d.Code)
	}
	if diff := cmp.Diff([]string{b.finding}, slices.Compact(codes)); diff != "" {
		t.Errorf("%s:%d: findings (-want +got):\n%s%v", page, b.line, diff, found)
	}
}

// TestGuideIsShort: the guide is read in twenty minutes.
func TestGuideIsShort(t *testing.T) {
	t.Parallel()
	if n := len(strings.Fields(readDoc(t, "GUIDE.md"))); n > 4500 {
		t.Errorf("GUIDE.md has %d words; what few readers need belongs in the reference", n)
	}
}

// TestSpecDocFragmentMerge keeps the merge honest: a fragment that is lost would make
// its block pass.
func TestSpecDocFragmentMerge(t *testing.T) {
	t.Parallel()
	base := "fsm: 1\nstates:\n  a: {}\n  b:\n    terminal: true\notherwise: reject\n"
	got := complete(base, "states:\n  b: {}\n  c: {}\notherwise: record_only\nversion: 2\n")
	want := "fsm: 1\nstates:\n  a: {}\n  b: {}\n  c: {}\notherwise: record_only\nversion: 2\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("complete (-want +got):\n%s", diff)
	}
}

// TestSpecDocNamesEveryKey asks the parser which keys it knows in each kind of
// mapping, and looks for each in the section about it.
func TestSpecDocNamesEveryKey(t *testing.T) {
	t.Parallel()
	doc := readDoc(t, "SPEC.md")
	blocks := docBlocks(t, "SPEC.md")
	tests := []struct{ what, fragment, section string }{
		{"root", "qqqq: 1\n", ""},
		{"requests", "requests: {qqqq: 1}\n", "## Head of the file"},
		{"field", "fields:\n  queue: {type: string, qqqq: 1}\n", "## Fields"},
		{"was of a field", "fields:\n  queue: {type: string, was: {qqqq: 1}}\n", "## Renames"},
		{"state", "states:\n  open: {absent: [owner, due, answer], qqqq: 1}\n", "## States"},
		{"should", "states:\n  open: {absent: [owner, due, answer], should: {qqqq: 1}}\n", "## States"},
		{"removed", "removed: {gone: {to: open, qqqq: 1}}\n", "## States"},
		{"probe", "probes:\n  there: {qqqq: 1}\n", "## States"},
		{"guard", "guards:\n  owner_only: {when: owner == actor, error: not_owner, qqqq: 1}\n", "## Guards"},
		{"none", "guards:\n  owner_only: {none: {same: queue, in: [open], qqqq: 1}, error: not_owner}\n", "## Guards"},
		{"fewer", "guards:\n  owner_only: {fewer: {than: 2, same: queue, in: [open], qqqq: 1}, error: not_owner}\n", "## Guards"},
		{"unique", "unique:\n  one: {fields: queue, in: [open], error: two, qqqq: 1}\n", "## Unique"},
		{"lookup", "lookup:\n  of_queue: {fields: queue, qqqq: 1}\n", "## Look-ups"},
		{"operation", "operations:\n  other: {from: open, to: same, qqqq: 1}\n", "## Operations"},
		{"was of an operation", "operations:\n  other: {from: open, to: same, was: {qqqq: 1}}\n", "## Renames"},
		{"input", "operations:\n  other: {from: open, to: same, input: {x: {type: string, qqqq: 1}}}\n", "### `input`"},
		{"branch", "operations:\n  other: {from: open, choose: [{to: same, qqqq: 1}]}\n", "### `choose`"},
		{"next", "operations:\n  other: {from: open, to: same, next: {qqqq: 1}}\n", "### `next`"},
		{"effect", "operations:\n  other: {from: open, to: same, effect: {name: x, qqqq: 1}}\n", "### `effect`"},
		{"forbidden", "forbidden: [{from: open, to: solved, qqqq: 1}]\n", "## Forbidden"},
		{"projection", "projection: {entity: Desk, key: queue, rules: [{state: x}], qqqq: 1}\n", "## Projection"},
		{"rule", "projection: {entity: Desk, key: queue, rules: [{state: x, qqqq: 1}]}\n", "## Projection"},
	}
	for _, tt := range tests {
		keys := allowedKeys(complete(blocks[0].text, tt.fragment))
		if len(keys) == 0 {
			t.Errorf("%s: the parser names no keys", tt.what)
		}
		text := docSection(doc, tt.section)
		if text == "" {
			t.Errorf("SPEC.md has no section %q", tt.section)
			continue
		}
		for _, key := range keys {
			if !regexp.MustCompile("`" + key + "[`:]|\\b" + key + ":").MatchString(text) {
				t.Errorf("SPEC.md: section %q does not name the key %q of a %s", tt.section, key, tt.what)
			}
		}
	}
}

// allowedKeys returns the keys that the parser offers instead of `qqqq`.
func allowedKeys(src string) []string {
	_, found := spec.Parse("SPEC.yaml", []byte(src))
	for _, d := range found {
		if _, keys, ok := strings.Cut(d.Hint, "allowed here: "); ok && strings.Contains(d.Message, `"qqqq"`) {
			return strings.Split(keys, ", ")
		}
	}
	return nil
}

// docSection returns the text from a heading to the next one that is not below
// it; the whole page for no heading.
func docSection(doc, heading string) string {
	if heading == "" {
		return doc
	}
	_, rest, ok := strings.Cut("\n"+doc, "\n"+heading+"\n")
	if !ok {
		return ""
	}
	level := strings.IndexByte(heading, ' ')
	end := regexp.MustCompile(fmt.Sprintf(`(?m)^#{1,%d} `, level)).FindStringIndex(rest)
	if end == nil {
		return rest
	}
	return rest[:end[0]]
}

// TestSpecDocFindings holds the codes on the pages to the rules that exist: each
// rule stands in a section, and no code is made up.
func TestSpecDocFindings(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, page := range docs {
		for _, code := range regexp.MustCompile(`\bFSM\d{3}\b`).FindAllString(readDoc(t, page), -1) {
			named[code] = named[code] || page != "GUIDE.md"
			if _, ok := validate.Explain(code); !ok {
				t.Errorf("%s names %s, which is no rule", page, code)
			}
		}
	}
	for _, r := range validate.Rules {
		if !named[r.Code] {
			t.Errorf("neither SPEC.md nor FINEPRINT.md names %s (%s)", r.Code, r.Name)
		}
	}
}

// TestSpecDocLinks holds the links of the pages to their headings and to files.
func TestSpecDocLinks(t *testing.T) {
	t.Parallel()
	anchors := map[string]bool{}
	drop := regexp.MustCompile(`[^a-z0-9_ -]`)
	for _, page := range docs {
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readDoc(t, page), -1) {
			a := page + "#" + strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
			if anchors[a] {
				t.Errorf("two headings have the anchor %s", a)
			}
			anchors[a] = true
		}
	}
	for _, page := range docs {
		links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(readDoc(t, page), -1)
		if page == "SPEC.md" && len(links) < 30 {
			t.Errorf("SPEC.md has %d links; is the table of contents gone?", len(links))
		}
		for _, m := range links {
			file, anchor, within := strings.Cut(m[1], "#")
			if file == "" {
				file = page
			}
			if within && slices.Contains(docs, file) && !anchors[file+"#"+anchor] {
				t.Errorf("%s: no heading has the anchor %s", page, m[1])
			}
			if _, err := os.Stat(filepath.Join("..", "..", "spec", file)); err != nil && !strings.Contains(m[1], "://") {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}
