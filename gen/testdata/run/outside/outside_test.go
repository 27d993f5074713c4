package outside

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

// world is everything outside the store.
type world struct {
	confirmed, charged, booked []string
	down                       bool
	stock                      bool
}

func (w *world) Confirm(_ context.Context, _ Order, key string, _ fsm.Event) error {
	w.confirmed = append(w.confirmed, key)
	return nil
}

func (w *world) ChargeCard(_ context.Context, _ Order, key string, _ fsm.Event) error {
	if w.down {
		return errors.New("no answer")
	}
	w.charged = append(w.charged, key)
	return nil
}

func (w *world) Book(_ context.Context, _ fsm.Tx, _ Order, key string, _ fsm.Event) error {
	if w.down {
		return errors.New("no answer")
	}
	w.booked = append(w.booked, key)
	return nil
}

func (w *world) StockThere(context.Context, Order) (bool, error) { return w.stock, nil }
func (w *world) BankUp(context.Context, Order) (bool, error)     { return !w.down, nil }

// transactional hands the engine's own transaction to atomic effects.
type transactional struct{ fsm.Store }

func (transactional) Transaction(tx fsm.Tx) fsm.Tx { return tx }
func (transactional) Adopt(context.Context, *driver.Schema, fsm.Tx) (fsm.Tx, error) {
	return nil, errors.New("not needed here")
}

