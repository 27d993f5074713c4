// Package spin holds a second, independent check of specs/execution.yaml: the
// machine written by hand in Promela (execution.pml), run by the model checker
// Spin. Its test compares the verdicts of Spin and of package model with and
// without each safeguard, and where both see everything also how many states
// there are.
//
// It guarantees nothing about other machines, and nothing about the generated
// code: what it can find is an error in our own checker, or a misreading of the
// specification that both would have to share.
package spin
