package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
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

// once lets a fault happen in one transaction.
func once(f fault) fault {
	var done atomic.Bool
	return func() error {
		if !done.CompareAndSwap(false, true) {
			return nil
		}
		return f()
	}
}

// says answers with an error.
func says(err error) func(*fake) fault {
	return func(*fake) fault { return func() error { return err } }
}

// lostAnswers are the ways to lose an answer after the server has the request.
var lostAnswers = map[string]func(*fake) fault{
	"cut":          func(f *fake) fault { return f.cut },
	"timed out":    says(rpctypes.ErrGRPCTimeout),
	"no leader":    says(rpctypes.ErrGRPCNoLeader),
	"from a proxy": says(status.Error(codes.Unavailable, "unexpected HTTP status code received from server: 502 (Bad Gateway)")),
	"garbled":      says(status.Error(codes.Internal, "failed to unmarshal the received message")),
	"unknown":      says(status.Error(codes.Unknown, "etcdserver: something")),
	"too late":     func(*fake) fault { return func() error { time.Sleep(300 * time.Millisecond); return nil } },
}

// Whatever becomes of an answer after the request was sent: a commit says that
// it does not know, applied or not, and the engine finds out.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, lose := range lostAnswers {
		for _, applied := range []bool{true, false} {
			if name == "too late" && !applied {
				continue // a transaction that is only held is applied at last
			}
			t.Run(fmt.Sprintf("%s/applied %v", name, applied), func(t *testing.T) {
				t.Parallel()
				member := serve(t, newData())
				store, err := etcdstore.Open(t.Context(), config(member), etcdstore.WithTryTimeout(200*time.Millisecond))
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				m := openMachine(t, store)
				tab := table(t, store)
				arm := func() {
					if applied {
						member.fault(nil, once(lose(member)))
						return
					}
					member.fault(once(lose(member)), nil)
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

// An answer that says that nothing was applied is no lost one. Each kind of refusal
// has its way on: another try, or the caller.
func TestRefusedAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code fsm.Code // empty: another try does it
		is   error
	}{
		"too many requests":  {rpctypes.ErrGRPCRequestTooManyRequests, "", nil},
		"no leader here":     {status.Error(codes.Unknown, "raft proposal dropped"), "", nil},
		"not the leader":     {rpctypes.ErrGRPCNotLeader, "", nil},
		"not capable":        {rpctypes.ErrGRPCNotCapable, "", nil},
		"token is void":      {rpctypes.ErrGRPCInvalidAuthToken, "", nil}, // the client logs in
		"a learner":          {rpctypes.ErrGRPCNotSupportedForLearner, "", nil},
		"old users":          {rpctypes.ErrGRPCAuthOldRevision, "", nil},
		"old users, 3.5.0":   {status.Error(codes.Unknown, "auth: revision in header is old"), "", nil},
		"full":               {rpctypes.ErrGRPCNoSpace, fsm.ErrFull, nil},
		"forbidden":          {rpctypes.ErrGRPCPermissionDenied, fsm.ErrBusy, etcdstore.ErrForbidden},
		"a wrong password":   {rpctypes.ErrGRPCAuthFailed, fsm.ErrBusy, etcdstore.ErrLogin},
		"no user":            {rpctypes.ErrGRPCUserEmpty, fsm.ErrBusy, etcdstore.ErrLogin},
		"nobody of the name": {rpctypes.ErrGRPCUserNotFound, fsm.ErrBusy, etcdstore.ErrLogin},
		"unauthenticated":    {status.Error(codes.Unauthenticated, "by a proxy"), fsm.ErrBusy, etcdstore.ErrLogin},
		"too large":          {rpctypes.ErrGRPCRequestTooLarge, fsm.ErrTooLarge, nil},
		"too many keys":      {rpctypes.ErrGRPCTooManyOps, fsm.ErrTooLarge, nil},
		"above the limit":    {status.Error(codes.ResourceExhausted, "grpc: received message larger than max (3 vs. 2)"), fsm.ErrTooLarge, nil},
		"no such service":    {status.Error(codes.Unimplemented, "unknown service etcdserverpb.KV"), fsm.ErrBusy, nil},
		"a key twice":        {rpctypes.ErrGRPCDuplicateKey, fsm.ErrBusy, nil},
		"not found":          {status.Error(codes.NotFound, "by a proxy"), fsm.ErrBusy, nil},
		"out of range":       {rpctypes.ErrGRPCLeaseTTLTooLarge, fsm.ErrBusy, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newData()
			members := []*fake{serve(t, d), serve(t, d)}
			tab := table(t, open(t, members...))
			var calls atomic.Int32
			for _, member := range members {
				member.fault(func() error {
					if calls.Add(1) > 1 {
						return nil
					}
					return c.err
				}, nil)
			}
			err := tab.Commit(t.Context(), creation("p1"))
			if c.code == "" {
				if err != nil || calls.Load() != 2 {
					t.Errorf("got %v after %d calls, want it done by the second", err, calls.Load())
				}
				return
			}
			wantCode(t, err, c.code)
			if calls.Load() != 1 || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("it was tried %d times and is %v, want once and %v", calls.Load(), err, c.is)
			}
		})
	}
}

