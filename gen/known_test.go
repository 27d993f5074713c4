package gen

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// knownNames become the names of methods that Go's library looks for in any value, or
// whose signature `go vet` knows.
var knownNames = strings.Fields(`string go_string format scan error is as unwrap value log_value is_zero
	marshal_json unmarshal_json marshal_text unmarshal_text append_text marshal_binary unmarshal_binary append_binary
	marshal_xml unmarshal_xml gob_encode gob_decode read_byte read_rune read_from unread_byte unread_rune write_byte write_to seek`)

// knownMachine has each of the names as a field and as an operation; one that is not pure
// also as an effect and as a probe, and then as a look-up, whose methods stand beside those of operations.
func knownMachine(t *testing.T, name, what string) *spec.Machine {
	t.Helper()
	var fields, ops, rest strings.Builder
	for i, n := range knownNames {
		field, effect := n, ""
		if n == "is" {
			field = "isnt" // the language has a use for the word
		}
		if what == "effects" {
			effect = ", effect: {name: " + n + "}"
			fmt.Fprintf(&rest, "  %s: {doc: it is there}\n", n)
		}
		if what == "lookups" {
			fmt.Fprintf(&rest, "  %s: {fields: %s}\n", n, field)
			n += "_it"
		}
		fmt.Fprintf(&fields, "  %s: {type: string, default: v%d}\n", field, i)
		set := []string{"", ", set: {" + field + ": input}", ", set: {n: input}"}[i%3]
		fmt.Fprintf(&ops, "  %s: {from: ready, to: same%s%s}\n", n, set, effect)
	}
	layers, on, heading := "", "{final: true}", ""
	switch what {
	case "pure":
		layers = "layers: [pure]\n"
	case "effects":
		on = "{final: true, probe: [" + strings.Join(knownNames, ", ") + "]}"
		heading = "probes:\n"
	case "lookups":
		heading = "lookup:\n"
	}
	src := "fsm: 1\nmachine: " + name + "\nentity: Known\n" + layers + "otherwise: reject\nfields:\n  n: {type: int, default: 7}\n" + fields.String() +
		"states:\n  ready: " + on + "\n" + heading + rest.String() + "operations:\n  make: {creates: ready}\n" + ops.String()
	m, found := validate.Source(name+".yaml", []byte(src))
	if m == nil || found.HasErrors() {
		t.Fatalf("%v\n%s", found, src)
	}
	return m
}

// knownTest is a test beside a pure package of the names: a record is data to the encodings
// and to fmt, whatever its operations are called.
const knownTest = `package known

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestRecordIsData(t *testing.T) {
	r, _, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	var back Known
	if err != nil || json.Unmarshal(data, &back) != nil || back != r {
		t.Errorf("%s becomes %v (%v)", data, back, err)
	}
	var b bytes.Buffer
	var again Known
	if gob.NewEncoder(&b).Encode(&r) != nil || gob.NewDecoder(&b).Decode(&again) != nil || again != r {
		t.Errorf("gob makes %v of it", again)
	}
	for _, text := range []string{string(data), fmt.Sprint(r), fmt.Sprintf("%+v %#v", &r, r)} {
		if strings.Count(text, "v1") < 11 {
			t.Errorf("%s is not the record", text)
		}
	}
}
`

// strange lists the methods of a package whose signatures are not those that their
// names have in Go's library: what the analysis stdmethods of `go vet` says.
func strange(fset *token.FileSet, files []*ast.File, pkg *types.Package, info *types.Info) (list []string) {
	pass := &analysis.Pass{
		Analyzer: stdmethods.Analyzer, Fset: fset, Files: files, Pkg: pkg, TypesInfo: info,
		ResultOf: map[*analysis.Analyzer]any{inspect.Analyzer: inspector.New(files)},
		Report:   func(d analysis.Diagnostic) { list = append(list, d.Message) },
	}
	if _, err := stdmethods.Analyzer.Run(pass); err != nil {
		list = append(list, err.Error())
	}
	return list
}
