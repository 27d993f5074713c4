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
fields: {borrower: optional string, most: BOUNDS}
states: {on_shelf: {absent: [borrower]}, on_loan: {present: [borrower]}, gone: {terminal: true}}
guards: {few: {fewer: {than: THAN, same: SAME, in: [on_loan]}, error: too_many}}
operations:
  acquire: {creates: on_shelf, set: {most: input}}
  check_out: {from: on_shelf, to: on_loan, require: [few], input: {reader: string, cap: int}, set: {borrower: WHO}}
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
		text := strings.NewReplacer("SAME", c.same, "WHO", c.who, "THAN", "2", "BOUNDS", "int").Replace(copies)
		m, found := spec.Parse("copy.yaml", []byte(text))
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

// A limit that the record or the call tells is looked at up to 2, or to the least that the field
// holds, and the search says so.
func TestLimitOfTheCall(t *testing.T) {
	t.Parallel()
	for than, most := range map[string]string{"most int": "2", "input.cap int": "2", "most int 3..9": "3"} {
		limit, bounds, _ := strings.Cut(than, " ")
		text := strings.NewReplacer("SAME", "{borrower: actor}", "WHO", "actor", "THAN", limit, "BOUNDS", bounds).Replace(copies)
		m, found := spec.Parse("copy.yaml", []byte(text))
		if m == nil {
			t.Fatal(found)
		}
		r := Check(m, Options{})
		if r.Violation != nil {
			t.Fatal(r.Violation.What)
		}
		if slices.ContainsFunc(r.Missing, func(x Missing) bool { return x.What == "a refusal by guard few" }) {
			t.Errorf("%s: it never refuses", than)
		}
		if said := "few with " + limit + " above " + most; !slices.Contains(r.Limits, said) {
			t.Errorf("%s: the bounds are %q, want %q", than, r.Limits, said)
		}
	}
}
