package console_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

type mailer struct{ err error }

func (m mailer) MailReceipt(context.Context, order.Order, string, fsm.Event) error { return m.err }

// shop is the machine of orders in memory, with one order that is placed.
func shop(t *testing.T, err error) *order.Machine {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	if err := order.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	m, failed := order.Open(t.Context(), store, mailer{err})
	if failed == nil {
		_, failed = m.Place(t.Context(), "o1", order.PlaceInput{Customer: "ben@example.org", Total: 100}, fsm.Call{RequestID: "place o1", Actor: "ben"})
	}
	if failed != nil {
		t.Fatal(failed)
	}
	return m
}

// desk is a console of a machine, for somebody who may do all.
func desk(t *testing.T, m console.Machine) *console.Handler {
	t.Helper()
	return handler(t, console.Options{
		Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
		Machines: []console.Machine{m},
	})
}

func send(t *testing.T, h http.Handler, path string, form url.Values, head ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form reads the hidden fields of a page's form.
func form(body string) url.Values {
	v := url.Values{}
	_, text, _ := strings.Cut(body, `<form class="act card"`)
	text, _, _ = strings.Cut(text, "</form>")
	for _, f := range hidden.FindAllStringSubmatch(text, -1) {
		v.Set(f[1], html.UnescapeString(f[2]))
	}
	return v
}

// filled is the form of a page, with what somebody writes into it.
func filled(t *testing.T, h http.Handler, page string, with ...string) url.Values {
	t.Helper()
	code, body := get(t, h, page)
	if code != http.StatusOK {
		t.Fatalf("%s is answered %d: %s", page, code, body)
	}
	v := form(body)
	for i := 0; i < len(with); i += 2 {
		v.Set(with[i], with[i+1])
	}
	return v
}

func events(t *testing.T, m *order.Machine, id string) (list []fsm.Event) {
	t.Helper()
	for e, err := range m.History(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// A step of a page is a step of the machine: with who made it, why, and once however often its form is sent.
func TestDo(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	pay := filled(t, h, "/here/order/do?op=pay&id=o1&rev=1", "in.tip", "7", "reason", "by telephone")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if w := send(t, h, "/here/order/do", pay); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "record?id=o1&did=2" {
				t.Errorf("it is answered %d, %s: %s", w.Code, w.Header().Get("Location"), w.Body)
			}
		})
	}
	wait.Wait()
	list := events(t, m, "o1")
	if len(list) != 2 || list[1].Operation != "pay" || list[1].Actor != "ann" || list[1].Reason != "by telephone" || !strings.Contains(list[1].Inputs.String(), `"tip":7`) {
		t.Errorf("the log is %+v", list)
	}
	if _, body := get(t, h, "/here/order/record?id=o1&did=2"); !strings.Contains(body, "Done: <b>pay</b> is revision 2") {
		t.Error("the record's page does not tell what was done")
	}
	for _, did := range []string{"1", "9", "x"} {
		if _, body := get(t, h, "/here/order/record?id=o1&did="+did); strings.Contains(body, "Done:") {
			t.Errorf("revision %s is told as the viewer's", did)
		}
	}
}

// Of a record that has moved since its form was made nothing is done, and what happened is shown.
func TestDoOnWhatHasMoved(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	cancel := filled(t, h, "/here/order/do?op=cancel&id=o1&rev=1", "sure", "yes")
	if _, err := m.Pay(t.Context(), fsm.Ref{ID: "o1"}, order.PayInput{Tip: 1}, fsm.Call{RequestID: "pay", Actor: "ben", Reason: "at the door"}); err != nil {
		t.Fatal(err)
	}
	w := send(t, h, "/here/order/do", cancel)
	for _, text := range []string{"Nothing was done: the record has moved", "It is at revision 2 now", "at the door", `name="rev" value="2"`} {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("the answer lacks %q: %s", text, w.Body)
		}
	}
	if w.Code != http.StatusConflict || len(events(t, m, "o1")) != 2 || form(w.Body.String()).Get("request") == cancel.Get("request") {
		t.Errorf("it is answered %d; the log has %d events", w.Code, len(events(t, m, "o1")))
	}
	if _, body := get(t, h, "/here/order/do?op=refund&id=o1&rev=1"); !strings.Contains(body, "has moved since you looked at revision 1") {
		t.Error("a form that is asked for late does not tell what happened")
	}
}

