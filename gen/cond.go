package gen

import (
	"slices"
	"strings"
)

// cond is a condition as Go code. It knows its own negation, so that generated
// code says `a >= b` and never `!(a < b)`.
type cond struct {
	kind     condKind
	pos, neg string // condAtom: the code and the code of its negation
	parts    []cond // condAnd, condOr
}

type condKind uint8

// lineWidth is the length from which a condition is broken into lines.
const lineWidth = 100

const (
	condFalse condKind = iota
	condTrue
	condAtom
	condAnd
	condOr
)

var (
	always = cond{kind: condTrue}
	never  = cond{kind: condFalse}
)

// atom is a condition that is written as pos, and when it is negated as neg.
func atom(pos, neg string) cond { return cond{kind: condAtom, pos: pos, neg: neg} }

// call is a condition that is one call or one name.
func call(code string) cond {
	if rest, ok := strings.CutPrefix(code, "!"); ok {
		return atom(code, rest)
	}
	return atom(code, "!"+code)
}

// constant is a condition that is known.
func constant(holds bool) cond {
	if holds {
		return always
	}
	return never
}

// and holds when all parts hold.
func and(parts ...cond) cond { return join(condAnd, always, never, parts) }

// or holds when one part holds.
func or(parts ...cond) cond { return join(condOr, never, always, parts) }

func join(kind condKind, neutral, absorbing cond, parts []cond) cond {
	var kept []cond
	for _, p := range parts {
		switch p.kind {
		case neutral.kind:
		case absorbing.kind:
			return absorbing
		case kind:
			kept = appendNew(kept, p.parts...)
		default:
			kept = appendNew(kept, p)
		}
	}
	switch len(kept) {
	case 0:
		return neutral
	case 1:
		return kept[0]
	}
	return cond{kind: kind, parts: kept}
}

// appendNew appends the conditions that do not stand in the list already.
func appendNew(kept []cond, parts ...cond) []cond {
	for _, p := range parts {
		if !slices.ContainsFunc(kept, func(k cond) bool { return k.String() == p.String() }) {
			kept = append(kept, p)
		}
	}
	return kept
}

// not returns the negation.
func (c cond) not() cond {
	switch c.kind {
	case condFalse:
		return always
	case condTrue:
		return never
	case condAtom:
		return atom(c.neg, c.pos)
	}
	negated := make([]cond, len(c.parts))
	for i, p := range c.parts {
		negated[i] = p.not()
	}
	if c.kind == condAnd {
		return or(negated...)
	}
	return and(negated...)
}

// String returns the Go code.
func (c cond) String() string {
	switch c.kind {
	case condFalse:
		return "false"
	case condTrue:
		return "true"
	case condAtom:
		return c.pos
	}
	op := " && "
	if c.kind == condOr {
		op = " || "
	}
	texts := make([]string, len(c.parts))
	for i, p := range c.parts {
		texts[i] = p.String()
		if c.kind == condAnd && p.kind == condOr {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	if line := strings.Join(texts, op); len(line) <= lineWidth {
		return line
	}
	return strings.Join(texts, strings.TrimRight(op, " ")+"\n")
}
