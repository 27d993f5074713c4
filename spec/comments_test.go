package spec_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/fuzzmachines"
	"github.com/fsmgen/fsmgen/spec"
)

// TestFormatKeepsComments writes comments at every place of random machines,
// with any indentation. Each stays between the words it stood between, and on
// a line of its own it has the indentation of what follows.
func TestFormatKeepsComments(t *testing.T) {
	t.Parallel()
	tries, drawn := 12, 0
	if campaign.On() {
		tries = 200
	}
	for seed := range uint64(tries) {
		r := rand.New(rand.NewPCG(seed, 10))
		text := fuzzmachines.Random(r)
		text = docLine.ReplaceAllString(text, "doc: "+strings.Repeat("a long text ", 12))
		if m, _ := spec.Parse("a.yaml", []byte(text)); m == nil {
			continue
		}
		plain := strings.Split(strings.TrimRight(string(checkFormat(t, []byte(text))), "\n"), "\n")
		for range 3 {
			drawn++
			n := 0
			styled := restyled(r, plain, func() string { n++; return fmt.Sprintf("# c%d", n) })
			out := string(checkFormat(t, []byte(styled)))
			if diff := cmp.Diff(commentPlaces(styled), commentPlaces(out)); diff != "" {
				t.Fatalf("seed %d: comments moved (-source +printed):\n%s\nsource:\n%s\nprinted:\n%s", seed, diff, styled, out)
			}
			checkIndentation(t, styled, out)
		}
	}
	if drawn < tries {
		t.Errorf("%d texts were drawn, want at least %d", drawn, tries)
	}
}

// restyled writes canonical lines in another layout with comments at random
// places: above lines, behind them, and inside of brackets.
func restyled(r *rand.Rand, lines []string, comment func() string) string {
	var b strings.Builder
	type level struct{ was, is, step int } // step -1: not drawn yet
	open := []level{{-1, 0, 0}}
	text := -1 // the indentation of the key whose text stands below, or -1
	for _, line := range lines {
		body := strings.TrimLeft(line, " ")
		if body == "" {
			b.WriteString("\n")
			continue
		}
		was := len(line) - len(body)
		for open[len(open)-1].was >= was {
			open = open[:len(open)-1]
		}
		above := &open[len(open)-1]
		dash := strings.HasPrefix(body, "- ")
		switch {
		case above.step < 0 && dash:
			above.step = r.IntN(4)
		case above.step < 0:
			above.step = 1 + r.IntN(4)
		}
		is := above.is + above.step
		if dash {
			open = append(open, level{was, is, 2}, level{was + 2, is + 2, -1})
		} else {
			open = append(open, level{was, is, -1})
		}
		inText := text >= 0 && was > text
		if !inText {
			for text < 0 && r.IntN(4) == 0 {
				b.WriteString(strings.Repeat("\n", r.IntN(2)) + strings.Repeat(" ", r.IntN(9)) + comment() + "\n" + strings.Repeat("\n", r.IntN(2)))
			}
			text = -1
			if strings.HasSuffix(body, ">-") || strings.HasSuffix(body, "|-") || strings.HasSuffix(body, ">") || strings.HasSuffix(body, "|") {
				text = was
			}
		}
		b.WriteString(strings.Repeat(" ", is))
		switch {
		case inText:
		case r.IntN(4) == 0 && !strings.ContainsAny(body, `'"`):
			body = opened(r, body, is+6, comment)
		case r.IntN(4) == 0:
			body += " " + comment()
		}
		b.WriteString(body + "\n")
	}
	for range r.IntN(3) {
		b.WriteString(strings.Repeat(" ", r.IntN(6)) + comment() + "\n")
	}
	return b.String()
}

var docLine = regexp.MustCompile(`(?m)^doc: .*`)

var bracketed = regexp.MustCompile(`\{\}|\[\]|[\[{,] ?|[\]}]`)

