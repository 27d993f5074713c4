// Package golang writes Go text in the form that gofmt gives it, without gofmt: every
// piece is spaced as it is put together, and Layout indents and aligns the lines.
// go/format would parse all of it again and measure it on each level, which takes
// more time than the rest of generating. A test holds every generated file equal to
// what gofmt makes of it.
//
// It knows what the emitters of package gen write, not all of Go: expressions stand
// in the text as they are handed in, so they must be spaced already.
package golang

import (
	"fmt"
	"strconv"
	"strings"
)

// Code is a piece of Go text: an expression, a statement, a declaration. Its methods
// write behind what it has and return it. A piece that is handed to another one is
// copied; what it gets later does not show there.
type Code struct {
	text    []byte
	imports imports
	top     bool // it stands in a file, not in a block
	label   bool // a case: its block has no braces
}

// New returns an empty piece.
func New() *Code { return &Code{} }

// add writes what stands as it is.
func (c *Code) add(text string) *Code {
	c.text = append(c.text, text...)
	return c
}

// join writes what another piece has.
func (c *Code) join(x *Code) {
	c.text = append(c.text, x.text...)
	c.imports |= x.imports
}

// last is the byte that the text ends with; a line break when there is none.
func (c *Code) last() byte {
	if len(c.text) == 0 {
		return '\n'
	}
	return c.text[len(c.text)-1]
}

// word writes a word or a longer piece behind the blank that it needs.
func (c *Code) word(text string) *Code {
	blank(c, text)
	return c.add(text)
}

// blank writes what sets a word apart from what stands before it.
func blank[T string | []byte](c *Code, word T) {
	if len(word) == 0 {
		return
	}
	switch last := c.last(); {
	case strings.IndexByte("\n ([].*&!", last) >= 0:
	case named(last) && word[0] == '(': // parameters
	case named(last) && word[0] == '[' && len(word) > 1 && word[1] != ']' && word[1] != '.': // an index, but no slice and no array
	default:
		c.add(" ")
	}
}

// apart writes what a blank sets apart from what stands on its line.
func (c *Code) apart(text string) *Code {
	if last := c.last(); last != '\n' && last != ' ' {
		c.add(" ")
	}
	return c.add(text)
}

// named reports whether a name can end with the byte.
func named(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || b >= 0x80
}

// Add writes other pieces.
func (c *Code) Add(list ...*Code) *Code {
	for _, x := range list {
		blank(c, x.text)
		c.join(x)
	}
	return c
}

// Id writes a name, or any text.
func (c *Code) Id(name string) *Code { return c.word(name) }

// Qual writes a name of a package, which is then imported.
func (c *Code) Qual(path, name string) *Code {
	i := packageOf(path)
	c.imports |= 1 << i
	c.word(packages[i].name)
	return c.add(".").add(name)
}

// Lit writes a string or an int.
func (c *Code) Lit(v any) *Code {
	if s, ok := v.(string); ok {
		return c.word(strconv.Quote(s))
	}
	return c.word(fmt.Sprint(v))
}

// Op writes an operator: a colon and a comma close to what stands before.
func (c *Code) Op(op string) *Code {
	if op == ":" || op == "," {
		return c.add(op)
	}
	return c.word(op)
}

// Line breaks the line.
func (c *Code) Line() *Code { return c.add("\n") }

// Comment writes a comment.
func (c *Code) Comment(text string) *Code {
	if len(text) < 2 || text[:2] != "//" {
		text = "// " + text
	}
	return c.apart(text)
}

// Tag writes the tag of a field for JSON.
func (c *Code) Tag(json string) *Code { return c.apart("`json:" + strconv.Quote(json) + "`") }

// list writes pieces with what separates them. Pieces that begin with a line break
// stand on lines of their own; then the last of them is a line break.
func (c *Code) list(open string, list []*Code, separator, end string) *Code {
	c.add(open)
	first := true
	for _, x := range list {
		if x == nil || len(x.text) == 0 {
			continue
		}
		if first && len(list) == 1 && string(x.text) == "\n" {
			break // no line at all
		}
		if !first {
			c.add(separator)
			if x.text[0] != '\n' {
				c.add(" ")
			}
		}
		first = false
		c.join(x)
	}
	return c.add(end)
}

// lines writes pieces, each on lines of its own. A line break is an empty line.
func (c *Code) lines(list []*Code) *Code {
	for _, x := range list {
		if string(x.text) != "\n" {
			c.join(x)
		}
		c.add("\n")
	}
	return c
}

// Params writes parameters or results. The receiver of a method stands apart from func.
func (c *Code) Params(list ...*Code) *Code {
	n := len(c.text) - len("func")
	if method := c.top && n >= 0 && string(c.text[n:]) == "func" && (n == 0 || c.text[n-1] == '\n'); method {
		c.add(" ")
	}
	blank(c, "(")
	return c.list("(", list, ",", ")")
}

