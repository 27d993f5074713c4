package console_test

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/console/run"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

func runStore(t *testing.T) *run.Machine {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	if err := run.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := run.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// many is a shop with n orders more, and a console for many at once.
func many(t *testing.T, n int) (*memstore.Store, *order.Machine, []*console.Handler) {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	if err := order.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, err := order.Open(t.Context(), store, mailer{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		in := order.PlaceInput{Customer: "ben@example.org", Total: int64(i + 1)}
		if _, err := m.Place(t.Context(), fmt.Sprintf("o%04d", i), in, fsm.Call{RequestID: fmt.Sprint("place ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	runs := runStore(t)
	var list []*console.Handler
	for range 2 {
		list = append(list, handler(t, console.Options{
			Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}, Runs: runs,
		}))
	}
	return store, m, list
}

// noted counts what fits a filter, and returns the address of the run.
func noted(t *testing.T, h http.Handler, op, filter string, with ...string) string {
	t.Helper()
	v := url.Values{"op": {op}, "filter": {filter}}
	for i := 0; i < len(with); i += 2 {
		v.Set(with[i], with[i+1])
	}
	w := send(t, h, "/here/order/many", v)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("%s of %s is answered %d: %s", op, filter, w.Code, w.Body)
	}
	return "/here/order/" + w.Header().Get("Location")
}

// ended waits until a run has ended, and returns its page.
func ended(t *testing.T, h http.Handler, page string) string {
	t.Helper()
	for range 1000 {
		if _, body := get(t, h, page); strings.Contains(body, "It has ended") {
			return body
		}
		time.Sleep(100 * time.Millisecond)
	}
	_, body := get(t, h, page)
	t.Fatalf("the run has no end: %s", body)
	return ""
}

var row = regexp.MustCompile(`<tr><th scope="row">([^<]*)</th><td class="number">([^<]*)</td>`)

// became reads what became of the records of a run.
func became(body string) string {
	var list []string
	for _, found := range row.FindAllStringSubmatch(body, -1) {
		list = append(list, html.UnescapeString(found[1])+" "+strings.ReplaceAll(found[2], "\u202f", ""))
	}
	return strings.Join(list, ", ")
}

// What was counted is what is done: records that come into the filter, or move, since then are left alone.
func TestMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, m, h := many(t, 250)
		page := noted(t, h[0], "pay", "state=placed")
		code, body := get(t, h[0], page)
		if code != http.StatusOK || !strings.Contains(body, "<b>pay</b> of 250 records") || strings.Count(body, `href="record?id=`) != 10 {
			t.Errorf("the preview is answered %d: %s", code, body)
		}
		if n, err := m.Count(t.Context()); err != nil || n[order.StatePlaced] != 250 {
			t.Errorf("the preview has done something: %v, %v", n, err)
		}
		if _, err := m.Cancel(t.Context(), fsm.Ref{ID: "o0007"}, fsm.Call{RequestID: "c", Reason: "meanwhile"}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Place(t.Context(), "late", order.PlaceInput{Customer: "ben@example.org", Total: 1}, fsm.Call{RequestID: "late"}); err != nil {
			t.Fatal(err)
		}
		start := filled(t, h[0], page, "in.tip", "3", "reason", "the bank was away")
		for range 3 {
			if w := send(t, h[0], "/here/order/run", start); w.Code != http.StatusSeeOther {
				t.Fatalf("it is answered %d: %s", w.Code, w.Body)
			}
		}
		if got, want := became(ended(t, h[0], page)), "Done 249, Left alone: moved meanwhile 1"; got != want {
			t.Errorf("the report is %q, want %q", got, want)
		}
		n, err := m.Count(t.Context())
		if err != nil || n[order.StatePlaced] != 1 || n[order.StatePaid] != 249 || n[order.StateCancelled] != 1 {
			t.Errorf("there are %v, %v", n, err)
		}
		list := events(t, m, "o0000")
		if e := list[len(list)-1]; len(list) != 2 || e.Actor != "ann" || e.Reason != "the bank was away" || e.Labels["run"] == "" {
			t.Errorf("the log is %+v", list)
		}
		if _, body := get(t, h[0], "/here/order/runs"); !strings.Contains(body, "the bank was away") || strings.Count(body, `href="run?id=`) != 1 {
			t.Errorf("the runs are %s", body)
		}
	})
}

// What is refused is told by its reason, with the records.
func TestManyRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, m, h := many(t, 5)
		for i := range 3 {
			if _, err := m.Pay(t.Context(), fsm.Ref{ID: fmt.Sprintf("o%04d", i)}, order.PayInput{}, fsm.Call{RequestID: "pay"}); err != nil {
				t.Fatal(err)
			}
		}
		page := noted(t, h[0], "refund", "")
		refund := filled(t, h[0], page, "in.amount", "2", "reason", "a gift", "sure", "yes")
		for name, told := range map[string]string{"reason": "Say why", "sure": "Say that you are sure", "in.amount": "input amount", "request": "request id"} {
			form := url.Values{}
			for k, v := range refund {
				form[k] = v
			}
			form.Del(name)
			if w := send(t, h[0], "/here/order/run", form); w.Code < 400 || !strings.Contains(w.Body.String(), told) {
				t.Errorf("without %s it is answered %d: %s", name, w.Code, w.Body)
			}
		}
		send(t, h[0], "/here/order/run", refund)
		body := ended(t, h[0], page)
		if got, want := became(body), "Done 2, Refused: refund_too_big 1, Refused: wrong_state 2"; got != want {
			t.Errorf("the report is %q, want %q", got, want)
		}
		for _, id := range []string{"o0000", "o0003", "o0004"} {
			if !strings.Contains(body, "record?id="+id) {
				t.Errorf("the report does not name %s", id)
			}
		}
	})
}

