// Package fsm is the runtime of the packages that fsmgen generates: what programs
// touch (outcomes, refusals, events, values, options), and the engine that makes a
// transition durable and idempotent.
//
// The import is written `fsm "github.com/fsmgen/fsmgen/runtime"`. Package audit looks
// whether all that is stored is right, and repairs; package worker works on records
// with leases. Package driver is for stores, package fsmimpl for generated code.
//
// # Guarantees
//
//  1. A transition is all or nothing: record, event, request id, effect.
//  2. No lost update: a write happens at the revision it was decided on.
//  3. The same request gives the same outcome, also after later transitions,
//     after a crash, and when the first answer was lost in a broken connection.
//     The same id for a different request is an error. Refusals are not
//     remembered: a refused request may be tried again.
//  4. The record equals the fold of its event log, always. Revisions in the
//     log have no gap.
//  5. A terminal record never changes.
//  6. A `unique` rule holds at every instant, under any number of writers.
//  7. An acknowledged transition survives `kill -9` of the process.
//  8. Cancelling a context never leaves half a transition.
//  9. What leaves a state only by time does leave it: the sweeper finds every
//     record past its deadline, after a crash too.
//  10. The database refuses what the specification forbids: states, presence,
//     invariants, uniqueness and illegal moves are constraints in the generated
//     schema, so another program or a hand at the SQL prompt cannot corrupt a
//     record by mistake. Who moves the columns _chain and rev together passes the
//     triggers of a move, as the engine does; the audit finds what such a hand wrote,
//     unless it is what the engine would have written.
//
// # Clocks
//
// A deadline is compared with the clock of whoever looks (WithClock), so workers
// whose clocks differ by d may disagree about it for as long as d. On PostgreSQL a
// clock that is wrong by more than WithMaxSkew is replaced by the database's. What may go
// wrong: a worker whose clock is ahead takes a lease from its holder up to d too
// early, so two may do the work outside the store at the same time; one whose
// clock is behind takes it up to d too late; At of events of one record may not
// rise (updated_at never falls). What cannot go wrong, however the clocks stand: two
// winners at one revision, a lost update, a write by a holder whose lease was
// taken (it is refused with ErrStale, since its revision is gone), an event out
// of its place in the log, or a step that two sweepers both take. So make leases
// longer than d plus the longest pause of a worker, and let effects outside the
// store carry the idempotency key they get.
//
// # Integrity
//
// NewMachine looks at what is cheap to look at: unique rules (broken ones refuse
// to open), known words, presence and invariants, and that each log ends with
// its record. audit.Run reads everything; the Check constants there list what it
// looks for.
// A record that breaks one of the others is quarantined: readable, never picked,
// its transitions refused with ErrQuarantined. A fault in the middle of a log is
// reported by the audit and quarantines nothing. audit.Repair puts a row right after
// its log and never changes the log. audit.Purge is the one way to remove records,
// and leaves of them what keeps their ids and requests from being used again;
// audit.Forget removes that, too. audit.Redact erases personal data from a record
// and its log.
//
// What it does not do: it starts no timer unasked (call Sweep, or RunSweeper; a worker has its own),
// delivers no effect by itself (call Deliver), and promises at-least-once, never
// exactly-once, for effects outside the store's transaction.
package fsm
