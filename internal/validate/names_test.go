package validate_test

import (
	"fmt"
	"go/types"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/lab/campaign"
	"github.com/fsmgen/fsmgen/internal/validate"
)

// words are names that get in the way of each other, of Go, or of what the
// generator writes.
var words = strings.Fields(`
	start can_start start_request start_many start_of start_item start_peers start_source start_call start_states op_start event_start state_start own_start
	state states operation event event_name machine outcome check fold project ref equal move note refuse open migrate count sweep record list history
	a b a_b x n of on_x err err_x id job job_state door_state valid string value scan text type func range map len error any nil true_x iota
	as at audit batch can core deliver end_roll_out equal held hold in labels log purge repair run startup switch watch
	j r s v e o m q w c d ok req now peers from to out ctx core store sources effects functions fsm errors fmt time slices key row column target
	new_a in_years encode decode descriptor schema step low high level level_low size_of per request reason_x actor_x max min count_x`)

// What passes FSM017 and FSM018 compiles: machines with names out of a pool that
// asks for trouble are generated and type-checked, whole packages with their
// tests.
func TestNamesThatPassCompile(t *testing.T) {
	t.Parallel()
	enough := 15
	if campaign.On() {
		enough = 60
	}
	imports := generatedImports(t)
	rnd := rand.New(rand.NewPCG(2, 17))
	compiled := 0
	refused := map[string]int{}
	for range 20000 {
		src := oddMachine(rnd)
		m, found := validate.Source("odd.yaml", []byte(src))
		for _, d := range found {
			refused[d.Code]++
		}
		if found.HasErrors() {
			continue
		}
		files, err := gen.Generate(m, gen.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if err := typeCheck(m.Name, files, imports); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if compiled++; compiled == enough {
			break
		}
	}
	if compiled < enough || refused["FSM017"] == 0 || refused["FSM018"] == 0 {
		t.Errorf("%d machines were compiled, want %d; refused %v", compiled, enough, refused)
	}
}

// oddMachine makes a specification that uses every kind of name once.
func oddMachine(rnd *rand.Rand) string {
	// pick returns names that differ: they stand in one mapping.
	pick := func(n int) []any {
		var list []any
		for _, i := range rnd.Perm(len(words))[:n] {
			list = append(list, words[i])
		}
		return list
	}
	fields, states, guards, ops, inputs, errors := pick(4), pick(3), pick(3), pick(5), pick(2), pick(4)
	r := strings.NewReplacer(
		"ENTITY", []string{"Door", "Job", "Thing", "V"}[rnd.IntN(4)],
		"F1", fmt.Sprint(fields[0]), "F2", fmt.Sprint(fields[1]), "F3", fmt.Sprint(fields[2]), "F4", fmt.Sprint(fields[3]),
		"S1", fmt.Sprint(states[0]), "S2", fmt.Sprint(states[1]), "S3", fmt.Sprint(states[2]),
		"G1", fmt.Sprint(guards[0]), "G2", fmt.Sprint(guards[1]), "G3", fmt.Sprint(guards[2]),
		"O1", fmt.Sprint(ops[0]), "O2", fmt.Sprint(ops[1]), "O3", fmt.Sprint(ops[2]), "O4", fmt.Sprint(ops[3]), "O5", fmt.Sprint(ops[4]),
		"I1", fmt.Sprint(inputs[0]), "I2", fmt.Sprint(inputs[1]),
		"E1", fmt.Sprint(errors[0]), "E2", fmt.Sprint(errors[1]), "E3", fmt.Sprint(errors[2]), "E4", fmt.Sprint(errors[3]),
		"X1", words[rnd.IntN(len(words))], "P1", words[rnd.IntN(len(words))], "Q1", words[rnd.IntN(len(words))], "V1", words[rnd.IntN(len(words))],
	)
	return r.Replace(`fsm: 1
machine: odd
entity: ENTITY
otherwise: reject
fields:
  F1: optional string
  F2: optional time
  F3: small|wide
  F4: {type: sequence, per: F1}
states:
  S1: {probe: [P1]}
  S2: {}
  S3: {terminal: true}
guards:
  G1: {when: input.I1 is present, error: E1}
  G2: {fewer: {than: 2, same: F1, in: [S1]}, error: E2}
  G3: {when: F1 == actor, error: E3}
probes:
  P1: {doc: it is there}
operations:
  O1: {creates: S1, set: {F3: input, F1: input or absent}, require: [G2]}
  O2:
    from: S1
    input: {I1: optional string, I2: one|two}
    require: [G1, G3]
    set: {F2: now}
    choose:
      - {when: input.I2 == one, to: S2}
      - {reject: E4}
  O3:
    by: operator
    from: S2
    to: S3
    next: {order: [created_at]}
    set: {F2: input or absent}
    effect: {name: X1}
  O4: {by: system, from: S1, to: same, trigger: [after F2 + 5s], set: {F1: input or same}}
  O5: {by: system, from: [S1, S2], to: S3, trigger: [after F2]}
projection:
  entity: Group
  key: F1
  fields: {Q1: count}
  rules:
    - {state: V1, any: [S1]}
    - {state: rest}
`)
}

// loaded is what generated packages may import.
type loaded map[string]*types.Package

func (l loaded) Import(path string) (*types.Package, error) {
	if p := l[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("a generated package imports %s", path)
}

func generatedImports(t testing.TB) loaded {
	t.Helper()
	const runtime = "github.com/fsmgen/fsmgen/runtime"
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedExportFile},
		runtime, runtime+"/audit", runtime+"/driver", runtime+"/fsmimpl", runtime+"/worker", runtime+"/fsmcases", runtime+"/memstore",
		"bytes", "cmp", "context", "database/sql", "database/sql/driver", "embed", "encoding", "encoding/json", "errors", "fmt", "iter", "maps", "math",
		"os", "path/filepath", "reflect", "regexp", "slices", "strconv", "strings", "testing", "time", "unicode/utf8")
	if err != nil {
		t.Fatal(err)
	}
	l := loaded{}
	for _, p := range list {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		l[p.PkgPath] = p.Types
	}
	return l
}

// The fine print lists the names that stay reserved as the check knows them.
func TestFinePrintListsReservedNames(t *testing.T) {
	t.Parallel()
	if !strings.Contains(string(read(t, "../../spec/FINEPRINT.md")), validate.Reserved()) {
		t.Errorf("spec/FINEPRINT.md has another table of reserved names; this is the table:\n%s", validate.Reserved())
	}
}
