// Package prove decides, for every transition of a machine, whether the record
// keeps what the specification promises of it. It is the inductive proof behind
// FSM201 to FSM205 and FSM301 to FSM306.
//
// For each operation, source state and branch it assumes what the source state
// guarantees (present, absent and invariant facts, the invariants of the
// machine, bounds, counters from 0 on) and what the guards require, follows the
// effects and the branches above, and proves each fact of the target and each
// rule over a step. A creation starts from the empty record, and is no step. A
// step of `then` is an operation like any other; a trigger and `next` are no
// guards, since a call may come without them. SHOULD facts are proven for own writes: they are assumed of the source
// and proven of the target, and no MUST fact rests on them.
//
// # How it decides
//
// The record and the call before a step are symbols: a number for every field,
// input, the actor and the clock, a boolean for each value that may be absent.
// Texts and times are numbers as well, since facts ask only for order and
// equality. An effect is a substitution: `set: {f: v}` puts the symbol of v in
// place of f, `clear` nothing, `increment` the old number plus one, `add` one
// more member. So a fact of the target is a condition on the record before, and
// it is proven when its negation contradicts what is known. Differences of
// numbers are kept closed under addition, and alternatives (`!=`, a negated
// branch, an input that may be absent) are decided case by case; a set is
// decided over the strings that facts name and one witness per coverage.
//
// # What it guarantees
//
// It is sound: when nothing is found, no call that passes its guards leads a
// record that keeps its promises to one that breaks them. [interp] meets its
// last line of defence for corrupt records only.
//
// It is exact for presence, enums, bounds, differences, equality, order and
// sets alike: what is reported comes with a record that satisfies everything
// promised of the source state, and that breaks the target's fact when the
// operation is applied to it. That record need not be reachable: the fix is to
// state, as an invariant of the source state, what keeps records away from it.
//
// # What it does not do
//
// It knows nothing of other records: `none` and `fewer` may go either way here.
// It does not calculate with numbers beyond 2^56; a fact that names one is not
// assumed, and where it is to be proven it is reported. It looks at no more than
// 10000 cases and at the members of sets among 200 strings per question, and the
// questions of one machine together are metered, by its cells; what is not decided
// is reported as such. Its numbers have no end, which is sound because a step that would wrap is refused. What stands in a JSON
// payload, real clocks and records that other programs wrote are matters of run
// time: every store checks a record when it loads it.
//
// [interp]: the package internal/interp, which says what a specification means
package prove