func TestWorld(t *testing.T) {
	ctx := context.Background()
	store := transactional{memstore.New()}
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := &world{stock: true}
	if err := Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	sources := Sources{GiveUp: func(j Order, _ time.Time) (GiveUpInput, error) {
		return GiveUpInput{Why: "nobody came for " + j.Customer, Backoff: fsm.Some(j.Rev)}, nil
	}}
	if _, err := Open(ctx, store, nil, sources); err == nil {
		t.Error("Open took no effects")
	}
	if _, err := Open(ctx, store, Effects[fsm.Tx](w), Sources{}); err == nil {
		t.Error("Open took no source for give_up")
	}
	m, err := Open(ctx, store, Effects[fsm.Tx](w), sources, fsm.WithClock(func() time.Time { return clock }))
	if err != nil {
		t.Fatal(err)
	}

	if n, err := m.Deliver(ctx); n != 0 || err == nil {
		t.Errorf("Deliver before Startup performed %d effects: %v", n, err)
	}
	if n, err := m.Startup(ctx); n != 0 || err != nil {
		t.Errorf("Startup of an empty store took %d steps: %v", n, err)
	}

	// The effect runs after the commit, then the step that follows it.
	placed, err := m.Place(ctx, "", PlaceInput{Customer: "ann", Sum: 7, Kind: KindGoods, Due: fsm.Some(clock.Add(time.Minute))}, fsm.Call{RequestID: "p1"})
	if err != nil {
		t.Fatal(err)
	}
	charging, err := m.Charge(ctx, placed, fsm.Call{RequestID: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	w.down = true
	if n, err := m.Deliver(ctx); n != 1 || !errors.Is(err, fsm.ErrEffect) {
		t.Errorf("Deliver performed %d effects, expected one and a failure: %v", n, err)
	}
	clock = clock.Add(time.Second)
	w.down = false
	if n, err := m.Deliver(ctx); n != 1 || err != nil {
		t.Errorf("Deliver performed %d effects: %v", n, err)
	}
	charged, err := m.Record(ctx, charging.Record.ID)
	if err != nil || charged.State != StateCharged {
		t.Fatalf("the record is %+v: %v", charged, err)
	}
	if want := []string{`"` + charged.ID + `"/"ann"/7/false/"goods"`}; !reflect.DeepEqual(w.confirmed, want) {
		t.Errorf("confirmed %q, expected %q", w.confirmed, want)
	}
	if want := []string{"outside/" + charged.ID + "/2/charge_card"}; !reflect.DeepEqual(w.charged, want) {
		t.Errorf("charged %q, expected %q", w.charged, want)
	}

	// An atomic effect that fails takes the step with it.
	w.down = true
	if _, err := m.Ship(ctx, charged, fsm.Call{RequestID: "s1"}); !errors.Is(err, fsm.ErrEffect) {
		t.Errorf("Ship with a failing effect: %v", err)
	}
	if j, err := m.Record(ctx, charged.ID); err != nil || !j.Equal(charged) {
		t.Errorf("a step that was taken back left %+v: %v", j, err)
	}
	w.down = false
	if _, err := m.Ship(ctx, charged, fsm.Call{RequestID: "s1"}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ann"}; !reflect.DeepEqual(w.booked, want) {
		t.Errorf("booked %q, expected %q", w.booked, want)
	}

	// A trigger asks its source, and `then` follows in the same transaction.
	late, err := m.Place(ctx, "", PlaceInput{Customer: "bob", Sum: 1, Kind: KindService, Due: fsm.Some(clock)}, fsm.Call{RequestID: "p2"})
	if err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(90*time.Second - time.Microsecond)
	if n, err := m.Sweep(ctx); n != 0 || err != nil {
		t.Errorf("Sweep before the deadline took %d steps: %v", n, err)
	}
	clock = clock.Add(time.Microsecond)
	if n, err := m.Sweep(ctx); n != 1 || err != nil {
		t.Errorf("Sweep at the deadline took %d steps: %v", n, err)
	}
	j, err := m.Record(ctx, late.Record.ID)
	if err != nil || j.State != StatePlaced || j.Rev != 3 || j.Due != fsm.Some(clock.Add(24*time.Hour)) || j.Why.Present() {
		t.Errorf("after the deadline the record is %+v: %v", j, err)
	}
	var reasons []string
	for e, err := range m.History(ctx, j.ID) {
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, e.Operation+" "+e.Inputs.String())
	}
	want := []string{
		`place {"customer":"bob","sum":1,"rush":false,"kind":"service","due":"2026-03-01T12:00:01.000000Z"}`,
		`give_up {"why":"nobody came for bob","backoff":1}`,
		`retry {}`,
	}
	if !reflect.DeepEqual(reasons, want) {
		t.Errorf("the log says %q, expected %q", reasons, want)
	}

	// Probes are asked by the audit only, and of the states that name them.
	w.stock = false
	var found []string
	for f, err := range audit.Run(ctx, m, m.Probes(w)...) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, f.ID+" "+f.Check)
	}
	if want := []string{j.ID + " " + audit.CheckProbe}; !reflect.DeepEqual(found, want) {
		t.Errorf("the audit found %q, expected %q", found, want)
	}
	for f, err := range audit.Run(ctx, m) {
		t.Errorf("the audit without probes found %v %v", f, err)
	}

	// Nobody completes a charge that was not made.
	if _, there := reflect.TypeFor[*Machine]().MethodByName("ChargeDone"); there {
		t.Error("ChargeDone is reached by `then` after an effect only, but Machine offers it")
	}
}

// TestStartup recovers what a crash has left behind.
func TestStartup(t *testing.T) {
	ctx := context.Background()
	store := transactional{memstore.New()}
	if err := Migrate(ctx, store); err != nil {
		t.Fatal(err)
	}
	m, err := Open(ctx, store, Effects[fsm.Tx](&world{}), Sources{GiveUp: func(Order, time.Time) (GiveUpInput, error) {
		return GiveUpInput{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	placed, err := m.Place(ctx, "", PlaceInput{Customer: "c", Kind: KindGoods}, fsm.Call{RequestID: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Charge(ctx, placed, fsm.Call{RequestID: "c"}); err != nil {
		t.Fatal(err)
	}
	if n, err := m.Startup(ctx); n != 1 || err != nil {
		t.Errorf("Startup took %d steps: %v", n, err)
	}
	if j, err := m.Record(ctx, placed.Record.ID); err != nil || j.State != StatePlaced || j.Rev != 3 {
		t.Errorf("after the recovery the record is %+v: %v", j, err)
	}
}