// No deadline goes to the servers: the client would repeat a write that one gave up.
func TestNoDeadlineIsSent(t *testing.T) {
	t.Parallel()
	d := newData()
	tab := table(t, open(t, serve(t, d)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := tab.Commit(ctx, creation("p1")); err != nil {
		t.Fatal(err)
	}
	if d.deadline {
		t.Error("a transaction came with a deadline")
	}
}

// Members that cannot be reached cost nothing but the next try, and when there is
// none left a call ends after one wait for a connection.
func TestEndpointsFailOver(t *testing.T) {
	t.Parallel()
	d := newData()
	members := []*fake{serve(t, d), serve(t, d), serve(t, d)}
	store, err := etcdstore.Open(t.Context(), config(members...), etcdstore.WithTryTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := openMachine(t, store)
	for i := range members[:2] {
		members[i].server.Stop()
		for n := range 6 {
			if _, err := m.Create(t.Context(), register(fmt.Sprint("p", i, n))); err != nil {
				t.Errorf("with %d members down: %v", i+1, err)
			}
		}
	}
	tab := table(t, store)
	members[2].server.Stop()
	read := func() error {
		return tab.View(t.Context(), func(r driver.Reader) error { _, err := r.Row("q"); return err })
	}
	for i, call := range []func() error{
		read, // the first one: it finds the connection that was left
		func() error { return tab.Commit(t.Context(), creation("q")) },
	} {
		began := time.Now()
		err := call()
		wantCode(t, err, fsm.ErrBusy)
		if took := time.Since(began); took > 10*time.Second || !strings.Contains(err.Error(), "refused") {
			t.Errorf("call %d: nobody is there; after %v: %v", i, took, err)
		}
	}
}

// A member that takes connections and never answers costs one try: reads go on
// to the next one, and the write that it got is resolved there.
func TestHangingMember(t *testing.T) {
	t.Parallel()
	d := newData()
	members := []*fake{serve(t, d), serve(t, d), serve(t, d)}
	store, err := etcdstore.Open(t.Context(), config(members...), etcdstore.WithTryTimeout(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := openMachine(t, store)
	for round := range 4 {
		hangs := members[round%3]
		release := make(chan struct{})
		hangs.fault(func() error { <-release; return rpctypes.ErrGRPCStopped }, nil)
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
	member.fault(func() error { cancel(); <-answered; return nil }, nil)
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
	as := func(name, password string) clientv3.Config {
		c := config(members...)
		c.Username, c.Password = name, password
		return c
	}
	for name, c := range map[string]clientv3.Config{
		"no user": as("", ""), "wrong password": as("jobs", "s3cret"), "empty password": as("jobs", ""),
	} {
		_, err := etcdstore.Open(t.Context(), c)
		if !errors.Is(err, etcdstore.ErrLogin) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want ErrLogin without the password", name, err)
		}
	}
	store, err := etcdstore.Open(t.Context(), as("jobs", d.password))
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
	for _, endpoint := range []string{"http://jobs:s3cret@127.0.0.1:1", "jobs:s3cret@127.0.0.1:1", "http://a?b=s3cret", "http://%zz:s3cret@a"} {
		_, err := etcdstore.Open(t.Context(), clientv3.Config{Endpoints: []string{endpoint}})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want a refusal without the password", endpoint, err)
		}
	}
	if _, err := etcdstore.Open(t.Context(), clientv3.Config{}); err == nil {
		t.Error("no endpoint was taken")
	}
}
