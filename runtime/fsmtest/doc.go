// Package fsmtest is what generated tests call. A generated test file holds a
// matrix (state x operation) and a table of the rules, both in the words of
// the specification, and thin typed adapters to the generated package. This
// package reads matrix and table, decides by itself what every operation has
// to do to every abstract record, and compares the generated package with that.
//
// It guarantees that what it expects comes from matrix and table alone: it
// imports neither the generator nor the specification, and never asks the
// generated decision code what would be right. A reviewer who has read the
// matrix and the table has read everything that is expected.
//
// It compares whole records, whole events and every part of a refusal that a
// caller can act on. Records are enumerated, not reached: each optional field
// absent and present, each number and instant at the edge of every comparison
// and one step to both sides, each word of an enum, sets empty, partial and
// covering, also records that break the invariants, since a load may bring any
// of them. Where the product is larger than a bound, all combinations of what
// the operation reads are kept (up to the bound) and the rest is covered in pairs.
//
// It judges a machine. It does not judge stores, schemas and the engine, crashes no
// process and does not measure: that is the work of runtime/storetest and
// internal/lab/enginetest in the repository of fsmgen.
//
// For tests that people write, Given puts a record into the state that a test
// begins in, Clock is a clock that a test winds, and Faulty is a store that
// fails when it is told to.
package fsmtest
