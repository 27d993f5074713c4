package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// A program's effect that panics in a run ends neither the program nor the run.
func TestPanicInARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, schema := inMemory(t), storetest.Schema()
		if err := fsmimpl.Migrate(t.Context(), store, schema); err != nil {
			t.Fatal(err)
		}
		d := storetest.Descriptor(schema)
		for _, op := range d.Operations {
			if op.Name == "bill" {
				op.Needs, op.Make = "", func(_ *fsmimpl.Reading, _ string, c fsmimpl.Caller) fsmimpl.Call[storetest.Parcel] {
					call := storetest.Bill(storetest.Meta{})
					call.Caller = c
					return call
				}
			}
		}
		charge := func(_ context.Context, _ fsm.Tx, p storetest.Parcel, _ string, _ fsm.Event) error {
			if p.ID == "b" {
				panic("no such account")
			}
			return nil
		}
		m, err := fsm.NewMachine(t.Context(), store, d,
			map[string]fsmimpl.EffectFunc[storetest.Parcel]{"charge": charge, "carry": nothing, "notify": nothing})
		if err == nil {
			_, err = m.Startup(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			stock(t, m, id, "x", "", "")
		}
		h := handler(t, console.Options{
			Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
			Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)}, Runs: runStore(t),
		})
		w := send(t, h, "/here/parcel/many", url.Values{"op": {"bill"}, "filter": {"order=id"}})
		if w.Code != http.StatusSeeOther {
			t.Fatal(w.Code, w.Body)
		}
		page := "/here/parcel/" + w.Header().Get("Location")
		send(t, h, "/here/parcel/run", filled(t, h, page, "reason", "x"))
		time.Sleep(3 * time.Minute)
		_, body := get(t, h, page)
		if got := became(body); !strings.Contains(body, "It has ended") || !strings.HasPrefix(got, "Done 2, ") {
			t.Errorf("the report is %q", got)
		}
	})
}

var _ driver.Row
