// Package jobs puts the two machines of the source together: a job as it was submitted
// (specs/job.yaml), and its executions (specs/execution.yaml), from which its state is
// computed.
package jobs

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/examples/fm001/execution"
	"github.com/fsmgen/fsmgen/examples/fm001/job"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// Jobs are all jobs of a store.
type Jobs struct {
	Submitted  *job.Machine
	Executions *execution.Machine
}

// Job is a job and what became of it.
type Job struct {
	ID        string
	Payload   fsm.Optional[fsm.JSON] // the same for each attempt
	State     execution.JobState     // computed from the executions; pending without one
	Attempt   int64                  // the number of the last attempt; 0 without one
	CreatedAt time.Time              // when it was submitted
	UpdatedAt time.Time              // when it or one of its executions changed last
}

// Migrate makes the tables of both machines, or brings them to this version.
func Migrate(ctx context.Context, store fsm.Store) error {
	return errors.Join(job.Migrate(ctx, store), execution.Migrate(ctx, store))
}

// Submit makes a job known. It waits for an execution from then on.
func (j *Jobs) Submit(ctx context.Context, id string, payload fsm.Optional[fsm.JSON], c fsm.Call) (Job, error) {
	out, err := j.Submitted.Submit(ctx, id, job.SubmitInput{Payload: payload}, c)
	if err != nil {
		return Job{}, err
	}
	return pending(out.Record), nil
}

// Lease makes the next attempt at a job that was submitted, and returns it with the job:
// the attempt works on the job's payload. A job is never changed or removed, so it may be
// read before.
func (j *Jobs) Lease(ctx context.Context, exec string, in execution.LeaseInput, c fsm.Call) (execution.Outcome, Job, error) {
	submitted, err := j.Submitted.Record(ctx, in.JobID)
	if err != nil {
		return execution.Outcome{}, Job{}, err
	}
	out, err := j.Executions.Lease(ctx, exec, in, c)
	if err != nil {
		return out, Job{}, err
	}
	it, err := j.with(ctx, submitted)
	return out, it, err
}

// Job returns a job, or fsm.ErrNotFound where none was submitted under the id.
func (j *Jobs) Job(ctx context.Context, id string) (Job, error) {
	submitted, err := j.Submitted.Record(ctx, id)
	if err != nil {
		return Job{}, err
	}
	return j.with(ctx, submitted)
}

// List returns the jobs that are in one of the states, or all.
func (j *Jobs) List(ctx context.Context, states ...execution.JobState) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for submitted, err := range j.Submitted.List(ctx) {
			var it Job
			if err == nil {
				it, err = j.with(ctx, submitted)
			}
			if err == nil && len(states) > 0 && !slices.Contains(states, it.State) {
				continue
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// with adds what the executions of a job tell.
func (j *Jobs) with(ctx context.Context, submitted job.Job) (Job, error) {
	it := pending(submitted)
	derived, err := j.Executions.Job(ctx, submitted.ID)
	if errors.Is(err, fsm.ErrNotFound) { // no execution yet
		return it, nil
	}
	if err != nil {
		return Job{}, err
	}
	it.State, it.Attempt = derived.State, derived.Attempt.Or(0)
	if at := derived.Updated.Or(it.UpdatedAt); at.After(it.UpdatedAt) {
		it.UpdatedAt = at
	}
	return it, nil
}

// pending is a job without executions.
func pending(j job.Job) Job {
	return Job{ID: j.ID, Payload: j.Payload, State: execution.JobStatePending, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt}
}
