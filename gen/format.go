package gen

import (
	"go/doc/comment"
	"go/format"
	"strings"
)

// formatGo formats generated Go as gofmt does, in a fraction of its time. jennifer breaks
// the lines as gofmt does, so three things are left to do, each of them line by line: to
// set the blanks between tokens, to indent, and to align what stands in columns.
// go/format would parse all of it and measure it on each level of nesting instead, which
// takes more time than the rest of generating.
//
// Only forms that are known for certain are formatted so; go/format has the others. It
// refuses what is no Go only where it meets a form that is not known.
func formatGo(text string) ([]byte, error) {
	if data, ok := formatKnown(text); ok {
		return data, nil
	}
	data, err := format.Source([]byte(text))
	if err != nil {
		return nil, err
	}
	return format.Source(data) // the first time it leaves a doc comment as it is where a blank stands before what it belongs to
}

// formatKnown is formatGo for a file of known forms only; ok is false for others.
func formatKnown(text string) (_ []byte, ok bool) {
	spaced, ok := space(text)
	if !ok {
		return nil, false
	}
	return layout(spaced), true
}

// documented puts the comments that the text ends with into the form that gofmt gives
// to those of a declaration. It gives up where directives stand among them.
func documented(text []byte, begin int) ([]byte, bool) {
	var plain strings.Builder
	same, breaks, directives := true, 0, false
	for line := range strings.Lines(string(text[begin:])) {
		line = line[len("//"):]
		switch {
		case line == "\n":
			breaks++
		case line[0] == '\t':
			same = false
		case strings.HasPrefix(line, "go:"):
			directives = true
			continue
		case line[0] != ' ':
			return text, false
		default:
			line = line[1:]
			c := line[0]
			same = same && ('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z') && !strings.Contains(line, "``") && !strings.Contains(line, "''")
		}
		plain.WriteString(line)
	}
	if directives {
		return text, plain.Len() == 0
	}
	if same && (breaks == 0 || breaks == 1 && !strings.HasSuffix(plain.String(), "\n\n") && plain.String()[0] != '\n') {
		return text, true
	}
	clean := (&comment.Printer{}).Comment((&comment.Parser{}).Parse(plain.String()))
	if len(clean) == 0 {
		return text, false
	}
	text = text[:begin]
	for line := range strings.Lines(string(clean)) {
		switch {
		case line == "\n", line[0] == '\t':
			text = append(text, "//"...)
		default:
			text = append(text, "// "...)
		}
		text = append(text, line...)
	}
	return text, true
}
