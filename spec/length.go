package spec

import (
	"strings"
	"unicode/utf8"
)

// MaxActor is how many characters the actor of a call has at most: no id has more bytes.
const MaxActor = 255

// HasLength reports whether the type bounds the length of a text.
func (t Type) HasLength() bool { return t.Kind == KindString && (t.Min != nil || t.Max != nil) }

// FitsLength reports whether a text is as long as the type asks. Others have no bounds.
func (t Type) FitsLength(text string) bool {
	n := int64(utf8.RuneCountInString(text))
	return t.Kind != KindString || (t.Min == nil || n >= *t.Min) && (t.Max == nil || n <= *t.Max)
}

// Fitted returns a text, which is not empty, of a length that the type takes: the end of a
// longer one, and a shorter one with its last character repeated.
func (t Type) Fitted(text string) string {
	n := int64(utf8.RuneCountInString(text))
	switch {
	case t.FitsLength(text):
	case t.Min != nil && n < *t.Min:
		_, size := utf8.DecodeLastRuneInString(text)
		text += strings.Repeat(text[len(text)-size:], int(*t.Min-n))
	default:
		for ; n > *t.Max; n-- {
			_, size := utf8.DecodeRuneInString(text)
			text = text[size:]
		}
	}
	return text
}

// lengthText writes the bounds of a text as its type has them.
func lengthText(t Type) string {
	t.Optional = false
	return t.String()
}
