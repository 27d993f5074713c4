package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// shop is a service under test: two servers on one database, each with a machine and a store of its own.
type shop struct {
	t      *testing.T
	at     [2]string
	orders *order.Machine
	clock  *fsmtest.Clock
	mails  *lossy
}

// lossy is a mail service whose first answers are lost, for each mail.
type lossy struct {
	mailbox
	mu    sync.Mutex
	lose  int
	tries map[string]int // by key
	all   strings.Builder
}

func newLossy() *lossy {
	l := &lossy{tries: map[string]int{}}
	l.out = &l.all
	return l
}

// MailReceipt sends a mail, and may say that it did not.
func (l *lossy) MailReceipt(ctx context.Context, o order.Order, key string, e fsm.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.mailbox.MailReceipt(ctx, o, key, e)
	if l.tries[key]++; l.tries[key] <= l.lose {
		return errors.New("no answer")
	}
	return err
}

// over runs a test over each database.
func over(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	for name, db := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "orders.db") },
		"postgres": func(t *testing.T) string { return pgtest.DSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{t: t, clock: fsmtest.NewClock(), mails: newLossy()}
			place := db(t)
			for i := range s.at {
				store, orders, err := open(t.Context(), place, s.mails, fsm.WithClock(s.clock.Now))
				if err != nil {
					t.Fatal(err)
				}
				server := httptest.NewServer((&service{orders, slog.New(slog.NewTextHandler(t.Output(), nil))}).handler())
				t.Cleanup(func() {
					server.Close()
					if err := store.Close(); err != nil {
						t.Error(err)
					}
				})
				s.at[i], s.orders = server.URL, orders
			}
			test(t, s)
			for finding, err := range audit.Run(context.WithoutCancel(t.Context()), s.orders) {
				t.Error(finding, err)
			}
		})
	}
}

// answer is what a client hears.
type answer struct {
	status   int
	replayed bool
	body     string

	ID, State string
	problem
}

// ask makes a request over a connection; nil is one that works.
func ask(ctx context.Context, by http.RoundTripper, method, url, user, key, body string) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set(userHeader, user)
	r.Header.Set(keyHeader, key)
	resp, err := (&http.Client{Transport: by}).Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	a.status, a.replayed, a.body = resp.StatusCode, resp.Header.Get(replayHeader) == "true", string(text)
	err = json.Unmarshal(text, &a)
	return a, err
}

// broken is a connection that breaks when the server has done its work: nobody hears the answer.
type broken struct{}

func (broken) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return nil, errors.Join(errors.New("the connection broke"), resp.Body.Close())
}

// post makes a request and holds the answer to a status.
func (s *shop) post(status int, path, user, key, body string) answer {
	s.t.Helper()
	a, err := ask(s.t.Context(), nil, http.MethodPost, s.at[0]+path, user, key, body)
	if err != nil || a.status != status {
		s.t.Fatalf("POST %s %s: %+v, %v; want %d", path, body, a, err, status)
	}
	return a
}

// paid returns the path of an order for which that much is paid.
func (s *shop) paid(customer string, amount int64) (path, id string) {
	s.t.Helper()
	a := s.post(201, "/orders", customer, "place "+customer, fmt.Sprintf(`{"customer":%q,"total":%d}`, customer, amount-1))
	path = "/orders/" + a.ID
	s.post(200, path+"/pay", customer, "pay", `{"tip":1}`)
	return path, a.ID
}

