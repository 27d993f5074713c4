// Package durable holds the transitions over databases that the report compares:
// ours, the same work written by hand in several ways, and other libraries.
//
// The work is the heartbeat of a running job of specs/lifecycle.yaml, held by its
// worker: the row moves to the next revision where revision, state and owner are
// what they were, an event with the request id is added, both or none, and it is
// on the disk when the call returns. What is written by hand writes to the tables
// that the generated schema makes, with all of its constraints and triggers.
package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// The levels of enforcement that are compared, of our tables and of those that
// what is by hand writes into.
const (
	Full   = "full"   // a hand at the prompt is refused what the machine forbids
	Checks = "checks" // the rows are right and the log is append-only; edges and events are the program's to keep
)

// errMoved: the row was not where the caller held it.
var errMoved = errors.New("the row has moved")

// Job is a running job as its worker holds it. One caller uses it at a time.
type Job struct {
	id    string
	rev   int64             // of what is written by hand
	held  lifecycle.Outcome // of ours
	lease time.Time
	n     int
}

const worker = "w"

// Running makes n jobs that run.
func Running(ctx context.Context, m *lifecycle.Machine, n int) ([]*Job, error) {
	jobs := make([]*Job, n)
	lease := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	payload := fsm.Some(fsm.MustJSON(`{"url":"https://example.com/"}`))
	for i := range jobs {
		id := driver.NewID()
		out, err := m.Enqueue(ctx, id, lifecycle.EnqueueInput{Payload: payload}, fsm.Call{RequestID: "enqueue " + id})
		if err == nil {
			out, err = m.ClaimNextOf(ctx, out, lifecycle.ClaimNextInput{Lease: lease}, fsm.Call{RequestID: "claim", Actor: worker})
		}
		if err == nil {
			out, err = m.Start(ctx, out, fsm.Call{RequestID: "start", Actor: worker})
		}
		if err != nil {
			return nil, fmt.Errorf("make a running job: %w", err)
		}
		jobs[i] = &Job{id: id, rev: out.Record.Rev, held: out, lease: lease}
	}
	return jobs, nil
}

// next counts the request up and moves the lease on.
func (j *Job) next() (request string) {
	j.n++
	j.lease = j.lease.Add(time.Second)
	return fmt.Sprint("beat ", j.n)
}

// documents are what the event holds.
func (j *Job) documents() (fingerprint, inputs, changes string) {
	document := `{"lease":"` + j.lease.Format(time.RFC3339Nano) + `"}`
	return "v1:0011223344556677889900112233445566778899001122334455667788990011", document, document
}

// Beat is our transition.
func (j *Job) Beat(ctx context.Context, m *lifecycle.Machine) error {
	out, err := m.Heartbeat(ctx, j.held, lifecycle.HeartbeatInput{Lease: j.lease}, fsm.Call{RequestID: j.next(), Actor: worker})
	if err == nil {
		j.held = out
	}
	return err
}

// Contend is our transition of a record that others want as well: it is read, and
// read again for as long as others are faster. It returns how often they were.
// Several callers may use one job so.
func (j *Job) Contend(ctx context.Context, m *lifecycle.Machine, caller int) (stale int64, err error) {
	for {
		job, err := m.Record(ctx, j.id)
		if err != nil {
			return stale, err
		}
		_, err = m.Heartbeat(ctx, job, lifecycle.HeartbeatInput{Lease: j.lease}, fsm.Call{RequestID: fmt.Sprint("contend ", caller, " ", job.Rev), Actor: worker})
		if !errors.Is(err, fsm.ErrStale) {
			return stale, err
		}
		stale++
	}
}

// gatherer is a group commit by hand: one goroutine takes all that wait.
type gatherer struct {
	asks chan ask
	done chan struct{}
}

type ask struct {
	job    *Job
	answer chan error
}

// newGatherer starts the goroutine; commit writes a batch.
func newGatherer(commit func([]*Job) error) *gatherer {
	g := &gatherer{asks: make(chan ask, 512), done: make(chan struct{})}
	go func() {
		defer close(g.done)
		for first := range g.asks {
			batch, open := []ask{first}, true
			for open && len(batch) < 128 {
				var a ask
				select {
				case a, open = <-g.asks:
					if open {
						batch = append(batch, a)
					}
					continue
				default:
				}
				break
			}
			jobs := make([]*Job, len(batch))
			for i, a := range batch {
				jobs[i] = a.job
			}
			err := commit(jobs)
			for _, a := range batch {
				a.answer <- err
			}
		}
	}()
	return g
}

func (g *gatherer) do(j *Job) error {
	a := ask{j, make(chan error, 1)}
	g.asks <- a
	return <-a.answer
}

func (g *gatherer) stop() {
	close(g.asks)
	<-g.done
}
