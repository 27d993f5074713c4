package serve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/serve/answers"
	"github.com/fsmgen/fsmgen/internal/validate"
)

const host = "127.0.0.1:4711"

var hosts = Hosts{Names: []string{host, "localhost:4711"}}

// page opens a page of specifications.
func page(t testing.TB, o Options) http.Handler {
	t.Helper()
	o.Check = validate.Source
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler(hosts)
}

// write writes a specification to a file of its own.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spec.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask sends a request as the page does; a body makes it a POST.
func ask(t testing.TB, h http.Handler, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get asks for a value.
func get[T any](t testing.TB, h http.Handler, path, body string) (v T) {
	t.Helper()
	w := ask(t, h, path, body)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	h := page(t, Options{Files: []string{"../../specs/lifecycle.yaml"}})
	for name, c := range map[string]struct {
		method, host, path string
		header             map[string]string
		want               int
	}{
		"a program":                    {want: 200},
		"by name":                      {host: "localhost:4711", want: 200},
		"a name that leads here":       {host: "rebound.example:4711", want: 403},
		"the address at another port":  {host: "127.0.0.1:80", want: 403},
		"without a port":               {host: "127.0.0.1", want: 403},
		"another address":              {host: "10.0.0.1:4711", want: 403},
		"no host":                      {host: " ", want: 403},
		"the page itself":              {header: map[string]string{"Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}, want: 200},
		"another origin":               {header: map[string]string{"Origin": "https://evil.example"}, want: 403},
		"an origin without a name":     {header: map[string]string{"Origin": "null"}, want: 403},
		"another port is another":      {header: map[string]string{"Origin": "http://127.0.0.1:4712"}, want: 403},
		"a script of another site":     {header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, want: 403},
		"a link to the page":           {path: "/", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, want: 200},
		"a link to the data":           {header: map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, want: 403},
		"a form of another site":       {method: "POST", path: "/api/machine/0/play", header: map[string]string{"Content-Type": "text/plain"}, want: 415},
		"a body of no type":            {method: "POST", path: "/api/machine/0/play", header: map[string]string{"Content-Type": ""}, want: 415},
		"a machine that is not there":  {path: "/api/machine/1", want: 404},
		"a number written another way": {path: "/api/machine/00", want: 404},
		"a database that is not there": {path: "/api/machine/0/database", want: 404},
		"a file of the disk":           {path: "/../../go.mod", want: 404},
		"what is not offered":          {path: "/doc.go", want: 404},
		"writing":                      {method: "PUT", want: 405},
		"deleting":                     {method: "DELETE", path: "/api/machine/0/play", want: 405},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.method == "" {
				c.method = http.MethodGet
			}
			if c.path == "" {
				c.path = "/api/machine/0"
			}
			r := httptest.NewRequest(c.method, "http://"+host+"/", strings.NewReader("{}"))
			r.URL.Path = c.path
			if c.host != "" {
				r.Host = strings.TrimSpace(c.host)
			}
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.want && !(c.want == 404 && w.Code == 307) { // a path that is mended leads to the mended one
				t.Errorf("%s %s of %q: %d %s, want %d", c.method, c.path, r.Host, w.Code, w.Body, c.want)
			}
			for _, head := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy", "Cache-Control"} {
				if w.Header().Get(head) == "" {
					t.Errorf("no %s", head)
				}
			}
		})
	}
}

