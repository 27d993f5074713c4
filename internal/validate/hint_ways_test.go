package validate_test

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/spec"
)

// way is one thing that hints offer.
type way struct {
	says    *regexp.Regexp
	weakens bool                                  // it says that a promise goes
	edit    func(e *edit, args []string) []string // the file after it, in one of several ways; nil: advice
}

// tree is an edit of the tree, at the place of the finding.
func tree(change func(x *place) bool) func(*edit, []string) []string {
	return func(e *edit, a []string) []string {
		return e.tree(e.d.Pos, func(root *yaml.Node, chain []*yaml.Node) bool { return change(&place{root, chain, e, a}) })
	}
}

// place is where a finding is, and the words that the hint says.
type place struct {
	root  *yaml.Node
	chain []*yaml.Node // from the root to the node of the finding
	e     *edit
	a     []string
}

// says makes a way. What stands in <> is one word, in [] a list.
func says(text string) way {
	p := regexp.QuoteMeta(text)
	p = strings.NewReplacer("<>", "([^ `,]+)", `\[\]`, "(.+?)").Replace(p)
	return way{says: regexp.MustCompile("^" + p + "$")}
}

func (w way) by(edit func(*edit, []string) []string) way { w.edit = edit; return w }
func (w way) weaker() way                                { w.weakens = true; return w }

// names are those of a list of words.
func names(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '[' || r == ']' })
}

// typed gives a field another type.
func typed(e *edit, a []string) []string {
	return tree(func(x *place) bool {
		*in(x.root, "fields", x.a[1]) = *value(x.a[2])
		return true
	})(e, a)
}

func states(text string) []string { return names(strings.ReplaceAll(text, " and ", ", ")) }

// bounded gives fields and inputs bounds of a length.
func bounded(e *edit, a []string) []string {
	return tree(func(x *place) bool {
		for _, name := range names(strings.ReplaceAll(x.a[1], " and ", ", ")) {
			input, is := strings.CutPrefix(name, "input.")
			if !is {
				if f := in(x.root, "fields", name); f.Kind == yaml.MappingNode {
					*in(f, "type") = *value("duration 1s..1h")
				} else {
					*f = *value("duration 1s..1h")
				}
				continue
			}
			for ops, i := in(x.root, "operations"), 1; i < len(ops.Content); i += 2 {
				if all := in(ops.Content[i], "input"); len(all.Content) > 0 {
					for j := 0; j < len(all.Content); j += 2 {
						if all.Content[j].Value == input && all.Content[j+1].Value != "time" {
							*all.Content[j+1] = *value("duration 1s..1h")
						}
					}
				} else {
					drop([]*yaml.Node{ops.Content[i], all})
				}
			}
		}
		return true
	})(e, a)
}

// here removes what the finding is about: the entry itself, or what it is part of.
func here(e *edit, _ []string) []string {
	var all []string
	for up := range 5 {
		all = append(all, e.tree(e.d.Pos, func(root *yaml.Node, chain []*yaml.Node) bool {
			least := 4
			if len(chain) > 1 && chain[1] == in(root, "guards") {
				least = 3
			}
			if len(chain)-up < least && up > 0 {
				return false // a whole operation, or more
			}
			named := chain[len(chain)-up-1]
			for i := 0; i < len(chain[1].Content) && chain[0].Kind == yaml.MappingNode; i++ { // a guard that is required
				if chain[1].Content[i] == named && named.Kind == yaml.MappingNode {
					without(in(root, "operations"), chain[1].Content[i-1].Value)
				}
			}
			return drop(chain[:len(chain)-up])
		})...)
	}
	return all
}

// without removes a name from all lists below a node.
func without(n *yaml.Node, name string) {
	for i := len(n.Content) - 1; i >= 0; i-- {
		if n.Kind == yaml.SequenceNode && n.Content[i].Value == name {
			n.Content = append(n.Content[:i], n.Content[i+1:]...)
			continue
		}
		without(n.Content[i], name)
	}
}

