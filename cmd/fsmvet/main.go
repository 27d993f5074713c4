// Command fsmvet looks for mistakes in Go code that uses packages which fsmgen has generated.
//
//	go vet -vettool="$(which fsmvet)" ./...
//	fsmvet ./...             the same, without go vet
//	fsmvet -fix ./...        with the fixes that it knows
//	fsmvet help fsmmoved     what an analyzer finds
//
// Package vet has the analyzers, for other drivers.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/fsmgen/fsmgen/cmd/fsmvet/vet"
)

func main() { multichecker.Main(vet.Analyzers...) }
