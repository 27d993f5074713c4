package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/webhook/notice"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// world is a sender and a receiver, each a process of its own, under load.
type world struct {
	t                *testing.T
	send, receive    string // the programs
	outbox, inboxDB  string // their files
	proxy            *proxy
	sender, receiver *process
	starts           int

	mu      sync.Mutex
	acked   map[string]bool // ids of notices whose publication was acknowledged
	readers sync.WaitGroup
}

func newWorld(t *testing.T, send, receive string) *world {
	dir := t.TempDir()
	w := &world{
		t: t, send: send, receive: receive, outbox: filepath.Join(dir, "notices.db"), inboxDB: filepath.Join(dir, "inbox.db"),
		proxy: newProxy(t), acked: map[string]bool{},
	}
	w.startReceiver()
	return w
}

func (w *world) startReceiver() {
	w.receiver = begin(w.t, w.receive, "receive", "-db", w.inboxDB, "-listen", "127.0.0.1:0")
	address := strings.TrimPrefix(w.receiver.words, "listening on ")
	w.proxy.target.Store(&address)
}

// startSender starts a sender that publishes until it is killed, or, without a
// load, one that ends when all is delivered.
func (w *world) startSender(load bool) {
	w.starts++
	args := []string{"send", "-db", w.outbox, "-to", w.proxy.URL + "/notices", "-acks", "-backoff", "20ms", "-longest", "200ms", "-timeout", "2s"}
	if load {
		args = append(args, "-name", fmt.Sprint("s", w.starts), "-publish", "1000000", "-pause", "2ms")
	}
	p := begin(w.t, w.send, args...)
	w.sender = p
	w.readers.Go(func() {
		for line := range p.lines {
			if id, ok := strings.CutPrefix(line, "ack "); ok {
				w.mu.Lock()
				w.acked[id] = true
				w.mu.Unlock()
			}
		}
	})
}

func (w *world) killSender()   { w.sender.kill(w.t) }
func (w *world) killReceiver() { w.receiver.kill(w.t) }

// moments are when a process is killed: at any, or while what goes between them
// is held by the proxy and then lost.
var moments = []string{"sender, at random", "receiver, at random", "sender, request on the way", "sender, answer on the way", "receiver, answer on the way"}

// kill kills one of them, and starts it again.
func (w *world) kill(moment string) {
	victim := w.killSender
	if strings.HasPrefix(moment, "receiver") {
		victim = w.killReceiver
	}
	pause(50)
	switch {
	case strings.HasSuffix(moment, "request on the way"):
		catch(w.t, &w.proxy.request, func() { pause(5); victim() })
	case strings.HasSuffix(moment, "answer on the way"):
		catch(w.t, &w.proxy.answer, func() { pause(5); victim() })
	default:
		pause(100)
		victim()
	}
	if strings.HasPrefix(moment, "receiver") {
		pause(40) // down for a while: tries fail, and wait
		w.startReceiver()
	} else {
		w.startSender(true)
	}
}

func pause(most int) { time.Sleep(time.Duration(rand.IntN(most*1000)) * time.Microsecond) }

// verdict is what came of it.
type verdict struct {
	published, acked, lost, missing, doubled, late, again int
}

// end lets a last sender deliver what is left, and looks at both files.
func (w *world) end() verdict {
	t := w.t
	t.Helper()
	w.killSender()
	w.startSender(false)
	w.readers.Wait() // it ends by itself
	if err := w.sender.cmd.Wait(); err != nil {
		t.Fatalf("the last sender: %v: %s", err, &w.sender.err)
	}
	w.killReceiver()

	ctx := t.Context()
	store, err := sqlite.Open(w.outbox)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m, err := notice.Open(ctx, store, newPoster(sendConfig{workers: 1}))
	if err != nil {
		t.Fatal(err)
	}
	v := verdict{acked: len(w.acked)}
	want := map[string]string{} // what must have been taken, by topic and number
	numbers := map[string]int64{}
	for n, err := range m.List(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		v.published++
		delete(w.acked, n.ID)
		if n.State != notice.StateDelivered {
			t.Errorf("%s is %s, want delivered", n.ID, n.State)
		}
		want[fmt.Sprint(n.Topic, " ", n.Number)] = n.Body.String()
		numbers[n.Topic] = max(numbers[n.Topic], n.Number)
	}
	v.lost = len(w.acked)
	for topic, last := range numbers {
		for n := range last {
			if _, ok := want[fmt.Sprint(topic, " ", n+1)]; !ok {
				t.Errorf("%s has no number %d", topic, n+1)
			}
		}
	}
	for f, err := range audit.Run(ctx, m) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("the audit: %s", f)
	}
	w.inbox(&v, want, numbers)
	return v
}

