package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/examples/orders/order"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
)

// Each address is refused to those who may not ask it, before anything is read or done.
func TestRights(t *testing.T) {
	t.Parallel()
	may := func(rights ...console.Right) func(*http.Request) (console.Viewer, error) {
		for i := range rights {
			if rights[i].Place == "" {
				rights[i].Place = "here"
			}
			rights[i].Machine = "order"
		}
		return func(*http.Request) (console.Viewer, error) {
			return console.Viewer{Name: "ann", May: func(r console.Right) bool { return slices.Contains(rights, r) }}, nil
		}
	}
	see := console.Right{Do: console.See}
	cancel, place := console.Right{Do: console.Act, Operation: "cancel"}, console.Right{Do: console.Act, Operation: "place"}
	viewers := []struct {
		name string
		who  func(*http.Request) (console.Viewer, error)
	}{
		{"nobody", func(*http.Request) (console.Viewer, error) { return console.Viewer{}, errors.New("who are you?") }},
		{"no right", func(*http.Request) (console.Viewer, error) { return console.Viewer{Name: "ann"}, nil }},
		{"elsewhere", may(console.Right{Place: "there", Do: console.See})},
		{"blind", may(cancel, place, console.Right{Do: console.Audit}, console.Right{Do: console.Retry}, console.Right{Do: console.Drop}, console.Right{Do: console.Repair})},
		{"see", may(see)},
		{"cancel", may(see, cancel)},
		{"place", may(see, place)},
		{"retry", may(see, console.Right{Do: console.Retry})},
		{"drop", may(see, console.Right{Do: console.Drop})},
		{"many", may(see, cancel, console.Right{Do: console.Many})},
		{"many, not cancel", may(see, place, console.Right{Do: console.Many})},
		{"all", func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil }},
	}
	// Of each address the answers to these viewers in their order; an address that is not here fails the test.
	const machine = "401 404 404 404 200 200 200 200 200 200 200 200"
	want := map[string]string{
		"GET /{$}":                       "401 200 200 200 200 200 200 200 200 200 200 200",
		"GET /{place}/{machine}/{$}":     machine,
		"GET /{place}/{machine}":         "401 404 404 404 307 307 307 307 307 307 307 307",
		"GET /{place}/{machine}/records": machine,
		"GET /{place}/{machine}/record":  machine,
		"GET /{place}/{machine}/late":    machine,
		"GET /{place}/{machine}/owners":  machine,
		"GET /{place}/{machine}/outbox":  machine,
		"GET /{place}/{machine}/times":   machine,
		"GET /{place}/{machine}/log":     machine,
		"GET /{place}/{machine}/changes": machine,
		"GET /{place}/{machine}/audit":   "401 404 404 404 403 403 403 403 403 403 403 200",
		"GET /{place}/{machine}/do":      "401 404 404 404 403 200 403 403 403 200 403 200",
		"POST /{place}/{machine}/do":     "401 404 404 404 403 303 403 403 403 303 403 303",
		"GET /{place}/{machine}/create":  "401 404 404 404 403 403 200 403 403 403 200 200",
		"POST /{place}/{machine}/create": "401 404 404 404 403 403 303 403 403 403 303 303",
		"POST /{place}/{machine}/retry":  "401 404 404 404 403 403 403 303 403 403 403 303",
		"GET /{place}/{machine}/giveup":  "401 404 404 404 403 403 403 403 200 403 403 200",
		"POST /{place}/{machine}/giveup": "401 404 404 404 403 403 403 403 303 403 403 303",
		"POST /{place}/{machine}/many":   "401 404 404 404 403 403 403 403 403 303 403 303",
		"GET /{place}/{machine}/run":     machine,
		"POST /{place}/{machine}/run":    "401 404 404 404 403 403 403 403 403 303 403 303",
		"GET /{place}/{machine}/runs":    machine,
		"GET /{place}/{machine}/repair":  "401 404 404 404 403 403 403 403 403 403 403 200",
		"POST /{place}/{machine}/repair": "401 404 404 404 403 403 403 403 403 403 403 303",
	}
	for _, route := range console.Paths() {
		method, path, _ := strings.Cut(route, " ")
		var got []string
		for _, v := range viewers {
			m := shop(t, nil)
			if _, err := m.Place(t.Context(), "o2", order.PlaceInput{Customer: "eve@example.org", Total: 5}, fsm.Call{RequestID: "place o2"}); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Pay(t.Context(), fsm.Ref{ID: "o2"}, order.PayInput{}, fsm.Call{RequestID: "pay o2"}); err != nil {
				t.Fatal(err)
			}
			runs := runStore(t)
			h := handler(t, console.Options{Who: v.who, Runs: runs, Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
			to := strings.NewReplacer("{$}", "", "{place}", "here", "{machine}", "order").Replace(path)
			form := url.Values{"id": {"o1"}, "reason": {"why"}, "request": {"r1"}, "made": {"2026-01-01T00:00:00Z"}, "sure": {"yes"}, "rev": {"1"}, "op": {"cancel"}}
			switch to[strings.LastIndexByte(to, '/')+1:] {
			case "create":
				form.Set("op", "place")
				form.Set("id", "o3")
				form.Set("in.customer", "eve@example.org")
				form.Set("in.total", "5")
			case "run":
				noted := send(t, handler(t, console.Options{Who: viewers[len(viewers)-1].who, Runs: runs, Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}}),
					"/here/order/many", url.Values{"op": {"cancel"}})
				form.Set("id", strings.TrimPrefix(noted.Header().Get("Location"), "run?id="))
				form.Set("do", "stop")
			case "retry", "giveup":
				form.Set("id", "o2")
				form.Set("rev", "2")
				form.Set("n", "0")
				form.Set("attempts", "0")
			}
			var code int
			var body string
			if method == http.MethodPost {
				w := send(t, h, to, form)
				code, body = w.Code, w.Body.String()
			} else {
				if strings.HasSuffix(to, "/record") {
					form.Del("rev")
				}
				if strings.HasSuffix(to, "/records") || strings.HasSuffix(to, "/runs") || strings.HasSuffix(to, "/changes") {
					form = nil
				}
				code, body = get(t, h, to+"?"+form.Encode())
			}
			if code >= 400 && strings.Contains(body, "eve@example.org") {
				t.Errorf("%s: %s is told of a record: %s", route, v.name, body)
			}
			if got = append(got, fmt.Sprint(code)); code >= 400 && (len(events(t, m, "o1")) != 1 || len(events(t, m, "o2")) != 2) {
				t.Errorf("%s: %s is refused, and something was done", route, v.name)
			}
		}
		if text := strings.Join(got, " "); text != want[route] {
			t.Errorf("%s answers\n\t%s, want\n\t%s", route, text, want[route])
		}
	}
	if len(console.Paths()) != len(want) {
		t.Errorf("the console has %d addresses, the test %d", len(console.Paths()), len(want))
	}
	m := shop(t, nil)
	h := handler(t, console.Options{Who: viewers[2].who, Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}})
	if _, body := get(t, h, "/"); strings.Contains(body, "order") {
		t.Error("a machine is listed for somebody who may not see it")
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		w := httptest.NewRecorder()
		desk(t, console.Of(console.Place{Name: "here"}, m)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/here/order/records", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered %d", method, w.Code)
		}
	}
}
