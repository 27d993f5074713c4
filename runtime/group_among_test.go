package fsm_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// countWatch notes for each count whether the lock of the group is said to be enough.
type countWatch struct {
	fsm.Tx
	locked *[]bool
}

func (c countWatch) Peers(q driver.PeerQuery) (int64, error) {
	*c.locked = append(*c.locked, q.Locked)
	return c.Tx.Peers(q)
}

// What the generator knows of one operation holds for a transaction of that call alone: beside other calls, which may
// bring records into any group, a lock is not enough.
func TestALockIsEnoughForOneCall(t *testing.T) {
	t.Parallel()
	var locked []bool
	m := open(t, hooking(func(tx fsm.Tx) fsm.Tx { return countWatch{tx, &locked} }), storetest.Schema(), fixed())
	held := func(id string) outcome {
		out := must(t)(m.Create(t.Context(), storetest.Register(meta("make "+id), in(id))))
		return must(t)(m.Apply(t.Context(), out, storetest.Hold(meta("hold "+id), "a", start)))
	}
	shelve := func(id string) fsmimpl.Call[storetest.Parcel] {
		c := storetest.Shelve(meta("shelve "+id), id, "t")
		peers := c.Peers
		c.Peers = func(p *storetest.Parcel, id string) []driver.PeerQuery {
			list := slices.Clone(peers(p, id))
			list[0].Locked = true
			return list
		}
		return c
	}
	must(t)(m.Apply(t.Context(), held("p1"), shelve("p1")))
	one := []fsmimpl.Item[storetest.Parcel]{{At: held("p2"), Call: shelve("p2")}}
	if _, err := m.ApplyMany(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	two := []fsmimpl.Item[storetest.Parcel]{{At: held("p3"), Call: shelve("p3")}, {At: held("p4"), Call: storetest.Touch(meta("touch"), start)}}
	if _, err := m.ApplyMany(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true, true, false}, locked); diff != "" {
		t.Errorf("whether the lock was enough (-want +got):\n%s", diff)
	}
}