// What the machine refuses is told in its words, and what was written into the form stays.
func TestDoIsRefused(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	if _, err := m.Pay(t.Context(), fsm.Ref{ID: "o1"}, order.PayInput{}, fsm.Call{RequestID: "pay"}); err != nil {
		t.Fatal(err)
	}
	refund := func(with ...string) url.Values { return filled(t, h, "/here/order/do?op=refund&id=o1", with...) }
	place := func(with ...string) url.Values { return filled(t, h, "/here/order/create?op=place", with...) }
	for _, c := range []struct {
		path string
		form url.Values
		code int
		told string
	}{
		{"do", refund("in.amount", "1000", "reason", "broken"), 409, "no more is given back than was paid"},
		{"do", refund("in.amount", "7"), 400, "reason"},
		{"do", refund("in.amount", "many", "reason", "x"), 400, "amount is a whole number"},
		{"do", refund("in.amount", "0", "reason", "x"), 400, "expected 1 to"},
		{"do", refund("reason", "x"), 422, "input amount: it is required and missing"},
		{"do", refund("in.amount", "7", "reason", "x", "rev", "0"), 400, "lacks the revision"},
		{"do", refund("in.amount", "7", "reason", "x", "request", ""), 400, "lacks its request id"},
		{"do", refund("in.amount", "7", "reason", "x", "id", "none"), 404, "has no record"},
		{"do", refund("op", "place"), 400, "the other page"},
		{"do", refund("op", "fly"), 404, "has no operation"},
		{"do", filled(t, h, "/here/order/do?op=cancel&id=o1", "sure", "yes"), 409, "possible in placed"},
		{"create", place("in.customer", "x", "in.total", "1"), 400, "customer"},
		{"create", place("in.customer", "ben@example.org"), 422, "input total"},
		{"create", place("in.customer", "ben@example.org", "in.total", "1", "id", "o1"), 409, "exists already"},
	} {
		w := send(t, h, "/here/order/"+c.path, c.form)
		if w.Code != c.code || !strings.Contains(html.UnescapeString(w.Body.String()), c.told) {
			t.Errorf("%v is answered %d, want %d and %q: %s", c.form, w.Code, c.code, c.told, w.Body)
		}
		if c.code == 409 && c.form.Get("in.amount") != "" && !strings.Contains(w.Body.String(), `value="1000"`) {
			t.Errorf("the form is empty again: %s", w.Body)
		}
	}
	if n := len(events(t, m, "o1")); n != 2 {
		t.Errorf("the log has %d events", n)
	}
	_, body := get(t, h, "/here/order/do?op=cancel&id=o1")
	if !strings.Contains(body, "cancel") || strings.Contains(body, "nothing takes it back") {
		t.Errorf("an operation that does not lead from here asks whether it is sure: %s", body)
	}
}

// What ends a record is asked about, on the server too.
func TestSure(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	cancel := filled(t, h, "/here/order/do?op=cancel&id=o1")
	if w := send(t, h, "/here/order/do", cancel); w.Code != http.StatusBadRequest || len(events(t, m, "o1")) != 1 {
		t.Errorf("it is answered %d: %s", w.Code, w.Body)
	}
	cancel.Set("sure", "yes")
	if w := send(t, h, "/here/order/do", cancel); w.Code != http.StatusSeeOther || len(events(t, m, "o1")) != 2 {
		t.Errorf("it is answered %d: %s", w.Code, w.Body)
	}
}

