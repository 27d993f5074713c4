package gen

import (
	"strconv"
	"strings"
)

// rawOrQuoted is a text in Go, readable where it holds quotes.
func rawOrQuoted(text string) string {
	if strings.ContainsAny(text, `"\`) {
		return rawText(text)
	}
	return strconv.Quote(text)
}

// rawText is a text of JSON in Go.
func rawText(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}
