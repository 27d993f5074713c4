// Package enginetest judges what fsmgen itself makes of a machine: the engine, the
// stores, the SQL schema, the indexes and the handles. It is for the repository of
// fsmgen, which runs it over its own machines, over those that it found and over
// random ones. Whether a generated package does what its machine says is judged by
// package fsmcases in the repository of each user.
//
// Both take the table and the driver of a generated test file, and both judge by
// internal/lab/oracle. What a store holds after many calls is known by internal/lab/world.
package enginetest
