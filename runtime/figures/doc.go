// Package figures asks a machine's tables how things stand: how many records are in each state, since when the oldest
// waits, what a sweeper or a delivery should have done, and what the log says of the last hour. Package fsmotel makes
// metrics of it, and "fsmctl top" a screen.
//
// It guarantees that each question is bounded: by a number of rows or events, and by a time. What was not answered in
// that time is left out, and said to be. It only reads, and needs no index beside those that the machine has.
package figures
