package gen

import (
	"fmt"
	"go/build/constraint"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"one", []string{"one"}},
		{"  one\t two ", []string{"one two"}},
		{"one two three", []string{"one two", "three"}},
		{"äöü äö three", []string{"äöü äö", "three"}},
		{"averylongword b", []string{"averylongword", "b"}},
		{"head:\n  - one two\n  - 3", []string{"head:", "  - one", "    two", "  - 3"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, 8)); diff != "" {
			t.Errorf("wrap(%q) (-want +got):\n%s", c.text, diff)
		}
	}
}

// A text is no build constraint wherever its lines break: `go vet` refuses one
// below the package clause.
func TestCommentIsNoConstraint(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"+build ignore", "a word\n +build linux", strings.Repeat("x", docWidth-4) + " +build ignore", "  - +build x"} {
		for line := range strings.Lines(fmt.Sprintf("%#v", doc(text))) {
			if constraint.IsPlusBuild(strings.TrimSuffix(line, "\n")) {
				t.Errorf("doc(%q) has the line %q", text, line)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, got, want string }{
		{"sentence", sentence("a  b\nc"), "a b c."},
		{"sentence that ends", sentence("what now?"), "what now?"},
		{"no sentence", sentence(" "), ""},
		{"phrase", phrase("the end."), "the end"},
		{"lead", lead("The end"), "the end"},
		{"lead of an abbreviation", lead("JSON of it"), "JSON of it"},
		{"lead of a letter", lead("A"), "a"},
		{"lead of nothing", lead(""), ""},
		{"none", list(nil, "or"), ""},
		{"one", list([]string{"a"}, "or"), "a"},
		{"three", list([]string{"a", "b", "c"}, "or"), "a, b or c"},
		{"brief", brief([]string{"a", "b", "c"}, "or"), "a, b or c"},
		{"hundreds", brief(slices.Repeat([]string{"a", "b"}, 100), "or"), "a, b, a, b, a, b, a, b, a, b or one of 190 others"},
		{"seconds", durationExpr(90 * time.Second), "90 * time.Second"},
		{"minutes", durationExpr(10 * time.Minute), "10 * time.Minute"},
		{"hours", durationExpr(48 * time.Hour), "48 * time.Hour"},
		{"article", withArticle("Execution") + ", " + withArticle("Job"), "an Execution, a Job"},
		{"unexported", lowerFirst("ClaimNext") + " " + lowerFirst("IDCheck") + " " + lowerFirst("ID") + " " + lowerFirst("X"), "claimNext idCheck id x"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, expected %q", c.name, c.got, c.want)
		}
	}
}

// BenchmarkGenerate measures one specification, parsed already.
func BenchmarkGenerate(b *testing.B) {
	src, err := os.ReadFile("../specs/lifecycle.yaml")
	if err != nil {
		b.Fatal(err)
	}
	m, found := spec.Parse("lifecycle.yaml", src)
	if found.HasErrors() {
		b.Fatal(found)
	}
	for b.Loop() {
		if _, err := Generate(m, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
