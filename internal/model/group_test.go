package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// copies is a library that lends two copies to one reader at most, if its guard counts
// those of the reader.
const copies = `
fsm: 1
machine: copy
entity: Copy
otherwise: reject
fields: {borrower: optional string}
states: {on_shelf: {absent: [borrower]}, on_loan: {present: [borrower]}, gone: {terminal: true}}
guards: {few: {fewer: {than: 2, same: SAME, in: [on_loan]}, error: too_many}}
operations:
  acquire: {creates: on_shelf}
  check_out: {from: on_shelf, to: on_loan, require: [few], input: {reader: string}, set: {borrower: WHO}}
  give_back: {from: on_loan, to: on_shelf, clear: [borrower]}
  withdraw: {from: on_shelf, to: gone}
`

// A guard refuses in the search where its group is that of the call, and never where the
// record stores nothing.
func TestGroupOfTheCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		same, who string
		refuses   bool
	}{
		{"borrower", "actor", false},
		{"{borrower: actor}", "actor", true},
		{"{borrower: input.reader}", "input.reader", true},
		{"{borrower: \"'nobody'\"}", "actor", true}, // a caller may be called so
		{"{borrower: borrower}", "actor", false},
	} {
		m, found := spec.Parse("copy.yaml", []byte(strings.NewReplacer("SAME", c.same, "WHO", c.who).Replace(copies)))
		if m == nil {
			t.Fatal(found)
		}
		r := Check(m, Options{})
		if r.Violation != nil {
			t.Fatal(r.Violation.What)
		}
		never := slices.ContainsFunc(r.Missing, func(x Missing) bool { return x.What == "a refusal by guard few" })
		if never == c.refuses {
			t.Errorf("same: %s, set to %s: it never refuses: %t", c.same, c.who, never)
		}
	}
}
