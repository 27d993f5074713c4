// Package fsmtest is for tests that people write against a generated machine: Given puts a
// record into the state that a test begins in, Clock is a clock that a test winds, and
// Faulty is a store that fails when it is told to.
//
// The tests that fsmgen generates are run by package fsmcases.
package fsmtest
