package sqlstore

import (
	"context"
	"hash/maphash"

	fsm "github.com/fsmgen/fsmgen/runtime"
)

// The event of a move carries the chain on from the event before it, which is
// looked up in the log: a tenth of what appending costs a file. Who wrote that event
// itself knows its chain. It never changes, so a session that remembers it appends
// without looking; an event of the log that was forged meanwhile is no link of it.

// link is an event of a move, as a session has written it.
type link struct {
	schema *fsm.Schema
	id     string
	rev    int64
	chain  uint32
	known  bool  // the chain
	missed uint8 // how many writes in a row did not know it
}

const (
	maxLinks  = 1 << 12 // that a session remembers
	maxMissed = 2       // then the chain is read
)

// links remembers what was written last, by the hash of its id.
type links struct {
	seed maphash.Seed
	by   []link
}

// at returns the place of a record.
func (l *links) at(id string) *link {
	if l.by == nil {
		l.seed, l.by = maphash.MakeSeed(), make([]link, maxLinks)
	}
	return &l.by[maphash.String(l.seed, id)%maxLinks]
}

// forget is for when somebody else has written: a record that was forgotten and made
// again, or a log that was redacted, has other chains at the same revisions.
func (l *links) forget() { clear(l.by) }

// before returns the chain of the event before that of a formed write, unless it
// is to be looked up by the statement that appends it.
func (x *txn) before(d *direct, w *fsm.Write) (chain uint32, known bool, err error) {
	if w.Prev.Rev == 0 {
		return 0, true, nil
	}
	switch l := d.links.at(w.Prev.ID); {
	case !l.is(x.t.schema, w.Prev):
		return 0, false, nil
	case l.known:
		return l.chain, true, nil
	case l.missed < maxMissed:
		return 0, false, nil
	}
	n, _, err := x.integer(x.t.sql.chain, w.Prev.ID, w.Prev.Rev)
	return uint32(n), err == nil, err
}

func (l *link) is(s *fsm.Schema, r fsm.Ref) bool {
	return l.schema == s && l.id == r.ID && l.rev == r.Rev
}

// missed returns how many writes of the record in a row do not know their chain, if
// that of w does not.
func (d *direct) missed(w *fsm.Write, s *fsm.Schema) uint8 {
	if l := d.links.at(w.Prev.ID); l.is(s, w.Prev) {
		return l.missed + 1
	}
	return 1
}

// settled says what became of a write of the batch.
func (d *direct) settled(written bool) {
	if written {
		d.written = append(d.written, d.next)
	}
	d.next = link{}
}

// remember keeps the links of a batch that was committed.
func (d *direct) remember() {
	for _, l := range d.written {
		*d.links.at(l.id) = l
	}
}

func (sqlWork) settled(bool) {}

// begin takes the write lock for a batch.
func (d *direct) begin(ctx context.Context) error {
	d.written = d.written[:0]
	return d.just(ctx, beginImmediate)
}
