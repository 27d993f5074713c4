package audit

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// Every audits again and again until ctx ends, first after one interval. Intervals are
// of every, a fifth less or more by chance, so that several processes do not read at
// the same time. audit is what to run, mostly the generated method:
//
//	err := audit.Every(ctx, time.Hour, jobs.Audit, report)
//
// report is called for each finding, and for the error that ended an audit; the next
// one tries again. Every returns the context's error.
func Every(ctx context.Context, every time.Duration, audit func(context.Context) iter.Seq2[Finding, error], report func(Finding, error)) error {
	if every < time.Millisecond {
		return fmt.Errorf("audit every %s; expected at least 1ms", every)
	}
	for {
		t := time.NewTimer(every - every/5 + rand.N(2*every/5+1))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		for f, err := range audit(ctx) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			report(f, err)
		}
	}
}
