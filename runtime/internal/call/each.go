package call

import (
	"context"
	"math/rand/v2"
	"time"
)

// Each calls do again and again until ctx ends, first after one interval. Intervals are
// of every, a fifth less or more by chance, so that several processes do not work in
// step. It returns the context's error.
func Each(ctx context.Context, every time.Duration, do func()) error {
	for {
		t := time.NewTimer(every - every/5 + rand.N(2*every/5+1))
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		if do(); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
