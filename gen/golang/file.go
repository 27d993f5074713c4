package golang

import (
	"go/doc/comment"
	"strings"
)

// imports is a set of packages: a bit for each, by its place in the list.
type imports uint16

// packages are those that generated code may import, in the order of gofmt, and with
// the names that it calls them by. The last one is the runtime, which stands apart.
var packages = []struct{ path, name string }{
	{"context", "context"},
	{"database/sql", "sql"},
	{"database/sql/driver", "driver"},
	{"embed", "_"},
	{"errors", "errors"},
	{"fmt", "fmt"},
	{"iter", "iter"},
	{"slices", "slices"},
	{"strconv", "strconv"},
	{"time", "time"},
	{Runtime, "fsm"},
}

// Runtime is the import path of the runtime.
const Runtime = "github.com/fsmgen/fsmgen/runtime"

// packageOf returns the place of a package in the list.
func packageOf(path string) int {
	for i, p := range packages {
		if p.path == path {
			return i
		}
	}
	panic("golang: generated code does not import " + path) // the list above is all that it may
}

// File is a Go file in the making.
type File struct {
	first   string // comment at its head
	clause  *Code  // of the package, with its doc
	imports imports
	items   []*Code
}

// NewFile begins a file of a package. The first comment says where the file comes
// from; doc is the package's, or nil.
func NewFile(name, first string, doc *Code) *File {
	clause := New()
	if doc != nil {
		clause.Add(doc)
	}
	return &File{first: "// " + first + "\n\n", clause: clause.Id("package").Id(name)}
}

// Embed imports package embed for its directive.
func (f *File) Embed() { f.imports |= 1 << packageOf("embed") }

// Add begins a declaration with the pieces; Line sets it apart from the one before.
func (f *File) Add(list ...*Code) *Code {
	c := &Code{top: true}
	c.Add(list...)
	f.items = append(f.items, c)
	return c
}

// Line writes an empty line between declarations.
func (f *File) Line() { f.Add(New().Line()) }

// Bytes returns the file as gofmt leaves it.
func (f *File) Bytes() []byte {
	size, imports := len(f.clause.text)+512, f.imports
	for _, c := range f.items {
		size, imports = size+len(c.text)+1, imports|c.imports
	}
	l := layouter{out: make([]byte, 0, size+size/4)}
	l.text(f.first)
	l.text(commented(string(f.clause.text)))
	l.text(imports.String())
	for _, c := range f.items {
		l.text(commented(string(c.text)))
	}
	return l.end()
}

// String returns the import declaration with an empty line on both sides.
func (x imports) String() string {
	var list []string
	for i, p := range packages {
		if x&(1<<i) == 0 {
			continue
		}
		line := `"` + p.path + `"`
		if name := p.path[strings.LastIndex(p.path, "/")+1:]; name != p.name {
			line = p.name + " " + line
		}
		if p.path == Runtime && len(list) > 0 {
			line = "\n" + line
		}
		list = append(list, line)
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "\nimport " + list[0] + "\n\n"
	}
	return "\nimport (\n" + strings.Join(list, "\n") + "\n)\n\n"
}

// commented returns a declaration with its doc comment as gofmt writes it. It has the
// same form already, unless it holds what can mean something there: a list, a heading,
// a link, quotes.
func commented(decl string) string {
	end := 0
	for strings.HasPrefix(decl[end:], "//") {
		n := strings.IndexByte(decl[end:], '\n') + 1
		if n == 0 {
			return decl
		}
		end += n
	}
	text := decl[:end]
	if strings.Count(text, "//\n") < 2 && !strings.Contains(text, "// #") && !strings.Contains(text, "// [") && !strings.Contains(text, "//  ") &&
		!strings.Contains(text, "``") && !strings.Contains(text, "''") {
		return decl
	}
	var plain strings.Builder
	for line := range strings.Lines(text) {
		plain.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "))
	}
	var b strings.Builder
	for line := range strings.Lines(string(new(comment.Printer).Comment(new(comment.Parser).Parse(plain.String())))) {
		switch {
		case line == "\n":
			b.WriteString("//")
		case line[0] == '\t':
			b.WriteString("//")
		default:
			b.WriteString("// ")
		}
		b.WriteString(line)
	}
	return b.String() + decl[end:]
}
