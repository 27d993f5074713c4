package gen

import "testing"

// TestCondNot proves for every small condition that its negation is written
// as one: for each assignment of the atoms exactly one of the two holds.
func TestCondNot(t *testing.T) {
	t.Parallel()
	a, b, c := call("a"), atom("x < y", "x >= y"), call("!c")
	for _, x := range []cond{
		always, never, a, b, c,
		and(a, b), or(a, b), and(a, or(b, c)), or(a, and(b, c)), or(and(a, b), and(b, c)), and(or(a, b), or(b.not(), c)),
	} {
		for bits := range 8 {
			values := map[string]bool{"a": bits&1 != 0, "x < y": bits&2 != 0, "!c": bits&4 != 0}
			if eval(t, x, values) == eval(t, x.not(), values) {
				t.Errorf("%q and its negation %q are the same for %v", x, x.not(), values)
			}
			if eval(t, x, values) != eval(t, x.not().not(), values) {
				t.Errorf("%q and its double negation differ for %v", x, values)
			}
		}
	}
}

func eval(t *testing.T, c cond, values map[string]bool) bool {
	t.Helper()
	switch c.kind {
	case condFalse:
		return false
	case condTrue:
		return true
	case condAtom:
		if v, ok := values[c.pos]; ok {
			return v
		}
		v, ok := values[c.neg]
		if !ok {
			t.Fatalf("no value for %q", c.pos)
		}
		return !v
	}
	for _, p := range c.parts {
		if eval(t, p, values) != (c.kind == condAnd) {
			return c.kind == condOr
		}
	}
	return c.kind == condAnd
}

func TestCondText(t *testing.T) {
	t.Parallel()
	a, b, c := call("a"), atom("x < y", "x >= y"), call("!c")
	for _, x := range []struct {
		cond cond
		want string
	}{
		{and(), "true"},
		{or(), "false"},
		{and(a, always), "a"},
		{and(a, never), "false"},
		{or(a, always), "true"},
		{and(a, b, a), "a && x < y"},
		{and(a, and(b, c)), "a && x < y && !c"},
		{and(a, or(b, c)), "a && (x < y || !c)"},
		{or(a, and(b, c)), "a || x < y && !c"},
		{and(a, or(b, c)).not(), "!a || x >= y && c"},
		{or(a, and(b, c)).not(), "!a && (x >= y || c)"},
	} {
		if got := x.cond.String(); got != x.want {
			t.Errorf("got %q, expected %q", got, x.want)
		}
	}
}
