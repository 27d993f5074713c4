package driver

import (
	"errors"
	"time"
)

// Cursor is a place in the log of all records of a machine: behind one event.
// A program may keep it as text and go on from it later, in another process
// too. The empty Cursor is the beginning. What is in it is the store's affair.
type Cursor string

// Entry is one event in the log of all records, and the cursor behind it.
type Entry struct {
	Event
	Cursor Cursor
	// Unreadable says why the event cannot be read, of which ID, Rev and N are known then; nil: it was read.
	// Newest alone returns such entries.
	Unreadable *EventError
}

// Lag is what a log holds back: events that are committed, and that an open transaction may
// still put another event before.
type Lag struct {
	Since time.Time // when the first of them was made; zero where none is held back
	By    string    // who has the transaction, for people; empty where it is not known
}

// Ref returns the record and the revision at which the event stands.
func (e *Event) Ref() Ref { return Ref{e.ID, e.Rev} }

// ErrCursor is the error of a cursor that this log or look-up has not given. A log
// that was restored since may have lost it, too.
var ErrCursor = errors.New("the cursor is not one of this list; begin again with an empty one")
