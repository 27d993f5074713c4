// Command fsmgen compiles the YAML definition of a state machine into a Go
// package: typed transition methods, exhaustive tests, SQL schemas and a
// diagram. It is the only part of the compiler that reads arguments, writes
// files or prints; it never runs code out of a specification and never reaches
// for the network but where it is told to: `serve` listens, a database is read.
package main

import (
	"os"
	"runtime/debug"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a short run; collecting a small heap again and again is a tenth of it
	}
	os.Exit(newCLI(os.Stdin, os.Stdout, os.Stderr).run(os.Args[1:]))
}
