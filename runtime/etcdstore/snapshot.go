package etcdstore

import (
	"context"
	"maps"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	maxOps   = 128 // of one transaction: the default of etcd's --max-txn-ops
	maxReads = 100 // of one read, some room below it
	pageSize = 256 // keys of one page
)

// stored is what a key holds; mod is 0 when it does not exist.
type stored struct {
	value []byte
	mod   int64
}

// entry is one key of a walk.
type entry struct {
	key   string
	value []byte
}

// batch is what a transaction writes; nil deletes.
type batch map[string][]byte

func (b batch) put(key string, value []byte) {
	if value == nil {
		value = []byte{}
	}
	b[key] = value
}

func (b batch) drop(key string) { b[key] = nil }

// ops returns the writes in the order of their keys. The spans are deleted as a
// whole: nothing is put there.
func (b batch) ops(gone ...span) []*pb.RequestOp {
	list := make([]*pb.RequestOp, 0, len(b)+len(gone))
	for _, key := range slices.Sorted(maps.Keys(b)) {
		switch v := b[key]; {
		case v != nil:
			list = append(list, put(key, v))
		case !slices.ContainsFunc(gone, func(sp span) bool { return sp.from <= key && key < sp.to }):
			list = append(list, drop(key, ""))
		}
	}
	for _, sp := range gone {
		list = append(list, drop(sp.from, sp.to))
	}
	return list
}

// snapshot reads at one revision of the store: that of its first read, which is
// linearizable. Over it lies what the transaction has written so far.
type snapshot struct {
	ctx       context.Context
	t         *table
	rev       int64
	base      map[string]stored
	over      batch
	compacted bool // a read failed for it: the work begins anew at a later revision

	// What the transaction has read, to be compared when it writes; nil in a view.
	reads map[string]int64  // key -> revision of its last change
	empty map[span]struct{} // ranges that held nothing
}

func newSnapshot(ctx context.Context, t *table) *snapshot {
	return &snapshot{ctx: ctx, t: t, base: map[string]stored{}, over: batch{}}
}

// read runs range requests at the snapshot's revision, in one round trip for
// each maxReads of them.
func (s *snapshot) read(requests []*pb.RangeRequest) ([]*pb.RangeResponse, error) {
	var all []*pb.RangeResponse
	for len(requests) > 0 {
		n := min(len(requests), maxReads)
		got, err := s.readSome(requests[:n])
		if err != nil {
			if failed(err, compacted) {
				s.compacted = true
			}
			return nil, s.t.fault(err, nil)
		}
		all = append(all, got...)
		requests = requests[n:]
	}
	return all, nil
}

func (s *snapshot) readSome(requests []*pb.RangeRequest) ([]*pb.RangeResponse, error) {
	if s.rev == 0 {
		return s.readFirst(requests)
	}
	// A revision is the same at every member that has it, so the nearest one will do.
	got, err := s.readAt(requests, true)
	if failed(err, behind) {
		got, err = s.readAt(requests, false)
	}
	return got, err
}

func (s *snapshot) readAt(requests []*pb.RangeRequest, serializable bool) ([]*pb.RangeResponse, error) {
	for _, r := range requests {
		r.Revision, r.Serializable = s.rev, serializable
	}
	answer, err := s.t.store.client.read(s.ctx, &pb.TxnRequest{Success: reads(requests)})
	if err != nil {
		return nil, err
	}
	return ranges(answer, len(requests)), nil
}

// readFirst finds the revision, and whether the keys are laid out as this
// program expects.
func (s *snapshot) readFirst(requests []*pb.RangeRequest) ([]*pb.RangeResponse, error) {
	answer, err := s.t.store.client.read(s.ctx, &pb.TxnRequest{Compare: []*pb.Compare{s.t.asExpected()}, Success: reads(requests)})
	if err != nil {
		return nil, err
	}
	if !answer.Succeeded {
		return nil, s.t.mismatch("the keys below %q are not laid out for this specification", s.t.keys.base)
	}
	s.rev = answer.Header.Revision
	return ranges(answer, len(requests)), nil
}