// opened spreads brackets over several lines, with comments between.
func opened(r *rand.Rand, body string, indent int, comment func() string) string {
	out, end := "", 0
	next := func() string {
		s := "\n"
		before := strings.TrimSuffix(out, ",")
		if r.IntN(3) == 0 && !strings.ContainsAny(before[len(before)-1:], "[]{}") { // a comment behind a bracket belongs to its key
			s = " " + comment() + s
		}
		for r.IntN(3) == 0 {
			s += strings.Repeat(" ", indent+r.IntN(3)) + comment() + "\n"
		}
		return s + strings.Repeat(" ", indent)
	}
	for _, at := range bracketed.FindAllStringIndex(body, -1) {
		sign := strings.TrimSpace(body[at[0]:at[1]])
		out += body[end:at[0]]
		end = at[1]
		switch {
		case len(sign) == 2 || r.IntN(3) == 0:
			out += body[at[0]:at[1]]
		case sign == "]" || sign == "}":
			out += next() + sign
		default:
			out += sign
			out += next()
		}
	}
	return out + body[end:]
}

var wordsAndComments = regexp.MustCompile(`# c\d+|[A-Za-z0-9_]+`)

// commentPlaces tells for each comment how many words stand before it.
func commentPlaces(text string) map[string]int {
	places, words := map[string]int{}, 0
	for _, w := range wordsAndComments.FindAllString(text, -1) {
		if strings.HasPrefix(w, "#") {
			places[w] = words
		} else {
			words++
		}
	}
	return places
}

// checkIndentation checks the comments that were not indented deeper than what
// follows: in the printed form they are indented as much.
func checkIndentation(t *testing.T, styled, out string) {
	t.Helper()
	before, after := aboveWhat(styled), aboveWhat(out)
	for c, at := range before {
		if at.own <= at.next && after[c] != (above{}) && after[c].own != after[c].next {
			t.Errorf("%s stands at column %d above a line at column %d:\n%s", c, after[c].own, after[c].next, out)
		}
	}
}

type above struct{ own, next int }

// aboveWhat tells the indentation of each comment on a line of its own outside
// of brackets, and of the first line below that is no comment.
func aboveWhat(text string) map[string]above {
	out := map[string]above{}
	var waiting []string
	depth := 0
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimSpace(line)
		col := len(line) - len(strings.TrimLeft(line, " ")) + 1
		switch {
		case body == "":
		case strings.HasPrefix(body, "# c") && depth == 0:
			out[body] = above{col, 0}
			waiting = append(waiting, body)
		default:
			for _, c := range waiting {
				out[c] = above{out[c].own, col}
			}
			waiting = nil
			code, _, _ := strings.Cut(body, " #")
			depth += strings.Count(code, "{") + strings.Count(code, "[") - strings.Count(code, "}") - strings.Count(code, "]")
		}
	}
	return out
}

// Texts hold number signs, and stand in every form that YAML has.
func TestFormatTellsCommentsFromTexts(t *testing.T) {
	t.Parallel()
	const src = `# of the file
--- # begins
fsm: 1
machine: door
entity: Door
doc: 'a "#1" door
  # no comment, it''s text' # c1
otherwise:   # c2
  reject     # c3
states:
  shut: {doc: "a \" # b", # c4
    # c5
    } # c6
  wide:
    doc: | # c7
       # text
       more
     # c8
    terminal: true
operations:
# c9
    # c10
  make:
    creates: shut
  open:
    doc: plain text
      of two#lines # c11
    from:
    - # c12
      shut
    # c13
    to: wide
   # c14
`
	const want = `# of the file
# begins
fsm: 1
machine: door
entity: Door
doc: 'a "#1" door # no comment, it''s text'  # c1
otherwise: reject                            # c2 # c3

states:
  shut:             # c6
    doc: 'a " # b'  # c4
    # c5
  wide:
    doc: |          # c7
      # text
      more
    # c8
    terminal: true

operations:
  # c9
  # c10
  make:
    creates: shut
  open:
    doc: plain text of two#lines  # c11
    from:
      # c12
      - shut
    # c13
    to: wide
  # c14
`
	if diff := cmp.Diff(want, string(checkFormat(t, []byte(src)))); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}
