package sqlstore

import (
	"context"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/runtime/internal/call"
)

// alarms tell many who wait when they may wait no longer. They share one alarm, which rings for
// the earliest of them: who has time left then takes the next one. A timer for each makes half of
// the allocations of a queued write.
type alarms struct {
	mu   sync.Mutex
	at   time.Time
	rung chan struct{} // closed then
}

// of returns what is closed when a call may wait no longer, or earlier; nil: it may as long as
// its context lasts.
func (a *alarms) of(ctx context.Context) <-chan struct{} {
	until, limited := call.Until(ctx)
	if !limited {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rung == nil || until.Before(a.at) || !time.Now().Before(a.at) {
		rung := make(chan struct{})
		time.AfterFunc(time.Until(until), func() { close(rung) })
		a.at, a.rung = until, rung
	}
	return a.rung
}
