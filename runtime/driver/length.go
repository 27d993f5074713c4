package driver

import (
	"strings"
	"unicode/utf8"
)

// Fit returns a text, which is not empty, of a length that the column takes: the beginning of
// a longer one, and a shorter one with its last character repeated.
func (c *Column) Fit(text string) string {
	n := utf8.RuneCountInString(text)
	switch {
	case n < c.Least:
		_, size := utf8.DecodeLastRuneInString(text)
		return text + strings.Repeat(text[len(text)-size:], c.Least-n)
	case c.Most > 0 && n > c.Most:
		return string([]rune(text)[:c.Most])
	}
	return text
}
