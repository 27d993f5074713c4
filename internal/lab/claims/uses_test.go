package claims_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/claims/box"
	"github.com/fsmgen/fsmgen/internal/lab/claims/load"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/fsmgen/fsmgen/runtime/sqlite"
)

type noTelling struct{}

func (noTelling) Tell(context.Context, load.Load, string, fsm.Event) error { return nil }

// yard is both machines over one store.
type yard struct {
	loads *load.Machine
	boxes *box.Machine
	store fsm.Store
}

func openYard(t *testing.T, store fsm.Store) yard {
	t.Helper()
	t.Cleanup(func() { store.Close() })
	ctx := t.Context()
	if err := errors.Join(load.Migrate(ctx, store), box.Migrate(ctx, store)); err != nil {
		t.Fatal(err)
	}
	loads, err := load.Open(ctx, store, noTelling{})
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := box.Open(ctx, store, loads)
	if err != nil {
		t.Fatal(err)
	}
	return yard{loads, boxes, store}
}

// yards opens the machines in each store, as several processes would.
func yards(t *testing.T, run func(t *testing.T, list []yard)) {
	for kind, open := range map[string]func(t *testing.T) []fsm.Store{
		"memory": func(*testing.T) []fsm.Store { return []fsm.Store{memstore.New()} },
		"sqlite": func(t *testing.T) (list []fsm.Store) {
			file := filepath.Join(t.TempDir(), "yard.db")
			for range 2 {
				s, err := sqlite.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, s)
			}
			return list
		},
		"postgres": func(t *testing.T) []fsm.Store {
			dsn := pgtest.DSN(t)
			return []fsm.Store{server(t, dsn), server(t, dsn), server(t, dsn)}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var list []yard
			for _, store := range open(t) {
				list = append(list, openYard(t, store))
			}
			run(t, list)
		})
	}
}

// TestParentsFollow: all boxes of a load leave at once, one by one, several in a call and by picks, some of them in two
// requests of one id, while some loads are cancelled. Each load counts each of its boxes once, and leaves with the last.
func TestParentsFollow(t *testing.T) {
	t.Parallel()
	yards(t, func(t *testing.T, list []yard) {
		for round := range rounds() {
			leave(t, list, round)
		}
		y := list[0]
		for f, err := range audit.Run(t.Context(), y.loads) {
			t.Error(f, err)
		}
		for f, err := range audit.Run(t.Context(), y.boxes) {
			t.Error(f, err)
		}
	})
}

