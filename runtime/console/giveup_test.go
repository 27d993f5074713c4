package console_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/postgres"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// Who may give up what has a step for that may not drop what has none.
func TestGiveUpOfOneName(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), errors.New("away"))
	make1(t, m, "a")
	if _, err := m.Post(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
	_, _ = m.Deliver(t.Context())
	may := func(right string) *console.Handler {
		return handler(t, console.Options{
			Who: func(*http.Request) (console.Viewer, error) {
				return console.Viewer{Name: "eve", May: func(r console.Right) bool { return r.Do == console.See || r.Do == right }}, nil
			},
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
		})
	}
	v := url.Values{"id": {"a"}, "rev": {"2"}, "n": {"0"}, "attempts": {"1"}, "reason": {"x"}}
	if _, body := get(t, may(console.GiveUp), "/here/slip/giveup?"+v.Encode()); strings.Contains(body, "runs <b>lost") {
		t.Error("the page says that the machine runs lost, which it does not")
	}
	if w := send(t, may(console.GiveUp), "/here/slip/giveup", v); w.Code != http.StatusForbidden {
		t.Errorf("the right to give up drops: %d; the log is %q", w.Code, slipLog(t, m, "a"))
	}
}

// What moved on waits for no step any more: giving it up is dropping it.
func TestGiveUpOfWhatMovedOn(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), errors.New("away"))
	make1(t, m, "a")
	if _, err := m.Mail(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
	_, _ = m.Deliver(t.Context())
	if _, err := m.Close(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
	h := slipDesk(t, m)
	v := url.Values{"id": {"a"}, "rev": {"2"}, "n": {"0"}, "attempts": {"1"}, "reason": {"x"}}
	code, body := get(t, h, "/here/slip/giveup?"+v.Encode())
	if code == 200 && strings.Contains(body, "runs <b>lost") {
		w := send(t, h, "/here/slip/giveup", v)
		if got := slipLog(t, m, "a"); got[len(got)-1] != "lost" {
			t.Errorf("the page says that the machine runs lost; answered %d, the log is %q", w.Code, got)
		}
	}
}

// The events that somebody made by hand leave a sound log in each store.
func TestAbandonInStores(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) fsm.Store{
		"sqlite": func(t *testing.T) fsm.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		"postgres": func(t *testing.T) fsm.Store {
			s, err := postgres.Open(t.Context(), pgtest.DSN(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		"memory": func(t *testing.T) fsm.Store { return inMemory(t) },
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			m := slips(t, open(t), errors.New("away"), fsm.WithClock(func() time.Time { return now }))
			e := m.Core().Engine()
			for _, id := range []string{"then", "none", "moved", "gone", "two"} {
				make1(t, m, id)
				call := m.Mail
				if id == "none" || id == "two" {
					call = m.Post
				}
				if _, err := call(t.Context(), fsm.Ref{ID: id}, fsm.Call{}); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = m.Deliver(t.Context())
			for _, id := range []string{"moved", "gone", "two"} {
				if _, err := m.Close(t.Context(), fsm.Ref{ID: id}, fsm.Call{}); err != nil {
					t.Fatal(err)
				}
			}
			var box []driver.Delivery
			if err := e.Table.View(t.Context(), func(r driver.Reader) (err error) {
				box, err = r.Outbox(now.Add(time.Hour), 100)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			for _, d := range box {
				if done, err := e.Hasten(t.Context(), d); err != nil || !done {
					t.Errorf("hasten %s: %v, %v", d.ID, done, err)
				}
				if err := e.Abandon(t.Context(), d, "ann", "why"); err != nil {
					t.Errorf("abandon %s: %v", d.ID, err)
				}
				if err := e.Abandon(t.Context(), d, "ann", "why"); !errors.Is(err, fsm.ErrOvertaken) {
					t.Errorf("abandon %s again: %v", d.ID, err)
				}
			}
			for _, id := range []string{"then", "none", "moved", "gone", "two"} {
				t.Log(id, slipLog(t, m, id))
			}
			for f, err := range audit.Run(t.Context(), m.Core()) {
				t.Errorf("the audit finds %v, %v", f, err)
			}
			for e, err := range m.Log(t.Context(), "") {
				if err != nil {
					t.Error(err)
				}
				if j, err := json.Marshal(e); err != nil || !json.Valid(j) {
					t.Error(err)
				}
			}
			for _, id := range []string{"then", "none", "moved"} {
				if _, done, err := audit.Redact(t.Context(), m.Core(), id, audit.RedactOptions{Fields: []string{"code"}, Actor: "x", Reason: "y"}); err != nil || !done {
					t.Logf("redact code of %s: %v, %v", id, done, err)
				}
				if _, done, err := audit.Redact(t.Context(), m.Core(), id, audit.RedactOptions{Fields: []string{"until"}, Actor: "x", Reason: "y"}); err != nil {
					t.Errorf("redact until of %s: %v, %v", id, done, err)
				}
			}
			for f, err := range audit.Run(t.Context(), m.Core()) {
				t.Errorf("after the redaction the audit finds %v, %v", f, err)
			}
			now = now.Add(time.Hour)
			if n, err := audit.Purge(t.Context(), m.Core(), audit.PurgeOptions{States: []string{"closed"}, Before: now, Actor: "x", Reason: "y"}); err != nil {
				t.Error("purge", n, err)
			} else {
				t.Log("purged", n)
			}
			for f, err := range audit.Run(t.Context(), m.Core()) {
				t.Errorf("after the purge the audit finds %v, %v", f, err)
			}
		})
	}
}

// A second click on "Give it up" is answered as the first.
func TestGiveUpTwice(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), errors.New("away"))
	make1(t, m, "a")
	if _, err := m.Mail(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
	_, _ = m.Deliver(t.Context())
	h := slipDesk(t, m)
	v := url.Values{"id": {"a"}, "rev": {"2"}, "n": {"0"}, "attempts": {"1"}, "reason": {"x"}}
	for i := range 2 {
		if w := send(t, h, "/here/slip/giveup", v); w.Code != http.StatusSeeOther {
			t.Errorf("click %d is answered %d: %s", i+1, w.Code, slipLog(t, m, "a"))
		}
	}
}

// Who gave up, and why, is not shown where actors and reasons are not.
func TestGiveUpIsHidden(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), errors.New("away"))
	make1(t, m, "a")
	if _, err := m.Mail(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
	_, _ = m.Deliver(t.Context())
	v := url.Values{"id": {"a"}, "rev": {"2"}, "n": {"0"}, "attempts": {"1"}, "reason": {"a private matter"}}
	if w := send(t, slipDesk(t, m), "/here/slip/giveup", v); w.Code != http.StatusSeeOther {
		t.Fatal(w.Code)
	}
	h := handler(t, console.Options{
		Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
		Who:      func(*http.Request) (console.Viewer, error) { return console.Reader("eve"), nil },
		Show: func(_, name string) console.Showing {
			if name == console.ActorOf || name == console.ReasonOf || name == console.ProblemOf {
				return console.Hidden
			}
			return console.Whole
		},
	})
	for _, page := range []string{"record?id=a", "log"} {
		if _, body := get(t, h, "/here/slip/"+page); strings.Contains(body, "private matter") {
			t.Errorf("%s shows it", page)
		}
	}
}
