//go:build js && wasm

// Command first is what a page loads at once: checks, pictures, steps and searches.
package main

import (
	"github.com/fsmgen/fsmgen/internal/playground"
	"github.com/fsmgen/fsmgen/internal/playground/wasm"
)

func main() { wasm.Serve(&playground.Desk{}) }
