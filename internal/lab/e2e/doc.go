// Package e2e holds the tests of the stores against what is too heavy to be a
// dependency of fsmgen: a cluster of etcd servers, and SQLite drivers other than
// the one of runtime/sqlite. It is a module of its own, so that no user of fsmgen
// downloads them. The folders of etcds are modules too: each requires an older etcd
// server and nothing else, and has no code; etcdcluster builds it where it is asked for.
//
//	make e2e-short   the conformance suites and a short round of faults
//	make faults      all faults, as often as the figures say
package e2e