// record is the order as it is stored.
func (s *shop) record(id string) order.Order {
	s.t.Helper()
	o, err := s.orders.Record(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// Refunds that come at once, over two servers, are taken while there is enough. What is refused would not have fitted.
func TestRefundsAtOnce(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *shop) {
		path, id := s.paid("ann@example.org", 5000)
		amounts, answers := make([]int64, 20), make([]answer, 20)
		var all sync.WaitGroup
		for i := range amounts {
			amounts[i] = int64(301 + 17*i)
			all.Go(func() {
				var err error
				body := fmt.Sprintf(`{"amount":%d,"reason":"r"}`, amounts[i])
				if answers[i], err = ask(t.Context(), nil, http.MethodPost, s.at[i%2]+path+"/refunds", "ben", fmt.Sprint("r", i), body); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		o, sum, taken := s.record(id), int64(0), 0
		for i, a := range answers {
			switch {
			case a.status == 200 && !a.replayed:
				sum += amounts[i]
				taken++
			case a.status == 422 && a.Guard == "within_paid":
				if o.Refunded+amounts[i] <= o.Paid {
					t.Errorf("a refund of %d was refused, and %d of %d are given back", amounts[i], o.Refunded, o.Paid)
				}
			default:
				t.Errorf("a refund of %d: %+v", amounts[i], a)
			}
		}
		if o.Refunded != sum || sum > 5000 || taken < 5 || taken > 15 || o.Rev != int64(2+taken) {
			t.Errorf("%d refunds of %d in all were taken: %+v", taken, sum, o)
		}
	})
}

// A refund whose answer nobody heard is asked for again with the same key: it is made once.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *shop) {
		path, id := s.paid("ann@example.org", 5000)
		const body = `{"amount":2000,"reason":"broken"}`
		if a, err := ask(t.Context(), broken{}, http.MethodPost, s.at[0]+path+"/refunds", "ben", "k", body); err == nil {
			t.Fatalf("an answer was heard: %+v", a)
		}
		made := s.record(id)
		if made.Refunded != 2000 {
			t.Fatalf("the refund was not made: %+v", made)
		}
		s.post(200, path+"/refunds", "ben", "other", `{"amount":1000,"reason":"broken, too"}`)
		first, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			a := s.post(200, path+"/refunds", "ben", "k", body)
			if !a.replayed || strings.TrimSpace(a.body) != string(first) {
				t.Errorf("replayed %t: %s; the first answer was %s", a.replayed, a.body, first)
			}
		}
		for _, different := range []struct{ user, body string }{
			{"ben", `{"amount":1999,"reason":"broken"}`}, {"ben", `{"amount":2000,"reason":"late"}`}, {"eve", body},
		} {
			if a := s.post(422, path+"/refunds", different.user, "k", different.body); a.Error != "request_reused" {
				t.Errorf("%+v: %+v", different, a)
			}
		}
		if o := s.record(id); o.Refunded != 3000 {
			t.Errorf("after all: %+v", o)
		}
		// A creation, too: the key finds the order that was made.
		again := s.post(201, "/orders", "ann@example.org", "place ann@example.org", `{"customer":"ann@example.org","total":4999}`)
		if !again.replayed || again.ID != id || again.State != "placed" {
			t.Errorf("the order again: %+v", again)
		}
	})
}

// A mail service that takes mails and whose answers are lost gets each mail again, with the same key. A refund is no
// way into paid.
func TestOneMailPerOrder(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *shop) {
		const lost = 2
		s.mails.lose = lost
		want, once := map[string]int{}, ""
		for _, customer := range []string{"ann@example.org", "bob@example.org"} {
			path, id := s.paid(customer, 5000)
			if a := s.post(200, path+"/pay", customer, "pay", `{"tip":1}`); !a.replayed {
				t.Errorf("paid again: %+v", a)
			}
			s.post(200, path+"/refunds", "ben", "r", `{"amount":1,"reason":"r"}`)
			want[id] = lost + 1
			once += "mail to " + customer + ": we have got 5000, thank you\n"
		}
		s.post(201, "/orders", "cid@example.org", "place", `{"customer":"cid@example.org","total":1}`) // never paid: no mail
		failed := 0
		for range 5 {
			_, err := s.orders.Deliver(t.Context())
			if err != nil && !errors.Is(err, fsm.ErrEffect) {
				t.Fatal(err)
			}
			if err != nil {
				failed++
			}
			s.clock.Advance(time.Hour)
		}
		if diff := cmp.Diff(want, s.mails.tries); diff != "" || failed != lost {
			t.Errorf("%d rounds failed; tries by key (-want +got):\n%s", failed, diff)
		}
		lines := strings.SplitAfter(s.mails.all.String(), "\n")
		if len(lines) != 3 || lines[0] == lines[1] || !strings.Contains(once, lines[0]) || !strings.Contains(once, lines[1]) {
			t.Errorf("mails:\n%s", s.mails.all.String())
		}
	})
}

