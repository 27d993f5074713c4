package spec_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// refundWith is a machine with a guard and a value of its operation.
func refundWith(guard, value string) string {
	return `fsm: 1
machine: payment
entity: Payment
otherwise: reject
fields:
  paid: int 0..
  refunded: {type: int 0.., default: 0}
  fee: int
  tries: counter
  owner: optional string
  tip: optional int
states:
  open: {}
  done: {terminal: true}
guards:
  fits: {when: ` + guard + `, error: no_fit}
operations:
  pay: {creates: open, set: {paid: input, fee: input}}
  refund:
    from: open
    input: {amount: int 1.., gift: optional int, name: string}
    to: same
    require: [fits]
    set: {refunded: ` + value + `}
  finish: {from: open, to: done}
`
}

func TestSums(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("test.yaml", []byte(refundWith("refunded+input.amount   <= paid - 2", "refunded + input.amount")))
	if m == nil || len(found) > 0 {
		t.Fatal(found)
	}
	f := m.Operation("refund").Require[0].When[0]
	if f.Text != "refunded + input.amount <= paid - 2" || f.Left.Text != "refunded + input.amount" {
		t.Errorf("the fact reads %q, its left side %q", f.Text, f.Left.Text)
	}
	var names []string
	for _, n := range f.Names() {
		names = append(names, n.Text)
	}
	if got := strings.Join(names, " "); got != "refunded input.amount paid 2" || !f.Reads(m.Field("paid")) || f.Reads(m.Field("fee")) {
		t.Errorf("the fact names %q", got)
	}
	v := m.Operation("refund").Effects.Set[0].Value
	if v.Kind != spec.ValueSum || len(v.Parts) != 2 || v.Parts[1].Minus || v.Parts[1].Term.Input == nil {
		t.Errorf("the value is %+v", v)
	}
	if p := f.Right.Parts; !p[1].Minus || p[1].Term.Int != 2 {
		t.Errorf("the right side is %+v", p)
	}
	for name, want := range map[string]string{"paid": "int 0..1152921504606846976", "refunded": "int 0..1152921504606846976", "fee": "int"} {
		if got := m.Field(name).Type.String(); got != want {
			t.Errorf("field %s is %s, want %s", name, got, want)
		}
	}
	in := m.Operation("refund").Input("amount")
	if !in.Type.Beyond(spec.SumLimit+1) || in.Type.Beyond(spec.SumLimit) || in.Type.Asked().Max != nil {
		t.Errorf("input amount is %s", in.Type)
	}
	other, _ := spec.Parse("test.yaml", []byte(refundWith("refunded - input.amount <= paid - 2", "refunded + input.amount")))
	if other == nil || other.Hash == m.Hash {
		t.Error("+ and - are one meaning")
	}
}

// TestBadSums holds what is told of sums that are none.
func TestBadSums(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ guard, value, code, says, hint string }{
		{"refunded + name <= paid", "", "FSM010", `field "name" is not declared`, "input.name"},
		{"refunded + owner <= paid", "", "FSM020", "a sum adds whole numbers, or times and lengths, and owner is a string", ""},
		{"refunded + true <= paid", "", "FSM020", "true is a bool", ""},
		{"refunded + input.name <= paid", "", "FSM020", "input.name is a string", ""},
		{"refunded + input.none <= paid", "", "FSM010", "has no input", ""},
		{"1 + 2 <= paid", "", "FSM020", "nothing in 1 + 2 is a field or an input", "write the number"},
		{"paid + fee + fee + fee + tries <= 1", "", "FSM020", "a sum has 4 parts at most, and this one has 5", "keep a part"},
		{"paid + 1152921504606846977 <= 1", "", "FSM020", "is beyond 2^60", "a smaller number"},
		{"refunded + fee is present", "", "FSM020", "neither present nor absent", "each part"},
		{"refunded + fee in owner", "", "FSM020", "`in` needs a set", ""},
		{"refunded + <= paid", "", "FSM005", `"<=" is not a term`, ""},
		{"refunded -fee <= paid", "", "FSM005", "expected a comparison", "`refunded - fee`"},
		{"refunded-fee <= paid", "", "FSM005", "is not a term", "`refunded - fee`"},
		{"refunded * 2 <= paid", "", "FSM005", "a fact adds and takes off", ""},
		{"refunded + 1m <= paid", "", "FSM020", "refunded is a whole number, and 1m is a duration: they do not add", "make field refunded a duration"},
		{"", "refunded + name", "FSM010", `field "name" is not declared`, "input.name"},
		{"", "refunded + owner", "FSM020", "owner is a string", ""},
		{"", "refunded + input.none", "FSM010", "is not declared", ""},
		{"", "refunded-fee", "FSM015", "is not a valid value", "`refunded - fee`"},
		{"", "refunded + ", "FSM015", "cannot read the sum", "write two to four parts"},
		{"", "refunded * fee", "FSM015", "is not a valid value", ""},
		{"", "2 + 3", "FSM020", "nothing in 2 + 3", "write the number"},
		{"", "1152921504606846977", "FSM015", "is beyond 2^60", "a smaller number"},
	} {
		guard, value := c.guard, c.value
		if guard == "" {
			guard = "refunded + fee <= paid"
		}
		if value == "" {
			value = "input.amount"
		}
		_, found := spec.Parse("test.yaml", []byte(refundWith(guard, value)))
		if len(found) != 1 || found[0].Code != c.code || !strings.Contains(found[0].Message, c.says) || !strings.Contains(found[0].Hint, c.hint) {
			t.Errorf("%s, %s: %v, want %s %q", c.guard, c.value, found, c.code, c.says)
			for _, d := range found {
				t.Log(d.Hint)
			}
		}
	}
}

// A creation has no record that a sum could read, and a sum goes into a number.
func TestSumsOfCreations(t *testing.T) {
	t.Parallel()
	for value, says := range map[string]string{
		"paid: input.fee + 1":     "",
		"paid: input.fee + paid":  "so field paid has no value yet",
		"owner: input.fee + 1":    "does not fit field owner",
		"paid: input.fee + 10000": "",
	} {
		src := strings.Replace(refundWith("paid + fee <= 1", "input.amount"), "set: {paid: input, fee: input}", "set: {fee: input, "+value+"}", 1)
		_, found := spec.Parse("test.yaml", []byte(src))
		if (says == "") != (len(found) == 0) || says != "" && !strings.Contains(found[0].Message, says) {
			t.Errorf("%s: %v, want %q", value, found, says)
		}
	}
	if spec.SumLimit*4 > math.MaxInt64/2+1 {
		t.Error("four parts may leave 64 bits")
	}
}
