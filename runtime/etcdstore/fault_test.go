package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/storetest"
)

type machine = fsm.Machine[storetest.Parcel]

// openMachine opens the suite's machine over a store, which it migrates.
func openMachine(tb testing.TB, store driver.Store) *machine {
	tb.Helper()
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(tb.Context(), store, schema); err != nil {
		tb.Fatal(err)
	}
	none := func(context.Context, driver.Tx, storetest.Parcel, string, driver.Event) error { return nil }
	m, err := fsm.NewMachine(tb.Context(), store, storetest.Descriptor(schema),
		map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": none, "carry": none, "notify": none})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func register(id string) fsmimpl.Call[storetest.Parcel] {
	return storetest.Register(storetest.Meta{RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "a"})
}

// creation is the write that Commit is tested with.
func creation(id string) *driver.Write {
	p := storetest.Parcel{ID: id, State: "waiting", Rev: 1, CreatedAt: driver.Time(time.Now()), UpdatedAt: driver.Time(time.Now()), Lane: "a"}
	row := storetest.Encode(&p)
	e := driver.Event{ID: id, Rev: 1, Operation: "register", Name: "register", To: "waiting", At: p.CreatedAt, RequestID: "make " + id, Changes: driver.MustJSON(`{"lane":"a"}`)}
	return &driver.Write{Prev: driver.Ref{ID: id}, Row: &row, Event: e}
}

func table(tb testing.TB, store driver.Store) driver.Table {
	tb.Helper()
	tab, err := store.Table(storetest.Schema())
	if err != nil {
		tb.Fatal(err)
	}
	if err := tab.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return tab
}

func wantCode(tb testing.TB, err error, code fsm.Code) {
	tb.Helper()
	var r *fsm.Refusal
	var a *fsm.AmbiguousError
	if !errors.As(err, &r) || r.Code != code || errors.As(err, &a) {
		tb.Errorf("got %v, want a refusal with code %s", err, code)
	}
}

func wantAmbiguous(tb testing.TB, err error) {
	tb.Helper()
	var a *fsm.AmbiguousError
	if !errors.As(err, &a) || a.Machine != "parcel" || a.ID != "p1" || a.RequestID != "make p1" {
		tb.Errorf("got %v, want an *AmbiguousError that names the call", err)
	}
}

// once lets a fault happen in one call that writes.
func once(f func(w http.ResponseWriter, path string) bool) func(w http.ResponseWriter, path string) bool {
	var done atomic.Bool
	return func(w http.ResponseWriter, path string) bool {
		return path == "/v3/kv/txn" && done.CompareAndSwap(false, true) && f(w, path)
	}
}

func unavailable(w http.ResponseWriter, _ string) bool {
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprint(w, `{"code":14,"message":"etcdserver: request timed out"}`)
	return true
}

func fromProxy(w http.ResponseWriter, _ string) bool {
	w.WriteHeader(http.StatusBadGateway)
	fmt.Fprint(w, "<html>bad gateway</html>")
	return true
}

func garbled(w http.ResponseWriter, _ string) bool {
	fmt.Fprint(w, `{"header":`)
	return true
}

// lostAnswers are the ways to lose an answer after the server has the request.
var lostAnswers = map[string]func(http.ResponseWriter, string) bool{
	"cut": cut, "unavailable": unavailable, "from a proxy": fromProxy, "garbled": garbled,
	"too late": func(http.ResponseWriter, string) bool { time.Sleep(300 * time.Millisecond); return true },
}

// Whatever becomes of an answer after the request was sent: a commit says that
// it does not know, applied or not, and the engine finds out.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, lose := range lostAnswers {
		for _, applied := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/applied %v", name, applied), func(t *testing.T) {
				t.Parallel()
				member := serve(t, newData())
				store, err := etcdstore.Open(t.Context(), []string{member.URL}, etcdstore.WithTryTimeout(200*time.Millisecond))
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				m := openMachine(t, store)
				tab := table(t, store)
				arm := func() {
					if applied {
						member.fault(nil, once(lose))
						return
					}
					before := once(lose)
					member.fault(func(w http.ResponseWriter, path string, _ []byte) bool { return before(w, path) }, nil)
				}
				arm()
				wantAmbiguous(t, tab.Commit(t.Context(), creation("p1")))
				_, err = m.Record(t.Context(), "p1")
				if there := err == nil; there != applied {
					t.Errorf("the record is there: %v (%v), want %v", there, err, applied)
				}
				arm()
				out, err := m.Create(t.Context(), register("p2"))
				if err != nil || out.Replayed != applied || out.Record.Rev != 1 {
					t.Errorf("got %+v, %v, want the record, replayed %v", out, err, applied)
				}
				arm()
				if _, err = m.Apply(t.Context(), driver.Ref{ID: "p2"}, storetest.Bill(storetest.Meta{RequestID: "b"})); err != nil {
					t.Error(err)
				}
				if p, err := m.Record(t.Context(), "p2"); err != nil || p.Moves != 1 {
					t.Errorf("billed %d times, %v, want once", p.Moves, err)
				}
			})
		}
	}
}

