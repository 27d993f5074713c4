package validate

import (
	"slices"
	"strings"
	"unicode"

	"github.com/fsmgen/fsmgen/spec"
)

// Source parses a file and looks at the machine in it. The machine is nil when
// the file could not be resolved; then the findings are those of parsing. Their
// edits are not tried: see [Tried].
func Source(file string, src []byte) (*spec.Machine, spec.Diagnostics) {
	m, found := spec.Parse(file, src)
	if m == nil || found.HasErrors() {
		return nil, found
	}
	found = append(found, Run(m)...)
	found.Sort()
	return m, found
}

// Tried returns the findings of a file with those of their edits that make the finding
// go and lead to no other error. Each is made alone, and the file is checked again; with a
// projection, it is only read again.
func Tried(file string, src []byte, m *spec.Machine, found spec.Diagnostics) spec.Diagnostics {
	const most = 64 << 10 // bytes that are looked at again: an editor waits for this
	check := Source
	if m != nil && m.Projection != nil { // counting its groups may take seconds
		check = spec.Parse
	}
	found = slices.Clone(found)
	looked := 0
	for i, d := range found {
		if len(d.Fix) == 0 {
			continue
		}
		if looked += len(src); looked <= most {
			next, _ := spec.Diagnostics{d}.Fixed(src)
			if after, is := check(file, next); leadsOut(m, found, after, is, d) {
				continue
			}
		}
		found[i].Fix = nil
	}
	return found
}

// leadsOut reports whether edits that were made took their findings away, and brought no
// error that was not there. Nor may they bring a warning, unless the machine could not
// be read before: then what was behind counts where it speaks of the edits.
func leadsOut(before *spec.Machine, was spec.Diagnostics, after *spec.Machine, is spec.Diagnostics, made ...spec.Diagnostic) bool {
	type kind struct{ code, message string }
	of := func(d spec.Diagnostic) kind { return kind{d.Code, d.Message} }
	had, less := map[kind]bool{}, map[kind]int{} // how many of a kind went
	for _, d := range was {
		had[of(d)] = true
		less[of(d)]++
	}
	for _, d := range is {
		k := of(d)
		less[k]--
		serious := d.Severity == spec.Error || d.Severity == spec.Warning && before != nil
		hidden := before == nil && after != nil && !speaksOf(d, made)
		if less[k] < 0 && serious && !hidden {
			return false
		}
	}
	for _, d := range made {
		if had[of(d)] && less[of(d)] <= 0 {
			return false
		}
	}
	return before == nil || after != nil
}

// speaksOf reports whether a finding names what an edit wrote, or stands in its line.
func speaksOf(d spec.Diagnostic, made spec.Diagnostics) bool {
	words := strings.FieldsFunc(d.Message, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	for _, m := range made {
		for _, e := range m.Fix {
			if e.Pos.Line == d.Pos.Line || slices.Contains(words, e.Text) {
				return true
			}
		}
	}
	return false
}

// Fixed returns the text of a file with the edits that its findings offer and that need no
// decision, and then those of what is found behind them. Where that leads to another error, it makes only
// edits that lead to none, together or one by one.
func Fixed(file string, src []byte) []byte {
	const rounds = 20
	m, found := Source(file, src)
	next, after, is := src, m, found
	var made spec.Diagnostics
	for n := 0; n < rounds && len(withFix(is)) > 0; n++ {
		made = append(made, withFix(is)...)
		next, _ = withFix(is).Fixed(next)
		after, is = Source(file, next)
	}
	if leadsOut(m, found, after, is, made...) && len(withFix(is)) == 0 {
		return next
	}
	for range rounds {
		offered := withFix(Tried(file, src, m, found))
		if len(offered) == 0 {
			break
		}
		next, _ := offered.Fixed(src)
		after, is := Source(file, next)
		if !leadsOut(m, found, after, is, offered...) {
			next, _ = offered[:1].Fixed(src)
			after, is = Source(file, next)
		}
		src, m, found = next, after, is
	}
	return src
}

// withFix are the findings that offer edits without a decision.
func withFix(found spec.Diagnostics) spec.Diagnostics {
	return slices.DeleteFunc(slices.Clone(found), func(d spec.Diagnostic) bool { return len(d.Fix) == 0 || Choice(d) })
}

// Choice reports whether the edits of a finding are one of several ways out.
func Choice(d spec.Diagnostic) bool {
	rule, _ := Explain(d.Code)
	return rule.Choice
}
