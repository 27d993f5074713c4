package prove_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// door is the beginning of every machine in the tests.
const door = `fsm: 1
machine: door
entity: Door
otherwise: reject
`

// findings proves a machine and returns what it finds, one line each.
func findings(t testing.TB, src string) []string {
	t.Helper()
	m, found := spec.Parse("door.yaml", []byte(src))
	if m == nil || found.HasErrors() {
		t.Fatalf("%v\n%s", found, src)
	}
	var list []string
	for _, f := range prove.Machine(m).Findings {
		list = append(list, f.Code+" "+f.Message)
	}
	return list
}

// What follows from what: each machine states an invariant of its second state,
// and the operation into it keeps it or not.
func TestWhatFollows(t *testing.T) {
	t.Parallel()
	const fields = `fields:
  n: {type: counter, changed_by: [go]}
  most: int 0..9
  low: optional int
  high: optional int
  since: time
  until: optional time
  owner: optional string
  name: string
  kind: a|b|c
  other: a|c
  flag: optional bool
  all: set
  some: set
states:
`
	tests := []struct {
		name      string
		source    string // facts of the source state
		op        string // what the operation has beside from and to
		target    string // the fact to prove
		want      bool
		machineOf string // facts of every state
	}{
		{name: "a counter goes up", source: "n >= 1", op: "increment: [n]", target: "n >= 2", want: true},
		{name: "not by two", source: "n >= 1", op: "increment: [n]", target: "n >= 3"},
		{name: "a reset counter is 0", source: "n >= 5", op: "reset: [n]", target: "n == 0", want: true},
		{name: "and no more", source: "n >= 5", op: "reset: [n]", target: "n >= 1"},
		{name: "a reset set is empty", op: "reset: [all]", target: "all is absent", want: true},
		{name: "and covered by each", op: "reset: [all]", target: "some covers all", want: true},
		{name: "but covers none with members", source: "all covers some", op: "reset: [all]", target: "all covers some"},
		{name: "others keep their members", source: "name in some", op: "reset: [all]", target: "name in some", want: true},
		{name: "who is taken out is not in it", op: "{remove: {all: actor}, set: {owner: actor}}", target: "owner not in all", want: true},
		{name: "others stay", source: "owner in all", op: "{require: [other], remove: {all: actor}}", target: "owner in all", want: true},
		{name: "but perhaps it was this one", source: "owner in all", op: "remove: {all: actor}", target: "owner in all"},
		{name: "one who comes in the same step is in it", op: "{remove: {all: name}, add: {all: name}}", target: "name in all", want: true},
		{name: "a substitute", source: "owner in all", op: "{require: [other], remove: {all: actor}, add: {all: name}}", target: "owner in all", want: true},
		{name: "a set may lose its last member", source: "all is present", op: "remove: {all: actor}", target: "all is present"},
		{name: "an empty set stays empty", source: "all is absent", op: "remove: {all: actor}", target: "all is absent", want: true},
		{name: "a smaller set is covered", source: "all covers some", op: "remove: {some: actor}", target: "all covers some", want: true},
		{name: "a smaller set may cover less", source: "all covers some", op: "remove: {all: actor}", target: "all covers some"},
		{name: "both lose it", source: "all covers some", op: "remove: {all: actor, some: actor}", target: "all covers some", want: true},
		{name: "one less", source: "n >= 5", op: "decrement: [n]", target: "n >= 4", want: true},
		{name: "not two", source: "n <= 5", op: "decrement: [n]", target: "n <= 3"},
		{name: "counters start at 0", op: "increment: [n]", target: "n >= 1", want: true},
		{name: "an upper bound moves along", source: "n <= 3", op: "increment: [n]", target: "n <= 3"},
		{name: "a guard makes room", source: "n <= most", op: "{require: [room], increment: [n]}", target: "n <= most", want: true},
		{name: "without it there is none", source: "n <= most", op: "increment: [n]", target: "n <= most"},
		{name: "order is transitive", source: "[low < high, high <= 5]", op: "", target: "low < 5", want: true},
		{name: "and strict for whole numbers", source: "[low < high, high < 5]", op: "", target: "low <= 3", want: true},
		{name: "not through an absent one", source: "low < 5", op: "clear: [low]", target: "low < 5"},
		{name: "a comparison makes present", source: "low < high", op: "", target: "high is present", want: true},
		{name: "also a negated equality", source: "low != high", op: "", target: "low is present", want: true},
		{name: "a hole in an interval", source: "[low >= 1, low <= 2, low != 1]", op: "", target: "low == 2", want: true},
		{name: "substitution", op: "{require: [later], set: {until: input.when}}", target: "since < until", want: true},
		{name: "substitution of the other side", op: "{require: [later], set: {since: input.when}}", target: "since < until"},
		{name: "now and later", op: "set: {since: now, until: now + 1s}", target: "since < until", want: true},
		{name: "later and now", op: "set: {until: now, since: now + 1s}", target: "since < until"},
		{name: "a copy keeps what its source has", source: "[high >= 3]", op: "set: {low: high}", target: "low >= 3", want: true},
		{name: "and is equal to it", source: "[high >= 3]", op: "set: {low: high}", target: "low == high", want: true},
		{name: "two copies swap", source: "low < high", op: "set: {low: high, high: low}", target: "high < low", want: true},
		{name: "an input within the bounds of its field", op: "set: {most: input}", target: "most <= 9", want: true},
		{name: "words that are left", source: "[kind != a, kind != b]", op: "", target: "kind == c", want: true},
		{name: "words that are left of those with a gap", source: "[other != a]", op: "", target: "other == c", want: true},
		{name: "words that are not", source: "[kind != a]", op: "", target: "kind == c"},
		{name: "true or false", source: "flag != true", op: "", target: "flag == false", want: true},
		{name: "true, false or absent", op: "", target: "flag == false"},
		{name: "what is sent or stays", source: "low >= 1", op: "{require: [big], set: {low: input or same}}", target: "low >= 1", want: true},
		{name: "what was there stays or is replaced", source: "low is present", op: "{set: {low: input or same}}", target: "low is present", want: true},
		{name: "what was not there may come", source: "low is absent", op: "{set: {low: input or same}}", target: "low is absent"},
		{name: "what is sent or stays, unguarded", source: "low >= 1", op: "{set: {low: input or same}}", target: "low >= 1"},
		{name: "what comes, when a guard saw it", op: "{require: [big], set: {low: input or absent}}", target: "low >= 1", want: true},
		{name: "what comes or is gone", source: "low >= 1", op: "{set: {low: input or absent}}", target: "low is present"},
		{name: "a set that is there", op: "add: {all: actor}", target: "all is present", want: true},
		{name: "a set keeps its members", source: "owner in all", op: "add: {all: actor}", target: "owner in all", want: true},
		{name: "what is not in it", source: "owner not in all", op: "add: {all: actor}", target: "owner not in all"},
		{name: "unless it is somebody else", source: "owner not in all", op: "{require: [other], add: {all: actor}}", target: "owner not in all", want: true},
		{name: "the same string is in the same sets", source: "[owner in all, owner == name]", op: "", target: "name in all", want: true},
		{name: "and the other way round", source: "[name in all, owner == name]", op: "", target: "owner in all", want: true},
		{name: "and is missing from the same", source: "[name not in all, owner == name]", op: "", target: "owner not in all", want: true},
		{name: "a coverage grows", source: "all covers some", op: "add: {all: actor}", target: "all covers some", want: true},
		{name: "the covered one outgrows it", source: "all covers some", op: "add: {some: actor}", target: "all covers some"},
		{name: "unless the other one has it", source: "all covers some", op: "add: {some: actor, all: actor}", target: "all covers some", want: true},
		{name: "a member of the covered", source: "[all covers some, owner in some]", op: "", target: "owner in all", want: true},
		{name: "a cover of something is not empty", source: "[all covers some, some is present]", op: "", target: "all is present", want: true},
		{name: "the frame", source: "all covers some", op: "increment: [n]", target: "all covers some", want: true},
		{name: "the whole machine", op: "", target: "low < 5", machineOf: "low < 5", want: true},
		{name: "the last change", source: "since <= updated_at", op: "set: {since: now}", target: "since <= updated_at", want: true},
		{name: "the last change moves on", source: "since <= updated_at", op: "increment: [n]", target: "since <= updated_at", want: true},
		{name: "and not further than now", source: "[since <= updated_at, updated_at <= until]", op: "{require: [early], increment: [n]}", target: "updated_at <= until", want: true},
		{name: "but as far", source: "[since <= updated_at, updated_at <= until]", op: "increment: [n]", target: "updated_at <= until"},
		{name: "the creation is not the last change", op: "set: {since: now}", target: "since <= created_at"},
		{name: "numbers beyond calculation", source: "low >= 100000000000000000", op: "set: {low: high}", target: "low >= 100000000000000000"},
		{name: "unless nothing touches them", source: "low >= 100000000000000000", op: "to: same", target: "", want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source, body := "[]", "    to: two\n"
			if tt.source != "" {
				source = tt.source
			}
			if source[0] != '[' {
				source = "[" + source + "]"
			}
			op := strings.TrimSuffix(strings.TrimPrefix(tt.op, "{"), "}")
			if strings.HasPrefix(tt.op, "{") {
				for _, key := range []string{"set:", "increment:", "add:", "remove:", "require:"} {
					op = strings.Replace(op, ", "+key, "\n    "+key, 1)
				}
			} else {
				op = tt.op
			}
			if op == "to: same" {
				body, op = "", "to: same"
			}
			src := door
			if tt.machineOf != "" {
				src += "invariant: [" + tt.machineOf + "]\n"
			}
			src += fields + "  one: {invariant: " + source + "}\n  two: {terminal: true, invariant: [" + tt.target + "]}\n" + `guards:
  room: {when: n < most, error: full}
  later: {when: [since < input.when], error: too_early}
  big: {when: input.low >= 1, error: too_small}
  other: {when: owner != actor, error: same_one}
  early: {when: now <= since, error: too_late}
operations:
  go:
    from: one
    input: {when: time}
` + body + "    " + op + "\n"
			if !strings.Contains(src, "input.low") || !strings.Contains(op, "big") {
				src = strings.ReplaceAll(src, "  big: {when: input.low >= 1, error: too_small}\n", "")
			}
			got := findings(t, src)
			if (len(got) == 0) != tt.want {
				t.Errorf("proven: %t, want %t\n%s\n%s", len(got) == 0, tt.want, strings.Join(got, "\n"), src)
			}
		})
	}
}

