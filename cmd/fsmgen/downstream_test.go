package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/internal/lab/outside"
)

// TestDownstream is a stranger's project: a module of its own that names fsmgen as a
// tool, generates its machine by `go generate` and another one from what `fsmgen init`
// writes, and passes the generated tests (make test vets those of examples/downstream).
// The generated package must depend on the standard library and our runtime alone.
func TestDownstream(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	t.Parallel()
	p := project{Module: outside.Empty(t), t: t}
	p.copy("testdata/downstream/parcel.yaml", "parcel.yaml")
	p.copy("testdata/downstream/shop.go", "shop.go")

	p.run("go", "mod", "init", "example.com/shop")
	p.Sums()
	p.run("go", "mod", "edit", "-replace", "github.com/fsmgen/fsmgen="+outside.Root(t), "-require", "github.com/fsmgen/fsmgen@v0.0.0", "-tool", "github.com/fsmgen/fsmgen/cmd/fsmgen")
	p.Tidy()
	p.run("go", "generate", "./...")
	p.run("go", "tool", "fsmgen", "init", "work_item")
	p.run("go", "tool", "fsmgen", "gen", "work_item.yaml")
	p.copy("testdata/downstream/shop_test.go", "shop_test.go")
	p.Tidy() // shop_test.go uses a store
	tests := p.run("go", "test", "-vet=off", "./...")
	for _, pkg := range []string{"example.com/shop", "example.com/shop/parcel", "example.com/shop/work_item"} {
		if !strings.Contains(tests, "ok  \t"+pkg+"\t") {
			t.Errorf("the tests of %s did not run:\n%s", pkg, tests)
		}
	}
	p.run("go", "tool", "fsmgen", "gen", "--check", "parcel.yaml")

	deps := strings.Fields(p.run("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./parcel"))
	ours := false
	for _, d := range deps {
		switch {
		case d == "example.com/shop/parcel":
		case d == "github.com/fsmgen/fsmgen/runtime", strings.HasPrefix(d, "github.com/fsmgen/fsmgen/runtime/"):
			ours = true
		default:
			t.Errorf("the generated package depends on %s; it may use the standard library and the runtime only", d)
		}
	}
	if !ours {
		t.Errorf("the generated package does not use the runtime; its dependencies are %q", deps)
	}
}

// shellBlock finds the shell blocks of a Markdown text.
var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestTemplate copies examples/downstream out of the repository and runs there
// what its README, its workflow and its pre-commit hooks run; then it breaks the
// machine, and each of them must notice.
func TestTemplate(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	t.Parallel()
	root, readme := fromRoot(t, "examples/downstream/README.md")
	p := project{Module: outside.Empty(t), t: t}
	if err := os.CopyFS(p.Dir, os.DirFS(filepath.Join(root, "examples", "downstream"))); err != nil {
		t.Fatal(err)
	}
	p.run("go", "mod", "edit", "-replace", "github.com/fsmgen/fsmgen="+root)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a job"},
		{"update-ref", "refs/remotes/origin/main", "HEAD"},
	} {
		p.run("git", args...)
	}
	for _, block := range shellBlock.FindAllStringSubmatch(readme, -1) {
		p.run("bash", "-euc", block[1])
	}
	steps, hooks := p.workflow(), p.hooks()
	for _, c := range append(steps, hooks...) {
		p.run("bash", "-euc", c)
	}
	if out := p.run("git", "status", "--porcelain"); out != "" {
		t.Errorf("the template is not up to date, its commands changed:\n%s", out)
	}
	p.settings(readme)

	machine := filepath.Join(p.Dir, "job.yaml")
	text, err := os.ReadFile(machine)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), "  fail:\n", "  give_up:\n", 1)
	if err := os.WriteFile(machine, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want string }{
		{steps[1], "not up to date"}, {hooks[1], "not up to date"}, {steps[2], "::error"},
	} {
		out, err := p.command("bash", "-euc", c.command).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s after an operation was renamed: %v, want %q in\n%s", c.command, err, c.want, out)
		}
	}
}

