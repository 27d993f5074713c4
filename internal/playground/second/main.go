//go:build js && wasm

// Command second is what a page loads when somebody wants to read generated code. It
// answers what command first does as well.
package main

import (
	"go/format"

	"github.com/fsmgen/fsmgen/internal/playground"
	"github.com/fsmgen/fsmgen/internal/playground/wasm"
	"github.com/fsmgen/fsmgen/internal/playground/written"
)

func main() { wasm.Serve(&playground.Desk{Format: format.Source, Write: written.Answer}) }
