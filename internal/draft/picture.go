package draft

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// picture is what the readers of Mermaid and PlantUML have in common: lines that
// declare states where they are first mentioned, and arrows.
type picture struct {
	*tree
	ids    map[string]*node
	now    *node // the state whose block is open
	ends   map[*node]*node
	ended  []arrow // arrows to an end without a label
	starts []arrow // from the start of the picture
	arrows []arrow
	titles map[*node]string
	seen   int // lines that say something
	ways   int // from state to state through points
}

// arrow is one line of a picture.
type arrow struct {
	from, to *node
	text     string
	tail     string // what fsmgen writes below the name of an operation
	line     int
}

func newPicture() *picture {
	p := &picture{tree: &tree{root: &node{}, picked: true}, ids: map[string]*node{}, ends: map[*node]*node{}, titles: map[*node]string{}}
	p.now = p.root
	return p
}

// state returns the state of an id, which it declares where it is new.
func (p *picture) state(id string, line int) *node {
	if n := p.ids[id]; n != nil {
		return n
	}
	n := p.now.add(&node{name: id, line: line})
	p.ids[id] = n
	return n
}

// open begins the block of a state.
func (p *picture) open(id string, line int) {
	n := p.state(id, line)
	if n.parent != p.now && len(n.children) == 0 && !p.now.within(n) { // it was only mentioned before
		n.parent.children = slices.DeleteFunc(n.parent.children, func(c *node) bool { return c == n })
		p.now.add(n)
	}
	if n == p.now || p.now.within(n) {
		n = p.now.add(&node{name: id, line: line})
	}
	p.now = n
}

// shut ends the innermost block. It is false when there is none.
func (p *picture) shut() bool {
	if p.now.parent != nil && p.now.name == "" {
		p.now = p.now.parent // a region ends with its state
	}
	if p.now.parent == nil {
		return false
	}
	p.now = p.now.parent
	return true
}

// beside begins another region of the open state.
func (p *picture) beside(line int) {
	outer := p.now
	if outer.name == "" && outer.parent != nil && outer.parent.kind == parallel {
		outer = outer.parent
	} else if outer.parent != nil {
		first := &node{line: outer.line, children: outer.children, initial: outer.initial}
		for _, c := range first.children {
			c.parent = first
		}
		outer.children, outer.initial, outer.kind = nil, nil, parallel
		outer.add(first)
	} else {
		return
	}
	p.now = outer.add(&node{line: line})
}

// move adds an arrow between ids; "[*]" is the start or the end of the open block.
func (p *picture) move(from, to, text string, line int) {
	switch {
	case from == "[*]" && to == "[*]":
	case from == "[*]":
		target := p.state(to, line)
		if p.now.parent == nil {
			p.starts = append(p.starts, arrow{to: target, text: text, line: line})
			return
		}
		if p.now.initial == nil {
			p.now.initial = target
		}
		if text != "" {
			p.lost(line, "the label %s of the arrow that %s begins with", text, p.now.name)
		}
	case to == "[*]" && text == "":
		p.ended = append(p.ended, arrow{from: p.state(from, line), line: line})
	case to == "[*]":
		end := p.ends[p.now]
		if end == nil {
			end = p.now.add(&node{name: "ended", line: line, kind: final, remarks: []string{"guess: the end of the picture, to which an arrow with a name leads"}})
			p.ends[p.now] = end
		}
		p.arrows = append(p.arrows, arrow{from: p.state(from, line), to: end, text: text, line: line})
	default:
		a := arrow{from: p.state(from, line), text: text, line: line}
		a.to = p.state(to, line)
		p.arrows = append(p.arrows, a)
	}
}

// says reads a line of a state's box.
func (p *picture) says(n *node, text string, line int) {
	text = strings.TrimSpace(text)
	word, rest, _ := strings.Cut(text, "/")
	event := strings.TrimSpace(word)
	switch key := strings.ToLower(event); {
	case text == "":
	case rest != "" && (key == "entry" || key == "on entry" || key == "enter"):
		n.entry = append(n.entry, splitActions(rest, line)...)
	case rest != "" && (key == "exit" || key == "on exit" || key == "leave"):
		n.exit = append(n.exit, splitActions(rest, line)...)
	case rest != "" && (key == "do" || key == "during"):
		n.remarks = append(n.remarks, "does: "+clean(rest))
		p.lost(line, "what is done in %s: %s", n.name, strings.TrimSpace(rest))
	case rest != "" && (plainWord(event) || strings.HasSuffix(event, "]")):
		m := &move{when: onEvent, line: line}
		label(text, m)
		n.moves = append(n.moves, m)
	case n.doc == "":
		n.doc = text
	default:
		n.doc += " " + text
	}
}

