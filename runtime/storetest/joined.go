package storetest

import (
	"context"
	"errors"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// CallersTx is a transaction that a caller of the store has begun by itself.
type CallersTx struct {
	Joined   fsm.Joined
	Commit   func() error
	Rollback func() error
}

// RunJoined runs what a store with callers' transactions promises of them. open
// is as in Run; begin begins a transaction in that store. The machine is the
// parcel without its atomic effect, so that every kind of transaction will do.
func RunJoined(t *testing.T, open func(tb testing.TB) fsm.Store, begin func(ctx context.Context, store fsm.Store) (CallersTx, error), opts ...Option) {
	s := &suite{open: open}
	for _, opt := range opts {
		opt(s)
	}
	for _, test := range joinedTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, s)
			d := &depot{bench: b, now: instant}
			d.Machine = d.openPlain()
			test.run(&caller{depot: d, begin: begin})
			for f, err := range d.Audit(context.Background()) {
				t.Errorf("audit: %v, %v", f, err)
			}
		})
	}
}

// openPlain opens the machine without the operation that has an atomic effect.
func (d *depot) openPlain() *fsm.Machine[Parcel] {
	d.Helper()
	plain := *Descriptor(d.schema)
	plain.Operations = nil
	for _, op := range Descriptor(d.schema).Operations {
		if op.Effect == nil || !op.Effect.Atomic {
			plain.Operations = append(plain.Operations, op)
		}
	}
	m, err := fsm.NewMachine(d.ctx, d.store, &plain, noEffects())
	if err != nil {
		d.Fatalf("NewMachine: %v", err)
	}
	return m
}

type caller struct {
	*depot
	begin func(ctx context.Context, store fsm.Store) (CallersTx, error)
}

// in begins a transaction and joins it.
func (c *caller) in() (CallersTx, *fsm.Machine[Parcel]) {
	c.Helper()
	tx, err := c.begin(c.ctx, c.store)
	if err != nil {
		c.Fatalf("begin: %v", err)
	}
	c.Cleanup(func() { _ = tx.Rollback() }) // where the test fails
	m, err := c.In(c.ctx, tx.Joined)
	if err != nil {
		c.Fatalf("In: %v", err)
	}
	return tx, m
}

// end ends a transaction, which must succeed.
func (c *caller) end(how func() error) {
	c.Helper()
	if err := how(); err != nil {
		c.Fatalf("end of the transaction: %v", err)
	}
}

// steps makes a parcel, takes it, puts it away, and picks another.
func (c *caller) steps(m *fsm.Machine[Parcel]) []outcome {
	c.Helper()
	made := c.must(m.Create(c.ctx, Register(Meta{RequestID: "r1"}, RegisterInput{ID: "p1", Lane: "a"})))
	held := c.must(m.Apply(c.ctx, made, Hold(Meta{RequestID: "r2", Actor: "ann"}, "a", instant)))
	shelved := c.must(m.Apply(c.ctx, held.Ref(), Shelve(Meta{RequestID: "r3"}, "s1", "t")))
	more, err := m.CreateMany(c.ctx, []fsmimpl.Call[Parcel]{
		Register(Meta{RequestID: "r4"}, RegisterInput{ID: "p2", Lane: "b"}), Register(Meta{RequestID: "r5"}, RegisterInput{ID: "p3", Lane: "b"})})
	if err != nil {
		c.Fatalf("CreateMany: %v", err)
	}
	picked, err := m.Pick(c.ctx, 1, Hold(Meta{RequestID: "r6", Actor: "bob"}, "b", instant))
	if err != nil {
		c.Fatalf("Pick: %v", err)
	}
	return append(append([]outcome{made, held, shelved}, more...), picked...)
}