// A record that a form makes is made once, under its id or a new one.
func TestCreate(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	if _, body := get(t, h, "/here/order/records"); !strings.Contains(body, `href="create?op=place"`) {
		t.Error("the list does not offer to make a record")
	}
	for _, id := range []string{"", "o2"} {
		place := filled(t, h, "/here/order/create?op=place", "in.customer", "eve@example.org", "in.total", "5", "id", id)
		first, second := send(t, h, "/here/order/create", place), send(t, h, "/here/order/create", place)
		to := first.Header().Get("Location")
		if first.Code != http.StatusSeeOther || to != second.Header().Get("Location") || !strings.HasPrefix(to, "record?id="+id) {
			t.Errorf("id %q is answered %d, %s, then %d, %s: %s", id, first.Code, to, second.Code, second.Header().Get("Location"), second.Body)
		}
		if code, body := get(t, h, "/here/order/"+to); code != http.StatusOK || !strings.Contains(body, "Done: <b>place</b> is revision 1") {
			t.Errorf("%s is answered %d", to, code)
		}
	}
	if n, err := m.Count(t.Context()); err != nil || n[order.StatePlaced] != 3 {
		t.Errorf("there are %v, %v", n, err)
	}
}

// A record's page offers what leads from its state, and says of the rest why not.
func TestOffers(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	machine := console.Of(console.Place{Name: "here"}, m)
	all, some := desk(t, machine), handler(t, console.Options{
		Who: func(*http.Request) (console.Viewer, error) {
			return console.Viewer{Name: "eve", May: func(r console.Right) bool { return r.Do == console.See || r.Operation == "cancel" }}, nil
		},
		Machines: []console.Machine{machine},
	})
	offered := func(h http.Handler) (ops []string) {
		_, body := get(t, h, "/here/order/record?id=o1")
		for _, found := range regexp.MustCompile(`href="do\?op=([^&]*)&`).FindAllStringSubmatch(body, -1) {
			ops = append(ops, found[1])
		}
		return ops
	}
	if got := offered(all); !slices.Equal(got, []string{"pay", "cancel"}) {
		t.Errorf("offered is %q", got)
	}
	if got := offered(some); !slices.Equal(got, []string{"cancel"}) {
		t.Errorf("offered to somebody who may cancel is %q", got)
	}
	if code, _ := get(t, some, "/here/order/do?op=pay&id=o1"); code != http.StatusForbidden {
		t.Errorf("the form of what eve may not is answered %d", code)
	}
	if w := send(t, some, "/here/order/do", url.Values{"op": {"pay"}, "id": {"o1"}, "rev": {"1"}, "request": {"x"}, "in.tip": {"1"}}); w.Code != http.StatusForbidden {
		t.Errorf("what eve may not is answered %d", w.Code)
	}
	if w := send(t, some, "/here/order/do?op=cancel", url.Values{"op": {"pay"}, "id": {"o1"}, "rev": {"1"}, "request": {"x"}, "in.tip": {"1"}}); w.Code != http.StatusForbidden {
		t.Errorf("another operation in the address than in the form is answered %d", w.Code)
	}
}

// A page of another site cannot send a form.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	pay := filled(t, h, "/here/order/do?op=pay&id=o1", "in.tip", "7")
	for _, head := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
	} {
		if w := send(t, h, "/here/order/do", pay, head...); w.Code != http.StatusForbidden || len(events(t, m, "o1")) != 1 {
			t.Errorf("%s is answered %d", head, w.Code)
		}
	}
	long := url.Values{"in.tip": {strings.Repeat("9", 2<<20)}}
	if w := send(t, h, "/here/order/do", long); w.Code != http.StatusBadRequest {
		t.Errorf("a form without an end is answered %d", w.Code)
	}
	if w := send(t, h, "/here/order/do", pay, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusSeeOther {
		t.Errorf("its own page is answered %d: %s", w.Code, w.Body)
	}
}

