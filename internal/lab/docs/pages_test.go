package docs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/spec"
)

// pageBlock matches a block of a guide: its info string, its body, and the block `text` right behind it, which is
// what the first one prints.
var pageBlock = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?")

// command matches a command in the text.
var command = regexp.MustCompile("`((?:go tool )?fsm(?:gen|ctl) [a-z][^`]*)`")

// TestPages checks each block of the guides by the first word of its info string.
//
//	yaml [FILE]   a specification without findings; FILE is written into the page's folder, its pictures are in docs/img
//	sh            runs in the page's folder, which holds lifecycle.yaml, its next version, jobs.db (see morning)
//	              and broken.db, in which somebody gave job-4 to w9
//	sh service    needs a service that the test does not have: only that its commands and flags exist
//	sql           runs over SQLite and PostgreSQL
//	sql sqlite    runs over SQLite; the block `sql postgres` behind it returns the same rows
//	sql postgres only  runs over PostgreSQL
//	go            stands word for word in snippets_test.go, which compiles it
//	go FILE       stands word for word in FILE, but for what a fixture marks as wrong
//	text error    what the code prints: each part between … : and ; stands in a string of the source
//
// A block `text` behind one that runs is its output (-update writes it). A command in the text must exist, with its
// flags.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatalf("there are %d guides: %v", len(pages), err)
	}
	for _, file := range pages {
		name := filepath.Base(file)
		if name == "tutorial.md" || name == "cookbook.md" || name == "adopt.md" { // TestTutorial, TestCookbook, TestAdopt
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &page{t: t, dir: t.TempDir()}
			p.blocks(name, p.check, strings.Clone)
		})
	}
}

