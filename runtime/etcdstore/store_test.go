package etcdstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

func many(n int, prefix string) []fsmimpl.Call[storetest.Parcel] {
	var calls []fsmimpl.Call[storetest.Parcel]
	for i := range n {
		calls = append(calls, register(fmt.Sprintf("%s%04d", prefix, i)))
	}
	return calls
}

// Batches go far beyond the operations of one level of a transaction; what
// is larger than the server takes is refused and leaves nothing.
func TestBatches(t *testing.T) {
	t.Parallel()
	d := newData()
	m := openMachine(t, open(t, serve(t, d)))
	if _, err := m.CreateMany(t.Context(), many(300, "p")); err != nil {
		t.Fatal(err)
	}
	if outs, err := m.Pick(t.Context(), 60, storetest.Hold(storetest.Meta{RequestID: "r", Actor: "w"}, "a", time.Now())); err != nil || len(outs) != 60 {
		t.Errorf("picked %d, %v, want 60", len(outs), err)
	}
	_, err := m.CreateMany(t.Context(), many(900, "q"))
	wantCode(t, err, fsm.ErrTooLarge)
	big := register("big")
	big.Reason = strings.Repeat("x", 4<<20)
	_, err = m.Create(t.Context(), big)
	wantCode(t, err, fsm.ErrTooLarge)
	if counts, err := m.Count(t.Context()); err != nil || counts["waiting"] != 240 || counts["held"] != 60 {
		t.Errorf("got %v, %v, want 240 waiting and 60 held", counts, err)
	}
}