// An effect that waits is tried at once, or given up with a reason; both only as its page showed it.
func TestOutboxByHand(t *testing.T) {
	t.Parallel()
	m := shop(t, errors.New("the mail server is away"))
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	if _, err := m.Pay(t.Context(), fsm.Ref{ID: "o1"}, order.PayInput{}, fsm.Call{RequestID: "pay"}); err != nil {
		t.Fatal(err)
	}
	_, _ = m.Deliver(t.Context())
	entry := func() url.Values {
		_, body := get(t, h, "/here/order/outbox")
		v := url.Values{}
		for _, f := range hidden.FindAllStringSubmatch(body, -1) {
			v.Set(f[1], html.UnescapeString(f[2]))
		}
		return v
	}
	first := entry()
	if w := send(t, h, "/here/order/retry", first); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "outbox" {
		t.Fatalf("it is answered %d: %s", w.Code, w.Body)
	}
	if _, err := m.Deliver(t.Context()); err == nil {
		t.Error("it was not tried again")
	}
	for _, path := range []string{"retry", "giveup"} {
		if w := send(t, h, "/here/order/"+path, first); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "Nothing was done") {
			t.Errorf("%s of what was tried since is answered %d", path, w.Code)
		}
	}
	now := entry()
	code, body := get(t, h, "/here/order/giveup?"+now.Encode())
	if code != http.StatusOK || !strings.Contains(body, "Nothing tells the machine") || !strings.Contains(body, "the mail server is away") {
		t.Errorf("the page is answered %d: %s", code, body)
	}
	if w := send(t, h, "/here/order/giveup", now); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "reason") {
		t.Errorf("without a reason it is answered %d: %s", w.Code, w.Body)
	}
	may := func(rights ...string) *console.Handler {
		return handler(t, console.Options{
			Who: func(*http.Request) (console.Viewer, error) {
				return console.Viewer{Name: "eve", May: func(r console.Right) bool { return r.Do == console.See || slices.Contains(rights, r.Do) }}, nil
			},
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
		})
	}
	now.Set("reason", "the address is wrong")
	for right, want := range map[string]int{console.Retry: 403, console.GiveUp: 403, console.Repair: 403} {
		if w := send(t, may(right), "/here/order/giveup", now); w.Code != want {
			t.Errorf("with the right %q it is answered %d", right, w.Code)
		}
	}
	if w := send(t, may(console.Drop), "/here/order/giveup", now); w.Code != http.StatusSeeOther {
		t.Errorf("it is answered %d: %s", w.Code, w.Body)
	}
	list := events(t, m, "o1")
	if e := list[len(list)-1]; e.Operation != driver.OpGiveUp || e.Actor != "eve" || e.Reason != "the address is wrong" {
		t.Errorf("the log ends with %+v", e)
	}
	if n, err := m.Deliver(t.Context()); n != 0 || err != nil {
		t.Errorf("afterwards: %d, %v", n, err)
	}
}