// joinedTests are the tests of a caller's transaction.
var joinedTests = []struct {
	name string
	run  func(*caller)
}{
	{"all of it at the commit", func(c *caller) {
		tx, in := c.in()
		outs := c.steps(in)
		if p, err := in.Record(c.ctx, "p1"); err != nil || p.Rev != 3 {
			c.Errorf("the transaction sees %v, %v, want its own revision 3", p.Ref(), err)
		}
		c.end(tx.Commit)
		for _, out := range outs {
			if out.Replayed {
				c.Errorf("%v is told to be replayed", out.Ref())
			}
		}
		if p := c.parcel("p1"); p.Rev != 3 || p.State != "shelved" {
			c.Errorf("got %+v", p)
		}
		if list := c.whole(6); len(list) != 6 {
			c.Errorf("the log has %d events, want 6", len(list))
		}
	}},
	{"none of it after a rollback", func(c *caller) {
		before := c.dump()
		tx, in := c.in()
		c.steps(in)
		c.end(tx.Rollback)
		c.same(before, c.dump())
		if _, err := in.Record(c.ctx, "p1"); err == nil {
			c.Error("the machine still reads after the end of its transaction")
		}
		tx, in = c.in() // the ids and requests are free
		for _, out := range c.steps(in) {
			if out.Replayed {
				c.Errorf("%v is told to be replayed", out.Ref())
			}
		}
		c.end(tx.Commit)
	}},
	{"the same transaction again is replayed", func(c *caller) {
		tx, in := c.in()
		first := c.steps(in)
		c.end(tx.Commit)
		before := c.dump()
		tx, in = c.in()
		for i, out := range c.steps(in) {
			if !out.Replayed {
				c.Errorf("call %d is not told to be replayed", i)
			}
			c.same(outcomeText(first[i]), outcomeText(out))
		}
		c.end(tx.Commit)
		c.same(before, c.dump())
	}},
	{"a refusal before any write leaves it usable", func(c *caller) {
		c.register("p1", "a")
		tx, in := c.in()
		_, err := in.Apply(c.ctx, fsm.Ref{ID: "p1", Rev: 1}, Shelve(Meta{}, "s1", "t"))
		c.code(err, fsm.ErrWrongState)
		_, err = in.Apply(c.ctx, fsm.Ref{ID: "p1", Rev: 7}, Hold(Meta{Actor: "ann"}, "a", instant))
		c.code(err, fsm.ErrStale)
		_, err = in.Record(c.ctx, "nobody")
		c.code(err, fsm.ErrNotFound)
		c.must(in.Apply(c.ctx, fsm.Ref{ID: "p1", Rev: 1}, Hold(Meta{Actor: "ann"}, "a", instant)))
		c.end(tx.Commit)
		if p := c.parcel("p1"); p.Rev != 2 {
			c.Errorf("revision %d, want 2", p.Rev)
		}
	}},
	{"a call that failed half done ends it", func(c *caller) {
		c.shelve("p1", "a") // in "slot of p1"
		held := c.hold("p2", "b")
		before := c.dump()
		tx, in := c.in()
		c.must(in.Create(c.ctx, Register(Meta{}, RegisterInput{ID: "p3", Lane: "c"})))
		_, err := in.Apply(c.ctx, held, Shelve(Meta{}, "slot of p1", "t"))
		if !errors.Is(err, ErrSlotTaken) {
			c.Fatalf("got %v, want ErrSlotTaken", err)
		}
		if _, err := in.Create(c.ctx, Register(Meta{}, RegisterInput{Lane: "c"})); !errors.Is(err, fsm.ErrJoined) {
			c.Errorf("the next call: got %v, want ErrJoined", err)
		}
		c.end(tx.Rollback)
		c.same(before, c.dump())
	}},
	{"what runs transactions of its own is refused", func(c *caller) {
		tx, in := c.in()
		for name, call := range map[string]func() (int, error){
			"Sweep":   func() (int, error) { return in.Sweep(c.ctx) },
			"Startup": func() (int, error) { return in.Startup(c.ctx) },
			"Deliver": func() (int, error) { return in.Deliver(c.ctx) },
		} {
			if _, err := call(); !errors.Is(err, fsm.ErrJoined) {
				c.Errorf("%s: got %v, want ErrJoined", name, err)
			}
		}
		if _, err := in.In(c.ctx, tx.Joined); !errors.Is(err, fsm.ErrJoined) {
			c.Errorf("In within In: got %v, want ErrJoined", err)
		}
		c.end(tx.Rollback)
	}},
	{"a context that has ended is told", func(c *caller) {
		tx, in := c.in()
		ctx, cancel := context.WithCancel(c.ctx)
		cancel()
		if _, err := in.Create(ctx, Register(Meta{}, RegisterInput{Lane: "a"})); !errors.Is(err, context.Canceled) {
			c.Errorf("got %v, want the context's error", err)
		}
		if _, err := in.Record(ctx, "p1"); !errors.Is(err, context.Canceled) {
			c.Errorf("got %v, want the context's error", err)
		}
		c.end(tx.Rollback)
	}},
	{"a transaction that has ended is refused", func(c *caller) {
		tx, in := c.in()
		c.must(in.Create(c.ctx, Register(Meta{RequestID: "r1"}, RegisterInput{ID: "p1", Lane: "a"})))
		c.end(tx.Rollback)
		before := c.dump()
		again, err := c.In(c.ctx, tx.Joined)
		if err == nil {
			_, err = again.Create(c.ctx, Register(Meta{RequestID: "r2"}, RegisterInput{ID: "p2", Lane: "a"}))
		}
		if err == nil {
			c.Error("it was accepted")
		}
		if _, err := in.Create(c.ctx, Register(Meta{RequestID: "r3"}, RegisterInput{ID: "p3", Lane: "a"})); err == nil {
			c.Error("a machine that was in it went on")
		}
		c.same(before, c.dump())
	}},
	{"a transaction of another store is refused", func(c *caller) {
		other := c.suite.open(c.T)
		tx, err := c.begin(c.ctx, other)
		if err != nil {
			c.Fatal(err)
		}
		if _, err := c.In(c.ctx, tx.Joined); err == nil {
			c.Error("it was accepted")
		}
		c.end(tx.Rollback)
		if _, err := c.In(c.ctx, fsm.Joined{}); err == nil {
			c.Error("no transaction was accepted")
		}
	}},
}
