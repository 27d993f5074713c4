package spec_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// syntaxTexts are all that a syntax error may say.
var syntaxTexts = []string{
	"the line is indented with a tab",
	"a `:` needs a space after it",
	"expected `:` after a key",
	"a `:` cannot stand here",
	"the text in quotes does not end",
	"no value can start with this character",
	"a value cannot start with this character",
	"the document has ended above",
	"a value is missing here",
	"the quoted text holds an escape that YAML does not know",
	"the document ends within a text in quotes",
	"a list of lines cannot begin here",
	"a `?` cannot stand here",
	"text of several lines cannot begin like this",
	"YAML reads a word that starts with ! as a tag",
	"brackets or lists stand in each other too deep",
	"this cannot be read as YAML",
	"the brackets do not match",
	"this bracket is never closed",
	"text follows the closing quote",
	"expected a key at the indentation of its neighbours",
}

// However a text is damaged, a syntax error is told in our words, with a place in the
// file and with what to do about it.
func TestSyntaxErrorsAreOurs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../specs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	said := map[string]int{}
	check := func(src string) {
		_, found := spec.Parse("test.yaml", []byte(src))
		for _, d := range found {
			if d.Code != "FSM007" {
				continue
			}
			said[d.Message]++
			lines := strings.Split(src, "\n")
			if !slices.Contains(syntaxTexts, d.Message) || d.Hint == "" {
				t.Fatalf("%v says %q, hint %q, of\n%s", d.Pos, d.Message, d.Hint, src)
			}
			if d.Pos.Line < 1 || d.Pos.Line > len(lines) || d.Pos.Col < 1 || d.Pos.Col > len([]rune(lines[d.Pos.Line-1]))+1 {
				t.Fatalf("%v is no place of\n%s", d.Pos, src)
			}
		}
	}
	for _, end := range []string{"x: [", "x: {", "x: [a,", "x: {a: ", "x: [a, {b: c]", "x: \"a", "x: 'a", "x: \"\\q\"", "x: - a", "x: ? a", "x: | a", "x: |0\n a",
		"x: !<a", "x: !a!b c", "x: @a", "x: `a`", "x: *", "x: &", "x: %a", "x: ]", "]", "}", "- a\nb: c", "x: \"\n---\n\"", "x: a: b", "x:\n\ty: 1",
		"x: \"a\" b", "x: " + strings.Repeat("[", 20000)} {
		check("fsm: 1\nmachine: m\n" + end)
		check("fsm: 1\n" + end + "\nentity: M\n")
	}
	signs := []string{"[", "]", "{", "}", "\"", "'", ":", ": ", ",", "- ", "? ", "|", ">", "!", "&", "*", "%", "@", "`", "#", "\t", "\n", "\\", " ", "---\n", "...\n", "!!x ", "\"\\x"}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // damage that can be told again
	for _, file := range files {
		b, err := os.ReadFile(file) //nolint:gosec // our own
		if err != nil {
			t.Fatal(err)
		}
		src := string(b[:min(len(b), 2500)])
		for range 400 {
			i := rnd.IntN(len(src))
			sign := signs[rnd.IntN(len(signs))]
			switch rnd.IntN(4) {
			case 0:
				check(src[:i])
			case 1:
				check(src[:i] + sign + src[i:])
			case 2:
				check(src[:i] + sign + src[i+1:])
			default:
				check(src[:i] + src[i+1:])
			}
		}
	}
	if len(said) < 15 {
		t.Errorf("%d texts were seen, want most of %d: %v", len(said), len(syntaxTexts), said)
	}
}
