package etcdstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fake is one member that serves the part of the JSON gateway that the store
// uses, out of memory: revisions, compares, nested transactions, limits,
// compaction, tokens. Real servers are asked in internal/lab/e2e.
type fake struct {
	*httptest.Server
	*data
	mu     sync.Mutex
	before func(w http.ResponseWriter, path string, body []byte) (done bool) // a fault before the call
	after  func(w http.ResponseWriter, path string) (done bool)              // one after it
	calls  []string
}

// data is what all members of a cluster share.
type data struct {
	mu        sync.Mutex
	revision  int64
	compacted int64
	keys      map[string][]version
	order     []string // of all keys, those that are gone included
	password  string   // empty: no authentication
	token     int
	logins    int
	rows      int // records that were read
}

type version struct {
	create, mod int64
	value       []byte
	gone        bool
}

func newData() *data { return &data{revision: 1, keys: map[string][]version{}} }

func serve(t testing.TB, d *data) *fake {
	f := &fake{data: d}
	f.Server = httptest.NewServer(http.HandlerFunc(f.handle))
	t.Cleanup(f.Close)
	return f
}

// fault sets what happens around the calls from now on.
func (f *fake) fault(before func(http.ResponseWriter, string, []byte) bool, after func(http.ResponseWriter, string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter, _ string) bool {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
	return true
}

type object = map[string]any

func (f *fake) handle(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.calls = append(f.calls, r.URL.Path)
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil && before(w, r.URL.Path, body) {
		return
	}
	answer, err := f.answer(r, body)
	if after != nil && after(w, r.URL.Path) {
		return
	}
	if err != nil {
		w.WriteHeader(err.http)
		_ = json.NewEncoder(w).Encode(object{"code": err.code, "message": err.text, "error": err.text})
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

type failure struct {
	http, code int
	text       string
}

func invalid(text string) *failure { return &failure{400, 3, "etcdserver: " + text} }

func (f *fake) answer(r *http.Request, body []byte) (any, *failure) {
	d := f.data
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.URL.Path == "/version" {
		return object{"etcdserver": "3.5.0", "etcdcluster": "3.5.0"}, nil
	}
	if r.URL.Path == "/v3/auth/authenticate" {
		var login struct{ Name, Password string }
		_ = json.Unmarshal(body, &login)
		switch {
		case d.password == "":
			return nil, &failure{400, 9, "etcdserver: authentication is not enabled"}
		case login.Password != d.password:
			return nil, invalid("authentication failed, invalid user ID or password")
		}
		d.logins++
		return object{"token": fmt.Sprint("token ", d.token)}, nil
	}
	if d.password != "" {
		switch r.Header.Get("Authorization") {
		case fmt.Sprint("token ", d.token):
		case "":
			return nil, invalid("user name is empty")
		default:
			return nil, &failure{401, 16, "etcdserver: invalid auth token"}
		}
	}
	if len(body) > 3<<20 { // base64 and JSON make about the double of 1.5 MiB
		return nil, invalid("request is too large")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	switch r.URL.Path {
	case "/v3/kv/range":
		var req rangeRequest
		if err := dec.Decode(&req); err != nil {
			return nil, invalid(err.Error())
		}
		got, fail := d.scan(&req)
		if fail != nil {
			return nil, fail
		}
		got["header"] = object{"revision": fmt.Sprint(d.revision)}
		return got, nil
	case "/v3/kv/txn":
		var req txnRequest
		if err := dec.Decode(&req); err != nil {
			return nil, invalid(err.Error())
		}
		return d.commit(&req)
	}
	return nil, &failure{404, 5, "Not Found"}
}

type rangeRequest struct {
	Key          []byte `json:"key"`
	RangeEnd     []byte `json:"range_end"`
	Limit        int64  `json:"limit,string"`
	Revision     int64  `json:"revision,string"`
	Serializable bool   `json:"serializable"`
	KeysOnly     bool   `json:"keys_only"`
	CountOnly    bool   `json:"count_only"`
	SortOrder    string `json:"sort_order"`
	SortTarget   string `json:"sort_target"`
}

type txnRequest struct {
	Compare []struct {
		Key            []byte `json:"key"`
		RangeEnd       []byte `json:"range_end"`
		Target, Result string
		Mod            int64  `json:"mod_revision,string"`
		Create         int64  `json:"create_revision,string"`
		Value          []byte `json:"value"`
	} `json:"compare"`
	Success, Failure []requestOp
}

type requestOp struct {
	Range  *rangeRequest `json:"request_range"`
	Put    *keyValue     `json:"request_put"`
	Delete *rangeRequest `json:"request_delete_range"`
	Txn    *txnRequest   `json:"request_txn"`
}

type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// at returns what a key holds at a revision.
func (d *data) at(key string, revision int64) (version, bool) {
	for _, v := range slices.Backward(d.keys[key]) {
		if v.mod <= revision {
			return v, !v.gone
		}
	}
	return version{}, false
}

// within returns the keys that exist at a revision: one, or those before to.
func (d *data) within(from, to []byte, revision int64) (names []string) {
	i, _ := slices.BinarySearch(d.order, string(from))
	for _, key := range d.order[i:] {
		if key != string(from) && key >= string(to) {
			break
		}
		if _, found := d.at(key, revision); found {
			names = append(names, key)
		}
	}
	return names
}

// note adds a version of a key.
func (d *data) note(key string, v version) {
	if d.keys[key] == nil {
		i, _ := slices.BinarySearch(d.order, key)
		d.order = slices.Insert(d.order, i, key)
	}
	d.keys[key] = append(d.keys[key], v)
}

func (d *data) scan(r *rangeRequest) (object, *failure) {
	revision := r.Revision
	switch {
	case revision > d.revision:
		return nil, &failure{400, 11, "etcdserver: mvcc: required revision is a future revision"}
	case revision == 0:
		revision = d.revision
	case revision < d.compacted:
		return nil, &failure{400, 11, "etcdserver: mvcc: required revision has been compacted"}
	}
	names := d.within(r.Key, r.RangeEnd, revision)
	answer := object{"count": fmt.Sprint(len(names))}
	if r.CountOnly {
		return answer, nil
	}
	if r.SortOrder == "DESCEND" && r.SortTarget == "KEY" {
		slices.Reverse(names)
	}
	if r.Limit > 0 && int64(len(names)) > r.Limit {
		names, answer["more"] = names[:r.Limit], true
	}
	var list []object
	for _, key := range names {
		v, _ := d.at(key, revision)
		kv := object{"key": []byte(key), "create_revision": fmt.Sprint(v.create), "mod_revision": fmt.Sprint(v.mod)}
		if !r.KeysOnly {
			kv["value"] = v.value
			if strings.Contains(key, "/r/") {
				d.rows++
			}
		}
		list = append(list, kv)
	}
	answer["kvs"] = list
	return answer, nil
}

// check counts operations as a server does, and finds keys that are put twice, or
// put and deleted.
func check(r *txnRequest, left int, puts map[string]bool, gone *[]*rangeRequest) *failure {
	n := max(len(r.Compare), len(r.Success), len(r.Failure))
	if n > left {
		return invalid("too many operations in txn request")
	}
	for _, list := range [][]requestOp{r.Success, r.Failure} {
		for _, op := range list {
			switch {
			case op.Txn != nil:
				if err := check(op.Txn, left-n, puts, gone); err != nil {
					return err
				}
			case op.Put != nil:
				if puts[string(op.Put.Key)] {
					return invalid("duplicate key given in txn request")
				}
				puts[string(op.Put.Key)] = true
			case op.Delete != nil:
				*gone = append(*gone, op.Delete)
			}
		}
	}
	return nil
}

func (d *data) commit(r *txnRequest) (any, *failure) {
	puts := map[string]bool{}
	var gone []*rangeRequest
	if err := check(r, 128, puts, &gone); err != nil {
		return nil, err
	}
	for _, d := range gone {
		for key := range puts {
			if key == string(d.Key) || key >= string(d.Key) && key < string(d.RangeEnd) {
				return nil, invalid("duplicate key given in txn request")
			}
		}
	}
	next := d.revision + 1
	wrote := false
	answer, fail := d.run(r, next, &wrote)
	if fail != nil {
		return nil, fail
	}
	if wrote {
		d.revision = next
	}
	answer["header"] = object{"revision": fmt.Sprint(d.revision)}
	return answer, nil
}

func (d *data) run(r *txnRequest, next int64, wrote *bool) (object, *failure) {
	holds := true
	for _, c := range r.Compare {
		var all []version
		for _, key := range d.within(c.Key, c.RangeEnd, next) {
			v, _ := d.at(key, next)
			all = append(all, v)
		}
		if len(all) == 0 {
			if holds = holds && c.Target != "VALUE"; c.Target != "VALUE" {
				all = append(all, version{})
			}
		}
		for _, v := range all {
			switch c.Target + " " + c.Result {
			case "MOD EQUAL":
				holds = holds && v.mod == c.Mod
			case "MOD LESS":
				holds = holds && v.mod < c.Mod
			case "CREATE EQUAL":
				holds = holds && v.create == c.Create
			case "VALUE EQUAL":
				holds = holds && bytes.Equal(v.value, c.Value)
			default:
				return nil, invalid("an unknown compare")
			}
		}
	}
	ops := r.Failure
	answer := object{}
	if holds {
		ops, answer["succeeded"] = r.Success, true
	}
	var responses []object
	for _, op := range ops {
		switch {
		case op.Range != nil:
			got, fail := d.scan(op.Range)
			if fail != nil {
				return nil, fail
			}
			responses = append(responses, object{"response_range": got})
		case op.Put != nil:
			key := string(op.Put.Key)
			v := version{create: next, mod: next, value: op.Put.Value}
			if old, found := d.at(key, next); found {
				v.create = old.create
			}
			d.note(key, v)
			*wrote = true
			responses = append(responses, object{"response_put": object{}})
		case op.Delete != nil:
			for _, key := range d.within(op.Delete.Key, op.Delete.RangeEnd, next) {
				d.note(key, version{mod: next, gone: true})
				*wrote = true
			}
			responses = append(responses, object{"response_delete_range": object{}})
		case op.Txn != nil:
			got, fail := d.run(op.Txn, next, wrote)
			if fail != nil {
				return nil, fail
			}
			responses = append(responses, object{"response_txn": got})
		}
	}
	answer["responses"] = responses
	return answer, nil
}

// compact forgets all revisions before the newest one.
func (d *data) compact() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.compacted = d.revision
}

// holding counts the keys that hold a text.
func (d *data) holding(text string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.keys {
		if _, found := d.at(key, d.revision); found && strings.Contains(key, text) {
			n++
		}
	}
	return n
}
