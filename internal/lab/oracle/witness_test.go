package oracle

import (
	"strings"
	"testing"
)

// A line of the table is read as the proof has written it: each kind of value, and
// times that stand to that of the call.
func TestWitness(t *testing.T) {
	t.Parallel()
	table := Table{
		Machine: "demo", RequestID: "none", ExpectedRev: "none",
		Matrix: `
     | (new)   | open
make | -> open | .
take | .       | -> open
`,
		Fields: []Field{
			{Name: "colour", Type: "red|green", Words: "r|g"}, {Name: "due", Type: "optional time"}, {Name: "owners", Type: "set"},
			{Name: "size", Type: "int"}, {Name: "note", Type: "optional json"}, {Name: "done", Type: "bool"}, {Name: "who", Type: "optional string"},
		},
		States: []State{{Name: "open"}},
		Operations: []Operation{
			{Name: "make"},
			{Name: "take", Inputs: []Input{{Name: "n", Type: "int"}}, Witnesses: []Witness{{
				Way: "move", In: "open", Actor: "a", Inputs: `{"n": 3}`,
				Record: `{"colour": "green", "due": "now-1h2m", "owners": ["b","a"], "size": -4, "note": "x", "done": true, "created_at": "now"}`,
			}}},
		},
	}
	m, err := Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	o := m.OpNamed("take")
	cases := m.witnessCases(o, m.StateByName["open"])
	if len(cases) != 1 || len(m.witnessCases(m.OpNamed("make"), nil)) != 0 {
		t.Fatalf("%d cases, want 1", len(cases))
	}
	want := `open rev 7 created 2024-05-06T07:08:09.123456Z updated 2024-05-05T05:08:09.123456Z, colour "g", due 2024-05-06T06:06:09.123456Z, ` +
		`owners "[\"a\",\"b\"]", size -4, note "\"x\"", done true; actor "a" at 2024-05-06T07:08:09.123456Z, n 3`
	if got := m.ShowRow(cases[0].Row) + "; " + cases[0].Call.String(); got != want {
		t.Errorf("the case is\n\t%s\nwant\n\t%s", got, want)
	}
	for text, problem := range map[string]string{
		`{"size": "a"}`: "size", `{"due": "soon"}`: "no time", `{"sise": 1}`: "no \"sise\"", `{`: "unexpected end",
	} {
		bad := table
		bad.Operations = []Operation{table.Operations[0], {Name: "take", Witnesses: []Witness{{Way: "move", In: "open", Record: text}}}}
		if _, err := Compile(bad); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: got %v, want %q", text, err, problem)
		}
	}
}
