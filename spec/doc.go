// Package spec reads a specification: YAML in, a resolved [Machine] out.
//
// [Parse] guarantees that it reports all it finds at once, each finding at the
// guilty place and with the mend, sorted by position; that a returned machine
// has every name bound and every type known; and that no input makes it panic,
// overflow the stack or take seconds. A name that did not resolve is reported
// once, not again for what follows from it. After a YAML syntax error nothing
// else is reported, since nothing behind it can be read.
//
// It does not judge whether the machine makes sense: unreachable states,
// unclassified cells, invariants that do not hold, names that collide in Go.
// That is what the rules of the compiler are for.
//
// [Format] prints a specification in the canonical form, [GoName] makes the Go
// identifiers, and [Render] shows a finding in its source.
package spec
