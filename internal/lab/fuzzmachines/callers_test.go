package fuzzmachines_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// TestDiffTellsWhatBreaksCallers draws pairs of machines. A program that names all
// that Go programs can name of the old package compiles with the new one, unless
// diff says SOURCE. Where it compiles, diff says SOURCE for what calls carry alone.
func TestDiffTellsWhatBreaksCallers(t *testing.T) {
	t.Parallel()
	wanted := 30
	if campaign.On() {
		wanted = 400
	}
	imports := load(t)
	r := rand.New(rand.NewPCG(*seed, 9))
	pairs, broken, compiled, alone := 0, 0, 0, 0
	for s := *seed; pairs < wanted; s++ {
		text, m := soundMachine(s)
		if m == nil {
			continue
		}
		old, err := packageOf(m, imports)
		if err != nil {
			t.Fatal(err)
		}
		caller, used := callerOf(old)
		was := symbols(t, m)
		for range 12 {
			edited := evolved(r, text)
			next, found := validate.Source("random.yaml", []byte(edited))
			if found.HasErrors() || next.Hash == m.Hash {
				continue
			}
			pairs++
			report := diff.Machines(m, next)
			before := report.Count(diff.Source)
			report.Symbols(was, symbols(t, next))
			pkg, err := packageOf(next, imports)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", s, err, edited)
			}
			breaks := compile(caller, used, pkg)
			if breaks == nil && next.Name != m.Name {
				breaks = fmt.Errorf("the package is called otherwise")
			}
			switch {
			case breaks != nil:
				if before == 0 {
					alone++
				}
				if broken++; report.Count(diff.Source) == 0 {
					t.Errorf("seed %d: diff does not say SOURCE: %v\n%s\n%s", s, breaks, report.Text(), lineDiff(text, edited))
				}
			default:
				compiled++
				for _, c := range report.Changes {
					if c.Class == diff.Source && !saidByCalls(c.Message) {
						t.Errorf("seed %d: callers compile: %s\n%s", s, c.Message, lineDiff(text, edited))
					}
				}
			}
		}
	}
	t.Logf("%d pairs: %d break callers, of which %d by symbols alone; %d do not", pairs, broken, alone, compiled)
	if broken < pairs/10 || compiled < pairs/20 {
		t.Errorf("of %d pairs %d break callers and %d do not: want more of each", pairs, broken, compiled)
	}
}

// saidByCalls reports whether a SOURCE change is about the values of calls or about
// who may call, which the compiler does not look at.
func saidByCalls(message string) bool {
	return strings.Contains(message, " asks for the input ") || strings.HasPrefix(message, "input ") ||
		strings.Contains(message, " is run by the ")
}

