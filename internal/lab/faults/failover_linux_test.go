package faults_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/lab/faults"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
)

// The primary dies under load, and its synchronous standby takes over.
func TestFailOver(t *testing.T) {
	campaign.Only(t)
	if testing.Short() {
		t.Skip("needs two servers; run without -short")
	}
	if !faults.Long() {
		t.Parallel() // it waits more than it works
	}
	began, rounds := time.Now(), faults.Size(1, 3)
	var all faults.Result
	var last *pgtest.Server
	for range rounds {
		primary := pgtest.Start(t)
		standby := primary.Standby(t)
		last = standby
		dsn := primary.Either(standby)
		a, b := openPostgres(t, dsn), openPostgres(t, dsn)
		l := faults.Begin(t.Context(), 8, a, b)
		work(t, l, 400)
		if err := primary.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := standby.Promote(); err != nil {
			t.Fatal(err)
		}
		work(t, l, 400)
		r := finish(t, l, openPostgres(t, standby.DSN()), 800)
		all.Acked += r.Acked
		all.Lost += r.Lost
		all.Doubled += r.Doubled
		all.Ledger += r.Ledger
		all.Committed += r.Committed
		all.Open += r.Open
		all.There += r.There
		all.Errors = r.Errors
		all.Longest = max(all.Longest, r.Longest)
	}
	lost, acked, tries := failOverAsynchronous(t, last, 5)
	if lost == 0 {
		t.Errorf("the control, a standby that nobody waits for, lost nothing in %d rounds: the control shows nothing", tries)
	}
	faults.Report(t, faults.Row{
		Test: "primary killed, standby promoted", Store: "PostgreSQL, synchronous standby", How: "SIGKILL to all processes of the primary, pg_promote at once; one address of both servers",
		Figures: fmt.Sprintf("%d rounds, %v; longest gap %v", rounds, all, all.Longest.Round(time.Millisecond)),
		Control: fmt.Sprintf("an asynchronous standby, cut off for the last writes: %d rounds lost %d of %d", tries, lost, acked),
		Took:    time.Since(began), Longer: faults.Longer(1, 3),
	})
}

// failOverAsynchronous does the same with a standby that the primary does not
// wait for and that is cut off shortly before the end, until something is lost,
// at most so often. Each promoted standby is the primary of the next round.
func failOverAsynchronous(t *testing.T, primary *pgtest.Server, most int) (lost, acked int64, rounds int) {
	t.Helper()
	for lost == 0 && rounds < most {
		rounds++
		name := fmt.Sprintf("control%d", rounds) // empty: ids start anew
		createDatabase(t, primary.DSN(), name)
		standby := primary.Follower(t)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		l := faults.Begin(ctx, 8, openPostgres(t, databaseAt(t, primary.DSN(), name)))
		work(t, l, 200)
		if err := standby.CaughtUp(primary); err != nil { // it may lag behind by any time
			t.Fatal(err)
		}
		if err := standby.CutOff(); err != nil {
			t.Fatal(err)
		}
		work(t, l, 200)
		if err := primary.Kill(); err != nil {
			t.Fatal(err)
		}
		cancel() // whoever waits for the primary
		if err := standby.Promote(); err != nil {
			t.Fatal(err)
		}
		v, err := l.Stop(t.Context(), openPostgres(t, databaseAt(t, standby.DSN(), name)))
		if err != nil {
			t.Fatal(err)
		}
		lost += v.Lost
		acked += v.Acked
		if v.Lost = 0; v.Wrong() != "" {
			t.Errorf("what the asynchronous standby has is not a beginning of what there was: %s", v.Wrong())
		}
		if lost == acked {
			t.Errorf("the asynchronous standby has none of %d transitions: it followed nobody", acked)
		}
		primary = standby
	}
	return lost, acked, rounds
}

func createDatabase(t *testing.T, server, name string) {
	t.Helper()
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
}

// databaseAt returns the address of another database of the server.
func databaseAt(t *testing.T, server, name string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
