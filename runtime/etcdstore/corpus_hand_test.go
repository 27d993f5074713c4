package etcdstore_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// hand edits the keys of one table past the store.
type hand struct {
	testing.TB
	client *clientv3.Client
	prefix string // of the table's keys
}

type object = map[string]any

// keys returns everything below a prefix.
func keys(t testing.TB, c *clientv3.Client, prefix string) []*mvccpb.KeyValue {
	t.Helper()
	got, err := c.Get(t.Context(), prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	return got.Kvs
}

// copyTo copies everything below one prefix to another one.
func copyTo(t testing.TB, c *clientv3.Client, list []*mvccpb.KeyValue, from, to string) {
	t.Helper()
	for some := range slices.Chunk(list, 100) {
		var puts []clientv3.Op
		for _, kv := range some {
			puts = append(puts, clientv3.OpPut(to+strings.TrimPrefix(string(kv.Key), from), string(kv.Value)))
		}
		if _, err := c.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *hand) drop(key string) {
	h.Helper()
	if _, err := h.client.Txn(h.Context()).Then(clientv3.OpDelete(h.prefix + key)).Commit(); err != nil {
		h.Fatal(err)
	}
}

func (h *hand) put(key, value string) {
	h.Helper()
	if _, err := h.client.Txn(h.Context()).Then(clientv3.OpPut(h.prefix+key, value)).Commit(); err != nil {
		h.Fatal(err)
	}
}

// get reads a key that must be there.
func (h *hand) get(key string) string {
	h.Helper()
	got, err := h.client.Get(h.Context(), h.prefix+key)
	if err != nil || len(got.Kvs) != 1 {
		h.Fatalf("%d keys are %q, %v", len(got.Kvs), key, err)
	}
	return string(got.Kvs[0].Value)
}

// found returns the key that begins so and speaks of a record.
func (h *hand) found(begins, id string) string {
	h.Helper()
	for _, kv := range keys(h, h.client, h.prefix+begins) {
		if strings.HasSuffix(string(kv.Value), id) {
			return strings.TrimPrefix(string(kv.Key), h.prefix)
		}
	}
	h.Fatalf("no key below %q speaks of %q", begins, id)
	return ""
}

// edit changes the object under a key: nil takes a member out. Members that are
// not named keep their bytes, over which checksums are made.
func (h *hand) edit(key string, members object) {
	h.Helper()
	h.put(key, string(h.merged([]byte(h.get(key)), members)))
}

// merged changes members of an object, those of objects one by one.
func (h *hand) merged(text []byte, members object) []byte {
	h.Helper()
	doc := map[string]json.RawMessage{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &doc); err != nil {
			h.Fatal(err)
		}
	}
	for name, v := range members {
		if v == nil {
			delete(doc, name)
			continue
		}
		if inner, nested := v.(object); nested {
			doc[name] = h.merged(doc[name], inner)
			continue
		}
		value, err := json.Marshal(v)
		if err != nil {
			h.Fatal(err)
		}
		doc[name] = value
	}
	changed, err := json.Marshal(doc)
	if err != nil {
		h.Fatal(err)
	}
	return changed
}

// row and event are the keys of a record and of one line of its log.
func row(id string) string { return "r/" + id }

func event(id string, rev, n int64) string {
	if n > 0 {
		return fmt.Sprintf("e/%s\x00%012d.%09d", id, rev, n)
	}
	return fmt.Sprintf("e/%s\x00%012d", id, rev)
}

// resum makes the checksum of an event right for what it says now, and with
// chain set the chain of its log and record too.
func (h *hand) resum(table driver.Table, id string, rev, n int64, chain bool) {
	h.Helper()
	var events []fsm.Event
	err := table.View(h.Context(), func(r driver.Reader) error {
		events = nil
		for e, err := range r.Events(id, 0) {
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	var steps, last uint32
	for i := range events {
		e := &events[i]
		if e.Rev == rev && e.N == n {
			e.Sum = driver.Checksum(e)
			h.edit(event(id, rev, n), object{"sum": e.Sum})
		}
		if e.RecordOnly() {
			last = driver.Chained(last, e)
		} else {
			steps = driver.Chained(steps, e)
			last = steps
		}
		if chain && e.Chain != last {
			h.edit(event(id, e.Rev, e.N), object{"chain": last})
		}
	}
	if chain {
		h.edit(row(id), object{"chain": steps})
	}
}
