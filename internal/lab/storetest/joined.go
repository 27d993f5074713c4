package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// CallersTx is a transaction that a caller of the store has begun by itself.
type CallersTx struct {
	Joined   fsm.Joined
	Commit   func() error
	Rollback func() error
	// Exec runs a statement of SQL in it; nil where there is no SQL.
	Exec func(statement string) error
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
		if !op.MayAsk(true) {
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
	{"a call that failed half done is taken back", func(c *caller) {
		c.shelve("p1", "a") // in "slot of p1"
		held := c.hold("p2", "b")
		tx, in := c.in()
		c.must(in.Create(c.ctx, Register(Meta{}, RegisterInput{ID: "p3", Lane: "c"})))
		for range 2 {
			_, err := in.Apply(c.ctx, held, Shelve(Meta{}, "slot of p1", "t"))
			if !errors.Is(err, ErrSlotTaken) {
				c.Fatalf("got %v, want ErrSlotTaken", err)
			}
		}
		taken := Register(Meta{}, RegisterInput{ID: "p3", Lane: "c"})
		_, err := in.CreateMany(c.ctx, []fsmimpl.Call[Parcel]{Register(Meta{}, RegisterInput{ID: "p4", Lane: "c"}), taken})
		c.code(err, fsm.ErrExists)
		c.must(in.Create(c.ctx, Register(Meta{}, RegisterInput{ID: "p5", Lane: "c"})))
		c.must(in.Apply(c.ctx, held, Shelve(Meta{}, "another slot", "t")))
		c.end(tx.Commit)
		if p := c.parcel("p2"); p.Rev != 3 || p.State != "shelved" {
			c.Errorf("p2: %+v", p)
		}
		for id, rev := range map[string]int{"p3": 1, "p4": 0, "p5": 1} {
			n := 0
			for _, err := range c.History(c.ctx, id) {
				if err != nil && !errors.Is(err, fsm.ErrNotFound) {
					c.Fatal(err)
				}
				if err == nil {
					n++
				}
			}
			if n != rev {
				c.Errorf("%s has %d events, want %d", id, n, rev)
			}
		}
	}},
	{"savepoints of the caller in every order", func(c *caller) {
		if tx, _ := c.in(); true {
			c.end(tx.Rollback)
			if tx.Exec == nil {
				return
			}
		}
		c.shelve("p0", "a") // in "slot of p0"
		held := c.hold("p2", "b")
		c.register("p1", "a")
		for _, order := range append(orders(1), "swrw", "swbw", "wswbwrw", "wswwrw", "wswfbw", "sfwrsfb", "ssmrwbrw", "wssfmbbrrf") {
			tx, in := c.in()
			c.savepoints(tx, in, held, order)
			c.end(tx.Rollback)
		}
		tx, in := c.in()
		rev := c.savepoints(tx, in, held, "wswfmbwsmrw")
		c.end(tx.Commit)
		if p := c.parcel("p1"); p.Rev != rev {
			c.Errorf("after the commit revision %d, want %d", p.Rev, rev)
		}
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

// orders lists what a caller may do in a transaction, one letter a step, up to n steps: w writes,
// f is a call that fails half done, m makes two records, s sets a savepoint, r releases the
// newest one, and b goes back to it.
func orders(n int) []string {
	list := []string{""}
	for from := 0; n > 0; n-- {
		end := len(list)
		for _, order := range list[from:end] {
			for _, step := range "wfmsrb" {
				open := strings.Count(order, "s") - strings.Count(order, "r")
				if open > 0 || step != 'r' && step != 'b' {
					list = append(list, order+string(step))
				}
			}
		}
		from = end
	}
	return list[1:]
}

// savepoints does what an order says, compares the records after each step, and returns
// the revision of p1. held is a record that cannot be shelved in the slot of p0.
func (c *caller) savepoints(tx CallersTx, in *fsm.Machine[Parcel], held outcome, order string) (rev int64) {
	c.Helper()
	type state struct {
		rev  int64
		made int
	}
	now := state{rev: c.parcel("p1").Rev}
	var saved []state
	for i, step := range order {
		name := fmt.Sprint("mine", len(saved))
		top := fmt.Sprint("mine", len(saved)-1)
		exec := func(text string) {
			if err := tx.Exec(text); err != nil {
				c.Fatalf("%s, step %d, %s: %v", order, i, text, err)
			}
		}
		switch step {
		case 'w':
			c.must(in.Apply(c.ctx, fsm.Ref{ID: "p1"}, annotation(fmt.Sprint(i))))
			now.rev++
		case 'f':
			if _, err := in.Apply(c.ctx, held, Shelve(Meta{}, "slot of p0", "t")); !errors.Is(err, ErrSlotTaken) {
				c.Fatalf("%s, step %d: got %v, want ErrSlotTaken", order, i, err)
			}
		case 'm':
			var calls []fsmimpl.Call[Parcel]
			for range 2 {
				calls = append(calls, Register(Meta{}, RegisterInput{Lane: "of savepoints"}))
			}
			if _, err := in.CreateMany(c.ctx, calls); err != nil {
				c.Fatalf("%s, step %d: %v", order, i, err)
			}
			now.made += 2
		case 's':
			exec("SAVEPOINT " + name)
			saved = append(saved, now)
		case 'r':
			exec("RELEASE SAVEPOINT " + top)
			saved = saved[:len(saved)-1]
		case 'b':
			exec("ROLLBACK TO SAVEPOINT " + top)
			now = saved[len(saved)-1]
		}
		p, err := in.Record(c.ctx, "p1")
		if err != nil || p.Rev != now.rev {
			c.Fatalf("%s, step %d: revision %d, %v; want %d", order, i, p.Rev, err, now.rev)
		}
		made, err := in.Group(c.ctx, &InLane, []any{"of savepoints"})
		if len(made) != now.made || err != nil && !errors.Is(err, fsm.ErrNotFound) {
			c.Fatalf("%s, step %d: %d records were made, %v; want %d", order, i, len(made), err, now.made)
		}
	}
	return now.rev
}
