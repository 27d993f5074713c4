package serve

import (
	"context"
	"sync"
)

// latest lets one search run at a time, the one that was asked for last: a new one
// ends the one before it.
type latest struct {
	mu    sync.Mutex
	end   context.CancelFunc // of the search that runs, or ran
	ended chan struct{}      // closed when it did
}

// begin ends the search that runs, waits until it has, and takes its place until
// the function it returns is called. The context ends with ctx and with the next
// begin; the error is ctx's, when that ended while it waited.
func (l *latest) begin(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	l.mu.Lock()
	before, stop := l.ended, l.end
	l.end, l.ended = cancel, ended
	l.mu.Unlock()
	end := func() { cancel(); close(ended) }
	if before == nil {
		return ctx, end, nil
	}
	stop()
	// Also of one that is not wanted any more: the one after it waits for both.
	<-before
	if err := ctx.Err(); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}
