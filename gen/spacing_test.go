package gen

import (
	"flag"
	"go/format"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loosened sets every token apart from the one before it, as jennifer does.
func loosened(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "//") {
			b.WriteString(line)
			continue
		}
		list, ok := tokens(nil, strings.TrimSuffix(line, "\n"))
		if !ok {
			t.Fatalf("no tokens in %q", line)
		}
		for i := range list {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(list[i].text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// knownForms are forms of which each is formatted without gofmt.
var knownForms = map[string]string{
	"calls":                "func f() {\na(b, c.d)(e)\nx[i](T{})\n(*T)(p).m()\n[]byte(s)[0] = a.(T).b\nf(xs...)\n}",
	"results":              "func f(a, b T, opts ...pkg.Option) (*T, []map[string]*U, error) {\nreturn &T{}, nil, nil\n}",
	"a pointer result":     "func f() *T {\nreturn p\n}",
	"a method":             "func (m *M) f() error {\nreturn nil\n}",
	"nothing in a body":    "func f() {}",
	"type parameters":      "func f[T any, P interface {\n*T\nio.Reader\n}](x P) error {\nreturn g[T](x)\n}",
	"a generic type":       "type T[A any, B comparable] struct {\nA A\n}\n\ntype U[A any] interface {\nDo(a A) (int, error)\n}",
	"types":                "type A = map[string][]*B\n\ntype F func(a A) error\n\nvar x, y *T\n\nconst c *T = d\n\nvar z [][]int\n\nvar w interface{}\n\nvar e []struct{}",
	"unary operators":      "func f() {\nx = -1\ny := !a && -b < *c\n*p = &q\ng(-1, *p, &q)\nreturn -x, !y\n}",
	"sums":                 "func f() {\nx = a + b\nx = a + b*c\nx = (a + b) * c\nx = f(a + b)\nx = f(a+b, c)\nx = a+b < c\nx = s[a+b]\nx = T{a + b, A: a + b}\nreturn a + b, c\n}",
	"sums in depth":        "func f() {\nx = f(g(a + b))\nx = f(g(a+b), c)\nx = f(g(a+b, c))\nx = a + f(b+c)\nx = a < f(b+c)\nx = (a+b)*c < d\nx = f((a + b) * c)\na, b = c+d, e\na = c + d\nx = a - b - c*d\n}",
	"sums in statements":   "func f() {\nif x := a + b; x < c+d {\ny()\n}\nfor i := 0; i < n-1; i += 2 {\ny()\n}\nswitch a + b {\ncase c + d, e:\ng(1 * time.Hour)\n}\n}",
	"sums of a condition":  "func f() {\nreturn a &&\nb+c < d &&\ne(f+g, h)\n}",
	"remainders":           "func f() {\nx = a % b / c & d\nx += a%b + 1\nx -= 1\n}",
	"sums in declarations": "const (\nA T = iota + 1\nB\n)\n\nvar x = map[string]int{\n\"a\": 1 + 2,\n}",
	"slices":               "func f() {\nx = s[a:b]\ny = s[:]\nz = s[1:]\n}",
	"control":              "func f() {\nif a {\nreturn\n} else if b {\nfor {\nbreak\n}\n} else {\nfor _, x := range []T{a} {\ncontinue\n}\n}\nswitch x := y.(type) {\ncase []byte, nil:\nfallthrough\ndefault:\nc()\n}\nfor i := 0; i < n; i++ {\na()\n}\nfor range x {\nb()\n}\n}",
	"variables in a head":  "func f() {\nif v, ok := x.Get(); ok && (v < -5 || v > 5) {\nreturn\n}\n}",
	"functions":            "var x = T{\nF: func(a A) error { return nil },\nG: func(A) {},\nH: func() (A, error) { b(); return c, d },\nI: func(j *T) error {\nreturn nil\n},\n}",
	"go and defer":         "func f() {\ngo func() {\na()\n}()\ndefer b()\n}",
	"arguments on lines":   "func f() error {\nreturn errors.Join(\na(b),\nc,\n)\n}",
	"parameters on lines":  "func (j T) Switch(\na func(A) error,\nb []T,\n) error {\nreturn nil\n}",
	"literals":             "var x = &T{\nA: []B{\n{C: 1, D: \"x\"},\n{},\nb,\n},\n\"é\": U{},\npkg.K: map[string]int{\"a\": 1, \"b\": 2},\nL: 'x',\n}",
	"a literal in a call":  "func f() {\na(b, T{\nX: 1,\nLong: 2,\n})\nreturn g(h(T{\nX: 1,\n}))\n}",
	"brackets in brackets": "func f() {\na(\nb, c(\nd,\n), e,\n)\n}",
	"fields":               "type T struct {\nio.Reader\n*B\nC[D]\nE\nA *T `json:\"a\"` // x\nLong map[string][]*T `json:\"b\"`\nF func(a A) (B, error)\n}",
	"fields with remarks":  "type T struct {\nA int // x\nLong string\n\nB pkg.T[C] // y\nE []T // z\n}",
	"variables":            "var (\na = f(1)\nlonger = map[string]T{\n\"a\": {1},\n}\n// c is c.\nc = T{} // d\n)",
	"typed constants":      "const (\nA T = 1 // x\nLonger U = 2\n)",
	"imports":              "import (\n\"context\"\n_ \"embed\"\n\"time\"\n\nfsm \"a/b\"\n)",
	"one import":           "import fsm \"a/b\"",
	"remarks":              "func f() {\na() // b\nlonger(c) // d\n\n// e\nif x {\n// g\nh()\n}\n}",
	"a doc comment":        "// F does.\n//\n// Much.\nfunc f() {}",
	"a doc with a list":    "// F does:\n// - a\n//   - b\n//\n// Heading\n//\n// Text ``quoted''.\n//\n//\tcode\nfunc f() {}",
	"a doc of one blank":   "// F does.\n//\nfunc f() {}",
	"a doc after a blank":  "//\n// F does.\nfunc f() {}",
	"a doc with quotes":    "// F is ``quoted''.\nfunc f() {}",
	"a directive":          "//go:embed x.sql\nvar x string",
	"an indented doc":      " // F does:\n // - a\n func f() {}",
	"a doc of another one": "// A list:\n// - a\n\nfunc f() {}",
	"raw strings":          "var x = `a { b` + `c`",
	"many empty lines":     "func f() {\na()\n\n\n\nb()\n}\n\n\n\nvar x = 1",
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for name, text := range knownForms {
		for _, text := range []string{"package p\n\n" + text + "\n", loosened(t, "package p\n\n"+text+"\n")} {
			got, ok := formatKnown(text)
			if !ok {
				t.Errorf("%s is not known:\n%s", name, text)
			}
			if diff := cmp.Diff(formatted(t, text), string(got)); ok && diff != "" {
				t.Errorf("%s (-gofmt +formatted):\n%s", name, diff)
			}
		}
	}
}

// unknownForms are forms that are left to gofmt: it breaks their lines, or takes something
// away, or the blanks depend on more than is looked at.
var unknownForms = map[string]string{
	"a block comment":                "/* a */ var x = 1",
	"a spread number":                "var x = f(1 ...)",
	"a pointer to an interface":      "func f[P *interface{}](p P) {\na()\n}",
	"a number with a point":          "var x = 1.5",
	"a number with an exponent":      "var x = 1e+5",
	"a raw string of several lines":  "var x = `a\nb`",
	"a channel":                      "var x chan int",
	"a receive":                      "func f() {\n<-c\n}",
	"shifts":                         "var x = a << 2",
	"and not":                        "var x = a &^ b",
	"a bit":                          "var x = a | b",
	"a bit by assignment":            "func f() {\nx /= 2\n}",
	"a label":                        "func f() {\na:\nb()\n}",
	"goto":                           "func f() {\ngoto a\na:\n}",
	"select":                         "func f() {\nselect {}\n}",
	"declarations that touch":        "var x = 1\nfunc f() {}",
	"a comment that touches":         "var x = 1\n// F does.\nfunc f() {}",
	"a directive within a doc":       "// F does.\n//go:noinline\nfunc f() {}",
	"only an empty comment":          "//\nfunc f() {}",
	"a case on one line":             "func f() {\nswitch x {\ncase 1: a()\n}\n}",
	"a comment before a case":        "func f() {\nswitch x {\n// a\ncase 1:\n}\n}",
	"a remark at a case":             "func f() {\nswitch x {\ncase 1: // a\n}\n}",
	"a remark at a brace":            "func f() { // a\n}",
	"a remark in a literal":          "var x = T{\na, // b\n}",
	"a remark in a condition":        "func f() {\nx = a && // b\nc\n}",
	"a remark in an interface":       "type T interface {\nA() // b\n}",
	"a remark at a constant":         "const (\nA = iota\nB // b\n)",
	"a comment under a remark":       "func f() {\na() // b\n// c\nd()\n}",
	"a comment in a condition":       "func f() {\nx = a &&\n// b\nc\n}",
	"an empty line in a condition":   "func f() {\nx = a &&\n\nc\n}",
	"an empty line at the beginning": "func f() {\n\na()\n}",
	"an empty line at the end":       "func f() {\na()\n\n}",
	"an empty line after a case":     "func f() {\nswitch x {\ncase 1:\n\na()\n}\n}",
	"a comment at the end":           "func f() {\na()\n// b\n}",
	"an empty literal on two lines":  "var x = T{\n}",
	"an empty struct on two lines":   "type T struct {\n}",
	"a struct on one line":           "type T struct{ a int }",
	"an interface on one line":       "var x interface{ A() }",
	"statements on one line":         "func f() {\na(); b()\n}",
	"a semicolon alone":              "func f() {\nif ; a {\nb()\n}\n}",
	"a function on one line":         "func f() { a() }",
	"a block on one line":            "func f() {\nif a { b() }\n}",
	"six statements on one line":     "var x = T{\nF: func() { a(); b(); c(); d(); e(); f() },\n}",
	"a block in a line":              "var x = T{\nF: func() { if a { b() } },\n}",
	"two functions on one line":      "var x = T{\nF: f(func() { a() }, func() { b() }),\n}",
	"a function in a function":       "var x = T{\nF: func() { a(func() { b() }) },\n}",
	"a name before a function":       "var x = T{\nfuncs: func() { a() },\n}",
	"a body in the middle":           "var x = T{\nF: func() { a(\nb,\n) },\n}",
	"a trailing comma":               "func f() {\na(b,)\n}",
	"one result in parentheses":      "func f() (T) {\nreturn a\n}",
	"no result in parentheses":       "func f() () {\n}",
	"a condition in parentheses":     "func f() {\nif (a) {\nb()\n}\n}",
	"another one":                    "func f() {\nif a(); (b) {\nc()\n}\n}",
	"an array":                       "var x [3]int",
	"an array's literal":             "var x = [3]int{}",
	"a type that is an array":        "type T [N]int",
	"an array as a parameter":        "func f(a [3]*T) {}",
	"an array of slices":             "func f(a [3][]T) {}",
	"literals of functions":          "var x = []func() T{\na,\n}",
	"a slice that is ranged over":    "func f() {\nfor range []T{\na,\n} {\n}\n}",
	"a type in parentheses":          "type T (U)",
	"a field in parentheses":         "type T struct {\na (U)\n}",
	"a parameter in parentheses":     "func f(a (U)) {}",
	"fields of one type":             "type T struct {\nA, B int\n}",
	"an embedded one with a tag":     "type T struct {\nA `x`\n}",
	"an embedded one with a remark":  "type T struct {\nA int // a\npkg.B // b\n}",
	"a tag in quotes":                "type T struct {\nA int \"x\"\n}",
	"remarks and tags":               "type T struct {\nA int `x`\nB int // b\n}",
	"a field of lines":               "type T struct {\nA func(\nb B,\n)\n}",
	"values with and without types":  "var (\na = 1\nb T = 2\n)",
	"variables without values":       "var (\na int\nb string\n)",
	"imports out of order":           "import (\n\"b\"\n\"a\"\n)",
	"an import twice":                "import (\n\"a\"\n\"a\"\n)",
	"a declaration within":           "type (\nA int\n)",
	"a group on one line":            "var (a = 1)",
	"a list that goes on":            "func f() {\nreturn a,\nb\n}",
	"an operator that goes on":       "func f() {\nx = a +\nb\n}",
	"a selector that goes on":        "func f() {\na.\nb()\n}",
	"arguments that go on":           "func f() {\na(b,\nc)\n}",
	"brackets of several lines":      "func f() {\na(\nb{\nc,\n})\n}",
	"one of two brackets":            "func f() {\na(b{\nc,\n}, d)\n}",
	"conditions in parentheses":      "func f() {\nx = (a ||\nb) && c\n}",
	"a condition in a list":          "func f() {\nreturn a, b &&\nc\n}",
	"a condition in a call":          "func f() {\na(\nb &&\nc,\n)\n}",
	"sums on lines":                  "func f() {\na(\nb+c,\n)\n}",
	"a sum behind a bracket":         "var x = f(T{\na,\n}) + 1",
	"a sum before another call":      "func f() {\na(b + c)[d]()\n}",
	"a sum in a slice":               "func f() {\na = b[c+1 : d]\n}",
	"a sum as a length":              "var x = [][a + 1]int{}",
	"a sum in a part of a condition": "func f() {\nx = (a+b)*c < d &&\ne\n}",
	"a sum on the left":              "func f() {\na, b * c = d, e\n}",
	"a sum that is counted":          "func f() {\na * b++\n}",
	"a difference of negatives":      "var x = a - -b",
	"a pointer to a pointer":         "var x = **a",
	"a long key":                     "var x = T{\na + b: 1,\nc: 2,\n}",
	"a rune as a key":                "var x = T{\n'a': 1,\n'b': 2,\n}",
	"a value on the next line":       "var x = T{\nA:\nb,\n}",
	"a literal behind another":       "var x = T{\nA: b, C: D{\ne,\n},\n}",
	"a block alone":                  "func f() {\n{\na()\n}\n}",
	"an open bracket":                "func f() {",
	"a bracket too many":             "func f() {}\n\n}",
	"the wrong bracket":              "func f() {\na(b]\n}",
	"half a text":                    "var x = \"a",
	"no token":                       "var x = #",
	"a condition without an end":     "var x = a &&",
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	for name, text := range unknownForms {
		text = "package p\n\n" + text + "\n"
		if got, ok := formatKnown(text); ok {
			t.Errorf("%s is known:\n%s", name, got)
		}
		got, err := formatGo(text)
		want, wantErr := format.Source([]byte(text))
		if wantErr == nil {
			want, _ = format.Source(want)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, gofmt says %v (-gofmt +formatGo):\n%s", name, err, wantErr, diff)
		}
	}
}

var mutations = flag.Int("mutations", 500, "how many changed declarations are compared with what gofmt makes of them")

// Declarations of generated files are changed at random: what is known of them is
// formatted as gofmt does.
func TestMutations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var declared []string
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		declared = append(declared, strings.SplitAfter(string(text), "\n\n")...)
	}
	r := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for range *mutations {
		text := "package p\n\n" + mutated(r, loosened(t, declared[r.IntN(len(declared))]))
		got, ok := formatKnown(text)
		want, err := format.Source([]byte(text))
		if !ok || err != nil { // gofmt looks at the meaning, too
			continue
		}
		compared++
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-gofmt +formatted):\n%s", text, diff)
		}
	}
	if compared < *mutations/10 {
		t.Errorf("%d of %d are known", compared, *mutations)
	}
}

// mutated changes one or two tokens of a loose text.
func mutated(r *rand.Rand, text string) string {
	others := strings.Split("( ) [ ] { } , ; : . * + - & ! % == && = := ... x 1 \"a\" func return if go type var [] struct{} interface{} a.b f(x) x[i] x[i:j] i++ map[string]int \n \n\n //\n", " ")
	list := strings.SplitAfter(text, " ")
	for n := 1 + r.IntN(2); n > 0; n-- {
		i, j, other := r.IntN(len(list)), r.IntN(len(list)), others[r.IntN(len(others))]+" "
		switch r.IntN(4) {
		case 0:
			list[i] = ""
		case 1:
			list[i] = other + list[i]
		case 2:
			list[i] = other
		case 3:
			list[i], list[j] = list[j], list[i]
		}
	}
	return strings.Join(list, "")
}