func symbols(t *testing.T, m *spec.Machine) map[string]string {
	t.Helper()
	list, err := gen.Symbols(m)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// packageOf type-checks the generated package without its tests.
func packageOf(m *spec.Machine, imports loaded) (*types.Package, error) {
	files, err := gen.Generate(m, gen.Options{Package: "random"})
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range files {
		if filepath.Ext(f.Name) == ".go" && !strings.HasSuffix(f.Name, "_test.go") {
			file, err := parser.ParseFile(fset, f.Name, f.Data, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, file)
		}
	}
	return (&types.Config{Importer: imports, IgnoreFuncBodies: true}).Check("random", fset, parsed, nil)
}

// compile type-checks a program with a package.
func compile(caller string, used loaded, pkg *types.Package) error {
	all := maps.Clone(used)
	all["random"] = pkg
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "caller.go", caller, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	_, err = (&types.Config{Importer: all}).Check("caller", fset, []*ast.File{file}, nil)
	return err
}

// callerOf writes a program that names all that a package exports, and lists the
// packages that it imports.
func callerOf(pkg *types.Package) (string, loaded) {
	var body strings.Builder
	used := loaded{}
	name := func(p *types.Package) string {
		if p == pkg {
			return "random"
		}
		p.MarkComplete() // as far as export data needed it
		used[p.Path()] = p
		return strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(p.Path())
	}
	line := func(format string, args ...any) { fmt.Fprintf(&body, format+"\n", args...) }
	text := func(t types.Type) string { return types.TypeString(types.Default(t), name) }
	scope := pkg.Scope()
	for _, id := range scope.Names() {
		switch o := scope.Lookup(id).(type) {
		case *types.Const, *types.Var, *types.Func:
			if o.Exported() {
				t, of := ofInt(o)
				line("var _ %s = random.%s", text(t), of)
			}
		case *types.TypeName:
			if o.Exported() && !o.IsAlias() {
				namesType(o, line, text)
			} else if o.Exported() {
				line("var _ func(random.%s) = func(%s) {}", id, text(types.Unalias(o.Type())))
			}
		}
	}
	head := "package caller\n\nimport (\n\t\"random\"\n"
	for _, path := range slices.Sorted(maps.Keys(used)) {
		head += fmt.Sprintf("\t%s %q\n", name(used[path]), path)
	}
	return head + ")\n\nvar _ random.State\n\n" + body.String(), used
}

// ofInt is the type of a declaration, and how programs name it. A generic one is
// taken for int.
func ofInt(o types.Object) (types.Type, string) {
	list, ok := o.Type().(interface{ TypeParams() *types.TypeParamList })
	if !ok || list.TypeParams().Len() == 0 {
		return o.Type(), o.Name()
	}
	args := slices.Repeat([]types.Type{types.Typ[types.Int]}, list.TypeParams().Len())
	t, err := types.Instantiate(nil, o.Type(), args, false)
	if err != nil {
		panic(err)
	}
	return t, o.Name() + "[" + strings.Repeat("int, ", len(args)-1) + "int]"
}

// namesType names a type, its fields and its methods.
func namesType(o *types.TypeName, line func(string, ...any), text func(types.Type) string) {
	t, name := ofInt(o)
	line("var _ random.%s", name)
	if types.Comparable(t) {
		line("func _(a, b random.%s) bool { return a == b }", name)
	}
	if face, ok := t.Underlying().(*types.Interface); ok {
		sealed := false
		for m := range face.Methods() {
			sealed = sealed || !m.Exported()
		}
		for m := range face.Methods() {
			if sealed && m.Exported() {
				line("var _ %s = random.%s.%s", methodType("random."+name, m, text), name, m.Name())
			}
		}
		switch scope := o.Pkg().Scope(); {
		case !sealed && face.NumMethods() > 0:
			line("type own%s struct{}", o.Name())
			for m := range face.Methods() {
				line("func (own%s) %s%s { panic(0) }", o.Name(), m.Name(), strings.TrimPrefix(text(m.Type()), "func"))
			}
			line("var _ random.%s = own%s{}", name, o.Name())
		case sealed:
			for _, id := range scope.Names() {
				if c, ok := scope.Lookup(id).(*types.TypeName); ok && c.Exported() && !types.IsInterface(c.Type()) && types.Implements(c.Type(), face) {
					line("func _(x random.%s) { switch x.(type) { case random.%s: } }", name, id)
				}
			}
		}
		return
	}
	set := types.NewMethodSet(types.NewPointer(t))
	plain := types.NewMethodSet(t)
	for s := range set.Methods() {
		if m := s.Obj().(*types.Func); m.Exported() {
			of := "(*random." + name + ")"
			if plain.Lookup(m.Pkg(), m.Name()) != nil {
				of = "random." + name
			}
			line("var _ %s = %s.%s", methodType(strings.Trim(of, "()"), m, text), of, m.Name())
		}
	}
	if _, ok := t.Underlying().(*types.Struct); ok {
		for f := range fieldsOf(t, map[string]bool{}) {
			line("func _(x random.%s) { var _ %s = x.%s }", name, text(f.Type()), f.Name())
		}
	}
}

// fieldsOf are the exported fields of a type and of what it embeds.
func fieldsOf(t types.Type, seen map[string]bool) func(func(*types.Var) bool) {
	return func(yield func(*types.Var) bool) {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return
		}
		for f := range s.Fields() {
			if f.Exported() && !seen[f.Name()] {
				seen[f.Name()] = true
				if !yield(f) {
					return
				}
			}
		}
		for f := range s.Fields() {
			if f.Embedded() {
				fieldsOf(f.Type(), seen)(yield)
			}
		}
	}
}

