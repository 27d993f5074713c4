package draw

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// kind is how a text looks: size and weight. The colour is its class.
type kind struct {
	size float64
	bold bool
}

// The kinds of text.
var (
	headingText = kind{18, true}
	summaryText = kind{12.5, false}
	stateText   = kind{14, true}
	noteText    = kind{12, false}
	nameText    = kind{12, true}
	lineText    = kind{12, false}
	panelText   = kind{12, false}
	panelHead   = kind{12, true}
)

// line is the height of a line of text.
func (k kind) line() float64 { return k.size * 1.28 }

// advancesText is a line for each character that a font has: how far it is behind the one
// before, and its width in the regular and in the bold font, in 64ths of a thousandth of the
// size, plus 1; 0 where the font lacks it. The file is made from the fonts, so that who only
// measures does not carry them.
//
//go:embed advances.txt
var advancesText string

// advances are the widths of characters, in the regular font and in the bold one.
var advances = sync.OnceValue(func() [2]map[rune]int {
	fonts := [2]map[rune]int{{}, {}}
	var r rune
	for line := range strings.Lines(advancesText) {
		var n [3]int
		for i, text := range strings.Fields(line) {
			var err error
			if n[i], err = strconv.Atoi(text); err != nil {
				panic(err) // the file is a part of the program
			}
		}
		r += rune(n[0]) //nolint:gosec // the distance to the character before
		for i, a := range n[1:] {
			if a > 0 {
				fonts[i][r] = a - 1
			}
		}
	}
	return fonts
})

// width returns how wide s is. What the font does not have is as wide as a
// letter of the scripts that it lacks.
func (k kind) width(s string) float64 {
	of := advances()[0]
	if k.bold {
		of = advances()[1]
	}
	const em = 1000
	sum := 0.0
	for _, r := range s {
		a, known := of[r]
		if !known {
			a = em * 64
		}
		sum += float64(a) / 64
	}
	return sum * k.size / em
}

// wrap breaks s into lines of at most width, at spaces; within a word only where it is wider.
func (k kind) wrap(s string, width float64) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		for k.width(w) > width {
			end := len(w)
			for at := range w {
				if at > 0 && k.width(w[:at]) > width {
					break
				}
				end = at
			}
			if end == 0 {
				break // one character is wider than the line
			}
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, w = append(lines, w[:end]), w[end:]
		}
		switch {
		case line == "":
			line = w
		case k.width(line+" "+w) <= width:
			line += " " + w
		default:
			lines = append(lines, line)
			line = w
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
