// Package migration writes the SQL that leads a database from one version of a
// machine to the next, and the queries that list the rows which do not fit it.
//
// It reads the schemas that the generator writes for both versions and changes
// what differs. For SQLite package evolve says how, as it says it to Migrate: new columns, or
// tables rebuilt, in one transaction. A table of PostgreSQL is altered here, with
// constraints added unchecked and validated after the commit.
// Rows of a state that `removed` names move to their new state, each with an
// event of its own, so that the log stays append-only, without a gap and with the
// runtime's checksums; fields that the new state has no room for are cleared.
//
// It guarantees that the script changes nothing in a database of another version,
// that a row which does not fit stops it, and that what it leaves behind is the
// schema that the generator writes. It does not invent values: a field that
// becomes mandatory must be set by an operation of the old version first, and
// what the log cannot express any more (a field of another type, a sequence over
// other groups, a field that goes while the version stays) needs an empty table.
// What others have made in the database stays, or nothing changes: a SQLite table
// that must be rebuilt stops the script when it has a column or a rule of others, or
// an index or a trigger that the script does not make again.
package migration
