package spec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Renameable reports whether [Reading.Rename] knows how a name becomes another one where
// it stands.
func Renameable(n Name) bool {
	switch n.Kind {
	case StateName, GroupName, FieldName, GuardName, OperationName:
		return !n.Decl.IsZero() && !n.Bare
	}
	return false
}

// Rename returns the edits that give what n names another name, wherever it stands. Stored
// rows and events keep their word: `was` is added where there is none, unless keep is false
// or the machine has no store. It is an error when the file would not be sound afterwards, and
// then the error says why. The file must have no errors.
func (r Reading) Rename(n Name, to string, keep bool) ([]Edit, error) {
	switch {
	case !nameForm.MatchString(to):
		return nil, fmt.Errorf("%q is not a name: a name starts with a-z and goes on with a-z, 0-9 and _", to)
	case r.Machine == nil || !Renameable(n):
		return nil, fmt.Errorf("%s %s cannot be renamed here", n.Kind, n.Text)
	case to == n.Text:
		return nil, nil
	}
	var edits []Edit
	for _, o := range r.Names {
		switch {
		case o.Kind == InputName && o.Bare && o.Text == n.Text && n.Kind == FieldName: // the field was called like the input
			edits = append(edits, Edit{Pos: o.Pos, Len: o.Len, Text: "input." + o.Text})
		case !o.Same(n) || o.Bare:
		case o.Hidden:
			return nil, fmt.Errorf("the name stands in a text of several lines or with escapes at %s; write it plainly there", o.Pos)
		default:
			edits = append(edits, Edit{Pos: o.Pos, Len: o.Len, Text: to})
		}
	}
	edits = slices.CompactFunc(edits, func(a, b Edit) bool { return a.Pos == b.Pos })
	if keep && !r.Machine.Alone() {
		was, err := r.Machine.keepStored(n, to)
		if err != nil {
			return nil, err
		}
		edits = append(edits, was...)
	}
	return edits, r.soundWith(edits, n, to)
}

// soundWith looks whether the file can be read with the edits, and says the same as before.
func (r Reading) soundWith(edits []Edit, n Name, to string) error {
	next, _ := Diagnostics{{Fix: edits}}.Fixed(r.Machine.Source)
	after := Read(r.Machine.File, next)
	if after.Machine == nil {
		first := after.Found[slices.IndexFunc(after.Found, func(d Diagnostic) bool { return d.Severity == Error })]
		return fmt.Errorf("%s %s cannot become %s: %s [%s]", n.Kind, n.Text, to, first.Message, first.Code)
	}
	count := func(names []Name, kind NameKind, text string) (n int) {
		for _, o := range names {
			if o.Kind == kind && o.Text == text {
				n++
			}
		}
		return n
	}
	if count(after.Names, n.Kind, to) != count(r.Names, n.Kind, n.Text)+count(r.Names, n.Kind, to) {
		return fmt.Errorf("%s %s cannot become %s: another name would mean something else", n.Kind, n.Text, to)
	}
	return nil
}

// keepStored returns the edits by which rows and events keep the word that they store.
func (m *Machine) keepStored(n Name, to string) ([]Edit, error) {
	key := map[NameKind]string{StateName: "", FieldName: "field", OperationName: "operation"}
	inner, has := key[n.Kind]
	if !has {
		return nil, nil
	}
	t := readDocument(m.Source)
	c, ok := t.chains[n.Decl]
	if !ok || c.in == nil {
		return nil, fmt.Errorf("the declaration of %s %s is not found", n.Kind, n.Text)
	}
	v := c.in.pairs[c.in.entry(c.node)].value
	var edits []Edit
	at := slices.IndexFunc(v.pairs, func(e pair) bool { return e.key.text == "was" })
	switch {
	case v.kind == scalarNode:
		edits = t.wrap(v, "{type: ", ", was: "+n.Text+"}")
	case len(v.pairs) == 0:
		edits = t.fill(v, "was: "+n.Text)
	case at < 0:
		edits = t.after(v, "was: "+n.Text)
	default:
		return t.older(v.pairs[at].value, inner, n.Text, to), nil
	}
	if len(edits) == 0 {
		return nil, fmt.Errorf("the declaration of %s %s is not plain enough to add `was: %s`; add it first", n.Kind, n.Text, n.Text)
	}
	return edits, nil
}

// older keeps the stored word where there is a `was` already.
func (t document) older(was *node, inner, name, to string) []Edit {
	switch {
	case was.kind == scalarNode && was.text == to: // the first name is back
		return t.without(was.pos)
	case was.kind != mapNode || slices.ContainsFunc(was.pairs, func(e pair) bool { return e.key.text == inner }):
		return nil // rows hold an older name
	}
	return t.after(was, inner+": "+name)
}

// after puts an entry behind the last one of a mapping.
func (t document) after(v *node, entry string) []Edit {
	c := t.chains[v.pairs[len(v.pairs)-1].key.pos]
	from, to := t.span(c.in, c.pos)
	return t.behind(c.in, from, to, "", entry)
}

// fill puts an entry into an empty mapping.
func (t document) fill(v *node, entry string) []Edit {
	from := t.offset(v.pos)
	end := bytes.IndexByte(t.src[from:], '}')
	if end < 0 || strings.TrimSpace(string(t.src[from+1:from+end])) != "" {
		return nil
	}
	return t.edit(from, from+end+1, "{"+entry+"}")
}
