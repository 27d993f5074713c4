package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/internal/slip"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// A filter that has an actor or a label beside a text to find, or an order by id, is applied whole or refused.
func TestManyWholeFilter(t *testing.T) {
	t.Parallel()
	_, m, h := many(t, 5)
	if _, err := m.Place(t.Context(), "o9999", order.PlaceInput{Customer: "x@example.org", Total: 1}, fsm.Call{RequestID: "x", Actor: "eve"}); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{"actor=eve&find=o", "actor=eve&order=id", "label=a%3Db&order=id", "label=a%3Db&find=o"} {
		w := send(t, h[0], "/here/order/many", url.Values{"op": {"cancel"}, "filter": {filter}})
		if w.Code == http.StatusSeeOther {
			_, body := get(t, h[0], "/here/order/"+w.Header().Get("Location"))
			if !strings.Contains(body, "of 1 records") {
				t.Errorf("%s notes %s", filter, behind(body, "<b>cancel"))
			}
		}
		code, body := get(t, h[0], "/here/order/records?"+filter)
		if n := len(idLink.FindAllString(body, -1)); code == 200 && n > 1 {
			t.Errorf("the list of %s has %d records", filter, n)
		}
	}
}

// sender is the effect of slips.
type sender struct{ err error }

func (s sender) Send(context.Context, slip.Slip, string, fsm.Event) error { return s.err }

func slips(t *testing.T, store fsm.Store, err error, opts ...fsm.Option) *slip.Machine {
	t.Helper()
	if err := slip.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, failed := slip.Open(t.Context(), store, sender{err}, opts...)
	if failed != nil {
		t.Fatal(failed)
	}
	return m
}

func inMemory(t *testing.T) *memstore.Store {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func make1(t *testing.T, m *slip.Machine, id string) {
	t.Helper()
	if _, err := m.Make(t.Context(), id, slip.MakeInput{Code: fsm.Some("c" + id), Secret: "s", Lane: "l", Until: fsm.Some(time.Unix(5, 0))}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
}

func slipDesk(t *testing.T, m *slip.Machine) *console.Handler {
	t.Helper()
	return handler(t, console.Options{
		Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
		Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}, Runs: runStore(t),
	})
}

func slipLog(t *testing.T, m *slip.Machine, id string) (ops []string) {
	t.Helper()
	for e, err := range m.History(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, e.Operation)
	}
	return ops
}

// The pages of a list that a value finds, which is unique in some states only, have an end.
func TestFoundListEnds(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), nil)
	for i := range 60 {
		id := fmt.Sprintf("s%03d", i)
		if _, err := m.Make(t.Context(), id, slip.MakeInput{Code: fsm.Some("same"), Secret: "s", Lane: "l"}, fsm.Call{}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Close(t.Context(), fsm.Ref{ID: id}, fsm.Call{}); err != nil {
			t.Fatal(err)
		}
	}
	h := slipDesk(t, m)
	query, seen := "find=same&state=closed", map[string]bool{}
	for range 4 {
		_, body := get(t, h, "/here/slip/records?"+query)
		for _, found := range idLink.FindAllStringSubmatch(body, -1) {
			if seen[found[1]] {
				t.Fatalf("%s is listed twice", found[1])
			}
			seen[found[1]] = true
		}
		next := strings.Index(body, `class="next" href="records?`)
		if next < 0 {
			break
		}
		query = body[next+len(`class="next" href="records?`):]
		query = strings.ReplaceAll(query[:strings.IndexByte(query, '"')], "&amp;", "&")
	}
	if len(seen) != 60 {
		t.Errorf("%d records are listed", len(seen))
	}
}

// A record that is gone since it was counted does not hold a run up.
func TestRunOfAPurgedRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := slips(t, inMemory(t), nil)
		for _, id := range []string{"a", "b", "c"} {
			make1(t, m, id)
		}
		h := slipDesk(t, m)
		w := send(t, h, "/here/slip/many", url.Values{"op": {"hit"}, "filter": {"order=id"}})
		page := "/here/slip/" + w.Header().Get("Location")
		if _, err := m.Close(t.Context(), fsm.Ref{ID: "b"}, fsm.Call{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n, err := audit.Purge(t.Context(), m.Core(), audit.PurgeOptions{States: []string{"closed"}, Before: time.Now(), Actor: "x", Reason: "y"}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		send(t, h, "/here/slip/run", filled(t, h, page, "reason", "x"))
		time.Sleep(3 * time.Minute)
		if _, body := get(t, h, page); !strings.Contains(body, "It has ended") {
			t.Errorf("the run: %s", behind(body, "<main"))
		}
	})
}

