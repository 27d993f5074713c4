// Package fsmimpl is what generated code calls and fills in. It is not meant for
// people: its names may change with each version of the generator, which says by
// Generated2 what it was made for. Programs use package fsm and the package that
// was generated for their machine.
package fsmimpl
