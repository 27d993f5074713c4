package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// Two stores write side by side while the server crashes again and again. What
// was acknowledged is there, whatever was not is resolved by the same call with
// the same request id, and nothing happened twice.
func TestServerCrashes(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("crashes a server; run without -short")
	}
	t.Parallel()
	const crashes, workers = 5, 4
	server := pgtest.Start(t)
	dsn := server.DSN()
	ctx := t.Context()
	schema := storetest.Schema()
	schema.SQL = parcelSQL(t)
	open := func() *fsm.Machine[storetest.Parcel] {
		store, err := postgres.Open(ctx, dsn, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		tab, err := store.Table(schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := tab.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		m, err := fsm.NewMachine(ctx, store, storetest.Descriptor(schema), effects)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	machines := []*fsm.Machine[storetest.Parcel]{open(), open()}
	var mu sync.Mutex
	var acked, failed []string
	register := func(ctx context.Context, m *fsm.Machine[storetest.Parcel], id string) (fsm.Outcome[storetest.Parcel], error) {
		return m.Create(ctx, storetest.Register(storetest.Meta{Actor: "w", RequestID: "make " + id}, storetest.RegisterInput{ID: id, Lane: "a"}))
	}
	var seen []string
	watched := make(chan struct{})
	ctxWatch, endWatch := context.WithCancel(ctx)
	go func() { // goes on from its cursor after each crash
		defer close(watched)
		m := machines[0]
		var cursor fsm.Cursor
		for ctxWatch.Err() == nil {
			for e, err := range m.Watch(ctxWatch, cursor) {
				if err != nil {
					time.Sleep(20 * time.Millisecond)
					break
				}
				mu.Lock()
				seen, cursor = append(seen, e.ID), e.Cursor
				mu.Unlock()
			}
		}
	}()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			m := machines[w%len(machines)]
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("p%d-%d", w, i)
				_, err := register(ctx, m, id)
				mu.Lock()
				if err == nil {
					acked = append(acked, id)
				} else {
					failed = append(failed, id)
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	for range crashes {
		time.Sleep(500 * time.Millisecond)
		err := server.Crash()
		for range 200 { // it may still recover from the last time
			if err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
			err = server.Crash()
		}
		if err != nil {
			t.Errorf("crash the server: %v", err)
		}
	}
	time.Sleep(700 * time.Millisecond)
	enough := func(list *[]string, n int) {
		for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
			mu.Lock()
			have := len(*list)
			mu.Unlock()
			if have >= n {
				return
			}
		}
	}
	enough(&acked, 50)
	close(stop)
	wg.Wait()
	m := open() // a session after the last recovery
	for _, id := range failed {
		var err error
		for range 100 {
			if _, err = register(ctx, m, id); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("%s is not resolved: %v", id, err)
		}
	}
	enough(&seen, len(acked)+len(failed))
	time.Sleep(300 * time.Millisecond) // whatever else may come
	endWatch()
	<-watched
	watchedOnce := map[string]int{}
	for _, id := range seen {
		if watchedOnce[id]++; watchedOnce[id] > 1 {
			t.Errorf("%s was watched twice", id)
		}
	}
	for _, id := range acked {
		if watchedOnce[id] != 1 {
			t.Errorf("%s was acknowledged and never watched", id)
		}
		out, err := register(ctx, m, id)
		switch {
		case errors.Is(err, fsm.ErrNotFound):
			t.Errorf("%s was acknowledged and is lost", id)
		case err != nil:
			t.Errorf("%s: %v", id, err)
		case !out.Replayed || out.Record.Rev != 1:
			t.Errorf("%s was acknowledged and is lost: the same call made it again", id)
		}
	}
	if len(acked) < 50 {
		t.Errorf("only %d acknowledged: the test shows nothing", len(acked))
	}
	t.Logf("%d crashes: %d acknowledged, none lost; %d failed and resolved; %d watched, each once", crashes, len(acked), len(failed), len(seen))
}
