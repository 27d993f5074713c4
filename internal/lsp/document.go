package lsp

import (
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// version is one text of an open file. It does not change.
type version struct {
	uri, file string
	number    int
	text
	read  func() spec.Reading
	known atomic.Bool             // it was read already
	check func() spec.Diagnostics // all findings: of reading, and when there are no errors, of the rules
}

// document is a version of an open file, with what is known of those before it.
type document struct {
	*version
	specification bool     // it is a specification of ours, or was one since it was opened
	good          *version // the last one before it whose text is YAML
	sound         *version // the last one before it without an error
}

// ours are the lines by which a file is known as a specification.
var ours = regexp.MustCompile(`(?m)^("?fsm"?\s*:|machine\s*:|entity\s*:)`)

// newDocument makes a version of a file; before is the document before it, or nil.
func newDocument(uri string, number int, t text, before *document) *document {
	v := &version{uri: uri, file: fileOf(uri), number: number, text: t}
	v.read = sync.OnceValue(func() spec.Reading {
		defer v.known.Store(true)
		return spec.Read(v.file, []byte(v.src))
	})
	v.check = sync.OnceValue(func() spec.Diagnostics {
		r := v.read()
		found := r.Found
		if r.Machine != nil {
			found = append(found[:len(found):len(found)], validate.Run(r.Machine)...)
			found.Sort()
		}
		return found
	})
	d := &document{version: v, specification: ours.MatchString(t.src)}
	if before == nil {
		return d
	}
	d.specification = d.specification || before.specification
	d.good, d.sound = before.good, before.sound
	if !d.specification || !before.known.Load() && d.good != nil { // most versions of a quick hand are never read
		return d
	}
	if r := before.read(); r.Draft != nil {
		d.good = before.version
		if r.Machine != nil {
			d.sound = before.version
		}
	}
	return d
}

// source is the version that names are looked up in: this one, or the last one whose text
// is YAML, whose places are others.
func (d *document) source() *version {
	if d.good == nil || d.read().Draft != nil {
		return d.version
	}
	return d.good
}

// machine is the machine that is told of: of this version, or the last one without an
// error, or else one with holes; nil when there is none.
func (d *document) machine() *spec.Machine {
	switch {
	case d.read().Machine != nil:
		return d.read().Machine
	case d.sound != nil:
		return d.sound.read().Machine
	}
	return d.source().read().Draft
}

// namesAt are the names that stand at a position, or that end there.
func (d *document) namesAt(p position) []spec.Name {
	if !d.specification {
		return nil
	}
	r := d.source().read()
	if d.source() != d.version {
		return d.lostNames(r, p)
	}
	at := d.place(p)
	var list []spec.Name
	for _, n := range r.Names {
		if n.Pos.Line == at.Line && n.Pos.Col <= at.Col && at.Col <= n.Pos.Col+n.Len {
			list = append(list, n)
		}
	}
	for _, n := range list { // between two names without a gap, such as `a|b`, the one that begins
		if at.Col == n.Pos.Col+n.Len {
			continue
		}
		return only(list, func(o spec.Name) bool { return at.Col < o.Pos.Col+o.Len })
	}
	return list
}

// lostNames guesses what a word names in a text that cannot be read: what it named before, on
// a line of the same text first.
func (d *document) lostNames(r spec.Reading, p position) []spec.Name {
	word, _ := d.wordAt(p)
	line := d.line(p.Line)
	var best []spec.Name
	for _, n := range r.Names {
		if n.Text != word {
			continue
		}
		if d.good.line(n.Pos.Line-1) == line {
			return []spec.Name{n}
		}
		if len(best) == 0 || n.Declares && !best[0].Declares {
			best = []spec.Name{n}
		}
	}
	return best
}

// wordAt is the word at a position, and where it stands.
func (d *document) wordAt(p position) (string, span) {
	line := d.line(p.Line)
	at := bytesOf(line, p.Character)
	from, to := at, at
	for from > 0 && inWord(line[from-1]) {
		from--
	}
	for to < len(line) && inWord(line[to]) {
		to++
	}
	return line[from:to], span{position{p.Line, units(line[:from])}, position{p.Line, units(line[:to])}}
}

// inWord reports whether a byte is part of a word; those of characters outside of ASCII are none.
func inWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// only are the items that fit.
func only[T any](list []T, fits func(T) bool) []T {
	var out []T
	for _, x := range list {
		if fits(x) {
			out = append(out, x)
		}
	}
	return out
}
