package lsp

import (
	"slices"
	"strings"
)

// item is the step of a path into a list.
const item = "[]"

// cursor is where in a file a position is, told by indentation and keys alone, so that it is
// known in a text that is no YAML for the moment.
type cursor struct {
	path    []string // of keys and items, from the root to what the position is in
	key     bool     // a key stands there, or may; else a value, whose key or item is the last of the path
	before  string   // what of the key or the value stands before the position
	block   bool     // not in brackets
	indent  int      // of the line
	present []string // keys of the same mapping
}

// level is a key or an item, and how far it is indented.
type level struct {
	indent int
	name   string
	keys   []string // below it, so far
}

// reader reads lines from the top for the path to a place.
type reader struct {
	levels []level
	flow   *flow // brackets that are open
	opened int   // indentation of the line that opened them
	text   int   // indentation of the key whose lines of text go on; -1 without

	sections map[string][]string // keys of each key of the root; nil: they are not collected
}

// cursorAt looks at the lines up to a position.
func (t text) cursorAt(p position) cursor {
	r := reader{levels: []level{{indent: -1}}, text: -1}
	for n := range min(p.Line, len(t.lines)) {
		r.line(t.line(n))
	}
	line := t.line(p.Line)
	at := bytesOf(line, p.Character)
	c := r.last(line[:at])
	if c.block {
		c.present = append(c.present, t.below(p.Line, c.indent)...)
	} else {
		c.present = append(c.present, keysBehind(line[at:])...)
	}
	return c
}

// sections are the keys below each key of the root.
func (t text) sections() map[string][]string {
	r := reader{levels: []level{{indent: -1}}, text: -1, sections: map[string][]string{}}
	for n := range t.lines {
		r.line(t.line(n))
	}
	return r.sections
}

