package driver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

// Store keeps the rows and logs of any number of machines. The engine above it
// decides; a store only reads, compares and writes, and keeps the promises
// written at each method.
type Store interface {
	// Table returns the store's part for one machine, without any input or output.
	Table(s *Schema) (Table, error)
	// Patience is how long a call waits in all, from its begin on: for connections, for
	// locks of others, between its tries. No wait of the call begins later, and the engine
	// does not try again then. 0: no limit.
	Patience() time.Duration
	// Now returns the time of the clock that all processes of the store share, a server's,
	// and how long the question took; zero where there is none.
	Now(ctx context.Context) (at time.Time, took time.Duration, err error)
	// Failed says why the store takes no more writes, since its database failed; nil
	// while it takes them.
	Failed() error
	// Bell wakes idle workers: always the same one. The engine rings it after each commit
	// that may have left something to claim. A store that connects it with no other process
	// returns an empty one that it keeps.
	Bell() *Bell
	// Close ends the store; calls in flight end first.
	Close() error
}

// Transactional is a Store whose transaction is of type T, so that an atomic
// effect can take part in it.
type Transactional[T any] interface {
	Store
	// Transaction returns the transaction behind tx.
	Transaction(tx Tx) T
	// Adopt returns the reader and writer of one machine's tables within a
	// transaction that its caller owns and commits.
	Adopt(ctx context.Context, s *Schema, tx T) (Tx, error)
}

// Table is a store's part for one machine.
type Table interface {
	// Migrate creates what is missing for this specification and notes its hash.
	Migrate(ctx context.Context) error
	// Check returns a *Refusal with ErrSchemaMismatch unless the store holds
	// this specification's tables.
	Check(ctx context.Context) error
	// Commit makes one write durable: all of it or nothing. When it returns
	// nil, the write survives a crash. Returns ErrMoved, ErrRequestTaken,
	// ErrIDTaken, ErrClosed or *ConflictError when nothing was written for that reason,
	// a *Refusal with ErrBusy when surely nothing was written, the context's
	// own error when surely nothing was written because it ended, and
	// *AmbiguousError when it is not known. The engine takes any other error
	// of a commit for ambiguous.
	Commit(ctx context.Context, w *Write) error
	// View runs f once, over one consistent snapshot.
	View(ctx context.Context, f func(Reader) error) error
	// Look is View for an f that asks its reader for one row, or for one list that has an
	// order or a limit of at most 256: longer ones are read in parts. That needs no
	// transaction, so a server answers in one trip. It may run f again after a lost connection.
	Look(ctx context.Context, f func(Reader) error) error
	// Retire ends a roll-out: every other specification of this machine is
	// retired. It is refused unless the store holds this specification's tables.
	//
	// Migrate of a specification whose version is higher than the one it finds
	// notes what becomes of that one: it stays open where Schema.Beside names it,
	// and is retired otherwise. A program of one that stays open passes Check, and
	// its Migrate does nothing; a program of one that was retired gets a refusal
	// with ErrSchemaMismatch from both, whose cause is a *RetiredError. A version
	// that did not rise retires nothing.
	Retire(ctx context.Context) error
	// Update runs f in one transaction that sees no other writer, and commits
	// it when f returns nil. It may run f again in a new transaction after a
	// conflict. An error of f ends the transaction without a trace and is
	// returned so that errors.Is and errors.As find it; so does a panic of f.
	// Errors of the commit itself as Commit.
	Update(ctx context.Context, f func(Tx) error) error
}

// Bulk is a Table for which many writes in one transaction cost little more than
// one. With it, calls on many records are made in few steps; without it, one by one.
type Bulk interface {
	Table
	// UpdateMany is Update with a transaction that writes many records at once. WriteMany is the last thing that f does
	// with it: the transaction may commit there. An error of that commit is UpdateMany's and not WriteMany's.
	UpdateMany(ctx context.Context, f func(ManyTx) error) error
}

// ManyTx is the transaction of a Bulk.
type ManyTx interface {
	Tx
	// WriteMany makes writes part of the transaction, each of another record: all
	// of them, which may be none. An error of it does not say which one it is about; the transaction
	// is to be given up, and the writes tried one by one.
	WriteMany(ws []*Write) error
}

