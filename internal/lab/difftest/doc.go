// Package difftest holds the five machines of the project against their generated packages:
// what is there is what is generated, their tests pass over PostgreSQL too, a fault is told in a
// few lines, and each change of a specification that means something is noticed by the checks or
// by the cases. That the packages do what the interpreter (internal/interp) says is held by
// internal/lab/enginetest, call by call, and for random machines by internal/lab/fuzzmachines.
// Everything is in the tests; there is nothing to call.
package difftest
