// Package fuzzmachines writes random specifications that use the whole language
// and are mostly sound: what a state promises is set by the operations that lead
// there, terminal states are not left, the system does not ask who it is. So
// most of what the rules refuse is refused for a reason that matters.
//
// It does not promise that a specification passes `check`; callers drop those
// that do not. The same seed gives the same text.
//
// Its test holds the project to the promise that what passes `check` is
// generated, compiles, and passes its own tests.
package fuzzmachines

// What the benchmarks measure besides the examples.
//go:generate go tool fsmgen gen -q -o account testdata/account.yaml
