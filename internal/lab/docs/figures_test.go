package docs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFigures holds figures that people typed to the reports that they come from.
func TestFigures(t *testing.T) {
	t.Parallel()
	bench, attacks := read(t, "BENCHMARKS.md"), read(t, "internal/lab/faults/ATTACKS.md")
	memory := row(t, bench, "## Transitions in memory", "generated", "full")
	file := row(t, bench, "## Durable transitions: SQLite", "fsmgen", "full")
	server := row(t, bench, "## Durable transitions: PostgreSQL", "fsmgen", "full")
	fileCost := cost.FindStringSubmatch(behind(t, bench, "| SQLite × 1"))
	serverCost := cost.FindStringSubmatch(behind(t, bench, "| PostgreSQL × 1"))
	life := func(workers string) string {
		return strings.TrimSuffix(row(t, bench, "## Whole lives of jobs", workers, "single calls", "full")[5], " ×")
	}
	grown := func(database string) float64 {
		return number(t, strings.TrimSuffix(row(t, bench, "| "+database+": records", "10 000 000")[4], " ×"))
	}
	large := number(t, strings.TrimSuffix(strings.Split(row(t, bench, "| a ring of so many states", "2000")[1], ",")[0], " ms"))
	ratio := func(what string) float64 {
		return number(t, strings.TrimSuffix(row(t, bench, "| what | bar", what)[2], " ×"))
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
			fmt.Sprintf("%.0f ns in memory, no allocation", number(t, memory[2])),
			fmt.Sprintf("beside River %s, %s, %s ×", life("16 workers"), life("100 workers"), life("1000 workers")),
			fmt.Sprintf("with 10⁷ records %.1f and %.1f × the time of 10³; 2 000 states generated in %.2f s", grown("SQLite"), grown("PostgreSQL"), large/1000),
			fmt.Sprintf("Of %d [attacks at the SQL prompt](../internal/lab/faults/ATTACKS.md) %d are refused", all, refused),
			fmt.Sprintf("SQLite %s – %s, PostgreSQL %s – %s a second", round(t, file[2], 100), round(t, file[5], 100), round(t, server[2], 100), round(t, server[5], 100)),
		},
		"examples/README.md": {
			numeral(t, "examples/machines/*.yaml") + " machines of well-known systems",
			numeral(t, "specs/*.yaml") + " machines from real documents",
		},
		"docs/faq.md": {
			fmt.Sprintf("takes %.1f times as long as with a thousand on SQLite, and %.1f times on PostgreSQL", grown("SQLite"), grown("PostgreSQL")),
		},
		"docs/compare.md": {
			fmt.Sprintf("one caller reaches %.1f × of hand-written statements that do the same on SQLite, and %.1f × on PostgreSQL",
				ratio("SQLite, 1 caller: ours / prepared statements by hand"), ratio("PostgreSQL, 1 caller: ours / one CTE statement by hand")),
		},
		"SCALING.md": {
			fmt.Sprintf("%s on SQLite and %s on PostgreSQL in that report", spaced(fileCost[1]), spaced(serverCost[1])),
			fmt.Sprintf("%.1f × on SQLite and %.1f × on PostgreSQL)", grown("SQLite"), grown("PostgreSQL")),
			fmt.Sprintf("%s alone, %s with 256 callers | the one", round(t, file[2], 1000), round(t, file[5], 1000)),
			fmt.Sprintf("%s alone, %s with 256 callers; more", round(t, server[2], 100), round(t, server[5], 1000)),
			fmt.Sprintf("%.1f kB on SQLite and %.1f kB on PostgreSQL (of 100 000)",
				number(t, row(t, bench, "| SQLite: records", "100 000")[2])/1000, number(t, row(t, bench, "| PostgreSQL: records", "100 000")[2])/1000),
		},
	} {
		text := read(t, doc)
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s does not say %q", doc, want)
			}
		}
	}
	if memory[4] != "0" {
		t.Errorf("a generated transition allocates %s times; docs/evidence.md says it does not", memory[4])
	}
}

// cost is what a batch takes and each transition in it.
var cost = regexp.MustCompile(`, (\d+µs) \+ n × `)

func spaced(duration string) string { return strings.Replace(duration, "µs", " µs", 1) }

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

// row returns the first row of a table behind the begin of a line, by its first
// cells.
func row(t *testing.T, doc, begin string, first ...string) []string {
	t.Helper()
	for line := range strings.Lines(behind(t, doc, begin)) {
		cells := cellsOf(line)
		if len(cells) > len(first) && strings.Join(cells[:len(first)], "|") == strings.Join(first, "|") {
			return cells
		}
	}
	t.Fatalf("behind %q there is no row of %q", begin, first)
	return nil
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, " ", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// round writes a number in steps, with a space before each thousand.
func round(t *testing.T, text string, step float64) string {
	t.Helper()
	n := int(math.Round(number(t, text)/step) * step)
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d %03d", n/1000, n%1000)
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
