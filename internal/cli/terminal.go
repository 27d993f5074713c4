package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// IsTerminal reports whether w is one that moves its cursor.
func IsTerminal(w io.Writer) bool {
	f, ok := unwrapped(w).(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}

// Width returns how many characters of prose fit on a line of w: what COLUMNS or the
// terminal says, but at most 100, which reads well; 80 where nothing says it.
func Width(w io.Writer) int {
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if f, ok := unwrapped(w).(*os.File); ok && err != nil {
		width = columns(f)
	}
	if width <= 0 {
		width = 80
	}
	return max(20, min(width, 100))
}

// Plain returns a text that came from outside as a terminal may have it: on one
// line, and without anything that moves the cursor, changes the colours or turns
// the direction of what follows.
func Plain(s string) string {
	clean := strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s)
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafeRune(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unsafeRune reports whether a terminal may take r for something else than a
// character to show.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == '\uFEFF'
}

// PlainJSON is plain for a JSON text, which stays the same value: what is unsafe can
// stand in its strings only.
func PlainJSON(text []byte) []byte {
	if strings.IndexFunc(string(text), func(r rune) bool { return r >= 0x7f && unsafeRune(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range string(text) {
		if r >= 0x7f && unsafeRune(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return []byte(b.String())
}

// Bar shows how far a long work has come, on a terminal and nowhere else.
type Bar struct {
	w     io.Writer // nil: nowhere
	what  string    // that is counted
	shown bool
	next  time.Time
}

// barEvery is how often it is drawn.
const barEvery = 100 * time.Millisecond

// NewBar returns a bar for a count of what.
func (c *CLI) NewBar(what string) *Bar {
	b := &Bar{what: what}
	if !c.Quiet && IsTerminal(c.Err) {
		b.w = c.Err
	}
	return b
}

// Set draws it.
func (b *Bar) Set(done, total int64) {
	if total == 0 {
		return
	}
	const width = 30
	full := int(min(done, total) * width / total)
	b.draw("[%s%s] %d of %d %s", strings.Repeat("#", full), strings.Repeat(".", width-full), done, total, b.what)
}

// Count draws how far a work has come whose end nobody knows.
func (b *Bar) Count(on string, done int64) {
	b.draw("%s: %d %s", Plain(on), done, b.what)
}

func (b *Bar) draw(format string, args ...any) {
	if b.w == nil || time.Now().Before(b.next) {
		return
	}
	b.next = time.Now().Add(barEvery)
	b.shown = true
	_, _ = fmt.Fprintf(b.w, "\r\x1b[K"+format, args...)
}

// Hide removes it, before something else is printed.
func (b *Bar) Hide() {
	if b.shown {
		b.shown = false
		b.next = time.Time{}
		_, _ = io.WriteString(b.w, "\r\x1b[K")
	}
}

// SortedKeys returns the keys of a map in bytewise order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// unwrapped returns the file behind the standard output of the command.
func unwrapped(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}
