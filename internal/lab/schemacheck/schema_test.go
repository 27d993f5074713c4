package schemacheck

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/spec"
)

// compile compiles a schema, which checks it against the schema of schemas.
func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const url = "https://schema.invalid/schema.json"
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value is what an editor that follows YAML 1.2 makes of a node.
func value(t *testing.T, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.DocumentNode:
		return value(t, n.Content[0])
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = value(t, n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, value(t, c))
		}
		return out
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return i
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	}
	return n.Value
}

func tree(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return &n
}

var marker = regexp.MustCompile(`«FSM[0-9]{3}»`)

// texts returns every specification of the repository, also those inside of
// archives and of the language reference, by a name.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(path)
		if ext != ".yaml" && ext != ".txtar" && ext != ".txt" && ext != ".md" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch ext {
		case ".yaml":
			all[path] = string(b)
		case ".md":
			for i, part := range strings.Split(string(b), "```yaml\n") {
				if text, _, ok := strings.Cut(part, "\n```"); ok && i > 0 {
					all[fmt.Sprintf("%s#%d", path, i)] = text + "\n"
				}
			}
		default:
			for _, f := range txtar.Parse(b).Files {
				if filepath.Ext(f.Name) == ".yaml" {
					all[path+"/"+f.Name] = marker.ReplaceAllString(string(f.Data), "")
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// structural are the findings that the schema must have, too.
var structural = []string{"FSM001", "FSM002", "FSM022"}

// judge parses a text: is it a specification, and if not, does the schema have
// to refuse it?
func judge(text string) (valid, refused bool, found spec.Diagnostics) {
	m, found := spec.Parse("a.yaml", []byte(text))
	refused = len(found) > 0
	for _, d := range found {
		refused = refused && slices.Contains(structural, d.Code)
	}
	if m != nil && slices.ContainsFunc(m.Allow, func(a *spec.Allow) bool { return !code.MatchString(a.Code) }) {
		return false, true, found // the checker's FSM027; an editor hears it from the schema
	}
	return m != nil, refused, found
}

var code = regexp.MustCompile(`^FSM[0-9]{3}$`)

// undecided are cases whose only findings are structural but which a schema
// cannot tell, by a reason.
var undecided = map[string]string{}

func TestSpecificationsOfTheRepository(t *testing.T) {
	t.Parallel()
	schema := compile(t, spec.Schema())
	accepted, refused := 0, 0
	for name, text := range texts(t) {
		valid, must, found := judge(text)
		if !valid && !must {
			continue
		}
		err := schema.Validate(value(t, tree(t, text)))
		switch {
		case valid && err != nil:
			t.Errorf("%s parses, but the schema refuses it: %v", name, err)
		case must && err == nil && undecided[name] == "":
			t.Errorf("%s: the schema accepts it, but it has\n%v", name, found)
		case valid:
			accepted++
		default:
			refused++
		}
	}
	t.Logf("%d specifications accepted, %d refused", accepted, refused)
	if accepted < 150 || refused < 15 {
		t.Errorf("%d accepted and %d refused: specifications are missing", accepted, refused)
	}
}

// TestDamagedSpecifications changes each node of each specification in turn:
// an unknown key, another kind, no node at all. Where the parser says that the
// form is wrong the schema refuses, and where it says nothing the schema accepts.
// FSMGEN_SCHEMA_FULL=1 takes all of them.
func TestDamagedSpecifications(t *testing.T) {
	t.Parallel()
	sample := 60 // many of the small ones are alike
	if os.Getenv("FSMGEN_SCHEMA_FULL") != "" {
		sample = 1
	}
	schema := compile(t, spec.Schema())
	accepted, refused := 0, 0
	all := texts(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		text := all[name]
		if valid, _, _ := judge(text); !valid || len(text) > 5000 || i%sample > 0 && !strings.HasPrefix(name, "../../../gen/") {
			continue
		}
		for _, damaged := range damage(t, text) {
			valid, must, found := judge(damaged)
			if !valid && !must {
				continue
			}
			err := schema.Validate(value(t, tree(t, damaged)))
			switch {
			case valid && err != nil:
				t.Fatalf("%s, damaged, parses, but the schema refuses it: %v\n%s", name, err, damaged)
			case must && err == nil:
				t.Fatalf("%s, damaged: the schema accepts it, but it has\n%v\n%s", name, found, damaged)
			case valid:
				accepted++
			default:
				refused++
			}
		}
	}
	t.Logf("%d damaged specifications accepted, %d refused", accepted, refused)
	if accepted < 500 || refused < 5000 {
		t.Errorf("%d accepted and %d refused: the damage is too small", accepted, refused)
	}
}

// damage returns the text with one node changed, for each node and each way.
func damage(t *testing.T, text string) []string {
	t.Helper()
	doc := tree(t, text)
	var out []string
	put := func(n *yaml.Node, with yaml.Node) {
		old := *n
		*n = with
		b, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
		*n = old
	}
	word := yaml.Node{Kind: yaml.ScalarNode, Value: "odd"}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		same := *n
		put(n, yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&same}})
		put(n, yaml.Node{Kind: yaml.SequenceNode})
		put(n, yaml.Node{Kind: yaml.MappingNode})
		put(n, yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&word, &same}})
		put(n, yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: ""})
		put(n, word)
		put(n, yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "7"})
		put(n, yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
		switch n.Kind {
		case yaml.MappingNode:
			extra := yaml.Node{Kind: yaml.ScalarNode, Value: "zzzz"}
			put(n, yaml.Node{Kind: yaml.MappingNode, Style: n.Style, Content: append(slices.Clone(n.Content), &extra, &word)})
			for i := 0; i+1 < len(n.Content); i += 2 {
				put(n, yaml.Node{Kind: yaml.MappingNode, Style: n.Style, Content: slices.Delete(slices.Clone(n.Content), i, i+2)})
				walk(n.Content[i+1])
			}
		case yaml.SequenceNode:
			for i := range n.Content {
				put(n, yaml.Node{Kind: yaml.SequenceNode, Style: n.Style, Content: slices.Delete(slices.Clone(n.Content), i, i+1)})
				walk(n.Content[i])
			}
		}
	}
	walk(doc.Content[0])
	return out
}