// Each refusal has its status and its name.
func TestRefusals(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *shop) {
		path, id := s.paid("ann@example.org", 5000)
		for _, c := range []struct {
			status                int
			path, user, key, body string
			want                  problem
		}{
			{422, path + "/refunds", "ben", "1", `{"amount":5001,"reason":"r"}`, problem{"refund_too_big", "within_paid", "no more is"}},
			{422, path + "/refunds", "ben", "2", `{"amount":0,"reason":"r"}`, problem{"invalid_input", "", "amount"}},
			{422, path + "/refunds", "ben", "3", `{"amount":-5,"reason":"r"}`, problem{"invalid_input", "", "amount"}},
			{422, path + "/refunds", "ben", "4", `{"amount":1152921504606846977,"reason":"r"}`, problem{"invalid_input", "", "amount"}},
			{400, path + "/refunds", "ben", "5", `{"amount":1.5,"reason":"r"}`, problem{"bad_json", "", "expected a JSON object"}},
			{400, path + "/refunds", "ben", "6", `{"amount":"1","reason":"r"}`, problem{"bad_json", "", "expected a JSON object"}},
			{400, path + "/refunds", "ben", "7", `{"sum":1}`, problem{"bad_json", "", "expected a JSON object"}},
			{400, path + "/refunds", "ben", "8", `{"amount":1}`, problem{"reason_missing", "", "no reason"}},
			{400, path + "/refunds", "ben", "", `{"amount":1,"reason":"r"}`, problem{"request_missing", "", "no request id"}},
			{401, path + "/refunds", "", "9", `{"amount":1,"reason":"r"}`, problem{"actor_missing", "", "no actor"}},
			{404, "/orders/none/refunds", "ben", "10", `{"amount":1,"reason":"r"}`, problem{"not_found", "", "none"}},
			{409, path + "/cancel", "ann", "11", ``, problem{"wrong_state", "", "possible in placed"}},
			{409, path + "/pay", "ann", "12", `{}`, problem{"wrong_state", "", "possible in placed"}},
			{422, "/orders", "ann", "13", `{"customer":"a","total":5}`, problem{"invalid_input", "", "customer"}},
		} {
			a := s.post(c.status, c.path, c.user, c.key, c.body)
			if a.Error != c.want.Error || a.Guard != c.want.Guard || !strings.Contains(a.Message, c.want.Message) {
				t.Errorf("%s %s: got %+v, want %+v", c.path, c.body, a.problem, c.want)
			}
		}
		s.post(200, path+"/refunds", "ben", "14", `{"amount":5000,"reason":"r"}`)
		if a := s.post(409, path+"/refunds", "ben", "15", `{"amount":1,"reason":"r"}`); a.Error != "terminal" {
			t.Errorf("of an order that is given back: %+v", a)
		}
		if o := s.record(id); o.State != order.StateRefunded || o.Rev != 3 {
			t.Errorf("stored: %+v", o)
		}
		a, err := ask(t.Context(), nil, http.MethodGet, s.at[0]+"/orders/none/history", "ben", "", "")
		if err != nil || a.status != 404 {
			t.Errorf("the history of no order: %+v, %v", a, err)
		}
	})
}

// A database that is away is 503: make the same request again. What it said stays inside.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	store := fsmtest.Faulty(memstore.New())
	if err := order.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	orders, err := order.Open(t.Context(), store, newLossy())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer((&service{orders, slog.New(slog.DiscardHandler)}).handler())
	defer server.Close()
	store.Down(true)
	for _, c := range []struct{ path, body string }{
		{"/orders", `{"customer":"ann@example.org","total":1}`}, {"/orders/x/refunds", `{"amount":1,"reason":"r"}`},
	} {
		a, err := ask(t.Context(), nil, http.MethodPost, server.URL+c.path, "ben", "k", c.body)
		if err != nil || a.status != 503 || a.Message != "" {
			t.Errorf("%s: %+v, %v", c.path, a, err)
		}
	}
}

// The history tells each refund: how much, by whom, why.
func TestHistory(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *shop) {
		path, _ := s.paid("ann@example.org", 5000)
		s.post(200, path+"/refunds", "ben", "1", `{"amount":2000,"reason":"a cup was broken"}`)
		s.post(422, path+"/refunds", "ben", "2", `{"amount":4000,"reason":"too much"}`)
		s.post(200, path+"/refunds", "cleo", "3", `{"amount":3000,"reason":"all came back"}`)
		s.post(200, path+"/refunds", "cleo", "3", `{"amount":3000,"reason":"all came back"}`) // a replay is no event
		resp, err := http.Get(s.at[1] + path + "/history")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var list []fsm.Event
		if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("%s by %s: %s %s -> %s", e.Name, e.Actor, e.Inputs, e.Reason, e.To))
		}
		want := []string{
			`place by ann@example.org: {"customer":"ann@example.org","total":4999}  -> placed`,
			`pay by ann@example.org: {"tip":1}  -> paid`,
			`refund by ben: {"amount":2000} a cup was broken -> paid`,
			`refund by cleo: {"amount":3000} all came back -> refunded`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the history (-want +got):\n%s", diff)
		}
	})
}

// The program serves, delivers by itself, and ends when it is told to.
func TestServe(t *testing.T) {
	t.Parallel()
	mails := newLossy()
	mails.lose = 1
	store, orders, err := open(t.Context(), filepath.Join(t.TempDir(), "orders.db"), mails, fsm.WithBackoff(time.Millisecond, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, orders, slog.New(slog.DiscardHandler)) }()
	s := &shop{t: t, at: [2]string{"http://" + l.Addr().String()}, orders: orders}
	_, id := s.paid("ann@example.org", 5000)
	for tries := 0; tries < 2; {
		mails.mu.Lock()
		tries = mails.tries[id]
		mails.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := ask(t.Context(), nil, http.MethodGet, s.at[0]+"/orders/"+id, "ann", "", ""); err == nil {
		t.Error("it still answers")
	}
}

// The story ends, and tells what the README says.
func TestStory(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := tell(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		` 201  `, ` 200 replayed `, `"refunded":5000`, ` 422  {"error":"request_reused"`, ` 422  {"error":"refund_too_big"`, ` 409  `, `mail to `,
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("the story does not say once %q:\n%s", want, &out)
		}
	}
}
