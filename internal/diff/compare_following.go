package diff

import (
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// following compares what picks the record, what fires the operation, and what
// comes of it.
func (c *comparison) following(o, n *spec.Operation) {
	c.dedupe(o, n)
	c.picking(o, n)
	c.each(o, n)
	c.triggers(o, n)
	c.asks(o, n, "FSM712")
	c.lost(o, n)
	c.then(o, n)
	if o.OnRefusalRecordOnly != n.OnRefusalRecordOnly {
		where := at{o.Pos, n.Pos}
		if n.OnRefusalRecordOnly {
			c.report("FSM705", where, "callers no longer see an error", "%s is recorded when a guard fails, it was refused", n.Name)
		} else {
			c.report("FSM704", where, "calls that were recorded now fail", "%s is refused when a guard fails, it was recorded", n.Name)
		}
	}
}

// dedupe compares how a creation finds an existing record. The index that it
// implies is compared with the unique rules.
func (c *comparison) dedupe(o, n *spec.Operation) {
	key := func(d *spec.Dedupe) []string {
		if d == nil {
			return nil
		}
		words := fieldWords(d.Fields)
		if d.Unique != nil {
			words = append(words, "in "+comma(stateWords(d.Unique.In)))
		}
		return words
	}
	a, b := key(o.DedupeBy), key(n.DedupeBy)
	if slices.Equal(a, b) {
		return
	}
	where := at{o.Pos, n.Pos}
	if n.DedupeBy != nil {
		where.next = n.DedupeBy.Pos
	}
	if o.DedupeBy != nil {
		where.old = o.DedupeBy.Pos
	}
	switch {
	case n.DedupeBy == nil:
		c.report("FSM704", where, "callers may count on the existing record", "%s no longer finds an existing record", n.Name)
	case o.DedupeBy == nil:
		c.report("FSM705", where, "a call that made a record, or was refused, may return another caller's record",
			"%s returns the existing record with the same %s", n.Name, fieldNames(n.DedupeBy.Fields))
	default:
		c.report("FSM705", where, "callers get other records", "%s returns the existing record with the same %s, it was %s",
			n.Name, fieldNames(n.DedupeBy.Fields), fieldNames(o.DedupeBy.Fields))
	}
}

func (c *comparison) picking(o, n *spec.Operation) {
	switch {
	case o.Next == nil && n.Next == nil:
	case n.Next == nil:
		c.report("FSM703", at{o.Next.Pos, n.Pos}, "callers let the store pick the record", "%s no longer picks a record", n.Name)
	case o.Next == nil:
		c.compatible(at{o.Pos, n.Next.Pos}, "the store can pick the record for %s", n.Name)
	default:
		where := at{o.Next.Pos, n.Next.Pos}
		if more := without(n.Next.Where, o.Next.Where); len(more) > 0 {
			c.report("FSM704", where, "records that were picked are now passed over", "%s picks only where %s", n.Name, factTexts(more))
		}
		if less := without(o.Next.Where, n.Next.Where); len(less) > 0 {
			c.report("FSM705", where, "records that were passed over are now picked", "%s picks also where %s does not hold", n.Name, factTexts(less))
		}
		if a, b := orderWords(o.Next.Order), orderWords(n.Next.Order); !slices.Equal(a, b) {
			c.report("FSM710", where, "", "%s picks by %s, it picked by %s", n.Name, orNothing(b), orNothing(a))
		}
	}
}

func (c *comparison) each(o, n *spec.Operation) {
	switch {
	case o.Each == nil && n.Each == nil:
	case n.Each == nil:
		c.report("FSM703", at{o.Each.Pos, n.Pos}, "callers take the step with all records that fit", "%s no longer takes each record", n.Name)
	case o.Each == nil:
		c.compatible(at{o.Pos, n.Each.Pos}, "one call can take %s with each record that fits", n.Name)
	default:
		where := at{o.Each.Pos, n.Each.Pos}
		if more := without(n.Each.Where, o.Each.Where); len(more) > 0 {
			c.report("FSM704", where, "records that were taken are now passed over",
				"%s takes each record only where %s", n.Name, factTexts(more))
		}
		if less := without(o.Each.Where, n.Each.Where); len(less) > 0 {
			c.report("FSM705", where, "records that were passed over are now taken",
				"%s takes each record also where %s does not hold", n.Name, factTexts(less))
		}
		switch {
		case n.Each.Most < o.Each.Most:
			c.report("FSM704", where, "a call on more records is refused",
				"%s takes %d records at most, it was %d", n.Name, n.Each.Most, o.Each.Most)
		case n.Each.Most > o.Each.Most:
			c.report("FSM705", where, "a call that was refused moves more records",
				"%s takes %d records at most, it was %d", n.Name, n.Each.Most, o.Each.Most)
		}
	}
}

func orderWords(order []spec.Order) []string {
	var words []string
	for _, k := range order {
		word := k.Field.Stored()
		if k.Descending {
			word = "-" + word
		}
		words = append(words, word)
	}
	return words
}

// triggers compares who fires the operation without a caller. Only a constant
// length is free: it can be set where the machine is opened.
func (c *comparison) triggers(o, n *spec.Operation) {
	key := func(t *spec.Trigger) string {
		if t.Startup {
			return "at startup"
		}
		return "after " + t.After.Stored()
	}
	by := func(t *spec.Trigger) string {
		if t.By == nil {
			return ""
		}
		return t.By.Stored()
	}
	due := func(t *spec.Trigger) string {
		switch {
		case t.By != nil:
			return key(t) + " + " + t.By.Name
		case t.Plus > 0:
			return key(t) + " + " + spec.SpanText(t.Plus.Microseconds())
		}
		return key(t)
	}
	refs := func(list []spec.Trigger) []*spec.Trigger {
		var all []*spec.Trigger
		for i := range list {
			all = append(all, &list[i])
		}
		return all
	}
	for _, p := range pairUp(refs(o.Triggers), refs(n.Triggers), key) {
		switch {
		case p.next == nil:
			c.report("FSM710", at{p.old.Pos, n.Pos}, "let a program call it, or restore the trigger", "%s is no longer fired %s", n.Name, due(p.old))
		case p.old == nil:
			c.report("FSM710", at{o.Pos, p.next.Pos}, "records that are due there move by themselves", "%s is fired %s", n.Name, due(p.next))
		case by(p.old) != by(p.next):
			c.report("FSM710", at{p.old.Pos, p.next.Pos}, "", "%s is fired %s, it was fired %s", n.Name, due(p.next), due(p.old))
		case p.old.Plus != p.next.Plus:
			c.compatible(at{p.old.Pos, p.next.Pos}, "%s is fired %s, it was fired %s", n.Name, due(p.next), due(p.old))
		}
	}
}
