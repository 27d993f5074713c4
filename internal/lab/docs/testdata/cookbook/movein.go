package cookbook

import (
	"context"
	"fmt"
	"time"

	"example.com/cookbook/job"
	fsm "github.com/fsmgen/fsmgen/runtime"
)

// oldJob is a row of the other program's table.
type oldJob struct {
	ID, Status, Worker string
	Lease, Created     time.Time
}

// moveIn imports a page of rows in one transaction: all of them or none. Call it again with a page that was
// imported before, and it changes nothing.
func moveIn(ctx context.Context, jobs *job.Machine, page []oldJob) ([]job.Outcome, error) {
	return jobs.Core().Batch(ctx, func(m *fsm.Machine[job.Job]) error {
		for _, row := range page {
			rec := job.Job{ID: row.ID, CreatedAt: row.Created}
			switch row.Status {
			case "NEW":
				rec.State = job.StateQueued
			case "BUSY":
				rec.State, rec.Owner, rec.Lease = job.StateRunning, fsm.Some(row.Worker), fsm.Some(row.Lease)
			case "OK":
				rec.State = job.StateDone
			default:
				return fmt.Errorf("job %s has the status %q", row.ID, row.Status)
			}
			call := fsm.Call{RequestID: "import " + row.ID, Actor: "ann", Reason: "moved from jobs_old"}
			if _, err := m.Import(ctx, rec, call); err != nil {
				return err
			}
		}
		return nil
	})
}