// What a creation starts from, and how the branches of an operation add to it.
func TestCreationsAndBranches(t *testing.T) {
	t.Parallel()
	const machine = door + `fields:
  n: {type: counter, changed_by: [go]}
  most: int 0..9
  since: time
  owner: optional string
  name: string
  all: set
  more: set
states:
  one: {absent: [owner, all], invariant: [n == 0, since == created_at, since <= updated_at]}
  two: {invariant: ["n >= 1", name in more, owner in all]}
  three: {}
guards:
  asked: {when: input.k >= 1, error: too_small}
operations:
  make: {creates: one, set: {most: input, since: now, name: input}}
  make_more: {creates: three, input: {k: int}, set: {n: input.k, most: input, since: now, name: input}}
  make_none: {creates: one, set: {n: 0, most: 3, since: now, name: input}}
  go:
    from: three
    set: {owner: actor}
    add: {all: actor}
    doc: a branch counts
    choose:
      - {when: n >= 5, to: same}
      - {to: two, increment: [n], add: {more: name}}
`
	tests := []struct {
		name, from, to string
		want           []string
	}{
		{"as it should be", "", "", nil},
		{"the branch does not raise the counter", "to: two, increment: [n], add", "to: two, add", []string{"FSM302 go: three -> two can leave `n >= 1` false"}},
		{"the branch adds nothing", "increment: [n], add: {more: name}}", "increment: [n]}", []string{"FSM302 go: three -> two can leave `name in more` false"}},
		{"the branch above says more", "n >= 5, to: same}", "n <= 1, to: same}\n      - {when: n <= 1, to: three}",
			[]string{"FSM201 go: this branch is never taken: line 29 holds whenever it does (`n <= 1`)"}},
		{"a counter that starts later", "make: {creates: one, set: {most", "make: {creates: one, set: {n: 1, most", []string{"FSM302 make: (new) -> one can leave `n == 0` false"}},
		{"a creation in the past", "make: {creates: one, set: {most: input, since: now", "make: {creates: one, set: {most: input, since: input", []string{
			"FSM302 make: (new) -> one can leave `since == created_at` false", "FSM302 make: (new) -> one can leave `since <= updated_at` false"}},
		{"a set that is not empty", "make: {creates: one, set: {most: input,", "make: {creates: one, set: {all: input, most: input,", []string{"FSM301 make: (new) -> one can leave `all` present"}},
		{"a number beyond its bounds", "    set: {owner: actor}\n", "    set: {owner: actor, most: n}\n", []string{
			"FSM302 go: three -> three can leave `most` outside its bounds"}}, // and three -> two cannot: there n is below 5
		{"a guard of a creation", "make: {creates: one,", "make: {creates: one, require: [asked], input: {k: int -3..0},", []string{
			"FSM204 make can never pass asked in a creation: `input.k >= 1` contradicts what is so before a creation, with the guards before it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from, to := strings.ReplaceAll(tt.from, `\n`, "\n"), strings.ReplaceAll(tt.to, `\n`, "\n")
			if from != "" && strings.Count(machine, from) != 1 {
				t.Fatalf("%q stands %d times in the machine", from, strings.Count(machine, from))
			}
			src := machine
			if from != "" {
				src = strings.Replace(machine, from, to, 1)
			}
			if diff := cmp.Diff(tt.want, findings(t, src)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// Numbers at the ends of what a number can be, and inputs that no number fits.
func TestBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rest string
		want       []string
	}{
		{"the largest number", "fields: {n: int -5..}\nstates: {one: {}}\noperations:\n  make: {creates: one, set: {n: 9223372036854775807}}\n", nil},
		{"an input that fits one field and not the other may still be absent",
			"fields: {a: optional int 0..3, b: optional int 5..9}\nstates: {one: {}, two: {present: [a]}}\noperations:\n" +
				"  go: {from: one, to: two, input: {k: optional int}, set: {a: input.k or absent, b: input.k or absent}}\n",
			[]string{"FSM301 go: one -> two can leave `a` absent"}},
		{"a copy within wider bounds", "fields: {a: int 0..3, b: int 0..9}\nstates: {one: {}}\noperations:\n  go: {from: one, to: same, set: {b: a}}\n", nil},
		{"a copy within narrower bounds", "fields: {a: int 0..3, b: int 0..9}\nstates: {one: {}}\noperations:\n  go: {from: one, to: same, set: {a: b}}\n",
			[]string{"FSM302 go: one -> one can leave `a` outside its bounds"}},
		{"a text that fits", "fields: {a: string 1..9, b: string 3..4}\nstates: {one: {}}\noperations:\n  go: {from: one, to: same, set: {a: b}}\n", nil},
		{"a text that is too short or too long", "fields: {a: string 1..9, b: string 3..4}\nstates: {one: {}}\noperations:\n  go: {from: one, to: same, set: {b: a}}\n",
			[]string{"FSM302 go: one -> one can leave `b` outside its bounds"}},
		{"an actor that fits", "fields: {a: string 1..255}\nstates: {one: {}}\noperations:\n  go: {from: one, to: same, set: {a: actor}}\n", nil},
		{"an actor that is too long", "fields: {a: string 1..254}\nstates: {one: {}}\noperations:\n  go: {from: one, to: same, set: {a: actor}}\n",
			[]string{"FSM302 go: one -> one can leave `a` outside its bounds"}},
		{"a text that is equal to one that fits", "fields: {a: string, b: string 3..4, c: string 1..9}\nstates: {one: {}}\n" +
			"guards: {same: {when: [a == b], error: other}}\noperations:\n  go: {from: one, to: same, require: [same], set: {c: a}}\n", nil},
		{"a text of another length is never equal", "fields: {a: string 3..4}\nstates: {one: {}}\n" +
			"guards: {same: {when: [a == 'ab'], error: other}}\noperations:\n  go: {from: one, to: same, require: [same]}\n",
			[]string{"FSM204 go can never pass same in state one: `a == 'ab'` contradicts what one guarantees, with the guards before it"}},
		{"it always differs", "fields: {a: string 3..4}\nstates: {one: {}, two: {invariant: [a != 'ab']}}\noperations:\n  go: {from: one, to: two}\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, findings(t, door+tt.rest)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// A question with too many cases is reported and not guessed.
func TestUndecidedIsReported(t *testing.T) {
	t.Parallel()
	names := strings.Split("a b c d e f g h i", " ")
	src := door + "fields: {"
	var facts []string
	for i, x := range names {
		src += x + ": int 1..8, "
		for _, y := range names[:i] {
			facts = append(facts, x+" != "+y)
		}
	}
	src += "z: optional string}\nstates:\n  one: {}\n  two: {terminal: true, present: [z]}\nguards:\n  apart: {when: [" + strings.Join(facts, ", ") +
		", z is present], error: same_one}\noperations:\n  go: {from: one, to: two, require: [apart]}\n"
	start := time.Now()
	if got := findings(t, src); len(got) > 0 {
		t.Errorf("the fact is in another component, yet %q", got)
	}
	src = strings.Replace(src, ", z is present]", "]", 1)
	src = strings.Replace(src, "present: [z]", "invariant: [a == 1]", 1)
	want := []string{"FSM302 go: one -> two may leave `a == 1` false, which was not decided"}
	if diff := cmp.Diff(want, findings(t, src)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func shipped(t testing.TB) []*spec.Machine {
	t.Helper()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) != 6 {
		t.Fatalf("found %d specifications (%v)", len(files), err)
	}
	var list []*spec.Machine
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(filepath.Base(file), src)
		if m == nil || len(found) > 0 {
			t.Fatalf("%v", found)
		}
		list = append(list, m)
	}
	return list
}

// The five machines are proven; how much there was to prove is counted.
func TestShippedMachinesAreProven(t *testing.T) {
	t.Parallel()
	want := map[string][2]int{
		"execution": {7, 15}, "ingest": {11, 14}, "job": {1, 0}, "jobstate": {8, 6}, "lifecycle": {11, 56}, "task": {4, 0},
	}
	got := map[string][2]int{}
	for _, m := range shipped(t) {
		r := prove.Machine(m)
		for _, f := range r.Findings {
			t.Errorf("%s: %s %s", m.Name, f.Code, f.Message)
		}
		got[m.Name] = [2]int{r.Steps, r.Obligations}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps and obligations (-want +got):\n%s", diff)
	}
}

func BenchmarkShippedMachines(b *testing.B) {
	machines := shipped(b)
	for b.Loop() {
		for _, m := range machines {
			prove.Machine(m)
		}
	}
}
