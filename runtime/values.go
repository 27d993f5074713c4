package fsm

import (
	"time"

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
//
//	type Ref struct {
//		ID  string
//		Rev int64
//	}
//	func (r Ref) Ref() Ref       // itself, so that a Ref is a Target
//	func (r Ref) String() string // "id@rev"
type Ref = driver.Ref

// Target is what an operation is applied to: the record itself, an outcome
// that holds it (one round trip), or a Ref (read, decide, write).
type Target = fsmimpl.Target

// Event is one line of a record's log. Its fields stand in package driver. As JSON it has
// the members of CONTRACT.md.
//
//	func (e *Event) Ref() Ref                // the record and the revision at which the event stands
//	func (e *Event) RecordOnly() bool        // it changed nothing but the log
//	func (e *Event) Redacted() bool          // something of it was erased later
//	func (e *Event) Own(s *Schema) bool      // it is right although no operation makes it
//	func (e *Event) Partial(s *Schema) bool  // its image lacks fields that the schema has
type Event = driver.Event

// Entry is one event in the log of all records, and the cursor behind it.
type Entry = driver.Entry

// Cursor is a place in the log of all records of a machine: behind one event.
// A program may keep it as text and go on from it later, in another process
// too. The empty Cursor is the beginning.
type Cursor = driver.Cursor

// Violation is a rule that a record breaks.
//
//	func (v Violation) String() string // the rule and its weight
type Violation = fsmimpl.Violation

// JSON is one compact JSON text. ParseJSON, MustJSON and MarshalValue make one, so it
// is always valid; the zero JSON is no text and stands for nothing given. Two JSON
// values are == when their compact texts are the same bytes. It goes through encoding/json
// and database/sql as it is.
//
//	func (j JSON) Decode(v any) error                           // as json.Unmarshal
//	func (j JSON) Members() (map[string]json.RawMessage, error) // of an object
//	func (j JSON) IsZero() bool                                 // no text
//	func (j JSON) String() string                               // the text
type JSON = driver.JSON

// ParseJSON checks and compacts a JSON text. Keys and numbers stay as written.
func ParseJSON(text string) (JSON, error) { return driver.ParseJSON(text) }

// MustJSON is ParseJSON for texts that stand in the program; it panics on a
// text that is no JSON.
func MustJSON(text string) JSON { return driver.MustJSON(text) }

// MarshalValue returns v as JSON.
func MarshalValue(v any) (JSON, error) { return driver.MarshalValue(v) }

// Set is a sorted set of strings. It never changes, so copies may share it.
// The zero Set is empty. As JSON and in a column it is a sorted array.
//
//	func (s Set) Has(item string) bool // item is in s
//	func (s Set) Covers(t Set) bool    // every member of t is in s
//	func (s Set) Equal(t Set) bool
//	func (s Set) Len() int
//	func (s Set) IsZero() bool         // s is empty
//	func (s Set) Items() []string      // a copy, sorted by bytes
//	func (s Set) With(item string) Set // s and item
//	func (s Set) Without(t Set) Set    // the members of s that are not in t
//	func (s Set) Text() string         // the JSON array
//	func (s Set) String() string       // the members between braces
type Set = driver.Set

// NewSet returns the set of the given strings.
func NewSet(items ...string) Set { return driver.NewSet(items...) }

// Optional is a value that may be absent. The zero Optional is absent. Copies
// share nothing, and making one allocates nothing. What is absent is null in JSON and NULL
// in a column.
//
//	func (o Optional[T]) Get() (T, bool) // the value, and whether it is present
//	func (o Optional[T]) Or(v T) T       // the value, or v when it is absent
//	func (o Optional[T]) Present() bool
//	func (o Optional[T]) IsZero() bool   // it is absent, for `json:",omitzero"`
//	func (o Optional[T]) String() string // the value's text, or "absent"
type Optional[T any] = driver.Optional[T]

// Some returns a present value.
func Some[T any](v T) Optional[T] { return driver.Some(v) }

// Backoff is how long to wait after n failures: base, twice as long after each further
// one, and longest at most.
func Backoff(base, longest time.Duration, n int64) time.Duration {
	return fsmimpl.Backoff(base, longest, n)
}

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
