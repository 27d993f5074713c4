package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets/console.css assets/console.js assets/picture.css assets/icon.svg
var assetFiles embed.FS

// asset is a file of the console.
type asset struct{ name, kind string }

var assets = []asset{
	{"console.css", "text/css; charset=utf-8"}, {"picture.css", "text/css; charset=utf-8"}, {"console.js", "text/javascript; charset=utf-8"},
	{"icon.svg", "image/svg+xml"},
}

func (a asset) serve(w http.ResponseWriter, _ *http.Request) {
	text, err := assetFiles.ReadFile("assets/" + a.name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	_, _ = w.Write(text) // a browser that went away is no error of ours
}

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"stamp": stamp, "length": length, "bounded": bounded, "group": func(n int) string { return group(int64(n)) },
	"iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
}).ParseFS(pageFiles, "pages/*.html"))

// frame is what each page has around what it shows.
type frame struct {
	Title   string
	Root    string // from the page to the root of the console
	Viewer  string
	Place   Place
	Machine string // empty: the page is about none
	Outbox  bool
	Owners  bool
	Audit   bool
	Runs    bool
	Again   bool   // the page loads itself again after a short while
	Here    string // the page's name
	Now     time.Time
	Mark    string // of the end of the log, where the page is told when that changes
	Quiet   bool   // the page is only told: it shows a part of the past, or costs much
	Body    any
}

// show writes a page.
func (q *request) show(name, title string, body any) error {
	return q.answer(http.StatusOK, name, title, body)
}

// answer writes a page with a status.
func (q *request) answer(status int, name, title string, body any) error {
	f := frame{Title: title, Root: "./", Viewer: q.v.Name, Here: name, Now: q.o.Now(), Body: body}
	if q.m != nil {
		f.Root, f.Place, f.Machine = "../../", q.m.place, q.m.schema.Machine
		f.Outbox, f.Audit = !q.m.schema.NoOutbox, q.v.may(q.m, Audit)
		f.Mark, f.Quiet, f.Runs, f.Owners = q.mark, q.quiet, q.o.Runs != nil, q.m.holding != nil
	}
	if p, ok := body.(*runPage); ok {
		f.Again = p.Again
	}
	return q.write(status, name, f)
}

func (q *request) write(status int, name string, f frame) error {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, f); err != nil {
		return fmt.Errorf("the page %s: %w", name, err)
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.w.WriteHeader(status)
	_, _ = q.w.Write(b.Bytes()) // a browser that went away is no error of ours
	return nil
}

// fail answers with a page that says what went wrong.
func (q *request) fail(status int, text string) {
	f := frame{Title: http.StatusText(status), Root: "./", Viewer: q.v.Name, Here: "problem", Now: q.o.Now(), Body: text}
	if strings.Count(strings.Trim(q.r.URL.Path, "/"), "/") > 0 {
		f.Root = "../../"
	}
	if q.m != nil {
		f.Place, f.Machine, f.Outbox, f.Audit = q.m.place, q.m.schema.Machine, !q.m.schema.NoOutbox, q.v.may(q.m, Audit)
		f.Owners = q.m.holding != nil
	}
	if err := q.write(status, "problem", f); err != nil {
		http.Error(q.w, text, status)
	}
}

// picture is the drawing of a machine, with a link and a count on each state.
type picture = template.HTML

var hit = regexp.MustCompile(`<rect class="hit" data-state="([^"]*)" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" rx="6">((?:<title>[^<]*</title>)?)</rect>`)

// drawn puts counts on a picture, which is the generator's own and so may stand in a page as it is.
func drawn(svg string, states []stateCount) picture {
	return picture(hit.ReplaceAllStringFunc(svg, func(rect string) string { //nolint:gosec // see above
		part := hit.FindStringSubmatch(rect)
		for _, s := range states {
			if template.HTMLEscapeString(s.Name) != part[1] {
				continue
			}
			x, _ := strconv.ParseFloat(part[2], 64)
			y, _ := strconv.ParseFloat(part[3], 64)
			return fmt.Sprintf(`<a href="records?state=%s" aria-label="%s: %s">%s<text class="count" x="%.0f" y="%.0f">%s</text></a>`,
				url.QueryEscape(s.Name), part[1], bounded(s.Count), rect, x, y-5, bounded(s.Count))
		}
		return rect
	}))
}