// finish makes moves of the arrows.
func (p *picture) finish() *tree {
	for _, a := range p.ended {
		p.finishEnd(a)
	}
	var out = map[*node][]arrow{}
	for _, a := range p.arrows {
		out[a.from] = append(out[a.from], a)
	}
	for _, a := range p.arrows {
		if a.from.kind != choice {
			p.follow(a, out, nil, 0)
		}
	}
	for _, a := range p.starts {
		m := &move{when: creates, target: a.to, line: a.line}
		label(a.text, m)
		m.tell(a.tail)
		if a.to.kind == choice {
			p.startAt(m, out)
		} else {
			p.root.moves = append(p.root.moves, m)
		}
	}
	for n, title := range p.titles {
		switch {
		case shortID.MatchString(n.name) && snake(title) != "":
			n.name = title
		case n.doc == "" && snake(title) != snake(n.name):
			n.doc = title
		}
	}
	return p.tree
}

// shortID is an id that says less than the title beside it.
var shortID = regexp.MustCompile(`(?i)^[a-z]{0,2}[0-9]+$`)

// startAt lets a creation go on behind a point.
func (p *picture) startAt(m *move, out map[*node][]arrow) {
	for _, a := range out[m.target] {
		if a.to.kind == choice {
			p.lost(a.line, "an arrow from one point to another before a record begins")
			continue
		}
		c := *m
		c.target, c.guard = a.to, condition(a.text)
		p.root.moves = append(p.root.moves, &c)
	}
}

// tell adds what fsmgen writes below the name of an operation.
func (m *move) tell(tail string) {
	if tail == "" {
		return
	}
	m.remarks = append(m.remarks, "in the picture: "+tail)
	for _, sign := range []string{"by the system", "after ", "at startup", "follows "} {
		if strings.Contains(tail, sign) && m.when != creates {
			m.by = "system"
		}
	}
}

// finishEnd marks what an arrow to the end says.
func (p *picture) finishEnd(a arrow) {
	n := a.from
	if len(n.children) == 0 {
		if n.kind == plain {
			n.kind = final
		}
		return
	}
	some := false
	for _, c := range n.children {
		some = some || c.kind == final
	}
	if !some {
		p.lost(a.line, "the arrow from %s to the end: say which of its states are ends", n.name)
	}
}

// condition is the label of an arrow that leads on from a point.
func condition(text string) string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		text = inner[:len(inner)-1]
	}
	if rest, ok := cut(text, "if "); ok {
		text = rest
	}
	if text = clean(text); otherwise[text] {
		return ""
	}
	return text
}

// follow makes the moves of an arrow, beyond the points that it leads to.
func (p *picture) follow(a arrow, out map[*node][]arrow, before *move, depth int) {
	m := &move{when: onEvent, line: a.line, enters: true, target: a.to, from: a.from}
	if before == nil {
		label(a.text, m)
		m.tell(a.tail)
	} else {
		*m = *before
		m.target = a.to
		m.actions = slices.Clone(before.actions)
		text := a.text
		if i := strings.LastIndex(text, "/"); i >= 0 && !strings.Contains(text[i:], "]") {
			m.actions = append(m.actions, splitActions(text[i+1:], a.line)...)
			text = text[:i]
		}
		if c := condition(text); c != "" && m.guard != "" {
			m.guard += " and " + c
		} else if c != "" {
			m.guard = c
		}
	}
	if p.ways++; a.to.kind == choice && depth < 10 && p.ways < maxMoves {
		next := out[a.to]
		if len(next) == 0 {
			p.lost(a.line, "an arrow to the point %s, from which nothing leads on", a.to.name)
		}
		for _, b := range next {
			p.follow(b, out, m, depth+1)
			if a.to.doc == "fork" {
				if len(next) > 1 {
					p.lost(b.line, "the arrows of the fork %s after the first: states that hold at the same time are machines of their own", a.to.name)
				}
				break
			}
		}
		return
	}
	if a.to.kind == choice {
		p.lost(a.line, "an arrow through too many points")
		return
	}
	p.put(m)
}

// put adds a move to its state, with a name where it has none.
func (p *picture) put(m *move) {
	n := m.from
	if m.when == onEvent && m.event == "" {
		if len(n.children) > 0 && slices.ContainsFunc(n.children, func(c *node) bool { return c.kind == final }) {
			m.when = done
		} else {
			m.event, m.own = "to_"+m.target.name, true
			m.remarks = []string{"guess: the arrow has no name"}
			p.note(m.line, Guess, "the arrow from %s to %s has no name; it is %s", n.name, m.target.name, "to_"+snake(m.target.name))
		}
	}
	n.moves = append(n.moves, m)
}

// inLine gives an error of a line the column at which the line begins.
func inLine(err error, raw string) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // fail made it
		e.Col = 1 + utf8.RuneCountInString(raw[:len(raw)-len(strings.TrimLeft(raw, " \t"))])
	}
	return err
}
