// Package model looks at everything that a bounded number of records can do in
// a hostile environment, and finds the shortest way into trouble.
//
// The environment: any worker sends any operation on any record at any time,
// with the revision that is right just then (so late workers, reordering and
// races are in it). An instant that a record compares with the clock may pass at
// any time. A delivered effect outside the transaction may be performed again,
// since the worker may die between the work and its record; everything may stop
// after each step and stay so.
//
// What is looked at in each step ([FSM801]): invariants, that terminal records
// do not move and counters do not fall, `unique`, that an atomic effect happens
// at most once per key, that no step of `then` comes before the effect it
// follows, and on demand that an effect outside the transaction happens once. The search is breadth first, so
// the trace that is found is a shortest one.
//
// The meaning of an operation is that of package interp: every step is a
// decision of it, made once for each pair of record and call and remembered.
// Data that no rule looks at is left out of the state, records of a group, and
// workers, that could be exchanged are not told apart, and times are kept as
// their order relative to the clock. That makes states small and few.
//
// A search in which nothing could happen has looked at no promise. So it notes which
// operations and branches happened, which guards refused, and whether two records had
// one key of an effect. Where something is missing and the caller named no bounds, it
// tries wider ones; what is still missing is named in the place of "holds". Where it
// met no bound, no rule looks across records, and the values that it tried stand for all
// others, what is missing cannot happen ([FSM803]). The moves between the states also say
// which record waits in vain: from it no success of a deadline, or of the step after its
// effect, can be reached ([FSM804]).
//
// Time passes between two steps, also between a step and what follows it in the same
// transaction: that both write one instant is not looked at.
//
// What it guarantees holds within its bounds only: for so many records, groups,
// workers, counter steps and states; package count proves the rules across
// records without them. Inputs are taken from the values that make a difference
// to some rule, two of each kind; a rule that needs three different strings is
// not exercised in full. That a store keeps one operation atomic is presumed. A
// pick is a call of the record that it gets, and which one that is may be any that
// the operation can be applied to. The numbers of a sequence are not told apart: a
// record may always go to another group here, which a store refuses where the
// number is taken.
//
// [FSM801]: https://github.com/fsmgen/fsmgen/blob/main/internal/validate/RULES.md
// [FSM803]: https://github.com/fsmgen/fsmgen/blob/main/internal/validate/RULES.md
// [FSM804]: https://github.com/fsmgen/fsmgen/blob/main/internal/validate/RULES.md
package model
