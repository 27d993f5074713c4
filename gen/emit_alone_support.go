package gen

import (
	"fmt"
	"strings"
)

// What a pure package brings along instead of importing the runtime: its refusals, and Optional.

// causes lists the causes that the package has.
func (a *purePackage) causes(used map[string]bool) (list []string) {
	for _, c := range aloneCauses {
		switch c.name {
		case "ErrWrongState":
			if !a.used["refuseState"] {
				continue
			}
		case "ErrTerminal":
			if !ends(a.m) || !a.used["refuseState"] {
				continue
			}
		case "ErrInvalidInput":
			if !a.used["refuseInput"] {
				continue
			}
		case "ErrInvariant":
			if !used[c.name] && !a.rules {
				continue
			}
		default:
			if !used[c.name] {
				continue
			}
		}
		list = append(list, fmt.Sprintf("%s = errors.New(%q)", a.n.ours("package", c.name), c.text))
	}
	return list
}

// detailed reports whether a refusal names more than its cause.
func (a *purePackage) detailed() bool {
	return a.used["refuseGuard"] || a.used["refuseInput"] || a.used["refuseRule"] || a.rules
}

// worded reports whether a refusal may say more than the name of what refuses.
func (a *purePackage) worded() bool {
	return a.used["refuseInput"] || a.used["refuseGuard"] && a.n.ownMessages(a.m)
}

// support writes what stands for the runtime's declarations.
func (a *purePackage) support(used map[string]bool) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if list := a.causes(used); len(list) == 1 {
		name, _, _ := strings.Cut(list[0], " ")
		put("\n// %s is why operations are refused; errors.Is finds it in the *%s that a\n// call returns.\nvar %s", name, a.n.refusal(), list[0])
	} else if list != nil {
		put("\n// Why operations are refused, whatever the machine; errors.Is finds them in the\n// *%s that a call returns.\nvar (\n%s\n)", a.n.refusal(), strings.Join(list, "\n"))
	}
	refusal := a.n.refusal()
	put("\n// %s says why an operation did not happen; what it was called on is as it was.\ntype %s struct {", refusal, refusal)
	put("Operation string // one of the Op constants\nState State // that it was in; zero for an operation that makes one\nCause error // one of the Err variables")
	if a.detailed() {
		put("Name string // of the guard, input, rule or field that stands in the way; may be empty")
	}
	if a.worded() {
		put("Message string // more about the cause; may be empty")
	}
	put("}")
	put("\n// Error tells all of it in one line.\nfunc (r *%s) Error() string {\ntext := %q + r.Operation", refusal, a.m.Name+": ")
	put("if r.State != 0 {\ntext += \" in state \" + r.State.String()\n}")
	put("text += \": \" + r.Cause.Error()")
	if a.detailed() {
		put("if r.Name != \"\" {\ntext += \" (\" + r.Name + \")\"\n}")
	}
	if a.worded() {
		put("if r.Message != \"\" {\ntext += \": \" + r.Message\n}")
	}
	put("return text\n}")
	put("\n// Unwrap returns the cause.\nfunc (r *%s) Unwrap() error { return r.Cause }", refusal)
	if used["Violation"] {
		v := a.n.ours("package", "Violation")
		put("\n// %s is a rule that a record breaks.\ntype %s struct {\nRule string // in the words of the specification\nMust bool // false: it should hold, and operations go on\n}", v, v)
	}
	if used["Optional"] || used["Some"] {
		a.optional(put)
	}
	return b.String()
}

// optional writes the type of values that may be absent.
func (a *purePackage) optional(put func(string, ...any)) {
	put(strings.NewReplacer("Optional", a.n.ours("package", "Optional"), "Some", a.n.ours("package", "Some")).Replace(`
// Optional is a value that may be absent. The zero Optional is absent.
type Optional[T any] struct {
	value T
	ok bool
}

// Some returns a value that is there.
func Some[T any](v T) Optional[T] { return Optional[T]{value: v, ok: true} }

// Get returns the value and whether it is there.
func (o Optional[T]) Get() (T, bool) { return o.value, o.ok }

// Present reports whether there is a value.
func (o Optional[T]) Present() bool { return o.ok }

// Or returns the value, or v when there is none.
func (o Optional[T]) Or(v T) T {
	if o.ok {
		return o.value
	}
	return v
}

// IsZero reports whether there is no value, for omitzero in JSON.
func (o Optional[T]) IsZero() bool { return !o.ok }

// MarshalJSON writes the value, or null when there is none.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.ok {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	*o = Optional[T]{}
	if string(text) == "null" {
		return nil
	}
	err := json.Unmarshal(text, &o.value)
	o.ok = err == nil
	return err
}`))
}
