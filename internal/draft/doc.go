// Package draft makes a specification out of what exists: a statechart of XState or
// SCXML, a picture of Mermaid or PlantUML, or a log of status changes.
//
// [From] guarantees that the text it returns has no error that the rules of the
// compiler find, and that [spec.Format] leaves it as it is. What it could not carry
// over, and each guess, is a note, and stands in the text as a comment. It never
// panics, whatever it reads. A log is read once; what is kept of it grows with the
// number of records and of different moves, not of rows.
//
// [Explain] holds such a log to a machine: which of its rows are moves of it.
//
// The package reads bytes and returns bytes: it opens no file and prints nothing.
package draft
