// Package gen turns a resolved machine into the files of its Go package.
//
// It guarantees that the output depends on the machine and the options alone
// (no time, no path, no version, no position in the file), that Go files are
// gofmt-clean and import the standard library and the runtime only, and that
// nothing is generated from a machine with errors.
//
// It reads no file and writes none, and it does not load or type-check the Go
// package that the files will be part of.
//
// The design is a ladder of small emitters, one declaration each. Every
// identifier comes out of names.go; what an operation means as Go comes out of
// effects.go and facts.go; the files named emit_ put the pieces in order.
package gen
