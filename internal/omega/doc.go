// Package omega decides whether linear rows over whole numbers can hold together, and
// finds numbers that they hold for. It is the Omega test of William Pugh (1991).
//
// It is complete: within its limits the answer is exact. Each row is divided by its
// factor and its constant rounded, since the numbers are whole. An equality gives one
// of its numbers in terms of the others. What is left are bounds, from which numbers are
// eliminated one after the other. Where one of two bounds of a number has the factor
// one, that loses nothing. Otherwise the dark shadow is asked, which leaves room for a
// whole number between each two bounds, then the real one, and between the two the few
// planes on which a solution could still lie.
//
// It knows no presence, no texts and no alternatives: who asks splits them into cases.
package omega
