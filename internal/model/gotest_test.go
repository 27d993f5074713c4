package model_test

import (
	"go/format"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/spec"
)

// A step that is reached although the effect before it did not happen: a startup
// may run `ship`, too.
const early = `
fsm: 1
machine: order
entity: Order
requests: {request_id: none, expected_rev: optional}
otherwise: reject
states:
  open: {}
  paying: {}
  shipped: {terminal: true}
operations:
  place: {creates: open}
  pay: {from: open, to: paying, effect: {name: charge, then: ship}}
  ship: {by: system, from: paying, to: shipped, trigger: [startup]}
`

// The instants matter in this one: the effect comes twice only after the first
// claim has ended.
const instants = `
fsm: 1
machine: claim
entity: Claim
otherwise: reject
fields:
  item: string
  until: time
states:
  held: {}
  used: {}
  over: {terminal: true}
guards:
  live: {when: now < until, error: too_late}
  ended: {when: until <= now, error: too_early}
  alone: {fewer: {than: 1, same: item, in: [held]}, error: taken}
operations:
  grab: {creates: held, require: [alone], set: {item: input, until: input}}
  use: {from: held, to: used, require: [live], effect: {name: burn, key: item, atomic: true}}
  end: {by: system, from: [held, used], to: over, require: [ended]}
`

// An effect in the transaction comes twice where one behind it gives up.
const givenUp = `
fsm: 1
machine: stamp
entity: Stamp
otherwise: reject
fields:
  item: string
  why: optional string
states:
  ready: {}
  asking: {}
  over: {terminal: true}
unique: {one_each: {fields: item, in: [ready, asking, over], error: taken}}
operations:
  make: {creates: ready, set: {item: input}}
  try: {from: ready, to: asking, effect: [{name: burn, key: item, atomic: true}, {name: ask, attempts: 2, then: done, failed: back}]}
  done: {by: system, from: asking, to: over}
  back:
    by: system
    from: asking
    input: {error: string}
    set: {why: input.error}
    choose:
      - {when: why == 'busy', to: ready}
      - {to: over}
`

// The trace as a Go test fails on the package that was generated from the
// specification, in the same way; on the package of the mended specification it
// passes.
func TestGoTest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles generated packages; run without -short")
	}
	naive := shipped(t, "execution", append(require("attempts_left"), oneLease, "", oneCommitted, "", uniqueHead, "")...)
	tests := []struct {
		name   string
		bad    *spec.Machine
		good   *spec.Machine
		reason string // that the failing test prints
	}{
		{"fm001", naive, shipped(t, "execution"), "effect apply_result was applied 2 times for key"},
		{"early", parse(t, "order.yaml", early), parse(t, "order.yaml", strings.Replace(early, ", trigger: [startup]", "", 1)), "ship was accepted before effect charge was performed"},
		{"instants", parse(t, "claim.yaml", instants), parse(t, "claim.yaml", strings.Replace(instants, "in: [held]", "in: [held, used, over]", 1)), "effect burn was applied 2 times for key"},
		{"gaveup", parse(t, "stamp.yaml", givenUp),
			parse(t, "stamp.yaml", strings.Replace(givenUp, "why == 'busy', to: ready", "why == 'busy', to: over", 1)), "effect burn was applied 2 times for key"},
	}
	module := outside.New(t, "example.com/traces")
	for _, tt := range tests {
		r := model.Check(tt.bad, model.Options{})
		if r.Violation == nil {
			t.Fatalf("%s: nothing is wrong", tt.name)
		}
		text, err := r.Violation.GoTest(tt.bad, format.Source)
		if err != nil {
			t.Fatal(err)
		}
		for kind, m := range map[string]*spec.Machine{"bad": tt.bad, "good": tt.good} {
			write(t, module, filepath.Join(tt.name, kind), m, text)
		}
		if good := model.Check(tt.good, model.Options{}); good.Violation != nil {
			t.Errorf("%s: the mended machine: %s", tt.name, good.Violation.What)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if out, err := run(module, tt.name+"/bad"); err == nil || !strings.Contains(out, tt.reason) {
				t.Errorf("on the package of the specification: %v, want %q in\n%s", err, tt.reason, out)
			}
			if out, err := run(module, tt.name+"/good"); err != nil {
				t.Errorf("on the mended package: %v\n%s", err, out)
			}
		})
	}
}

// write generates a package with a test more.
func write(t *testing.T, module outside.Module, dir string, m *spec.Machine, test []byte) {
	t.Helper()
	files, err := gen.Generate(m, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, gen.File{Name: "trace_test.go", Data: test}) {
		module.Write(filepath.Join(dir, f.Name), f.Data)
	}
}

func run(module outside.Module, pkg string) (string, error) {
	return module.Test("-count=1", "-vet=off", "-run", "^TestModelTrace$", "./"+pkg)
}
