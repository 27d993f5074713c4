package gen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// The tests of the values of a package without a store: names, optional values, sets.

// optional reports whether the package has values that may be absent.
func (e *aloneTests) optional() bool {
	return slices.ContainsFunc(e.m.Fields, func(f *spec.Field) bool { return isOptional(f.Type) }) ||
		slices.ContainsFunc(e.m.Operations, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Inputs, func(in *spec.Input) bool { return isOptional(in.Type) })
		})
}

// eventPairs lists the events that are called otherwise than their operations.
func (e *aloneTests) eventPairs() (pairs string) {
	for _, o := range e.m.Operations {
		if o.Event != o.Name {
			pairs += fmt.Sprintf("%q: %q,\n", o.Name, o.Event)
		}
	}
	return pairs
}

// texts writes the test of the names of states and values.
func (e *aloneTests) texts() {
	e.line("// Test%sTexts reads and writes all names.", spec.GoName(e.m.Name))
	e.line("func Test%sTexts(t *testing.T) {", spec.GoName(e.m.Name))
	var names []string
	wide := len(e.m.States) > 254
	for _, s := range e.m.States {
		names = append(names, s.Name)
	}
	e.line("testTexts[State](t, %q)", strings.Join(names, " "))
	for _, x := range e.n.enums {
		e.line("testTexts[%s](t, %q)", x.Type, strings.Join(words(x.Values), " "))
		wide = wide || len(x.Values) > 254
	}
	lists := map[string][]string{}
	for _, s := range e.m.States {
		if s.Terminal {
			lists["Terminal"] = append(lists["Terminal"], s.Name)
		}
		if s.Final {
			lists["Final"] = append(lists["Final"], s.Name)
		}
	}
	if len(lists) > 0 {
		e.line("for _, s := range States() {")
		for _, method := range slices.Sorted(maps.Keys(lists)) {
			e.line("if want := slices.Contains(strings.Fields(%q), s.String()); s.%s() != want {\nt.Errorf(\"%%s: %s is %%t\", s, !want)\n}", strings.Join(lists[method], " "), method, method)
		}
		e.line("}")
	}
	e.line("if n := len(States()); n != %d || States()[0] != 1 || States()[n-1] != State(n) {\nt.Errorf(\"the states are %%v\", States())\n}", len(e.m.States))
	kinds := "~uint8"
	if wide {
		kinds = "~uint8 | ~uint16"
	}
	e.line(`}

func testTexts[V interface {
	%s
	fmt.Stringer
	encoding.TextMarshaler
}, P interface {
	*V
	encoding.TextUnmarshaler
}](t *testing.T, names string) {
	all := strings.Fields(names)
	for i := range len(all) + 2 {
		v, read, name := V(i), V(0), ""
		if i > 0 && i <= len(all) {
			name = all[i-1]
		}
		text, err := v.MarshalText()
		failed := P(&read).UnmarshalText([]byte(name))
		if string(text) != name || (err == nil) != (name != "") || (failed == nil) != (name != "") || name != "" && read != v {
			t.Errorf("%%T %%d: %%q (%%v) reads as %%v (%%v), want %%q", v, i, text, err, read, failed, name)
		}
		if name == "" {
			name = fmt.Sprintf("%%s(%%d)", strings.TrimPrefix(fmt.Sprintf("%%T", v), %q), i)
		}
		if v.String() != name {
			t.Errorf("%%d is %%s, want %%s", i, v, name)
		}
	}
}
`, kinds, e.n.Package+".")
}

// holds reports whether some field or input has values of a kind.
func (e *aloneTests) holds(k spec.Kind) bool {
	return slices.ContainsFunc(e.m.Fields, func(f *spec.Field) bool { return f.Type.Kind == k }) ||
		slices.ContainsFunc(e.m.Operations, func(o *spec.Operation) bool {
			return slices.ContainsFunc(o.Inputs, func(in *spec.Input) bool { return in.Type.Kind == k })
		})
}

// ownTypes writes the tests of the types that other packages import.
func (e *aloneTests) ownTypes() {
	if e.holds(spec.KindJSON) {
		e.line("// Test%sJSON looks at JSON texts.", spec.GoName(e.m.Name))
		e.line(`func Test%sJSON(t *testing.T) {
	for text, want := range map[string]string{"{ \"a\": [1.0] }": "{\"a\":[1.0]}", "null": "", "[": "", "": ""} {
		v, err := %s(text)
		b, failed := json.Marshal(v)
		var to any
		if bad := text == "[" || text == ""; (err != nil) != bad || failed != nil || string(b) != cmp.Or(want, "null") ||
			v.String() != want || v.IsZero() != (want == "") || (v.Decode(&to) == nil) != (want != "") || (to == nil) != (want == "") {
			t.Errorf("%%q is %%q (%%v), written %%s (%%v)", text, v, err, b, failed)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("[ is JSON")
		}
	}()
	%s("[")
}
`, spec.GoName(e.m.Name), e.n.ours("package", "ParseJSON"), e.n.ours("package", "MustJSON"))
	}
	if e.holds(spec.KindSet) {
		e.line("// Test%sSet looks at sets.", spec.GoName(e.m.Name))
		e.line(strings.NewReplacer("NewSet(", e.n.ours("package", "NewSet")+"(", "Set{", e.n.ours("package", "Set")+"{", "read Set", "read "+e.n.ours("package", "Set"), "[Set]", "["+e.n.ours("package", "Set")+"]").Replace(`func Test%sSet(t *testing.T) {
	a, ab := NewSet("a"), NewSet("b", "a", "b")
	if a.With("b") != ab || ab.With("a") != ab || !ab.Equal(NewSet("a", "b")) || ab.Equal(a) || ab.Len() != 2 || ab.String() != "{a, b}" || !slices.Equal(ab.Items(), []string{"a", "b"}) {
		t.Errorf("%%v and %%v are the sets of a, and of a and b", a, ab)
	}
	if !ab.Has("b") || a.Has("b") || !ab.Covers(a) || a.Covers(ab) || !a.Covers(NewSet()) || a.IsZero() || !NewSet().IsZero() {
		t.Errorf("%%v and %%v have the wrong members", a, ab)
	}
	for want, text := range map[Set]string{ab: "[\"a\",\"b\"]", {}: "[]"} {
		var read Set
		b, err := json.Marshal(want)
		if failed := json.Unmarshal(b, &read); string(b) != text || err != nil || failed != nil || read != want {
			t.Errorf("%%v is written %%s (%%v) and read as %%v (%%v)", want, b, err, read, failed)
		}
		if err := json.Unmarshal([]byte("7"), &read); err == nil {
			t.Error("7 is read as a set")
		}
	}
}
`), spec.GoName(e.m.Name))
	}
}

// quoted writes texts as Go does.
func quoted(list []string) (all []string) {
	for _, s := range list {
		all = append(all, strconv.Quote(s))
	}
	return all
}
