package mdpage_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/mdpage"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write specs/docs anew")

// TestPages holds the committed pages of the machines to what is written, and
// each page to all that its machine has.
func TestPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(filepath.Base(file), src)
		if found.HasErrors() {
			t.Fatal(found)
		}
		got, err := mdpage.Markdown(m)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("..", "..", "specs", "docs", m.Name+".md")
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got); go test ./internal/mdpage -update writes it:\n%s", golden, diff)
		}
		complete(t, m, string(got))
	}
}

// complete looks for everything that the machine has.
func complete(t *testing.T, m *spec.Machine, text string) {
	t.Helper()
	var must []string
	for _, s := range m.States {
		must = append(must, "| `"+s.Name+"` |")
	}
	for _, o := range m.Operations {
		must = append(must, "\n### "+o.Name+"\n", `{"operation": "`+o.Stored()+`"`, "| **"+o.Name+"**")
		for _, r := range o.Require {
			must = append(must, "`"+r.Guard.Name+"`")
		}
	}
	for _, f := range m.Fields {
		must = append(must, "| `"+f.Name+"` |", `"`+f.Stored()+`" `)
	}
	for _, g := range m.Guards {
		must = append(must, "| `"+g.Error+"` |")
	}
	must = append(must, "stateDiagram-v2", `CREATE TABLE IF NOT EXISTS "`+m.Name+`" (`)
	for _, want := range must {
		if !strings.Contains(text, want) {
			t.Errorf("the page of %s lacks %q", m.Name, want)
		}
	}
	_, block, _ := strings.Cut(text, "```json\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s: no JSON: %s", m.Name, line)
		}
	}
	for line := range strings.Lines(text) { // a row of a table has as many cells as its head
		if strings.HasPrefix(line, "| `") && strings.Contains(text, "| state | kind |") {
			if n := len(regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1)); n < 4 {
				t.Errorf("%s: a row of %d cells: %s", m.Name, n, line)
			}
		}
	}
}

// TestWordsOfTheSpecification keeps what people wrote from becoming markup.
func TestWordsOfTheSpecification(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("a.yaml", []byte("fsm: 1\nmachine: a\nentity: A\ndoc: 'a <script> | *b* `c` [d](e)'\notherwise: reject\nstates:\n  open: {doc: 'x | y'}\n  shut: {terminal: true}\noperations:\n  make: {creates: open, doc: '~~~ &lt; \\'}\n  close: {doc: '# no', from: open, to: shut}\n"))
	if found.HasErrors() {
		t.Fatal(found)
	}
	got, err := mdpage.Markdown(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;script> \\| \\*b\\* \\`c\\` \\[d](e)", `| x \| y |`, "\n\\~\\~\\~ &amp;lt; \\\\\n", "\n\\# no\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the page lacks %s:\n%s", want, got)
		}
	}
}

// TestBorders looks for the effects of states and groups, with a store and without.
func TestBorders(t *testing.T) {
	t.Parallel()
	const text = "fsm: 1\nmachine: a\nentity: A\notherwise: reject\nstates:\n  open: {enter: {name: light, key: [id]}}\n  shut: {terminal: true}\n" +
		"state_groups:\n  live: {except: [shut], exit: {name: lock}}\noperations:\n  make: {creates: open}\n  close: {from: open, to: shut}\n"
	for _, c := range []struct{ src, want string }{
		{text, "- leaving `live` (`open`): `lock`, at least once, after the commit; its key is machine, id, revision and name\n" +
			"- entering `open`: `light`, at least once, after the commit; its key is `id`\n"},
		{strings.Replace(strings.Replace(text, "entity: A", "entity: A\nlayers: [pure]", 1), ", key: [id]", "", 1),
			"- leaving `live` (`open`): `lock`\n- entering `open`: `light`\n"},
	} {
		m, found := spec.Parse("a.yaml", []byte(c.src))
		if found.HasErrors() {
			t.Fatal(found)
		}
		got, err := mdpage.Markdown(m)
		if err != nil {
			t.Fatal(err)
		}
		if want := "Effects of entering and leaving:\n\n" + c.want; !strings.Contains(string(got), want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}

// TestGivesUp looks for how effects give up.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	const file = "../../gen/testdata/scenarios/givesup.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, found := spec.Parse(file, src)
	if found.HasErrors() {
		t.Fatal(found)
	}
	got, err := mdpage.Markdown(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"its key is `id`, `tries`; then `charged`; given up after 3 tries: `declined`",
		"; then `noted`; tried once, then given up: `noted`", "its key is `id`; given up: `unheard`",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
}