// below are the keys of the same indentation in the lines below, to the end of the mapping.
func (t text) below(line, indent int) (keys []string) {
	for n := line + 1; n < len(t.lines); n++ {
		text := withoutComment(t.line(n))
		trimmed := strings.TrimLeft(text, " ")
		switch at := len(text) - len(trimmed); {
		case trimmed == "" || at > indent:
		case at < indent || strings.HasPrefix(trimmed, "-"):
			return keys
		default:
			if key, _, ok := cutKey(trimmed); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// line takes a whole line.
func (r *reader) line(full string) {
	line := withoutComment(full)
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	if strings.TrimSpace(full) == "" || trimmed == "" {
		return
	}
	if r.text >= 0 && indent > r.text {
		return
	}
	r.text = -1
	if r.flow != nil {
		if indent > r.opened {
			if r.flow.read(line + "\n"); r.flow.done() {
				r.flow = nil
			}
			return
		}
		r.flow = nil // a bracket that is not closed ends with the lines that are indented deeper
	}
	rest, _ := r.enter(trimmed, indent)
	switch rest = strings.TrimSpace(rest); {
	case rest == "":
	case rest[0] == '|' || rest[0] == '>':
		r.text = r.levels[len(r.levels)-1].indent
	case rest[0] == '{' || rest[0] == '[':
		f := &flow{}
		if f.read(rest + "\n"); !f.done() {
			r.flow, r.opened = f, indent
		}
	}
}

// enter goes to the key of a line, behind its dashes, and returns what follows the key, or
// the whole where there is none.
func (r *reader) enter(trimmed string, indent int) (rest string, key bool) {
	for strings.HasPrefix(trimmed, "- ") || trimmed == "-" {
		r.leave(indent, true)
		r.levels = append(r.levels, level{indent: indent, name: item})
		rest := strings.TrimLeft(trimmed[1:], " ")
		indent += len(trimmed) - len(rest)
		trimmed = rest
	}
	name, rest, ok := cutKey(trimmed)
	r.leave(indent, false)
	if !ok {
		return trimmed, false
	}
	up := &r.levels[len(r.levels)-1]
	up.keys = append(up.keys, name)
	if r.sections != nil && len(r.levels) == 2 {
		r.sections[up.name] = append(r.sections[up.name], name)
	}
	r.levels = append(r.levels, level{indent: indent, name: name})
	return rest, true
}

// leave ends what is indented as far or further. A list may stand as far as its key.
func (r *reader) leave(indent int, dash bool) {
	for len(r.levels) > 1 {
		last := r.levels[len(r.levels)-1]
		if last.indent < indent || dash && last.indent == indent && last.name != item {
			return
		}
		r.levels = r.levels[:len(r.levels)-1]
	}
}

// last takes the line of the position, up to it.
func (r *reader) last(line string) cursor {
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	if r.flow != nil && (indent > r.opened || trimmed == "") {
		r.flow.read(line)
		return r.flow.cursor(r.path())
	}
	if r.text >= 0 && indent > r.text || len(withoutComment(line)) < len(strings.TrimRight(line, " ")) {
		return cursor{path: []string{"doc"}} // a text, or a comment
	}
	rest, isKey := r.enter(trimmed, indent)
	c := cursor{path: r.path(), key: !isKey, before: strings.TrimLeft(rest, " "), block: true}
	c.indent = len(line) - len(strings.TrimLeft(line, " -"))
	switch {
	case c.before != "" && (c.before[0] == '{' || c.before[0] == '['):
		f := &flow{}
		f.read(c.before)
		return f.cursor(c.path)
	case c.key:
		c.present = slices.Clone(r.levels[len(r.levels)-1].keys)
	}
	return c
}

func (r *reader) path() []string {
	var path []string
	for _, l := range r.levels[1:] {
		path = append(path, l.name)
	}
	return path
}

// flow is what stands in brackets.
type flow struct {
	open   []bracket
	word   strings.Builder // the key or the value at hand
	quote  byte
	closed bool
}

type bracket struct {
	sign byte
	key  string   // whose value is at hand; in `{` alone
	keys []string // so far
}

func (f *flow) done() bool { return f.closed }

// read takes more of the text.
func (f *flow) read(text string) {
	for i := 0; i < len(text) && !f.closed; i++ {
		c := text[i]
		if f.quote != 0 {
			f.word.WriteByte(c)
			if c == f.quote {
				f.quote = 0
			}
			continue
		}
		switch {
		case (c == '"' || c == '\'') && strings.TrimSpace(f.word.String()) == "":
			f.quote = c
			f.word.WriteByte(c)
		case c == '{' || c == '[':
			f.open = append(f.open, bracket{sign: c})
			f.word.Reset()
		case c == '}' || c == ']':
			f.open = f.open[:max(len(f.open)-1, 0)]
			f.word.Reset()
			f.closed = len(f.open) == 0
		case len(f.open) == 0:
		case c == ',':
			f.open[len(f.open)-1].key = ""
			f.word.Reset()
		case c == ':' && f.inMap() && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n'):
			last := &f.open[len(f.open)-1]
			last.key = strings.Trim(strings.TrimSpace(f.word.String()), `"'`)
			last.keys = append(last.keys, last.key)
			f.word.Reset()
		default:
			f.word.WriteByte(c)
		}
	}
}

func (f *flow) inMap() bool {
	last := f.open[len(f.open)-1]
	return last.sign == '{' && last.key == ""
}

// cursor is the place at the end of what was read. path leads to the brackets.
func (f *flow) cursor(path []string) cursor {
	c := cursor{path: slices.Clone(path), before: strings.TrimLeft(f.word.String(), " \n")}
	for i, b := range f.open {
		switch {
		case b.sign == '[':
			c.path = append(c.path, item)
		case b.key != "":
			c.path = append(c.path, b.key)
		case i == len(f.open)-1:
			c.key, c.present = true, b.keys
		}
	}
	return c
}

// keysBehind are the keys in the rest of brackets on a line.
func keysBehind(tail string) (keys []string) {
	depth := 0
	for part := range strings.FieldsFuncSeq(tail, func(c rune) bool { return c == ',' }) {
		if key, _, ok := cutKey(strings.TrimSpace(part)); ok && depth == 0 {
			keys = append(keys, key)
		}
		for _, c := range part {
			switch c {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth < 0 {
					return keys
				}
			}
		}
	}
	return keys
}

// cutKey divides `key: rest`; a key may be in quotes.
func cutKey(text string) (key, rest string, ok bool) {
	for i := range len(text) {
		if text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			return strings.Trim(strings.TrimSpace(text[:i]), `"'`), text[i+1:], true
		}
		if !inWord(text[i]) && strings.IndexByte(`"'- `, text[i]) < 0 {
			return "", "", false
		}
	}
	return "", "", false
}

// withoutComment cuts a comment off a line.
func withoutComment(line string) string {
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" [{,", line[i-1]) >= 0):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return strings.TrimRight(line[:i], " ")
		}
	}
	return strings.TrimRight(line, " ")
}