// Reader reads one machine's tables. It is valid within View or Update only.
type Reader interface {
	// Row returns the row, or ErrNotFound.
	Row(id string) (Row, error)
	// Rows returns the rows that fit the query, in its order.
	Rows(q Query) iter.Seq2[Row, error]
	// Count returns how many rows fit the query, which names no Behind. It looks for no more
	// than Limit, where there is one; Order does not matter.
	Count(q Query) (int64, error)
	// CountStates returns how many rows are in each state, by its stored word; one that has none may be
	// missing. Of a state it may stop at most, if that is not 0, where this is less work than to look at all rows once.
	CountStates(most int) (map[string]int64, error)
	// Events returns the log of a record from revision from on, by (Rev, N). Of an
	// event that is there and cannot be read it yields the place, with an
	// *EventError, and goes on.
	Events(id string, from int64) iter.Seq2[Event, error]
	// Request returns the events that carry the request id. With an id: those
	// of that record. With an empty id: those whose scope is the machine, by
	// RequestN.
	Request(id, requestID string) ([]Event, error)
	// Log returns at most limit events of all records that stand behind the
	// cursor, in the order of the log: that of their commits (but see Blurred), those of one
	// record by (Rev, N). Nothing ever comes to stand before an event that was
	// returned: where writers work side by side, an event is held back while one
	// is open that may still do that. A cursor of another log is ErrCursor. In a
	// Tx the cursors of its own events are worth nothing until it is committed.
	Log(after Cursor, limit int) ([]Entry, error)
	// Newest returns at most limit events of all records that stand before the cursor, in the
	// order of Log, but backwards; with an empty cursor, from the end. It is for people: it holds
	// nothing back, so an event may come to stand between two that were returned, and a
	// cursor of another log shows another part of this one. Of an event that is there and cannot
	// be read it returns the place, with Unreadable, where Log returns an error.
	Newest(before Cursor, limit int) ([]Entry, error)
	// Lag returns what the log holds back now.
	Lag() (Lag, error)
	// Outbox returns at most limit deliveries that are due, in the order of (Due, ID,
	// Rev, N).
	Outbox(due time.Time, limit int) ([]Delivery, error)
	// Delivery returns one delivery, due or not, or ErrNotFound. What else waits does not
	// matter to its cost.
	Delivery(id string, rev, n int64) (Delivery, error)
	// Effects returns the names of the effects of which a delivery is due, ascending.
	// How many deliveries wait under one name does not matter to its cost.
	Effects(due time.Time) ([]string, error)
	// Orphans returns at most limit ids above after, ascending, that have
	// events but no row, and were not purged.
	Orphans(after string, limit int) ([]string, error)
	// Doubles returns at most limit groups of rows that hold one place of a
	// unique rule, by First above after.
	Doubles(u *UniqueRule, after string, limit int) ([]Double, error)
	// Loose returns at most limit ids above after, ascending, of the rows that
	// their log does not end with: it lacks the event that led to the row's
	// revision and state, or goes on after it.
	Loose(after string, limit int) ([]string, error)
	// Blurred reports whether b, which Log gives after a, may have been made
	// before it.
	Blurred(a, b *Entry) bool
	// Misindexed looks at a part of the rows and keys: from the place on that it
	// gave as next, at first an empty one, until next is empty. It returns the
	// keys that do not say what a row says, in no order.
	Misindexed(place string) (wrong []Misindexed, next string, err error)
	// Tombstones returns at most limit events by which Purge ended a log before the
	// time, by id above after, ascending.
	Tombstones(after string, before time.Time, limit int) ([]Event, error)
}

// Misindexed is a key of an index that is missing, wrong or left over.
type Misindexed struct {
	ID      string // of the record whose key it is, or that it names
	Key     string
	Problem string
}

// EventError says that an event cannot be read: what is stored is none.
type EventError struct {
	ID     string
	Rev, N int64
	Key    string // where it is stored, in the store's words
	Err    error
}

// Error names the event and where it is stored.
func (e *EventError) Error() string {
	return fmt.Sprintf("event %d.%d of %q, stored under %q, cannot be read: %v", e.Rev, e.N, e.ID, e.Key, e.Err)
}

// Unwrap returns what is wrong with it.
func (e *EventError) Unwrap() error { return e.Err }

// Double is a group of rows that hold one place of a unique rule.
type Double struct {
	First, Last string // the lowest and the greatest id
	Count       int64
}

