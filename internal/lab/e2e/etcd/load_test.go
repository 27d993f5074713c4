package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fsmgen/fsmgen/internal/lab/e2e/etcdcluster"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/etcdstore"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

type (
	parcel  = storetest.Parcel
	machine = fsm.Machine[parcel]
	outcome = fsm.Outcome[parcel]
)

const (
	workers  = 8
	hot      = 3               // records that all workers bill at once
	limit    = 3 * time.Second // of one call; then it is made again
	farAway  = 1000 * time.Hour
	settling = 2 * time.Minute // for a call to be told what became of it
	tellFrom = 5 * time.Second // without an acknowledgement: more than any election takes
)

// load is what many callers do to a cluster, and what they were told.
type load struct {
	t        *testing.T
	machines []*machine // each over a store of its own
	stop     chan struct{}
	group    sync.WaitGroup

	mu        sync.Mutex
	acked     map[string]int64 // "id\x00request id" -> the revision that was told
	notified  map[string]int   // performed deliveries by key
	last      time.Time        // of the newest acknowledgement
	gap       time.Duration    // the longest time without one since it was reset
	watcher   *watcher         // of the cluster; nil: nobody asks
	ambiguous int              // calls that were told that nobody knows
	busy      int              // calls that were told that surely nothing happened
	replayed  int              // of the calls made again: done by an earlier try
	count     atomic.Int64     // acknowledgements

	unanswered atomic.Int64 // requests that got no answer, reads included
}

// unanswering counts the tries that get no answer, or one that says that nobody knows.
func (l *load) unanswering(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := next(ctx, method, request, answer, conn, opts...)
	switch status.Code(err) {
	case codes.OK, codes.OutOfRange, codes.InvalidArgument:
	default:
		l.unanswered.Add(1)
	}
	return err
}

