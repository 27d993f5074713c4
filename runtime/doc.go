// Package fsm is the runtime of the packages that fsmgen generates: records,
// calls, refusals, events, the engine that makes a transition durable and
// idempotent, and the Store interface below it.
//
// The import is written `fsm "github.com/fsmgen/fsmgen/runtime"`.
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
//     record.
//
// What it does not do: it runs no timers of its own (call Sweep), delivers no
// effect by itself (call Deliver), and promises at-least-once, never
// exactly-once, for effects outside the store's transaction.
package fsm
