package model

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// slot is one record in a state: its local, the effects outside the transaction
// that wait (the number of their set), and a bit for each that was performed.
type slot struct {
	local uint16
	wait  uint16
	done  uint8
}

// state is everything that the future depends on.
type state struct {
	slots   []slot
	effects []uint32 // by counted effect: the groups that had it, one bit each
}

func (s *state) clone() *state {
	return &state{slots: slices.Clone(s.slots), effects: slices.Clone(s.effects)}
}

// copyFrom makes s equal to o without allocating.
func (s *state) copyFrom(o *state) {
	s.slots = append(s.slots[:0], o.slots...)
	s.effects = append(s.effects[:0], o.effects...)
}

func (s slot) less(o slot) bool { return s.number() < o.number() }

func (s slot) number() uint64 {
	return uint64(s.local)<<32 | uint64(s.wait)<<8 | uint64(s.done)
}

// codec writes states as byte keys of one width.
type codec struct {
	t       *table
	records int
	waits   bool // some effect waits outside the transaction
	effects int
	scratch state
	best    []byte
	trial   []byte
	plain   bool // states are written as they are: nothing is exchanged
	watched bool // the first record keeps its place
}

// width is the length of a key.
func (c *codec) width() int {
	w := 2
	if c.waits {
		w += 3
	}
	return c.records*w + 4*c.effects
}

// key returns the key of a state: the least that exchanging records, workers
// and groups gives, so that states which differ in names only have one. It is
// valid until the next call.
func (c *codec) key(s *state, effectKeys []int) []byte {
	if c.plain {
		c.best = c.write(c.best[:0], s)
		return c.best
	}
	for p := range c.t.perms {
		c.scratch.copyFrom(s)
		if p > 0 {
			for i := range c.scratch.slots {
				c.scratch.slots[i].local = c.t.renamed(c.scratch.slots[i].local, p)
			}
			for e := range c.scratch.effects {
				c.scratch.effects[e] = c.permuted(s.effects[e], effectKeys[e], p)
			}
		}
		if c.watched {
			sortSlots(c.scratch.slots[1:])
		} else {
			sortSlots(c.scratch.slots)
		}
		c.trial = c.write(c.trial[:0], &c.scratch)
		if p == 0 || bytes.Compare(c.trial, c.best) < 0 {
			c.best, c.trial = c.trial, c.best
		}
	}
	return c.best
}

// permuted renames the groups of a set of bits.
func (c *codec) permuted(set uint32, key, perm int) uint32 {
	var out uint32
	for bit := 0; set>>bit != 0; bit++ {
		if set&(1<<bit) != 0 {
			out |= 1 << c.t.renamedKey(key, bit, perm)
		}
	}
	return out
}

func (c *codec) write(b []byte, s *state) []byte {
	for i := range c.records {
		x := slot{local: none}
		if i < len(s.slots) {
			x = s.slots[i]
		}
		b = binary.BigEndian.AppendUint16(b, x.local)
		if c.waits {
			b = append(binary.BigEndian.AppendUint16(b, x.wait), x.done)
		}
	}
	for _, e := range s.effects {
		b = binary.BigEndian.AppendUint32(b, e)
	}
	return b
}

// read makes s the state of a key.
func (c *codec) read(b []byte, s *state) {
	s.slots, s.effects = s.slots[:0], s.effects[:0]
	for range c.records {
		x := slot{local: binary.BigEndian.Uint16(b)}
		b = b[2:]
		if c.waits {
			x.wait, x.done = binary.BigEndian.Uint16(b), b[2]
			b = b[3:]
		}
		if x.local != none {
			s.slots = append(s.slots, x)
		}
	}
	for range c.effects {
		s.effects = append(s.effects, binary.BigEndian.Uint32(b))
		b = b[4:]
	}
}

// sortSlots is an insertion sort: there are a handful.
func sortSlots(s []slot) {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j].less(s[j-1]); j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
}

// visited is the set of states that were met, in the order of their discovery.
type visited struct {
	width  int
	keys   []byte
	parent []int32
	slots  []int32 // open addressing: index of a state and one
	seed   maphash.Seed
}

func newVisited(width int) *visited {
	return &visited{width: width, slots: make([]int32, 1<<10), seed: maphash.MakeSeed()}
}

func (v *visited) len() int { return len(v.parent) }

func (v *visited) at(i int) []byte { return v.keys[i*v.width : (i+1)*v.width] }

// add notes a state, unless it was met before.
func (v *visited) add(key []byte, parent int) bool {
	if 2*len(v.parent) >= len(v.slots) {
		v.grow()
	}
	h := v.probe(key)
	if v.slots[h] != 0 {
		return false
	}
	v.keys = append(v.keys, key...)
	v.parent = append(v.parent, int32(parent)) //nolint:gosec // MaxStates is below
	v.slots[h] = int32(len(v.parent))          //nolint:gosec // as above
	return true
}

// probe returns the place of a key, or the empty one where it belongs.
func (v *visited) probe(key []byte) int {
	mask := len(v.slots) - 1
	h := int(maphash.Bytes(v.seed, key)) & mask //nolint:gosec // masked
	for v.slots[h] != 0 && !bytes.Equal(v.at(int(v.slots[h])-1), key) {
		h = (h + 1) & mask
	}
	return h
}

func (v *visited) grow() {
	v.slots = make([]int32, 2*len(v.slots))
	for i := range v.parent {
		v.slots[v.probe(v.at(i))] = int32(i + 1) //nolint:gosec // as above
	}
}