// inbox compares what the receiver has with what it must have.
func (w *world) inbox(v *verdict, want map[string]string, numbers map[string]int64) {
	t := w.t
	t.Helper()
	db, err := sqlite.OpenDB(w.inboxDB)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := map[string]string{}
	newest := map[string]int64{}
	each(t, db, `SELECT topic, number, body FROM ledger ORDER BY place`, func(topic string, number int64, body string) {
		key := fmt.Sprint(topic, " ", number)
		if _, ok := got[key]; ok {
			v.doubled++
		}
		got[key] = body
		if number < newest[topic] {
			v.late++
		}
		newest[topic] = max(newest[topic], number)
	})
	for key := range want {
		if _, ok := got[key]; !ok {
			v.missing++
		}
	}
	if v.missing == 0 {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what was taken is not what was published (-published +taken):\n%s", diff)
		}
		if diff := cmp.Diff(numbers, newest); diff != "" {
			t.Errorf("the greatest numbers (-published +taken):\n%s", diff)
		}
	}
	each(t, db, `SELECT topic, number, body FROM latest`, func(topic string, number int64, body string) {
		if number != newest[topic] || body != got[fmt.Sprint(topic, " ", number)] {
			t.Errorf("%s: the latest is number %d, %s; the newest taken is %d", topic, number, body, newest[topic])
		}
	})
	if err := db.QueryRowContext(t.Context(), `SELECT coalesce(sum(again), 0) FROM answers`).Scan(&v.again); err != nil {
		t.Fatal(err)
	}
}

func each(t *testing.T, db *sql.DB, query string, f func(topic string, number int64, body string)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var topic, body string
		var number int64
		if err := rows.Scan(&topic, &number, &body); err != nil {
			t.Fatal(err)
		}
		f(topic, number, body)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestKills kills sender and receiver again and again under load. Whatever was
// committed is delivered, and the receiver has it exactly once.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes; run without -short")
	}
	if !faults.Long() {
		t.Parallel()
	}
	began, kills := time.Now(), faults.Size(15, 1000)
	w := newWorld(t, "send", "receive")
	w.startSender(true)
	for n := range kills {
		w.kill(moments[n%len(moments)])
	}
	v := w.end()
	if v.lost+v.missing+v.doubled > 0 {
		t.Errorf("%d acknowledged notices lost, %d delivered ones never taken, %d taken twice", v.lost, v.missing, v.doubled)
	}
	if v.acked < kills || v.again < kills/len(moments) {
		t.Errorf("%d notices, %d asked for again: the test shows nothing", v.acked, v.again)
	}

	forgetful := newWorld(t, "send", "forgetful")
	forgetful.startSender(true)
	for range 3 {
		forgetful.kill("sender, answer on the way")
	}
	doubled := forgetful.end()
	if doubled.doubled == 0 || doubled.lost+doubled.missing > 0 {
		t.Errorf("a receiver that does not look at the key: %+v; want doubles and nothing else", doubled)
	}

	eager := newWorld(t, "eager", "receive")
	eager.startSender(true)
	for range 3 {
		catch(t, &eager.proxy.request, func() { time.Sleep(100 * time.Millisecond); eager.killSender() })
		eager.startSender(true)
	}
	lost := eager.end()
	if lost.missing == 0 || lost.lost+lost.doubled > 0 {
		t.Errorf("a sender that acknowledges before it delivers: %+v; want missing ones and nothing else", lost)
	}

	faults.Report(t, faults.Row{
		Test: "kill -9 of sender and receiver of an outbox", Store: "SQLite, HTTP", How: "SIGKILL, at random and while a proxy holds a request or an answer",
		Figures: fmt.Sprintf("%d kills, %d notices committed, lost %d, never taken %d, taken twice %d; %d answered again from their key, %d out of order",
			kills, v.published, v.lost, v.missing, v.doubled, v.again, v.late),
		Control: fmt.Sprintf("without the key check %d of %d taken twice; acknowledged before it was sent: %d of %d never taken",
			doubled.doubled, doubled.published, lost.missing, lost.published),
		Took: time.Since(began), Longer: faults.Longer(15, 1000),
	})
}
