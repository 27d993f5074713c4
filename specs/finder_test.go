package specs_test

import (
	"strconv"
	"strings"
	"testing"
)

// The finder reads the specifications as text, by their indentation: the tests
// of this folder must not lean on the parser that reads the same files.

// place is where a path leads: the lines [line, end), and the text of the value
// without its comment and the column where it starts in the first line.
type place struct {
	line, end int
	col       int
	value     string
}

// find returns the place of a path such as `states.queued.absent` or
// `projection.rules[0].state`.
func find(lines []string, path string) (place, bool) {
	steps := trail(lines, path)
	if steps == nil {
		return place{}, false
	}
	return steps[len(steps)-1], true
}

// trail returns the place of every step of a path, nil when it leads nowhere.
func trail(lines []string, path string) []place {
	names := strings.Split(strings.ReplaceAll(path, "[", ".["), ".")
	at := place{end: len(lines)}
	indent := 0
	var out []place
	for _, name := range names {
		next, ok := place{}, false
		switch {
		case strings.HasPrefix(at.value, "{"):
			if i, value, found := flowValue(at.value, name); found {
				next, ok = place{at.line, at.end, at.col + i, value}, true
			}
		case strings.HasPrefix(name, "["):
			next, ok = item(lines, at, indent, name)
		default:
			next, ok = child(lines, at, indent, name)
		}
		if !ok {
			return nil
		}
		out = append(out, next)
		at = next
		indent = innerIndent(lines, at)
	}
	return out
}

// innerIndent is the indentation of the first line inside of a place.
func innerIndent(lines []string, at place) int {
	for n := at.line + 1; n < at.end; n++ {
		if content(lines[n]) != "" {
			return indentation(lines[n])
		}
	}
	return -1
}

// child finds the key of a block mapping.
func child(lines []string, in place, indent int, name string) (place, bool) {
	for n := in.line; n < in.end; n++ {
		if indentation(lines[n]) != indent || !strings.HasPrefix(content(lines[n]), name+":") {
			continue
		}
		return blockAt(lines, n, in.end, indent, len(name)+1), true
	}
	return place{}, false
}

// item finds an item of a block list.
func item(lines []string, in place, indent int, name string) (place, bool) {
	index, err := strconv.Atoi(strings.Trim(name, "[]"))
	if err != nil {
		return place{}, false
	}
	for n := in.line + 1; n < in.end; n++ {
		if indentation(lines[n]) != indent || !strings.HasPrefix(content(lines[n]), "- ") {
			continue
		}
		if index == 0 {
			return blockAt(lines, n, in.end, indent, len("- ")), true
		}
		index--
	}
	return place{}, false
}

// blockAt is the place of the block that starts at line n with size characters
// of a key or a dash.
func blockAt(lines []string, n, end, indent, size int) place {
	text, _ := splitComment(lines[n])
	rest := text[indent+size:]
	value := strings.TrimSpace(rest)
	return place{n, blockEnd(lines, n, end, indent), indent + size + strings.Index(rest, value), value}
}

// blockEnd is the line after the block that starts at line n.
func blockEnd(lines []string, n, end, indent int) int {
	last := n + 1
	for n++; n < end; n++ {
		if content(lines[n]) == "" {
			continue
		}
		if indentation(lines[n]) <= indent {
			break
		}
		last = n + 1
	}
	return last
}

// flowValue finds the key of a mapping in braces and returns where its value
// starts.
func flowValue(flow, name string) (col int, value string, ok bool) {
	depth, start := 0, 1
	for i := range len(flow) {
		switch c := flow[i]; {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 1 && flow[i] == ',' || depth == 0 {
			key, rest, _ := strings.Cut(flow[start:i], ":")
			if strings.TrimSpace(key) == name {
				value := strings.TrimSpace(rest)
				return start + len(key) + 1 + strings.Index(rest, value), value, true
			}
			start = i + 1
		}
	}
	return 0, "", false
}

// near returns the lines whose comments speak of a path: its own line, the
// comment lines right above it, and the same for each declaration around it.
// The head of a section (`states:`) speaks of the section only.
func near(lines []string, path string) []int {
	steps := trail(lines, path)
	var out []int
	for i, at := range steps {
		if i == 0 && len(steps) > 1 && sectionOfDeclarations(lines, at) {
			continue
		}
		out = append(out, at.line)
		for n := at.line - 1; n >= 0 && content(lines[n]) == "" && strings.TrimSpace(lines[n]) != ""; n-- {
			out = append(out, n)
		}
	}
	return out
}

// sectionOfDeclarations reports whether a place holds several blocks: what a
// comment at its head says is not said of each of them.
func sectionOfDeclarations(lines []string, at place) bool {
	for n := at.line + 1; n < at.end; n++ {
		if content(lines[n]) != "" {
			return true
		}
	}
	return false
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// content returns a line without its comment and the blanks around it.
func content(line string) string {
	text, _ := splitComment(line)
	return strings.TrimSpace(text)
}

// splitComment divides a line before the `#` that opens its comment. No file
// of this folder has one inside of quotes.
func splitComment(line string) (text, comment string) {
	if strings.HasPrefix(line, "#") {
		return "", line
	}
	if i := strings.Index(line, " #"); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, ""
}

func TestFinder(t *testing.T) {
	t.Parallel()
	lines := strings.Split(`a: one        # 1
b:             # 2
  # 3
  c: {d: [x, y], e: {f: g}}   # 4

  h:           # 5
    i: two     # 6
    j:
      - {k: l} # 7
      - m
n: three`, "\n")
	tests := []struct {
		path, value string
		line, end   int
		missing     bool
	}{
		{path: "a", value: "one", line: 0, end: 1},
		{path: "b", line: 1, end: 10},
		{path: "b.c", value: "{d: [x, y], e: {f: g}}", line: 3, end: 4},
		{path: "b.c.d", value: "[x, y]", line: 3, end: 4},
		{path: "b.c.e.f", value: "g", line: 3, end: 4},
		{path: "b.h", line: 5, end: 10},
		{path: "b.h.i", value: "two", line: 6, end: 7},
		{path: "b.h.j[0].k", value: "l", line: 8, end: 9},
		{path: "b.h.j[1]", value: "m", line: 9, end: 10},
		{path: "n", value: "three", line: 10, end: 11},
		{path: "b.i", missing: true},
		{path: "b.a", missing: true},
		{path: "b.c.x", missing: true},
		{path: "b.h.j[2]", missing: true},
		{path: "c", missing: true},
	}
	for _, tt := range tests {
		got, ok := find(lines, tt.path)
		if ok == tt.missing {
			t.Errorf("find(%q): found is %v", tt.path, ok)
			continue
		}
		if !ok {
			continue
		}
		if want := (place{tt.line, tt.end, got.col, tt.value}); got != want {
			t.Errorf("find(%q) = %+v, want %+v", tt.path, got, want)
		}
		if !strings.HasPrefix(lines[got.line][got.col:], tt.value) {
			t.Errorf("find(%q): column %d of %q is not where %q starts", tt.path, got.col, lines[got.line], tt.value)
		}
	}
}
