package pure

import (
	"github.com/fsmgen/fsmgen/examples/queue/lifecycle"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// queued, running and succeeded make records for the subjects that keep a
// lifecycle.Job.
func queued() lifecycle.Job {
	return lifecycle.Job{ID: "job-1", State: lifecycle.StateQueued, Rev: 1, CreatedAt: begin, UpdatedAt: begin}
}

func running() lifecycle.Job {
	j := queued()
	j.State, j.Rev, j.Attempt = lifecycle.StateRunning, 3, 1
	j.Owner, j.Lease = fsm.Some(worker), fsm.Some(leases[1])
	return j
}

func succeeded() lifecycle.Job {
	j := queued()
	j.State, j.Rev, j.Attempt, j.Result = lifecycle.StateSucceeded, 4, 1, fsm.Some(answer)
	return j
}

func endOf(j *lifecycle.Job) End {
	return End{State: j.State.String(), Rev: j.Rev, Attempt: j.Attempt, Owner: j.Owner.Or(""), Lease: j.Lease.Present(),
		Result: j.Result.Or(fsm.JSON{}).String()}
}

// generated is the subject of the generated methods.
func generated() Subject {
	run, wait, end := running(), queued(), succeeded()
	return Subject{
		Name: "generated", Depth: Full, Life: generatedLife,
		Refuse: map[string]func(int) error{
			WrongOwner: func(n int) (err error) {
				for range n {
					if _, err = run.Heartbeat(lifecycle.HeartbeatInput{Lease: leases[2]}, stranger, instants[2]); err == nil {
						return nil
					}
				}
				return err
			},
			WrongState: func(n int) (err error) {
				for range n {
					if _, err = wait.Start(worker, instants[1]); err == nil {
						return nil
					}
				}
				return err
			},
			Terminal: func(n int) (err error) {
				for range n {
					if _, err = end.Complete(lifecycle.CompleteInput{Result: answer}, worker, instants[5]); err == nil {
						return nil
					}
				}
				return err
			},
		},
	}
}

func generatedLife(n int) (End, error) {
	fresh := queued()
	var j lifecycle.Job
	for range n {
		j = fresh
		if _, err := j.ClaimNext(lifecycle.ClaimNextInput{Lease: leases[0]}, worker, instants[0]); err != nil {
			return End{}, err
		}
		if _, err := j.Start(worker, instants[1]); err != nil {
			return End{}, err
		}
		for beat := 2; beat < 5; beat++ {
			if _, err := j.Heartbeat(lifecycle.HeartbeatInput{Lease: leases[beat]}, worker, instants[beat]); err != nil {
				return End{}, err
			}
		}
		if _, err := j.Complete(lifecycle.CompleteInput{Result: answer}, worker, instants[5]); err != nil {
			return End{}, err
		}
	}
	return endOf(&j), nil
}
