package driver

import "errors"

// Cursor is a place in the log of all records of a machine: behind one event.
// A program may keep it as text and go on from it later, in another process
// too. The empty Cursor is the beginning. What is in it is the store's affair.
type Cursor string

// Entry is one event in the log of all records, and the cursor behind it.
type Entry struct {
	Event
	Cursor Cursor
}

// Ref returns the record and the revision at which the event stands.
func (e *Event) Ref() Ref { return Ref{e.ID, e.Rev} }

// ErrCursor is the error of a cursor that this log or look-up has not given. A log
// that was restored since may have lost it, too.
var ErrCursor = errors.New("the cursor is not one of this list; begin again with an empty one")
