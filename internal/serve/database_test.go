package serve

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/live/livetest"
	"github.com/fsmgen/fsmgen/internal/live/sqldb"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/spec"
)

const evil = `<img src=x onerror="alert(1)">`

// jobs makes a database with the jobs of livetest and one whose id is no HTML.
func jobs(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	store, err := sqlite.Open(path, sqlite.WithEnforce("none"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fill(t, store)
	return path
}

// fill puts the jobs into a store.
func fill(t *testing.T, store fsm.Store) {
	t.Helper()
	if err := livetest.Jobs(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := lifecycle.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Enqueue(t.Context(), evil, lifecycle.EnqueueInput{}, fsm.Call{RequestID: "evil"}); err != nil {
		t.Fatal(err)
	}
}

// withDatabase opens the page over a database.
func withDatabase(t *testing.T, address string) http.Handler {
	t.Helper()
	a, err := sqldb.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDatabase(a.Shown, func(ctx context.Context, m *spec.Machine) (*live.DB, error) {
		return sqldb.Open(ctx, address, m, sqldb.Options{SpecFile: m.File})
	})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return page(t, Options{Files: []string{"../../specs/lifecycle.yaml", "../../specs/task.yaml"}, Database: d})
}

// shows demands of a page of the console that its text, without tags, holds what is wanted.
func shows(t *testing.T, h http.Handler, path string, want ...string) {
	t.Helper()
	w := ask(t, h, path, "")
	if w.Code != http.StatusOK {
		t.Errorf("%s: %d", path, w.Code)
	}
	text := strings.Join(strings.Fields(tag.ReplaceAllString(w.Body.String(), " ")), " ")
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", path, part, text)
		}
	}
}

var tag = regexp.MustCompile(`<[^>]*>`)

func TestDatabase(t *testing.T) {
	t.Parallel()
	path := jobs(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	showsJobs(t, withDatabase(t, path), path)
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database was written: %v", err)
	}
}

const jobPages = "/db/database/lifecycle/"

// showsJobs demands what the console says of the jobs, whatever the database is.
func showsJobs(t *testing.T, h http.Handler, shown string) {
	t.Helper()
	if o := get[overviewView](t, h, "/api/overview", ""); o.Database != shown {
		t.Errorf("the address is shown as %q", o.Database)
	}
	shows(t, h, "/db/", "queued 3 claimed 0 running 1 succeeded 1 failed 1 stalled 0", "does not hold the machine task")
	shows(t, h, jobPages, "stall lease 1 ") // what is late
	if w := ask(t, h, jobPages, ""); !strings.Contains(w.Body.String(), `<a href="records?state=queued" aria-label="queued: 3">`) {
		t.Error("the picture has no count on its states")
	}
	shows(t, h, jobPages+"late", "job-2 running 2026-01-02 04:04:05 UTC")
	shows(t, h, jobPages+"records", "&lt;img src=x", "job-1 succeeded")
	shows(t, h, jobPages+"record?id=job-1", "succeeded since 2026-01-02", "complete running → succeeded revision 4", "by w1",
		"owner absent lease absent result {&#34;bytes&#34;:512}", "claim_next queued → claimed revision 2")
	shows(t, h, jobPages+"audit?run=1", "0 findings")
	if w := ask(t, h, jobPages+"record?id=nobody", ""); w.Code != http.StatusNotFound {
		t.Errorf("a record that is not there: %d", w.Code)
	}
	for _, c := range []string{"", "records", "record?id=job-1", "audit?run=1"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			r := httptest.NewRequest(method, "http://"+host+jobPages+c, strings.NewReader("{}"))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, c, w.Code)
			}
		}
	}
}

const damage = `UPDATE lifecycle SET owner = NULL WHERE id = 'job-2'; UPDATE lifecycle SET state = 'no<b>where' WHERE id = 'job-3'`

func TestDatabaseFindings(t *testing.T) {
	t.Parallel()
	path := jobs(t)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=ignore_check_constraints(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(damage); err != nil {
		t.Fatal(err)
	}
	showsFindings(t, withDatabase(t, path))
}

// showsFindings demands what the console says of jobs that were damaged.
func showsFindings(t *testing.T, h http.Handler) {
	t.Helper()
	found := map[string]bool{}
	for _, f := range regexp.MustCompile(`<th scope="row"><a href="record\?id=([^"]*)">`).FindAllStringSubmatch(ask(t, h, jobPages+"audit?run=1", "").Body.String(), -1) {
		found[f[1]] = true
	}
	if diff := cmp.Diff(map[string]bool{"job-2": true, "job-3": true}, found); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	shows(t, h, jobPages+"records", "job-2 breaks a rule running", "job-3 breaks a rule no&lt;b&gt;where")
	shows(t, h, jobPages+"late", "job-2 breaks a rule running")
	shows(t, h, jobPages+"record?id=job-3", "It breaks a rule", "no&lt;b&gt;where since")
	if w := ask(t, h, jobPages+"record?id=job-3", ""); strings.Contains(w.Body.String(), "no<b>") {
		t.Errorf("unescaped: %s", w.Body)
	}
}

// What cannot be read is said, and never the password of an address.
func TestDatabaseProblems(t *testing.T) {
	t.Parallel()
	if _, err := sqldb.Parse("postgres://u:secret@host:port/x"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an address that cannot be read: %v", err)
	}
	path := jobs(t)
	h := withDatabase(t, path)
	if w := ask(t, h, "/db/database/task/", ""); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "does not hold the machine task") {
		t.Errorf("a machine that is not there: %d %s", w.Code, w.Body)
	}
	for _, c := range []string{"", "record?id=x", "audit?run=1"} {
		const text = "postgres://somebody:hunter2@127.0.0.1:1/jobs?connect_timeout=1"
		h := withDatabase(t, text)
		for _, path := range []string{jobPages + c, "/db/", "/api/overview"} {
			if w := ask(t, h, path, ""); strings.Contains(w.Body.String(), "hunter2") || path == jobPages+c && w.Code != http.StatusBadGateway {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	missing := withDatabase(t, filepath.Join(t.TempDir(), "nothing.db"))
	if w := ask(t, missing, jobPages, ""); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "cannot open the database") {
		t.Errorf("a file that is not there: %d %s", w.Code, w.Body)
	}
}

// A question that nobody waits for any more is not asked to its end.
func TestDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := withDatabase(t, jobs(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+jobPages+"audit?run=1", nil))
	if w.Code != http.StatusBadGateway {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
