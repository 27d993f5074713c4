package fsm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// A batch makes all of its calls or none, and says what cannot be part of it.
func TestBatch(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := open(t, memstore.New(), storetest.Schema())
	type machine = *fsm.Machine[storetest.Parcel]
	enough := errors.New("enough")
	for name, c := range map[string]struct {
		collect func(machine) error
		want    string // a part of the error; empty for none
		outs    int
	}{
		"creations": {func(m machine) error {
			_, one := m.Create(ctx, storetest.Register(meta("r1"), in("a")))
			_, two := m.Create(ctx, storetest.Register(meta("r2"), in("b")))
			return errors.Join(one, two)
		}, "", 2},
		"nothing": {func(machine) error { return nil }, "", 0},
		"both kinds": {func(m machine) error {
			_, one := m.Create(ctx, storetest.Register(meta("r3"), in("c")))
			_, two := m.Apply(ctx, fsm.Ref{ID: "a", Rev: 1}, note("r4", "x"))
			return errors.Join(one, two)
		}, "creations or calls on records", 0},
		"a batch inside":                 {func(m machine) error { _, err := m.Batch(ctx, func(machine) error { return nil }); return err }, "cannot be part of a batch", 0},
		"a sweep, its error passed over": {func(m machine) error { _, _ = m.Sweep(ctx); return nil }, "Sweep cannot be part of a batch", 0},
		"a pick":                         {func(m machine) error { _, err := m.Pick(ctx, 1, storetest.Hold(meta("r5"), "a", start)); return err }, "hold cannot be part of a batch", 0},
		"given up": {func(m machine) error {
			_, err := m.Create(ctx, storetest.Register(meta("r6"), in("d")))
			return errors.Join(err, enough)
		}, enough.Error(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			outs, err := m.Batch(ctx, c.collect)
			if len(outs) != c.outs || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d outcomes, %v; want %d, %q", len(outs), err, c.outs, c.want)
			}
		})
	}
	for _, id := range []string{"c", "d"} {
		if _, err := m.Record(ctx, id); !errors.Is(err, fsm.ErrNotFound) {
			t.Errorf("%s was made by a batch that failed: %v", id, err)
		}
	}
}
