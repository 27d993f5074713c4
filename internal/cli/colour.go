package cli

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// Colourful reports whether w is a terminal that wants colours.
// See https://no-color.org.
func Colourful(w io.Writer) bool {
	f, ok := unwrapped(w).(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	Bold      = "\x1b[1m"
	Red       = "\x1b[1;31m"
	Yellow    = "\x1b[1;33m"
	ansiBlue  = "\x1b[1;34m"
	ansiGreen = "\x1b[1;32m"
	Off       = "\x1b[0m"
)

// ColouredDiff marks the lines of a unified diff for w.
func ColouredDiff(w io.Writer, text []byte) []byte {
	if !Colourful(w) {
		return text
	}
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		colour := ""
		switch {
		case bytes.HasPrefix(line, []byte("--- ")), bytes.HasPrefix(line, []byte("+++ ")), bytes.HasPrefix(line, []byte("diff ")):
			colour = Bold
		case line[0] == '-':
			colour = Red
		case line[0] == '+':
			colour = ansiGreen
		case bytes.HasPrefix(line, []byte("@@")):
			colour = ansiBlue
		}
		bare := bytes.TrimSuffix(line, []byte("\n"))
		if colour != "" {
			b.WriteString(colour + string(bare) + Off + "\n")
		} else {
			b.Write(line)
		}
	}
	return b.Bytes()
}

func severityColour(s spec.Severity) string {
	switch s {
	case spec.Error:
		return Red
	case spec.Warning:
		return Yellow
	}
	return ansiBlue
}

var (
	markLine = regexp.MustCompile(`(?m)^( *\| *)([\^~]+)$`)
	hintLine = regexp.MustCompile(`(?m)^  hint:`)
)

// coloured marks the parts of a rendered finding. Without the colours the text
// is the same.
func coloured(d spec.Diagnostic, text string) string {
	if head := d.String(); strings.HasPrefix(text, head) {
		severity := d.Severity.String() + ":"
		place, message, _ := strings.Cut(head, severity)
		text = Bold + place + severityColour(d.Severity) + severity + Off + message + text[len(head):]
	}
	text = markLine.ReplaceAllString(text, "$1"+ansiGreen+"$2"+Off)
	return hintLine.ReplaceAllString(text, "  "+ansiBlue+"hint:"+Off)
}
