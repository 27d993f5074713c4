package serve

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// withDatabase opens the page over a database, late enough for the leases.
func withDatabase(t *testing.T, address string) http.Handler {
	t.Helper()
	a, err := sqldb.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	d, end := NewDatabase(a.Shown, func(ctx context.Context, m *spec.Machine) (*live.DB, error) {
		return sqldb.Open(ctx, address, m, sqldb.Options{SpecFile: m.File})
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	d.(*liveDatabase).now = func() time.Time { return livetest.Start.Add(2 * time.Hour) }
	return page(t, Options{Files: []string{"../../specs/lifecycle.yaml", "../../specs/task.yaml"}, Database: d})
}

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

// showsJobs demands what the page says of the jobs, whatever the database is.
func showsJobs(t *testing.T, h http.Handler, shown string) {
	t.Helper()
	if o := get[overviewView](t, h, "/api/overview", ""); o.Database != shown {
		t.Errorf("the address is shown as %q", o.Database)
	}
	v := get[Overview](t, h, "/api/machine/0/database", "")
	want := []StateCount{{"queued", 3}, {"claimed", 0}, {"running", 1}, {"succeeded", 1}, {"failed", 1}, {"stalled", 0}}
	if diff := cmp.Diff(want, v.Counts); diff != "" {
		t.Errorf("counts, -want +got:\n%s", diff)
	}
	late := []Overdue{{ID: "job-2", State: "running", Operation: "stall", Field: "lease", Deadline: "2026-01-02T04:04:05Z", Late: "1 h 0 min"}}
	if diff := cmp.Diff(late, v.Overdue, cmpopts.IgnoreUnexported(Overdue{})); diff != "" {
		t.Errorf("overdue, -want +got:\n%s", diff)
	}
	if len(v.Recent) != 6 || v.Recent[0].ID != evil {
		t.Errorf("what changed last: %+v", v.Recent)
	}
	log := get[History](t, h, "/api/machine/0/history?id=job-1", "")
	var events []string
	for _, e := range log.Events {
		events = append(events, e.Event+" "+e.From+">"+e.To)
	}
	if diff := cmp.Diff([]string{"enqueued >queued", "claimed queued>claimed", "started claimed>running", "succeeded running>succeeded"}, events); diff != "" {
		t.Errorf("the log, -want +got:\n%s", diff)
	}
	if log.Record == nil || log.Record.State != "succeeded" || log.Record.Rev != 4 || log.Events[1].Actor != "w1" ||
		!cmp.Equal(log.Events[3].Changes, []NamedText{{"owner", "absent"}, {"lease", "absent"}, {"result", `{"bytes":512}`}}) {
		t.Errorf("the record: %+v, its last event %+v", log.Record, log.Events[3])
	}
	if none := get[History](t, h, "/api/machine/0/history?id=nobody", ""); none.Record != nil || len(none.Events) > 0 {
		t.Errorf("a record that is not there: %+v", none)
	}
	if a := get[Audit](t, h, "/api/machine/0/audit", ""); len(a.Findings) > 0 || a.Records != 6 {
		t.Errorf("the audit of a sound database: %+v", a)
	}
	for _, c := range []string{"database", "history", "audit"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			r := httptest.NewRequest(method, "http://"+host+"/api/machine/0/"+c, strings.NewReader("{}"))
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

// showsFindings demands what the page says of jobs that were damaged.
func showsFindings(t *testing.T, h http.Handler) {
	t.Helper()
	a := get[Audit](t, h, "/api/machine/0/audit", "")
	found := map[string]bool{}
	for _, f := range a.Findings {
		found[f.ID] = found[f.ID] || f.Must && f.Text != "" && f.Rule != ""
	}
	if diff := cmp.Diff(map[string]bool{"job-2": true, "job-3": true}, found); diff != "" {
		t.Errorf("-want +got:\n%s\n%+v", diff, a.Findings)
	}
	v := get[Overview](t, h, "/api/machine/0/database", "")
	broken := map[string]string{}
	for _, r := range v.Recent {
		if r.Broken {
			broken[r.ID] = r.State
		}
	}
	if diff := cmp.Diff(map[string]string{"job-2": "running", "job-3": "no<b>where"}, broken); diff != "" || !v.Overdue[0].Broken {
		t.Errorf("the list, -want +got:\n%s\n%+v", diff, v.Overdue)
	}
	if log := get[History](t, h, "/api/machine/0/history?id=job-3", ""); log.Record.State != "no<b>where" {
		t.Errorf("a state that the machine does not have: %+v", log.Record)
	}
	if w := ask(t, h, "/api/machine/0/history?id=job-3", ""); strings.Contains(w.Body.String(), "<b>") {
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
	if w := ask(t, h, "/api/machine/1/database", ""); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "does not hold the machine task") {
		t.Errorf("a machine that is not there: %d %s", w.Code, w.Body)
	}
	for _, c := range []string{"database", "history?id=x", "audit"} {
		const text = "postgres://somebody:hunter2@127.0.0.1:1/jobs?connect_timeout=1"
		h := withDatabase(t, text)
		for _, path := range []string{"/api/machine/0/" + c, "/api/overview"} {
			if w := ask(t, h, path, ""); strings.Contains(w.Body.String(), "hunter2") || strings.HasSuffix(path, c) && w.Code != http.StatusBadGateway {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	missing := withDatabase(t, filepath.Join(t.TempDir(), "nothing.db"))
	if w := ask(t, missing, "/api/machine/0/database", ""); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), "cannot open the database") {
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
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/api/machine/0/audit", nil))
	if w.Code != http.StatusBadGateway {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestLateBy(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min 1 s", time.Hour: "1 h 0 min", 25*time.Hour + time.Minute: "1 d 1 h", 1000 * time.Hour: "41 d 16 h",
	} {
		if got := lateBy(d); got != want {
			t.Errorf("lateBy(%v) = %q, want %q", d, got, want)
		}
	}
}
