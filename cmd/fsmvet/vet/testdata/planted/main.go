// Command planted is a small service with ten mistakes. Each line with one ends with its
// number and the analyzer that finds it.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/fsmgen/fsmgen/examples/fm001/naive"
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/memstore"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store := memstore.New()
	defer store.Close()
	if err := lifecycle.Migrate(ctx, store); err != nil {
		return err
	}
	m, err := lifecycle.Open(ctx, store)
	if err != nil {
		return err
	}
	s := &service{m: m}
	if err := s.submit(ctx, lifecycle.EnqueueInput{}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		job, err := m.As("ann").ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: time.Now().Add(time.Minute)})
		if errors.Is(err, fsm.ErrNothingToDo) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.work(ctx, job); err != nil {
			return err
		}
	}
	return s.report(ctx)
}

// service works on jobs.
type service struct {
	m  *lifecycle.Machine
	db *sql.DB
}

// submit goes on until a job is in the queue.
func (s *service) submit(ctx context.Context, in lifecycle.EnqueueInput) error {
	for {
		_, err := s.m.Enqueue(ctx, "", in, fsm.Call{RequestID: uuid.NewString()}) // mistake 1: fsmrequest
		if err == nil || !errors.Is(err, fsm.ErrAmbiguous) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// work does a job.
func (s *service) work(ctx context.Context, claimed lifecycle.ClaimedJob) error {
	running, err := claimed.Start(ctx)
	if err != nil {
		if strings.Contains(err.Error(), "not owner") { // mistake 2: fsmrefusal
			return nil
		}
		return err
	}
	if err := claimed.Heartbeat(ctx, lifecycle.HeartbeatInput{Lease: time.Now().Add(time.Minute)}); err != nil { // mistake 3: fsmmoved
		return err
	}
	if _, err := running.Complete(ctx, lifecycle.CompleteInput{Result: fsm.MustJSON(`{}`)}); err != nil {
		_, _ = running.Fail(ctx, lifecycle.FailInput{Error: fsm.MustJSON(`"no result"`)}) // mistake 4: fsmrefusal
		return err
	}
	return nil
}

// report tells what there is.
func (s *service) report(ctx context.Context) error {
	for job, err := range s.m.List(ctx) {
		if err != nil {
			return err
		}
		if job.State.String() == "stalled" { // mistake 5: fsmword
			log.Println("stalled:", job.ID)
		}
		log.Println(job.ID, figure(job.State))
	}
	return nil
}

// figure says how far a job is.
func figure(s lifecycle.State) string {
	switch s { // mistake 6: fsmswitch
	case lifecycle.StateQueued:
		return "waits"
	case lifecycle.StateClaimed, lifecycle.StateRunning:
		return "runs"
	case lifecycle.StateSucceeded, lifecycle.StateFailed:
		return "is over"
	}
	return ""
}

// owner says who has a job.
func owner(j lifecycle.AnyJob) string {
	switch j := j.(type) { // mistake 7: fsmswitch
	case lifecycle.ClaimedJob:
		return j.Owner()
	case lifecycle.QueuedJob, lifecycle.StalledJob, lifecycle.SucceededJob, lifecycle.FailedJob:
		return "nobody"
	}
	return ""
}

// release puts a job back by hand.
func (s *service) release(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, `UPDATE lifecycle SET state = 'queued', owner = NULL WHERE id = ?`, id) // mistake 8: fsmsql
	return err
}

// audit looks for calls of operators.
func audit(events []fsm.Event) (n int) {
	for _, e := range events {
		if e.Operation == "requeue_stalled" { // mistake 9: fsmword
			n++
		}
	}
	return n
}

// effects books results.
type effects struct{ client *http.Client }

// ApplyResult books a result, and tells a service of it.
func (f effects) ApplyResult(ctx context.Context, tx *sql.Tx, e naive.Execution, key string, _ fsm.Event) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO ledger (key, job) VALUES (?, ?)`, key, e.JobID); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ledger.example.com", strings.NewReader(key))
	if err != nil {
		return err
	}
	resp, err := f.client.Do(req) // mistake 10: fsmeffect
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
