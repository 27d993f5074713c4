package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/memstore"
	"github.com/google/go-cmp/cmp"
)

// The worker with handles does what the one without does: both take the same
// jobs through the same log.
func TestWorkerLikeByHand(t *testing.T) {
	t.Parallel()
	var logs []string
	for _, byHand := range []bool{false, true} {
		store := memstore.New()
		if err := lifecycle.Migrate(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		machine, err := lifecycle.Open(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		ledger, err := openLedger(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ledger.close() })
		q := &queue{config: config{jobs: 5, producers: 1, work: 10 * time.Millisecond, lease: time.Minute}, machine: machine, ledger: ledger, out: io.Discard}
		if err := q.produce(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		consume := q.consume
		if byHand {
			consume = q.consumeByHand
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := consume(ctx, "w1"); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
		if err := q.wait(ctx, cancel); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		logs = append(logs, events(t, machine))
	}
	if diff := cmp.Diff(logs[1], logs[0]); diff != "" {
		t.Errorf("logs (-by hand +with handles):\n%s", diff)
	}
	if n := strings.Count(logs[0], "complete w1"); n != 5 {
		t.Errorf("%d jobs were completed, want 5:\n%s", n, logs[0])
	}
}

// events lists what happened to each job, in the order of their numbers.
func events(t *testing.T, m *lifecycle.Machine) string {
	t.Helper()
	logs := make(map[string]string)
	for e, err := range m.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		logs[e.ID] += fmt.Sprintf("%d %s %s\n", e.Rev, e.Operation, e.Actor)
	}
	var b strings.Builder
	for j, err := range m.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n%s", j.DedupeKey.Or(""), j.State, logs[j.ID])
	}
	return b.String()
}

// consumeByHand is consume without handles: the same worker, written with the
// methods of Machine.
func (q *queue) consumeByHand(ctx context.Context, worker string) error {
	for ctx.Err() == nil {
		claimed, err := q.machine.ClaimNext(ctx, lifecycle.ClaimNextInput{Lease: time.Now().Add(q.lease)}, fsm.Call{RequestID: driver.NewID(), Actor: worker})
		if errors.Is(err, fsm.ErrNothingToDo) {
			_ = sleep(ctx, 10*time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		q.ack(claimed)
		err = q.workByHand(ctx, worker, claimed)
		// A refusal means that the job is no longer ours: the lease ended and
		// somebody else has it. The queue has lost nothing; take the next one.
		if refusal := (*fsm.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
			return err
		}
	}
	return nil
}

// workByHand runs one claimed job: start, keep the lease alive, apply the
// effect, complete.
func (q *queue) workByHand(ctx context.Context, worker string, claimed lifecycle.Outcome) error {
	// A request id is remembered as long as the record, so each attempt has its own.
	attempt := claimed.Record.Attempt
	running, err := q.machine.Start(ctx, claimed, fsm.Call{RequestID: fmt.Sprintf("start-%d", attempt), Actor: worker})
	if err != nil {
		return err
	}
	q.ack(running)

	job := &held{outcome: running}
	beat, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { q.heartbeat(beat, worker, job) })
	err = sleep(ctx, q.config.work) // the work itself
	stop()
	wg.Wait()
	if err != nil {
		return err
	}

	// The effect is outside the store, so it can happen at least once only; the
	// job's id is the key under which the ledger takes it once.
	if err := q.ledger.apply(ctx, running.Record.ID, worker); err != nil {
		return err
	}
	done, err := q.machine.Complete(ctx, job.outcome, lifecycle.CompleteInput{Result: fsm.MustJSON(`{"ok":true}`)}, fsm.Call{RequestID: fmt.Sprintf("complete-%d", attempt), Actor: worker})
	if err != nil {
		return err
	}
	q.ack(done)
	return nil
}

// held is the job that a worker holds, at its newest revision.
type held struct{ outcome lifecycle.Outcome }

// heartbeat renews the lease until ctx ends or the job is lost.
func (q *queue) heartbeat(ctx context.Context, worker string, job *held) {
	for sleep(ctx, q.lease/4) == nil {
		out, err := q.machine.Heartbeat(context.WithoutCancel(ctx), job.outcome, lifecycle.HeartbeatInput{Lease: time.Now().Add(q.lease)}, fsm.Call{RequestID: driver.NewID(), Actor: worker})
		if err != nil {
			return // Complete will be told why
		}
		job.outcome = out
		q.ack(out)
	}
}
