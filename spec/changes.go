package spec

import (
	"slices"
	"strings"
)

// Assigned lists the changes that take a value, in the order of the keys.
func (e *Effects) Assigned() []Assign { return slices.Concat(e.Set, e.Add, e.Remove) }

// Named lists the changes that only name a field, in the order of the keys.
func (e *Effects) Named() []FieldRef {
	return slices.Concat(e.Clear, e.Increment, e.Reset, e.Decrement)
}

// Empty reports whether there is no effect.
func (e *Effects) Empty() bool { return len(e.Assigned())+len(e.Named()) == 0 }

// Changes reports whether an effect changes the field.
func (e *Effects) Changes(f *Field) bool {
	return slices.ContainsFunc(e.Assigned(), func(a Assign) bool { return a.Field == f }) ||
		slices.ContainsFunc(e.Named(), func(r FieldRef) bool { return r.Field == f })
}

// Resets reports whether some operation gives a counter 0 again, or empties a set.
func (m *Machine) Resets(f *Field) bool {
	return m.some(func(e *Effects) bool {
		return slices.ContainsFunc(e.Reset, func(r FieldRef) bool { return r.Field == f })
	})
}

// Decrements reports whether some operation takes one off a counter.
func (m *Machine) Decrements(f *Field) bool {
	return m.some(func(e *Effects) bool {
		return slices.ContainsFunc(e.Decrement, func(r FieldRef) bool { return r.Field == f })
	})
}

// Lowers reports whether some operation takes from a counter or a set.
func (m *Machine) Lowers(f *Field) bool { return m.Resets(f) || m.Decrements(f) || m.Removes(f) }

// Removes reports whether some operation takes members out of a set.
func (m *Machine) Removes(f *Field) bool {
	return m.some(func(e *Effects) bool {
		return slices.ContainsFunc(e.Remove, func(a Assign) bool { return a.Field == f })
	})
}

// some reports whether the effects of an operation or of a branch are such.
func (m *Machine) some(is func(*Effects) bool) bool {
	return slices.ContainsFunc(m.Operations, func(o *Operation) bool {
		return is(&o.Effects) || slices.ContainsFunc(o.Choose, func(b *Branch) bool { return is(&b.Effects) })
	})
}

// keys says under which key each field stands.
func (e *Effects) keys() map[*Field]string {
	keys := map[*Field]string{}
	for _, a := range e.Set {
		keys[a.Field] = "set"
	}
	for _, a := range e.Remove {
		keys[a.Field] = "remove"
	}
	for _, a := range e.Add {
		keys[a.Field] = "add"
	}
	for key, refs := range map[string][]FieldRef{"clear": e.Clear, "increment": e.Increment, "reset": e.Reset, "decrement": e.Decrement} {
		for _, r := range refs {
			keys[r.Field] = key
		}
	}
	return keys
}

// replaces reports whether a key gives a value that does not depend on the old one,
// so that a branch may give another.
func replaces(key string) bool { return key == "set" || key == "clear" }

// back checks what a key names that takes from fields of some kinds.
func (r *resolver) back(o *Operation, f *Field, w word, key string, kinds ...Kind) bool {
	switch {
	case f.Type.Kind == 0:
		return false
	case !slices.Contains(kinds, f.Type.Kind):
		hint := "write the value under `set`"
		if f.Type.Optional {
			hint = "list it under `clear`, or " + hint
		}
		switch key {
		case "decrement":
			hint = "make the field a counter, or write the value under `set`"
		case "remove":
			hint = "make the field a set, or use `clear`"
		}
		var names []string
		for _, k := range kinds {
			names = append(names, k.String()+"s")
		}
		r.at(codeValue, w, hint, "field %s is %s: `%s` is for %s", f.Name, article(f.Type.Kind.String()), key, strings.Join(names, " and "))
		return false
	case len(o.Creates) > 0:
		r.at(codeTogether, w, "remove it here", "operation %s makes a record, in which field %s is %s already", o.Name, f.Name, f.Zero())
		return false
	}
	return true
}

// removal binds what a set loses: a member, or all of an input that is a set.
func (r *resolver) removal(o *Operation, a *astOperation, f *Field, s astAssign) (Value, bool) {
	if s.value.kind.ofInput() && s.value.named {
		if in := r.inputOf[o][s.value.name]; in != nil && in.Type.Kind == KindSet {
			if s.value.kind != ValueInput {
				r.at(codeValue, s.value.text, "write `"+s.value.input()+"`", "input %s is a set, and a set is never absent", in.Name).
					fix(s.value.text, s.value.input())
				return Value{}, false
			}
			return r.value(o, a, f, Type{Kind: KindSet}, s.value)
		}
	}
	return r.addition(o, a, f, s)
}

// Zero is what a counter or a set holds before any change, as text: 0 or empty.
func (f *Field) Zero() string {
	if f.Type.Kind == KindSet {
		return "empty"
	}
	return "0"
}
