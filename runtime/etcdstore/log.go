package etcdstore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// maxLag is how many revisions of etcd may lie between the one that a writer
// knows of and the newest write to its table.
//
// An event stands in the log under the revision that its writer knew of, since
// nobody can put a key under the revision of its own commit. The commit came
// later, and the compare `fresh` says how much later at most: every write before
// it came within maxLag of the known revision. So whoever looks for the events
// behind revision c finds all of them under c-maxLag and above, and whoever has
// read all keys below x has all events up to revision x.
const maxLag = 1000

// fresh holds while no write to the table is more than maxLag after a revision.
func (t *table) fresh(since int64) *pb.Compare { return before(t.keys.written(), since+maxLag+1) }

// logged is one event of the log: when it was committed and where it is.
type logged struct {
	mod    int64
	id, at string
}

func (l logged) cursor() driver.Cursor {
	return driver.Cursor(strconv.FormatInt(l.mod, 10) + "." + strings.ReplaceAll(l.at, ".", "_") + "." + l.id)
}

func (l logged) compare(other logged) int {
	return cmp.Or(cmp.Compare(l.mod, other.mod), strings.Compare(l.id, other.id), strings.Compare(l.at, other.at))
}

// readCursor is the reverse of logged.cursor.
func readCursor(c driver.Cursor) (l logged, ok bool) {
	parts := strings.SplitN(string(c), ".", 3)
	if len(parts) != 3 || parts[2] == "" {
		return l, false
	}
	mod, err := strconv.ParseInt(parts[0], 10, 64)
	l = logged{mod, parts[2], strings.ReplaceAll(parts[1], "_", ".")}
	rev, n, placeErr := cutPlace(l.at)
	return l, err == nil && placeErr == nil && mod > 0 && l.at == place(rev, n) && l.cursor() == c
}

// Log returns events of all records behind the cursor, in the order of their
// commits, which is that of etcd's revisions.
func (r reader) Log(after driver.Cursor, limit int) ([]driver.Entry, error) {
	wrong := func() error { return fmt.Errorf("etcdstore: %s: %q: %w", r.t.schema.Machine, after, driver.ErrCursor) }
	var start logged
	if after != "" {
		var ok bool
		if start, ok = readCursor(after); !ok {
			return nil, wrong()
		}
	}
	written := r.t.keys.written()
	if err := r.load(written); err != nil {
		return nil, err
	}
	r.track(written)
	if start.mod > r.base[written].mod {
		return nil, wrong()
	}
	list, err := r.behind(start, limit)
	if err != nil {
		return nil, err
	}
	return r.entries(list, false)
}

// Newest returns events of all records before the cursor, the last one first.
func (r reader) Newest(before driver.Cursor, limit int) ([]driver.Entry, error) {
	written := r.t.keys.written()
	if err := r.load(written); err != nil {
		return nil, err
	}
	end := logged{mod: r.base[written].mod + 1}
	if before != "" {
		given, ok := readCursor(before)
		if !ok {
			return nil, fmt.Errorf("etcdstore: %s: %q: %w", r.t.schema.Machine, before, driver.ErrCursor)
		}
		if given.compare(end) < 0 {
			end = given
		}
	}
	list, err := r.before(end, limit)
	if err != nil {
		return nil, err
	}
	return r.entries(list, true)
}

// entries reads the events at places in the log. Of what is none it returns the place, or else an error.
func (r reader) entries(list []logged, places bool) ([]driver.Entry, error) {
	ids, names := make([]string, len(list)), make([]string, len(list))
	for i, l := range list {
		rev, n, err := cutPlace(l.at)
		if err != nil {
			return nil, err
		}
		ids[i], names[i] = l.id, r.t.keys.event(l.id, rev, n)
	}
	if err := r.load(names...); err != nil {
		return nil, err
	}
	entries := make([]driver.Entry, 0, len(list))
	for i, l := range list {
		events, err := r.eventsAt(ids[i:i+1], names[i:i+1])
		var unreadable *driver.EventError
		if places && errors.As(err, &unreadable) {
			at := driver.Event{ID: unreadable.ID, Rev: unreadable.Rev, N: unreadable.N}
			entries = append(entries, driver.Entry{Event: at, Cursor: l.cursor(), Unreadable: unreadable})
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			entries = append(entries, driver.Entry{Event: e, Cursor: l.cursor()})
		}
	}
	return entries, nil
}

