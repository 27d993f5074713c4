package chart

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fsmgen/fsmgen/spec"
)

var updateMermaid = flag.Bool("update-mermaid", false, "write the goldens of the diagrams anew")

// The goldens are parsed and drawn by the real Mermaid in `make diagrams-check`.
func TestMermaidGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/mermaid/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no specifications: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, found := spec.Parse(file, src)
			if err := found.Err(); err != nil {
				t.Fatal(err)
			}
			got := Mermaid(Of(m))
			checkMermaid(t, got)
			golden := strings.TrimSuffix(file, ".yaml") + ".mmd"
			if *updateMermaid {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the diagram changed; run with -update-mermaid if that is meant (-want +got):\n%s", diff)
			}
		})
	}
}

// Every line of a diagram has one of these forms. They are narrower than
// Mermaid's grammar, so that a text which matches cannot mean anything else.
var mermaidForms = func() []*regexp.Regexp {
	const (
		id    = `(?:[scpg]_[A-Za-z0-9_]+|legend|projection)`
		point = `(?:\[\*\]|` + id + `)`
		class = `(?:legend|group|initial|final|terminal|success|trouble)`
		text  = `(?:[^#%;:"<>{}` + "`" + `*]|#[0-9]+;|<br/>|</?b>)+`
	)
	forms := []string{
		`---`, `title: ".*"`, `config:`, `  flowchart:`, `    curve: monotoneY`,
		regexp.QuoteMeta("%% " + Header), `stateDiagram-v2`,
		` +state "` + text + `" as ` + id + `(?: \{)?`,
		` +state ` + id + ` <<choice>>`,
		` +` + id + ` : ` + text,
		` +` + point + ` --> ` + point + `(?: : ` + text + `)?`,
		` +note right of ` + id, ` +end note`, `    never to <b>[a-z0-9_]+</b>(?:#58; ` + text + `)?`,
		`  classDef ` + class + ` [a-z0-9:,#-]+`, `  class ` + id + `(?:,` + id + `)* ` + class, `  \}`,
	}
	var compiled []*regexp.Regexp
	for _, f := range forms {
		compiled = append(compiled, regexp.MustCompile(`^`+f+`$`))
	}
	return compiled
}()

var (
	mermaidDeclared = regexp.MustCompile(`(?m)^ +state (?:"[^"]*" as )?(\w+)`)
	mermaidNamed    = regexp.MustCompile(`(?m)^ +(\S+) --> (\S+)|^ +note right of (\S+)`)
)

// checkMermaid holds the text of a diagram against what makes it safe.
func checkMermaid(t interface{ Errorf(string, ...any) }, text []byte) {
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if !slices.ContainsFunc(mermaidForms, func(f *regexp.Regexp) bool { return f.MatchString(line) }) {
			t.Errorf("line %d has no known form: %q", i+1, line)
		}
	}
	declared := map[string]bool{"[*]": true}
	for _, match := range mermaidDeclared.FindAllSubmatch(text, -1) {
		if id := string(match[1]); declared[id] {
			t.Errorf("id %q is declared twice", id)
		} else {
			declared[id] = true
		}
	}
	for _, match := range mermaidNamed.FindAllSubmatch(text, -1) {
		for _, id := range match[1:] {
			if len(id) > 0 && !declared[string(id)] {
				t.Errorf("id %q is used and not declared: Mermaid would show it as a name", id)
			}
		}
	}
	for _, note := range strings.SplitAfter(strings.ToLower(string(text)), "note right of ")[1:] {
		body, _, _ := strings.Cut(note, "\n  end note\n")
		if strings.Contains(body, "end note") {
			t.Errorf("a note ends too early: %q", body)
		}
	}
}

