// Package run is the machine that keeps what somebody does by a console to many records at once. A program
// migrates it, opens it and hands it over in console.Options.Runs; it calls nothing of it.
package run

//go:generate go tool fsmgen gen run.yaml -o . --package run --test-store sqlite,postgres
