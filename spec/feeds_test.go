package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// TestFeeds takes each way by which what an input brings comes to stand in a field.
func TestFeeds(t *testing.T) {
	t.Parallel()
	const machine = `fsm: 1
machine: feeds
entity: Thing
otherwise: reject
fields:
  owner: optional string
  other: optional string
  third: optional string
  names: set
  more: set
  size: optional int
states:
  open: {}
  shut: {}
guards:
  is_owner: {when: owner == input.who, error: wrong}
  is_actor: {when: input.who == actor, error: wrong}
  is_not: {when: owner != input.who, error: wrong}
  is_above: {when: size > input.least, error: wrong}
  is_named: {when: input.who in names, error: wrong}
  is_larger: {when: size > input.owner, error: wrong}
  at_least: {when: size >= input.n, error: wrong}
  at_most: {when: size <= input.n, error: wrong}
  more_has_names: {when: more covers names, error: wrong}
  all_has_names: {when: input.all covers names, error: wrong}
  owner_is_named: {when: owner in names, error: wrong}
  third_is: {when: third == input.a, error: wrong}
  has_all: {when: names covers input.all, error: wrong}
  fields_equal: {when: owner == other, error: wrong}
operations:
  make: {creates: open}
  op:
    from: open
`
	for _, c := range []struct{ op, want string }{
		{"{to: shut, set: {owner: input, other: input or absent, third: input or same}}", "owner owner, other other, third third"},
		{"{to: shut, input: {a: string, b: string}, set: {owner: input.a, other: input.a, third: input.b}}", "a owner, a other, b third"},
		{"{to: shut, input: {a: string}, add: {names: input.a, more: input.a}}", "a names, a more"},
		{"{to: shut, input: {who: string}, require: [is_owner]}", "who owner"},
		{"{to: shut, input: {n: int, k: int}, set: {size: input.n - input.k}}", "n size, k size"},
		{"{to: shut, input: {who: string}, require: [is_owner], set: {other: owner}}", "who owner, who other"},
		{"{to: shut, input: {who: string}, require: [is_owner], set: {owner: other}}", "who owner"},
		{"{to: shut, input: {who: string}, require: [is_owner, fields_equal]}", "who owner, who other"},
		{"{to: shut, input: {who: string}, require: [is_actor], set: {owner: actor}}", "who owner"},
		{"{to: shut, input: {who: string}, require: [is_actor], add: {names: actor}}", "who names"},
		{"{to: shut, input: {who: string}, require: [is_not]}", ""},
		{"{to: shut, input: {least: int}, require: [is_above]}", ""},
		{"{to: shut, input: {owner: int}, require: [is_larger]}", "owner owner"},
		{"{to: shut, input: {owner: string}, set: {other: input.owner}}", "owner other"},
		{"{to: shut, input: {who: string, all: set}, require: [is_named, has_all]}", "who names, all names"},
		{"{to: shut, input: {who: string, a: string}, require: [is_named], set: {owner: input.who}, add: {names: input.a}}",
			"who owner, who names, a names"},
		{"{to: shut, input: {desk: string}, next: {where: owner == input.desk, order: [size]}}", "desk owner"},
		{"{input: {a: string, b: string}, choose: [{when: owner == input.a, to: shut, set: {other: owner}}, {to: shut, set: {third: input.b}}]}",
			"a owner, a other, b third"},
		{"{input: {a: string}, choose: [{when: owner != input.a, to: shut}, {to: shut, set: {other: owner}}]}", "a owner, a other"},
		{"{input: {a: string, b: string}, set: {other: input.b}, choose: [{when: other == input.a, to: shut}, {to: shut}]}", "a other, b other"},
		{"{input: {a: string}, choose: [{when: owner == input.a, record_only: true}, {to: shut}]}", "a owner"},
		// A branch with two facts is passed over when one of them fails: the other may hold.
		{"{input: {a: string, b: string, n: int}, choose: [{when: [owner != input.a, other != input.b, size > input.n], to: shut}, {to: shut}]}",
			"a owner, b other"},
		{"{input: {a: string, b: string}, choose: [{when: [owner == input.a, other != input.b], to: shut}, {to: shut}]}", "a owner, b other"},
		// Neither is above the other.
		{"{to: shut, input: {n: int}, require: [at_least, at_most]}", "n size"},
		{"{input: {n: int}, choose: [{when: size > input.n, reject: wrong}, {when: size < input.n, reject: wrong}, {to: shut}]}", "n size"},
		{"{input: {n: int}, choose: [{when: size > input.n, reject: wrong}, {when: size >= input.n, to: shut}, {to: shut}]}", "n size"},
		{"{input: {n: int}, choose: [{when: size > input.n, to: shut}, {to: shut}]}", ""},
		// Through several sets, each within the next; two members of one set are not equal.
		{"{to: shut, input: {all: set}, require: [has_all, more_has_names]}", "all names, all more"},
		{"{to: shut, input: {a: string, all: set}, require: [all_has_names], add: {names: input.a}}", "a names, all names"},
		{"{to: shut, input: {who: string}, require: [is_named, owner_is_named]}", "who names"},
		// What an absent input leaves is what was there.
		{"{input: {a: string, third: optional string}, set: {third: input or same}, require: [third_is], choose: [{when: owner == third, to: shut}, {to: shut}]}",
			"a owner, a third, third owner, third third"},
	} {
		src := strings.Replace(machine, "  op:\n    from: open\n", "  op: "+strings.Replace(c.op, "{", "{from: open, ", 1)+"\n", 1)
		m, ds := spec.Parse("feeds.yaml", []byte(src))
		if m == nil {
			t.Errorf("%s:\n%v", c.op, ds)
			continue
		}
		var got []string
		for _, f := range m.Feeds(m.Operation("op")) {
			got = append(got, fmt.Sprint(f.Input.Name, " ", f.Field.Name))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.op, diff)
		}
	}
}
