package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
)

// docWidth is the width of a doc comment, the marker included.
const docWidth = 80

// newFile starts a Go file of the generated package.
func newFile(n *names) *jen.File {
	f := jen.NewFile(n.Package)
	f.HeaderComment("// " + header)
	f.ImportAlias("database/sql/driver", "sqldriver") // driver is that of the runtime
	return f
}

// render returns the text of a file, formatted.
func render(f *jen.File) ([]byte, error) {
	f.NoFormat = true // it would format once more what is formatted here
	var b bytes.Buffer
	if err := f.Render(&b); err != nil {
		return nil, err
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format: %w", err)
	}
	return importRuntime(src), nil
}

// runtimePackages are the packages of the runtime that generated code uses, by the
// name that stands in the code, in the order of their paths.
var runtimePackages = []struct{ name, path string }{
	{"fsm", runtimePath},
	{"driver", runtimePath + "/driver"},
	{"fsmimpl", runtimePath + "/fsmimpl"},
	{"worker", runtimePath + "/worker"},
}

// runtimeImports returns a line for each package of the runtime that code uses.
func runtimeImports(code []byte) (lines []string) {
	used := selected(code)
	for _, p := range runtimePackages {
		switch {
		case used[p.name] && p.name == "fsm":
			lines = append(lines, fmt.Sprintf("fsm %q", p.path))
		case used[p.name]:
			lines = append(lines, strconv.Quote(p.path))
		}
	}
	return lines
}

// selected returns the names behind which code selects an exported one.
func selected(code []byte) map[string]bool {
	used := map[string]bool{}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(code)), code, nil, 0)
	for name, selected := "", false; ; {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return used
		case tok == token.PERIOD:
			selected = true
		case tok == token.IDENT && selected:
			used[name] = used[name] || token.IsExported(text)
			name, selected = "", false
		default:
			name, selected = text, false
		}
	}
}

// importRuntime adds the imports of the runtime's packages to a formatted file, apart
// from those of the standard library, as goimports does.
func importRuntime(src []byte) []byte {
	lines := runtimeImports(src)
	if len(lines) == 0 {
		return src
	}
	own := "\t" + strings.Join(lines, "\n\t") + "\n)\n"
	if head, rest, ok := bytes.Cut(src, []byte("\nimport (\n")); ok {
		std, rest, _ := bytes.Cut(rest, []byte("\n)\n"))
		stdLines := strings.Split(string(std), "\n")
		for _, line := range stdLines {
			if isOutside(line) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		slices.SortStableFunc(lines, func(a, b string) int {
			return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
		})
		stdLines = slices.DeleteFunc(stdLines, isOutside)
		return slices.Concat(head, []byte("\nimport (\n"+strings.Join(stdLines, "\n")+"\n\n\t"+strings.Join(lines, "\n\t")+"\n)\n"), rest)
	}
	if head, rest, ok := bytes.Cut(src, []byte("\nimport ")); ok {
		std, rest, _ := bytes.Cut(rest, []byte("\n"))
		return slices.Concat(head, []byte("\nimport (\n\t"), std, []byte("\n\n"+own), rest)
	}
	clause := regexp.MustCompile(`(?m)^package \w+\n`).FindIndex(src)
	if len(lines) == 1 {
		own = "import " + lines[0] + "\n"
	} else {
		own = "import (\n" + own
	}
	return slices.Concat(src[:clause[1]], []byte("\n"+own), src[clause[1]:])
}

// isOutside reports whether a line imports a package that is not of the standard library: that of
// another machine.
func isOutside(line string) bool {
	_, path, _ := strings.Cut(line, `"`)
	root, _, _ := strings.Cut(path, "/")
	return strings.Contains(root, ".")
}

// raw is an expression or a statement that is written as it stands. Names of
// the package time and of the packages of the runtime may stand in it: every generated
// file that uses raw imports time by a qualified name elsewhere, and render imports
// the runtime.
func raw(format string, args ...any) *jen.Statement {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return jen.Id(format)
}

// doc returns a doc comment: paragraphs wrapped at docWidth. Lines that begin
// with a tab or a hyphen keep their breaks, as in a list.
func doc(paragraphs ...string) *jen.Statement { return docIndented(0, paragraphs...) }

// docIndented is doc for a comment that stands indent tabs deep.
func docIndented(indent int, paragraphs ...string) *jen.Statement {
	s := &jen.Statement{}
	first := true
	for _, p := range paragraphs {
		if p == "" {
			continue
		}
		if !first {
			s.Comment("//").Line()
		}
		first = false
		for _, line := range wrap(doubled.ReplaceAllStringFunc(p, goText), docWidth-3-4*indent) {
			s.Comment("// " + plainComment(line)).Line()
		}
	}
	return s
}

// doubled finds texts of a specification that hold two single quotes, which gofmt takes for
// a sign of typography.
var doubled = regexp.MustCompile(`'(?:[^']*'')+[^']*'`)

// goText writes a text of a specification as Go does.
func goText(text string) string {
	return strconv.Quote(strings.ReplaceAll(text[1:len(text)-1], "''", "'"))
}

// plainComment keeps a line of a text from being read as a build constraint,
// which `go vet` refuses there.
func plainComment(line string) string {
	if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "+build"); ok {
		return "`+build`" + rest
	}
	return line
}

// wrap breaks a text into lines of at most width characters. The lines of a
// list, which begin with "  - ", stay lines of their own.
func wrap(text string, width int) []string {
	var lines []string
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		prefix, indent := "", ""
		if rest, ok := strings.CutPrefix(part, "  - "); ok {
			prefix, indent, part = "  - ", "    ", rest
		}
		line := prefix
		empty := true
		for _, w := range strings.Fields(part) {
			switch {
			case empty:
				line += w
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width:
				lines = append(lines, line)
				line = indent + w
			default:
				line += " " + w
			}
			empty = false
		}
		if !empty {
			lines = append(lines, line)
		}
	}
	return lines
}

// sentence makes a text of the specification a sentence: folded, with a full
// stop. An empty text stays empty.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// phrase puts a text of the specification behind a colon or a comma: folded,
// and without the full stop at its end.
func phrase(text string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// lead writes the first letter small, unless the word is an abbreviation or a name.
func lead(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[size:])
	if !unicode.IsUpper(first) || unicode.IsUpper(second) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// list joins words: "a", "a and b", "a, b and c".
func list(words []string, conjunction string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// brief is list for comments: nobody reads hundreds of names.
func brief(words []string, conjunction string) string {
	const most = 20
	if len(words) <= most {
		return list(words, conjunction)
	}
	return list(append(slices.Clone(words[:most/2]), fmt.Sprintf("one of %d others", len(words)-most/2)), conjunction)
}

// durationExpr returns a duration as Go code, in the largest unit that fits.
func durationExpr(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%time.Hour == 0:
		return countOfUnit(d/time.Hour, "time.Hour")
	case d%time.Minute == 0:
		return countOfUnit(d/time.Minute, "time.Minute")
	case d%time.Second == 0:
		return countOfUnit(d/time.Second, "time.Second")
	case d%time.Millisecond == 0:
		return countOfUnit(d/time.Millisecond, "time.Millisecond")
	}
	return countOfUnit(d/time.Microsecond, "time.Microsecond")
}

// withArticle puts "a" or "an" before a noun.
func withArticle(noun string) string {
	if strings.ContainsRune("aeiouAEIOU", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
