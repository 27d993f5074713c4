// Package interp is the executable meaning of a specification: what one
// operation does to one record, and to the log beside it. It is written to be
// read, and everything else is measured against it: the answers in generated
// tests, the engine over each store (internal/lab/enginetest), and the model
// checker.
//
// It guarantees that every function is pure: no I/O, no clock, no randomness,
// and no argument is changed. The same record and the same call give the same
// answer, for ever.
//
// It does not store anything, it knows no corrupt or quarantined rows, it does not run effects (it says that one is
// due), it does not choose ids, and it knows no batches of calls: such a batch is a
// sequence of calls to it.
//
// [Decide] is one operation on one record without a store: the meaning of the
// generated pure layer. [Step] is one call on a [World] of records with their
// log: the meaning of the durable layer. [Pick] is such a call on several
// records that the store chooses. The order of the checks is
//
//  1. the call itself: ids, actor, reason, time, the revision that the machine asks for;
//  2. replay of a known request;
//  3. the values of its inputs ([Accept]);
//  4. the record exists; a cell that only records it ends here, whatever the revision;
//  5. the expected revision;
//  6. the cell of state and operation;
//  7. `require`, in order;
//  8. effects, `choose`, effects of the branch;
//  9. `unique`, then the invariants of the target state, then the rules over a step.
//
// # Decisions
//
// Where the language leaves room, this package decides:
//
//   - A required int, bool or set that a call does not carry is 0, false or
//     empty, as in the request struct. A required string, time, enum or json
//     that is missing or empty is invalid input. An optional input may be
//     present and empty.
//   - The right side of every `set` and `add` reads the stored record, in a
//     branch too. What an operation and its branch both set or clear is as
//     the branch says; nothing else may stand in both.
//   - A call that names its record has the record as the scope of its request
//     id, also when the operation could have picked one. Within a record every
//     event counts, so the id that created a record is known to it.
//   - A fact without a term that is absent is decided by its members: an empty
//     set covers the empty set, and everything is `not in` it.
//   - `unique` is looked at before the invariants. A store that decides first
//     and writes then meets them in the other order; that shows only when one
//     call breaks both, which no proven specification does.
//   - A record-only outcome runs no effect and no `then`: nothing changed.
//   - In an order, an absent field comes after every present one, in both
//     directions; ties are broken by id, bytewise.
//   - `next` takes the first record whose step is not refused. Where none is
//     left, the answer is that there is nothing to do, not why.
//   - A number of a sequence is given once in its group, also when its record has
//     moved to another one; where it moves, its number must be free.
//   - A system operation that names its record has the request id
//     sys:<operation>:<rev>, with the expected revision or else the one that
//     was read; so has a step of `then` that follows a delivered effect. One
//     that picks its record has none.
//   - The record id is a part of what a creation asks for: the same request id
//     with another one is reused.
//   - A malformed call is refused as such whatever is stored, so that the answer
//     does not depend on who else was there. An engine may find a replay or a
//     stale revision before it looks at the inputs; that shows only in calls
//     with two faults.
//   - A list of branches that does not cover the record (the proof refuses
//     such a specification) is refused as a broken invariant: nothing is
//     written.
package interp
