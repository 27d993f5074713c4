// Package live works on the database of a machine without its generated package:
// it describes a resolved specification to the runtime's engine, with
// internal/interp as the meaning of its records.
//
// It is given a store that somebody else has opened, and imports no driver: see
// sqldb, and cmd/fsmctl for etcd. It guarantees that it refuses a database which
// was made for another specification, and that no error holds the password of an address. What an audit finds here is what one of the generated
// package's machine finds, in the same words; a test holds the two equal.
//
// It writes by Repair, and by calls that somebody names: see fsmimpl.Descriptor.Named. A call
// decides as the generated package does, and refuses in its words, but for what it says of an
// input. It knows the limits of the specification alone, not those of fsm.WithLimit, nor what
// fsm.WithEligible keeps from a pick.
//
// It does not run operations that ask for effects, nor triggers, and it asks no probe: those
// need the program.
package live
