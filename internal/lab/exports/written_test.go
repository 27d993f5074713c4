// Package exports_test writes what machines of the repository make of random calls, for the check
// that holds it to the exported schemas and types.
package exports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/events/jobstate"
	"github.com/fsmgen/fsmgen/examples/machines/obanjob"
	"github.com/fsmgen/fsmgen/examples/machines/paymentintent"
	"github.com/fsmgen/fsmgen/examples/machines/stream"
	"github.com/fsmgen/fsmgen/examples/orders/order"
	"github.com/fsmgen/fsmgen/examples/pipeline/ingest"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// noMail stands for the mail of an order.
type noMail struct{}

func (noMail) MailReceipt(context.Context, order.Order, string, fsm.Event) error { return nil }

// TestWritten makes random calls on machines, and writes their records and events as Go's json does. Each machine
// must reach half of its states and make half of its operations; the check reads the files.
func TestWritten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := os.Getenv("FSMGEN_EXPORTS")
	if dir == "" {
		dir = t.TempDir()
	}
	write(t, dir, "jobstate", jobstate.Migrate, func(s fsm.Store, o fsm.Option) (*jobstate.Machine, error) { return jobstate.Open(ctx, s, o) })
	write(t, dir, "obanjob", obanjob.Migrate, func(s fsm.Store, o fsm.Option) (*obanjob.Machine, error) { return obanjob.Open(ctx, s, o) })
	write(t, dir, "paymentintent", paymentintent.Migrate, func(s fsm.Store, o fsm.Option) (*paymentintent.Machine, error) {
		return paymentintent.Open(ctx, s, o)
	})
	write(t, dir, "stream", stream.Migrate, func(s fsm.Store, o fsm.Option) (*stream.Machine, error) { return stream.Open(ctx, s, o) })
	write(t, dir, "order", order.Migrate, func(s fsm.Store, o fsm.Option) (*order.Machine, error) { return order.Open(ctx, s, noMail{}, o) })
	write(t, dir, "ingest", ingest.Migrate, func(s fsm.Store, o fsm.Option) (*ingest.Machine, error) { return ingest.Open(ctx, s, o) })
	write(t, dir, "lifecycle", lifecycle.Migrate, func(s fsm.Store, o fsm.Option) (*lifecycle.Machine, error) { return lifecycle.Open(ctx, s, o) })
}