// A run has a bound, which its page tells, and what fits nothing is no run.
func TestManyBounds(t *testing.T) {
	t.Parallel()
	_, _, h := many(t, 130)
	_, body := get(t, h[0], noted(t, h[0], "cancel", "", "most", "120"))
	if !strings.Contains(body, "of 120 records") || !strings.Contains(body, "More records fitted") {
		t.Errorf("the preview is %s", body)
	}
	for _, v := range []url.Values{
		{"op": {"cancel"}, "most": {"0"}}, {"op": {"cancel"}, "most": {"10001"}}, {"op": {"cancel"}, "most": {"x"}}, {"op": {"place"}},
		{"op": {"cancel"}, "filter": {"state=paid"}}, {"op": {"cancel"}, "filter": {"state=none"}}, {"op": {"cancel"}, "filter": {"%zz"}},
	} {
		if w := send(t, h[0], "/here/order/many", v); w.Code != http.StatusBadRequest {
			t.Errorf("%v is answered %d", v, w.Code)
		}
	}
	if code, _ := get(t, h[0], "/here/order/run?id=none"); code != http.StatusNotFound {
		t.Errorf("a run that there is not is answered %d", code)
	}
	bare := desk(t, console.Of(console.Place{Name: "here"}, shop(t, nil)))
	if w := send(t, bare, "/here/order/many", url.Values{"op": {"cancel"}}); w.Code != http.StatusNotFound {
		t.Errorf("without a store of runs it is answered %d", w.Code)
	}
}

// A run whose process dies at any point goes on in another one, and each record has one event.
func TestRunIsKilled(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 1, 2, 57, 99, 100, 101, 180, 299} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, m, h := many(t, 300)
				page := noted(t, h[0], "pay", "")
				commits := 0
				store.Inject(func(p memstore.Point) error {
					if p == memstore.BeforeCommit || p == memstore.AfterCommit {
						if commits++; commits > 2*at {
							return errors.New("the process is dead")
						}
					}
					return nil
				})
				send(t, h[0], "/here/order/run", filled(t, h[0], page, "in.tip", "0", "reason", "x"))
				time.Sleep(3 * time.Minute)
				store.Inject(nil)
				_, body := get(t, h[1], page)
				if !strings.Contains(body, "has died") {
					t.Fatalf("the page does not tell: %s", body)
				}
				form := url.Values{"id": {page[strings.Index(page, "id=")+3:]}, "do": {"go"}}
				for i := range 4 {
					if w := send(t, h[i%2], "/here/order/run", form); w.Code != http.StatusSeeOther {
						t.Fatalf("it is answered %d: %s", w.Code, w.Body)
					}
				}
				if got := became(ended(t, h[1], page)); got != "Done 300" {
					t.Errorf("the report is %q", got)
				}
				for i := range 300 {
					if n := len(events(t, m, fmt.Sprintf("o%04d", i))); n != 2 {
						t.Errorf("order %d has %d events", i, n)
					}
				}
			})
		})
	}
}

// Who stops a run stops it before its next piece, and sees what was done.
func TestRunIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, _, h := many(t, 300)
		page := noted(t, h[0], "pay", "")
		commits := 0
		stop := url.Values{"id": {page[strings.Index(page, "id=")+3:]}, "do": {"stop"}}
		store.Inject(func(p memstore.Point) error {
			if p == memstore.BeforeCommit {
				if commits++; commits == 50 {
					go send(t, h[1], "/here/order/run", stop)
				}
				time.Sleep(time.Millisecond)
			}
			return nil
		})
		send(t, h[0], "/here/order/run", filled(t, h[0], page, "in.tip", "0", "reason", "x"))
		if got := became(ended(t, h[1], page)); got != "Done 100, Not begun: the run was stopped 200" {
			t.Errorf("the report is %q", got)
		}
	})
}