// blocks checks each block of a page, and compares what it prints with the text behind it; mask hides what differs
// from run to run.
func (p *page) blocks(name string, check func(kind, arg, body string) *string, mask func(string) string) {
	t := p.t
	doc := read(t, "docs/"+name)
	now := pageBlock.ReplaceAllStringFunc(doc, func(block string) string {
		m := pageBlock.FindStringSubmatch(block)
		kind, arg, _ := strings.Cut(m[1], " ")
		output, shown := check(kind, arg, m[2]), m[3]
		if !strings.HasSuffix(strings.TrimSuffix(block, shown+"```"), "```text\n") || output == nil || mask(shown) == mask(*output) {
			return block
		}
		if !*update {
			t.Errorf("block %q (go test ./internal/lab/docs -update writes it), -want +got:\n%s%s",
				m[1], m[2], cmp.Diff(mask(*output), mask(shown)))
		}
		return strings.TrimSuffix(block, shown+"```") + *output + "```"
	})
	for _, m := range command.FindAllStringSubmatch(pageBlock.ReplaceAllString(doc, ""), -1) {
		p.known(m[1])
	}
	if *update && now != doc {
		//nolint:gosec // a document is read by everybody
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// marks are the comments of a fixture which say what is found there.
var marks = regexp.MustCompile(`(?m)\s*// (want|mistake) .*$`)

// page is a guide under test.
type page struct {
	t        *testing.T
	dir      string
	shell    sync.Once
	sqlite   *sql.DB
	postgres *sql.DB
	first    string // what the block `sql sqlite` returned
}

// check checks a block and returns what it prints, or nil.
func (p *page) check(kind, arg, body string) *string {
	t := p.t
	switch kind {
	case "yaml":
		m, found := validate.Source("job.yaml", []byte(body))
		if len(found) > 0 {
			t.Errorf("a machine has findings: %v\n%s", found, body)
		}
		if arg != "" {
			p.write(arg, body)
			p.picture(strings.TrimSuffix(arg, ".yaml")+".svg", m, draw.Auto)
			p.picture(strings.TrimSuffix(arg, ".yaml")+"-dark.svg", m, draw.Dark)
		}
	case "sh":
		if arg == "service" {
			p.known(body)
			return nil
		}
		return p.run(body)
	case "sql":
		return p.query(arg, body)
	case "go":
		file := "internal/lab/docs/snippets_test.go"
		if arg != "" {
			file = arg
		}
		if source := undented(marks.ReplaceAllString(read(t, file), "")); !strings.Contains(source, undented(body)) {
			t.Errorf("%s, which compiles, does not hold this block:\n%s", file, body)
		}
	case "text":
		if arg != "error" {
			t.Errorf("a block of text stands behind nothing that prints it; errors are `text error`:\n%s", body)
		}
		for part := range strings.SplitSeq(parts.Replace(strings.Join(strings.Fields(body), " ")), "…") {
			if part = strings.Trim(part, ` "`); len(part) > 3 && !strings.Contains(literals(), part) {
				t.Errorf("no string of the source holds %q", part)
			}
		}
	case "json", "lua", "toml": // settings of an editor
		if !strings.Contains(body, `"tool", "fsmgen", "lsp"`) {
			t.Errorf("the settings do not start the language server:\n%s", body)
		}
		if kind == "json" && !json.Valid([]byte(body)) {
			t.Errorf("no JSON:\n%s", body)
		}
	default:
		t.Errorf("nothing checks a block %q", kind)
	}
	return nil
}

// picture holds a picture of docs/img to its machine.
func (p *page) picture(name string, m *spec.Machine, theme draw.Theme) {
	want := string(draw.SVG(chart.At(m, chart.Brief), theme))
	if *update {
		//nolint:gosec // as above
		if err := os.WriteFile(filepath.Join(root, "docs", "img", name), []byte(want), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	if read(p.t, "docs/img/"+name) != want {
		p.t.Errorf("docs/img/%s is not the picture of its machine (go test ./internal/lab/docs -update writes it)", name)
	}
}

// parts cuts a message where one text may end and another one begin.
var parts = strings.NewReplacer(": ", "…", "; ", "…")

func (p *page) write(name, body string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(body), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// programs builds the commands once and returns their folder.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fsmgen-docs-")
	if err != nil {
		return "", err
	}
	bin = dir
	modules, err := filepath.Glob(filepath.Join(root, "cmd", "*", "go.mod")) // a command that is a module of its own
	if err != nil {
		return "", err
	}
	for _, module := range append(modules, filepath.Join(root, "go.mod")) {
		what := "."
		if filepath.Dir(module) == filepath.Clean(root) {
			what = "./cmd/..."
		}
		build := exec.CommandContext(context.Background(), "go", "build", "-o", dir+string(filepath.Separator), what)
		build.Dir = filepath.Dir(module)
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return dir, nil
})

// bin is the folder of programs, removed at the end.
var bin string

func TestMain(m *testing.M) {
	code := m.Run()
	if bin != "" {
		_ = os.RemoveAll(bin)
	}
	os.Exit(code)
}

// run runs a block of a shell and returns its output.
func (p *page) run(body string) *string {
	t := p.t
	needShell(t)
	p.shell.Do(func() {
		now := read(t, "specs/lifecycle.yaml")
		p.write("lifecycle.yaml", now)
		p.write("lifecycle.next.yaml", strings.NewReplacer(
			"entity: Job\n", "entity: Job\nversion: 2\n",
			"\n  error:", "\n  note: optional string\n  error:",
			"\n  claim_next:\n", "\n  annotate: {from: running, to: same, require: [owner_only], set: {note: input}}\n  claim_next:\n",
		).Replace(now))
		fill(t, filepath.Join(p.dir, "jobs.db"))
		broken := filepath.Join(p.dir, "broken.db")
		fill(t, broken, sqlite.WithEnforce("none"))
		db, err := sql.Open("sqlite", broken)
		if err == nil {
			_, err = db.ExecContext(t.Context(), `UPDATE lifecycle SET owner = 'w9' WHERE id = 'job-4'`)
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	cmd := p.command(body)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: something was found
		t.Errorf("%s\n%v\n%s", body, err, out)
	}
	text := string(out)
	return &text
}

func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
}

// fill makes a file with the morning in it.
func fill(t *testing.T, file string, opts ...sqlite.Option) {
	t.Helper()
	store, err := sqlite.Open(file, opts...)
	if err != nil {
		t.Fatal(err)
	}
	morning(t, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

func (p *page) command(body string) *exec.Cmd {
	dir, err := programs()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", body)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	return cmd
}

// known holds the commands and flags of a block that is not run to the help of our programs.
func (p *page) known(body string) {
	for line := range strings.Lines(body) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "go tool "))
		if len(words) < 2 || words[0] != "fsmgen" && words[0] != "fsmctl" {
			continue
		}
		out, err := p.command(words[0] + " " + words[1] + " --help").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\n  "+words[0]+" "+words[1]+" ") {
			p.t.Errorf("%s: there is no such command: %v\n%s", line, err, out)
		}
		for _, w := range words[2:] {
			if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !strings.Contains(string(out), flag+" ") {
				p.t.Errorf("%s %s has no %s", words[0], words[1], flag)
			}
		}
	}
}

// query runs a query over the morning and returns its rows, which are the same in both databases.
func (p *page) query(dialect, body string) *string {
	t := p.t
	text := p.first
	if dialect != "postgres" && dialect != "postgres only" {
		if p.sqlite == nil {
			file := filepath.Join(t.TempDir(), "jobs.db")
			fill(t, file)
			var err error
			if p.sqlite, err = sql.Open("sqlite", file); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.sqlite.Close() })
		}
		text = rows(t, p.sqlite, body)
	}
	if dialect != "sqlite" {
		if p.postgres == nil {
			dsn := pgtest.DSN(t)
			store, err := postgres.Open(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			morning(t, store)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if p.postgres, err = sql.Open("pgx", dsn); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.postgres.Close() })
		}
		server := rows(t, p.postgres, body)
		if dialect == "postgres only" {
			return nil
		}
		if server != text {
			t.Errorf("SQLite and PostgreSQL differ, -sqlite +postgres:\n%s%s", body, cmp.Diff(text, server))
		}
	}
	p.first = text
	return &text
}

// rows runs a query and returns its rows as aligned columns.
func rows(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s\n%v", query, err)
	}
	defer found.Close()
	head, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	table := [][]string{head}
	for found.Next() {
		values, to := make([]any, len(head)), make([]any, len(head))
		for i := range values {
			to[i] = &values[i]
		}
		if err := found.Scan(to...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(head))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
			case time.Time:
				row[i] = v.UTC().Format(time.DateTime)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		table = append(table, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, row := range table {
		var line strings.Builder
		for i, cell := range row {
			width := 0
			for _, other := range table {
				width = max(width, len(other[i]))
			}
			fmt.Fprintf(&line, "%-*s  ", width, cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// literals returns every string of the Go source outside tests.
var literals = sync.OnceValue(func() string {
	var b strings.Builder
	for _, dir := range []string{"cmd", "gen", "internal", "runtime", "spec"} {
		_ = filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil {
						b.WriteString(s + "\n")
					}
				}
				return true
			})
			return nil
		})
	}
	return b.String()
})

// undented returns a text without the blanks at the ends of its lines.
func undented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
