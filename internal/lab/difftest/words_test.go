package difftest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/outside"
	"github.com/fsmgen/fsmgen/internal/lab/pgtest"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// methods are words of the engine's methods, packaged those of functions and types.
var (
	methods = strings.Fields(`list count log record as in purge deliver at labels watch run sweep ref equal can held history startup audit core
		batch switch hold outcome open check`)
	packaged = strings.Fields("open hold outcome check fold migrate project end_roll_out")
)

// TestWordsAreFree uses words of the engine as every kind of name. The packages
// pass their generated tests over every store.
func TestWordsAreFree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles three packages")
	}
	module := outside.New(t, "example.com/words")
	for name, src := range map[string]string{"moving": moving(), "holding": holding(), "making": making()} {
		m, found := validate.Source(name+".yaml", []byte(src))
		if found.HasErrors() {
			t.Fatalf("%v\n%s", found, src)
		}
		files, err := gen.Generate(m, gen.Options{TestStore: "sqlite,postgres"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			module.Write(filepath.Join(name, f.Name), f.Data)
		}
	}
	cmd := module.Command("go", append(append([]string{"test"}, outside.Fast...), "-vet=all", "-v", "./...")...)
	cmd.Env = append(cmd.Env, "FSMGEN_POSTGRES_URL="+pgtest.DSN(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, store := range []string{"memstore", "sqlite", "postgres"} {
		if n := len(regexp.MustCompile(`--- PASS: Test\w+/`+store+" ").FindAll(out, -1)); n != 3 {
			t.Errorf("%d packages passed over %s, want 3:\n%s", n, store, out)
		}
	}
}

// moving has the words as names of operations, inputs, guards, errors and states.
func moving() string {
	var guards, ops strings.Builder
	for _, w := range methods {
		fmt.Fprintf(&guards, "  %s: {when: input.%s > 0, error: %s}\n", w, w, w)
		fmt.Fprintf(&ops, "  %s: {from: open, to: hold, input: {%s: int}, require: [%s]}\n", w, w, w)
	}
	return "fsm: 1\nmachine: moving\nentity: Record\notherwise: reject\nstates: {open: {}, hold: {}, in: {terminal: true}}\nguards:\n" +
		guards.String() + "operations:\n  build: {creates: open}\n  back: {from: hold, to: open}\n  close: {from: [open, hold], to: in}\n" + ops.String()
}

// holding has the words as names of fields, enums where a type would have the name.
// A field cannot be called in: facts read it.
func holding() string {
	var fields, set strings.Builder
	for _, w := range packaged {
		fmt.Fprintf(&fields, "  %s: tiny|huge\n", w)
		fmt.Fprintf(&set, "%s: input, ", w)
	}
	for _, w := range methods {
		if !slices.Contains([]string{"open", "hold", "outcome", "check", "in"}, w) {
			fmt.Fprintf(&fields, "  %s: optional string\n", w)
			fmt.Fprintf(&set, "%s: input or absent, ", w)
		}
	}
	return "fsm: 1\nmachine: holding\nentity: Door\notherwise: reject\nfields:\n" + fields.String() +
		"states: {record: {present: [ref]}, log: {terminal: true}}\noperations:\n  build: {creates: record, set: {" +
		strings.TrimSuffix(strings.Replace(set.String(), "ref: input or absent", "ref: input", 1), ", ") + "}}\n  close: {from: record, to: log}\n"
}

// making has the words as names of creations, beside a projection.
func making() string {
	var ops strings.Builder
	for _, w := range packaged {
		fmt.Fprintf(&ops, "  %s: {creates: watch, set: {house: input}}\n", w)
	}
	return "fsm: 1\nmachine: making\nentity: Outcome\notherwise: reject\nfields: {house: string}\nstates: {watch: {}, sweep: {terminal: true}}\n" +
		"operations:\n" + strings.Replace(ops.String(), "  outcome: {", "  create: {", 1) + "  close: {from: watch, to: sweep}\n" +
		"projection:\n  entity: House\n  key: house\n  fields: {list: count}\n  rules: [{state: shut, all: [sweep]}, {state: ajar}]\n"
}
