// Package validate looks at a resolved machine and says what is wrong with it
// before anything is generated.
//
// Every kind of finding is a [Rule] in the slice [Rules]; a finding stands at
// the innermost guilty name and ends with how to mend it. All findings come at
// once, sorted. An error stops generation, a warning does not.
//
// It guarantees that the same machine gives the same findings in the same
// order, and that no rule changes the machine.
//
// It does not look at what the specification promises about values: whether an
// invariant holds after every step is the business of the proof.
package validate
