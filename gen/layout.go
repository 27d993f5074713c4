package gen

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"
)

// layout formats Go text as gofmt does, where the text is broken into lines as gofmt
// breaks it and every line is spaced: it indents, and aligns the values of composite
// literals, the fields of structs, the declarations of a group and the comments at the
// ends of lines.
func layout(text string) []byte {
	l := layouter{out: make([]byte, 0, len(text)+len(text)/4)}
	l.text(text)
	return l.end()
}

// layouter lays out one line after the other.
type layouter struct {
	out   []byte
	depth int       // tabs before a line
	open  []bracket // that are not closed yet
	rows  []row     // that stand below each other and are not written yet
	raw   bool      // within a raw string
	goes  int       // of a condition that goes on: tabs besides those of its first line
	begun int       // tabs of its first line
}

// bracket is one that is open.
type bracket struct {
	deeper bool // it has made the depth greater
	holds  holds
}

// row is a line in cells, of which those in one column are aligned.
type row struct {
	cells [4]string
	n     int
	pair  bool // a key and its value
}

func (r *row) put(cell string) {
	r.cells[r.n] = cell
	r.n++
}

// text lays out lines. The last one may end without a line break.
func (l *layouter) text(text string) {
	for line := range strings.Lines(text) {
		l.line(strings.TrimRight(line, "\n"))
	}
}

// end returns what was laid out.
func (l *layouter) end() []byte {
	l.flush()
	return append(bytes.TrimRight(l.out, "\n"), '\n')
}

func (l *layouter) line(text string) {
	if l.raw {
		l.flush()
		l.raw = strings.Count(text, "`")%2 == 0
		l.write(text)
		return
	}
	text = strings.TrimSpace(text)
	s := scan(text)
	if head, body, tail, ok := s.longFunc(text); ok {
		l.line(head)
		for statement := range strings.SplitSeq(body, "; ") { // no text in it holds that
			l.line(statement)
		}
		l.line(tail)
		return
	}
	l.raw = s.raw
	if s.closed == 0 && !s.raw && l.goes == 0 {
		if r := l.row(text, s); r.n > 1 {
			l.rows = append(l.rows, r)
			if s.opened == 0 {
				if r.pair && s.commas > 1 { // several elements on a line: what follows is not aligned with it
					l.flush()
				}
				return
			}
			l.flush()
			l.push(text, s.opened, true)
			return
		}
	}
	l.flush()
	for range s.closed {
		last := len(l.open) - 1
		if l.open[last].deeper {
			l.depth--
		}
		l.open = l.open[:last]
	}
	depth := l.depth
	switch {
	case text == "":
		depth = 0
		if bytes.HasSuffix(l.out, []byte("\n\n")) {
			return
		}
	case l.goes > 0:
		depth = l.begun + l.goes
	case strings.HasPrefix(text, "case "), strings.HasPrefix(text, "default:"):
		depth--
	}
	l.indent(depth)
	l.write(text)
	goesOn := s.comment < 0 && (strings.HasSuffix(text, "&&") || strings.HasSuffix(text, "||"))
	l.push(text, s.opened, !goesOn)
	switch {
	case !goesOn:
		l.goes = 0
	case l.goes == 0:
		l.goes, l.begun = 1, depth
	case s.opened > 0: // within parentheses
		l.goes++
	case s.closed > 0:
		l.goes = max(l.goes-1, 1)
	}
}

// push notes the brackets that a line leaves open.
func (l *layouter) push(text string, opened int, deeper bool) {
	if opened == 0 {
		return
	}
	holds := code
	switch {
	case strings.HasSuffix(text, "struct {"):
		holds = fields
	case text == "var (", text == "const (":
		holds = declarations
	}
	for i := range opened {
		l.open = append(l.open, bracket{deeper: deeper && i == 0, holds: holds})
	}
	if deeper {
		l.depth++
	}
}

// row cuts a line into cells. One cell means that nothing is to be aligned.
func (l *layouter) row(text string, s scanned) row {
	var r row
	in := code
	if len(l.open) > 0 {
		in = l.open[len(l.open)-1].holds
	}
	code, comment := text, ""
	if s.comment > 0 {
		code, comment = strings.TrimRight(text[:s.comment], " "), text[s.comment:]
	}
	switch in {
	case fields:
		name, typ, ok := strings.Cut(code, " ")
		if s.comment == 0 || !ok || s.opened > 0 {
			break
		}
		r.put(name)
		if tag := strings.IndexByte(typ, '`'); tag > 0 {
			r.put(typ[:tag-1])
			code = typ[tag:]
		} else {
			code = typ
		}
	case declarations:
		if name, value, ok := strings.Cut(code, " = "); ok && s.comment != 0 {
			name, typ, typed := strings.Cut(name, " ")
			r.put(name)
			if typed {
				r.put(typ)
			}
			code = code[len(code)-len(value)-len("= "):]
		}
	default:
		if key, value, ok := cutPair(text); ok {
			if s.opened > 0 {
				break // it has no width to compare with
			}
			r.put(key)
			r.put(value)
			r.pair = true
			return r
		}
	}
	r.put(code)
	if comment != "" {
		r.put(comment)
	}
	return r
}

