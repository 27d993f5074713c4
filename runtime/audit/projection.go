package audit

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// What a pass over the log may hold. A log with more groups is read again, each
// time for as many groups as there is room for.
const (
	maxGroups  = 1 << 14
	maxMembers = 1 << 16 // records whose group is known without a look
)

// auditProjection follows the projections through the log of all records, step by
// step, and yields the first step of each group that moved it as the machine does
// not allow. A group with something else wrong is left out, and so is what a
// group did before a record of it was purged, which nobody knows any more.
func (m *machine[R]) auditProjection(ctx context.Context, room int, yield func(inspect.Finding) bool) error {
	p := m.Descriptor.Projection
	if p == nil || len(p.Moves) == 0 {
		return nil
	}
	for from := uint64(0); ; {
		f := newFollower(m, room, from, math.MaxUint64)
		err := f.pass(ctx)
		if errors.Is(err, errors.ErrUnsupported) || inspect.IsUnreadable(err) {
			return nil // the store has no log of all records, or none that is whole, as is told
		}
		if err == nil && len(f.wrong()) > 0 { // or a purge took away what was not read yet: look again
			again := newFollower(m, 2*room, f.from, f.to)
			if err = again.pass(ctx); err == nil {
				f.confirm(again)
				err = f.tell(ctx, yield)
			}
		}
		if err != nil || f.to == math.MaxUint64 {
			return err
		}
		from = f.to + 1
	}
}

// follower follows the groups whose numbers are between from and to.
type follower[R any] struct {
	m        *machine[R]
	p        *fsmimpl.Projection
	room     int
	from, to uint64
	groups   map[string]*group
	numbered map[uint64][]*group // the same, by number
	groupOf  map[string]*group   // of some records
	met      idFilter            // of all records that are or were in one of the groups
	reader   driver.Reader       // it tells which events may have been made in another order
	purges   uint64              // the sum over the records that were emptied, less that over those that were purged
}

func newFollower[R any](m *machine[R], room int, from, to uint64) *follower[R] {
	return &follower[R]{m: m, p: m.Descriptor.Projection, room: room, from: from, to: to,
		groups: map[string]*group{}, numbered: map[uint64][]*group{}, groupOf: map[string]*group{}, met: make(idFilter, filterBits/64)}
}

