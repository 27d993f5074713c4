package lsp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// completer collects what may stand at a place.
type completer struct {
	*document
	cursor
	machine *spec.Machine // nil where nothing is known
	at      span          // what a proposal replaces
	tail    string        // the line behind the position
	items   []completionItem
	taken   map[string]bool
}

// completion proposes keys and values for a place.
func completion(d *document, p at) (completionList, error) {
	none := completionList{Items: []completionItem{}}
	if !d.specification && strings.TrimSpace(d.src) != "" && len(d.src) > 64 { // a file of somebody else
		return none, nil
	}
	c := &completer{document: d, cursor: d.cursorAt(p.Position), machine: d.machine(), taken: map[string]bool{}}
	line := d.line(p.Position.Line)
	to := bytesOf(line, p.Position.Character)
	from := to
	for from > 0 && (inWord(line[from-1]) || line[from-1] == '.') {
		from--
	}
	c.at = span{position{p.Position.Line, units(line[:from])}, position{p.Position.Line, units(line[:to])}}
	c.tail = line[to:]
	c.before = strings.TrimLeft(strings.TrimSuffix(c.before, line[from:to]), `"`)
	listed := len(c.path) > 0 && c.path[len(c.path)-1] == item
	if c.key && strings.TrimSpace(c.before) == "" {
		c.keys()
	}
	if !c.key || listed {
		c.values()
	}
	return completionList{Items: append(none.Items, c.items...)}, nil
}

// add proposes a text once.
func (c *completer) add(label string, kind int, detail, doc, insert string) {
	if c.taken[label] {
		return
	}
	c.taken[label] = true
	i := completionItem{Label: label, Kind: kind, Detail: detail, Sort: fmt.Sprintf("%05d", len(c.items)), Edit: &textEdit{c.at, insert}}
	if doc != "" {
		i.Doc = &markup{"markdown", doc}
	}
	c.items = append(c.items, i)
}

// words proposes texts of one kind.
func (c *completer) words(kind int, list ...string) {
	for _, w := range list {
		c.add(w, kind, "", "", w)
	}
}

// keys proposes keys that are not there yet.
func (c *completer) keys() {
	colon := ": "
	if strings.HasPrefix(strings.TrimLeft(c.tail, " "), ":") {
		colon = ""
	}
	put := func(name string, kind int, detail, doc, behind string) {
		if !slices.Contains(c.present, name) {
			c.add(name, kind, detail, doc, name+behind)
		}
	}
	for _, s := range schemasAt(c.path) {
		for _, name := range s.Properties.names {
			below, behind, detail := flat(nil, s.Properties.of[name]), colon, ""
			if c.block && colon != "" && is(below, "object") && !is(below, "string") && !is(below, "array") {
				behind = ":\n" + strings.Repeat(" ", c.indent+2)
			}
			if slices.Contains(s.Required, name) {
				detail = "required"
			}
			put(name, itemProperty, detail, docOf(append(slices.Clone(c.path), name)), behind)
		}
	}
	switch last := c.last(); {
	case last == "allow":
		for _, r := range only(validate.Rules, func(r validate.Rule) bool { return r.Allow }) {
			put(r.Code, itemValue, r.Name, r.Doc, colon)
		}
	case slices.Contains([]string{"set", "add", "remove", "same"}, last) && len(c.path) > 2:
		for _, f := range c.fields(suits[last]) {
			put(f.Name, itemField, f.Type.String(), f.Doc, colon)
		}
	}
}

// last is the last key of the path.
func (c *completer) last() string {
	keys := c.named()
	if len(keys) == 0 {
		return ""
	}
	return keys[len(keys)-1]
}

// named is the path without the steps into lists.
func (c *completer) named() []string {
	return only(c.path, func(s string) bool { return s != item })
}

// values proposes values for the key or the list of the place.
func (c *completer) values() {
	here := schemasAt(c.path)
	path := c.named()
	if strings.TrimSpace(c.before) == "" {
		for _, w := range words(here) {
			c.add(w, itemEnumMember, "", "", w)
		}
	}
	if len(path) > 0 {
		c.meant(path)
	}
}

// meant proposes what the language means by a path.
func (c *completer) meant(path []string) {
	last := path[len(path)-1]
	section, under := path[0], ""
	if len(path) > 2 {
		under = path[len(path)-2]
	}
	single := strings.TrimSpace(c.before) == "" // the first word of a value
	switch {
	case section == "state_groups" && (len(path) == 2 || last == "states" || last == "except"):
		c.states(single, false)
	case section == "projection" && (last == "from" || last == "to" || last == "state"):
		c.declared(spec.DerivedName, itemEnum)
	case last == "same" && section == "guards":
		c.fieldNames(suits["same"])
	case len(path) > 2 && (under == "set" || under == "add" || under == "remove" || under == "same"):
		c.value(path)
	case section == "fields" && (len(path) == 2 || last == "type"), under == "input", section == "operations" && last == "type":
		c.types()
	case section == "projection" && under == "fields":
		c.aggregate()
	case last == "when" || last == "invariant" || last == "where" || last == "any" && section != "projection":
		c.facts(path)
	case last == "trigger":
		c.triggers()
	case last == "default":
		c.defaults(path)
	case !single && last != "order":
	default:
		c.name(section, last)
	}
}

