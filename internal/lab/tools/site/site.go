package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	renderer "github.com/yuin/goldmark/renderer/html"
)

// repository is where links to files lead that are no pages.
const repository = "https://github.com/fsmgen/fsmgen/"

// playground is the folder of the playground's page, which build.sh puts beside the
// documents, and playgroundGuide is the document about it: the start page opens the page itself.
const (
	playground      = "internal/playground/page"
	playgroundGuide = "docs/playground.md"
)

// findings is the document that is a page for each finding here.
const findings = "internal/validate/RULES.md"

var (
	//go:embed page.html
	layout string
	//go:embed site.css
	style []byte
	//go:embed search.js
	script []byte

	pageTemplate = template.Must(template.New("page").Parse(layout))
)

// site is what is written. Paths have slashes and begin at the root of the repository
// for sources, and at that of the site for what is written.
type site struct {
	root  string
	pages map[string]*page  // by source
	files map[string][]byte // pictures, by path
	wrong []error           // links that lead nowhere
}

// page is one document.
type page struct {
	source string // the Markdown file
	path   string // the page
	title  string
	body   string // HTML
	ids    map[string]bool
}

// read reads and renders all documents.
func read(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}, files: map[string][]byte{"site.css": style, "search.js": script}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (base[0] == '.' || base == "testdata" || base == "node_modules" || base == "public") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		source, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return s.document(filepath.ToSlash(source), text)
	})
	return s, err
}

// document adds one Markdown file.
func (s *site) document(source string, text []byte) error {
	if source == findings {
		return s.findings(text)
	}
	if dir, name := path.Split(source); dir == "specs/docs/" {
		return s.machine(source, strings.TrimSuffix(name, ".md"), text)
	}
	return s.add(source, target(source), text)
}

// target returns the page of a document. That of a folder is its index.
func target(source string) string {
	dir, name := path.Split(source)
	if name == "README.md" {
		return dir + "index.html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

// findings makes a page of each finding, and one of the list.
func (s *site) findings(text []byte) error {
	list, rest, found := bytes.Cut(text, []byte("\n## FSM"))
	_, notes, also := bytes.Cut(rest, []byte("\n## How far the proof goes\n"))
	if !found || !also {
		return fmt.Errorf("%s: expected the findings and the chapter on the proof", findings)
	}
	for _, r := range validate.Rules {
		doc := fmt.Sprintf("# %s: %s\n\n`fsmgen explain %s` prints this page. [All findings](RULES.md)\n\n%s", r.Code, r.Name, r.Code, r.Markdown())
		if err := s.add(path.Dir(findings)+"/"+r.Code+".md", "findings/"+strings.ToLower(r.Code)+".html", []byte(doc)); err != nil {
			return err
		}
	}
	return s.add(findings, "findings/index.html", slices.Concat(list, []byte("\n## How far the proof goes\n"), notes))
}

var mermaid = regexp.MustCompile("(?ms)^```mermaid$.*?^```$")

// machine adds the page of a shipped machine, with its picture as SVG.
func (s *site) machine(source, name string, text []byte) error {
	file := "specs/" + name + ".yaml"
	src, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	m, found := validate.Source(file, src)
	if m == nil {
		return fmt.Errorf("%s: %v", file, found)
	}
	if !mermaid.Match(text) {
		return fmt.Errorf("%s: expected a picture", source)
	}
	s.files["specs/docs/"+name+".svg"] = draw.SVG(chart.At(m, chart.Brief), draw.Auto)
	picture := fmt.Sprintf("<p><img src=\"%s.svg\" alt=\"states and operations of the machine %s\"></p>", name, name)
	return s.add(source, target(source), mermaid.ReplaceAllLiteral(text, []byte(picture)))
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithUnsafe()), // the documents are ours
)

var (
	heading = regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
	id      = regexp.MustCompile(` (?:id|name)="([^"]*)"`)
)

func (s *site) add(source, target string, text []byte) error {
	var b bytes.Buffer
	if err := markdown.Convert(text, &b, parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{used: map[string]int{}})))); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	p := &page{source: source, path: target, body: b.String(), ids: map[string]bool{}}
	title := heading.FindStringSubmatch(p.body)
	if title == nil {
		return nil // a note that other documents include; links lead to the repository
	}
	p.title = html.UnescapeString(tag.ReplaceAllString(title[1], ""))
	for _, m := range id.FindAllStringSubmatch(p.body, -1) {
		p.ids[html.UnescapeString(m[1])] = true
	}
	// What is too wide scrolls by itself, by keys too.
	p.body = strings.NewReplacer("<table>", `<div class="wide" tabindex="0"><table>`, "</table>", "</table></div>",
		"<pre>", `<pre tabindex="0">`).Replace(p.body)
	p.body = unnamed.ReplaceAllString(p.body, "<td></td>")
	s.pages[source] = p
	return nil
}

// unnamed is the head of a column without one, which is no head for a screen reader.
var unnamed = regexp.MustCompile(`<th[^>]*></th>`)

// anchors gives headings the ids that the repository's host gives them.
type anchors struct{ used map[string]int }

var dropped = regexp.MustCompile(`[^\pL\pN _-]`)

func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	text := strings.NewReplacer("`", "", "*", "").Replace(string(value))
	text = linked.ReplaceAllString(text, "$1")
	name := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
	n := a.used[name]
	a.used[name]++
	if n > 0 {
		return fmt.Appendf(nil, "%s-%d", name, n)
	}
	return []byte(name)
}

func (a *anchors) Put([]byte) {}

var linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

