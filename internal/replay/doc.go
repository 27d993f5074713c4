// Package replay checks a log of events, lines of JSON in the form of CONTRACT.md,
// against a machine: each event is what internal/interp would have made of the
// record as the events before it left it.
//
// It guarantees that every line is judged, also after lines that break a rule, and
// that what it keeps in memory grows with the number of records, not of events. A
// line that breaks a rule is named once; what only follows from it is not.
//
// It does not look whether a request id stands twice, which needs all ids in
// memory, and it judges events of an older version of the specification by their
// order, states and checksums only. Fields that a log leaves out are not judged.
package replay
