package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// engineTests are the guarantees of the engine over the store. After each one
// an audit must find nothing.
var engineTests = slices.Concat(callTests, manyTests, eachTests, replayTests, pickTests, effectTests, timeTests)

// depot is the machine over a bench's store, with a clock and effects that the
// test holds in its hand.
type depot struct {
	*bench
	*fsm.Machine[Parcel]
	mu    sync.Mutex
	now   time.Time
	calls []string // performed effects: "effect key id@rev"
	fail  func(effect, id string) error
	inTx  func(ctx context.Context, tx fsm.Tx, p Parcel) error // part of charge
}

// in returns the machine within a transaction of its own, that of an atomic effect.
func (d *depot) in(tx fsm.Tx) *fsm.Machine[Parcel] {
	d.Helper()
	return In(d.T, d.Machine, d.store, tx)
}

// In returns a machine within a transaction that its store has adopted.
func In(t testing.TB, m *fsm.Machine[Parcel], store fsm.Store, tx fsm.Tx) *fsm.Machine[Parcel] {
	t.Helper()
	joined, err := m.In(t.Context(), fsm.Joined{Store: store, Adopt: func(context.Context, *driver.Schema) (driver.Tx, error) { return tx, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// Audit, Repair, Redact, Purge and Forget are those of package audit.
func (d *depot) Audit(ctx context.Context, probes ...fsmimpl.Probe[Parcel]) iter.Seq2[audit.Finding, error] {
	return audit.Run(ctx, d.Machine, probes...)
}

func (d *depot) Repair(ctx context.Context, id, actor, reason string) (Parcel, bool, error) {
	return audit.Repair(ctx, d.Machine, id, actor, reason)
}

func (d *depot) Redact(ctx context.Context, id string, o audit.RedactOptions) (Parcel, bool, error) {
	return audit.Redact(ctx, d.Machine, id, o)
}

func (d *depot) Purge(ctx context.Context, o audit.PurgeOptions) (int, error) {
	return audit.Purge(ctx, d.Machine, o)
}

func (d *depot) Forget(ctx context.Context, o audit.ForgetOptions) (int, error) {
	return audit.Forget(ctx, d.Machine, o)
}

// open opens the machine; it is audited when the test ends.
func (b *bench) open(opts ...fsm.Option) *depot {
	b.Helper()
	d := &depot{bench: b, now: instant}
	d.Machine = d.another(opts...)
	b.Cleanup(func() {
		for f, err := range d.Audit(context.Background()) {
			if err != nil {
				b.Errorf("audit: %v", err)
			} else {
				b.Errorf("audit: %v", f)
			}
		}
	})
	return d
}

// another opens the machine once more, as another process would.
func (d *depot) another(opts ...fsm.Option) *fsm.Machine[Parcel] {
	d.Helper()
	return d.machine(Descriptor(d.schema), opts...)
}

// machine opens the machine of a descriptor.
func (d *depot) machine(descriptor *fsmimpl.Descriptor[Parcel], opts ...fsm.Option) *fsm.Machine[Parcel] {
	d.Helper()
	effects := map[string]fsmimpl.EffectFunc[Parcel]{}
	for _, name := range []string{"charge", "carry", "notify"} {
		effects[name] = func(ctx context.Context, tx fsm.Tx, p Parcel, key string, e fsm.Event) error {
			if (tx != nil) != (name == "charge") {
				d.Errorf("effect %s: its transaction is %v", name, tx)
			}
			if p.Rev != e.Rev || p.ID != e.ID {
				d.Errorf("effect %s: the record is %v, the event %s@%d", name, p.Ref(), e.ID, e.Rev)
			}
			d.mu.Lock()
			d.calls = append(d.calls, fmt.Sprintf("%s %s %s", name, key, p.Ref()))
			fail, inTx := d.fail, d.inTx
			d.mu.Unlock()
			if inTx != nil && tx != nil {
				if err := inTx(ctx, tx, p); err != nil {
					return err
				}
			}
			if fail != nil {
				return fail(name, p.ID)
			}
			return nil
		}
	}
	clock := fsm.WithClock(func() time.Time {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.now
	})
	m, err := fsm.NewMachine(d.ctx, d.store, descriptor, effects, append([]fsm.Option{clock, fsm.WithCallerTime()}, opts...)...)
	if err != nil {
		d.Fatalf("NewMachine: %v", err)
	}
	return m
}

func (d *depot) tick(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// performed returns the effects performed since the last call.
func (d *depot) performed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := strings.Join(d.calls, "; ")
	d.calls = nil
	return s
}

type outcome = fsm.Outcome[Parcel]

// must passes on the outcome of a call that must succeed.
func (d *depot) must(out outcome, err error) outcome {
	d.Helper()
	if err != nil {
		d.Fatalf("refused: %v", err)
	}
	return out
}

// register makes a parcel.
func (d *depot) register(id, lane string) outcome {
	d.Helper()
	return d.must(d.Create(d.ctx, Register(Meta{}, RegisterInput{ID: id, Lane: lane})))
}

// hold makes a parcel and takes it until an hour from instant.
func (d *depot) hold(id, lane string) outcome {
	d.Helper()
	return d.must(d.Apply(d.ctx, d.register(id, lane), Hold(Meta{Actor: "ann"}, lane, instant.Add(time.Hour))))
}

// shelve makes a parcel and puts it into a slot.
func (d *depot) shelve(id, lane string) outcome {
	d.Helper()
	return d.must(d.Apply(d.ctx, d.hold(id, lane), Shelve(Meta{}, "slot of "+id, "t")))
}

// code checks that an error is a refusal with that code and returns it.
func (d *depot) code(err error, want fsm.Code) *fsm.Refusal {
	d.Helper()
	var r *fsm.Refusal
	if !errors.As(err, &r) || r.Code != want {
		d.Fatalf("got %v, want a refusal with code %s", err, want)
	}
	if r.Machine != "parcel" || r.Operation == "" && want != fsm.ErrNotFound {
		d.Errorf("the refusal names machine %q and operation %q", r.Machine, r.Operation)
	}
	return r
}

// refused checks that a call is refused and leaves no trace.
func (d *depot) refused(want fsm.Code, call func() (outcome, error)) *fsm.Refusal {
	d.Helper()
	before := d.dump()
	_, err := call()
	r := d.code(err, want)
	d.same(before, d.dump())
	return r
}

// parcel returns the stored parcel.
func (d *depot) parcel(id string) Parcel {
	d.Helper()
	p, err := d.Record(d.ctx, id)
	if err != nil {
		d.Fatalf("Record(%q): %v", id, err)
	}
	return p
}

// outcomeText is what two answers to one request have in common.
func outcomeText(out outcome) []string {
	lines := []string{rowText(Encode(&out.Record)), fmt.Sprintf("record only: %v, at %v", out.RecordOnly, out.Ref())}
	for _, e := range out.Events {
		lines = append(lines, eventText(e))
	}
	return lines
}

// replays checks that got is the replay of first while the record is at current.
func (d *depot) replays(first, got outcome, current fsm.Ref, state string) {
	d.Helper()
	d.same(outcomeText(first), outcomeText(got))
	if !got.Replayed || got.Existing || got.Current != current || got.CurrentState != state {
		d.Errorf("replayed %v, existing %v, current %v in %s; want a replay at %v in %s",
			got.Replayed, got.Existing, got.Current, got.CurrentState, current, state)
	}
}

// fresh checks that an outcome is none of a replay and agrees with the store.
func (d *depot) fresh(out outcome) {
	d.Helper()
	if out.Replayed || out.Existing || out.Current != out.Ref() || out.Ref() != out.Record.Ref() || out.CurrentState != out.Record.State {
		d.Errorf("got %+v, want a fresh outcome", out)
	}
	stored := d.parcel(out.Record.ID)
	d.same([]string{rowText(Encode(&stored))}, []string{rowText(Encode(&out.Record))})
}
