package diff_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/diff"
	"github.com/fsmgen/fsmgen/spec"
)

// A look-up breaks nobody when it comes. A caller must change when it goes or takes
// other values, and hears of other records and another order.
func TestLookupChanges(t *testing.T) {
	t.Parallel()
	const machine = `fsm: 1
machine: ticket
entity: Ticket
otherwise: reject
fields: {customer: string, number: string, owner: {type: string, was: holder}}
states: {open: {}, solved: {terminal: true}}
LOOKUP
operations:
  submit: {creates: open, set: {customer: input, number: input, owner: input}DEDUPE}
  solve: {from: open, to: solved}
`
	lookup := func(text string) string {
		return strings.NewReplacer("LOOKUP", "lookup: {"+text+"}", "DEDUPE", "").Replace(machine)
	}
	const plain = "of: {fields: [customer, number]}"
	for name, c := range map[string]struct{ old, next, want string }{
		"it comes":      {lookup(""), lookup(plain), "compatible lookup of is new"},
		"it goes":       {lookup(plain), lookup(""), "SOURCE FSM703 lookup of is gone"},
		"other fields":  {lookup(plain), lookup("of: {fields: customer}"), "SOURCE FSM703 lookup of takes customer, it took customer, number"},
		"their order":   {lookup(plain), lookup("of: {fields: [number, customer]}"), "SOURCE FSM703 lookup of takes number, customer, it took customer, number"},
		"other states":  {lookup(plain), lookup("of: {fields: [customer, number], in: [open]}"), "BEHAVIOR FSM710 lookup of finds records in open, they were in all states"},
		"another order": {lookup("of: {fields: number, order: [owner]}"), lookup("of: {fields: number, order: [-owner]}"), "BEHAVIOR FSM710 the order of lookup of is -holder, it was holder"},
		"one record":    {lookup("of: {fields: number}"), strings.Replace(lookup("of: {fields: number}"), "owner: input}}", "owner: input}, dedupe_by: number}", 1), "SOURCE FSM703 lookup of gives one record, it gave pages of records"},
		"the doc":       {lookup(plain), lookup("of: {fields: [customer, number], doc: more}"), "compatible the doc of lookup of changed"},
	} {
		parse := func(text string) *spec.Machine {
			m, found := spec.Parse("x.yaml", []byte(text))
			if m == nil {
				t.Fatalf("%s: %v", name, found)
			}
			return m
		}
		var got []string
		for _, x := range diff.Machines(parse(c.old), parse(c.next)).Changes {
			got = append(got, strings.Join(strings.Fields(string(x.Class)+" "+x.Code+" "+x.Message), " "))
		}
		if all := strings.Join(got, "; "); !strings.Contains(all, c.want) {
			t.Errorf("%s: got %q, want %q", name, all, c.want)
		}
	}
}