// Types writes type parameters.
func (c *Code) Types(list ...*Code) *Code { return c.list("[", list, ",", "]") }

// Index writes an index or type arguments behind a name, else the brackets of an array
// or a slice.
func (c *Code) Index(list ...*Code) *Code {
	if len(list) == 0 || !named(c.last()) {
		blank(c, "[]")
	}
	return c.list("[", list, ",", "]")
}

// Map writes a map type up to its values.
func (c *Code) Map(key *Code) *Code { return c.word("map").list("[", []*Code{key}, ",", "]") }

// Call writes the arguments of a call.
func (c *Code) Call(list ...*Code) *Code { return c.list("(", list, ",", ")") }

// Values writes the elements of a composite literal.
func (c *Code) Values(list ...*Code) *Code { return c.list("{", list, ",", "}") }

// List writes several pieces with commas.
func (c *Code) List(list ...*Code) *Code { return c.list("", list, ",", "") }

// Block writes statements in braces; those of a case without.
func (c *Code) Block(list ...*Code) *Code {
	if c.label {
		c.label = false
		c.add("\n").lines(list)
		c.text = c.text[:len(c.text)-1] // what follows breaks the line
		return c
	}
	return c.apart("{\n").lines(list).add("}")
}

// Struct writes a struct type, Interface an interface, and Defs the declarations of a
// group.
func (c *Code) Struct(list ...*Code) *Code    { return c.apart("struct").Block(list...) }
func (c *Code) Interface(list ...*Code) *Code { return c.apart("interface").Block(list...) }
func (c *Code) Defs(list ...*Code) *Code      { return c.add(" (\n").lines(list).add(")") }

// Return, If, For, Switch, Case and Default write statements up to their blocks.
func (c *Code) Return(list ...*Code) *Code { return c.head("return", list, ",") }
func (c *Code) If(list ...*Code) *Code     { return c.head("if", list, ";") }
func (c *Code) For(list ...*Code) *Code    { return c.head("for", list, ";") }
func (c *Code) Switch(list ...*Code) *Code { return c.head("switch", list, ";") }

func (c *Code) Case(list ...*Code) *Code {
	c.head("case", list, ",").label = true
	return c.add(":")
}

func (c *Code) Default() *Code {
	c.label = true
	return c.word("default:")
}

func (c *Code) head(keyword string, list []*Code, separator string) *Code {
	c.word(keyword)
	if len(list) == 0 || len(list[0].text) == 0 {
		return c
	}
	return c.list(" ", list, separator, "")
}

// Group collects pieces one after the other.
type Group struct{ list []*Code }

// Add begins a piece with the pieces, and Line one on a line of its own; alone it is
// an empty line.
func (g *Group) Add(list ...*Code) *Code {
	c := New().Add(list...)
	g.list = append(g.list, c)
	return c
}

func (g *Group) Line() *Code { return g.Add().Line() }

func grouped(fill func(*Group)) []*Code {
	var g Group
	fill(&g)
	return g.list
}

// The forms named Func are the same for pieces that a function collects.
func (c *Code) BlockFunc(fill func(*Group)) *Code     { return c.Block(grouped(fill)...) }
func (c *Code) CallFunc(fill func(*Group)) *Code      { return c.Call(grouped(fill)...) }
func (c *Code) DefsFunc(fill func(*Group)) *Code      { return c.Defs(grouped(fill)...) }
func (c *Code) InterfaceFunc(fill func(*Group)) *Code { return c.Interface(grouped(fill)...) }
func (c *Code) ParamsFunc(fill func(*Group)) *Code    { return c.Params(grouped(fill)...) }
func (c *Code) StructFunc(fill func(*Group)) *Code    { return c.Struct(grouped(fill)...) }
func (c *Code) ValuesFunc(fill func(*Group)) *Code    { return c.Values(grouped(fill)...) }

// The functions begin a piece with what the methods of their names write.

func Line() *Code                { return New().Line() }
func Lit(v any) *Code            { return New().Lit(v) }
func Op(op string) *Code         { return New().Op(op) }
func Index(list ...*Code) *Code  { return New().Index(list...) }
func Params(list ...*Code) *Code { return New().Params(list...) }
func Return(list ...*Code) *Code { return New().Return(list...) }
func If(list ...*Code) *Code     { return New().If(list...) }
func For(list ...*Code) *Code    { return New().For(list...) }
func Switch(list ...*Code) *Code { return New().Switch(list...) }
func Case(list ...*Code) *Code   { return New().Case(list...) }
func Default() *Code             { return New().Default() }

func Qual(path, name string) *Code { return New().Qual(path, name) }