// workflow returns the commands of the GitHub Actions workflow, in order.
func (p project) workflow() []string {
	p.t.Helper()
	var w struct {
		On   map[string]any
		Jobs map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []struct {
				Name, If, Uses, Run string
				With                map[string]any
			}
		}
	}
	p.yaml(".github/workflows/fsmgen.yml", &w)
	var commands []string
	for _, job := range w.Jobs {
		for _, s := range job.Steps {
			if (s.Run == "") == (s.Uses == "") || job.RunsOn == "" {
				p.t.Errorf("a step has to run or to use something: %+v", s)
			}
			if s.Run != "" {
				commands = append(commands, s.Run)
			}
		}
	}
	if len(commands) != 4 || len(w.On) != 2 {
		p.t.Fatalf("the workflow runs %q on %v", commands, w.On)
	}
	return commands
}

// hooks returns what pre-commit would run when every file had changed.
func (p project) hooks() []string {
	p.t.Helper()
	var c struct {
		Repos []struct {
			Repo  string
			Hooks []struct {
				ID, Name, Entry, Language, Files string
				PassFilenames                    *bool `yaml:"pass_filenames"`
			}
		}
	}
	p.yaml(".pre-commit-config.yaml", &c)
	files := strings.Fields(p.run("git", "ls-files"))
	var commands []string
	for _, r := range c.Repos {
		for _, h := range r.Hooks {
			match := regexp.MustCompile(h.Files)
			hit := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !match.MatchString(f) })
			if len(hit) == 0 || h.ID == "" || h.Name == "" || h.Language != "system" || r.Repo != "local" {
				p.t.Errorf("the hook %+v would run for %q", h, hit)
			}
			if h.PassFilenames == nil || *h.PassFilenames {
				h.Entry += " " + strings.Join(hit, " ")
			}
			commands = append(commands, h.Entry)
		}
	}
	if len(commands) != 2 {
		p.t.Fatalf("pre-commit runs %q", commands)
	}
	return commands
}

// settings looks at what the editors are told: the schema is the one that fsmgen
// prints, and the files that it is for are there.
func (p project) settings(readme string) {
	p.t.Helper()
	schema, err := os.ReadFile(filepath.Join(p.Dir, "fsmgen.schema.json"))
	if err != nil || string(schema) != p.run("go", "tool", "fsmgen", "schema") {
		p.t.Errorf("fsmgen.schema.json is not what fsmgen prints: %v", err)
	}
	_, text, _ := strings.Cut(readme, "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var vscode struct {
		Schemas map[string][]string `json:"yaml.schemas"`
	}
	if err := json.Unmarshal([]byte(text), &vscode); err != nil {
		p.t.Fatal(err)
	}
	globs := vscode.Schemas["./fsmgen.schema.json"]
	if !slices.Contains(globs, "job.yaml") {
		p.t.Errorf("VS Code is told the schema for %q", globs)
	}
	quoted := "\"" + strings.Join(globs, "\", \"") + "\""
	if !strings.Contains(readme, "[\"./fsmgen.schema.json\"] = {"+quoted+"}") {
		p.t.Errorf("Neovim is not told the same files as VS Code: %s", quoted)
	}
	first, err := os.ReadFile(filepath.Join(p.Dir, "job.yaml"))
	if err != nil || !strings.HasPrefix(string(first), "# yaml-language-server: $schema=fsmgen.schema.json\n") {
		p.t.Errorf("job.yaml does not name the schema: %v", err)
	}
}

// yaml reads a file of the project into v; a key that v has not is an error for
// nobody.
func (p project) yaml(name string, v any) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err == nil {
		err = yaml.Unmarshal(data, v)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
}

// fromRoot returns the root of the repository and a file in it.
func fromRoot(t *testing.T, name string) (root, text string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return root, string(data)
}

// project is a folder with a Go module.
type project struct {
	outside.Module
	t *testing.T
}

func (p project) copy(from, name string) {
	p.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		p.t.Fatal(err)
	}
	p.Write(name, data)
}

func (p project) command(name string, args ...string) *exec.Cmd {
	cmd := p.Command(name, args...)
	// What is generated here is compiled to be thrown away.
	cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod '-gcflags=example.com/...=-N -l -dwarf=false' '-ldflags=-s -w'")
	return cmd
}

// run runs a command in the project and returns what it prints.
func (p project) run(name string, args ...string) string {
	p.t.Helper()
	out, err := p.command(name, args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", strings.Join(append([]string{name}, args...), " "), err, out)
	}
	return string(out)
}
