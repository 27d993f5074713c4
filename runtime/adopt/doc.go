// Package adopt takes the records of an older table over into a machine. Try says, without writing
// anything, which records fit, what keeps the others out, by rule, and what the first sweep would do with
// those that fit. Import writes those that fit and returns the others. Due says what a sweep would do now.
//
// Records that are taken over have deadlines that are long past. fsm.Machine.HoldDeadlines keeps a
// sweep from them until the program says so.
package adopt
