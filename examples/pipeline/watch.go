package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/fsmgen/fsmgen/examples/pipeline/ingest"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/worker"
)

// stalled lists the running jobs that have shown no sign of life for so long. It changes
// nothing.
func stalled(ctx context.Context, m *ingest.Machine, now time.Time, timeout time.Duration) ([]ingest.Job, error) {
	var list []ingest.Job
	for job, err := range m.List(ctx, ingest.StateRunning) {
		if err != nil {
			return nil, err
		}
		if at, _ := job.ActiveAt.Get(); now.Sub(at) >= timeout {
			list = append(list, job)
		}
	}
	return list, nil
}

// checked runs what the machine needs, and checks every job's rules, log and worker once
// in each interval. What is wrong is logged; audit.HealthOf tells it to a health endpoint.
func checked(ctx context.Context, m *ingest.Machine, world ingest.Probes, every time.Duration, log *slog.Logger) error {
	return worker.Run(ctx, m.Core(), worker.Upkeep{
		Audit:      audit.Logged(m, m.Probes(world)...),
		AuditEvery: every,
		Log:        log,
	})
}

// refusals writes each attempt that is refused: it leaves no event behind.
func refusals(out io.Writer) fsm.Option {
	return fsm.WithObserver(func(ctx context.Context, call fsm.Observed) (context.Context, func(fsm.Observation)) {
		return ctx, func(end fsm.Observation) {
			var refused *fsm.Refusal
			if errors.As(end.Err, &refused) && refused.Code != fsm.ErrNothingToDo {
				fmt.Fprintf(out, "%q by %q: %v\n", call.RequestID, call.Actor, refused)
			}
		}
	})
}
