// Package sqlstore keeps records and their logs in a relational database, over
// database/sql and the standard library alone. What differs between databases
// is a Dialect; SQLite and PostgreSQL are here. The tables are those of the generated
// schema.
//
// # Guarantees
//
//   - A write is one transaction: row, event, request id and outbox row, or none
//     of them. A write happens at the revision and in the state it was decided on.
//   - Commit and Update answer nil only when the transaction is durable. An error
//     of the commit itself is an *fsm.AmbiguousError unless the database surely
//     took the transaction back; after an input/output error at a commit to a
//     file the store refuses all writes (fsm.ErrPoisoned) until it is opened
//     again. A server's lost connection is replaced by a new one.
//   - A database that says that it is damaged, at a read too, gets no more writes of
//     this store (fsm.ErrPoisoned, ErrCorrupt; Failed and fsm.Health tell).
//   - An error that the database gives for a statement and would give again is a
//     refusal with fsm.ErrDenied, and a *DatabaseError holds its code and words.
//   - Writes of several callers are committed together where they wait for each
//     other. Each has its own answer: one that is refused leaves the others alone.
//   - Cancelling a context ends waiting, and ends a transaction before its commit
//     as a whole, on a server the statement that runs as well. After a commit has begun,
//     its caller waits a moment longer, and then gets an *fsm.AmbiguousError; the other
//     callers of the same batch get their answers.
//   - Processes that write one SQLite file take turns, a transaction each, by a lock
//     on a file beside it (name + ".lock"), first come first served. What a store
//     remembers of the file it forgets when another has written. On a system that
//     is neither Unix nor Windows SQLite's own lock has to do, by which the one that
//     writes most gets most turns.
//   - A call waits for all of that together as long as WithWait says from its
//     beginning on, or until its context ends, and no wait begins after that.
//   - On a server, calls that wait for locks of others leave sessions to the rest. Of those
//     that wait for one record, group or place, one has a session; all of them together
//     have half of the sessions at most.
//   - A database whose settings would break these promises is refused, never
//     changed (but for PostgreSQL's synchronous_commit, raised for the store's own
//     sessions where it is off or local): every connection is asked what its settings are before its first use.
//
// # What it does not do
//
// It does not decide anything: the engine above it does. It runs no migration of
// data beyond what Migrate says. It does not guard against a program that writes
// the same tables past the generated triggers on purpose.
package sqlstore
