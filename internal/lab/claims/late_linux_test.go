package claims_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/lab/storetest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

const shortLease = 300 * time.Millisecond

// claimer is a process that claims with short leases, until its input ends. It says what
// it has claimed, and when it heard that a lease went by meanwhile.
func claimer(kind, address, name string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	m, store, err := open(ctx, kind, address, false)
	if err != nil {
		return err
	}
	defer store.Close()
	for ctx.Err() == nil {
		outs, err := m.Pick(ctx, 1, storetest.Hold(storetest.Meta{Actor: name}, "a", time.Now().Add(shortLease)))
		var refused *fsm.Refusal
		switch {
		case ctx.Err() != nil:
		case err == nil:
			fmt.Println("claim", outs[0].Record.ID)
			time.Sleep(20 * time.Millisecond)
		case errors.As(err, &refused) && refused.Code == fsm.ErrInvalidInput && refused.Name == "due":
			fmt.Println("late", name)
		default:
			return err
		}
	}
	return nil
}

// held is what was claimed when nobody could write, and until when nobody could.
type held struct {
	ids map[string]bool
	end time.Time
}

// hold keeps all others from writing for longer than a lease.
func hold(ctx context.Context, kind, address string) (h held, err error) {
	name, begin := "sqlite", "PRAGMA busy_timeout = 20000; BEGIN IMMEDIATE"
	if kind == "postgres" {
		name, begin = "pgx", `BEGIN; LOCK TABLE "parcel_events" IN EXCLUSIVE MODE`
	}
	db, err := sql.Open(name, address)
	if err != nil {
		return h, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return h, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return h, err
	}
	rows, err := conn.QueryContext(ctx, `SELECT "id" FROM "parcel_events" WHERE "operation" = 'hold'`)
	if err != nil {
		return h, err
	}
	h.ids = map[string]bool{}
	for rows.Next() {
		id := ""
		err = errors.Join(err, rows.Scan(&id))
		h.ids[id] = true
	}
	if err := errors.Join(err, rows.Err()); err != nil {
		return h, err
	}
	time.Sleep(shortLease * 5 / 2)
	if h.end = time.Now(); kind == "postgres" { // SQLite has the clock of this machine
		if err := conn.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&h.end); err != nil {
			return h, err
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return h, err
}

// Three processes claim, and commits wait longer than a lease now and then. What was not
// claimed when nobody could write any more, and has a lease that was over before somebody
// could again, was committed with a lease that was over.
func TestNoLeaseIsOverAtItsCommit(t *testing.T) {
	campaign.Only(t)
	t.Parallel()
	for _, kind := range []string{"postgres", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			address := filepath.Join(t.TempDir(), "jobs.db")
			if kind == "postgres" {
				address = pgtest.DSN(t)
			}
			m, store, err := open(t.Context(), kind, address, true)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			var calls []fsmimpl.Call[storetest.Parcel]
			for i := range 2000 {
				calls = append(calls, storetest.Register(storetest.Meta{}, storetest.RegisterInput{ID: fmt.Sprintf("j%04d", i), Lane: "a"}))
			}
			if _, err := m.CreateMany(t.Context(), calls); err != nil {
				t.Fatal(err)
			}
			var all []*worker
			for p := range 3 {
				w := start(t, "late-"+kind, address, fmt.Sprint("w", p), time.Now())
				t.Cleanup(w.kill)
				all = append(all, w)
			}
			for _, w := range all {
				for until := time.Now().Add(limit); len(w.lines("claim")) == 0; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(until) {
						t.Fatalf("%s claims nothing: %q", w.name, w.said)
					}
				}
			}
			var holds []held
			for range 3 {
				h, err := hold(t.Context(), kind, address)
				if err != nil {
					t.Fatal(err)
				}
				holds = append(holds, h)
				time.Sleep(shortLease)
			}
			late := 0
			for _, w := range all {
				w.in.Close()
				<-w.done
				late += len(w.lines("late"))
				if failed := w.lines("error"); len(failed) > 0 {
					t.Errorf("%s: %q", w.name, w.said[len(w.said)-1])
				}
			}
			n := 0
			for p, err := range m.List(t.Context(), driver.Query{States: []string{"held"}}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				due, _ := p.Due.Get()
				for _, h := range holds {
					if !h.ids[p.ID] && !due.After(h.end) {
						t.Errorf("%s was committed after %v with a lease until %v", p.ID, h.end, due)
					}
				}
			}
			t.Logf("%d claims, %d calls heard that their lease went by", n, late)
			if late == 0 {
				t.Error("no call met a commit that waits")
			}
		})
	}
}
