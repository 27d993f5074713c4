package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"
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
	f.ImportAlias(runtimePath, "fsm")
	for path, name := range map[string]string{"database/sql/driver": "driver"} {
		f.ImportName(path, name)
	}
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
	return groupImports(src), nil
}

// groupImports sets the runtime apart from the standard library, as goimports
// does, which would cost more time than all of the rest.
func groupImports(src []byte) []byte {
	line := []byte("\tfsm \"" + runtimePath + "\"\n")
	head, rest, ok := bytes.Cut(src, []byte("\n)\n"))
	if !ok || bytes.Count(head, []byte("\n\t")) < 2 || !bytes.Contains(append(head, '\n'), line) {
		return src
	}
	head = bytes.Replace(append(head, '\n'), line, nil, 1)
	return slices.Concat(head, []byte("\n"), line, []byte(")\n"), rest)
}

// raw is an expression or a statement that is written as it stands. Names of
// the packages time and fsm may stand in it: every generated file that uses
// raw imports both by a qualified name elsewhere.
func raw(format string, args ...any) *jen.Statement {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	return jen.Id(format)
}

// fsmName is an exported name of the runtime.
func fsmName(name string) *jen.Statement { return jen.Qual(runtimePath, name) }

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
		for _, line := range wrap(p, docWidth-3-4*indent) {
			s.Comment("// " + plainComment(line)).Line()
		}
	}
	return s
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

// durationExpr returns a duration as Go code, in the largest unit that fits.
func durationExpr(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%time.Hour == 0:
		return fmt.Sprintf("%d * time.Hour", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d * time.Minute", d/time.Minute)
	}
	return fmt.Sprintf("%d * time.Second", d/time.Second)
}

// withArticle puts "a" or "an" before a noun.
func withArticle(noun string) string {
	if strings.ContainsRune("aeiouAEIOU", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