// A form that is sent once more with other inputs does not say that nothing was done.
func TestEditedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	pay := filled(t, h, "/here/order/do?op=pay&id=o1&rev=1", "in.tip", "7")
	send(t, h, "/here/order/do", pay)
	pay.Set("in.tip", "8")
	if w := send(t, h, "/here/order/do", pay); strings.Contains(w.Body.String(), "nothing was done") {
		t.Errorf("do is answered %d: %s", w.Code, behind(w.Body.String(), "<main"))
	}
	for _, id := range []string{"", "o2"} {
		place := filled(t, h, "/here/order/create?op=place", "in.customer", "eve@example.org", "in.total", "5", "id", id)
		send(t, h, "/here/order/create", place)
		place.Set("in.total", "6")
		if w := send(t, h, "/here/order/create", place); strings.Contains(w.Body.String(), "nothing was done") {
			t.Errorf("create is answered %d: %s", w.Code, behind(w.Body.String(), "<main"))
		}
	}
}

// Of a machine without request ids, too, a form that is sent twice makes one record, and one event.
func TestOnceWithoutRequestIDs(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), nil)
	h := slipDesk(t, m)
	place := filled(t, h, "/here/slip/create?op=make", "in.secret", "s", "in.lane", "5")
	_, body := get(t, h, "/here/slip/create?op=make")
	place.Set("id", regexp.MustCompile(`name="id" value="([^"]*)"`).FindStringSubmatch(body)[1])
	send(t, h, "/here/slip/create", place)
	send(t, h, "/here/slip/create", place)
	if n, err := m.Count(t.Context()); err != nil || n[slip.StateOpen] != 1 {
		t.Errorf("there are %v, %v", n, err)
	}
}

// Of a machine without request ids, too, a form that is sent twice makes one event where it is recorded only.
func TestNotedOnceWithoutRequestIDs(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), nil)
	h := slipDesk(t, m)
	make1(t, m, "a")
	if _, err := m.Close(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
		t.Fatal(err)
	}
	hit := filled(t, h, "/here/slip/do?op=hit&id=a")
	send(t, h, "/here/slip/do", hit)
	send(t, h, "/here/slip/do", hit)
	if got := slipLog(t, m, "a"); len(got) != 3 {
		t.Errorf("the log is %q", got)
	}
}

// A length of time that no Duration holds is refused.
func TestLongLength(t *testing.T) {
	t.Parallel()
	m := slips(t, inMemory(t), nil)
	h := slipDesk(t, m)
	make1(t, m, "a")
	for _, text := range []string{"+200000d", "+300000d", "+106752d"} {
		w := send(t, h, "/here/slip/do", filled(t, h, "/here/slip/do?op=defer&id=a", "in.until", text))
		if w.Code == http.StatusSeeOther {
			s, _ := m.Record(t.Context(), "a")
			t.Errorf("%s is taken as %v", text, s.Until)
		}
	}
}

// Ids of the longest size with characters that JSON writes long, or a long reason, do not hold a run up.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"a", "<", "\u2028", "\"", "\U0001F600"} {
		for _, reason := range []int{1, 4000, 60_000} {
			t.Run(fmt.Sprint(c, reason), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					_, m, h := many(t, 1)
					for i := range 120 {
						id := fmt.Sprintf("%03d", i)
						for len(id)+len(c) <= driver.MaxID {
							id += c
						}
						if _, err := m.Place(t.Context(), id, order.PlaceInput{Customer: "ben@example.org", Total: 1}, fsm.Call{RequestID: fmt.Sprint("p", i)}); err != nil {
							t.Fatal(err)
						}
					}
					w := send(t, h[0], "/here/order/many", url.Values{"op": {"refund"}, "filter": {"state=placed&order=id"}})
					if w.Code != http.StatusSeeOther {
						t.Fatalf("many is answered %d: %s", w.Code, behind(w.Body.String(), "<main"))
					}
					page := "/here/order/" + w.Header().Get("Location")
					w = send(t, h[0], "/here/order/run", filled(t, h[0], page, "in.amount", "3", "reason", strings.Repeat("x", reason), "sure", "yes"))
					time.Sleep(3 * time.Minute)
					if w.Code != http.StatusSeeOther {
						t.Logf("refused: %.300s", behind(w.Body.String(), "Nothing was begun"))
						return
					}
					if _, body := get(t, h[0], page); !strings.Contains(body, "It has ended") {
						t.Errorf("the run has no end: %.200s", body[max(0, strings.LastIndex(body, "<p class=")):])
					}
				})
			})
		}
	}
}