// A request of any size is answered, and a large one is not read.
func TestLargeRequest(t *testing.T) {
	t.Parallel()
	h := page(t, Options{Files: []string{"../../specs/lifecycle.yaml"}})
	for n, want := range map[int]int{maxBody / 2: http.StatusBadRequest, maxBody: http.StatusRequestEntityTooLarge} {
		if w := ask(t, h, "/api/machine/0/play", `{"now": "`+strings.Repeat("x", n)+`"}`); w.Code != want {
			t.Errorf("%d bytes: %d, want %d", n, w.Code, want)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	every := Hosts{Names: []string{"[::]:80", "box:80"}, AnyAddress: true}
	for host, want := range map[string]bool{
		"192.168.1.7:80": true, "192.168.1.7": true, "[fe80::1]:80": true, "[fe80::1]": true, "box": true, "BOX:80": true,
		"evil.example:80": false, "evil.example": false, "": false, "1.2.3.4.evil.example": false,
	} {
		if got := every.allow(host); got != want {
			t.Errorf("allow(%q) = %v, want %v", host, got, want)
		}
	}
}

// The page itself holds nothing that its policy would refuse, asks no other host,
// and reads no text as HTML.
func TestAssetsAreStrict(t *testing.T) {
	t.Parallel()
	h := page(t, Options{Files: []string{"../../specs/task.yaml"}})
	names := 0
	for _, a := range assets {
		path := strings.TrimSuffix(a.path, "{$}")
		w := ask(t, h, path, "")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != a.kind || a.kind == "" {
			t.Errorf("%s: %d %q", path, w.Code, w.Header().Get("Content-Type"))
		}
		text := w.Body.String()
		for _, bad := range []string{
			"innerHTML", "outerHTML", "insertAdjacentHTML", "DOMParser", "document.write", "eval(", "new Function", "setHTML", "srcdoc",
			"style=\"", "<style", "onclick=", "onerror=", "https://", "//cdn", "@import", "javascript:",
		} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "http://") {
			t.Errorf("%s names another host", path)
		}
		names++
	}
	if names < 10 {
		t.Errorf("%d assets, want at least 10", names)
	}
	if html := ask(t, h, "/", "").Body.String(); strings.Count(html, "<script") != 1 || !strings.Contains(html, `<script type="module" src="/app.js"></script>`) {
		t.Errorf("the page has another script than its own:\n%s", html)
	}
}

func TestFindingsInsteadOfAMachine(t *testing.T) {
	t.Parallel()
	path := write(t, "fsm: 1\nmachine: job\nentity: Job\notherwise: reject\nstates:\n  open: {}\noperations:\n  make: {creates: opne}\n")
	h := page(t, Options{Files: []string{path}})
	v := get[answers.File](t, h, "/api/machine/0", "")
	if v.Machine != nil || v.Errors == 0 || len(v.Findings) == 0 {
		t.Fatalf("a broken file: %+v", v)
	}
	f := v.Findings[0]
	if f.Place != (answers.Place{Line: 8, Column: 19, Length: 4}) || !strings.Contains(f.Message, "opne") || f.Hint == "" || v.Lines[7] != "  make: {creates: opne}" {
		t.Errorf("the finding is %+v, the line %q", f, v.Lines[7])
	}
	for _, c := range [][2]string{{"picture.svg", ""}, {"play", `{"steps":[]}`}, {"check", `{}`}} {
		if w := ask(t, h, "/api/machine/0/"+c[0], c[1]); w.Code != http.StatusConflict {
			t.Errorf("%s of a broken file: %d", c[0], w.Code)
		}
	}
	if o := get[overviewView](t, h, "/api/overview", ""); o.Machines[0].Errors != v.Errors {
		t.Errorf("the list says %+v", o)
	}
}

// Text of a specification, whatever it is, comes as JSON text, and turned-around
// lines are shown as they stand.
func TestHostileText(t *testing.T) {
	t.Parallel()
	bad := `<img src=x onerror="alert(1)"></script>`
	path := write(t, "fsm: 1\nmachine: job\nentity: Job\ndoc: '"+bad+"'\notherwise: reject\nstates:\n  open: {doc: '"+bad+"'}\n  shut: {terminal: true}\n"+
		"operations:\n  make: {creates: open, doc: '"+bad+"'}\n  close: {from: open, to: shut}\n# \u202e turned\n")
	h := page(t, Options{Files: []string{path}})
	w := ask(t, h, "/api/machine/0", "")
	if bytes.Contains(w.Body.Bytes(), []byte("<img")) || strings.Contains(w.Body.String(), "\u202e") {
		t.Errorf("unescaped: %s", w.Body)
	}
	v := get[answers.File](t, h, "/api/machine/0", "")
	if v.Machine == nil || v.Machine.Doc != bad {
		t.Fatalf("the text is lost: %+v", v)
	}
	if svg := ask(t, h, "/api/machine/0/picture.svg", ""); strings.Contains(svg.Body.String(), "<img") || svg.Code != http.StatusOK {
		t.Errorf("the picture: %d %s", svg.Code, svg.Body)
	}
}
