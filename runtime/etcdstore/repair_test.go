package etcdstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// named returns the keys that hold a text, without the table's prefix, with
// numbers of etcd's revisions taken out.
func (d *data) named(text string) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.keys {
		if _, found := d.at(key, d.revision); found && strings.Contains(key, text) {
			key = strings.TrimPrefix(key, "fsm/parcel/")
			if strings.HasPrefix(key, "l/") {
				key = "l/..." + key[2+16:]
			}
			list = append(list, strings.ReplaceAll(key, "\x00", " "))
		}
	}
	slices.Sort(list)
	return list
}

// A log that is longer than a transaction has operations goes in one piece, and
// leaves nothing but what must not be used again.
func TestPurgeOfLongLog(t *testing.T) {
	t.Parallel()
	d := newData()
	m := openMachine(t, open(t, serve(t, d)))
	ctx := t.Context()
	must := func(out fsm.Outcome[storetest.Parcel], err error) fsm.Outcome[storetest.Parcel] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	p := must(m.Create(ctx, register("p1")))
	must(m.Create(ctx, register("p11")))
	for i := range 4200 {
		p = must(m.Apply(ctx, p, storetest.Annotate(storetest.Meta{RequestID: fmt.Sprint("note ", i)},
			fsm.Optional[driver.JSON]{}, fsm.Optional[string]{}, fsm.Some(i%2 == 0))))
	}
	p = must(m.Apply(ctx, p, storetest.Hold(storetest.Meta{Actor: "ann", RequestID: "hold"}, "a", time.Now().Add(time.Hour))))
	p = must(m.Apply(ctx, p, storetest.Shelve(storetest.Meta{RequestID: "shelve"}, "slot", "t")))
	must(m.Apply(ctx, p, storetest.Send(storetest.Meta{RequestID: "send"})))
	if _, err := m.Startup(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Deliver(ctx); err != nil {
		t.Fatal(err)
	}
	n, err := audit.Purge(ctx, m, audit.PurgeOptions{Before: time.Now().Add(time.Hour), Actor: "root", Reason: "old"})
	if n != 1 || err != nil {
		t.Fatalf("purged %d, %v, want 1", n, err)
	}
	want := []string{
		"e/p1 000000000001", "e/p1 000000004204.000000001",
		"l/... p1 000000000001", "l/... p1 000000004204.000000001",
		"m/make p1 000000000",
		"q/p1 make p1", "q/p1 sys:__purge:4204",
	}
	got := slices.DeleteFunc(d.named("p1"), func(key string) bool { return strings.Contains(key, "p11") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if p, err := m.Record(ctx, "p11"); err != nil || p.ID != "p11" {
		t.Errorf("the other one: %v, %v", p.ID, err)
	}
	for f, err := range audit.Run(ctx, m) {
		t.Errorf("audit: %v, %v", f, err)
	}
}

// Who holds a record that this process has read or written needs one round trip,
// the chain of its log included; who brings it from elsewhere one more.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	d := newData()
	member := serve(t, d)
	here, elsewhere := openMachine(t, open(t, member)), openMachine(t, open(t, member))
	trips := func(f func() error) int {
		t.Helper()
		member.mu.Lock()
		member.calls = 0
		member.mu.Unlock()
		if err := f(); err != nil {
			t.Fatal(err)
		}
		member.mu.Lock()
		defer member.mu.Unlock()
		return member.calls
	}
	out, err := elsewhere.Create(t.Context(), register("p1"))
	if err != nil {
		t.Fatal(err)
	}
	p := out.Record
	apply := func(m *machine) func() error {
		return func() error {
			out, err := m.Apply(t.Context(), p, storetest.Annotate(storetest.Meta{}, fsm.Optional[driver.JSON]{}, fsm.Optional[string]{}, fsm.Some(p.Rev%2 == 0)))
			p = out.Record
			return err
		}
	}
	if n := trips(apply(elsewhere)); n != 1 {
		t.Errorf("after it was written here: %d round trips, want 1", n)
	}
	if n := trips(apply(here)); n < 2 || n > 3 {
		t.Errorf("unread: %d round trips, want 2 or 3", n)
	}
	if n := trips(apply(here)); n != 1 {
		t.Errorf("after that: %d round trips, want 1", n)
	}
	if p, err = elsewhere.Record(t.Context(), "p1"); err != nil {
		t.Fatal(err)
	}
	if n := trips(apply(elsewhere)); n != 1 {
		t.Errorf("after it was read: %d round trips, want 1", n)
	}
	for f, err := range audit.Run(t.Context(), here) {
		t.Errorf("audit: %v, %v", f, err)
	}
}