// methodType is the type of a method expression.
func methodType(of string, m *types.Func, text func(types.Type) string) string {
	s, list := m.Signature(), []string{of}
	for p := range s.Params().Variables() {
		list = append(list, text(p.Type()))
	}
	if last := len(list) - 1; s.Variadic() {
		list[last] = "..." + strings.TrimPrefix(list[last], "[]")
	}
	return "func(" + strings.Join(list, ", ") + ") " + text(s.Results())
}

// evolved makes one to three edits of a specification.
func evolved(r *rand.Rand, text string) string {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		panic(err)
	}
	root := doc.Content[0]
	for range 1 + r.IntN(3) {
		evolve(r, root)
	}
	out, err := yaml.Marshal(&doc)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// additions are what a next version may have more, by section; S is a state, O an
// operation and F a field of the machine.
var additions = [][2]string{
	{"fields", "zz_seq: sequence"}, {"fields", "zz_text: optional string"}, {"fields", "zz_set: set"},
	{"fields", "zz_given: {type: int, default: 3}"}, {"fields", "zz_word: {type: low|high, default: low}"},
	{"states", "zz_state: {terminal: true}"},
	{"operations", "zz_go: {from: S, to: same}"}, {"operations", "zz_pick: {from: S, to: same, next: {order: [created_at]}}"},
	{"operations", "zz_each: {from: S, to: same, each: {most: 3}}"},
	{"operations.O", "each: {most: 2}"}, {"operations.O", "each: {where: 'created_at <= now', most: 2}"},
	{"operations", "zz_sys: {by: system, from: S, to: same}"}, {"operations", "list: {from: S, to: same}"}, {"operations", "can: {from: S, to: same}"},
	{"operations", "zz_in: {from: S, to: same, input: {zz_n: int}}"},
	{"guards", "zz_fewer: {fewer: {than: 3, same: F, in: [S]}, error: zz_busy}"},
	{"guards", "zz_mine: {fewer: {than: 3, same: {F: actor}, in: [S]}, error: zz_busy}"},
	{"guards", "zz_most: {fewer: {than: input.zz_most, same: F, in: [S]}, error: zz_busy}"},
	{"guards", "zz_some: {some: {same: F, in: [S]}, error: zz_some}"},
	{"guards", "zz_none: {none: {same: F, in: [S]}, error: zz_none}"},
	{"guards", "zz_own: {when: F == actor, error: zz_not_own}"},
	{"guards", "zz_late: {when: created_at <= now, error: zz_early}"},
	{"lookup", "zz_by: {fields: [F], in: [S]}"},
	{"unique", "zz_one: {fields: [F], in: [S], error: zz_twice}"},
	{"probes", "zz_probe: {message: is it there}"},
	{"operations.O", "effect: {name: zz_effect}"}, {"operations.O", "effect: {name: zz_atomic, atomic: true}"},
	{"operations.O", "require: [zz_fewer]"}, {"operations.O", "require: [zz_own]"}, {"operations.O", "require: [zz_late]"}, {"operations.O", "require: [zz_none]"},
	{"operations.O", "require: [zz_some]"},
	{"operations.O", "require: [zz_mine]"}, {"operations.O", "require: [zz_most]"}, {"operations.O", "input: {zz_most: optional int}"},
	{"operations.O", "input: {zz_more: int}"}, {"operations.O", "input: {zz_may: optional int}"},
	{"operations.O", "next: {order: [created_at]}"}, {"operations.O", "by: operator"}, {"operations.O", "by: system"},
	{"operations.O", "to: S"}, {"operations.O", "to: same"}, {"operations.O", "event: zz_event"}, {"operations.O", "trigger: [startup]"}, {"operations.O", "then: O"},
	{"operations.O", "choose: [{when: created_at <= now, to: S}, {to: same}]"},
}

