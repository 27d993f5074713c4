package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFigures holds figures of documents to the reports that they come from.
func TestFigures(t *testing.T) {
	t.Parallel()
	bench, attacks := read(t, "BENCHMARKS.md"), read(t, "internal/lab/faults/ATTACKS.md")
	met := strings.Count(bench, "| met |\n")
	bars := met + strings.Count(bench, "| **missed** |\n")
	grown := regexp.MustCompile(`PostgreSQL: time of a transition among (.+) records / among .+ \| (\S+) ×, cost`).
		FindStringSubmatch(bench)
	if grown == nil {
		t.Fatal("BENCHMARKS.md has no row of growth")
	}
	// cost is the processor time of a transition of a side, in microseconds.
	cost := func(callers string) string {
		rest := behind(t, read(t, "docs/evidence/benchmarks.md"), "| lifecycle | fsmgen | "+callers+" |")
		return strings.TrimSpace(strings.Split(rest, "|")[1])
	}
	refused, all := 0, 0
	for line := range strings.Lines(attacks) {
		cells := cellsOf(line)
		if len(cells) != 3 || cells[0] == "attack" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		for _, c := range cells[1:] {
			if c == "–" { // there it cannot be tried
				continue
			}
			all++
			if strings.HasPrefix(c, "refused") {
				refused++
			}
		}
	}
	for doc, wants := range map[string][]string{
		"docs/evidence.md": {
			fmt.Sprintf("%d of %d bars are met", met, bars),
			fmt.Sprintf("Of %d [attacks by manual SQL](../internal/lab/faults/ATTACKS.md) %d are refused", all, refused),
		},
		"examples/README.md": {
			numeral(t, "examples/machines/*.yaml") + " machines of well-known systems",
			numeral(t, "specs/*.yaml") + " machines from real documents",
		},
		"SCALING.md": {
			fmt.Sprintf("%s µs with 64 callers in one process, %s µs with 16 in each of four, %s µs",
				cost("1 × 64"), cost("4 × 16"), cost("1 × 1")),
		},
		"docs/faq.md": {fmt.Sprintf("Among %s records it takes %s times as long", grown[1], grown[2])},
	} {
		text := read(t, doc)
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s does not say %q", doc, want)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// behind is what stands behind the begin of a line.
func behind(t *testing.T, doc, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(doc, "\n"+begin)
	if !found {
		t.Fatalf("no line begins with %q", begin)
	}
	return rest
}

func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	var cells []string
	for c := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(c))
	}
	return cells
}

// numeral is the number of files, in a word.
func numeral(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	words := strings.Fields("no one two three four five six seven eight nine ten eleven twelve")
	if err != nil || len(files) >= len(words) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return words[len(files)]
}

// TestRooms holds the table of rooms to the folders that have Go code, or a
// toolchain of their own.
func TestRooms(t *testing.T) {
	t.Parallel()
	rooms := map[string]bool{}
	for line := range strings.Lines(behind(t, read(t, "ARCHITECTURE.md"), "## Rooms")) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		if cells := cellsOf(line); cells != nil {
			for name := range strings.SplitSeq(cells[0], ", ") {
				rooms[strings.Trim(name, "`")] = true
			}
		}
	}
	for _, pattern := range []string{"cmd/*", "internal/*", "internal/lab/*", "runtime/*", "gen/*", "spec", "specs", "examples"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			name := filepath.ToSlash(strings.TrimPrefix(dir, filepath.Clean(root)+string(filepath.Separator)))
			if info, err := os.Stat(dir); err != nil || !info.IsDir() || strings.HasSuffix(name, "/testdata") || name == "runtime/internal" || name == "internal/lab" {
				continue
			}
			if !rooms[name] {
				t.Errorf("ARCHITECTURE.md has no room %s", name)
			}
			delete(rooms, name)
		}
	}
	for name := range rooms {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil && name != "folder" && !strings.HasPrefix(name, "---") {
			t.Errorf("ARCHITECTURE.md has a room %s, which is no folder", name)
		}
	}
}
