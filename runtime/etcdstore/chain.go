package etcdstore

import "sync"

// keptChains is how many chains of records are kept in memory, at most twice.
const keptChains = 8192

// chains knows what the next event of a record is chained to, for records that
// were read or written lately, so that their holder needs no other round trip. It
// may be wrong where a write was given up: the row, which is compared with the
// write, holds the chain too.
type chains struct {
	mu       sync.Mutex
	now, old map[string]link
}

// link is the chain of the event that led to a revision.
type link struct {
	rev   int64
	chain uint32
}

func (c *chains) note(id string, rev int64, chain uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.now) >= keptChains {
		c.old, c.now = c.now, nil
	}
	if c.now == nil {
		c.now = map[string]link{}
	}
	c.now[id] = link{rev, chain}
}

func (c *chains) of(id string, rev int64) (chain uint32, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, known := c.now[id]
	if !known {
		l, known = c.old[id]
	}
	return l.chain, known && l.rev == rev
}
