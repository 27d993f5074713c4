// Command bench compares fsmgen with code written by hand and with other
// libraries, side by side in one run, and writes the tables of BENCHMARKS.md. It
// is a module of its own, so that nobody who uses fsmgen downloads what it is
// compared with.
//
//	make bench-peers    the tables of transitions in memory, on the standard output
//	make bench-report   all tables, into BENCHMARKS.md (ROUNDS=6 RECORDS=1000000 SOAK=1m, SECTIONS=pure,sqlite for some)
//	make bench-soak     stores under load, and a soak of 10 minutes
//	make bench-smoke    fails when a ratio is far below its floor; less than a minute
//
// Every figure is a median over six rounds, in which the variants take turns;
// what is promised is ratios, never times.
package main
