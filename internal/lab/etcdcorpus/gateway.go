package etcdcorpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// hand edits the keys of one table past the store.
type hand struct {
	testing.TB
	endpoint, prefix string // of the table's keys
}

// call makes one call of the JSON gateway.
func call(t testing.TB, endpoint, path string, request, answer any) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.Post(endpoint+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", got.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type object = map[string]any

type pair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

// keys returns everything below a prefix.
func keys(t testing.TB, endpoint, prefix string) []pair {
	t.Helper()
	var got struct {
		KVs []pair `json:"kvs"`
	}
	end := []byte(prefix)
	end[len(end)-1]++
	call(t, endpoint, "/v3/kv/range", object{"key": []byte(prefix), "range_end": end}, &got)
	return got.KVs
}

// copyTo copies everything below one prefix to another one.
func copyTo(t testing.TB, endpoint string, list []pair, from, to string) {
	t.Helper()
	for some := range slices.Chunk(list, 100) {
		var puts []object
		for _, kv := range some {
			key := to + strings.TrimPrefix(string(kv.Key), from)
			puts = append(puts, object{"request_put": pair{[]byte(key), kv.Value}})
		}
		call(t, endpoint, "/v3/kv/txn", object{"success": puts}, &object{})
	}
}

func (h *hand) drop(key string) {
	h.Helper()
	call(h, h.endpoint, "/v3/kv/txn", object{"success": []object{{"request_delete_range": object{"key": []byte(h.prefix + key)}}}}, &object{})
}

func (h *hand) put(key, value string) {
	h.Helper()
	copyTo(h, h.endpoint, []pair{{[]byte(key), []byte(value)}}, "", h.prefix)
}

// get reads a key that must be there.
func (h *hand) get(key string) string {
	h.Helper()
	var got struct {
		KVs []pair `json:"kvs"`
	}
	call(h, h.endpoint, "/v3/kv/range", object{"key": []byte(h.prefix + key)}, &got)
	if len(got.KVs) != 1 {
		h.Fatalf("%d keys are %q", len(got.KVs), key)
	}
	return string(got.KVs[0].Value)
}

// found returns the key that begins so and speaks of a record.
func (h *hand) found(begins, id string) string {
	h.Helper()
	for _, kv := range keys(h, h.endpoint, h.prefix+begins) {
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
