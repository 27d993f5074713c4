package mapped

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones also where the system has none

	"github.com/fsmgen/fsmgen/spec"
)

// Mapping says how a table is read as records of a machine.
type Mapping struct {
	Machine *spec.Machine
	Table   string // with its schema, where it has one
	ID      string // column
	State   Column
	States  map[string]*spec.State // by the table's word
	Fields  []Column               // of declared fields and the built-in times
	History *History               // nil: there is none
}

// Column says where a value comes from.
type Column struct {
	Name     string      // of the column; empty: Constant
	Field    *spec.Field // nil: of the state
	Constant string
	Times    int64             // what a number is multiplied by; 0: nothing
	Words    map[string]string // of an enum; nil: its own words
	Zone     *time.Location    // of a time without one; nil: UTC
	Unix     time.Duration     // what a whole number counts since 1970; 0: it is no time
	In       []*spec.State     // the field is absent in all others; nil: all
}

// History says where the moves of the records stand.
type History struct {
	Table, ID, From, To, At string
	Actor                   string // empty: none
	Order                   string // empty: At
	Zone                    *time.Location
}

// Read reads a mapping of a machine. What is wrong with it is returned as lines that begin with file, line and column.
func Read(file string, src []byte, m *spec.Machine) (*Mapping, []string) {
	root, found := spec.ReadTree(file, src)
	if root == nil {
		var lines []string
		for _, d := range found {
			lines = append(lines, fmt.Sprintf("%s:%d:%d: %s; %s", d.File, d.Pos.Line, d.Pos.Col, d.Message, d.Hint))
		}
		return nil, lines
	}
	r := &reader{file: file, m: m}
	p := r.mapping(root)
	if len(r.wrong) > 0 {
		return nil, r.wrong
	}
	return p, nil
}

// reader collects what is wrong with a mapping.
type reader struct {
	file  string
	m     *spec.Machine
	wrong []string
}

func (r *reader) say(at *spec.Tree, format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf("%s:%d:%d: %s", r.file, at.Pos.Line, at.Pos.Col, fmt.Sprintf(format, args...)))
}

// keys calls f for each key of a mapping; keys that are not allowed are told.
func (r *reader) keys(t *spec.Tree, what string, allowed []string, f func(key string, v *spec.Tree)) {
	if t.Kind != "mapping" {
		r.say(t, "%s is a %s; expected a mapping with %s", what, t.Kind, strings.Join(allowed, ", "))
		return
	}
	for i, k := range t.Keys {
		if !slices.Contains(allowed, k.Text) {
			r.say(k, "%s has no key %q; %s", what, k.Text, spec.DidYouMean(spec.Nearest(k.Text, allowed), "expected", allowed))
			continue
		}
		f(k.Text, t.Under[i])
	}
}

func (r *reader) text(t *spec.Tree, what string) string {
	if t.Kind != "text" || t.Text == "" {
		r.say(t, "%s is missing; expected a name", what)
	}
	return t.Text
}

func (r *reader) mapping(root *spec.Tree) *Mapping {
	p := &Mapping{Machine: r.m, States: map[string]*spec.State{}}
	r.keys(root, "a mapping", []string{"table", "id", "state", "fields", "history"}, func(key string, v *spec.Tree) {
		switch key {
		case "table":
			p.Table = r.text(v, "the table's name")
		case "id":
			p.ID = r.text(v, "the column of the id")
		case "state":
			r.state(p, v)
		case "fields":
			r.fields(p, v)
		case "history":
			r.history(p, v)
		}
	})
	for _, x := range []struct{ key, is string }{{"table", p.Table}, {"id", p.ID}, {"state", p.State.Name}} {
		if x.is == "" && len(r.wrong) == 0 {
			r.say(root, "the mapping has no `%s`; it needs `table`, `id` and `state`", x.key)
		}
	}
	return p
}

func (r *reader) state(p *Mapping, t *spec.Tree) {
	r.keys(t, "`state`", []string{"column", "words"}, func(key string, v *spec.Tree) {
		if key == "column" {
			p.State.Name = r.text(v, "the column of the state")
			return
		}
		if v.Kind != "mapping" {
			r.say(v, "`words` is a %s; expected the table's words with their states, such as {PAID: paid}", v.Kind)
			return
		}
		for i, word := range v.Keys {
			if s := r.stateOf(v.Under[i]); s != nil {
				p.States[word.Text] = s
			}
		}
	})
	if len(p.States) == 0 && len(r.wrong) == 0 { // the table has the machine's own words
		for _, s := range r.m.States {
			p.States[s.Name] = s
		}
	}
}

func (r *reader) stateOf(t *spec.Tree) *spec.State {
	var names []string
	for _, s := range r.m.States {
		if s.Name == t.Text {
			return s
		}
		names = append(names, s.Name)
	}
	r.say(t, "the machine has no state %q; %s", t.Text, spec.DidYouMean(spec.Nearest(t.Text, names), "expected", names))
	return nil
}