// evolve edits a specification once: it adds, takes away, renames or replaces.
func evolve(r *rand.Rand, root *yaml.Node) {
	some := func(section string) string {
		keys := slices.Sorted(maps.Keys(pairs(value(root, section))))
		if len(keys) == 0 {
			return "none"
		}
		return keys[r.IntN(len(keys))]
	}
	switch r.IntN(5) {
	case 0, 1:
		add := additions[r.IntN(len(additions))]
		put(root, r, add, some)
		if strings.HasPrefix(add[1], "zz_") && add[0] == "guards" { // it needs one who asks
			name, _, _ := strings.Cut(add[1], ":")
			put(root, r, [2]string{"operations.O", "require: [" + name + "]"}, some)
		}
	case 2: // a part less
		at := root
		for {
			var below []*yaml.Node
			for i := 1; i < len(at.Content); i += 2 {
				if at.Kind == yaml.MappingNode && at.Content[i].Kind == yaml.MappingNode {
					below = append(below, at.Content[i])
				}
			}
			if len(below) == 0 || r.IntN(3) == 0 {
				break
			}
			at = below[r.IntN(len(below))]
		}
		if n := len(at.Content) / 2; at != root && n > 0 {
			drop(at, at.Content[2*r.IntN(n)].Value)
		}
	case 3: // another name
		section := []string{"fields", "states", "operations", "guards", "lookup", "probes"}[r.IntN(6)]
		rename(root, some(section), "zz_other")
	case 4: // another type or word
		swaps := [][2]string{{"optional string", "string"}, {"string", "optional string"}, {"optional int", "int"}, {"int", "optional int"}, {"time", "optional time"},
			{"set", "json"}, {"counter", "int"}, {"caller", "operator"}, {"system", "operator"}, {"required", "optional"}, {"optional", "none"}, {"input", "actor"}, {"actor", "input"}, {"input", "now"}}
		s := swaps[r.IntN(len(swaps))]
		var found []*yaml.Node
		walk(root, func(n *yaml.Node) {
			if n.Kind == yaml.ScalarNode && n.Value == s[0] {
				found = append(found, n)
			}
		})
		if len(found) > 0 {
			found[r.IntN(len(found))].Value = s[1]
		}
	}
}

// put adds an entry, or takes the place of one with its name.
func put(root *yaml.Node, r *rand.Rand, add [2]string, some func(string) string) {
	section, entry := root, ""
	for part := range strings.SplitSeq(add[0], ".") {
		if part == "O" {
			part = some("operations")
		}
		below := value(section, part)
		if below == nil {
			below = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			section.Content = append(section.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: part}, below)
		}
		section = below
	}
	for w := range strings.FieldsFuncSeq(add[1], func(c rune) bool { return c == ' ' }) {
		core := strings.Trim(w, "[]{},")
		switch core {
		case "S":
			w = strings.Replace(w, "S", some("states"), 1)
		case "O":
			w = strings.Replace(w, "O", some("operations"), 1)
		case "F":
			w = strings.Replace(w, "F", some("fields"), 1)
		}
		entry += w + " "
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(entry), &doc); err != nil {
		panic(entry)
	}
	drop(section, doc.Content[0].Content[0].Value)
	section.Content = append(section.Content, doc.Content[0].Content...)
}

func walk(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, c := range n.Content {
		walk(c, visit)
	}
}

// rename gives a name another one, wherever it stands.
func rename(root *yaml.Node, old, name string) {
	walk(root, func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode {
			words := strings.Fields(n.Value)
			for i, w := range words {
				if w == old {
					words[i] = name
				}
			}
			if slices.Contains(words, name) {
				n.Value = strings.Join(words, " ")
			}
		}
	})
}

// lineDiff shows the lines that differ.
func lineDiff(old, next string) string {
	var a, b yaml.Node
	_, _ = yaml.Unmarshal([]byte(old), &a), yaml.Unmarshal([]byte(next), &b)
	x, _ := yaml.Marshal(&a)
	y, _ := yaml.Marshal(&b)
	is, was := strings.Split(string(y), "\n"), strings.Split(string(x), "\n")
	var out string
	for _, l := range was {
		if !slices.Contains(is, l) {
			out += "- " + l + "\n"
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			out += "+ " + l + "\n"
		}
	}
	return out
}

// pairs are the entries of a mapping; none where it is not there.
func pairs(n *yaml.Node) map[string]*yaml.Node {
	list := map[string]*yaml.Node{}
	if n != nil {
		for i := 0; i+1 < len(n.Content); i += 2 {
			list[n.Content[i].Value] = n.Content[i+1]
		}
	}
	return list
}

func value(n *yaml.Node, key string) *yaml.Node { return pairs(n)[key] }

func drop(n *yaml.Node, keys ...string) {
	for i := 0; i+1 < len(n.Content); {
		if slices.Contains(keys, n.Content[i].Value) {
			n.Content = slices.Delete(n.Content, i, i+2)
			continue
		}
		i += 2
	}
}
