package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// xstate reads machines of XState, versions 4 and 5, as JSON.
type xstate struct {
	*tree
	ids   map[string]*node
	src   map[*node]*value
	paths map[*node]string
}

func readXState(src []byte) (*tree, error) {
	v, err := parseJSON(src)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"machine", "config", "definition"} {
		if v.get("states") == nil && v.get(key).get("states") != nil {
			v = v.get(key)
		}
	}
	if states := v.get("states"); states == nil || !states.object || len(states.keys) == 0 {
		return nil, fail(v.line, 1, "the object has no states; expected a machine of XState: an object with initial and states")
	}
	x := &xstate{tree: &tree{name: v.word("id"), doc: v.word("description")}, ids: map[string]*node{}, src: map[*node]*value{}, paths: map[*node]string{}}
	x.root = &node{name: v.word("id"), line: v.line}
	x.declare(x.root, v, "", 0)
	if err := x.fill(x.root); err != nil {
		return nil, err
	}
	x.starts()
	for _, key := range []string{"context", "types", "schema", "schemas"} {
		if c := v.get(key); c != nil && c.object && len(c.keys) > 0 {
			x.lost(c.line, "%s: %s; declare fields for what the machine decides by", key, strings.Join(c.keys, ", "))
		}
	}
	return x.tree, nil
}

// declare makes the nodes.
func (x *xstate) declare(n *node, v *value, path string, depth int) {
	x.src[n], x.paths[n] = v, path
	x.ids[strings.TrimPrefix(path, ".")] = n
	if id := v.word("id"); id != "" {
		x.ids["#"+id] = n
	}
	if n.doc = v.word("description"); n == x.root {
		n.doc = ""
	}
	switch v.word("type") {
	case "final":
		n.kind = final
	case "parallel":
		n.kind = parallel
	case "history":
		n.kind = history
	}
	if states := v.get("states"); states != nil && states.object && depth <= maxDepth {
		for i, key := range states.keys {
			if slices.Index(states.keys[i+1:], key) < 0 {
				x.declare(n.add(&node{name: key, line: states.items[i].line}), states.items[i], path+"."+key, depth+1)
			}
		}
	}
	if initial := v.get("initial"); initial != nil {
		name := initial.text
		if initial.object {
			if list := initial.get("target").list(); len(list) > 0 {
				name = list[0].text
			}
		}
		if n.initial = x.target(n, name, true); n.initial == nil && name != "" {
			x.lost(initial.line, "the initial state %s, which is not there", name)
		}
	}
}

// target finds the node of a target; within says that names are those of the states in n.
func (x *xstate) target(n *node, text string, within bool) *node {
	switch {
	case strings.HasPrefix(text, "#"):
		if t := x.ids[text]; t != nil {
			return t
		}
		id, rest, _ := strings.Cut(text, ".")
		if t := x.ids[id]; t != nil {
			return x.ids[strings.TrimPrefix(x.paths[t]+"."+rest, ".")]
		}
		if root := x.src[x.root]; root != nil && strings.TrimPrefix(id, "#") == root.word("id") {
			return x.ids[rest]
		}
		return nil
	case strings.HasPrefix(text, "."):
		return x.ids[strings.TrimPrefix(x.paths[n]+text, ".")]
	case within || n.parent == nil:
		return x.ids[strings.TrimPrefix(x.paths[n]+"."+text, ".")]
	}
	return x.ids[strings.TrimPrefix(x.paths[n.parent]+"."+text, ".")]
}

