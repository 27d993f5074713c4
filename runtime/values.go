package fsm

import (
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Store is where records are kept. Open one with package sqlite, postgres, memstore or
// another that implements package driver.
type Store = driver.Store

// Tx is the transaction of a step, which an atomic effect takes part in.
type Tx = driver.Tx

// Ref names a record at a revision. Rev 0 means "whatever revision it has",
// which only machines with `expected_rev: optional` or `none` accept.
type Ref = driver.Ref

// Target is what an operation is applied to: the record itself, an outcome
// that holds it (one round trip), or a Ref (read, decide, write).
type Target = fsmimpl.Target

// Event is one line of a record's log.
type Event = driver.Event

// Entry is one event in the log of all records, and the cursor behind it.
type Entry = driver.Entry

// Cursor is a place in the log of all records of a machine: behind one event.
// A program may keep it as text and go on from it later, in another process
// too. The empty Cursor is the beginning.
type Cursor = driver.Cursor

// Violation is a rule that a record breaks.
type Violation = fsmimpl.Violation

// JSON is one compact JSON text. ParseJSON, MustJSON and MarshalValue make one, so it
// is always valid; the zero JSON is no text and stands for nothing given. Two JSON
// values are == when their compact texts are the same bytes.
type JSON = driver.JSON

// ParseJSON checks and compacts a JSON text. Keys and numbers stay as written.
func ParseJSON(text string) (JSON, error) { return driver.ParseJSON(text) }

// MustJSON is ParseJSON for texts that stand in the program; it panics on a
// text that is no JSON.
func MustJSON(text string) JSON { return driver.MustJSON(text) }

// MarshalValue returns v as JSON.
func MarshalValue(v any) (JSON, error) { return driver.MarshalValue(v) }

// Set is a sorted set of strings. It never changes, so copies may share it.
// The zero Set is empty.
type Set = driver.Set

// NewSet returns the set of the given strings.
func NewSet(items ...string) Set { return driver.NewSet(items...) }

// Optional is a value that may be absent. The zero Optional is absent. Copies
// share nothing, and making one allocates nothing.
type Optional[T any] = driver.Optional[T]

// Some returns a present value.
func Some[T any](v T) Optional[T] { return driver.Some(v) }

var (
	// ErrClosed is what a call gets after the store was closed.
	ErrClosed = driver.ErrClosed
	// ErrCursor is the error of a cursor that this log or look-up has not given. A log
	// that was restored since may have lost it, too.
	ErrCursor = driver.ErrCursor
	// ErrInside is what a call gets that would wait for the transaction which it is
	// made in.
	ErrInside = driver.ErrInside
)
