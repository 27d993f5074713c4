// Package validate looks at a resolved machine and says what is wrong with it
// before anything is generated.
//
// Every kind of finding is a [Rule] in the slice [Rules]; a finding stands at
// the innermost guilty name and ends with how to fix it. All findings come at
// once, sorted. An error stops generation, a warning does not.
//
// It guarantees that the same machine gives the same findings in the same
// order, and that no rule changes the machine.
//
// What the specification promises about values, whether an invariant holds after
// every step, is decided by package prove; the rules here report it. What no rule
// looks at is time, payloads and records that other programs wrote.
package validate
