package draw

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// fonts are the fonts that texts are measured and painted with.
var fonts = sync.OnceValue(func() [2]*sfnt.Font {
	var fs [2]*sfnt.Font
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic(err) // the fonts are a part of the program
		}
		fs[i] = f
	}
	return fs
})

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

func (k kind) font() *sfnt.Font {
	if k.bold {
		return fonts()[1]
	}
	return fonts()[0]
}

// measures guards the buffer that measuring needs.
var measures struct {
	sync.Mutex
	sfnt.Buffer
}

// width returns how wide s is. What the font does not have is as wide as a
// letter of the scripts that it lacks.
func (k kind) width(s string) float64 {
	measures.Lock()
	defer measures.Unlock()
	f := k.font()
	const em = 1000
	sum := 0.0
	for _, r := range s {
		i, err := f.GlyphIndex(&measures.Buffer, r)
		if err != nil || i == 0 {
			sum += em
			continue
		}
		a, err := f.GlyphAdvance(&measures.Buffer, i, fixed.I(em), font.HintingNone)
		if err != nil {
			sum += em
			continue
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