// write makes the calls of one machine and its files: a line for each record that was seen, and for each event.
func write[R any, M interface{ Core() *fsm.Machine[R] }](
	t *testing.T, dir, name string, migrate func(context.Context, fsm.Store) error, open func(fsm.Store, fsm.Option) (M, error),
) {
	t.Helper()
	ctx, store, now := t.Context(), memstore.New(), time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	if err := migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	machine, err := open(store, fsm.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	w := &walk[R]{m: machine.Core(), random: rand.New(rand.NewPCG(1, 2)), seen: map[string]bool{}, states: map[string]bool{}, made: map[string]bool{}}
	for range 4000 {
		now = now.Add(time.Duration(w.random.IntN(1000)) * time.Second)
		if err := w.call(ctx); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if _, err := w.m.Sweep(ctx); err != nil {
		t.Logf("%s: sweep: %v", name, err)
	}
	schema := w.m.Schema()
	var events []byte
	for e, err := range w.m.Log(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(e.Event)
		if err != nil {
			t.Fatal(err)
		}
		events = append(append(events, line...), '\n')
		w.states[e.To], w.made[e.Operation] = true, true
	}
	if len(w.states) < len(schema.States)/2 || len(w.made) < len(w.m.Descriptor().Operations)/2 {
		t.Errorf("%s: %d of %d states and %d of %d operations: too few", name, len(w.states), len(schema.States), len(w.made), len(w.m.Descriptor().Operations))
	}
	for file, data := range map[string][]byte{name + ".records.jsonl": w.records, name + ".events.jsonl": events} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// walk is random calls on one machine.
type walk[R any] struct {
	m            *fsm.Machine[R]
	random       *rand.Rand
	n            int
	ids          []string
	records      []byte
	seen         map[string]bool
	states, made map[string]bool
}

// call makes one call of any operation with inputs of its types. A refusal is an answer.
func (w *walk[R]) call(ctx context.Context) error {
	d := w.m.Descriptor()
	op := d.Operations[w.random.IntN(len(d.Operations))]
	if op.By == fsmimpl.BySystem {
		_, err := w.m.Sweep(ctx)
		return passed(err)
	}
	if op.Make == nil {
		return nil
	}
	w.n++
	values := map[string]any{}
	for _, a := range op.Takes {
		if v := w.value(&a); v != nil {
			values[a.Name] = v
		}
	}
	c := fsmimpl.Caller{Reason: "because"}
	if w.m.Schema().RequestID != driver.Never {
		c.RequestID = fmt.Sprint("r", w.n)
	}
	if op.NeedActor || w.random.IntN(2) == 0 {
		c.Actor = []string{"ann", "bob"}[w.random.IntN(2)]
	}
	if w.random.IntN(3) == 0 {
		c.Labels = map[string]string{"trace": "t"}
	}
	id := ""
	if op.Creates {
		id = fmt.Sprint("id-", w.n)
	}
	call, err := d.Named(op.Name, id, values, c)
	if err != nil {
		return nil //nolint:nilerr // an input that the program itself would not have made
	}
	var outs []fsm.Outcome[R]
	var out fsm.Outcome[R]
	switch {
	case op.Creates:
		if out, err = w.m.Create(ctx, call); err == nil && !out.Existing {
			w.ids = append(w.ids, id)
		}
	case op.Picks:
		outs, err = w.m.Pick(ctx, 1, call)
	case len(w.ids) == 0:
		return nil
	default:
		at := w.ids[w.random.IntN(len(w.ids))]
		row, known := w.m.Record(ctx, at)
		if known != nil {
			return known
		}
		out, err = w.m.Apply(ctx, &held[R]{row, d}, call)
	}
	if err == nil {
		for _, o := range append(outs, out) {
			w.record(&o)
		}
	}
	return passed(err)
}

// held is a record as the target of a call.
type held[R any] struct {
	rec R
	d   *fsmimpl.Descriptor[R]
}

func (h *held[R]) Ref() driver.Ref {
	row := h.d.Encode(&h.rec)
	return row.Ref()
}

func (w *walk[R]) record(o *fsm.Outcome[R]) {
	if len(o.Events) == 0 {
		return
	}
	line, err := json.Marshal(o.Record)
	if err != nil {
		panic(err)
	}
	if !w.seen[string(line)] {
		w.seen[string(line)] = true
		w.records = append(append(w.records, line...), '\n')
	}
}

// value makes a value for an input, as rows hold it; nil leaves it out.
func (w *walk[R]) value(a *fsmimpl.Argument) any {
	if a.Optional && w.random.IntN(3) == 0 {
		return nil
	}
	switch a.Kind {
	case driver.KindInt, driver.KindCounter, driver.KindSequence:
		return []int64{0, 1, 2, 3, 5, 60_000_000, 3_600_000_000}[w.random.IntN(7)]
	case driver.KindBool:
		return w.random.IntN(2) == 0
	case driver.KindTime:
		return time.Date(2026, 1, 1+w.random.IntN(300), 0, 0, 0, 1000*w.random.IntN(2), time.UTC)
	case driver.KindEnum:
		return a.Words[w.random.IntN(len(a.Words))]
	case driver.KindSet:
		return []string{`["a"]`, `["a","b"]`, `[]`}[w.random.IntN(3)]
	case driver.KindJSON:
		return []string{`{"a":1}`, `[1,"two",null]`, `"text"`}[w.random.IntN(3)]
	}
	return []string{"a", "worker-1", "größer", "x y", "0123456789012345678901234567890123456789"}[w.random.IntN(5)]
}

// passed is nil for a refusal.
func passed(err error) error {
	var refused *fsm.Refusal
	if errors.As(err, &refused) {
		return nil
	}
	return err
}
