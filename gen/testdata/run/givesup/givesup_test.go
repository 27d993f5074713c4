package givesup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

// world is the receiver of the effects.
type world struct {
	calls map[string]int
	fail  func(string, context.Context) error
}

func (w *world) perform(ctx context.Context, effect string) error {
	w.calls[effect]++
	if w.fail == nil {
		return nil
	}
	return w.fail(effect, ctx)
}

func (w *world) ChargeCard(ctx context.Context, _ Payment, _ string, _ fsm.Event) error {
	return w.perform(ctx, "charge_card")
}
func (w *world) Mail(ctx context.Context, _ Payment, _ string, _ fsm.Event) error {
	return w.perform(ctx, "mail")
}
func (w *world) Book(ctx context.Context, _ Payment, _ string, _ fsm.Event) error {
	return w.perform(ctx, "book")
}

// opened is a machine with a clock that is set by hand.
type opened struct {
	*Machine
	t    *testing.T
	w    *world
	now  time.Time
	last Outcome
}

func open(t *testing.T, store fsm.Store, fail func(string, context.Context) error, opts ...fsm.Option) *opened {
	t.Helper()
	if err := Migrate(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	o := &opened{t: t, w: &world{map[string]int{}, fail}, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	opts = append(opts, fsm.WithClock(func() time.Time { return o.now }))
	m, err := Open(t.Context(), store, o.w, opts...)
	if err != nil {
		t.Fatal(err)
	}
	o.Machine = m
	return o
}

// does takes steps from the record as it is.
func (o *opened) does(steps ...string) {
	o.t.Helper()
	for _, step := range steps {
		var err error
		c := fsm.Call{Actor: "ann"}
		switch step {
		case "ask":
			o.last, err = o.Ask(o.t.Context(), "p1", AskInput{Amount: 5}, c)
		case "charge":
			o.last, err = o.Charge(o.t.Context(), o.record(), c)
		case "tell":
			o.last, err = o.Tell(o.t.Context(), o.record(), c)
		case "note":
			o.last, err = o.Note(o.t.Context(), o.record(), c)
		}
		if err != nil {
			o.t.Fatalf("%s: %v", step, err)
		}
	}
}

func (o *opened) record() Payment {
	o.t.Helper()
	p, err := o.Record(o.t.Context(), "p1")
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

// rounds delivers n times, with an hour between, and returns the last error.
func (o *opened) rounds(n int) (err error) {
	for range n {
		o.now = o.now.Add(time.Hour)
		_, err = o.Deliver(o.t.Context())
	}
	return err
}

func (o *opened) is(state State, tries int64, problem string) {
	o.t.Helper()
	if p := o.record(); p.State != state || p.Tries != tries || p.Problem.Or("") != problem {
		o.t.Errorf("the payment is %+v, want %s after %d with %q", p, state, tries, problem)
	}
}

var errDown = errors.New("no answer")

// An effect is tried as often as the file says, and then its step follows with the last error.
func TestAttempts(t *testing.T) {
	n := 0
	o := open(t, memstore.New(), func(string, context.Context) error { n++; return fmt.Errorf("try %d: %w", n, errDown) })
	o.does("ask", "charge")
	if err := o.rounds(2); !errors.Is(err, fsm.ErrEffect) || !errors.Is(err, errDown) || errors.As(err, new(*fsm.GiveUpError)) {
		t.Errorf("after two tries: %v", err)
	}
	o.is(StateCharging, 0, "")
	err := o.rounds(1)
	var gave *fsm.GiveUpError
	if !errors.As(err, &gave) || !errors.Is(err, errDown) || !strings.Contains(err.Error(), "gave up: try 3: no answer") {
		t.Errorf("after three tries: %v", err)
	}
	o.is(StateReady, 1, "try 3: no answer")
	if err := o.rounds(2); err != nil || n != 3 {
		t.Errorf("after the end: %v, %d tries", err, n)
	}
	o.does("charge")
	_ = o.rounds(3)
	o.is(StateRefused, 2, "try 6: no answer")
}

// An effect ends its tries itself, by an error that may be wrapped.
func TestHandlerGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"with a reason": {fsm.GiveUp(errDown), "no answer"},
		"wrapped":       {fmt.Errorf("the bank: %w", fsm.GiveUp(errDown)), "the bank: gave up: no answer"},
		"without one":   {fsm.GiveUp(nil), "no reason was given"},
		"of no text":    {fsm.GiveUp(errors.New("")), "no reason was given"},
	} {
		o := open(t, memstore.New(), func(string, context.Context) error { return c.err })
		o.does("ask", "charge")
		if n, err := o.Deliver(t.Context()); n != 0 || !errors.As(err, new(*fsm.GiveUpError)) || o.w.calls["charge_card"] != 1 {
			t.Errorf("%s: delivered %d, %v after %v", name, n, err, o.w.calls)
		}
		o.is(StateReady, 1, c.want)
	}
	o := open(t, memstore.New(), func(string, context.Context) error { return fsm.GiveUp(errors.New("no money")) })
	o.does("ask", "charge")
	_ = o.rounds(1)
	o.is(StateRefused, 1, "no money")
}

// The error is cut between characters, and is a text that every store takes.
func TestErrorIsCut(t *testing.T) {
	o := open(t, memstore.New(), func(string, context.Context) error {
		return fsm.GiveUp(errors.New("a\x00\xff" + strings.Repeat("ü€", 1000)))
	})
	o.does("ask", "charge")
	_ = o.rounds(1)
	got := o.record().Problem.Or("")
	if len(got) > 1000 || len(got) < 990 || !utf8.ValidString(got) || strings.ContainsRune(got, 0) || !strings.HasPrefix(got, "a") {
		t.Errorf("the problem has %d bytes: %q", len(got), got)
	}
}

// Without `attempts` an effect is tried until it ends itself, and one that no `then` follows
// leaves the record where it is when it was performed.
func TestNoLimit(t *testing.T) {
	fails := errDown
	o := open(t, memstore.New(), func(effect string, _ context.Context) error {
		if effect == "mail" {
			return fails
		}
		return nil
	})
	o.does("ask", "charge")
	if err := o.rounds(1); err != nil {
		t.Fatal(err)
	}
	o.is(StatePaid, 0, "")
	o.does("tell")
	_ = o.rounds(20)
	if o.w.calls["mail"] != 20 || o.record().State != StateTelling {
		t.Errorf("after %v the payment is %+v", o.w.calls, o.record())
	}
	fails = fsm.GiveUp(errDown)
	_ = o.rounds(1)
	o.is(StatePaid, 0, "")
	o.does("tell")
	fails = nil
	if n, err := o.Deliver(t.Context()); n != 1 || err != nil || o.record().State != StateTelling {
		t.Errorf("delivered %d, %v: %+v", n, err, o.record())
	}
	if err := o.rounds(3); err != nil || o.w.calls["mail"] != 22 {
		t.Errorf("performed again: %v, %v", o.w.calls, err)
	}
}

// One step may follow both ends of an effect: it gets an error where there is one.
func TestOneStepForBothEnds(t *testing.T) {
	for want, fails := range map[string]error{"": nil, "no answer": errDown} {
		o := open(t, memstore.New(), func(effect string, _ context.Context) error {
			if effect == "book" {
				return fails
			}
			return nil
		})
		o.does("ask", "charge")
		_ = o.rounds(1)
		o.does("note")
		_ = o.rounds(1)
		o.is(StateClosed, 0, want)
	}
}

// A delivery whose effect waits is dropped when its record goes on while the effect runs.
func TestRecordGoesOn(t *testing.T) {
	for name, fails := range map[string]error{"performed": nil, "given up": fsm.GiveUp(errDown)} {
		var o *opened
		o = open(t, memstore.New(), func(string, context.Context) error {
			if _, err := o.CallOff(t.Context(), o.record(), fsm.Call{Actor: "ann"}); err != nil {
				t.Error(err)
			}
			return fails
		})
		o.does("ask", "charge")
		n, err := o.Deliver(t.Context())
		if fails == nil && !errors.Is(err, fsm.ErrMovedOn) || fails != nil && !errors.Is(err, errDown) || n != 0 {
			t.Errorf("%s: delivered %d, %v", name, n, err)
		}
		if err := o.rounds(2); err != nil || o.w.calls["charge_card"] != 1 {
			t.Errorf("%s: after it %v, %v", name, err, o.w.calls)
		}
		o.is(StateClosed, 0, "")
	}
}

// A process dies in the last try: the delivery has no try left, and its step follows without
// the handler, with the last error that is known.
func TestDeathInTheLastTry(t *testing.T) {
	path := t.TempDir() + "/payments.db"
	for i, c := range []struct {
		steps  []string
		before int // tries that end with an error
		effect string
		state  State
		want   string
	}{
		{[]string{"charge"}, 2, "charge_card", StateReady, "no answer"},
		{[]string{"charge"}, 0, "charge_card", StateReady, ""}, // two tries are left
		{[]string{"charge", "note"}, 0, "book", StateClosed, "no try came to an end"},
	} {
		store, err := sqlite.Open(fmt.Sprintf("%s.%d", path, i))
		if err != nil {
			t.Fatal(err)
		}
		dies := make(chan struct{})
		left := c.before
		o := open(t, store, func(effect string, _ context.Context) error {
			if effect != c.effect {
				return nil
			}
			if left--; left >= 0 {
				return errDown
			}
			close(dies)
			select {} // as in a process that was killed: nothing settles it
		}, fsm.WithDelivery(time.Minute, 1))
		o.does("ask")
		for n, step := range c.steps {
			o.does(step)
			if n < len(c.steps)-1 {
				_ = o.rounds(1)
			}
		}
		_ = o.rounds(c.before)
		o.now = o.now.Add(time.Hour)
		go func() { _, _ = o.Deliver(context.Background()) }()
		<-dies
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if store, err = sqlite.Open(fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
		next := open(t, store, func(string, context.Context) error { return nil })
		next.now = o.now.Add(30 * time.Second)
		if n, err := next.Deliver(t.Context()); n != 0 || err != nil {
			t.Errorf("case %d: within the lease: delivered %d, %v", i, n, err)
		}
		next.now = o.now.Add(time.Hour)
		n, err := next.Deliver(t.Context())
		if c.want == "" {
			if n != 1 || err != nil || next.record().State != StatePaid || next.w.calls[c.effect] != 1 {
				t.Errorf("case %d: with tries left: delivered %d, %v, %+v", i, n, err, next.record())
			}
		} else if p := next.record(); n != 0 || !errors.As(err, new(*fsm.GiveUpError)) || p.State != c.state || p.Problem.Or("") != c.want || next.w.calls[c.effect] != 0 {
			t.Errorf("case %d: without a try left: delivered %d, %v, %+v after %v", i, n, err, p, next.w.calls)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What only effects lead to is no method of the machine, and a healthy machine says so.
func TestGivesUpIsInternal(t *testing.T) {
	for _, name := range []string{"Charged", "Declined", "Unheard", "Noted"} {
		if _, offered := reflect.TypeFor[*Machine]().MethodByName(name); offered {
			t.Errorf("Machine offers %s", name)
		}
	}
	o := open(t, memstore.New(), nil)
	if h := audit.HealthOf(o); len(h.Refused) != 0 {
		t.Errorf("health is %+v", h)
	}
}
