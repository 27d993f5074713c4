//go:build js && wasm

// Package wasm lets a page ask a desk: it sets the function fsmgen(question, request) and
// then waits for calls. Question and request are strings. The result is a string, or an
// Error with the property status where the request is refused.
package wasm

import (
	"errors"
	"syscall/js"

	"github.com/fsmgen/fsmgen/internal/playground"
	"github.com/fsmgen/fsmgen/internal/serve/answers"
)

// Serve answers until the page goes away.
func Serve(d *playground.Desk) {
	js.Global().Set("fsmgen", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, err := d.Ask(args[0].String(), []byte(args[1].String()))
		if err == nil {
			return string(answer)
		}
		problem := js.Global().Get("Error").New(err.Error())
		var refused *answers.Refused
		if errors.As(err, &refused) {
			problem.Set("status", refused.Status)
		}
		return problem
	}))
	select {}
}
