package draft

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// element is one of XML, with its place.
type element struct {
	name     string // without its prefix
	attrs    map[string]string
	children []*element
	text     string
	line     int
}

// scxmlSpace is the namespace of SCXML.
const scxmlSpace = "http://www.w3.org/2005/07/scxml"

// parseXML reads a text as elements, within one that holds them all.
func parseXML(src []byte) (*element, error) {
	dec := xml.NewDecoder(bytes.NewReader(src))
	dec.Strict = true
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names are ASCII, whatever the rest is
	top := &element{}
	stack := []*element{top}
	for {
		token, err := dec.Token()
		line, col := dec.InputPos()
		var broken *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			if len(top.children) == 0 {
				return nil, fail(1, 1, "there is no element; expected <scxml>")
			}
			return top, nil
		case errors.As(err, &broken):
			return nil, fail(broken.Line, col, "this is no XML: %s; expected SCXML", broken.Msg)
		case err != nil:
			return nil, fail(line, col, "this is no XML: %v; expected SCXML", err)
		}
		now := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			if len(stack) > 4*maxDepth {
				return nil, fail(line, col, "the elements lie too deep in one another")
			}
			e := &element{name: t.Name.Local, attrs: map[string]string{}, line: line}
			for _, a := range t.Attr {
				if a.Name.Space == "" {
					e.attrs[a.Name.Local] = a.Value
				}
			}
			if t.Name.Space != "" && t.Name.Space != scxmlSpace && len(stack) > 1 {
				top.text = t.Name.Space // what an editor keeps, such as its layout
			} else {
				now.children = append(now.children, e)
			}
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 1 && len(now.text) < 4096 {
				now.text += string(t)
			}
		}
	}
}

// scxml reads SCXML, as the W3C describes it.
type scxml struct {
	*tree
	ids    map[string]*node
	src    map[*node]*element
	timers map[string]timer // by the name of the event that <send> brings later
}

// timer is a <send> with a delay.
type timer struct {
	place *node
	said  string
}

func readSCXML(src []byte) (*tree, error) {
	e, err := parseXML(src)
	if err != nil {
		return nil, err
	}
	foreign := e.text
	if e = e.children[0]; e.name != "scxml" {
		return nil, fail(e.line, 1, "the element is <%s>; expected <scxml>", e.name)
	}
	x := &scxml{tree: &tree{name: e.attrs["name"]}, ids: map[string]*node{}, src: map[*node]*element{}, timers: map[string]timer{}}
	x.root = &node{name: x.name, line: e.line}
	x.declare(x.root, e, 0)
	x.walk(x.root, x.initial)
	x.walk(x.root, x.find)
	x.walk(x.root, x.fill)
	if foreign != "" {
		x.lost(0, "the elements of %s, which hold what an editor draws", foreign)
	}
	return x.tree, nil
}

func (x *scxml) walk(n *node, do func(*node)) {
	do(n)
	for _, c := range n.children {
		x.walk(c, do)
	}
}

func (x *scxml) declare(n *node, e *element, depth int) {
	x.src[n] = e
	if depth > maxDepth {
		return
	}
	for _, c := range e.children {
		child := &node{name: c.attrs["id"], line: c.line}
		switch c.name {
		case "state":
		case "final":
			child.kind = final
		case "parallel":
			child.kind = parallel
		case "history":
			child.kind = history
		default:
			continue
		}
		if child.name == "" {
			child.name = c.name
		} else {
			x.ids[child.name] = child
		}
		x.declare(n.add(child), c, depth+1)
	}
}

func (x *scxml) initial(n *node) {
	e := x.src[n]
	said := e.attrs["initial"]
	for _, c := range e.children {
		if c.name == "initial" {
			for _, t := range c.children {
				if t.name == "transition" {
					said = t.attrs["target"]
					for _, a := range x.content(t) {
						x.lost(a.line, "the action %s of the initial transition of %s", a.name, n.name)
					}
				}
			}
		}
	}
	names := strings.Fields(said)
	if len(names) == 0 {
		if n == x.root && len(n.children) > 0 {
			n.initial = n.children[0] // the standard says so
		}
		return
	}
	if n.initial = x.ids[names[0]]; n.initial == nil {
		x.lost(e.line, "the initial state %s, which is not there", names[0])
	}
}

// find looks for delays: <send event="timeout" delay="5s"/>.
func (x *scxml) find(n *node) {
	for _, c := range x.src[n].children {
		if c.name != "onentry" {
			continue
		}
		for _, s := range c.children {
			delay := s.attrs["delay"]
			if delay == "" {
				delay = s.attrs["delayexpr"]
			}
			if event := s.attrs["event"]; s.name == "send" && delay != "" && event != "" {
				x.timers[event] = timer{n, strings.Trim(delay, `'"`)}
			}
		}
	}
}

