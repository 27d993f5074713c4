package sqlstore

import (
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// version is a revision of a record that a write is decided on.
type version struct {
	t   *table
	ref driver.Ref
}

// version returns what a job moves its record away from; false when it moves none.
func (j *job) version() (version, bool) {
	return version{j.t, j.w.Prev}, j.w.Row != nil && j.w.Prev.Rev > 0
}

// overtake answers those who wait with a write for a revision that the batch has
// just moved its record away from, as the database would. So of many who move one
// record at once, one for each revision takes a transaction.
func (c *committer) overtake(batch []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return
	}
	gone := make(map[version]bool, len(batch))
	for _, j := range batch {
		if v, moves := j.version(); moves && j.fate == answered && j.err == nil {
			gone[v] = true
		}
	}
	c.queue = slices.DeleteFunc(c.queue, func(j *job) bool {
		v, moves := j.version()
		if !moves || !gone[v] {
			return false
		}
		j.answer(driver.ErrMoved)
		j.wake <- j.fate
		return true
	})
}
