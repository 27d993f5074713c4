package docs

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/fsmslog"
	"github.com/fsmgen/fsmgen/runtime/health"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
	"github.com/fsmgen/fsmgen/runtime/sqlstore"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// TestSnippets runs what the guides show in Go: TestPages holds their blocks to this file.
func TestSnippets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := sqlite.Open(filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	morning(t, store)
	ctx := t.Context()
	jobs, err := lifecycle.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}

	if err := handles(ctx, jobs); err != nil {
		t.Error(err)
	}
	mux, answer := http.NewServeMux(), httptest.NewRecorder()
	if err := run.Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	many, err := run.Open(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	if err := consoleOf(mux, jobs, many, func(*http.Request) (string, error) { return "ann", nil }); err != nil {
		t.Error(err)
	}
	mux.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/production/lifecycle/records", nil))
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), "job-1") {
		t.Errorf("the console answers %d: %s", answer.Code, answer.Body)
	}
	probesOf(mux, jobs)
	for _, path := range []string{"/live", "/ready"} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
		if answer.Code != http.StatusOK {
			t.Errorf("%s answers %d: %s", path, answer.Code, answer.Body)
		}
	}
	if logging, err := logs(ctx, store); err != nil || logging.Core().Schema().Machine != "lifecycle" {
		t.Errorf("a machine that logs: %v", err)
	}
	if n, err := retention(ctx, jobs); n != 3 || err != nil {
		t.Errorf("%d records went, want 3: %v", n, err)
	}
	if redacted, err := redaction(ctx, jobs); !redacted || err != nil {
		t.Errorf("redacted: %t, %v", redacted, err)
	}
	if err := backup(ctx, store, filepath.Join(dir, "backup.db")); err != nil {
		t.Error(err)
	}
	loops, stop := context.WithCancel(ctx)
	stop()
	if err := errors.Join(runs(loops, jobs, nil), checks(loops, jobs, nil)); err != nil {
		t.Errorf("what the program runs ended with %v", err)
	}
	if health := audit.HealthOf(jobs); !health.Sound() {
		t.Errorf("the machine is not sound: %v", health)
	}
}

// Without a server, the file that was opened first is closed again.
func TestOpenStores(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, _, err := openStores(t.Context(), "postgres://127.0.0.1:1/none?connect_timeout=1"); err == nil {
		t.Error("a server was found at a port that nobody listens to")
	}
}

func openStores(ctx context.Context, dsn string) (file, server *sqlstore.Store, err error) {
	file, err = sqlite.Open("jobs.db", sqlite.WithBusyTimeout(10*time.Second), sqlite.WithMode(0o640))
	if err != nil {
		return nil, nil, err
	}
	server, err = postgres.Open(ctx, dsn, postgres.WithSchema("jobs"), postgres.WithMaxSessions(16))
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, server, nil
}

func handles(ctx context.Context, jobs *lifecycle.Machine) error {
	lease := lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Minute)}
	claimed, err := jobs.As("w1").ClaimNext(ctx, lease, fsm.Call{})
	_ = claimed
	return err
}

func runs(ctx context.Context, jobs *lifecycle.Machine, workers []*worker.Worker[lifecycle.Job]) error {
	return worker.Run(ctx, jobs.Core(), worker.Upkeep{}, workers...)
}

func consoleOf(mux *http.ServeMux, jobs *lifecycle.Machine, runs *run.Machine, userOf func(*http.Request) (string, error)) error {
	mayAct := func(user string) bool { return user == "ann" }
	h, err := console.New(console.Options{
		Who: func(r *http.Request) (console.Viewer, error) {
			user, err := userOf(r) // your login
			if !mayAct(user) {
				return console.Reader(user), err
			}
			return console.Operator(user), err
		},
		Machines: []console.Machine{console.Of(console.Place{Name: "production", Colour: "#a51d2d"}, jobs)},
		Runs:     runs, // run.Open over a store that run.Migrate has prepared; without it nothing is done to many records
	})
	mux.Handle("/console/", http.StripPrefix("/console", h))
	return err
}

func logs(ctx context.Context, store fsm.Store) (*lifecycle.Machine, error) {
	return lifecycle.Open(ctx, store, fsm.WithObserver(fsmslog.Observer(slog.Default(), fsmslog.Options{NoReason: true})))
}

func probesOf(mux *http.ServeMux, jobs *lifecycle.Machine) {
	probes := health.New(health.Options{Swept: time.Minute}, health.Of(jobs))
	mux.Handle("/live", probes.Live())
	mux.Handle("/ready", probes.Ready())
}

func checks(ctx context.Context, jobs *lifecycle.Machine, workers []*worker.Worker[lifecycle.Job]) error {
	each := worker.Upkeep{Audit: audit.Logged(jobs), AuditEvery: time.Hour}
	return worker.Run(ctx, jobs.Core(), each, workers...)
}

func retention(ctx context.Context, jobs *lifecycle.Machine) (int, error) {
	var behind string
	n, err := audit.Purge(ctx, jobs, audit.PurgeOptions{
		Before: time.Now().AddDate(0, 0, -90), // unchanged for 90 days
		Limit:  1000,                          // call it again for more
		Behind: &behind,                       // on from where the last call ended; "" at first and at the end
		Actor:  "retention", Reason: "90 days are over",
	})
	if err != nil {
		return n, err
	}
	_, err = audit.Forget(ctx, jobs, audit.ForgetOptions{
		Before: time.Now().AddDate(-1, 0, 0), // purged a year ago: nobody retries any longer
	})
	return n, err
}

func redaction(ctx context.Context, jobs *lifecycle.Machine) (bool, error) {
	_, redacted, err := audit.Redact(ctx, jobs, "job-4", audit.RedactOptions{
		Fields: []string{"payload"}, Reasons: true, Labels: true,
		Actor: "ann", Reason: "erasure request 4711",
	})
	return redacted, err
}

func backup(ctx context.Context, store interface {
	Backup(context.Context, string) error
}, file string) error {
	return store.Backup(ctx, file)
}