func (x *scxml) fill(n *node) {
	for _, c := range x.src[n].children {
		switch c.name {
		case "onentry":
			n.entry = append(n.entry, x.content(c)...)
		case "onexit":
			n.exit = append(n.exit, x.content(c)...)
		case "transition":
			if n.kind != history {
				x.transition(n, c)
			}
		case "invoke":
			x.invoke(n, c)
		case "datamodel":
			for _, d := range c.children {
				x.lost(d.line, "the datum %s %s", d.attrs["id"], d.attrs["expr"]+strings.TrimSpace(d.text))
			}
		case "script":
			x.lost(c.line, "the script %s", c.text)
		case "donedata":
			x.lost(c.line, "the data of the end of %s", n.name)
		case "state", "final", "parallel", "history", "initial", "metadata", "include":
		default:
			x.lost(c.line, "the element %s of %s", c.name, n.name)
		}
	}
}

// transition adds a move for each event of a transition.
func (x *scxml) transition(n *node, e *element) {
	how := move{guard: strings.TrimSpace(e.attrs["cond"]), actions: x.content(e), line: e.line, enters: e.attrs["type"] != "internal"}
	targets := strings.Fields(e.attrs["target"])
	if len(targets) > 0 {
		if how.target = x.ids[targets[0]]; how.target == nil {
			x.lost(e.line, "a move of %s to %s, which is not there", n.name, targets[0])
			return
		}
		if len(targets) > 1 {
			x.lost(e.line, "the targets of %s after the first: %s", n.name, strings.Join(targets[1:], " "))
		}
	}
	events := strings.Fields(e.attrs["event"])
	if len(events) == 0 {
		if how.target == nil {
			x.lost(e.line, "what %s does at once without leaving", n.name)
			return
		}
		how.when, how.said = always, "at once"
		n.moves = append(n.moves, &how)
		return
	}
	for _, event := range events {
		m := how
		m.event = strings.TrimSuffix(strings.TrimSuffix(event, "*"), ".")
		done4, isDone := strings.CutPrefix(m.event, "done.state.")
		late, isTimer := x.timers[m.event]
		switch {
		case m.event == "":
			x.lost(e.line, "the event * of %s: name the events that it stands for", n.name)
			continue
		case isDone && x.ids[done4] != nil && len(x.ids[done4].children) > 0:
			m.when, m.event = done, ""
			at := x.ids[done4]
			at.moves = append(at.moves, &m)
			continue
		case isTimer && n.within(late.place) && (n == late.place || len(late.place.children) > 0):
			m.when, m.event, m.said = after, "", late.said
			if d, ok := length(late.said); ok {
				m.delay = d
			}
		}
		n.moves = append(n.moves, &m)
	}
}

func (x *scxml) invoke(n *node, e *element) {
	name := e.attrs["id"]
	for _, key := range []string{"src", "type", "srcexpr"} {
		if name == "" {
			name = e.attrs[key]
		}
	}
	if name == "" {
		name = "work of " + n.name
	}
	n.entry = append(n.entry, action{name: "invoke " + name, line: e.line})
	for _, c := range e.children {
		x.lost(c.line, "%s of the work %s", c.name, name)
	}
}

// content lists the actions of an element.
func (x *scxml) content(e *element) (list []action) {
	for _, c := range e.children {
		a := action{line: c.line}
		switch c.name {
		case "send":
			if c.attrs["delay"]+c.attrs["delayexpr"] != "" && x.timers[c.attrs["event"]].place != nil {
				continue // it is a deadline
			}
			a.name = "send " + c.attrs["event"] + c.attrs["eventexpr"]
			a.private = c.attrs["target"] == "#_internal" || c.attrs["event"] == ""
		case "cancel":
			a.name, a.private = "cancel "+c.attrs["sendid"], true
		case "raise":
			a.name, a.private = "raise "+c.attrs["event"], true
		case "log":
			a.name, a.private = "log "+c.attrs["label"]+" "+c.attrs["expr"], true
		case "assign":
			a.name, a.private = "assign "+c.attrs["location"]+" = "+c.attrs["expr"]+strings.TrimSpace(c.text), true
		default:
			words := c.name
			for _, key := range []string{"cond", "expr", "src", "array"} {
				if c.attrs[key] != "" {
					words += " " + c.attrs[key]
				}
			}
			a.name, a.private = words+" "+strings.TrimSpace(c.text), true
			for _, inner := range x.content(c) {
				a.name += "; " + inner.name
			}
		}
		list = append(list, a)
	}
	return list
}
