package docs

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// settingRooms are the packages with settings, by what the settings return, and who gives them.
var settingRooms = []struct{ dir, of, title string }{
	{"runtime", "Option", "A machine: `Open(ctx, store, …, fsm.With…)`"},
	{"runtime/sqlite", "Option", "SQLite: `sqlite.Open(path, sqlite.With…)`"},
	{"runtime/postgres", "Option", "PostgreSQL: `postgres.Open(ctx, dsn, postgres.With…)`"},
	{"runtime/etcdstore", "Option", "etcd: `etcdstore.Open(ctx, config, etcdstore.With…)`"},
	{"runtime/fsmotel", "Option", "OpenTelemetry: `fsmotel.New(fsmotel.With…)`"},
	{"runtime/sqlstore", "Option", "Another driver: `sqlstore.New(db, dialect, sqlstore.With…)`"},
	{"runtime/sqlstore", "PostgresOption", "Another driver of PostgreSQL: `sqlstore.Postgres(sqlstore.With…)`"},
	{"runtime/storetest", "Option", "Who writes a store: `storetest.Run(t, open, storetest.With…)`"},
}

// TestSettings holds docs/settings.md to the settings of all packages.
func TestSettings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Settings\n\nEvery setting of every package, from the comments of the code. " +
		"What they are for stands in [Stores](stores.md).\n")
	told := map[string]bool{}
	for _, room := range settingRooms {
		fmt.Fprintf(&b, "\n## %s\n\n| setting | |\n|---|---|\n", room.title)
		for _, s := range settings(t, room.dir) {
			if s.of == room.of {
				told[room.dir+" "+s.call] = true
				fmt.Fprintf(&b, "| `%s` | %s |\n", s.call, s.text)
			}
		}
	}
	for _, dir := range folders(t, root+"/runtime") {
		for _, s := range settings(t, dir) {
			if !told[dir+" "+s.call] {
				t.Errorf("%s.%s returns %s: settingRooms has no place for it", dir, s.call, s.of)
			}
		}
	}
	const page = root + "/docs/settings.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(page)
	if err != nil || string(have) != b.String() {
		t.Errorf("docs/settings.md is not what the code says (%v): go test ./internal/lab/docs -update", err)
	}
}

// TestSettingsAreNamed holds a document or an example to each setting: one that nobody shows when
// to use is not needed. docs/settings.md, which lists all, does not count.
func TestSettingsAreNamed(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		switch {
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || name == "docs/decisions" || name == "docs/evidence" || name == "internal"):
			return filepath.SkipDir
		case d.IsDir() || name == "docs/settings.md" || name == "CHANGELOG.md":
			return nil
		case strings.HasSuffix(name, ".md") || strings.HasPrefix(name, "examples/") && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_fsm_test.go"):
			text, err := os.ReadFile(path)
			told.Write(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, dir := range folders(t, root+"/runtime") {
		for _, s := range settings(t, dir) {
			pkg := filepath.Base(dir)
			if dir == "runtime" {
				pkg = "fsm"
			}
			name, _, _ := strings.Cut(s.call, "(")
			if count++; !strings.Contains(told.String(), pkg+"."+name+"(") {
				t.Errorf("no document and no example has %s.%s: say in docs/stores.md who needs it, or delete it", pkg, name)
			}
		}
	}
	if count < 30 {
		t.Errorf("there are %d settings", count)
	}
}

type setting struct{ call, text, of string }

// settings lists the exported functions of a package whose names begin with With.
func settings(t *testing.T, dir string) (list []setting) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "With") || f.Type.Results == nil {
				continue
			}
			text := strings.Join(strings.Fields(new(doc.Package).Synopsis(f.Doc.Text())), " ")
			if text == "" {
				t.Errorf("%s: %s has no comment", name, f.Name.Name)
			}
			var params []string
			for _, p := range f.Type.Params.List {
				for _, n := range p.Names {
					params = append(params, n.Name)
				}
			}
			text = strings.TrimPrefix(text, f.Name.Name+" ")
			list = append(list, setting{
				call: f.Name.Name + "(" + strings.Join(params, ", ") + ")",
				text: strings.ReplaceAll(text, "|", `\|`),
				of:   types.ExprString(f.Type.Results.List[0].Type),
			})
		}
	}
	slices.SortFunc(list, func(a, b setting) int { return strings.Compare(a.call, b.call) })
	return list
}

// folders lists the folders of packages below one, itself among them, by their paths in the repository.
func folders(t *testing.T, from string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && !strings.Contains(path+"/", "/internal/") {
			list = append(list, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
