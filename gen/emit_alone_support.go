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
	if used["JSON"] || used["MustJSON"] {
		put(strings.NewReplacer("ParseJSON", a.n.ours("package", "ParseJSON"), "MustJSON", a.n.ours("package", "MustJSON"),
			"UnmarshalJSON", "UnmarshalJSON", "MarshalJSON", "MarshalJSON", "JSON", a.n.ours("package", "JSON")).Replace(aloneJSON))
	}
	if used["Set"] {
		put(strings.NewReplacer("NewSet", a.n.ours("package", "NewSet"), "Set", a.n.ours("package", "Set")).Replace(aloneSet))
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

// aloneJSON is the type of JSON texts; == compares them, as it compares records.
const aloneJSON = `
// JSON is one compact text in the notation of its name, and never null. The zero
// JSON is no text. Two are == when their texts are the same bytes.
type JSON struct{ text string }

// ParseJSON checks and compacts a text. Keys and numbers stay as written, and of
// null it makes the zero JSON.
func ParseJSON(text string) (JSON, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return JSON{}, err
	}
	if b.String() == "null" {
		return JSON{}, nil
	}
	return JSON{b.String()}, nil
}

// MustJSON is ParseJSON for texts that stand in the program; it panics where
// ParseJSON returns an error.
func MustJSON(text string) JSON {
	v, err := ParseJSON(text)
	if err != nil {
		panic(err)
	}
	return v
}

// String returns the text.
func (v JSON) String() string { return v.text }

// IsZero reports whether there is no text.
func (v JSON) IsZero() bool { return v.text == "" }

// Decode stores the value in to, as json.Unmarshal does.
func (v JSON) Decode(to any) error { return json.Unmarshal([]byte(v.text), to) }

// MarshalJSON writes the text, or null when there is none.
func (v JSON) MarshalJSON() ([]byte, error) {
	if v.IsZero() {
		return []byte("null"), nil
	}
	return []byte(v.text), nil
}

// UnmarshalJSON takes any text that ParseJSON takes.
func (v *JSON) UnmarshalJSON(text []byte) (err error) {
	*v, err = ParseJSON(string(text))
	return err
}`

// aloneSet is the type of sets. It keeps them in one text, so that == compares them and
// the records that hold them.
const aloneSet = `
// Set is a sorted set of strings. It never changes, and two sets of the same
// members are ==. The zero Set is empty.
type Set struct {
	text string // the members, each quoted and with a comma behind it
}

// NewSet returns the set of the given strings.
func NewSet(items ...string) Set {
	var text []byte
	for _, item := range slices.Compact(slices.Sorted(slices.Values(items))) {
		text = append(strconv.AppendQuote(text, item), ',')
	}
	return Set{string(text)}
}

// Items returns the members, sorted.
func (s Set) Items() []string {
	items := []string{}
	for rest := s.text; rest != ""; {
		quoted, _ := strconv.QuotedPrefix(rest)
		item, _ := strconv.Unquote(quoted)
		items = append(items, item)
		rest = rest[len(quoted)+1:]
	}
	return items
}

// Has reports whether item is in s.
func (s Set) Has(item string) bool { return slices.Contains(s.Items(), item) }

// Covers reports whether every member of t is in s.
func (s Set) Covers(t Set) bool { return NewSet(append(s.Items(), t.Items()...)...) == s }

// Equal reports whether both sets have the same members, as == does.
func (s Set) Equal(t Set) bool { return s == t }

// With returns s and item.
func (s Set) With(item string) Set { return NewSet(append(s.Items(), item)...) }

// Len returns the number of members.
func (s Set) Len() int { return len(s.Items()) }

// IsZero reports whether s is empty.
func (s Set) IsZero() bool { return s.text == "" }

// String returns the members between braces.
func (s Set) String() string { return "{" + strings.Join(s.Items(), ", ") + "}" }

// MarshalJSON writes a sorted array.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Items()) }

// UnmarshalJSON reads an array of strings in any order.
func (s *Set) UnmarshalJSON(text []byte) error {
	var items []string
	err := json.Unmarshal(text, &items)
	*s = NewSet(items...)
	return err
}`
