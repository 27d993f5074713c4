package fsm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// edited changes the row of a record behind the machine's back, and logs it as
// something.
func edited(t *testing.T, store fsm.Store, id, as string, change func(*driver.Row)) {
	t.Helper()
	table, err := store.Table(storetest.Schema())
	if err != nil {
		t.Fatal(err)
	}
	err = table.Update(t.Context(), func(tx fsm.Tx) error {
		row, err := tx.Row(id)
		if err != nil {
			return err
		}
		e := fsm.Event{ID: id, Rev: row.Rev, Operation: as, Name: as, From: row.State, To: row.State, At: start, RequestN: -1,
			Inputs: fsm.MustJSON("{}"), Changes: fsm.MustJSON("{}"), Version: 1}
		e.Sum = driver.Checksum(&e)
		change(&row)
		return tx.Restore(&row, &e)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// repairs lists what the log tells of repairs.
func repairs(t *testing.T, m *machine, id string) (list []fsm.Event) {
	t.Helper()
	for e, err := range m.History(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Operation == "__repair" {
			list = append(list, e)
		}
	}
	return list
}

// other shows a row that differs from what is stored.
func other(tx fsm.Tx, change func(*driver.Row)) fsm.Tx {
	return &repairerTx{tx, func(id string) (driver.Row, error) {
		row, err := tx.Row(id)
		if err == nil {
			row.Values = append([]any(nil), row.Values...)
			change(&row)
		}
		return row, err
	}}
}

func lane(to string) func(*driver.Row) {
	return func(r *driver.Row) { r.Values[storetest.Schema().Column("lane")] = to }
}

// repairing opens a machine with one parcel, whose row looks edited to the
// transactions after that. hook may stand between them and the store.
func repairing(t *testing.T, hook func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error) (*machine, *memstore.Store) {
	t.Helper()
	store := &wrapped{Store: newStore()}
	m := open(t, store, storetest.Schema(), fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	store.update = hook
	return m, store.Store.(*memstore.Store)
}

func bent(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error { //nolint:revive // the order of what it stands for
	return table.Update(ctx, func(tx fsm.Tx) error { return f(other(tx, lane("z"))) })
}

// A repair whose answer was lost is found, and is made once.
func TestRepairWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, at := range []memstore.Point{memstore.BeforeCommit, memstore.AfterCommit} {
		m, store := repairing(t, bent)
		faulty(store, at)
		p, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "look")
		if err != nil || !repaired || p.Lane != "a" {
			t.Errorf("%+v, %v, %v", p, repaired, err)
		}
		list := repairs(t, m, "p1")
		if len(list) != 1 {
			t.Fatalf("%d repairs are logged, want one", len(list))
		}
		e := list[0]
		if e.Sum != driver.Checksum(&e) || !strings.HasPrefix(e.RequestID, "sys:__repair:") || !strings.Contains(e.Inputs.String(), `"lane":"z"`) ||
			!strings.Contains(e.Inputs.String(), `"state":"waiting"`) {
			t.Errorf("the repair is logged as %+v", e)
		}
	}
}

// A row that is gone is made anew, and one with values that no event can hold is
// told in other words.
func TestRepairTellsWhatItReplaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook func(tx fsm.Tx) fsm.Tx
		want string
	}{
		"no row": {func(tx fsm.Tx) fsm.Tx {
			return &repairerTx{tx, func(string) (driver.Row, error) { return driver.Row{}, driver.ErrNotFound }}
		}, `{"row":null}`},
		"no value": {func(tx fsm.Tx) fsm.Tx {
			return other(tx, func(r *driver.Row) { r.Values[storetest.Schema().Column("lane")] = struct{ X int }{42} })
		}, "{42}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := repairing(t, func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
				return table.Update(ctx, func(tx fsm.Tx) error { return f(tt.hook(tx)) })
			})
			if _, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "look"); err != nil || !repaired {
				t.Fatalf("%v, %v", repaired, err)
			}
			list := repairs(t, m, "p1")
			if len(list) != 1 || !strings.Contains(list[0].Inputs.String(), tt.want) {
				t.Errorf("logged as %+v, want %s in the inputs", list, tt.want)
			}
		})
	}
}

func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	m, _ := repairing(t, func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		return table.Update(ctx, func(tx fsm.Tx) error {
			return f(&repairerTx{tx, func(string) (driver.Row, error) { return driver.Row{}, fsm.ErrClosed }})
		})
	})
	if _, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "look"); repaired || !errors.Is(err, fsm.ErrClosed) {
		t.Errorf("a row that cannot be read: %v, %v", repaired, err)
	}
	store := newStore()
	m = open(t, store, finishing(), fixed())
	heldAll(t, m, "p1", "p2")
	edited(t, store, "p1", "by hand", lane("z"))
	_, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "look")
	var r *fsm.Refusal
	if repaired || !errors.Is(err, fsm.ErrQuarantined) || !errors.As(err, &r) || !strings.Contains(r.Message, "not whole") {
		t.Errorf("a log that is not whole: %v, %v", repaired, err)
	}
	o := old()
	o.States = []string{"held"}
	if _, err := audit.Purge(t.Context(), m, o); err != nil && !errors.Is(err, fsm.ErrQuarantined) {
		t.Fatal(err)
	}
	if _, repaired, err := audit.Repair(t.Context(), m, "p2", "root", "look"); repaired || !errors.Is(err, fsm.ErrPurged) {
		t.Errorf("a record that was purged: %v, %v", repaired, err)
	}
}

// A repair that was taken back, and finds the record sound at its next try, has
// repaired nothing.
func TestRepairOfASecondTry(t *testing.T) {
	t.Parallel()
	tries := 0
	m, _ := repairing(t, func(table driver.Table, ctx context.Context, f func(fsm.Tx) error) error {
		if tries++; tries == 1 {
			if err := bent(table, ctx, func(tx fsm.Tx) error { return errors.Join(f(tx), errBack) }); !errors.Is(err, errBack) {
				t.Error(err)
			}
			return driver.ErrMoved
		}
		return table.Update(ctx, f)
	})
	if _, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "look"); repaired || err != nil || tries != 2 {
		t.Errorf("%v, %v in %d tries", repaired, err, tries)
	}
}

// A record that was quarantined is none any more once it is repaired.
func TestRepairEndsTheQuarantine(t *testing.T) {
	t.Parallel()
	store := newStore()
	schema := storetest.Schema()
	m := open(t, store, schema, fixed())
	must(t)(m.Create(t.Context(), storetest.Register(meta(""), in("p1"))))
	edited(t, store, "p1", "__repair", func(r *driver.Row) { r.Values[schema.Column("moves")] = int64(-1) })
	m, err := reopen(t, store, fixed())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", "x")); !errors.Is(err, fsm.ErrQuarantined) {
		t.Fatalf("before the repair: %v, want ErrQuarantined", err)
	}
	if _, repaired, err := audit.Repair(t.Context(), m, "p1", "root", "look"); err != nil || !repaired {
		t.Fatalf("%v, %v", repaired, err)
	}
	must(t)(m.Apply(t.Context(), fsm.Ref{ID: "p1"}, note("", "x")))
}
