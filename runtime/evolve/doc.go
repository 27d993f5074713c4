// Package evolve knows how the tables of one generated schema become those of another, and
// which rows keep them from it. It is not for people: the stores ask it when a program calls
// Migrate, and `fsmgen diff --sql` when it prints a script, so both take the same step.
//
// It reads texts and returns texts: it knows no database.
package evolve
