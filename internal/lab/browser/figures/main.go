// Command figures measures how long the pages of a console take over many records, and prints milliseconds: the first
// answer, and the median of those that follow.
//
//	figures FILE|URL [RECORDS]
//
// It fills the database where that is empty: RECORDS jobs (1 000 000), of which each tenth is queued, 5 000 are held by
// 50 workers, 60 are stalled, 700 have failed, and the others are done. The schema of the address's search_path is made.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	"github.com/fsmgen/fsmgen/internal/lab/browser/database"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
)

func main() {
	if err := measure(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, args []string) error {
	records := 1_000_000
	if len(args) == 2 {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		records = n
	}
	store, err := database.Open(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return err
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		return err
	}
	if err := fill(ctx, m, records); err != nil {
		return err
	}
	h, err := console.New(console.Options{
		Who:      func(*http.Request) (console.Viewer, error) { return console.Operator("ann"), nil },
		Machines: []console.Machine{console.Of(console.Place{Name: "here"}, m)},
	})
	if err != nil {
		return err
	}
	const at = "/here/lifecycle/"
	for _, page := range []string{
		at + "records", at + "records?state=queued", at + "records?state=failed", at + "records?order=id", at + "records?find=job-0500000",
		at + "records?find=key-500000", at + "record?id=job-0500000", at + "log", at + "late", at + "owners",
		at + "records?where=owner:eq:w7", at, "/", at + "times",
	} {
		if err := show(h, page); err != nil {
			return err
		}
	}
	return nil
}

const rounds = 9

// show asks for a page a few times.
func show(h http.Handler, page string) error {
	var took []time.Duration
	for range rounds {
		began := time.Now()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, page, nil))
		if took = append(took, time.Since(began)); w.Code != http.StatusOK {
			return fmt.Errorf("%s is answered %d: %s", page, w.Code, w.Body)
		}
	}
	first := took[0]
	slices.Sort(took[1:])
	fmt.Fprintf(os.Stdout, "%-45s %7.1f %7.1f\n", page, first.Seconds()*1000, took[1+(rounds-1)/2].Seconds()*1000)
	return nil
}

// fill makes the jobs, unless they are there.
func fill(ctx context.Context, m *lifecycle.Machine, records int) error {
	for _, err := range m.List(ctx) {
		return err
	}
	began := time.Now()
	for i := 0; i < records; i += 1000 {
		if _, err := m.Core().Batch(ctx, func(b *fsm.Machine[lifecycle.Job]) error {
			for k := i; k < min(i+1000, records); k++ {
				job := jobOf(k, records, began)
				call := fsm.Call{RequestID: "import " + job.ID, Actor: "figures", Reason: "to measure"}
				if _, err := b.Import(ctx, job, call); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stdout, "%d records in %s\n", records, time.Since(began).Round(time.Second))
	return nil
}

// jobOf is one of them. Those of each kind stand among the others.
func jobOf(k, records int, now time.Time) lifecycle.Job {
	then := now.Add(-time.Duration(records-k) * time.Millisecond)
	job := lifecycle.Job{
		ID: fmt.Sprintf("job-%07d", k), State: lifecycle.StateSucceeded, CreatedAt: then, UpdatedAt: then,
		DedupeKey: fsm.Some(fmt.Sprint("key-", k)), Payload: fsm.Some(fsm.MustJSON(`{"to":"` + strings.Repeat("x", 40) + `"}`)), Attempt: 1,
	}
	in := func(parts int) bool { return k*parts/records != (k-1)*parts/records }
	switch {
	case k > 0 && in(60):
		job.State = lifecycle.StateStalled
	case k > 0 && in(700):
		job.State, job.Error = lifecycle.StateFailed, fsm.Some(fsm.MustJSON(`{"why":"it broke"}`))
	case k > 0 && in(5000):
		job.State, job.Owner = lifecycle.StateRunning, fsm.Some(fmt.Sprint("w", k%50))
		job.Lease = fsm.Some(now.Add(time.Duration(k) * time.Millisecond))
	case k%10 == 0:
		job.State, job.QueuedAt, job.Attempt = lifecycle.StateQueued, fsm.Some(then), 0
	default:
		job.Result = fsm.Some(fsm.MustJSON(`{"done":true}`))
	}
	return job
}