func (r *reader) fields(p *Mapping, t *spec.Tree) {
	var names []string
	for _, f := range append(slices.Clone(r.m.Fields), r.m.Builtin...) {
		names = append(names, f.Name)
	}
	r.keys(t, "`fields`", names, func(key string, v *spec.Tree) {
		c := Column{Field: r.m.Field(key)}
		if i := slices.IndexFunc(r.m.Builtin, func(f *spec.Field) bool { return f.Name == key }); i >= 0 {
			c.Field = r.m.Builtin[i]
		}
		r.column(&c, key, v)
		p.Fields = append(p.Fields, c)
	})
}

// units are what a number counts since 1970.
var units = map[string]time.Duration{"seconds": time.Second, "milliseconds": time.Millisecond, "microseconds": time.Microsecond}

func (r *reader) column(c *Column, name string, t *spec.Tree) {
	if t.Kind == "text" {
		c.Name = r.text(t, "the column of "+name)
		return
	}
	constant := false
	r.keys(t, "the field "+name, []string{"column", "constant", "times", "words", "zone", "unix", "in"}, func(key string, v *spec.Tree) {
		switch key {
		case "column":
			c.Name = r.text(v, "the column of "+name)
		case "constant":
			c.Constant, constant = v.Text, true
		case "times":
			n, err := strconv.ParseInt(v.Text, 10, 64)
			if err != nil || n < 1 {
				r.say(v, "`times` is %q; expected a whole number from 1 on, such as 100 for cents", v.Text)
			}
			c.Times = n
		case "words":
			r.words(c, name, v)
		case "zone":
			c.Zone = r.zone(v)
		case "unix":
			if c.Unix = units[v.Text]; c.Unix == 0 {
				r.say(v, "`unix` is %q; expected seconds, milliseconds or microseconds", v.Text)
			}
		case "in":
			for _, item := range v.Items {
				if s := r.stateOf(item); s != nil {
					c.In = append(c.In, s)
				}
			}
			if len(v.Items) == 0 {
				r.say(v, "`in` names no state; expected a list, such as [paid, shipped]")
			}
		}
	})
	if (c.Name != "") == constant {
		r.say(t, "the field %s needs a `column` or a `constant`, and one of them", name)
	}
	timed := c.Field != nil && c.Field.Type.Kind == spec.KindTime
	numbers := []spec.Kind{spec.KindInt, spec.KindCounter, spec.KindDuration}
	numbered := c.Field != nil && slices.Contains(numbers, c.Field.Type.Kind)
	switch {
	case !timed && (c.Zone != nil || c.Unix != 0):
		r.say(t, "%s is no time, so it has no `zone` and no `unix`", name)
	case !numbered && c.Times != 0:
		r.say(t, "%s is no whole number, so it has no `times`", name)
	}
}

func (r *reader) words(c *Column, name string, v *spec.Tree) {
	if c.Field.Type.Kind != spec.KindEnum || v.Kind != "mapping" {
		r.say(v, "`words` of %s maps the table's words to those of an enum; expected such as {E: eur}", name)
		return
	}
	var words []string
	for _, w := range c.Field.Type.Values {
		words = append(words, w.Name)
	}
	c.Words = map[string]string{}
	for i, k := range v.Keys {
		if to := v.Under[i]; slices.Contains(words, to.Text) {
			c.Words[k.Text] = to.Text
		} else {
			r.say(to, "%s has no word %q; %s", name, to.Text, spec.DidYouMean(spec.Nearest(to.Text, words), "expected", words))
		}
	}
}

func (r *reader) zone(v *spec.Tree) *time.Location {
	zone, err := time.LoadLocation(v.Text)
	if err != nil || v.Text == "" || v.Text == "Local" {
		r.say(v, "there is no time zone %q; expected one like Europe/Berlin or UTC", v.Text)
		return nil
	}
	return zone
}

func (r *reader) history(p *Mapping, t *spec.Tree) {
	h := &History{}
	into := map[string]*string{"table": &h.Table, "id": &h.ID, "from": &h.From, "to": &h.To, "at": &h.At, "actor": &h.Actor, "order": &h.Order}
	r.keys(t, "`history`", []string{"table", "id", "from", "to", "at", "actor", "order", "zone"}, func(key string, v *spec.Tree) {
		if key == "zone" {
			h.Zone = r.zone(v)
			return
		}
		*into[key] = r.text(v, "`"+key+"` of the history")
	})
	if len(r.wrong) == 0 && (h.Table == "" || h.ID == "" || h.From == "" || h.To == "" || h.At == "") {
		r.say(t, "the history needs `table`, `id`, `from`, `to` and `at`; `actor`, `order` and `zone` may be there")
	}
	p.History = h
}
