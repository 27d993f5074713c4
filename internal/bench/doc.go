// Command bench compares fsmgen with code written by hand and with other
// libraries, side by side in one run, and writes the tables of BENCHMARKS.md. It
// is a module of its own, so that nobody who uses fsmgen downloads what it is
// compared with.
//
//	make bench-peers    the tables of transitions in memory, on the standard output
//	make bench-report   all tables, into BENCHMARKS.md
//	make bench-smoke    fails when a ratio is far below its floor; less than a minute
//
// Every figure is a median over six rounds, in which the variants take turns;
// what is promised is ratios, never times.
package main
