package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/postgres"
)

// Two programs that pick take each record once, one at a time
// and several at once, and leave none.
func TestTwoProgramsPick(t *testing.T) {
	t.Parallel()
	const records, callers = 160, 8
	dsn := pgtest.DSN(t)
	first, _ := parcels(t, dsn, postgres.WithMaxSessions(4))
	second, _ := parcels(t, dsn, postgres.WithMaxSessions(4))
	calls := make([]fsmimpl.Call[storetest.Parcel], records)
	for i := range calls {
		calls[i] = storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: fmt.Sprintf("p%03d", i), Lane: "a"})
	}
	if _, err := first.CreateMany(t.Context(), calls); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	holders := map[string]string{}
	var all sync.WaitGroup
	for w := range 2 * callers {
		m, name := []machine{first, second}[w%2], fmt.Sprint("w", w)
		all.Go(func() {
			for i := 0; ; i++ {
				outs, err := m.Pick(t.Context(), 1+i%3, storetest.Hold(storetest.Meta{Actor: name, RequestID: fmt.Sprint(name, " ", i)}, "a", time.Now().Add(time.Hour)))
				if errors.Is(err, fsm.ErrNothingToDo) {
					return
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				mu.Lock()
				for _, out := range outs {
					if other := holders[out.Record.ID]; other != "" {
						t.Errorf("%s got %s, which %s has", name, out.Record.ID, other)
					}
					holders[out.Record.ID] = name
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(holders) != records {
		t.Errorf("%d records were taken, want %d", len(holders), records)
	}
	for f, err := range audit.Run(t.Context(), first) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("audit: %v", f)
	}
	for p, err := range second.List(t.Context(), driver.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Holder.Or("") != holders[p.ID] || p.Rev != 2 {
			t.Errorf("%s at revision %d is with %v, want %s", p.ID, p.Rev, p.Holder, holders[p.ID])
		}
	}
}
