package claims_test

import (
	"context"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/claims/box"
	"github.com/fsmgen/fsmgen/internal/lab/claims/load"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// lone hides that machines of a store can share a transaction.
type lone struct{ driver.Store }

func (s lone) Table(d *driver.Schema) (driver.Table, error) {
	t, err := s.Store.Table(d)
	return struct{ driver.Table }{t}, err
}

// TestOpenRefusesOthers: a machine that cannot move the records of the other one is not opened.
func TestOpenRefusesOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	opened := func(store fsm.Store, change func(*fsmimpl.Descriptor[load.Load])) *fsm.Machine[load.Load] {
		t.Helper()
		if err := load.Migrate(ctx, store); err != nil {
			t.Fatal(err)
		}
		if err := box.Migrate(ctx, store); err != nil {
			t.Fatal(err)
		}
		m, err := load.Open(ctx, store, noTelling{})
		if err != nil {
			t.Fatal(err)
		}
		d := *m.Core().Descriptor()
		if change != nil {
			d.Operations = append([]*fsmimpl.Operation[load.Load]{}, d.Operations...)
			for i, op := range d.Operations {
				own := *op
				d.Operations[i] = &own
			}
			change(&d)
		}
		core, err := fsm.NewMachine(ctx, store, &d, map[string]fsmimpl.EffectFunc[load.Load]{
			"tell": func(context.Context, driver.Tx, load.Load, string, fsm.Event) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return core
	}
	boxes := func(store fsm.Store, opts ...fsm.Option) error {
		own, err := box.Open(ctx, memstoreWith(t), mustLoads(t))
		if err == nil || own != nil {
			t.Fatal("a machine of another store was taken")
		}
		d := boxDescriptor(t)
		_, err = fsm.NewMachine(ctx, store, d, nil, opts...)
		return err
	}
	store := memstore.New()
	added := func(d *fsmimpl.Descriptor[load.Load], change func(*fsmimpl.Operation[load.Load])) {
		for _, op := range d.Operations {
			if op.Name == "box_added" {
				change(op)
			}
		}
	}
	other := memstore.New()
	single := lone{memstore.New()}
	for what, tt := range map[string]struct {
		store fsm.Store
		opts  []fsm.Option
		want  string
	}{
		"nothing": {store, nil, "machine load, which was not handed in"},
		"other":   {store, []fsm.Option{opened(other, nil).Used()}, "machine load is over another store"},
		"lone":    {single, []fsm.Option{opened(single, nil).Used()}, "has no transaction of several machines"},
		"renamed": {store, []fsm.Option{opened(store, func(d *fsmimpl.Descriptor[load.Load]) {
			added(d, func(op *fsmimpl.Operation[load.Load]) { op.Name = "box_came" })
		}).Used()}, "box_added of machine load is not there"},
		"caller's": {store, []fsm.Option{opened(store, func(d *fsmimpl.Descriptor[load.Load]) {
			added(d, func(op *fsmimpl.Operation[load.Load]) { op.By = fsmimpl.ByCaller })
		}).Used()}, "is not the system's"},
		"input gone": {store, []fsm.Option{opened(store, func(d *fsmimpl.Descriptor[load.Load]) {
			added(d, func(op *fsmimpl.Operation[load.Load]) { op.Takes = nil })
		}).Used()}, "takes no input weight"},
		"input new": {store, []fsm.Option{opened(store, func(d *fsmimpl.Descriptor[load.Load]) {
			added(d, func(op *fsmimpl.Operation[load.Load]) {
				op.Takes = append(op.Takes[:1:1], fsmimpl.Argument{Column: driver.Column{Name: "more"}})
			})
		}).Used()}, "needs the input more"},
		"input of another type": {store, []fsm.Option{opened(store, func(d *fsmimpl.Descriptor[load.Load]) {
			added(d, func(op *fsmimpl.Operation[load.Load]) {
				op.Takes = []fsmimpl.Argument{{Column: driver.Column{Name: "weight", Kind: driver.KindString}}}
			})
		}).Used()}, "takes an input weight of another type"},
		"right": {store, []fsm.Option{opened(store, nil).Used()}, ""},
	} {
		err := boxes(tt.store, tt.opts...)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", what, err, tt.want)
		}
	}
}

// memstoreWith is a store that has both machines.
func memstoreWith(t *testing.T) *memstore.Store {
	t.Helper()
	store := memstore.New()
	if err := box.Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return store
}

// mustLoads opens the machine of loads over a store of its own.
func mustLoads(t *testing.T) *load.Machine {
	t.Helper()
	return openYard(t, memstore.New()).loads
}

// boxDescriptor is the description of the machine of boxes.
func boxDescriptor(t *testing.T) *fsmimpl.Descriptor[box.Box] {
	t.Helper()
	return openYard(t, memstore.New()).boxes.Core().Descriptor()
}
