package audit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// Every runs audits again and again until ctx ends, first after one interval. Intervals are
// of every, a fifth less or more by chance, so that several processes do not read at
// the same time:
//
//	err := audit.Every(ctx, time.Hour, jobs, report)
//
// report is called for each finding, and for the error that ended an audit; the next
// one tries again. Every returns the context's error.
func Every[R any](ctx context.Context, every time.Duration, m Machine[R], report func(Finding, error), probes ...fsmimpl.Probe[R]) error {
	if every < time.Millisecond {
		return fmt.Errorf("audit every %s; expected at least 1ms", every)
	}
	return call.Each(ctx, every, func() {
		for f, err := range Run(ctx, m, probes...) {
			if ctx.Err() != nil {
				return
			}
			report(f, err)
		}
	})
}

// Logged returns an audit that logs what it finds, and returns the error that ended it: what
// worker.Upkeep makes by period. A MUST is logged as an error, the rest as warnings.
func Logged[R any](m Machine[R], probes ...fsmimpl.Probe[R]) func(context.Context, *slog.Logger) error {
	return func(ctx context.Context, log *slog.Logger) error {
		for f, err := range Run(ctx, m, probes...) {
			if err != nil {
				return err
			}
			level := slog.LevelWarn
			if f.Must {
				level = slog.LevelError
			}
			log.Log(ctx, level, "audit", "id", f.ID, "check", f.Check, "finding", f.Message)
		}
		return nil
	}
}