// load reads keys that are not known yet.
func (s *snapshot) load(keys ...string) error {
	var requests []*pb.RangeRequest
	var names []string
	for _, key := range keys {
		if _, known := s.base[key]; !known && !slices.Contains(names, key) {
			names = append(names, key)
			requests = append(requests, one(key))
		}
	}
	got, err := s.read(requests)
	if err != nil {
		return err
	}
	for i, r := range got {
		var v stored
		if len(r.Kvs) > 0 {
			v = stored{r.Kvs[0].Value, r.Kvs[0].ModRevision}
		}
		s.base[names[i]] = v
	}
	return nil
}

// get returns what a key holds, own writes included.
func (s *snapshot) get(key string) (value []byte, found bool, err error) {
	if v, ours := s.over[key]; ours {
		return v, v != nil, nil
	}
	if err := s.load(key); err != nil {
		return nil, false, err
	}
	v := s.base[key]
	return v.value, v.mod > 0, nil
}

// track makes the commit depend on a key being as it was read. The key was
// loaded before.
func (s *snapshot) track(keys ...string) {
	if s.reads == nil {
		return
	}
	for _, key := range keys {
		s.reads[key] = s.base[key].mod
	}
}

// trackEmpty makes the commit depend on a range that held nothing.
func (s *snapshot) trackEmpty(sp span) {
	if s.reads != nil {
		s.empty[sp] = struct{}{}
	}
}

// trackAll makes the commit depend on nothing at all having been written.
func (s *snapshot) trackAll() error {
	if s.reads == nil {
		return nil
	}
	if err := s.load(s.t.keys.written()); err != nil {
		return err
	}
	s.track(s.t.keys.written())
	return nil
}

// page returns the first keys of a range and what is left of it; an empty rest
// when that was all.
func (s *snapshot) page(sp span, limit int, keysOnly bool) (list []entry, rest span, err error) {
	request := all(sp)
	request.Limit, request.KeysOnly = int64(limit), keysOnly
	got, err := s.read([]*pb.RangeRequest{request})
	if err != nil {
		return nil, span{}, err
	}
	covered := sp
	if got[0].More && len(got[0].Kvs) > 0 {
		last := string(got[0].Kvs[len(got[0].Kvs)-1].Key)
		covered.to = next(last)
		rest = span{covered.to, sp.to}
	}
	for _, kv := range got[0].Kvs {
		if _, ours := s.over[string(kv.Key)]; !ours {
			list = append(list, entry{string(kv.Key), kv.Value})
		}
	}
	own := s.own(covered)
	if len(own) > 0 {
		list = append(list, own...)
		slices.SortFunc(list, func(a, b entry) int {
			if a.key < b.key {
				return -1
			}
			return 1
		})
	}
	return list, rest, nil
}

// own returns what the transaction has put into a range.
func (s *snapshot) own(sp span) (list []entry) {
	for key, v := range s.over {
		if v != nil && key >= sp.from && key < sp.to {
			list = append(list, entry{key, v})
		}
	}
	return list
}

// walk calls f for each key of a range until it says that it is enough.
func (s *snapshot) walk(sp span, keysOnly bool, f func(entry) (more bool, err error)) error {
	for limit := 32; sp != (span{}); limit = min(2*limit, 8*pageSize) {
		list, rest, err := s.page(sp, limit, keysOnly)
		if err != nil {
			return err
		}
		for _, e := range list {
			if more, err := f(e); err != nil || !more {
				return err
			}
		}
		sp = rest
	}
	return nil
}

// count returns how many keys a range has.
func (s *snapshot) count(sp span) (int64, error) {
	for key := range s.over {
		if key >= sp.from && key < sp.to { // own writes there: count them one by one
			var n int64
			err := s.walk(sp, true, func(entry) (bool, error) { n++; return true, nil })
			return n, err
		}
	}
	request := all(sp)
	request.CountOnly = true
	got, err := s.read([]*pb.RangeRequest{request})
	if err != nil {
		return 0, err
	}
	return got[0].Count, nil
}