// Tx reads and writes one machine's tables in one transaction.
type Tx interface {
	Reader
	// Write makes one write part of the transaction. Errors as Table.Commit;
	// after ErrMoved, ErrRequestTaken, ErrIDTaken and *ConflictError the
	// transaction is to be given up.
	Write(w *Write) error
	// Peers locks the group of q and returns how many other records of it are
	// in q.States. With q.Try it does not wait for one who has the group: ErrHeld,
	// and nothing is done. With q.Hold it counts nothing, and who has counted the group
	// keeps this transaction from leaving it.
	Peers(q PeerQuery) (int64, error)
	// NextNumber locks the group of q and returns the next number of its
	// sequence. Here an absent value is a value like any other: a record in no
	// group must have a number too. It returns 0 where math.MaxInt64 has been
	// given or held: there is no next number.
	NextNumber(q PeerQuery) (int64, error)
	// Claim gives at most limit deliveries of one effect that are due at now to its
	// caller: those without an attempt first, each part in the order of
	// Outbox. Each counts one more attempt and is due again at until, so that
	// nobody else has it before. It passes over what another transaction is about
	// to claim, or comes after that. It returns them as they are then. Deliveries of
	// other effects do not matter to its cost.
	Claim(effect string, now, until time.Time, limit int) ([]Delivery, error)
	// Settle removes a delivery from the outbox. It reports false and does nothing
	// when the delivery is gone, or is at another attempt than that one.
	Settle(id string, rev, n int64, attempt int) (bool, error)
	// Postpone notes why an attempt failed, and when the next one is due. It
	// reports false and does nothing where Settle does.
	Postpone(id string, rev, n int64, attempt int, due time.Time, lastError string) (bool, error)
	// Restore puts row in the place of what is stored under its id, if anything,
	// whatever the schema says of moves, and appends the record-only event e,
	// which gets its N, to its log. Nothing else of the log changes.
	Restore(row *Row, e *Event) error
	// Purge appends the record-only event of w, a Write without a Row, and then
	// removes the row and its log. What stays of the log is that event and,
	// emptied, the events whose id or request must not be used again: revision
	// 1 and those whose scope is the machine; their operation is "__purged" from
	// then on. It reports false and does nothing when the outbox holds a
	// delivery of the record. Errors as Write.
	Purge(w *Write) (bool, error)
	// Forget removes all events of an id whose log Purge ended before the time. It
	// reports false and does nothing where there is no such log, or a row.
	Forget(id string, before time.Time) (bool, error)
	// Redact puts edited, events of one record's log with other contents, checksums
	// and chains, in the places of those with the same revision and number, and then
	// makes the write, whatever the schema says of moves. It reports true and does
	// nothing when the outbox holds a delivery of the record. Errors as Write.
	Redact(w *Write, edited []Event) (waiting bool, err error)
	// Part runs f, whose error it returns. What f wrote is taken back then, and the transaction goes
	// on, unless the error is one after which it cannot. Within f, another Part runs its
	// function alone.
	Part(f func() error) error
	// Ended reports whether somebody else has committed the transaction or rolled it
	// back, as an atomic effect can do that has the transaction of the database.
	Ended() bool
}

// What a store answers: the first one when it reads, the others when nothing was written.
var (
	// ErrNotFound: there is no row with that id.
	ErrNotFound = errors.New("no such record")
	// ErrMoved: the record is not at the revision and state that the write was decided on.
	ErrMoved = errors.New("the record is not at the revision the write was decided on")
	// ErrRequestTaken: the log already has the request id.
	ErrRequestTaken = errors.New("the log already has the request id")
	// ErrClosed: the store was closed before the call.
	ErrClosed = errors.New("the store is closed")
	// ErrHeld: another writer has what was only to be tried.
	ErrHeld = errors.New("another writer has it")
	// ErrIDTaken: a creation found a record, or a tombstone, with its id.
	ErrIDTaken = errors.New("the id is taken")
)

// ConflictError says which unique rule a write would have broken.
type ConflictError struct{ Rule string }

// Error names the rule.
func (e *ConflictError) Error() string { return "the unique rule " + e.Rule + " is taken" }

// Write is one step of one record: its row and its event, in one piece.
type Write struct {
	Prev      Ref        // what it was decided on; Rev 0 is a creation
	PrevState string     // stored word; empty for a creation
	Old       *Row       // with Row, where not nil: the whole row it was decided on; ErrMoved unless the stored one is equal, or has its Chain
	Row       *Row       // the new row; nil for a record-only event
	Changed   []int      // the columns of Row.Values that differ from the old row, ascending
	Event     Event      // a record-only event gets its N from the store, which sets it here too
	Outbox    []Delivery // of this record and revision, with N counted from 0
	Leave     bool       // remove the first outbox row of the revision that is left (its effect is of no more use)

	// Within is how long WriteMany may take, where it is not 0. Then it is ErrMoved, and nothing is written. A store in which a
	// write waits for nobody need not look at it.
	Within time.Duration
}

// Delivery is one effect that waits for being performed.
type Delivery struct {
	ID        string
	Rev       int64 // the revision whose commit asked for it
	N         int64 // 0 for the first that this commit asked for
	Effect    string
	Key       string    // the effect's idempotency key
	Attempts  int       // how often it was claimed
	Due       time.Time // when it may be claimed
	LastError string
}

// Claim notes that somebody has the delivery until then. The count of attempts
// stays at the greatest number, so that no stored count holds the others up.
func (d *Delivery) Claim(until time.Time) {
	if d.Attempts < math.MaxInt {
		d.Attempts++
	}
	d.Due = until
}
