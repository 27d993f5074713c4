// Package oracle knows what every operation of a machine has to do to every
// record. Package fsmcases and package enginetest judge generated code by it.
//
// It reads matrix and table of a generated test file, and nothing else: it
// imports neither the generator nor the specification, and never asks the
// generated decision code what would be right. A Model is a table with every name
// bound. Decide says what a call does to one record, and a Suite compares generated
// code with that. What a store holds after many calls is known by package world.
package oracle
