// Package difftest compares every reading of a specification with the others:
// the interpreter (internal/interp), the generated pure layer, the generated
// durable layer over the store in memory, and over SQLite.
//
// For each of the five machines it holds the package in examples to be what is
// generated, runs its generated tests in trace mode (enginetest.TraceLine), and
// replays every line with the interpreter: each abstract record with each abstract
// call, and long walks of calls, sweeps, recoveries and deliveries. Outcome,
// refusal, record and events must be the same everywhere.
//
// It guarantees that the engines agree; that what they agree on is right is
// the business of the tests of each one. Everything is in the tests; there is
// nothing to call.
package difftest
