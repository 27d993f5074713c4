package main

// method opens docs/evidence/benchmarks.md.
const method = `# Figures behind the benchmarks

Written by ` + "`make bench-report`" + ` with [BENCHMARKS.md](../../BENCHMARKS.md); do not edit.

- A side is one or four processes of 1, 16 or 64 callers over a database of its own. Sides take turns of some hundred
  milliseconds; the order moves on with each round, and a round before the first one warms up.
- Processor time of clients is that of their processes (getrusage), that of PostgreSQL is the sum over its processes
  (schedstat). Both are of the turn alone. The server has fsync and synchronous_commit on, autovacuum off.
- lifecycle makes heartbeats; paymentintent is made, confirmed, raised and captured; taskinstance is scheduled, queued,
  started, kept alive, ended and cleared; account (of the machines in internal/lab/fuzzmachines) is credited, reserved
  from and posted. Ours is at the default level, full: manual SQL is refused.
- By hand: one table whose moving columns have no index (fillfactor 70), CHECKs for each state, an event for each move
  and one unique index on id and request. One caller sends one CTE statement. Many callers are gathered in the process by
  two committers, whose statements take arrays with a LIMIT of unknown size, so that rows are found by their keys.
  On SQLite: one transaction of prepared statements for all that wait.
- In memory: the life of a job, six transitions. *Full* is all that a generated method does (` +
	"`TestHandIsTheSame`" + ` holds
  the methods by hand to the generated ones), *rules* leaves out checks of inputs, *bare* is the state alone.
- Whole lives of jobs: n inserters and n workers in all, evenly in the processes. Ours is the generated worker, woken by
  the store: of lifecycle, and of riverjob, whose job has no start after its claim. River has its least FetchCooldown on
  all clients and 40 connections in all, the best of what was tried. Both look each second for what no wake-up told. A
  turn ends when the last job is complete.
- Latency is from the call that makes a job to the begin of its work. A fifth process makes jobs; four wait for them.
- Cores: server and clients are held on the first core, or the first two, by taskset.
`