// A run whose operation is gone, or takes other inputs now, can be stopped, and ends.
func TestRunOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"gone", "pay"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, runs := shop(t, nil), runStore(t)
				h := handler(t, console.Options{
					Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
					Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}, Runs: runs,
				})
				items, _ := fsm.MarshalValue([]map[string]any{{"id": "o1", "rev": 1, "state": "placed"}})
				for i := range 2 {
					p, err := runs.Draft(t.Context(), "", run.DraftInput{
						Run: "r", Number: int64(i), Pieces: 2, Place: "here", Target: "order", Operation: op, Items: items,
					}, fsm.Call{RequestID: fmt.Sprint(i), Actor: "ann"})
					if err != nil {
						t.Fatal(err)
					}
					in, _ := fsm.MarshalValue(map[string]any{"made": "2026-01-01T00:00:00Z", "inputs": map[string]string{"tip": "seven"}})
					if _, err := runs.Start(t.Context(), p.Ref(), run.StartInput{Reason: "x", Inputs: in}, fsm.Call{RequestID: "s", Actor: "ann", Reason: "x"}); err != nil {
						t.Fatal(err)
					}
				}
				form := func(do string) url.Values { return url.Values{"id": {"r"}, "do": {do}} }
				for range 3 {
					send(t, h, "/here/order/run", form("go"))
					time.Sleep(3 * time.Minute)
				}
				w := send(t, h, "/here/order/run", form("stop"))
				if _, body := get(t, h, "/here/order/run?id=r"); !strings.Contains(body, "It has ended") {
					t.Errorf("stop is answered %d, and the run has no end: %s", w.Code, body[max(0, strings.LastIndex(body, "</table>")):])
				}
			})
		})
	}
}

// A store that failed is no refusal of a record: the run goes on later.
func TestRunOverAPoisonedStore(t *testing.T) {
	t.Parallel()
	for _, code := range []fsm.Code{fsm.ErrPoisoned, fsm.ErrSchemaMismatch} {
		synctest.Test(t, func(t *testing.T) {
			store, _, h := many(t, 3)
			page := noted(t, h[0], "pay", "")
			store.Inject(func(p memstore.Point) error {
				if p == memstore.BeforeCommit {
					return &fsm.Refusal{Code: code}
				}
				return nil
			})
			send(t, h[0], "/here/order/run", filled(t, h[0], page, "in.tip", "0", "reason", "x"))
			time.Sleep(3 * time.Minute)
			store.Inject(nil)
			if _, body := get(t, h[0], page); strings.Contains(body, "It has ended") {
				t.Errorf("%s: the report is %q", code, became(body))
			}
		})
	}
}

// A multipart form is looked at as every form is.
func TestMultipart(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	var b bytes.Buffer
	mp := multipart.NewWriter(&b)
	for name, text := range map[string]string{"op": "pay", "id": "o1", "rev": "1", "request": "r\x00\xff", "made": "2026-01-01T00:00:00Z", "reason": "\xff\x00", "in.tip": "1"} {
		_ = mp.WriteField(name, text)
	}
	_ = mp.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/here/order/do", &b)
	r.Header.Set("Content-Type", mp.FormDataContentType())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	t.Logf("%d %d events", w.Code, len(events(t, m, "o1")))
	if w.Code >= 500 || len(events(t, m, "o1")) != 1 || !utf8.ValidString(w.Body.String()) {
		t.Errorf("it is answered %d: %s", w.Code, w.Body)
	}
}

// A filter that no run holds is refused in words.
func TestLongFilter(t *testing.T) {
	t.Parallel()
	_, _, h := many(t, 3)
	w := send(t, h[0], "/here/order/many", url.Values{"op": {"cancel"}, "filter": {"x=" + strings.Repeat("a", 300_000)}})
	if w.Code >= 500 {
		t.Errorf("it is answered %d: %s", w.Code, behind(w.Body.String(), "<main"))
	}
}

// Ten thousand records are one run.
func TestManyMost(t *testing.T) {
	t.Parallel()
	_, _, h := many(t, 10_000)
	at := time.Now()
	page := noted(t, h[0], "pay", "", "most", "10000")
	t.Log("counted in", time.Since(at))
	at = time.Now()
	w := send(t, h[0], "/here/order/run", filled(t, h[0], page, "in.tip", "0", "reason", "x"))
	t.Log("started in", time.Since(at), w.Code)
	if got := became(ended(t, h[0], page)); got != "Done 10000" {
		t.Error(got)
	}
	t.Log("ended in", time.Since(at))
}

