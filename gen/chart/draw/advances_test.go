package draw

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The widths in the file are those of the fonts.
func TestAdvances(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var buffer sfnt.Buffer
	last := rune(0)
	for r := rune(1); r <= 0x10ffff; r++ {
		var of [2]int
		for i, f := range fonts() {
			glyph, err := f.GlyphIndex(&buffer, r)
			if err != nil || glyph == 0 {
				continue
			}
			if a, err := f.GlyphAdvance(&buffer, glyph, fixed.I(1000), font.HintingNone); err == nil {
				of[i] = int(a) + 1
			}
		}
		if of != [2]int{} {
			fmt.Fprintln(&b, r-last, of[0], of[1])
			last = r
		}
	}
	if *update {
		if err := os.WriteFile("advances.txt", []byte(b.String()), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	if b.String() != advancesText {
		t.Error("advances.txt does not hold the widths of the fonts; run the test with -update")
	}
}
