package cli

import (
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