// A run over a machine without request ids that is killed tells what it did.
func TestKilledWithoutRequestIDs(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"open", "closed"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := inMemory(t)
				m := slips(t, store, nil)
				h := slipDesk(t, m)
				for i := range 10 {
					make1(t, m, fmt.Sprint(i))
					if state == "closed" {
						if _, err := m.Close(t.Context(), fsm.Ref{ID: fmt.Sprint(i)}, fsm.Call{}); err != nil {
							t.Fatal(err)
						}
					}
				}
				w := send(t, h, "/here/slip/many", url.Values{"op": {"hit"}, "filter": {"order=id"}})
				page := "/here/slip/" + w.Header().Get("Location")
				commits := 0
				store.Inject(func(p memstore.Point) error {
					if p == memstore.BeforeCommit {
						if commits++; commits > 5 {
							return errors.New("dead")
						}
					}
					return nil
				})
				send(t, h, "/here/slip/run", filled(t, h, page, "reason", "x"))
				time.Sleep(3 * time.Minute)
				store.Inject(nil)
				send(t, h, "/here/slip/run", url.Values{"id": {page[strings.Index(page, "id=")+3:]}, "do": {"go"}})
				if got := became(ended(t, h, page)); got != "Done 10" {
					t.Errorf("the report is %q", got)
				}
				twice := 0
				for i := range 10 {
					n := 0
					for _, op := range slipLog(t, m, fmt.Sprint(i)) {
						if op == "hit" {
							n++
						}
					}
					if n != 1 {
						twice++
					}
				}
				if twice > 0 {
					t.Errorf("%d records do not have one event", twice)
				}
			})
		})
	}
}

// Who has no name makes no event: it would say nobody.
func TestNoName(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := handler(t, console.Options{
		Who:      func(*http.Request) (console.Viewer, error) { return console.Operator(""), nil },
		Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
	})
	send(t, h, "/here/order/do", filled(t, h, "/here/order/do?op=pay&id=o1", "in.tip", "1"))
	if e := events(t, m, "o1"); len(e) != 1 {
		t.Errorf("the event's actor is %q", e[1].Actor)
	}
}

// An answer that is lost is not told as a refusal.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := inMemory(t)
		m := slips(t, store, errors.New("away"))
		make1(t, m, "a")
		if _, err := m.Mail(t.Context(), fsm.Ref{ID: "a"}, fsm.Call{}); err != nil {
			t.Fatal(err)
		}
		_, _ = m.Deliver(t.Context())
		away := memstore.New()
		if err := run.Migrate(t.Context(), away); err != nil {
			t.Fatal(err)
		}
		runs, err := run.Open(t.Context(), &lossy{Store: away})
		if err != nil {
			t.Fatal(err)
		}
		h := handler(t, console.Options{
			Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}, Runs: runs,
		})
		w := send(t, h, "/here/slip/many", url.Values{"op": {"hit"}})
		page := "/here/slip/" + w.Header().Get("Location")
		form := filled(t, h, page, "reason", "x")
		lost.Store(true)
		defer lost.Store(false)
		w = send(t, h, "/here/slip/run", form)
		if strings.Contains(w.Body.String(), "Nothing was begun") {
			t.Errorf("it is answered %d: %s", w.Code, w.Body)
		}
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("it is answered %d: %s", w.Code, w.Body)
		}
	})
}

var lost atomic.Bool

// lossy loses the answers of writes, and who looks for them finds nothing out.
type lossy struct{ fsm.Store }

func (s *lossy) Table(x *driver.Schema) (driver.Table, error) {
	table, err := s.Store.Table(x)
	return &lossyTable{table}, err
}

type lossyTable struct{ driver.Table }

func (t *lossyTable) Update(ctx context.Context, f func(driver.Tx) error) error {
	if err := t.Table.Update(ctx, f); err != nil || !lost.Load() {
		return err
	}
	gone.Store(true)
	return &fsm.AmbiguousError{Err: errors.New("lost")}
}

func (t *lossyTable) View(ctx context.Context, f func(driver.Reader) error) error {
	if gone.Load() {
		return errors.New("away")
	}
	return t.Table.View(ctx, f)
}

var gone atomic.Bool // since an answer was lost

// behind is what a page says behind a text.
func behind(body, text string) string {
	_, rest, _ := strings.Cut(body, text)
	return rest[:min(len(rest), 600)]
}