func (f *follower[R]) pass(ctx context.Context) error {
	for after := driver.Cursor(""); ; {
		n := 0
		err := f.m.Table.View(ctx, func(r driver.Reader) error {
			f.reader = r
			page, err := r.Log(after, inspect.PageSize)
			if err != nil {
				return err
			}
			for i := range page {
				f.entry(r, &page[i])
				after = page[i].Cursor
			}
			n = len(page)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		if n < inspect.PageSize {
			break
		}
	}
	for _, g := range f.groups {
		f.settle(g)
		if f.purges != 0 { // the log does not show a purge yet, which may be of any group
			g.found = nil
		}
	}
	return nil
}

// entry takes the next event of the log.
func (f *follower[R]) entry(r driver.Reader, e *driver.Entry) {
	switch {
	case e.Operation == driver.OpPurge && e.RecordOnly():
		f.purged(&e.Event)
		return
	case e.RecordOnly():
		return
	case e.Operation == driver.OpPurged:
		if e.Rev == 1 {
			f.purges += groupNumber(e.ID)
		}
		return
	}
	s := f.m.Schema
	step := taken{ref: e.Ref(), version: e.Version, judged: f.judges(&e.Event)}
	changes, _ := e.Changes.Members() // what cannot be read is told by other checks
	moved := slices.ContainsFunc(f.p.Key, func(name string) bool { return changes[name] != nil })
	switch {
	case e.Rev == 1:
		var row driver.Row
		if row.Fold(s, &e.Event) != nil {
			return
		}
		step.to = e.To
		f.step(f.join(&row), e, step)
	case moved:
		before := f.find(r, e.ID, e.Rev-1)
		delete(f.groupOf, e.ID)
		now := f.find(r, e.ID, e.Rev)
		if before == now {
			step.from, step.to = e.From, e.To
			f.step(now, e, step)
			return
		}
		left := step
		left.from, step.to = e.From, e.To
		f.step(before, e, left)
		f.step(now, e, step)
	case e.From != e.To && f.met.has(e.ID):
		step.from, step.to = e.From, e.To
		f.step(f.find(r, e.ID, e.Rev), e, step)
	}
}

// judges reports whether a step is one that the machine can take. One of a later
// version is not judged, nor what an older one did that this one cannot do.
func (f *follower[R]) judges(e *driver.Event) bool {
	s := f.m.Schema
	if e.Version == s.Version {
		return !e.Own(s)
	}
	op := f.m.ByStored[e.Operation]
	return e.Version < s.Version && op != nil && slices.Contains(op.Moves, fsmimpl.Move{From: e.From, To: e.To})
}

// find returns the group of a record as of a revision; nil when it is none of
// those that are followed, or when the log does not tell.
func (f *follower[R]) find(r driver.Reader, id string, rev int64) *group {
	if g, known := f.groupOf[id]; known {
		if g.dropped {
			return nil
		}
		return g
	}
	row, _, err := inspect.RowAt(f.m.Schema, r, id, rev, nil)
	if err != nil {
		return nil // what is wrong with its log is told by other checks
	}
	return f.join(&row)
}

// join notes a record's group and returns it; nil when it is not followed.
func (f *follower[R]) join(row *driver.Row) *group {
	key, err := f.p.Group(f.m.Schema, row)
	if err != nil {
		return nil
	}
	n := groupNumber(key)
	if n < f.from || n > f.to {
		return nil
	}
	g := f.groups[key]
	if g == nil {
		g = &group{key: key, number: n, records: map[string]int64{}}
		for _, name := range f.p.Key {
			c := driver.Cond{Column: name, Op: driver.OpEq, Value: row.Values[f.m.Schema.Column(name)]}
			if c.Value == nil {
				c.Op = driver.OpAbsent
			}
			g.where = append(g.where, c)
		}
		f.groups[key] = g
		f.numbered[n] = append(f.numbered[n], g)
		for len(f.groups) > f.room && f.to > f.from {
			f.narrow()
		}
		if g.dropped {
			return nil
		}
	}
	for id := range f.groupOf {
		if len(f.groupOf) < maxMembers {
			break
		}
		delete(f.groupOf, id)
	}
	f.groupOf[row.ID] = g
	f.met.add(row.ID)
	return g
}

// narrow leaves the upper half of the groups to the next pass.
func (f *follower[R]) narrow() {
	f.to = f.from + (f.to-f.from)/2
	for key, g := range f.groups {
		if g.number > f.to {
			g.dropped = true
			delete(f.groups, key)
			delete(f.numbered, g.number)
		}
	}
}

// purged forgets what the group of a purged record did so far, or all groups
// where the purge does not say which it was.
func (f *follower[R]) purged(e *driver.Event) {
	f.purges -= groupNumber(e.ID)
	delete(f.groupOf, e.ID)
	inputs, _ := e.Inputs.Members()
	if n, said := numberOf(inputs["group"]); said {
		for _, g := range f.numbered[n] {
			g.forget()
		}
		return
	}
	for _, g := range f.groups {
		g.forget()
	}
}

// idFilter knows which ids were added, in memory that is bounded: of many it may
// take one that was not added for one that was, never the other way round.
type idFilter []uint64

func (f idFilter) bits(id string) [2]uint64 {
	h := fnv.New64a()
	h.Write([]byte(id)) // never fails
	sum := h.Sum64()
	return [2]uint64{sum % filterBits, sum >> 32 % filterBits}
}

func (f idFilter) add(id string) {
	for _, b := range f.bits(id) {
		f[b/64] |= 1 << (b % 64)
	}
}

func (f idFilter) has(id string) bool {
	for _, b := range f.bits(id) {
		if f[b/64]&(1<<(b%64)) == 0 {
			return false
		}
	}
	return true
}
