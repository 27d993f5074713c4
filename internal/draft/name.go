package draft

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/spec"
)

// longestName is where names are cut, in bytes.
const longestName = 48

// letters are those with a sign that people write without it.
var letters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "é", "e", "è", "e", "ê", "e",
	"á", "a", "à", "a", "â", "a", "å", "a", "ç", "c", "ñ", "n", "ó", "o", "ò", "o", "ô", "o", "ø", "o", "í", "i", "î", "i", "ú", "u", "û", "u",
	"É", "E", "≥", " ge ", "≤", " le ", ">=", " ge ", "<=", " le ", "==", " eq ", "!=", " ne ", ">", " gt ", "<", " lt ", "&&", " and ", "||", " or ", "'", "", "’", "")

// snake returns a text as a name of the language: "Some State" and someState become
// some_state. Nothing may be left of it.
func snake(text string) string {
	var b strings.Builder
	rs := []rune(letters.Replace(text))
	for i, r := range rs {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r >= 'A' && r <= 'Z':
			after := i > 0 && (lower(rs[i-1]) || upper(rs[i-1]) && i+1 < len(rs) && lower(rs[i+1]))
			if after {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte('_')
		}
	}
	parts := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' })
	out := ""
	for _, p := range parts {
		if out != "" && len(out)+1+len(p) > longestName {
			break
		}
		if out != "" {
			out += "_"
		}
		out += p
	}
	return out[:min(len(out), longestName)]
}

func lower(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
func upper(r rune) bool { return r >= 'A' && r <= 'Z' }

// refused are words that tools of YAML read as something else, or that the language
// has taken in its facts and values.
var refused = map[string]bool{"yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true, "y": true, "n": true,
	"actor": true, "now": true, "input": true, "same": true, "absent": true, "present": true, "is": true, "in": true, "not": true, "covers": true,
	"any": true, "except": true, "states": true, "doc": true, "old": true}

// names gives each thing of a scope a name of its own.
type names struct {
	what   string // "state": what a name ends with where it needs an end
	renews map[string]int
	taken  map[string]bool // by Go name
}

func (r *renames) scope(what string) *names {
	return &names{what, r.by[what], map[string]bool{}}
}

// renames are the names that the rules refused, with the number of their next try.
type renames struct{ by map[string]map[string]int }

func newRenames() *renames {
	r := &renames{map[string]map[string]int{}}
	for _, what := range []string{"machine", "entity", "state", "operation", "effect", "input", "field", "error", "group", "guard"} {
		r.by[what] = map[string]int{}
	}
	return r
}

// give returns a name for a text of the file.
func (n *names) give(text string) string {
	base := snake(text)
	switch {
	case base == "":
		base = n.what
	case base[0] >= '0' && base[0] <= '9':
		base = n.what + "_" + base
	}
	name := base
	if refused[base] {
		name = base + "_" + n.what
	}
	for i := 2; n.taken[spec.GoName(name)] || n.renews[name] > 0; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
		if i == 2 && !n.taken[spec.GoName(base)] {
			name = base + "_" + n.what
		}
	}
	n.taken[spec.GoName(name)] = true
	return name
}

// clean returns a text as one line that any file may hold in a comment.
func clean(text string) string { return shortened(text, 600) }

// shortened returns a text as one line of so many characters at most.
func shortened(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if rs := []rune(text); len(rs) > most {
		text = string(rs[:most-1]) + "…"
	}
	return text
}
