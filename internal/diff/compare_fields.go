package diff

import (
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

func (c *comparison) fields() {
	for _, p := range c.fpairs {
		switch {
		case p.next == nil:
			c.fieldGone(p.old)
		case p.old == nil:
			c.fieldNew(p.next)
		default:
			c.field(p.old, p.next)
		}
	}
}

func (c *comparison) fieldGone(f *spec.Field) {
	var list []candidate
	for _, p := range c.fpairs {
		if p.old == nil {
			list = append(list, candidate{p.next.Name, overlap(uses(c.old, f), uses(c.next, p.next))})
		}
	}
	hint := rename("field", f.Stored(), f.Name, list)
	if hint == "" {
		hint = "the migration drops the column and the log keeps the values, which a higher version passes over; never use the name again"
	}
	c.report("FSM701", at{old: f.Pos}, hint, "field %s is gone: rows and events hold it", f.Name)
}

// blank reports whether a record can be without a value of the type: it begins
// absent, empty or at 0.
func blank(t *spec.Type) bool {
	return t.Optional || t.Kind == spec.KindSet || t.Kind == spec.KindCounter
}

func (c *comparison) fieldNew(f *spec.Field) {
	where := at{next: f.Pos}
	if blank(&f.Type) {
		c.compatible(where, "field %s is new; old records have none", f.Name)
		return
	}
	if f.Default != nil {
		c.compatible(where, "field %s is new; old records have its default %s", f.Name, f.Default.Text)
		return
	}
	c.report("FSM702", where, "give it a `default`, or make it optional: old records and their events have no value for it",
		"field %s is new and mandatory", f.Name)
}

func (c *comparison) field(o, n *spec.Field) {
	where := at{o.Pos, n.Pos}
	typed := at{o.TypePos, n.TypePos}
	if o.Name != n.Name {
		c.report("FSM703", where, goNames, "field %s is called %s", o.Name, n.Name)
	}
	if o.Type.Kind != n.Type.Kind {
		c.report("FSM702", typed, "add a field of the new type under another name, and keep the old one",
			"field %s is %s, it was %s", n.Name, typeWords(&n.Type), typeWords(&o.Type))
	} else {
		switch {
		case o.Type.Optional && !n.Type.Optional:
			c.report("FSM702", typed, "set it in every row first, by an operation of the old version", "field %s is mandatory, it was optional", n.Name)
		case !o.Type.Optional && n.Type.Optional:
			c.report("FSM703", typed, "its Go type is another one; rows and events stay as they are", "field %s is optional, it was mandatory", n.Name)
		}
		code := "FSM702"
		if n.Type.Kind == spec.KindString || n.Type.Kind == spec.KindDuration {
			code = "FSM706"
		}
		c.bounds(code, typed, "field "+n.Name, &o.Type, &n.Type)
		c.values("FSM702", typed, "field "+n.Name, o.Type.Values, n.Type.Values)
	}
	if n.Type.Kind == spec.KindSequence {
		group := func(f *spec.Field) []string { return sorted(f.Per, (*spec.Field).Stored) }
		if a, b := group(o), group(n); !slices.Equal(a, b) {
			c.report("FSM702", where, "number by another field under another name, and keep the old one",
				"field %s is numbered per %s, it was per %s", n.Name, orMachine(b), orMachine(a))
		}
	}
	c.defaults(where, o, n)
	c.changedBy(where, o, n)
	c.goesBack(where, o, n)
	c.text(where, "doc of field "+n.Name, o.Doc, n.Doc)
}

// defaults compares what a record holds that is older than the field.
func (c *comparison) defaults(where at, o, n *spec.Field) {
	switch {
	case o.SameDefault(n):
	case o.Default == nil:
		c.compatible(where, "field %s has the default %s", n.Name, n.Default.Text)
	case n.Default == nil:
		c.report("FSM715", where, "keep the default: the log of records that are older than the field has no value for it",
			"field %s has no default, it was %s", n.Name, o.Default.Text)
	default:
		c.report("FSM715", where, "keep the default, and set another value in the creations: the log of older records would fold to another value",
			"the default of field %s is %s, it was %s", n.Name, n.Default.Text, o.Default.Text)
	}
}

func orMachine(words []string) string {
	if len(words) == 0 {
		return "machine"
	}
	return comma(words)
}

// bounds compares the bounds of numbers, of durations, or of the lengths of texts, of a field or an input.
func (c *comparison) bounds(code string, where at, what string, o, n *spec.Type) {
	if n.Kind != spec.KindInt && n.Kind != spec.KindString && n.Kind != spec.KindDuration {
		return
	}
	was, is := boundText(o), boundText(n)
	if n.Kind == spec.KindString { // `string 1..` says what `string` says
		o, n = withLeast(*o), withLeast(*n)
	}
	narrower := n.Min != nil && (o.Min == nil || *n.Min > *o.Min) || n.Max != nil && (o.Max == nil || *n.Max < *o.Max)
	wider := o.Min != nil && (n.Min == nil || *n.Min < *o.Min) || o.Max != nil && (n.Max == nil || *n.Max > *o.Max)
	switch {
	case narrower:
		c.report(code, where, "look for values outside of the bounds first", "%s is %s, it was %s", what, is, was)
	case wider:
		c.compatible(where, "%s is %s, it was %s", what, is, was)
	}
}

// withLeast is a type of a text whose least length is written: none is empty.
func withLeast(t spec.Type) *spec.Type {
	if t.Min == nil {
		one := int64(1)
		t.Min = &one
	}
	return &t
}

// boundText writes a type with its bounds. The limit of sums has its cause in the place of a number
// that nobody wrote. A counter has it, too, but none counts so far: no row has to be looked at.
func boundText(t *spec.Type) string {
	bare := t.Asked()
	bare.Optional = false
	if t.Summed() {
		return bare.String() + " within the limit of sums (2^60)"
	}
	return bare.String()
}

// values compares the words of an enum, of a field or an input.
func (c *comparison) values(code string, where at, what string, old, next []*spec.EnumValue) {
	pairs := pairUp(old, next, (*spec.EnumValue).Stored)
	for _, p := range pairs {
		switch {
		case p.next == nil:
			var list []candidate
			for _, q := range pairs {
				if q.old == nil {
					list = append(list, candidate{q.next.Name, 0.5})
				}
			}
			hint := rename("value", p.old.Stored(), p.old.Name, list)
			if hint != "" {
				hint = fmt.Sprintf("if it has a new name, write it under `was: {values: {<new name>: %s}}`", p.old.Stored())
			} else {
				hint = "keep the value; rows and events hold it"
			}
			c.report(code, at{p.old.Pos, where.next}, hint, "%s no longer has the value %s", what, p.old.Name)
		case p.old == nil:
			c.report("FSM709", at{where.old, p.next.Pos}, readersFirst, "%s has the new value %s", what, p.next.Name)
		case p.old.Name != p.next.Name:
			c.report("FSM703", at{p.old.Pos, p.next.Pos}, goNames, "value %s of %s is called %s", p.old.Name, what, p.next.Name)
		}
	}
}

// changedBy compares the list of operations that may change a field. What an
// operation does is compared by itself: here it matters whether the field is
// still watched.
func (c *comparison) changedBy(where at, o, n *spec.Field) {
	word := func(r *spec.OperationRef) string { return r.Operation.Stored() }
	a, b := sorted(o.ChangedBy, word), sorted(n.ChangedBy, word)
	switch {
	case o.HasChangedBy && !n.HasChangedBy:
		c.report("FSM713", where, "", "any operation may change field %s, it was changed by %s only", n.Name, orNothing(a))
	case !o.HasChangedBy && n.HasChangedBy:
		c.compatible(where, "field %s is changed by %s only", n.Name, orNothing(b))
	case !slices.Equal(a, b):
		more := slices.DeleteFunc(slices.Clone(b), func(w string) bool { return slices.Contains(a, w) })
		if len(more) > 0 {
			c.report("FSM713", where, "", "field %s is changed by %s too", n.Name, comma(more))
		} else {
			c.compatible(where, "field %s is changed by %s, it was changed by %s", n.Name, orNothing(b), orNothing(a))
		}
	}
}