// What has a step for that takes it when somebody gives it up.
func TestGiveUpWithAStep(t *testing.T) {
	t.Parallel()
	store, schema := memstore.New(), storetest.Schema()
	if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
		t.Fatal(err)
	}
	d := storetest.Descriptor(schema)
	for _, op := range d.Operations {
		switch op.Name {
		case "dispatch":
			effect := *op.Asks[0]
			effect.Failed = "discard"
			op.Asks = []*fsmimpl.EffectInfo[storetest.Parcel]{&effect}
		case "discard":
			op.GaveUp = func(string) fsmimpl.Call[storetest.Parcel] {
				c := storetest.Discard()
				c.Decide = func(p *storetest.Parcel, _ string, _ []int64, _ time.Time) (fsmimpl.Step, error) {
					p.Rev++
					return fsmimpl.Step{From: p.State, To: p.State}, nil
				}
				return c
			}
		}
	}
	away := func(context.Context, fsm.Tx, storetest.Parcel, string, fsm.Event) error {
		return errors.New("no answer")
	}
	m, err := fsm.NewMachine(t.Context(), store, d, map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": nothing, "carry": away, "notify": nothing})
	if err == nil {
		_, err = m.Startup(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	stock(t, m, "p1", "a", "ben", "")
	for _, c := range []fsmimpl.Call[storetest.Parcel]{storetest.Shelve(storetest.Meta{}, "s", "t"), storetest.Dispatch(storetest.Meta{})} {
		for _, op := range d.Operations {
			if op.Name == c.Operation.Name {
				c.Operation = op
			}
		}
		if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, c); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = m.Deliver(t.Context())
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	_, body := get(t, h, "/here/parcel/record?id=p1")
	link := regexp.MustCompile(`href="(giveup\?[^"]*)"`).FindStringSubmatch(body)
	if link == nil {
		t.Fatalf("the record's page does not offer it: %s", body)
	}
	page := "/here/parcel/" + html.UnescapeString(link[1])
	if _, body := get(t, h, page); !strings.Contains(body, "the machine runs <b>discard</b>") {
		t.Errorf("the page does not say what follows: %s", body)
	}
	if w := send(t, h, "/here/parcel/giveup", filled(t, h, page, "reason", "it is too late")); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "record?id=p1" {
		t.Fatalf("it is answered %d: %s", w.Code, w.Body)
	}
	if _, body = get(t, h, "/here/parcel/record?id=p1"); !strings.Contains(body, driver.OpGiveUp) || !strings.Contains(body, "it is too late") || !strings.Contains(body, "<b>discard</b>") {
		t.Errorf("the record's page does not say who gave up: %s", body)
	}
}

// A row that is not what its log says is put right from its page, and only by who may.
func TestRepairByHand(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	e := m.Core().Engine()
	if err := e.Table.Update(t.Context(), func(tx driver.Tx) error {
		row, err := tx.Row("o1")
		if err != nil {
			return err
		}
		row.Values = slices.Clone(row.Values)
		row.Values[1] = int64(-3)
		e := driver.Event{
			ID: "o1", Rev: row.Rev, Operation: driver.OpRepair, Name: driver.OpRepair, From: row.State, To: row.State, At: time.Now(), Actor: "root",
			Reason: "a mistake", RequestID: "sys:__repair:1", RequestN: -1, Inputs: driver.RawJSON("{}"), Changes: driver.RawJSON("{}"), Version: 1,
		}
		e.Sum = driver.Checksum(&e)
		return tx.Restore(&row, &e)
	}); err != nil {
		t.Fatal(err)
	}
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	_, body := get(t, h, "/here/order/record?id=o1")
	if !strings.Contains(body, "It breaks a rule") || !strings.Contains(body, `href="repair?id=o1"`) {
		t.Errorf("the record's page does not offer it: %s", body)
	}
	repair := filled(t, h, "/here/order/repair?id=o1", "reason", "after a mistake")
	if _, body := get(t, h, "/here/order/repair?id=o1"); !regexp.MustCompile(`total</th><td><span class="value">-3</span></td><td><span class="value">100<`).MatchString(body) {
		t.Errorf("the page does not say what would change: %s", body)
	}
	if w := send(t, h, "/here/order/repair", url.Values{"id": {"o1"}}); w.Code != http.StatusBadRequest {
		t.Errorf("without a reason it is answered %d", w.Code)
	}
	if w := send(t, h, "/here/order/repair", repair); w.Code != http.StatusSeeOther {
		t.Errorf("it is answered %d: %s", w.Code, w.Body)
	}
	if o, err := m.Record(t.Context(), "o1"); err != nil || o.Total != 100 {
		t.Errorf("the record is %+v, %v", o, err)
	}
	if code, body := get(t, h, "/here/order/repair?id=o1"); code != http.StatusOK || !strings.Contains(body, "what its log says") {
		t.Errorf("afterwards its page is answered %d: %s", code, body)
	}
}

// What is written into a form by somebody who means harm is text on the page that answers.
func TestHostileForms(t *testing.T) {
	t.Parallel()
	m := shop(t, nil)
	h := desk(t, console.Of(console.Place{Name: "here"}, m))
	evil := `"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}`
	for _, name := range []string{"id", "rev", "op", "request", "made", "reason", "in.customer", "in.total", "n", "attempts", "from", "sure"} {
		for _, path := range []string{"do", "create", "retry", "giveup", "repair"} {
			v := url.Values{"op": {"pay"}, "id": {"o1"}, "rev": {"1"}, "request": {"r"}, "made": {"x"}, "n": {"0"}, "attempts": {"0"}}
			if path == "create" {
				v.Set("op", "place")
			}
			v.Set(name, evil)
			w := send(t, h, "/here/order/"+path, v)
			if strings.Contains(w.Body.String(), "<script>alert") || strings.Contains(w.Body.String(), "<img") {
				t.Errorf("%s of %s: %s", name, path, w.Body)
			}
			if to := w.Header().Get("Location"); strings.ContainsAny(to, "\"<>") || strings.Contains(to, "//") {
				t.Errorf("%s of %s leads to %s", name, path, to)
			}
			_, body := get(t, h, fmt.Sprintf("/here/order/%s?%s", path, v.Encode()))
			if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img") {
				t.Errorf("%s of %s: %s", name, path, body)
			}
		}
	}
}
