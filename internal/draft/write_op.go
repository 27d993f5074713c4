package draft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

func (w *writer) operation(o *operation) {
	p := w.p
	for _, r := range o.remarks {
		w.comment(2, r)
	}
	one := o.single()
	if one != nil {
		var said []string
		for _, l := range o.sources {
			for _, r := range o.ways[l][0].remarks {
				if !slices.Contains(said, r) {
					said = append(said, r)
					w.comment(2, r)
				}
			}
		}
	}
	w.line(2, "%s:%s", o.name, named(o.name, o.first))
	if o.doc != "" {
		w.line(4, "doc: %s", quoted(o.doc))
	}
	if o.by != "" {
		w.line(4, "by: %s", o.by)
	}
	switch {
	case o.created:
		w.line(4, "creates: %s", p.from(o.targets()))
	default:
		w.line(4, "from: %s", p.from(o.sources))
	}
	if one != nil {
		w.one(o, one)
	} else {
		w.many(o)
	}
	w.line(0, "")
}

func (o *operation) targets() (list []*leaf) {
	for _, w := range o.ways[nil] {
		if w.target != nil && !slices.Contains(list, w.target) {
			list = append(list, w.target)
		}
	}
	return list
}

// one writes an operation that does the same from each of its states.
func (w *writer) one(o *operation, way *way) {
	if !o.created {
		w.line(4, "to: %s", way.to())
	}
	var require []string
	if o.owner {
		require = append(require, "owner_only")
	}
	if way.test != nil {
		w.line(4, "input: {%s: bool}%s", way.test.name, named(way.test.name, way.test.text))
		require = append(require, way.test.guard(way.not))
	}
	w.list(4, "require", require)
	if o.trigger != "" {
		w.list(4, "trigger", []string{o.trigger})
	}
	sets, guess := way.sets()
	if len(sets) > 0 {
		w.line(4, "set: {%s}%s", strings.Join(sets, ", "), guess)
	}
	w.list(4, "clear", way.clears())
	w.effects(4, "effect", way.effects)
}

func (y *way) to() string {
	if y.stays {
		return "same"
	}
	return y.target.id
}

func (y *way) sets() (list []string, guess string) {
	if y.owner == "set" {
		list = append(list, "owner: actor")
	}
	for _, d := range y.setsTo {
		list = append(list, d.field+": now + "+spec.SpanText(d.length.Microseconds()))
		if guess == "" {
			guess = "  # guess"
		}
	}
	return list, guess
}

func (y *way) clears() []string {
	if y.owner == "clear" {
		return append([]string{"owner"}, y.clear...)
	}
	return y.clear
}

// class is a list of ways, and from where they are taken.
type class struct {
	from []*leaf
	ways []*way
}

func (o *operation) classes() (list []*class) {
	for _, l := range o.sources {
		ways := o.ways[l]
		i := slices.IndexFunc(list, func(c *class) bool { return alike(c.ways, ways) })
		if i < 0 {
			list = append(list, &class{ways: ways})
			i = len(list) - 1
		}
		list[i].from = append(list[i].from, l)
	}
	return list
}

// many writes an operation that decides by facts, or does different things from different states.
func (w *writer) many(o *operation) {
	classes := o.classes()
	asks := map[string]int{} // of how many classes
	for _, c := range classes {
		seen := map[string]bool{}
		for _, y := range c.ways {
			if y.outcome != "" {
				seen["outcome"] = true
			}
			if y.test != nil {
				seen[y.test.name] = true
			}
		}
		for name := range seen {
			asks[name]++
		}
	}
	kind := func(name, kind string) string {
		if asks[name] < len(classes) {
			kind = "optional " + kind
		}
		return kind
	}
	if len(asks) > 0 {
		w.line(4, "input:")
		for _, t := range w.p.tests {
			if asks[t.name] > 0 {
				w.line(6, "%s: %s%s", t.name, kind(t.name, "bool"), named(t.name, t.text))
			}
		}
		if asks["outcome"] > 0 {
			w.line(6, "outcome: %s  # guess: the file does not say which way", kind("outcome", strings.Join(o.outcomes, "|")))
		}
	}
	if o.owner {
		w.list(4, "require", []string{"owner_only"})
	}
	if o.trigger != "" {
		w.list(4, "trigger", []string{o.trigger})
	}
	w.line(4, "choose:")
	for _, c := range classes {
		from := ""
		if len(classes) > 1 {
			from = "from: " + w.p.from(c.from) + ", "
		}
		w.class(o, c, from, asks["outcome"] == len(classes))
	}
}

func (w *writer) class(o *operation, c *class, from string, mandatory bool) {
	open, outcomes := true, 0
	for _, y := range c.ways {
		for _, r := range y.remarks {
			w.comment(6, r)
		}
		when := ""
		switch {
		case y.test != nil:
			when = fmt.Sprintf("when: input.%s == %v, ", y.test.name, !y.not)
		case y.outcome != "":
			when = "when: input.outcome == " + y.outcome + ", "
			outcomes++
		default:
			open = false
		}
		text := from + when + "to: " + y.to()
		sets, guess := y.sets()
		if len(sets) > 0 {
			text += ", set: {" + strings.Join(sets, ", ") + "}"
		}
		if clears := y.clears(); len(clears) > 0 {
			text += ", clear: [" + strings.Join(clears, ", ") + "]"
		}
		if len(y.effects) == 1 {
			text += ", effect: " + y.effects[0].String()
		}
		if len(y.effects) < 2 {
			w.line(6, "- {%s}%s", text, guess)
			continue
		}
		w.line(6, "- to: %s", y.to())
		if from != "" {
			w.line(8, "%s", strings.TrimSuffix(from, ", "))
		}
		if when != "" {
			w.line(8, "%s", strings.TrimSuffix(when, ", "))
		}
		if len(sets) > 0 {
			w.line(8, "set: {%s}%s", strings.Join(sets, ", "), guess)
		}
		w.list(8, "clear", y.clears())
		w.effects(8, "effect", y.effects)
	}
	if open && !(mandatory && outcomes == len(o.outcomes)) {
		w.line(6, "- {%sreject: %s}", from, w.p.refusal(o, c))
	}
}

// refusal names the error of what no branch takes.
func (p *plan) refusal(o *operation, c *class) string {
	if y := c.ways[0]; len(c.ways) == 1 && y.test != nil {
		return y.test.failure(y.not)
	}
	return "no_way_to_" + o.name
}