// name proposes the names that a key asks for.
func (c *completer) name(section, last string) {
	switch last {
	case "from", "record_only_in", "in", "any", "all", "none":
		c.states(true, section != "removed")
	case "to", "creates", "after":
		c.states(true, section == "forbidden")
		if section == "operations" && last == "to" {
			c.add("same", itemKeyword, "", "The record stays in its state.", "same")
		}
	case "require":
		c.guards()
	case "changed_by", "then", "failed":
		c.declared(spec.OperationName, itemFunction)
	case "probe":
		c.declared(spec.ProbeName, itemEvent)
	case "dedupe_by":
		c.fieldNames(nil)
		c.declared(spec.UniqueName, itemClass)
	case "key":
		c.fieldNames(nil)
		if section != "projection" {
			c.words(itemField, "id", "rev")
		}
	case "than":
		c.fieldNames(suits["than"])
		c.words(itemKeyword, "input.")
	case "order":
		c.fieldNames(nil)
		c.fieldNames(suits["trigger"])
	case "fields", "per", "clear", "present", "absent", "increment", "decrement", "reset":
		c.fieldNames(suits[last])
	}
}

// suits says which fields go with a key; of one that is not here, all do.
var suits = map[string]func(*spec.Field) bool{
	"clear":     func(f *spec.Field) bool { return f.Type.Optional },
	"present":   func(f *spec.Field) bool { return f.Type.Optional || f.Type.Kind == spec.KindSet },
	"absent":    func(f *spec.Field) bool { return f.Type.Optional || f.Type.Kind == spec.KindSet },
	"increment": func(f *spec.Field) bool { return f.Type.Kind == spec.KindCounter },
	"decrement": func(f *spec.Field) bool { return f.Type.Kind == spec.KindCounter },
	"than":      func(f *spec.Field) bool { return f.Type.Kind == spec.KindCounter || f.Type.Kind == spec.KindInt },
	"reset":     func(f *spec.Field) bool { return f.Type.Kind == spec.KindCounter || f.Type.Kind == spec.KindSet },
	"add":       func(f *spec.Field) bool { return f.Type.Kind == spec.KindSet },
	"remove":    func(f *spec.Field) bool { return f.Type.Kind == spec.KindSet },
	"set":       func(f *spec.Field) bool { return f.Type.Kind != spec.KindSequence },
	"same":      func(f *spec.Field) bool { return f.Type.Kind != spec.KindSet && f.Type.Kind != spec.KindJSON },
	"trigger":   func(f *spec.Field) bool { return f.Type.Kind == spec.KindTime },
}

// fields are the declared fields that suit.
func (c *completer) fields(suit func(*spec.Field) bool) []*spec.Field {
	if c.machine == nil {
		return nil
	}
	return only(c.machine.Fields, func(f *spec.Field) bool { return suit == nil || suit(f) })
}

func (c *completer) fieldNames(suit func(*spec.Field) bool) {
	for _, f := range c.fields(suit) {
		c.add(f.Name, itemField, f.Type.String(), f.Doc, f.Name)
	}
	if suit == nil || c.machine == nil {
		c.declared(spec.FieldName, itemField)
	}
}

// sectionOf is the key under which names of a kind are declared.
var sectionOf = map[spec.NameKind]string{
	spec.StateName: "states", spec.GroupName: "state_groups", spec.FieldName: "fields", spec.GuardName: "guards",
	spec.UniqueName: "unique", spec.OperationName: "operations", spec.ProbeName: "probes",
}

// declared proposes the declared names of a kind. In a text that cannot be read these are
// the ones of before, and the keys of the section as it is.
func (c *completer) declared(kind spec.NameKind, icon int) {
	r := c.source().read()
	for _, n := range r.Names {
		if n.Declares && n.Kind == kind {
			c.add(n.Text, icon, string(kind), c.about(n), n.Text)
		}
	}
	if c.source() != c.version || r.Draft == nil {
		c.words(icon, c.sections()[sectionOf[kind]]...)
	}
}

// about is the author's text about a name.
func (c *completer) about(n spec.Name) string {
	if c.machine == nil {
		return ""
	}
	switch n.Kind {
	case spec.StateName:
		if s := c.machine.State(n.Text); s != nil {
			return s.Doc
		}
	case spec.OperationName:
		if o := c.machine.Operation(n.Text); o != nil {
			return o.Doc
		}
	case spec.FieldName:
		if f := c.machine.Field(n.Text); f != nil {
			return f.Doc
		}
	}
	return ""
}

func (c *completer) states(first, groups bool) {
	if !first {
		return
	}
	c.declared(spec.StateName, itemEnum)
	if groups {
		c.declared(spec.GroupName, itemClass)
	}
}

func (c *completer) guards() {
	if c.machine != nil {
		for _, g := range c.machine.Guards {
			c.add(g.Name, itemOperator, strings.Join(spec.FactTexts(g.When), " and "), g.Doc, g.Name)
		}
	}
	c.declared(spec.GuardName, itemOperator)
}
