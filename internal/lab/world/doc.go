// Package world knows what a store has to hold after many calls of a generated package.
// What a call means it asks internal/interp. A World adds what only a store knows: effects that
// were performed, when those that wait are tried again, and what the machine does by itself. A
// Harness makes a call on an opened machine and on the World beside it, and compares both: each
// answer, all records, their logs, the effects. Cases are the records and calls that the
// package's own tests name.
package world