// fill reads what the nodes do.
func (x *xstate) fill(n *node) error {
	v := x.src[n]
	n.entry = x.actions(v.get("entry"), v.get("onEntry"))
	n.exit = x.actions(v.get("exit"), v.get("onExit"))
	x.events(n, v.get("on"))
	x.transitions(n, v.get("always"), move{when: always, said: "always"})
	x.transitions(n, v.get("onDone"), move{when: done})
	if delays := v.get("after"); delays != nil && delays.object {
		for i, key := range delays.keys {
			x.delayed(n, key, delays.items[i])
		}
	} else if delays != nil {
		for _, d := range delays.list() {
			key := "a delay"
			if delay := d.get("delay"); delay != nil && delay.text != "" {
				key = delay.text
			}
			x.delayed(n, key, d)
		}
	}
	for _, i := range v.get("invoke").list() {
		x.invoke(n, i)
	}
	for i, key := range v.keys {
		switch key {
		case "activities", "tags", "meta", "data", "output":
			if item := v.items[i]; (item.object || item.array) && len(item.items) > 0 && (key != "meta" || n != x.root || item.get("generated") == nil) {
				x.lost(item.line, "%s of %s", key, n.name)
			}
		}
	}
	for _, c := range n.children {
		if err := x.fill(c); err != nil {
			return err
		}
	}
	return nil
}

func (x *xstate) events(n *node, on *value) {
	if on == nil {
		return
	}
	if on.array { // [{event: "NEXT", target: "b"}]
		for _, t := range on.items {
			x.event(n, t.word("event"), t)
		}
		return
	}
	for i, key := range on.keys {
		x.event(n, key, on.items[i])
	}
}

// lateEvent is how XState names the end of a delay.
var lateEvent = regexp.MustCompile(`^xstate\.after[.(](\d+)`)

func (x *xstate) event(n *node, event string, v *value) {
	late := lateEvent.FindStringSubmatch(event)
	switch {
	case late != nil: // a machine that XState wrote out itself
		x.delayed(n, late[1], v)
	case event == "":
		x.transitions(n, v, move{when: always, said: "always"})
	case strings.Contains(event, "*"):
		x.lost(v.line, "the event %s of %s: name the events that it stands for", event, n.name)
	case len(v.list()) == 0 || v.object && v.get("target") == nil && v.get("actions") == nil && v.get("cond") == nil && v.get("guard") == nil:
		n.moves = append(n.moves, &move{when: onEvent, event: event, blocks: true, line: v.line})
		if len(v.list()) > 0 && n.parent == nil {
			x.lost(v.line, "the event %s of %s, which does nothing", event, n.name)
		}
	default:
		x.transitions(n, v, move{when: onEvent, event: event})
	}
}

func (x *xstate) delayed(n *node, key string, v *value) {
	m := move{when: after, said: key, enters: true}
	if ms, err := strconv.ParseFloat(key, 64); err == nil && ms < 1 {
		m = move{when: always, said: "after 0"}
	} else if err == nil {
		m.delay = limited(ms / 1000)
		m.said = spec.SpanText(m.delay.Microseconds())
	}
	x.transitions(n, v, m)
}

// limited returns a length of so many seconds, within what the language has.
func limited(seconds float64) time.Duration {
	const most = 36500 * 24 * time.Hour
	if seconds > most.Seconds() {
		return most
	}
	return max(time.Duration(seconds*1000)*time.Millisecond, time.Millisecond)
}

// invoke makes an effect of work that a state begins, and steps of its ends.
func (x *xstate) invoke(n *node, v *value) {
	name := v.word("src")
	if name == "" {
		name = v.get("src").word("type")
	}
	if v.str {
		name = v.text
	}
	if name == "" || strings.Contains(name, ":invocation[") || strings.Contains(name, "inline:") {
		if name = v.word("id"); name == "" {
			name = "work_of_" + n.name
		}
	}
	a := action{name: name, invoke: true, line: v.line}
	n.entry = append(n.entry, a)
	x.transitions(n, v.get("onDone"), move{when: onEvent, own: true, event: name + "_done", invoke: &a})
	x.transitions(n, v.get("onError"), move{when: onEvent, own: true, event: name + "_failed", invoke: &a, failed: true})
	for i, key := range v.keys {
		if key == "input" || key == "data" || key == "onSnapshot" {
			x.lost(v.items[i].line, "%s of the work %s", key, name)
		}
	}
}

