package etcdstore

import (
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Doubles returns the groups of rows that hold one place of a unique rule. The
// places themselves cannot be held twice; the rows are asked, and no index.
func (r reader) Doubles(u *driver.UniqueRule, after string, limit int) ([]driver.Double, error) {
	places := map[string]int{} // -> index in list
	var list []driver.Double
	err := r.find(&driver.Query{}, func(row *driver.Row) (bool, error) {
		values, whole := r.t.values(row, u.Columns)
		if !whole || u.States != nil && !slices.Contains(u.States, row.State) {
			return true, nil
		}
		key := joined(values)
		i, met := places[key]
		if !met {
			places[key] = len(list)
			list = append(list, driver.Double{First: row.ID, Last: row.ID, Count: 1})
			return true, nil
		}
		list[i].Last = row.ID
		list[i].Count++
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	found := list[:0]
	for _, d := range list {
		if d.Count > 1 && d.First > after && (limit <= 0 || len(found) < limit) {
			found = append(found, d)
		}
	}
	return found, nil
}

// Loose returns the ids of rows that their log does not end with: for each row
// the event of its revision is read, and whether one stands after it.
func (r reader) Loose(after string, limit int) ([]string, error) {
	var ids []string
	var some []driver.Row
	look := func() error {
		var requests []*pb.RangeRequest
		for i := range some {
			row := &some[i]
			log := r.t.keys.events(row.ID)
			after := all(span{r.t.keys.event(row.ID, row.Rev+1, 0), log.to})
			after.Limit, after.KeysOnly = 8, true
			requests = append(requests, one(r.t.keys.event(row.ID, row.Rev, 0)), after)
		}
		got, err := r.read(requests)
		if err != nil {
			return err
		}
		for i := range some {
			row := &some[i]
			loose := len(got[2*i].Kvs) == 0
			if !loose {
				e, err := decodeEvent(row.ID, got[2*i].Kvs[0].Value)
				loose = err != nil || e.To != row.State
			}
			for _, kv := range got[2*i+1].Kvs { // a step after it; what was only recorded there is no step
				_, at, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), r.t.keys.base+partEvent), "\x00")
				_, n, err := cutPlace(at)
				loose = loose || err != nil || n == 0
			}
			if loose && (limit <= 0 || len(ids) < limit) {
				ids = append(ids, row.ID)
			}
		}
		some = some[:0]
		return nil
	}
	err := r.find(&driver.Query{After: after}, func(row *driver.Row) (bool, error) {
		if some = append(some, *row); len(some) < maxReads/2 {
			return true, nil
		}
		err := look()
		return limit <= 0 || len(ids) < limit, err
	})
	if err == nil {
		err = look()
	}
	return ids, err
}
