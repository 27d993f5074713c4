// Package faults breaks what a store stands on, and looks what became of what
// was acknowledged.
//
// A Subject is the machine of specs/execution.yaml over a store, with an effect
// that writes a ledger in the transaction of the commit. Writers drive it while
// processes are killed, power is cut, disks fail, and connections end. Then the
// ledger, the log and the rows are held against what the writers were told:
// nothing acknowledged may be lost, nothing may have happened twice, and every
// call whose answer was lost must be settled by the same call again.
//
// Every test has a control: the same fault over something that is wrong on
// purpose, which the test must notice.
//
// The short form is part of `go test ./...`. The long form is `make faults`,
// which prints the figures of all tests as one table. Both need Linux, and
// some need strace or PostgreSQL.
//
// What it does not do: it measures no speed, and it tests no store but over the
// machine of execution. The conformance of a store is package storetest.
package faults
