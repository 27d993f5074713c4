// Package oracle knows what every operation of a machine has to do to every
// record. Package fsmtest and package enginetest judge generated code by it.
//
// It reads matrix and table of a generated test file, and nothing else: it
// imports neither the generator nor the specification, and never asks the
// generated decision code what would be right. A Model is a table with every name
// bound. Decide says what a call does to one record; a world is what a store holds
// after many calls. A Harness makes a call on an opened machine and on the world
// beside it, and compares both.
package oracle
