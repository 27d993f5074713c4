// Package diff says what changed between two versions of a machine, and whom
// that breaks.
//
// Every change has a class: SOURCE breaks Go code that calls the generated
// package, DATA asks for a look at stored rows and events before the new version
// may run, BEHAVIOR changes what callers and readers rely on. What breaks nobody
// is listed too, as compatible. Breaking changes carry a code from FSM701 to
// FSM715.
//
// Names are compared by their stored word, so a rename with `was` is a rename
// and not the loss of something. Facts are compared by what they say: a fact
// that follows from another one of the same list is no change.
//
// It guarantees that equal specifications have no changes, that machines of
// different hashes have at least one, and that the same two machines give the
// same changes in the same order. It does not look at a database, and it knows
// only simple consequences of facts: where it cannot tell whether a condition
// became stronger or weaker, it reports both.
package diff