var (
	attribute = regexp.MustCompile(` (href|src|srcset)="([^"]*)"`)
	absolute  = regexp.MustCompile(`^[a-z]+:`)
)

// link turns each link of a document into one of the site.
func (s *site) link() error {
	for _, source := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[source]
		p.body = attribute.ReplaceAllStringFunc(p.body, func(text string) string {
			m := attribute.FindStringSubmatch(text)
			to, err := s.resolve(p, html.UnescapeString(m[2]), m[1] != "href")
			if err != nil {
				s.wrong = append(s.wrong, fmt.Errorf("%s: %s: %w", p.source, m[2], err))
			}
			return fmt.Sprintf(" %s=%q", m[1], html.EscapeString(to))
		})
	}
	return errors.Join(s.wrong...)
}

// resolve returns where a link of a page leads on the site.
func (s *site) resolve(p *page, to string, picture bool) (string, error) {
	if absolute.MatchString(to) {
		return to, nil
	}
	name, fragment, _ := strings.Cut(to, "#")
	source := p.source
	if name != "" {
		source = path.Join(path.Dir(p.source), name)
	}
	if strings.HasPrefix(source, "..") {
		return "", errors.New("leads out of the repository")
	}
	if source == findings && strings.HasPrefix(fragment, "fsm") {
		source, fragment = path.Dir(findings)+"/"+strings.ToUpper(fragment)+".md", ""
	}
	if source == playground || p.source == "README.md" && source == playgroundGuide && fragment == "" {
		return relative(p.path, "playground/index.html"), nil
	}
	if s.pages[source] == nil && s.pages[path.Join(source, "README.md")] != nil {
		source = path.Join(source, "README.md")
	}
	if next := s.pages[source]; next != nil {
		if fragment == "" {
			return relative(p.path, next.path), nil
		}
		if !next.ids[fragment] {
			return "", fmt.Errorf("%s has no heading #%s", source, fragment)
		}
		if next == p {
			return "#" + fragment, nil
		}
		return relative(p.path, next.path) + "#" + fragment, nil
	}
	if picture {
		if s.files[source] == nil {
			data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(source)))
			if err != nil {
				return "", errors.New("there is no such picture")
			}
			s.files[source] = data
		}
		return relative(p.path, source), nil
	}
	info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(source)))
	if err != nil {
		return "", errors.New("there is no such file")
	}
	kind := "blob"
	if info.IsDir() {
		kind = "tree"
	}
	if fragment != "" {
		source += "#" + fragment
	}
	return repository + kind + "/main/" + source, nil
}

// relative returns the link from one page to another.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// group is a part of the list of pages beside each page.
type group struct {
	Title string
	Items []item
}

type item struct{ Title, Source string }

// contents are the pages beside each page. Others are found by links and by the search.
var contents = []group{
	{"Learn", []item{{"fsmgen", "README.md"}, {"Playground", playgroundGuide}, {"Tutorial", "docs/tutorial.md"}, {"The language", "spec/GUIDE.md"},
		{"Concepts", "docs/concepts.md"}, {"Cookbook", "docs/cookbook.md"}, {"Adopt", "docs/adopt.md"},
		{"Examples", "examples/README.md"}, {"Compare", "docs/compare.md"}, {"Questions", "docs/faq.md"}}},
	{"Run", []item{{"Operate", "docs/operate.md"}, {"Queries", "docs/queries.md"}, {"Troubleshooting", "docs/troubleshooting.md"}}},
	{"Look up", []item{{"Commands and packages", "docs/reference.md"}, {"Stores", "docs/stores.md"}, {"Settings", "docs/settings.md"},
		{"fsmvet", "docs/fsmvet.md"},
		{"Keys of the language", "spec/SPEC.md"},
		{"Fine print", "spec/FINEPRINT.md"}, {"Findings", findings},
		{"What is stored", "CONTRACT.md"}, {"All guides", "docs/README.md"}}},
	{"Evidence", []item{{"How it is tested", "docs/evidence.md"}, {"Benchmarks", "BENCHMARKS.md"}, {"Scaling", "SCALING.md"}}},
	{"Project", []item{{"Changes", "CHANGELOG.md"}, {"Contributing", "CONTRIBUTING.md"}, {"Architecture", "ARCHITECTURE.md"},
		{"Decisions", "docs/decisions/README.md"}, {"Security", "SECURITY.md"}}},
}

// entry is an item as a page shows it.
type entry struct {
	Title, Link string
	Here        bool
}

// write writes all pages and files.
func (s *site) write(out string) error {
	if list, err := os.ReadDir(out); err == nil && len(list) > 0 {
		return fmt.Errorf("%s is not empty", out)
	}
	for _, p := range s.pages {
		type shownGroup struct {
			Title string
			Items []entry
		}
		var beside []shownGroup
		for _, g := range contents {
			shown := shownGroup{Title: g.Title}
			for _, i := range g.Items {
				to := s.pages[i.Source]
				if to == nil {
					return fmt.Errorf("there is no document %s for the contents", i.Source)
				}
				shown.Items = append(shown.Items, entry{i.Title, relative(p.path, to.path), to == p})
			}
			beside = append(beside, shown)
		}
		var b bytes.Buffer
		if err := pageTemplate.Execute(&b, map[string]any{
			"Title": p.title, "Root": relative(p.path, ""), "Contents": beside, "Body": template.HTML(p.body), "Home": p.path == "index.html",
		}); err != nil {
			return err
		}
		if s.files[p.path] != nil {
			return fmt.Errorf("%s is written twice", p.path)
		}
		s.files[p.path] = b.Bytes()
	}
	for name, data := range s.files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