// leave lets the boxes of three loads leave at once.
func leave(t *testing.T, list []yard, round int) {
	t.Helper()
	const loads, perLoad = 3, 8
	ctx, y := t.Context(), list[0]
	name := func(n int) string { return fmt.Sprintf("load-%d-%d", round, n) }
	boxID := func(n, i int) string { return fmt.Sprintf("box-%d-%d-%d", round, n, i) }
	for n := range loads {
		if _, err := y.loads.Begin(ctx, name(n), fsm.Call{RequestID: "begin" + name(n)}); err != nil {
			t.Fatal(err)
		}
		for i := range perLoad {
			id := boxID(n, i)
			if _, err := y.boxes.Pack(ctx, id, box.PackInput{LoadID: name(n), Kilos: int64(i + 1)}, fsm.Call{RequestID: "pack" + id}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := y.loads.Close(ctx, fsm.Ref{ID: name(n)}, fsm.Call{RequestID: "close" + name(n)}); err != nil {
			t.Fatal(err)
		}
	}
	start := make(chan struct{})
	var wg sync.WaitGroup
	for caller := range 8 {
		y := list[caller%len(list)]
		random := rand.New(rand.NewPCG(uint64(round), uint64(caller)))
		wg.Go(func() {
			<-start
			for _, k := range random.Perm(loads * perLoad) {
				id := boxID(k%loads, k/loads)
				var err error
				switch c := (fsm.Call{RequestID: fmt.Sprintf("send%d-%s", random.IntN(2), id)}); random.IntN(8) {
				case 0:
					_, err = y.boxes.Pick(ctx, c)
				case 1:
					c.RequestID = fmt.Sprintf("each%d-%d-%d", round, caller, k)
					_, err = y.boxes.SendEach(ctx, c)
				case 2:
					if err = nil; k == 0 {
						_, err = y.loads.Cancel(ctx, fsm.Ref{ID: name(random.IntN(loads))}, c)
					}
				default:
					_, err = y.boxes.Send(ctx, fsm.Ref{ID: id}, c)
				}
				if err != nil && unexpected(err) && !errors.Is(err, fsm.ErrRequestReused) {
					t.Error(err)
				}
			}
		})
	}
	close(start)
	wg.Wait()
	if _, err := y.boxes.SendEach(ctx, fsm.Call{RequestID: fmt.Sprintf("rest-%d", round)}); err != nil && !errors.Is(err, fsm.ErrNothingToDo) {
		t.Fatal(err)
	}
	for n := range loads {
		followed(t, y, name(n), perLoad)
	}
}

// followed looks whether a load has counted each of its boxes once.
func followed(t *testing.T, y yard, id string, boxes int64) {
	t.Helper()
	rec, err := y.loads.Record(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	heard := map[string]bool{}
	for e, err := range y.loads.History(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Operation == "box_gone" {
			heard[e.Cause] = true
		}
	}
	switch {
	case int64(len(heard)) != boxes:
		t.Errorf("%s heard of %d boxes; %d have left", id, len(heard), boxes)
	case rec.State == load.StateShipped && rec.Gone == boxes, rec.State == load.StateCancelled:
	default:
		t.Errorf("%s is %v with %d of %d boxes gone", id, rec.State, rec.Gone, boxes)
	}
}

// TestUsesIsOneTransaction: what the other machine refuses takes the step back, and a request that is made again moves
// nothing twice.
func TestUsesIsOneTransaction(t *testing.T) {
	t.Parallel()
	yards(t, func(t *testing.T, list []yard) {
		ctx, y := t.Context(), list[0]
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		pack := func(id, of, request string, kilos int64) (box.Outcome, error) {
			return y.boxes.Pack(ctx, id, box.PackInput{LoadID: of, Kilos: kilos}, fsm.Call{RequestID: request})
		}
		refused := func(err error, code fsm.Code, machine string) {
			t.Helper()
			var r *fsm.Refusal
			if !errors.As(err, &r) || r.Code != code || r.Machine != machine {
				t.Fatalf("got %v, want %v of %s", err, code, machine)
			}
		}
		_, err := pack("b0", "nowhere", "p0", 1)
		refused(err, fsm.ErrNotFound, "load")
		if _, err := y.boxes.Record(ctx, "b0"); !errors.Is(err, fsm.ErrNotFound) {
			t.Fatalf("the box of no load is there: %v", err)
		}
		must(y.loads.Begin(ctx, "l", fsm.Call{RequestID: "b"}))
		must(pack("b1", "l", "p1", 5))
		again, err := pack("b1", "l", "p1", 5)
		if err != nil || !again.Replayed {
			t.Fatalf("the second call: %v, replayed %t", err, again.Replayed)
		}
		must(pack("b2", "l", "p2", 7))
		rec, err := y.loads.Record(ctx, "l")
		if err != nil || rec.Boxes != 2 || rec.Weight != 12 {
			t.Fatalf("%v: %d boxes of %d", err, rec.Boxes, rec.Weight)
		}
		_, err = y.boxes.Send(ctx, fsm.Ref{ID: "b1"}, fsm.Call{RequestID: "s1"})
		refused(err, fsm.ErrWrongState, "load")
		if b, err := y.boxes.Record(ctx, "b1"); err != nil || b.State != box.StatePacked {
			t.Fatalf("%v: the box is %v though its load was open", err, b.State)
		}
		must(y.loads.Close(ctx, fsm.Ref{ID: "l"}, fsm.Call{RequestID: "c"}))
		must(y.boxes.Send(ctx, fsm.Ref{ID: "b1"}, fsm.Call{RequestID: "s1"}))
		if again, err := y.boxes.Send(ctx, fsm.Ref{ID: "b1"}, fsm.Call{RequestID: "s1"}); err != nil || !again.Replayed {
			t.Fatalf("the second call: %v, replayed %t", err, again.Replayed)
		}
		must(y.boxes.Pick(ctx, fsm.Call{RequestID: "s2"}))
		if rec, err = y.loads.Record(ctx, "l"); err != nil || rec.State != load.StateShipped || rec.Gone != 2 {
			t.Fatalf("%v: the load is %v with %d boxes gone", err, rec.State, rec.Gone)
		}
		must(y.loads.Begin(ctx, "l2", fsm.Call{RequestID: "b2"}))
		must(pack("b3", "l2", "p3", 5))
		_, err = y.boxes.Pick(ctx, fsm.Call{RequestID: "s3"})
		refused(err, fsm.ErrNothingToDo, "box") // its load is open, so the record is passed over
	})
}
