// Package slip is a machine for tests of the console: it takes no request ids and no revisions, and one effect has another end in
// each of its operations.
package slip

//go:generate go tool fsmgen gen slip.yaml -o .
