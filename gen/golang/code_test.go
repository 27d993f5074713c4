package golang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func id(text string) *Code { return New().Id(text) }

// Each piece is spaced as gofmt spaces it.
func TestCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  *Code
		want string
	}{
		{New(), ""},
		{id("a").Id("").Id("b").Add(New(), id("c")), "a b c"},
		{id("func").Params(id("a int"), id("b string")).Id("error"), "func(a int, b string) error"},
		{id("func").Params().Params(id("A"), id("error")), "func() (A, error)"},
		{id("func").Params().Index().Id("T"), "func() []T"},
		{id("func").Params().Op("*").Qual(Runtime, "Refusal"), "func() *fsm.Refusal"},
		{id("func").Id("f").Add(id("[T any](t T) error")), "func f[T any](t T) error"},
		{id("func").Id("f").Add(id("(t any) error")), "func f(t any) error"},
		{id("func").Id("f").Add(New().Types(id("T any"), id("P").Interface(id("*T")))).Params(), "func f[T any, P interface {\n*T\n}]()"},
		{id("Core").Add(id("[]byte")), "Core []byte"},
		{id("Core").Add(id("[...]byte")), "Core [...]byte"},
		{id("core").Op("*").Qual(Runtime, "Machine").Index(id("Job")), "core *fsm.Machine[Job]"},
		{id("x").Op("=").Index(Op("...")).Id("string").Values(Lit("a"), Lit(1)), `x = [...]string{"a", 1}`},
		{id("x").Op(":=").Map(id("string")).Id("int").Values(), "x := map[string]int{}"},
		{id("a").Index().Id("b"), "a []b"},
		{id("a").Index(id("b")).Index(id("c")), "a[b][c]"},
		{id("Key").Op(":").Op("&").Add(id("T")).Values(Line().Id("A").Op(":").Lit("b"), nil, New(), Line()), "Key: &T{\nA: \"b\",\n}"},
		{id("T").Values(Line()), "T{}"},
		{id("f").Call(id("a"), Line().Id("b"), Line()), "f(a,\nb,\n)"},
		{New().List(id("a"), id("b")).Op("=").Id("!c"), "a, b = !c"},
		{id("!").Id("c"), "!c"},
		{id("do := ").Add(id("x")), "do := x"},
		{Return(), "return"},
		{Return(id("a"), id("nil")), "return a, nil"},
		{Return(id("a")).Op(",").Id("nil"), "return a, nil"},
		{If(id("err := f()"), id("err != nil")).Block(Return()), "if err := f(); err != nil {\nreturn\n}"},
		{For(id("range x")).Block(), "for range x {\n}"},
		{Switch(New()).Block(Case(id("a"), id("b")).Block(), Default().Block(id("c"), id("d"))), "switch {\ncase a, b:\ndefault:\nc\nd\n}"},
		{Case(id("a")).Block(id("b").Block()), "case a:\nb {\n}"},
		{id("type").Id("T[A any]").Struct(id("A int").Tag("a,omitzero").Comment("one"), Line(), Line().Comment("// two")), "type T[A any] struct {\nA int `json:\"a,omitzero\"` // one\n\n\n// two\n}"},
		{id("var").Defs(id("a")), "var (\na\n)"},
		{New().Comment("a").Line().Id("b"), "// a\nb"},
		{New().BlockFunc(func(g *Group) { g.Add(id("a")).Id("b"); g.Line(); g.Line().Id("c") }), "{\na b\n\n\nc\n}"},
	} {
		if diff := cmp.Diff(c.want, string(c.got.text)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A piece that was handed on is not seen to change.
func TestCodeIsCopied(t *testing.T) {
	t.Parallel()
	part := id("a")
	whole := Return(part)
	part.Op("=").Qual("time", "Time")
	if got := string(whole.text); got != "return a" || whole.imports != 0 {
		t.Errorf("got %q with imports %b, expected the piece as it was", got, whole.imports)
	}
}

// A file is what gofmt makes of it: its imports, those of the parts within parts, its
// declarations, and doc comments that mean something to gofmt.
func TestFile(t *testing.T) {
	t.Parallel()
	texts := []string{
		"Plain is plain.", "A ``quoted'' word.", "It's ''.", "One.\n\nHeading\n\nTwo.", "One.\n\n# Heading\n\nTwo.", "# One\n\nTwo.", "One.\n\nTwo\n\n", "One\n\nTwo.",
		"List:\n  - a\n    b\n  - c", "[a]: https://example.com", "See [a].\n\n[a]: https://example.com", "- no list\n1. no list", "One:\n\n    code\n\nTwo.", "  code", "a  b", "#", "[",
	}
	for _, text := range texts {
		for _, packages := range [][]string{nil, {Runtime}, {"time"}, {"database/sql/driver", "context"}, {"strconv", Runtime, "database/sql", "slices"}} {
			for _, embeds := range []bool{false, true} {
				doc := New()
				for line := range strings.SplitSeq(text, "\n") {
					doc.Comment(strings.TrimRight("// "+line, " ")).Line()
				}
				f := NewFile("p", "Code generated.", doc)
				f.Line()
				f.Add(doc).Id("func").Id("f").Params().Block()
				f.Line()
				f.Add(doc).Id("func").Params(id("t T")).Id("f").Params().BlockFunc(func(g *Group) {
					for _, p := range packages {
						g.Add(If(id("a")).Block(Return(Params(New().Qual(p, "X")))))
					}
				})
				f.Line()
				f.Add().Id("func").Params(id("t *T")).Id("f").Params().Block()
				if embeds {
					f.Embed()
				}
				got := string(f.Bytes())
				if diff := cmp.Diff(formatted(t, got), got); diff != "" {
					t.Errorf("%q, %v, %v (-gofmt +file):\n%s", text, packages, embeds, diff)
				}
				for _, p := range packages {
					if !strings.Contains(got, fmt.Sprintf("%q\n", p)) {
						t.Errorf("%v: %s is not imported:\n%s", packages, p, got)
					}
				}
				if strings.Contains(got, `_ "embed"`) != embeds || !strings.HasPrefix(got, "// Code generated.\n\n//") {
					t.Errorf("embeds %v:\n%s", embeds, got)
				}
			}
		}
	}
	f := NewFile("p", "Code generated.", nil)
	f.Line()
	f.Add(New().Comment("The end."))
	if got := string(f.Bytes()); got != "// Code generated.\n\npackage p\n\n// The end.\n" {
		t.Errorf("a file with a comment is %q", got)
	}
	if got := string(NewFile("p", "Code generated.", nil).Bytes()); got != "// Code generated.\n\npackage p\n" {
		t.Errorf("an empty file is %q", got)
	}
}

// A package that the list lacks is a mistake of an emitter.
func TestUnknownPackage(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New().Qual("os", "Exit")
}
