package sqlstore

import (
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// shape is what the text of a statement depends on.
type shape struct {
	extent                                  extent
	many, create, state, old, leave, places bool
	outbox                                  int   // how much a write asks for, at most
	sealed                                  bool  // of some it is compared by its chain
	each                                    bool  // all writes are compared column by column
	mixed                                   uint8 // what the writes differ in

	changed string // a byte per column of the row: 1 where it changes, cleared where it becomes absent
	absent  uint32 // a bit per column of the event: all writes lack it
	lacks   string // a byte per column: 1 where all rows that are compared, or created, lack it; empty: not looked at
	words   wording
}

// cleared is the byte in shape.changed of a column that becomes absent.
const cleared = 2

// maxTexts bounds the texts that are about one operation and about what a row lacks.
// Beyond it they are those that fit any.
const maxTexts = 256

// shapeOf returns the shape of writes of the same kind: what all of them have in common
// stands in the text.
func (b *builder) shapeOf(how extent) shape {
	first := b.writes[0]
	s := shape{extent: how, many: len(b.writes) > 1, create: first.Prev.Rev == 0, each: true,
		absent: 1<<len(eventColumns) - 1, words: wordingOf(first, b.inputs[0])}
	if s.extent == behind && b.t.order.behind == "" {
		s.extent = whole
	}
	n := len(b.t.schema.Columns)
	var some [64]byte
	marks := append(some[:0], make([]byte, 2*n)...)
	changed, lacks := marks[:n], marks[n:]
	for c := range lacks {
		lacks[c] = 1
	}
	for i, w := range b.writes {
		if i > 0 {
			words := wordingOf(w, b.inputs[i])
			s.mixed |= s.words.meet(&words)
		}
		s.state, s.each = s.state || w.Row.State != w.PrevState, s.each && byColumns(w)
		s.old = s.old || byColumns(w) && !s.create
		s.sealed = s.sealed || byChain(w) && !s.create
		s.outbox, s.leave = max(s.outbox, len(w.Outbox)), s.leave || w.Leave && !s.create
		s.places = s.places || s.many && s.create && len(b.t.placesOf(w.Row)) > 0
		s.absent &= absentIn(&w.Event)
		for _, c := range w.Changed {
			changed[c] = cleared
		}
		var row *driver.Row
		switch {
		case s.create:
			row = w.Row
		case byColumns(w):
			row = w.Old
		}
		for c := range lacks {
			if row != nil && row.Values[c] != nil {
				lacks[c] = 0
			}
		}
	}
	for c := range changed { // some of many may set what others clear
		sets := func(w *driver.Write) bool { return w.Row.Values[c] != nil }
		if changed[c] == cleared && slices.ContainsFunc(b.writes, sets) {
			changed[c] = 1
		}
	}
	both := string(marks)
	s.changed, s.lacks = both[:n], both[n:]
	return s
}

// general returns the shape of any writes of this kind.
func (s shape) general() shape {
	s.each, s.mixed, s.absent, s.lacks, s.words = false, mixedAll, 0, "", wording{}
	s.changed = strings.ReplaceAll(s.changed, string(rune(cleared)), "\x01")
	return s
}

// lacking reports whether the text is about rows without a column.
func (s *shape) lacking(i int) bool { return s.lacks != "" && s.lacks[i] == 1 }
