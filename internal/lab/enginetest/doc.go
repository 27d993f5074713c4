// Package enginetest judges what fsmgen itself makes of a machine: the engine, the
// stores, the SQL schema, the indexes and the handles. It is for the repository of
// fsmgen, which runs it over its own machines, over those that it found and over
// random ones. Whether a generated package does what its machine says is judged by
// package fsmcases in the repository of each user.
//
// It reads the specification from the file that the package names, and asks internal/interp
// what is right. Its records and calls are those of the cases in the package's own test. What
// a store holds after many calls is known by internal/lab/world.
package enginetest
