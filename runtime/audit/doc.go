// Package audit looks whether all that a store holds of a machine is right (Run), and
// does what only an operator does: it puts a row right after its log (Repair), removes
// finished records (Purge) and what is left of them (Forget), and erases personal data
// (Redact). HealthOf tells what the last check has found.
//
// An audit writes nothing. The others need an actor and a reason, which the log keeps.
package audit