// What the specification has an index for does not read the whole table.
func TestIndexes(t *testing.T) {
	t.Parallel()
	d := newData()
	m := openMachine(t, open(t, serve(t, d)))
	for i := range 4 {
		if _, err := m.CreateMany(t.Context(), many(200, string(rune('a'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	due := time.Now().Add(time.Hour)
	if _, err := m.Pick(t.Context(), 30, storetest.Hold(storetest.Meta{RequestID: "r", Actor: "w"}, "a", due)); err != nil {
		t.Fatal(err)
	}
	label := storetest.Register(storetest.Meta{RequestID: "l"}, storetest.RegisterInput{ID: "labelled", Lane: "a", Label: fsm.Some("l")})
	if _, err := m.Create(t.Context(), label); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		most int
		call func() error
	}{
		{"next", 40, func() error {
			_, err := m.Pick(t.Context(), 1, storetest.Hold(storetest.Meta{RequestID: "r2", Actor: "w"}, "a", due))
			return err
		}},
		{"sweep", 0, func() error { _, err := m.Sweep(t.Context()); return err }},
		{"count", 0, func() error { _, err := m.Count(t.Context()); return err }},
		{"peers", 4, func() error {
			_, err := m.Apply(t.Context(), driver.Ref{ID: "a0000"}, storetest.Shelve(storetest.Meta{RequestID: "s"}, "slot", "t"))
			return err
		}},
		{"dedupe", 4, func() error {
			out, err := m.Create(t.Context(), storetest.Register(storetest.Meta{RequestID: "l2"}, storetest.RegisterInput{Lane: "a", Label: fsm.Some("l")}))
			if !out.Existing {
				t.Error("the labelled one was not found")
			}
			return err
		}},
		{"a page of a state", 300, func() error {
			n := 0
			for _, err := range m.List(t.Context(), driver.Query{States: []string{"waiting"}, Limit: 5}) {
				if n++; err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		d.mu.Lock()
		d.rows = 0
		d.mu.Unlock()
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if d.rows > c.most {
			t.Errorf("%s read %d records of 801, want at most %d", c.what, d.rows, c.most)
		}
	}
}

// A view whose revision is compacted says so, and never shows two revisions; a
// transaction begins anew.
func TestCompaction(t *testing.T) {
	t.Parallel()
	d := newData()
	store := open(t, serve(t, d))
	m, tab := openMachine(t, store), table(t, store)
	if _, err := m.CreateMany(t.Context(), many(80, "p")); err != nil {
		t.Fatal(err)
	}
	runs, seen, hurt := 0, 0, true
	read := func(r driver.Reader) error {
		runs++
		seen = 0
		for row, err := range r.Rows(driver.Query{}) {
			if err != nil {
				return err
			}
			if seen == 10 && hurt {
				if _, err := m.Apply(t.Context(), driver.Ref{ID: "p0070"}, storetest.Bill(storetest.Meta{})); err != nil {
					return err
				}
				d.compact()
			}
			if row.ID == "p0070" && row.Rev != int64(runs) {
				t.Errorf("run %d sees p0070 at revision %d", runs, row.Rev)
			}
			seen++
		}
		return nil
	}
	wantCode(t, tab.View(t.Context(), read), fsm.ErrBusy)
	if runs != 1 {
		t.Errorf("the view ran %d times, want once", runs)
	}
	err := tab.Update(t.Context(), func(tx driver.Tx) error {
		hurt = runs < 2
		return read(tx)
	})
	if err != nil || runs != 3 || seen != 80 {
		t.Errorf("%d runs, %d rows, %v; want two more runs and 80 rows", runs-1, seen, err)
	}
}

// An event stands in the log behind all that were committed before it, also
// when its writer has heard nothing of the store for long.
func TestLogOfIdleWriter(t *testing.T) {
	t.Parallel()
	d := newData()
	idle := table(t, open(t, serve(t, d)))
	busy := open(t, serve(t, d))
	m := openMachine(t, busy)
	for i := range 60 {
		if _, err := m.CreateMany(t.Context(), many(1, fmt.Sprint("p", i))); err != nil {
			t.Fatal(err)
		}
	}
	d.mu.Lock()
	d.revision += 5000 // of other users of the cluster
	d.mu.Unlock()
	var last driver.Cursor
	if _, err := m.CreateMany(t.Context(), many(1, "q")); err != nil {
		t.Fatal(err)
	}
	for e, err := range m.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		last = e.Cursor
	}
	if err := idle.Commit(t.Context(), creation("late")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range m.Log(t.Context(), last) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
	}
	if diff := cmp.Diff([]string{"late"}, got); diff != "" {
		t.Errorf("behind the last cursor (-want +got):\n%s", diff)
	}
}

// What a dropped delivery leaves behind is swept away by who looks for deliveries.
func TestOutboxLeftOver(t *testing.T) {
	t.Parallel()
	d := newData()
	tab := table(t, open(t, serve(t, d)))
	w := creation("p1")
	w.Outbox = []driver.Delivery{{ID: "p1", Rev: 1, Effect: "notify", Key: "k", Due: w.Event.At}}
	if err := tab.Commit(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	next := *w.Row
	next.Rev = 2
	left := &driver.Write{Prev: driver.Ref{ID: "p1", Rev: 1}, PrevState: "waiting", Old: w.Row, Row: &next, Leave: true, Event: w.Event}
	left.Event.Rev, left.Event.From, left.Event.RequestID, left.Event.RequestN = 2, "waiting", "", -1
	if err := tab.Commit(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if n := d.holding("/d/"); n != 1 {
		t.Errorf("%d keys of due deliveries, want the one that is left over", n)
	}
	err := tab.View(t.Context(), func(r driver.Reader) error {
		list, err := r.Outbox(time.Now().Add(time.Hour), 10)
		if len(list) != 0 {
			t.Errorf("got %v, want nothing", list)
		}
		return err
	})
	if n := d.holding("/d/"); n != 0 || err != nil {
		t.Errorf("%d keys of due deliveries are left, %v", n, err)
	}
}

// Close waits for what is in flight and lets nothing begin.
func TestClose(t *testing.T) {
	t.Parallel()
	member := serve(t, newData())
	store := open(t, member)
	tab := table(t, store)
	sent, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	member.fault(func() error {
		first.Do(func() { close(sent) })
		<-release
		return nil
	}, nil)
	answer, closed := make(chan error, 1), make(chan error, 1)
	go func() { answer <- tab.Commit(context.Background(), creation("p1")) }()
	<-sent
	go func() { closed <- store.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if err := errors.Join(<-answer, <-closed); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		tab.Commit(t.Context(), creation("p2")), tab.Check(t.Context()), tab.Migrate(t.Context()),
		tab.View(t.Context(), func(driver.Reader) error { return nil }),
		tab.Update(t.Context(), func(driver.Tx) error { return nil }),
	} {
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certified := httptest.NewUnstartedServer(nil) // only for its certificate
	certified.StartTLS()
	certified.Close()
	f := serveOver(t, newData(), &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	_, err := etcdstore.Open(t.Context(), config(f), etcdstore.WithTryTimeout(3*time.Second))
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: got %v, want an error about its certificate", err)
	}
	ours := config(f)
	ours.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	ours.TLS.RootCAs.AddCert(certified.Certificate())
	store, err := etcdstore.Open(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := table(t, store).Commit(t.Context(), creation("p1")); err != nil {
		t.Error(err)
	}
}

// A client of the caller outlives the stores over it, which know nothing of each
// other below different prefixes.
func TestClientOfTheCaller(t *testing.T) {
	t.Parallel()
	c, err := clientv3.New(config(serve(t, newData())))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, prefix := range []string{"one/", "two/"} {
		store, err := etcdstore.New(t.Context(), c, etcdstore.WithPrefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		tab := table(t, store)
		err = tab.View(t.Context(), func(r driver.Reader) error { _, err := r.Row("p1"); return err })
		if !errors.Is(err, driver.ErrNotFound) {
			t.Errorf("below %s: got %v, want ErrNotFound", prefix, err)
		}
		if err := errors.Join(tab.Commit(t.Context(), creation("p1")), store.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A store for looking reads, and writes nothing.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	member := serve(t, newData())
	if err := table(t, open(t, member)).Commit(t.Context(), creation("p1")); err != nil {
		t.Fatal(err)
	}
	store, err := etcdstore.Open(t.Context(), config(member), etcdstore.WithReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tab, err := store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.View(t.Context(), func(r driver.Reader) error { _, err := r.Row("p1"); return err }); err != nil {
		t.Error(err)
	}
	wantCode(t, tab.Commit(t.Context(), creation("p2")), fsm.ErrBusy)
	err = tab.View(t.Context(), func(r driver.Reader) error { _, err := r.Row("p2"); return err })
	if !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("after a refused write: got %v, want ErrNotFound", err)
	}
}

// An old cluster lacks what the store needs.
func TestOldCluster(t *testing.T) {
	t.Parallel()
	d := newData()
	d.release = "3.4.30"
	if _, err := etcdstore.Open(t.Context(), config(serve(t, d))); err == nil || !strings.Contains(err.Error(), "3.5") {
		t.Errorf("got %v, want to be told that 3.5 is needed", err)
	}
}

// The machines below a prefix are found, among keys of others.
func TestInstalled(t *testing.T) {
	t.Parallel()
	d := newData()
	d.note("fsm/other", version{create: 1, mod: 1})
	d.note("fsm/strange/x", version{create: 1, mod: 1})
	d.note("other/parcel/meta", version{create: 1, mod: 1, value: []byte(`{"machine":"other"}`)})
	store := open(t, serve(t, d))
	s := storetest.Schema()
	table(t, store)
	got, err := store.Installed(t.Context())
	if diff := cmp.Diff([]etcdstore.Installed{{Machine: s.Machine, Version: s.Version, Hash: s.Hash}}, got); diff != "" || err != nil {
		t.Errorf("%v; (-want +got):\n%s", err, diff)
	}
}
