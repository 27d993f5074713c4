package fsmtest

import (
	"sync"
	"time"
)

// Start is where a Clock begins, and when the records of Given were created.
var Start = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// Clock is a clock that stands until it is wound: hand its Now to fsm.WithClock,
// and no test has to sleep for a deadline. It may be used by several goroutines.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at Start.
func NewClock() *Clock { return &Clock{now: Start} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance winds the clock by d, backwards when d is negative, and returns the
// new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Set puts the clock to an instant.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = at
}
