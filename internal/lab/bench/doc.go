// Command bench measures what a user waits or pays for, beside code written by hand, other
// libraries, and an earlier commit of this repository. It writes BENCHMARKS.md, a row for
// each bar, and the figures behind the rows. It is a module of its own, so that nobody who
// uses fsmgen downloads what it is compared with.
//
//	make bench-report   both files (FORM=short, ROUNDS=5, RECORDS=1000000, SECTIONS=postgres,jobs)
//	make bench-smoke    fails when something allocates or a ratio is far from its bar; a minute
//
// A side is some processes of this program, or of one over the earlier commit, with a
// database of its own. Sides take turns within one run; what is promised is ratios.
package main
