package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/cost"
)

// BenchmarkKeystroke is what one key costs in a machine of 2 000 states: the change alone, its reading with
// what an editor asks for then, and all findings, which come in the background after a pause.
func BenchmarkKeystroke(b *testing.B) {
	for _, states := range []int{100, 2000} {
		src := newText(cost.Ring(states))
		first := newDocument(uri, 1, src, nil)
		line := src.keyOf(fmt.Sprintf("o%d", states/2), 2).Line - 1
		where := position{line, strings.Index(src.line(line), "to: s") + len("to: s")}
		typed := func(n int) *document {
			key := contentChange{Range: &span{where, where}, Text: string(rune('0' + n%10))}
			return newDocument(uri, n, first.changed([]contentChange{key}), first)
		}
		first.check()
		ask := func(b *testing.B, d *document, method string) {
			b.Helper()
			params, _ := json.Marshal(at{Document: documentID{URI: uri}, Position: where})
			if _, err := requests[method](&server{}, d, params); err != nil {
				b.Fatal(err)
			}
		}
		run := func(name string, do func(b *testing.B, n int)) {
			b.Run(fmt.Sprintf("%d/%s", states, name), func(b *testing.B) {
				n := 1
				for b.Loop() {
					n++
					do(b, n)
				}
			})
		}
		run("change", func(_ *testing.B, n int) { typed(n) })
		run("read", func(_ *testing.B, n int) { typed(n).read() })
		for _, method := range []string{"completion", "hover", "documentHighlight", "codeLens", "documentSymbol"} {
			read := typed(1)
			read.read()
			run(method, func(b *testing.B, _ int) { ask(b, read, "textDocument/"+method) })
		}
		run("findings of an error", func(_ *testing.B, n int) { typed(n).diagnostics() })
		run("findings", func(_ *testing.B, n int) { newDocument(uri, n, src, first).diagnostics() })
	}
}
