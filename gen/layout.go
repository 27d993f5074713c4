package gen

import (
	"bytes"
	"math"
	"strings"
)

// layout formats Go text as gofmt does, where the text is broken into lines as
// gofmt breaks it and every line is spaced: it indents, and aligns the values of
// composite literals. The generated tests are written in such lines; go/printer
// would measure their nested literals again on each level, which takes most of
// the time of a large machine. A test holds the two equal.
func layout(text string) []byte {
	l := layouter{out: make([]byte, 0, len(text)+len(text)/4)}
	for line := range strings.Lines(text) {
		l.line(strings.TrimRight(line, "\n"))
	}
	l.flush()
	return append(bytes.TrimRight(l.out, "\n"), '\n')
}

// layouter lays out one line after the other.
type layouter struct {
	out   []byte
	depth int    // tabs before a line
	open  []bool // per open bracket: whether it has made the depth greater
	pairs []pair // that stand below each other and are not written yet
	raw   bool   // within a raw string
}

// pair is a key with its value on one line.
type pair struct {
	key, value string
}

func (l *layouter) line(text string) {
	if l.raw {
		l.flush()
		l.raw = strings.Count(text, "`")%2 == 0
		l.write(text)
		return
	}
	text = strings.TrimSpace(text)
	if head, body, tail, ok := longFunc(text); ok {
		l.line(head)
		for statement := range strings.SplitSeq(body, "; ") { // no text in it holds that
			l.line(statement)
		}
		l.line(tail)
		return
	}
	closed, opened, commas, raw := brackets(text)
	l.raw = raw
	key, value, isPair := cutPair(text)
	switch {
	case isPair && closed == 0 && opened == 0 && !raw:
		l.pairs = append(l.pairs, pair{key, value})
		if commas > 1 { // several elements on a line: what follows is not aligned with it
			l.flush()
		}
		return
	case isPair:
		text = key + " " + value
	}
	l.flush()
	for range closed {
		last := len(l.open) - 1
		if l.open[last] {
			l.depth--
		}
		l.open = l.open[:last]
	}
	depth := l.depth
	if strings.HasPrefix(text, "case ") || strings.HasPrefix(text, "default:") {
		depth--
	}
	if text == "" {
		depth = 0
	}
	l.indent(depth)
	l.write(text)
	for i := range opened {
		l.open = append(l.open, i == 0)
		if i == 0 {
			l.depth++
		}
	}
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

// flush writes the pairs. Those whose keys are of similar length are aligned with
// each other, by the rule of go/printer: short keys always are, and a longer one
// is when it is less than 2.5 times as long or short as those before it.
func (l *layouter) flush() {
	const short, threshold = 40, 2.5
	for begin := 0; begin < len(l.pairs); {
		end, widest, sum, before := begin, 0, 0.0, 0
		for ; end < len(l.pairs); end++ {
			size := len(l.pairs[end].key) - len(":")
			if n := end - begin; n > 0 && (before > short || size > short) {
				ratio := float64(size) / math.Exp(sum/float64(n))
				if threshold*ratio <= 1 || threshold <= ratio {
					break
				}
			}
			sum += math.Log(float64(size))
			before, widest = size, max(widest, size)
		}
		for _, p := range l.pairs[begin:end] {
			l.indent(l.depth)
			l.out = append(l.out, p.key...)
			for range widest + len(": ") - len(p.key) {
				l.out = append(l.out, ' ')
			}
			l.write(p.value)
		}
		begin = end
	}
	l.pairs = l.pairs[:0]
}

// longFunc takes a function that stands on one line apart, where it is longer than
// gofmt leaves it there.
func longFunc(text string) (head, body, tail string, long bool) {
	const most = 100 // bytes of signature and statements
	begin := strings.Index(text, "func")
	if begin < 0 || strings.HasPrefix(text, "//") {
		return "", "", "", false
	}
	signature, rest, ok := strings.Cut(text[begin:], " { ")
	end := strings.LastIndex(rest, " }")
	if !ok || end < 0 || len(signature)+end <= most {
		return "", "", "", false
	}
	return text[:begin] + signature + " {", rest[:end], rest[end+1:], true
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
		for end < len(text) && (text[end] == '_' || text[end] == '.' || '0' <= text[end] && text[end] <= '9' || 'A' <= text[end] && text[end] <= 'Z' || 'a' <= text[end] && text[end] <= 'z') {
			end++
		}
	}
	if end == 0 || end+1 >= len(text) || text[end] != ':' || text[end+1] != ' ' {
		return "", "", false
	}
	return text[:end+1], strings.TrimLeft(text[end+1:], " "), true
}

// brackets counts the brackets that a line closes and that it leaves open, and the
// commas outside of them, strings and comments aside. Raw is set when it leaves a
// raw string open.
func brackets(text string) (closed, opened, commas int, raw bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '[', '{':
			opened++
		case ')', ']', '}':
			if opened > 0 {
				opened--
			} else {
				closed++
			}
		case ',':
			if opened == 0 {
				commas++
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
				return closed, opened, commas, true
			}
			i += n + 1
		case '/':
			if strings.HasPrefix(text[i:], "//") {
				return closed, opened, commas, false
			}
		}
	}
	return closed, opened, commas, false
}
