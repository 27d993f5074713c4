// Package driver is what a store implements: it says what a machine's tables hold
// (Schema, Row, Event, Write) and what a store does with them (Store, Table,
// Reader, Tx). The engine of package fsm decides; a store reads, compares and
// writes, and keeps the promises at each method. Module runtime/storetest tests them.
//
// Whatever is stored goes by stored words, not by the names that programs see: the
// first names of states, operations, events and fields, which a specification keeps
// when it renames one.
//
// The forms of what is stored are here, too, so that every program reads and writes
// them alike: values as JSON, checksums, the chain of a log, fingerprints, and how a
// row follows from its log.
//
// What it does not do: it evaluates no guard and no rule of a machine.
package driver
