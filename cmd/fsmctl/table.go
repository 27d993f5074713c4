package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/cli"
)

// table is lines of cells, the first of which is its head.
type table [][]string

// text writes a table with its cells below each other.
func (t table) text(colours bool) string {
	var widths []int
	for _, line := range t {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, line := range t {
		var l strings.Builder
		for i, cell := range line {
			l.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		text := strings.TrimRight(l.String(), " ")
		if n == 0 && colours {
			text = cli.Bold + text + cli.Off
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// bounded writes a count; of one that was bounded there are more.
func bounded(n int64, over bool) string {
	if over {
		return number(n) + "+"
	}
	return number(n)
}
