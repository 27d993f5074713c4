package etcdstore_test

import (
	"errors"
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Read backwards, an event that cannot be read stands in its place; a follower of the log is not led over it.
func TestNewestUnreadable(t *testing.T) {
	t.Parallel()
	f := serve(t, newData())
	store := open(t, f)
	m := openMachine(t, store)
	for i := range 3 {
		out, err := m.Create(t.Context(), register(fmt.Sprint("p", i)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Apply(t.Context(), out, storetest.Annotate(storetest.Meta{RequestID: "note"},
			driver.Optional[driver.JSON]{}, driver.Optional[string]{}, driver.Optional[bool]{})); err != nil {
			t.Fatal(err)
		}
	}
	client, err := clientv3.New(config(f))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	h := &hand{t, client, "fsm/parcel/"}
	h.put(event("p1", 1, 0), "?")
	table, err := store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	if err := table.View(t.Context(), func(r driver.Reader) error {
		for before := driver.Cursor(""); ; {
			list, err := r.Newest(before, 2)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			for _, e := range list {
				before = e.Cursor
				text := fmt.Sprintf("%s.%d.%d", e.ID, e.Rev, e.N)
				if e.Unreadable != nil {
					text += "?"
				}
				all = append(all, text)
			}
		}
		_, err := r.Log("", 10)
		if unreadable := (*driver.EventError)(nil); !errors.As(err, &unreadable) || unreadable.ID != "p1" {
			t.Errorf("the log forward: %v, want an EventError of p1", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(all), "[p2.2.0 p2.1.0 p1.2.0 p1.1.0? p0.2.0 p0.1.0]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
