// Package mapped holds a table that no machine has written to a machine, without moving it. A mapping says which
// column is which field, and which word is which state. What a record breaks is what
// internal/interp says; this package reads columns, counts, and remembers the first ones.
//
// It reads in one read-only transaction, and what it remembers does not grow with the table.
package mapped