// An answer that says that nothing was applied is no lost one.
func TestRefusedAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		code   fsm.Code
	}{
		"too many requests": {429, `{"code":8,"message":"etcdserver: too many requests"}`, ""},
		"no leader here":    {500, `{"code":2,"message":"raft proposal dropped"}`, ""},
		"full":              {429, `{"code":8,"message":"etcdserver: mvcc: database space exceeded"}`, fsm.ErrBusy},
		"forbidden":         {403, `{"code":7,"message":"etcdserver: permission denied"}`, fsm.ErrBusy},
		"too large":         {400, `{"code":3,"message":"etcdserver: request is too large"}`, fsm.ErrTooLarge},
		"above the limit":   {429, `{"code":8,"message":"grpc: received message larger than max (3 vs. 2)"}`, fsm.ErrTooLarge},
		"no gateway":        {404, `404 page not found`, fsm.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newData()
			members := []*fake{serve(t, d), serve(t, d)}
			tab := table(t, open(t, members...))
			var calls atomic.Int32
			for _, member := range members {
				member.fault(func(w http.ResponseWriter, path string, _ []byte) bool {
					if path != "/v3/kv/txn" || calls.Add(1) > 1 {
						return false
					}
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
					return true
				}, nil)
			}
			err := tab.Commit(t.Context(), creation("p1"))
			if c.code == "" {
				if err != nil || calls.Load() != 2 {
					t.Errorf("got %v after %d calls, want it done by the other member", err, calls.Load())
				}
				return
			}
			wantCode(t, err, c.code)
			if calls.Load() != 1 {
				t.Errorf("it was tried %d times, want once", calls.Load())
			}
		})
	}
}

// counted is a transport that counts what it is asked for.
type counted struct {
	http.RoundTripper
	n atomic.Int64
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// Members that cannot be reached cost nothing but the next try, and when there is
// none left a call has asked each of them three times.
func TestEndpointsFailOver(t *testing.T) {
	t.Parallel()
	d := newData()
	members := []*fake{serve(t, d), serve(t, d), serve(t, d)}
	tries := &counted{RoundTripper: &http.Transport{}}
	store, err := etcdstore.Open(t.Context(), addresses(members), etcdstore.WithTryTimeout(20*time.Second), etcdstore.WithHTTPClient(&http.Client{Transport: tries}))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := openMachine(t, store)
	for i := range members[:2] {
		members[i].Close()
		for n := range 6 {
			if _, err := m.Create(t.Context(), register(fmt.Sprint("p", i, n))); err != nil {
				t.Errorf("with %d members down: %v", i+1, err)
			}
		}
	}
	tab := table(t, store)
	members[2].Close()
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"a read", func() error { // the first one: it finds the connection that was left
			return tab.View(t.Context(), func(r driver.Reader) error { _, err := r.Row("q"); return err })
		}},
		{"a write", func() error { return tab.Commit(t.Context(), creation("q")) }},
	} {
		before := tries.n.Load()
		wantCode(t, c.call(), fsm.ErrBusy)
		if n := tries.n.Load() - before; n != 9 {
			t.Errorf("%s: nobody is there, and it was tried %d times, want 9", c.name, n)
		}
	}
}