func (l *layouter) indent(n int) {
	for range n {
		l.out = append(l.out, '\t')
	}
}

func (l *layouter) write(text string) {
	l.out = append(l.out, text...)
	l.out = append(l.out, '\n')
}

// flush writes the rows. Keys of pairs are aligned with each other when they are of
// similar length, by the rule of go/printer: short keys always are, and a longer one
// is when it is less than 2.5 times as long or short as those before it.
func (l *layouter) flush() {
	const short, threshold = 40, 2.5
	for begin := 0; begin < len(l.rows); {
		end, sum, before := begin, 0.0, 0
		for ; end < len(l.rows) && l.rows[end].pair == l.rows[begin].pair; end++ {
			if !l.rows[end].pair {
				continue
			}
			size := len(l.rows[end].cells[0]) - len(":")
			if n := end - begin; n > 0 && (before > short || size > short) {
				ratio := float64(size) / math.Exp(sum/float64(n))
				if threshold*ratio <= 1 || threshold <= ratio {
					break
				}
			}
			sum += math.Log(float64(size))
			before = size
		}
		l.align(l.rows[begin:end], 0)
		begin = end
	}
	for i := range l.rows {
		r := &l.rows[i]
		l.indent(l.depth)
		for _, cell := range r.cells[:r.n-1] {
			l.out = append(l.out, cell...)
		}
		l.write(r.cells[r.n-1])
	}
	l.rows = l.rows[:0]
}

// blanks fill cells up.
const blanks = "                                                                                                                                "

// align makes the cells of a column equally wide in rows that follow each other and
// have something behind it.
func (l *layouter) align(rows []row, column int) {
	for begin := 0; begin < len(rows); {
		end, widest := begin, 0
		for ; end < len(rows) && rows[end].n > column+1; end++ {
			widest = max(widest, utf8.RuneCountInString(rows[end].cells[column]))
		}
		for i := begin; i < end; i++ {
			cell := &rows[i].cells[column]
			*cell = filled(*cell, widest+1)
		}
		if end > begin {
			l.align(rows[begin:end], column+1)
		}
		begin = max(end, begin+1)
	}
}

func filled(cell string, width int) string {
	n := width - utf8.RuneCountInString(cell)
	if n <= len(blanks) {
		return cell + blanks[:n]
	}
	return cell + strings.Repeat(" ", n)
}

// cutPair cuts a line into a key with its colon and a value, where it is an element of
// a composite literal.
func cutPair(text string) (key, value string, ok bool) {
	if !strings.HasSuffix(text, ",") && !strings.HasSuffix(text, "{") && !strings.HasSuffix(text, "(") {
		return "", "", false
	}
	end := 0
	if strings.HasPrefix(text, `"`) {
		for end = 1; end < len(text) && text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		end++
	} else {
		for end < len(text) && (text[end] == '.' || named(text[end])) {
			end++
		}
	}
	if end == 0 || end+1 >= len(text) || text[end] != ':' || text[end+1] != ' ' {
		return "", "", false
	}
	return text[:end+1], strings.TrimLeft(text[end+1:], " "), true
}

// scanned is what matters of a line, texts and comments aside.
type scanned struct {
	closed, opened int  // brackets that it closes, and that it leaves open
	commas         int  // outside of them
	raw            bool // it leaves a raw string open
	comment        int  // where its comment begins; -1: it has none
	body, end      int  // where a block that stands on the line begins and ends; -1: there is none
}

func scan(text string) scanned {
	s := scanned{comment: -1, body: -1, end: -1}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			s.opened++
			if c == '{' && s.body < 0 && i > 0 && text[i-1] == ' ' && i+1 < len(text) {
				s.body = i
			}
		case ')', ']', '}':
			if s.opened > 0 {
				s.opened--
			} else {
				s.closed++
			}
			if c == '}' && i > 0 && text[i-1] == ' ' {
				s.end = i
			}
		case ',':
			if s.opened == 0 {
				s.commas++
			}
		case '"', '\'':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '`':
			n := strings.IndexByte(text[i+1:], '`')
			if n < 0 {
				s.raw = true
				return s
			}
			i += n + 1
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				s.comment = i
				return s
			}
		}
	}
	return s
}

// longFunc takes a function that stands on one line apart, where it is longer than
// gofmt leaves it there.
func (s *scanned) longFunc(text string) (head, body, tail string, long bool) {
	const most = 100 // bytes of signature and statements
	if s.body < 0 || s.end < s.body {
		return "", "", "", false
	}
	begin := strings.Index(text[:s.body], "func")
	body = text[s.body+2 : s.end-1]
	if begin < 0 || s.body-1-begin+len(body) <= most {
		return "", "", "", false
	}
	return text[:s.body+1], body, text[s.end:], true
}
