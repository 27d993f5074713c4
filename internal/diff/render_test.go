package diff_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/diff"
)

var update = flag.Bool("update", false, "write the goldens instead of comparing with them")

// A report of every class, in each form.
func TestForms(t *testing.T) {
	t.Parallel()
	old := parse("old.yaml", `fsm: 1
machine: door
entity: Door
otherwise: reject
fields:
  key: {type: optional string, doc: Who has the key.}
states:
  open: {}
  shut: {}
  locked: {present: [key]}
guards:
  holder: {when: key == actor, error: not_holder}
operations:
  make: {creates: open}
  close: {from: open, to: shut}
  lock: {from: shut, to: locked, set: {key: actor}}
  unlock: {from: locked, to: shut, require: [holder], clear: [key]}
  reopen: {from: shut, to: open}
`)
	next := parse("new.yaml", `fsm: 1
machine: door
entity: Door
otherwise: reject
fields:
  key: {type: optional string, doc: "The holder | of the key."}
states:
  open: {}
  closed: {}
  locked: {present: [key]}
  barred: {}
guards:
  holder: {when: key == actor, error: not_holder}
operations:
  make: {creates: open, input: {size: int}}
  close: {from: open, to: closed}
  lock: {from: closed, to: locked, set: {key: actor}}
  unlock: {from: locked, to: closed, clear: [key]}
  reopen: {from: closed, to: open}
  bar: {from: locked, to: barred}
`)
	r := diff.Machines(old, next)
	document, err := json.MarshalIndent(r.Document(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for file, got := range map[string]string{"forms.txt": r.Text(), "forms.md": r.Markdown(), "forms.json": string(document) + "\n"} {
		path := "testdata/" + file
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s differs (-want +got); run `go test ./internal/diff -update` when it is meant:\n%s", path, d)
		}
	}
	for line := range strings.Lines(r.Markdown()) {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 6 {
			t.Errorf("the row has not five cells: %s", line)
		}
	}
}