// A member that takes connections and never answers costs one try: reads go on
// to the next one, and the write that it got is resolved there.
func TestHangingMember(t *testing.T) {
	t.Parallel()
	d := newData()
	members := []*fake{serve(t, d), serve(t, d)}
	store, err := etcdstore.Open(t.Context(), addresses(members), etcdstore.WithTryTimeout(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := openMachine(t, store)
	for round := range 4 {
		hangs := members[round%2]
		release := make(chan struct{})
		hangs.fault(func(http.ResponseWriter, string, []byte) bool { <-release; return true }, nil)
		for n := range 3 {
			id := fmt.Sprint("p", round, n)
			if out, err := m.Create(t.Context(), register(id)); err != nil || out.Record.Rev != 1 {
				t.Errorf("%s: got %+v, %v", id, out, err)
			}
		}
		hangs.fault(nil, nil)
		close(release)
	}
}

// A context that ends before anything was sent is the answer; after that nobody knows.
func TestContext(t *testing.T) {
	t.Parallel()
	member := serve(t, newData())
	tab := table(t, open(t, member))
	sent, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan struct{})
	member.fault(func(http.ResponseWriter, string, []byte) bool { cancel(); <-answered; return false }, nil)
	wantAmbiguous(t, tab.Commit(sent, creation("p1")))
	close(answered)
	ctx, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer end()
	err := tab.Commit(ctx, creation("p2"))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fsm.ErrAmbiguous) {
		t.Errorf("got %v, want the context's own error", err)
	}
	err = tab.View(ctx, func(r driver.Reader) error { _, err := r.Row("p1"); return err })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's own error", err)
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	d := newData()
	d.password = "pass\"word"
	members := []*fake{serve(t, d), serve(t, d)}
	for name, opts := range map[string][]etcdstore.Option{
		"no user":        nil,
		"wrong password": {etcdstore.WithUser("jobs", "s3cret")},
	} {
		_, err := etcdstore.Open(t.Context(), addresses(members), opts...)
		if !errors.Is(err, etcdstore.ErrLogin) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want ErrLogin without the password", name, err)
		}
	}
	store, err := etcdstore.Open(t.Context(), addresses(members), etcdstore.WithUser("jobs", d.password))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := openMachine(t, store)
	for i := range 5 {
		d.mu.Lock()
		d.token++ // every token is void: it expired, or the member was restarted
		d.mu.Unlock()
		if out, err := m.Create(t.Context(), register(fmt.Sprint("p", i))); err != nil || out.Replayed {
			t.Errorf("after the token expired: %+v, %v", out, err)
		}
	}
	if d.logins != 6 {
		t.Errorf("it has logged in %d times, want 6", d.logins)
	}
}

// A user in the address would end up in logs.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"http://jobs:s3cret@127.0.0.1:1", "127.0.0.1:2379", "unix:///x", "http://", "http://a?b=s3cret", "http://%zz:s3cret@a"} {
		_, err := etcdstore.Open(t.Context(), []string{endpoint})
		if err == nil || strings.Contains(err.Error(), "jobs:s3cret") {
			t.Errorf("%s: got %v, want a refusal without the password", endpoint, err)
		}
	}
	if _, err := etcdstore.Open(t.Context(), nil); err == nil {
		t.Error("no endpoint was taken")
	}
}