// operation is the body of the operation that a chain leads into.
func operation(root *yaml.Node, chain []*yaml.Node) *yaml.Node {
	ops := in(root, "operations")
	for i := 1; i < len(ops.Content); i += 2 {
		if slices.Contains(chain, ops.Content[i]) || slices.Contains(chain, ops.Content[i-1]) {
			return ops.Content[i]
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode}
}

// renamed gives what is marked another name: there alone, or everywhere.
func renamed(e *edit, _ []string) []string {
	word, all := e.word(), []string{}
	for _, r := range e.d.Related {
		i := e.at(r.Pos)
		n := strings.IndexFunc(e.src[i:], func(c rune) bool { return c != '_' && !unicode.IsLetter(c) })
		all = append(all, e.src[:i]+"Other"+e.src[i+n:])
	}
	whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`)
	return append(all, e.put("other"), e.put("Other"), whole.ReplaceAllString(e.src, "other"))
}

// lineOut removes the line of the finding.
func lineOut(e *edit, _ []string) []string {
	i := e.at(spec.Pos{Line: e.d.Pos.Line, Col: 1})
	return []string{e.src[:i] + e.src[i+strings.Index(e.src[i:], "\n")+1:]}
}

// ways are all that hints of the fixtures say; the first that fits counts.
var ways = []way{
	// words at the place
	says(`did you mean "<>"? allowed here: []`).by(func(e *edit, a []string) []string { return []string{e.put(a[1])} }),
	says(`did you mean "<>"?`).by(func(e *edit, a []string) []string { return []string{e.put(a[1])} }),
	says("write the value that <> gets, such as `input.<>`").by(func(e *edit, a []string) []string {
		return []string{e.put("input." + a[2])}
	}),
	says("write `now`").by(func(e *edit, _ []string) []string { return []string{e.put("now")} }),
	says("rename []").by(renamed),
	says("choose another name for the machine").by(renamed),
	says("choose a new name: stored rows with the old word are migrated").by(renamed),
	says("choose another name: a stored word may mean one thing only").by(renamed),
	says("write one of at most [] bytes: []").by(renamed),
	says("remove the character").by(func(e *edit, _ []string) []string { return []string{e.put("")} }),
	says("remove the line").by(lineOut),
	says("remove the escape").by(func(e *edit, _ []string) []string {
		return []string{regexp.MustCompile(`\\(0|x00|u0000)`).ReplaceAllString(e.src, "")}
	}),
	says("close the bracket").by(func(e *edit, _ []string) []string {
		i := e.at(e.d.Pos)
		end := i + strings.IndexAny(e.src[i:], "#\n")
		return []string{e.src[:end] + map[byte]string{'[': "]", '{': "}"}[e.src[i]] + " " + e.src[end:]}
	}),
	says("write `FSM<>: <why it is meant>`").by(func(e *edit, a []string) []string {
		return []string{regexp.MustCompile(`FSM`+a[1]+`: *("")?`).ReplaceAllString(e.src, "FSM"+a[1]+": it is meant")}
	}),

	// what is taken away
	says("remove one of the two").by(func(e *edit, _ []string) []string {
		list := here(e, nil)
		if list == nil { // YAML does not read a key that is there twice
			list = lineOut(e, nil)
		}
		return list
	}).weaker(),
	says("remove it: the field is built in").by(here),
	says("remove it: nothing is written by such a branch").by(here),
	says("remove it here: the operation changes the field for each of its branches").by(here),
	says("take <> out of `require` of <>").weaker().by(here),
	says("add `rev` to the key").by(func(e *edit, _ []string) []string {
		i := e.at(e.d.Pos)
		return []string{e.src[:i] + strings.ReplaceAll(e.src[i:], "key: [", "key: [rev, ")}
	}),
	says("where one <> for all is meant, write `allow: {FSM208: <why>}` on <>").by(tree(func(x *place) bool {
		*in(x.root, "operations", x.a[2], "allow", "FSM208") = *value("one for all")
		return true
	})),
	says("remove it").by(here).weaker(),
	says("remove the branch").by(here),
	says("remove `[]` from the list").weaker().by(tree(func(x *place) bool {
		i := slices.IndexFunc(x.chain, func(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && n.Content[0].Value == "any" })
		list := x.chain[i].Content[1]
		list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool { return slices.Contains(x.chain, n) })
		return true
	})),
	says("write `[]` without `any`").weaker().by(tree(func(x *place) bool {
		i := slices.IndexFunc(x.chain, func(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && n.Content[0].Value == "any" })
		*x.chain[i] = *value(x.a[1])
		return true
	})),
	says("write `{any: []}`: one of them holds").by(tree(func(x *place) bool {
		*x.chain[len(x.chain)-1] = *value("{any: " + x.a[1] + "}")
		return true
	})),
	says("remove the edge").by(here),
	says("remove the change").by(here),
	says("remove the change and take <> out of `changed_by`").by(func(e *edit, a []string) []string {
		list := here(e, nil)
		for i := range list {
			list[i] = strings.NewReplacer(", "+a[1]+"]", "]", a[1]+", ", "").Replace(list[i])
		}
		return list
	}),
	{says: regexp.MustCompile("^remove the state( with the moves that lead to it)?$"), edit: unstated},
	says("remove the line under `forbidden`").weaker().by(func(e *edit, _ []string) []string {
		return e.tree(e.d.Related[0].Pos, func(_ *yaml.Node, chain []*yaml.Node) bool { return drop(chain[:len(chain)-1]) })
	}),
	says("remove this line under `forbidden`").weaker().by(func(e *edit, _ []string) []string {
		return e.tree(e.d.Pos, func(_ *yaml.Node, chain []*yaml.Node) bool { return drop(chain[:len(chain)-1]) })
	}),
	says("list the fact under `steps`: `- {when: <fact>}`").by(tree(func(x *place) bool {
		return drop(x.chain) && push(in(x.root, "steps"), "{when: "+x.chain[len(x.chain)-1].Value+"}")
	})),
	says("list it under `invariant`").by(tree(func(x *place) bool {
		return drop(x.chain) && push(in(x.root, "invariant"), x.chain[len(x.chain)-1].Value)
	})),
	says("write `<>`: a guard or a value reads the record before the step").by(written),
	says("write `<>`, which is what the operation made of it").by(written),
	says("for what it was before, require a guard"),
	says("let <> change the record so that `[]` holds"),
	says("put `when: []` into the branch in line <> of <>, and below it a branch for the other case").by(func(e *edit, a []string) []string {
		return branchOf(e, a, func(list, branch *yaml.Node) bool {
			i := slices.Index(list.Content, branch)
			list.Content = slices.Insert(list.Content, i+1, value("{to: same}"))
			return push(in(branch, "when"), plain(a[1]))
		})
	}),
	says("take <> out of `from` of <>").by(tree(func(x *place) bool {
		op := in(x.root, "operations", x.a[2])
		if !take(in(op, "from"), x.a[1]) {
			return false
		}
		if len(in(op, "from").Content) == 0 { // it led from there only
			ops := in(x.root, "operations")
			for i := 0; i < len(ops.Content); i += 2 {
				if ops.Content[i+1] == op {
					ops.Content = append(ops.Content[:i], ops.Content[i+2:]...)
					break
				}
			}
		}
		return true
	})),
	says("list the states of <> without <> in its place in `from` of <>").by(tree(func(x *place) bool {
		from := list(in(x.root, "operations", x.a[3], "from"))
		for i, n := range from.Content {
			if n.Value == x.a[1] {
				group := *in(x.root, "state_groups", x.a[1])
				from.Content = slices.Concat(from.Content[:i], group.Content, from.Content[i+1:])
				return take(from, x.a[2])
			}
		}
		return false
	})),
	says("declare <> above the group that names it").by(tree(func(x *place) bool {
		groups := in(x.root, "state_groups")
		for i := 0; i < len(groups.Content); i += 2 {
			if groups.Content[i].Value == x.a[1] {
				groups.Content = slices.Concat(groups.Content[i:i+2], groups.Content[:i], groups.Content[i+2:])
				return true
			}
		}
		return false
	})),
	says("take <> out of `record_only_in`, so that the call is refused there").by(here),
	says("take <> out of `changed_by`").by(here),
	says("end the chain").by(here),
	says("leave `transitions` out").weaker().by(tree(func(x *place) bool {
		p := in(x.root, "projection")
		for i := 0; i < len(p.Content); i += 2 {
			if p.Content[i].Value == "transitions" {
				p.Content = append(p.Content[:i], p.Content[i+2:]...)
				return true
			}
		}
		return false
	})),

	// what is added
	says("list [] under `from` or `record_only_in` of <>").by(func(e *edit, a []string) []string {
		var all []string
		for _, key := range []string{"from", "record_only_in"} {
			all = append(all, e.tree(e.d.Pos, func(root *yaml.Node, _ []*yaml.Node) bool {
				return push(in(root, "operations", a[2], key), states(a[1])...)
			})...)
		}
		return all
	}),
	says("list <> under `from` of <>").by(tree(func(x *place) bool {
		return push(in(x.root, "operations", x.a[2], "from"), x.a[1])
	})),
	says("write `otherwise: reject` (or record_only) for the machine or the state").by(tree(func(x *place) bool {
		*in(x.root, "otherwise") = *value("reject")
		return true
	})),
	says("add `entity`").by(tree(func(x *place) bool {
		*in(x.root, "entity") = *value("Thing")
		return true
	})),
	says("add `final: true` to <>").by(tree(func(x *place) bool {
		*in(x.root, "states", x.a[1], "final") = *value("true")
		return true
	})),
	says("add `terminal: true` (or `final: true`) to <>").by(tree(func(x *place) bool {
		*in(x.root, "states", x.a[1], "terminal") = *value("true")
		return true
	})),
	says("write `final: true` instead of `terminal: true`").weaker().by(func(e *edit, _ []string) []string {
		return e.tree(e.d.Related[0].Pos, func(_ *yaml.Node, chain []*yaml.Node) bool {
			state := chain[len(chain)-2]
			for i := range state.Content {
				if state.Content[i] == chain[len(chain)-1] && state.Content[i+1].Kind == yaml.MappingNode {
					state = state.Content[i+1]
					break
				}
			}
			for _, n := range state.Content {
				if n.Value == "terminal" {
					n.Value = "final"
					return true
				}
			}
			return false
		})
	}),
	says("add `by: system` to <>").by(tree(func(x *place) bool {
		*in(x.root, "operations", x.a[1], "by") = *value("system")
		return true
	})),
	says("add `set: {<>: input}`").by(tree(func(x *place) bool {
		*in(enclosing(x.chain), "set", x.a[1]) = *value("input")
		return true
	})),
	says("write `<>: input` and add <> to `changed_by` of <>").weaker().by(tree(func(x *place) bool {
		*in(operation(x.root, x.chain), "set", x.a[1]) = *value("input")
		return push(in(x.root, "fields", x.a[3], "changed_by"), x.a[2])
	})),
	says("write `<>: input`").by(tree(func(x *place) bool {
		*in(operation(x.root, x.chain), "set", x.a[1]) = *value("input")
		return true
	})),
	says("write `backoff [] by <>`").by(tree(func(x *place) bool {
		*in(operation(x.root, x.chain), "set", x.e.word()) = *value("backoff " + x.a[1] + " by " + x.a[2])
		return true
	})),
	says("widen the bounds of <>").weaker(),
	says("give both ends of the back-off bounds within those of <>"),
	says("give <> the type `[]`").weaker().by(typed),
	says("give <> the type `[]`: an actor has 1 to 255 characters").weaker().by(typed),
	says("declare the field `optional`").weaker(),
	says("write `<> or <>`").by(instead),
	says("`<> or <>`").by(instead),
	says("set the field to a value that needs no input"),
	says("make input <> required").by(tree(func(x *place) bool {
		in := in(operation(x.root, x.chain), "input", x.a[1])
		in.Value = strings.TrimPrefix(in.Value, "optional ")
		return true
	})),
	says("write it within the effect: `effect: {name: <>, then: <>}`"),
	says("write `then` beside the effect: that step follows in the same transaction"),
	says("move the effect to the branches that have no `then`"),
	says("keep it at each branch that needs it"),
	says("at the operation for all"),
	says("leave `then` of the operation to the other branches"),
	says("write it within the effect"),
	says("give one of them another name"),
	says("the same `then`, `attempts` and `failed`"),
	says("let one effect of the step have `then` or `failed`: when its record goes on, the other delivery is dropped"),
	says("name under `failed` the step that runs then"),
	says("leave `attempts` out: it is tried until it succeeds").by(here),
	says("take `atomic` or `<>` away"),
	says("write `error: string` under `input` of <>").by(tree(func(x *place) bool {
		*in(x.root, "operations", x.a[1], "input", "error") = *value("string")
		return true
	})),
	says("leave one of them out"),
	says("take the effect away"),
	says("declare the input <> optional, write `<>`, and above it a branch that refuses: `{when: <> is absent, reject: missing}`"),
	says("write it on the operation that is meant"),
	says("add to a key what tells them apart"),
	says("take it out of the file"),
	says("take `was` out"),
	says("generate the durable layer too"),
	says("let the caller count, and set an int to an input"),
	says("let the caller count, and compare an input"),
	says("declare a string"),
	says("declare a bool for each member that matters"),
	says("leave `by` out, and keep the reason where the method is called"),
	says("take it out, and call <> when its time has come"),
	says("take it out, and do the work when the method has returned"),
	says("take it out, and call both methods"),
	says("declare the field `int`").weaker(),
	says("declare `<>: counter`").by(tree(func(x *place) bool {
		*in(x.root, "fields", x.a[1]) = *value("counter")
		return true
	})),
	says("write `increment: [<>]`").by(listed("increment")),
	says("write `reset: [<>]`").by(listed("reset")),
	says("put a branch with `when: []` above the branch in line <> of <>"),
	says("add <> to `reset:` of <>").by(tree(func(x *place) bool {
		return push(in(x.root, "operations", x.a[2], "reset"), x.a[1])
	})),
	says("remove it here").by(here),
	says("keep one of them").by(here),
	says("weaken what <> promises").weaker(),
	says("take <> out of `reset` of <>").by(tree(func(x *place) bool {
		without(in(x.root, "operations", x.a[2], "reset"), x.a[1])
		without(in(x.root, "fields"), x.a[2]) // who changes it
		return true
	})),
	says("take <> out of `<>` of <>").by(here),
	says("add <> to `clear:` of <>").by(tree(func(x *place) bool {
		return push(in(x.root, "operations", x.a[2], "clear"), x.a[1])
	})),
	says("add <> to `changed_by` of <>").weaker().by(tree(func(x *place) bool {
		return push(in(x.root, "fields", x.a[2], "changed_by"), x.a[1])
	})),
	says("write `<>: {type: counter, changed_by: [[]]}`").by(tree(func(x *place) bool {
		*in(x.root, "fields", x.a[1]) = *value("{type: counter, changed_by: [" + x.a[2] + "]}")
		return true
	})),
	says("add `- {from: <>, to: <>}` to `transitions`").weaker(),
	says("require a guard with `when: []`").by(requireNew),
	says("require a guard with `[]`").by(requireNew),
	says("require a guard that makes `[]` true after []"),
	says("add `[]` to `when` of the branch in line <> of <>").by(narrower),
	says("add `[]` to its `when`").by(narrower),
	says("add a last branch without `when`").by(tree(func(x *place) bool {
		return push(in(x.root, "operations", x.e.word(), "choose"), "{to: same}")
	})),
	says("move it to the end of the list").by(tree(func(x *place) bool {
		for i := len(x.chain) - 2; i >= 0; i-- {
			if s := x.chain[i]; s.Kind == yaml.SequenceNode {
				c := x.chain[i+1]
				return drop(x.chain[:i+2]) && func() bool { s.Content = append(s.Content, c); return true }()
			}
		}
		return false
	})),
	says("move it up, make the branch above it narrower").by(tree(func(x *place) bool {
		for i := len(x.chain) - 2; i >= 0; i-- {
			if s := x.chain[i]; s.Kind == yaml.SequenceNode && s.Content[0].Kind == yaml.MappingNode {
				c := x.chain[i+1]
				return drop(x.chain[:i+2]) && func() bool { s.Content = append([]*yaml.Node{c}, s.Content...); return true }()
			}
		}
		return false
	})),
	says("end `rules` with a rule that has no condition: `- {state: ...}`").by(tree(func(x *place) bool {
		rules := in(x.root, "projection", "rules")
		state := in(rules.Content[0], "state").Value
		return push(rules, "{state: "+state+"}")
	})),
	says("list <> under `reserved` instead").by(tree(func(x *place) bool {
		return drop(x.chain[:len(x.chain)-1]) && push(in(x.root, "projection", "reserved"), x.a[1])
	})),
	says("add `unique: {...: []}`").by(tree(func(x *place) bool {
		*in(x.root, "unique", "one") = *value(x.a[1])
		return true
	})),
	says("write `fewer: {than: 1, ...}`: an index cannot tell which group the call means").weaker().by(fewer),
	says("write `fewer: {than: 1, ...}` when several are allowed there").weaker().by(fewer),
	says("write `fewer: {than: 1, ...}`: <> leads there without the guard, so several are allowed").weaker().by(fewer),
	says("add <> to `require` of <>").by(tree(func(x *place) bool {
		return push(in(x.root, "operations", x.a[2], "require"), x.a[1])
	})),
	says("require a guard with `some: []` in <>").by(tree(func(x *place) bool {
		*in(x.root, "guards", "one_stays") = *value("{some: " + x.a[1] + ", error: nobody_left}")
		return push(in(x.root, "operations", x.a[2], "require"), "one_stays")
	})),
	says("write `same: []` in <>").by(tree(func(x *place) bool {
		g := in(x.root, "guards", x.a[2])
		for i := 0; i < len(g.Content); i += 2 {
			if key := g.Content[i].Value; key == "fewer" || key == "none" || key == "some" {
				*in(g, key, "same") = *value(x.a[1])
				return true
			}
		}
		return false
	})),
	says("write `same: <>`").by(tree(func(x *place) bool {
		*in(x.root, "guards", x.e.word(), "none", "same") = *value(x.a[1])
		return true
	})),
	says("`fields: [[]]` in <>").by(tree(func(x *place) bool {
		*in(x.root, "unique", x.a[2], "fields") = *value("[" + x.a[1] + "]")
		return true
	})),
	says("write `none: []`").by(tree(func(x *place) bool {
		g := in(x.root, "guards", x.e.word())
		for i := 0; i < len(g.Content); i += 2 {
			if g.Content[i].Value == "fewer" {
				g.Content[i].Value, *g.Content[i+1] = "none", *value(x.a[1])
				return true
			}
		}
		return false
	})),
	says("write `in: [[]]` in both").by(tree(func(x *place) bool {
		*in(x.root, "guards", x.e.word(), "none", "in") = *value("[" + x.a[1] + "]")
		return true
	})),
	says("give the guard an error of its own").by(tree(func(x *place) bool {
		*in(x.root, "guards", x.e.word(), "error") = *value("another")
		return true
	})),
	says("give each operation an event name of its own").by(tree(func(x *place) bool {
		*in(operation(x.root, x.chain), "event") = *value("another")
		return true
	})),
	says("remove it: no record exists yet").by(here),
	says("write a whole number from 1 to 10000").by(func(e *edit, _ []string) []string { return []string{e.put("500")} }),
	says("add `order: [created_at]`").by(tree(func(x *place) bool {
		*in(operation(x.root, x.chain), "next", "order") = *value("[created_at]")
		return true
	})),
	says("let a trigger or an operator leave <>"),
	says("where the effect always succeeds in the end, write `allow: {FSM111: <why>}` on <>").by(tree(func(x *place) bool {
		*in(x.root, "states", x.a[1], "allow", "FSM111") = *value("the receiver is ours")
		return true
	})),
	says("where the log alone is to keep it, write `allow: {FSM604: <why>}` on <>").by(tree(func(x *place) bool {
		*in(x.root, "operations", x.a[1], "allow", "FSM604") = *value("the log keeps it")
		return true
	})),
	says("bound [] by its type, such as `duration 1s..1h`").weaker().by(bounded),
	says("bound [] by their types, such as `duration 1s..1h`").weaker().by(bounded),
	says("let <> require a guard such as `when: []`").by(tree(func(x *place) bool {
		*in(x.root, "guards", "new_one") = *value("{error: new_one, when: '" + x.a[2] + "'}")
		return push(in(x.root, "operations", x.a[1], "require"), "new_one")
	})),
	says("where the callers and their clocks are trusted, write `allow: {FSM609: <why>}` in the head of the file").by(tree(func(x *place) bool {
		*in(x.root, "allow", "FSM609") = *value("the workers are ours")
		return true
	})),
	says("turn the comparison in <> around").by(func(e *edit, a []string) []string {
		var all []string
		for _, op := range []string{"<", "<=", ">", ">="} {
			all = append(all, e.tree(e.d.Pos, func(root *yaml.Node, _ []*yaml.Node) bool {
				when := in(root, "guards", a[1], "when")
				fact := regexp.MustCompile(`^(.+) [<>]=? (.+)$`).FindStringSubmatch(when.Value)
				if fact != nil {
					*when = yaml.Node{Kind: yaml.ScalarNode, Value: fact[1] + " " + op + " " + fact[2]}
				}
				return fact != nil
			})...)
		}
		return all
	}).weaker(),
	says(`write the text in both kinds of quotes: "'[]'"`).by(tree(func(x *place) bool {
		*x.chain[len(x.chain)-1] = yaml.Node{Kind: yaml.ScalarNode, Value: "'" + x.a[1] + "'", Style: yaml.DoubleQuotedStyle}
		return true
	})),
	says("name it under `require` of an operation").by(tree(func(x *place) bool {
		ops := in(x.root, "operations")
		return push(in(ops.Content[len(ops.Content)-1], "require"), x.e.word())
	})),
	says("name it under `probe` of a state").by(tree(func(x *place) bool {
		return push(in(in(x.root, "states").Content[1], "probe"), x.e.word())
	})),

	{says: advice},
}

// advice is how a way out begins that only the author can go.
var advice = regexp.MustCompile("^(" + strings.Join([]string{
	"`creates: ", "`fsmgen explain`", "a `none` guard would", "a field compared by", "an operation with",
	"allowed keys", "by a branch above", "nothing to fix", "add `- {from", "add `from: ", "add a `by: system`",
	"add a member", "add a counter", "add an operation", "add the operation", "change it in an operation", "compare ",
	"correct `was`", "decide by", "declare the field", "fix ", "give a branch above", "give it a `when`",
	"keep `terminal` when", "keep [a-z_]+ (out of|from)", "lead to", "let [a-z_]+ set fields",
	"let `failed` lead", "let an operation lead", "let it change", "let the operation be run", "make an operation of its own",
	"make the input optional", "move the (`set`|rule)", "name a", "put a ", "read it",
	"require a guard (on|that)", "promise (it before|in)", "require it there", "say with", "set ", "the field that says", "use the same",
	"a second step of", "weaken the", "widen them", "write `(key|set|startup|x is)", "write (input|the character|the value where)",
}, "|") + ")")