// transitions adds one move for each item; how holds what they share.
func (x *xstate) transitions(n *node, v *value, how move) {
	for _, t := range v.list() {
		m := how
		m.line = t.line
		if t.object {
			m.doc = t.word("description")
			m.guard = guardText(t.get("guard"), t.get("cond"), t.get("in"))
			m.actions = x.actions(t.get("actions"))
			m.enters = m.enters || t.get("reenter") != nil && t.get("reenter").text == "true" || t.get("internal") != nil && t.get("internal").text == "false"
		}
		target := t
		if t.object {
			target = t.get("target")
		}
		if list := target.list(); len(list) > 0 && list[0].str {
			if len(list) > 1 {
				x.lost(t.line, "the targets of %s after the first: %s", n.name, list[1].text)
			}
			if m.target = x.target(n, list[0].text, false); m.target == nil {
				x.lost(t.line, "a move of %s to %s, which is not there", n.name, list[0].text)
				continue
			}
		}
		if m.target == nil && m.when != onEvent && len(m.actions) == 0 {
			continue
		}
		if m.target == nil && m.when == always {
			x.lost(t.line, "what %s does at once without leaving", n.name)
			continue
		}
		n.moves = append(n.moves, &m)
	}
}

// guardText writes a guard as a text.
func guardText(list ...*value) string {
	for _, v := range list {
		switch {
		case v == nil:
		case v.str:
			return v.text
		case v.object:
			name := v.word("type")
			if name == "" {
				name = v.word("name")
			}
			if params := v.get("params"); params != nil && len(params.list()) > 0 && params.object {
				for i, key := range params.keys {
					if scalar := params.items[i]; !scalar.object && !scalar.array {
						name += " " + key + " " + scalar.text
					}
				}
			}
			var parts []string
			for _, key := range []string{"guards", "children"} {
				for _, g := range v.get(key).list() {
					parts = append(parts, guardText(g))
				}
			}
			if of := v.get("params").get("of"); of != nil {
				for _, g := range of.list() {
					parts = append(parts, guardText(g))
				}
			}
			switch {
			case len(parts) > 0 && strings.Contains(name, "not"):
				return "not " + parts[0]
			case len(parts) > 0 && (strings.Contains(name, "or") || strings.Contains(name, "any")):
				return strings.Join(parts, " or ")
			case len(parts) > 0:
				return strings.Join(parts, " and ")
			case name != "":
				return name
			}
			return "a guard"
		}
	}
	return ""
}

// inner are actions that change the machine of XState, and nothing outside of it.
var inner = []string{"assign", "raise", "send", "sendTo", "sendParent", "log", "stop", "stopChild", "cancel", "forwardTo", "respond", "choose",
	"pure", "spawnChild", "enqueueActions", "emit", "escalate", "set", "clear", "increment", "decrement", "reset", "add", "remove"}

func (x *xstate) actions(lists ...*value) (out []action) {
	for _, v := range lists {
		for _, a := range v.list() {
			name, private := a.text, false
			if a.object {
				if name = a.word("type"); name == "" {
					name = a.word("name")
				}
			}
			short := strings.TrimPrefix(name, "xstate.")
			if a.object && slices.Contains(inner, short) {
				for _, part := range []*value{a, a.get("params"), a.get("assignment"), a.get("event")} {
					if part == nil || !part.object {
						continue
					}
					for i, key := range part.keys {
						if item := part.items[i]; key != "type" && !item.object && !item.array {
							short += " " + key + "=" + item.text
						}
					}
				}
				name, private = short, true
			}
			if name == "" {
				name, private = "an action without a name", true
			}
			out = append(out, action{name: name, private: private, line: a.line})
		}
	}
	return out
}

// starts makes creations of the pseudo state that our own export begins with.
func (x *xstate) starts() {
	n := x.root.initial
	if n == nil || n.name != "(new)" || len(n.children) > 0 {
		return
	}
	for _, m := range n.moves {
		if m.when == onEvent && m.target != nil {
			m.when = creates
			x.root.moves = append(x.root.moves, m)
		}
	}
	x.root.children = slices.DeleteFunc(x.root.children, func(c *node) bool { return c == n })
	x.root.initial = nil
}