// startLoad lets workers call until finish.
func startLoad(t *testing.T, c *etcdcluster.Cluster, prefix string, with ...grpc.UnaryClientInterceptor) *load {
	t.Helper()
	l := &load{t: t, stop: make(chan struct{}), acked: map[string]int64{}, notified: map[string]int{}, last: time.Now()}
	for range 2 {
		store, err := etcdstore.Open(t.Context(), c.Config(append(with, l.unanswering)...), etcdstore.WithPrefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		l.machines = append(l.machines, l.open(store))
	}
	for i := range hot {
		l.must(l.call(l.machines[0], hotID(i), "make", func(ctx context.Context, m *machine) (outcome, error) {
			return m.Create(ctx, storetest.Register(storetest.Meta{RequestID: "make" + hotID(i)}, storetest.RegisterInput{ID: hotID(i), Lane: "hot"}))
		}))
	}
	for w := range workers {
		l.group.Go(func() { l.work(l.machines[w%len(l.machines)], w) })
	}
	for _, m := range l.machines {
		l.group.Go(func() {
			for !l.over() {
				_, _ = m.Deliver(context.Background()) // what fails is delivered again
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	return l
}

func hotID(i int) string { return fmt.Sprint("hot", i) }

func (l *load) open(store fsm.Store) *machine {
	l.t.Helper()
	schema := storetest.Schema()
	if err := fsmimpl.Migrate(l.t.Context(), store, schema); err != nil {
		l.t.Fatal(err)
	}
	var m *machine
	nothing := func(context.Context, fsm.Tx, parcel, string, fsm.Event) error { return nil }
	m, err := fsm.NewMachine(l.t.Context(), store, storetest.Descriptor(schema), map[string]fsmimpl.EffectFunc[parcel]{
		"carry": nothing,
		// The ledger of the atomic effect is a record that its transaction makes,
		// one for each request: it does not keep two of them from one revision.
		"charge": func(ctx context.Context, tx fsm.Tx, p parcel, _ string, e fsm.Event) error {
			id := "ledger " + p.ID + " " + e.RequestID
			_, err := storetest.In(l.t, m, store, tx).Create(ctx, storetest.Register(storetest.Meta{RequestID: id}, storetest.RegisterInput{ID: id, Lane: "ledger"}))
			return err
		},
		"notify": func(_ context.Context, _ fsm.Tx, _ parcel, key string, _ fsm.Event) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.notified[key]++
			return nil
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := m.Startup(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	return m
}

func (l *load) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// work takes parcels through their lives, and bills the hot ones between.
func (l *load) work(m *machine, w int) {
	for i := 0; !l.over(); i++ {
		id := fmt.Sprintf("p%d-%05d", w, i)
		due := time.Now().Add(farAway)
		out, ok := l.call(m, id, "make "+id, func(ctx context.Context, m *machine) (outcome, error) {
			return m.Create(ctx, storetest.Register(storetest.Meta{RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "lane " + id}))
		})
		steps := []struct {
			request string
			call    fsmimpl.Call[parcel]
		}{
			{"hold", storetest.Hold(storetest.Meta{RequestID: "hold", Actor: "w"}, "lane "+id, due)},
			{"bill", storetest.Bill(storetest.Meta{RequestID: "bill"})},
			{"shelve", storetest.Shelve(storetest.Meta{RequestID: "shelve"}, "slot "+id, "t")},
			{"send", storetest.Send(storetest.Meta{RequestID: "send"})},
		}
		for _, s := range steps {
			if !ok {
				return
			}
			at := out
			out, ok = l.call(m, id, s.request, func(ctx context.Context, m *machine) (outcome, error) { return m.Apply(ctx, at, s.call) })
		}
		request := "hot " + id
		l.call(m, hotID(i%hot), request, func(ctx context.Context, m *machine) (outcome, error) {
			return m.Apply(ctx, fsm.Ref{ID: hotID(i % hot)}, storetest.Bill(storetest.Meta{RequestID: request}))
		})
	}
}

func (l *load) must(_ outcome, ok bool) {
	l.t.Helper()
	if !ok {
		l.t.FailNow()
	}
}

// call makes a call with its request id again and again until it is known what
// became of it.
func (l *load) call(m *machine, id, request string, f func(context.Context, *machine) (outcome, error)) (outcome, bool) {
	again := false
	for deadline := time.Now().Add(settling); ; {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		out, err := f(ctx, m)
		cancel()
		if err == nil {
			l.ack(id, request, out, again)
			return out, true
		}
		again = true
		l.mu.Lock()
		l.watcher.note("a caller: " + plain(err))
		switch {
		case errors.Is(err, fsm.ErrAmbiguous):
			l.ambiguous++
		case errors.Is(err, fsm.ErrBusy), errors.Is(err, context.DeadlineExceeded):
			l.busy++
		default:
			l.t.Errorf("%s of %s: %v", request, id, err)
			l.mu.Unlock()
			return out, false
		}
		l.mu.Unlock()
		if time.Now().After(deadline) {
			l.t.Errorf("%s of %s is not resolved: %v", request, id, err)
			return out, false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *load) ack(id, request string, out outcome, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[id+"\x00"+request] = out.Record.Rev
	if again && out.Replayed {
		l.replayed++
	}
	now := time.Now()
	gap := now.Sub(l.last)
	if l.gap = max(l.gap, gap); gap > tellFrom && l.watcher != nil {
		l.t.Logf("no call was acknowledged for %v:%s", gap, l.watcher.between(l.last.Add(-time.Second), now))
	}
	l.last = now
	l.count.Add(1)
}

// reset begins a new measurement of the longest time without an acknowledgement.
func (l *load) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap, l.last = 0, time.Now()
}

// longest returns it.
func (l *load) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.gap, time.Since(l.last))
}

// await waits for so many further acknowledgements.
func (l *load) await(n int64, within time.Duration) {
	l.t.Helper()
	want := l.count.Load() + n
	for deadline := time.Now().Add(within); l.count.Load() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("after %v there are %d acknowledgements too few", within, want-l.count.Load())
		}
	}
}

// finish ends the calls and delivers what is left.
func (l *load) finish() {
	l.t.Helper()
	close(l.stop)
	l.group.Wait()
	for deadline := time.Now().Add(settling); ; time.Sleep(50 * time.Millisecond) {
		n, err := l.machines[0].Deliver(context.Background())
		if err == nil && n == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("the outbox is not empty: %d, %v", n, err)
		}
	}
}

// verdict compares the cluster with what the callers were told.
type verdict struct {
	acked, lost int
	wrong       []string // anything else
}

func (v *verdict) add(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

func (v *verdict) text() string {
	if len(v.wrong) > 5 {
		return strings.Join(v.wrong[:5], "; ") + fmt.Sprintf("; and %d more", len(v.wrong)-5)
	}
	return strings.Join(v.wrong, "; ")
}

// verify reads everything: an acknowledged call stands in the log at the
// revision that was told, once; the record is the fold of its log; a billed
// record was billed once per request, and the ledger has an entry for each; who
// was sent was notified, and nobody else.
func (l *load) verify() verdict {
	l.t.Helper()
	ctx, m := context.Background(), l.machines[1]
	v := verdict{acked: len(l.acked)}
	at := map[string]int64{} // "id\x00request id" -> revision
	sent, ledger, billed := map[string]bool{}, 0, 0
	for p, err := range m.List(ctx, driver.Query{}) {
		if err != nil {
			v.add("read the records: %v", err)
			return v
		}
		if p.Lane == "ledger" {
			ledger++
			continue
		}
		bills := int64(0)
		for e, err := range m.History(ctx, p.ID) {
			if err != nil {
				v.add("read the log of %s: %v", p.ID, err)
				break
			}
			key := p.ID + "\x00" + e.RequestID
			if strings.HasPrefix(e.RequestID, "make") {
				key = p.ID + "\x00make"
				if !strings.HasPrefix(p.ID, "hot") {
					key = p.ID + "\x00make " + p.ID
				}
			}
			if rev, twice := at[key]; twice {
				v.add("request %q stands at the revisions %d and %d", key, rev, e.Rev)
			}
			at[key] = e.Rev
			switch e.Operation {
			case "bill":
				bills++
			case "send":
				sent[fmt.Sprintf("parcel/%s/%d/notify", p.ID, e.Rev)] = true
			}
		}
		billed += int(bills)
		if moves := p.Moves; strings.HasPrefix(p.ID, "hot") && moves != bills {
			v.add("%s was billed %d times and its log says %d", p.ID, moves, bills)
		}
	}
	for key, rev := range l.acked {
		switch got, there := at[key]; {
		case !there:
			v.lost++
		case got != rev:
			v.add("request %q was told revision %d and stands at %d", key, rev, got)
		}
	}
	for key := range at {
		if _, told := l.acked[key]; !told {
			v.add("request %q stands in the log, and nobody was told", key)
		}
	}
	if ledger != billed {
		v.add("the ledger has %d entries, the logs %d bills", ledger, billed)
	}
	l.mu.Lock()
	notified := slices.Collect(maps.Keys(l.notified))
	l.mu.Unlock()
	for _, key := range notified {
		if !sent[key] {
			v.add("%s was notified and not sent", key)
		}
	}
	if len(notified) != len(sent) {
		v.add("%d were sent, %d were notified", len(sent), len(notified))
	}
	for f, err := range audit.Run(ctx, m) {
		if err != nil {
			v.add("audit: %v", err)
			break
		}
		v.add("audit: %v", f)
	}
	return v
}