// TestMermaidAnyNames draws machines with names, texts and shapes that no one
// would write. `make diagrams-check` keeps the diagrams in a folder that it
// names in FSMGEN_DIAGRAM_SAMPLES, and gives them to the real Mermaid.
func TestMermaidAnyNames(t *testing.T) {
	t.Parallel()
	samples, drawn := os.Getenv("FSMGEN_DIAGRAM_SAMPLES"), 0
	names := rapid.OneOf(
		rapid.SampledFrom([]string{
			"state", "end", "note", "class", "classdef", "direction", "default", "fork", "join", "choice", "as",
			"start", "root", "root_start", "legend", "projection", "constructor", "s_end", "c_end", "end_note", "style",
		}),
		rapid.StringMatching(`[a-z][a-z0-9_]{0,12}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		m := &spec.Machine{
			Entity:    rapid.StringMatching(`[A-Z][a-z]{0,5}`).Draw(t, "entity"),
			Doc:       rapid.String().Draw(t, "doc"),
			Otherwise: spec.OtherwiseReject,
		}
		for i, name := range rapid.SliceOfNDistinct(names, 1, 8, rapid.ID).Draw(t, "states") {
			m.States = append(m.States, &spec.State{
				Index: i, Name: name,
				Terminal: rapid.Bool().Draw(t, "terminal"),
			})
		}
		state := func(label string) spec.StateRef {
			return spec.StateRef{State: rapid.SampledFrom(m.States).Draw(t, label)}
		}
		guard := &spec.Guard{
			Name: names.Draw(t, "guard"),
			When: []*spec.Fact{{Text: "a " + rapid.String().Draw(t, "fact")}},
		}
		m.Guards = []*spec.Guard{guard}
		for i, name := range rapid.SliceOfNDistinct(names, 1, 6, rapid.ID).Draw(t, "operations") {
			o := &spec.Operation{Index: i, Name: name, By: spec.ByCaller}
			for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom(m.States), 1, len(m.States), rapid.ID).Draw(t, "from") {
				o.From = append(o.From, spec.StateRef{State: s})
			}
			if to := state("to"); rapid.Bool().Draw(t, "choose") {
				o.Choose = []*spec.Branch{
					{When: []*spec.Fact{{Text: "a " + rapid.String().Draw(t, "when")}}, Same: true},
					{To: &to},
				}
			} else {
				o.To = &to
			}
			if rapid.Bool().Draw(t, "guarded") {
				o.Require = []*spec.Requirement{{Guard: guard}}
			}
			m.Operations = append(m.Operations, o)
		}
		m.Forbidden = []*spec.Forbidden{{
			From: state("never"), To: state("to"), Reason: rapid.String().Draw(t, "reason"),
		}}
		text, brief := Mermaid(Of(m)), Mermaid(At(m, Brief))
		checkMermaid(t, text)
		checkMermaid(t, brief)
		if diff := cmp.Diff(said(m), read(At(m, Brief))); diff != "" {
			t.Errorf("moves (-machine +brief picture):\n%s", diff)
		}
		if samples != "" {
			drawn++
			name := filepath.Join(samples, strconv.Itoa(drawn)+".mmd")
			flow := filepath.Join(samples, strconv.Itoa(drawn)+"-flow.mmd")
			short := filepath.Join(samples, strconv.Itoa(drawn)+"-brief.mmd")
			if err := errors.Join(os.WriteFile(name, text, 0o600), os.WriteFile(short, brief, 0o600), os.WriteFile(flow, MermaidFlow(Of(m)), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(text, Mermaid(Of(m))) {
			t.Errorf("the same machine gives two texts")
		}
		for _, s := range m.States {
			if want := "  state \"" + s.Name + "\" as s_" + s.Name + "\n"; !bytes.Contains(text, []byte(want)) {
				t.Errorf("no line %q", want)
			}
		}
		for _, o := range m.Operations {
			if !bytes.Contains(text, []byte(o.Name)) && !bytes.Contains(text, []byte(mermaidEscape(o.Name))) {
				t.Errorf("operation %q is not shown", o.Name)
			}
		}
	})
}

func TestMermaidEscape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"a_b is present", "a_b is present"},
		{"x < 5", "x #60; 5"},
		{"a: b; c#d", "a#58; b#59; c#35;d"},
		{`"q" <b> %%`, "#34;q#34; #60;b#62; #37;#37;"},
		{"_a_ b_ *c* `d`", "#8203;#95;a#8203;#95; b#8203;#95; ∗c∗ #96;d#96;"},
		{"the end note; end  Note", "the end#32;note#59; end#32;Note"},
		{"a\nb\t c", "a b c"},
	} {
		got := mermaidEscape(c.in)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("mermaidEscape(%q) (-want +got):\n%s", c.in, diff)
		}
	}
}
