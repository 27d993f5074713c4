package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFormatShipped checks that the shipped specifications survive printing
// with all their comments.
func TestFormatShipped(t *testing.T) {
	t.Parallel()
	for _, file := range specFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := checkFormat(t, src)
			if got, want := comments(out), comments(src); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("comments are lost or moved:\n%s", out)
			}
		})
	}
}

// comments returns the words of all comments, in order.
func comments(src []byte) []string {
	var out []string
	for line := range strings.Lines(string(src)) {
		if i := strings.Index(" "+line, " #"); i >= 0 {
			out = append(out, strings.Join(strings.Fields(line[i:]), " "))
		}
	}
	return out
}

// An empty line above brackets is not one between what they hold.
func TestFormatOpensBrackets(t *testing.T) {
	t.Parallel()
	const src = `fsm: 1
machine: door
entity: Door
otherwise: reject

# What a call carries.
requests: {request_id: none, expected_rev: none}

states: {shut: {}, wide: {}}

operations: {make: {creates: shut}}
`
	const want = `fsm: 1
machine: door
entity: Door
otherwise: reject

# What a call carries.
requests:
  request_id: none
  expected_rev: none

states:
  shut: {}
  wide: {}

operations:
  make: {creates: shut}
`
	if diff := cmp.Diff(want, string(checkFormat(t, []byte(src)))); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}
