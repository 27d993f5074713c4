package validate_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/validate"
)

// Whatever is missing from a specification, or there twice, or under another
// name: the rules do not panic, and what they find stands in the file, marks
// what is written there, and says how to fix it.
func TestDamagedSpecifications(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d specifications, want at least 5 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			codes := map[string]int{}
			for _, damaged := range damage(string(read(t, file))) {
				findings(t, damaged, codes)
			}
			ran := 0
			for code := range codes {
				if r, _ := validate.Explain(code); r.Run != nil {
					ran++
				}
			}
			if ran < 2 {
				t.Errorf("the damage met %d rules of this package, want at least 2: %v", ran, codes)
			}
		})
	}
}

// damage returns the text without each line, and with every third word of a line
// replaced by a word of another one.
func damage(src string) []string {
	lines := strings.Split(src, "\n")
	join := func(parts ...[]string) string {
		var all []string
		for _, p := range parts {
			all = append(all, p...)
		}
		return strings.Join(all, "\n")
	}
	words := strings.FieldsFunc(src, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz_", c) })
	var list []string
	for i, line := range lines {
		list = append(list, join(lines[:i], lines[i+1:]), join(lines[:i+1], lines[i:]))
		if i > 0 {
			list = append(list, join(lines[:i-1], []string{line, lines[i-1]}, lines[i+1:]))
		}
		for n, w := range strings.Fields(line) {
			name := strings.Trim(w, "[]{},:")
			if len(name) < 3 || strings.HasPrefix(name, "#") || (i+n)%3 > 0 {
				continue
			}
			other := words[(i*31+n*7)%len(words)]
			list = append(list, join(lines[:i], []string{strings.Replace(line, name, other, 1)}, lines[i+1:]))
		}
	}
	return list
}

func findings(t *testing.T, src string, codes map[string]int) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("panic: %v\n%s", r, src)
		}
	}()
	m, found := validate.Source("damaged.yaml", []byte(src))
	lines := strings.Split(src, "\n")
	for _, d := range found {
		codes[d.Code]++
		if r, _ := validate.Explain(d.Code); r.Run == nil {
			continue
		}
		if d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Col < 1 || d.Pos.Col > utf8.RuneCountInString(lines[d.Pos.Line-1]) || d.Hint == "" {
			t.Fatalf("%s (hint %q)\n%s", d, d.Hint, src)
		}
		if marked := cutRunes(lines[d.Pos.Line-1], d.Pos.Col-1, d.Len); d.Len == 0 && d.Code != "FSM016" && !strings.HasPrefix(cutRunes(lines[d.Pos.Line-1], d.Pos.Col-1, 1), "{") || !named(d.Message, marked) {
			t.Fatalf("%s: it marks %q, which the message does not name\n%s", d, marked, src)
		}
	}
	if m == nil && !found.HasErrors() {
		t.Fatalf("no machine and no error\n%s", src)
	}
}

// named reports whether a message speaks of the marked text.
func named(message, marked string) bool {
	return marked == "projection" || strings.Contains(message, marked)
}

func cutRunes(s string, from, n int) string {
	r := []rune(s)
	if from+n > len(r) {
		return fmt.Sprintf("%q and %d characters more", string(r[from:]), from+n-len(r))
	}
	return string(r[from : from+n])
}
