package gen

import (
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// formatted returns what gofmt makes of a file, and again of that: only then are all doc
// comments in their form.
func formatted(t *testing.T, text string) string {
	t.Helper()
	want, err := format.Source([]byte(text))
	if err == nil {
		want, err = format.Source(want)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(want)
}

// What layout makes of lines is what gofmt makes of them.
func TestLayout(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 40)
	for name, text := range map[string]string{
		"nothing":   "",
		"a comment": "// {(\n\n\nvar x = 1 // ) }",
		"fields with tags": "type T struct {\nID string `json:\"id\"`\nState State `json:\"state\"` // where it is\nRev int64 `json:\"rev\"` // 1, 2\n\n" +
			"LongName fsm.Optional[string] `json:\"long\"`\nB int `json:\"b\"`\n}",
		"fields without tags":        "type T struct {\nOperation Operation\nFrom State // zero for a creation\nTo State // after\nhandle\nAt time.Time\n// Doc\nRecordOnly bool\nX int\n}",
		"a field that is a function": "type T struct {\nWorkerOptions\n\n// Work does.\nWork func(ctx context.Context) error\nA int\n}",
		"an interface":               "type T[P interface {\n*int\nScanner\n}] interface {\n// A does.\nA(ctx context.Context, j Job) error\nLonger() error\n}",
		"constants":                  "const (\nA State = iota + 1\nLonger\n// C is\nC\n)",
		"constants with values":      "const (\nA State = 1 // first\nLonger S = 2\nB Longest = 3\n\nX = 1\n)",
		"variables":                  "var (\na = 1\nlonger = 2 // b\n// c is\nc = f(3)\nlongest = []int{\n1,\n}\nd = 4\n)",
		"a variable of lines":        "var (\na = &T{\nA: 1,\nLong: 2,\n}\n\nlonger = 1\n)",
		"pairs":                      "var x = T{\nA: 1,\nLonger: []int{\n1, 2,\n},\nB: 2,\nLongest: 3,\n\"é\": 4,\n\"ab\": 5,\n\"a\\\"b: \": 6,\n}",
		"keys of many lengths":       "var x = map[string]int{\n\"" + strings.Repeat("a", 60) + "\": 1,\n\"b\": 2,\n\"" + strings.Repeat("c", 30) + "\": 3,\n\"" + strings.Repeat("d", 45) + "\": 3,\n}",
		"a very long key":            "var x = T{\n" + long + ": 1,\n" + long + long + ": 2,\nA: 1,\nB: 3,\n}",
		"very different names":       "type T struct {\n" + long + " int // a\nB int // b\n}",
		"several on a line":          "var x = T{\nA: 1, B: 2,\nLonger: 3,\nC: 4,\n}",
		"elements":                   "var x = []T{\n{A: 1},\n{A: 1, B: []int{2}},\na,\n}",
		"pairs within pairs":         "var x = T{\nA: T{\nLonger: f(\n1,\n),\nB: 2,\n},\nB: func() error {\nreturn nil\n},\nC: 1,\n}",
		"a switch":                   "func f() {\nswitch x {\ncase 1:\ncase 2, 3:\nreturn // done\ndefault:\ng()\nh(1) // twice\nlonger(2) // thrice\n}\n}",
		"parameters on lines":        "func (j T) Switch(\na func(A) error,\nlonger func(B) error,\n) error {\nreturn nil\n}",
		"two brackets at once":       "func f() error {\nreturn errors.Join(f(T{\nA: 1,\nLong: 2,\n}))\n}",
		"a condition that goes on":   "func f() bool {\nif a &&\nb ||\nc {\nreturn true\n}\nreturn a &&\nb &&\nc\n}",
		"conditions in conditions": "func f() {\nswitch {\ncase a &&\n(b ||\nc ||\nd) &&\ne:\ng()\n}\nif (a ||\nb) &&\nc &&\n(d ||\ne) {\ng()\n}\n" +
			"if a &&\n(b ||\nc) {\ng()\n}\nx = a &&\nb\ny(1)\n}",
		"pairs after a condition":       "var x = T{\nA: a &&\nb,\nLonger: 1,\nB: 2,\n}",
		"a comment after a condition":   "func f() {\nx = a &&\nb\n// c &&\nd()\n}",
		"raw strings":                   "const x = `\n\t{ a\n  b ( \"\n\n\n`\n\nvar y = T{\nA: `a }`,\nLonger: `b\nc`,\nB: 1,\n}",
		"runes":                         "func f(b byte) bool {\nreturn b == '{' || b == '\\'' || b == '\"'\n}",
		"words that look like brackets": "var x = []string{\n\"a { b }\", \"c)\",\n\"func() { a; b } // c " + long + "\",\n}",
		"empty lines":                   "import \"fmt\"\n\n\n\nfunc f() {\na()\n\n\nb()\n}",
		"imports":                       "import (\n\"context\"\n_ \"embed\"\n\nfsm \"a/b\"\n)",
		"a function in a text":          "var x = T{\nF: func() string { return \"a } b; \" },\nG: func() error { return h(\"" + long + "\", T{1}) },\n}",
	} {
		text = "package p\n\n" + text + "\n"
		if diff := cmp.Diff(formatted(t, text), string(layout(text))); diff != "" {
			t.Errorf("%s (-gofmt +layout):\n%s", name, diff)
		}
	}
}

// A function stays on one line up to the length that gofmt leaves there.
func TestLayoutOfFunctions(t *testing.T) {
	t.Parallel()
	for n := 80; n < 120; n++ {
		text := "package p\n\nvar x = T{\nF: func() error { return " + strings.Repeat("v", n-len("func() error")-len("return ")) + " },\nLonger: 1,\n}\n"
		if diff := cmp.Diff(formatted(t, text), string(layout(text))); diff != "" {
			t.Errorf("signature and statement of %d bytes (-gofmt +layout):\n%s", n, diff)
		}
	}
}

// Keys are aligned up to the difference in length that gofmt allows.
func TestLayoutOfKeys(t *testing.T) {
	t.Parallel()
	for n := 1; n < 130; n++ {
		text := "package p\n\nvar x = T{\n"
		for _, size := range []int{n, 41, 16, 17, 40, n + 1, 42} {
			text += strings.Repeat("k", size) + ": 1,\n"
		}
		text += "}\n"
		if diff := cmp.Diff(formatted(t, text), string(layout(text))); diff != "" {
			t.Errorf("keys of %d and 41 bytes (-gofmt +layout):\n%s", n, diff)
		}
	}
}

// What jennifer writes is formatted as by gofmt.
func TestFormat(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a function as jennifer has it":       "func (s *State) String (a int,b ...string) ([]byte,error) {\nreturn nil,fmt.Errorf (\"a,b ( %d\",uint8(s), 'x',',')\n}\n\n\nfunc F [T any] (x T) [] T {\n}\n\nfunc G () {\n}",
		"literals as jennifer has them":       "var x = [...] string {\n A : \"a:b\",\n Longer : \"b\",\n}\nvar y = &T {\n A : [] fsm.B {\n},\n Bcd : func (j *J,_ int) [] V {\nreturn [] V {a,b}\n},\n C : map[string] fsm.D {},\nE: handle {f (a)},\n}",
		"types as jennifer has them":          "type T struct{\nID string `json:\"id\"`\nA [] int `json:\"a\"`\n}\n\n\ntype I[T any] interface{\nF (ctx context.Context,x T) error\n}\n\ntype E[T any] struct{ fx *T }",
		"statements as jennifer has them":     "func f() {\nif err := g();err != nil {\nreturn\n}\nfor _, x := range a[b] {\nh (x) \n}\nswitch {\ncase a,b: \nreturn (c)\ncase (d || e) && f: \ni()\ndefault: \nj[k] = l\n}\nin := func (s ...S) int {\nreturn 1\n}\ndo :=  w.F [J] {\n A : a [i] ,\n}\nif a ||\nb {\nm(a, in, do)\n}\nreturn\n}",
		"a function in a line as it is":       "func f() {\nx = func(a int) error { return b(c{d{e}}) }\ny = [] int {1,2}\nz = *p / len (q)\n}",
		"declarations as jennifer has them":   "var (\n a = errors.New (\"x\")\n bcd = [] string {\"a\"}\n)\n\nconst (\nA B = iota + 1\n\nC\n)",
		"pointers to elements":                "var x = [] *fsm.Operation[J] {\n a,\n}\nvar y = map[string] *int {}",
		"parameters on lines as jennifer has": "func (j T) Switch (\n a func(A) error,\n b func(B) error,\n) error {\nreturn nil\n}\n\nfunc s[T any,P interface{\n*T\nS\n}] (r R) error {\nreturn nil\n}",
	} {
		text = "package p\n\n" + text + "\n"
		got, err := formatGo(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(formatted(t, text), string(got)); diff != "" {
			t.Errorf("%s (-gofmt +formatGo):\n%s", name, diff)
		}
	}
}

// A doc comment is what gofmt makes of it, where it means something there.
func TestFormatOfComments(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		"Plain is plain.", "A ``quoted'' word.", "It's ''.", "One.\n\nHeading\n\nTwo.", "One.\n\n# Heading\n\nTwo.", "# One\n\nTwo.", "One.\n\nTwo\n\n", "One\n\nTwo.",
		"List:\n  - a\n    b\n  - c", "[a]: https://example.com", "See [a].\n\n[a]: https://example.com", "- no list\n1. no list", "One:\n\n    code\n\nTwo.", "  code", "a  b", "#", "[",
	} {
		comment := strings.ReplaceAll("// "+strings.ReplaceAll(doc, "\n", "\n// "), "// \n", "//\n")
		for _, text := range []string{
			comment + "\npackage p\n\n" + comment + "\nfunc f() {\n\t" + strings.ReplaceAll(comment, "\n", "\n\t") + "\n}\n",
			"package p\n\n" + comment + "\n\n//go:embed a\nvar a string\n\n" + comment + "\n",
		} {
			got, err := formatGo(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(formatted(t, text), string(got)); diff != "" {
				t.Errorf("%q (-gofmt +formatGo):\n%s", doc, diff)
			}
		}
	}
}