// Blurred reports whether two events are of one transaction: then the log gives
// them by id.
func (r reader) Blurred(a, b *driver.Entry) bool {
	first, known := readCursor(a.Cursor)
	second, too := readCursor(b.Cursor)
	return known && too && first.mod == second.mod
}

// Lag finds nothing: a writer that would put an event before a committed one has to write again.
func (r reader) Lag() (driver.Lag, error) { return driver.Lag{}, nil }

// behind returns what stands behind a place in the log, at most limit.
func (r reader) behind(start logged, limit int) (found []logged, err error) {
	prefix := r.t.keys.base + partLog
	sp := below(prefix)
	sp.from = prefix + sortable(max(start.mod-maxLag, 0))
	for size := 2 * pageSize; sp != (span{}); size = min(2*size, 8*pageSize) {
		request := all(sp)
		request.Limit, request.KeysOnly = int64(size), true
		got, err := r.read([]*pb.RangeRequest{request})
		if err != nil {
			return nil, err
		}
		known := int64(0) // all events up to this revision have been seen
		for _, kv := range got[0].Kvs {
			l, since, err := r.readLogged(prefix, kv)
			if err != nil {
				return nil, err
			}
			known = since
			if l.compare(start) > 0 {
				found = append(found, l)
			}
		}
		if !got[0].More || len(got[0].Kvs) == 0 {
			break
		}
		sp.from = next(string(got[0].Kvs[len(got[0].Kvs)-1].Key))
		slices.SortFunc(found, logged.compare)
		if limit > 0 && len(found) >= limit && found[limit-1].mod <= known {
			break
		}
	}
	slices.SortFunc(found, logged.compare)
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, nil
}

// before returns what stands before a place in the log, at most limit, backwards. It looks at
// the revisions that writers knew of, a stretch after another, each twice as long.
func (r reader) before(end logged, limit int) (found []logged, err error) {
	prefix := r.t.keys.base + partLog
	for to, width := end.mod, int64(pageSize); to > 0; width *= 2 {
		from := max(to-width, 0)
		sp := span{prefix + sortable(from), prefix + sortable(to)}
		for sp != (span{}) {
			request := all(sp)
			request.Limit, request.KeysOnly = 8*pageSize, true
			got, err := r.read([]*pb.RangeRequest{request})
			if err != nil {
				return nil, err
			}
			for _, kv := range got[0].Kvs {
				l, _, err := r.readLogged(prefix, kv)
				if err != nil {
					return nil, err
				}
				if l.compare(end) < 0 {
					found = append(found, l)
				}
			}
			if !got[0].More || len(got[0].Kvs) == 0 {
				break
			}
			sp.from = next(string(got[0].Kvs[len(got[0].Kvs)-1].Key))
		}
		to = from
		slices.SortFunc(found, func(a, b logged) int { return b.compare(a) })
		// What is not seen yet was committed at most maxLag after to.
		if limit > 0 && len(found) >= limit && found[limit-1].mod > to+maxLag {
			break
		}
	}
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, nil
}

// readLogged reads a key of the log, and the revision that its writer knew of.
func (r reader) readLogged(prefix string, kv *mvccpb.KeyValue) (l logged, since int64, err error) {
	parts := strings.SplitN(strings.TrimPrefix(string(kv.Key), prefix), "\x00", 3)
	if len(parts) != 3 {
		return l, 0, fmt.Errorf("etcdstore: the key %q is none of the log", kv.Key)
	}
	known, err := strconv.ParseUint(parts[0], 16, 64)
	if err != nil {
		return l, 0, fmt.Errorf("etcdstore: the key %q is none of the log: %w", kv.Key, err)
	}
	return logged{kv.ModRevision, parts[1], parts[2]}, int64(known ^ 1<<63), nil
}
