package docs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/internal/live"
	"github.com/fsmgen/fsmgen/internal/replay"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// sample has a field of each kind.
const sample = `fsm: 1
machine: sample
entity: Sample
otherwise: reject
fields:
  a_string: optional string
  an_int: optional int
  a_bool: optional bool
  a_time: optional time
  a_duration: optional duration
  a_json: optional json
  a_counter: {type: counter, changed_by: [note]}
  a_set: {type: set, changed_by: [note]}
  a_sequence: sequence
  an_enum: optional red|green
states: {open: {}, shut: {terminal: true}}
operations:
  make: {creates: open, set: {a_string: input or absent, an_int: input or absent, a_bool: input or absent, a_time: input or absent, a_duration: input or absent, a_json: input or absent, an_enum: input or absent}}
  note: {from: open, to: same, input: {tag: string}, add: {a_set: input.tag}, increment: [a_counter]}
  close: {from: open, to: shut}
`

func contract(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CONTRACT.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns what stands below a heading.
func section(t *testing.T, doc, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(doc, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("CONTRACT.md has no heading %q", heading)
	}
	if end := regexp.MustCompile(`(?m)^##`).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	return rest
}

// cells returns the rows of the first table below a heading, without its head.
func cells(t *testing.T, doc, heading string) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(section(t, doc, heading)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		var row []string
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			row = append(row, strings.Trim(strings.TrimSpace(cell), "`"))
		}
		rows = append(rows, row)
	}
	if len(rows) < 2 {
		t.Fatalf("CONTRACT.md has no table below %q", heading)
	}
	return rows[1:]
}

var (
	columnOf = regexp.MustCompile(`(?m)^    "(\w+)" (.+?),?$`)
	detail   = regexp.MustCompile(` (COLLATE "C"|PRIMARY KEY|AUTOINCREMENT|DEFAULT \S+)`)
)

// columns returns name and type of a table's columns in the generated schema.
func columns(t *testing.T, m *spec.Machine, dialect, table string) [][2]string {
	t.Helper()
	text, err := gen.Schema(m, dialect, "full")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(text), `CREATE TABLE IF NOT EXISTS "`+table+`" (`)
	if !ok {
		t.Fatalf("the schema has no table %s", table)
	}
	body, _, _ = strings.Cut(body, "\n)")
	var list [][2]string
	for _, c := range columnOf.FindAllStringSubmatch(body, -1) {
		list = append(list, [2]string{c[1], detail.ReplaceAllString(c[2], "")})
	}
	return list
}

// TestContractTables holds the tables of CONTRACT.md to the schema.
func TestContractTables(t *testing.T) {
	t.Parallel()
	doc := contract(t)
	m, found := spec.Parse("sample.yaml", []byte(sample))
	if found.HasErrors() {
		t.Fatal(found)
	}
	for heading, table := range map[string]string{
		"fsm_meta": "fsm_meta", "M": "sample", "M_events": "sample_events", "M_outbox": "sample_outbox", "M_groups": "sample_groups",
	} {
		for i, dialect := range gen.Dialects {
			var want [][2]string
			for _, row := range cells(t, doc, "### "+heading) {
				if row[1+i] != "" {
					want = append(want, [2]string{row[0], row[1+i]})
				}
			}
			got := columns(t, m, dialect, table)
			got = slices.DeleteFunc(got, func(c [2]string) bool {
				return heading == "M" && m.Field(c[0]) != nil && !m.Field(c[0]).Builtin
			})
			byName := func(a, b [2]string) int { return strings.Compare(a[0], b[0]) }
			slices.SortFunc(want, byName)
			slices.SortFunc(got, byName)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %s (-CONTRACT.md +schema):\n%s", heading, dialect, diff)
			}
		}
	}
	text, err := gen.Schema(m, "sqlite", "full")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`CREATE TABLE IF NOT EXISTS "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		heading := "### " + strings.Replace(name[1], "sample", "M", 1)
		section(t, doc, heading)
	}
	values(t, doc, m)
}

// values holds the table of kinds to the schema and to what reads events.
func values(t *testing.T, doc string, m *spec.Machine) {
	t.Helper()
	types := map[string][]string{}
	for _, dialect := range gen.Dialects {
		for _, c := range columns(t, m, dialect, "sample") {
			types[c[0]] = append(types[c[0]], strings.TrimSuffix(c[1], " NOT NULL"))
		}
	}
	fields := map[string]string{"string": "a_string", "int": "an_int", "bool": "a_bool", "time": "a_time", "duration": "a_duration", "json": "a_json", "counter": "a_counter", "set": "a_set", "sequence": "a_sequence", "enum": "an_enum"}
	told := 0
	for _, row := range cells(t, doc, "## Values") {
		for _, kind := range strings.Split(row[0], ", ") {
			f := m.Field(fields[kind])
			if f == nil {
				t.Errorf("there is no kind %q", kind)
				continue
			}
			told++
			if diff := cmp.Diff(types[f.Name], row[1:3]); diff != "" {
				t.Errorf("%s (-schema +CONTRACT.md):\n%s", kind, diff)
			}
			if _, err := live.ValueFromJSON(f.Type, json.RawMessage(row[3])); err != nil || !json.Valid([]byte(row[3])) {
				t.Errorf("%s: the example %s: %v", kind, row[3], err)
			}
		}
	}
	if told != len(fields) {
		t.Errorf("%d kinds are told, there are %d", told, len(fields))
	}
}

// TestContractEvents holds the members, the example, its sums and the operations of
// the runtime to the code.
func TestContractEvents(t *testing.T) {
	t.Parallel()
	doc := contract(t)
	var members []string
	for _, row := range cells(t, doc, "## Events as JSON") {
		members = append(members, row[0])
	}
	if diff := cmp.Diff(replay.Members, members); diff != "" {
		t.Errorf("members (-code +CONTRACT.md):\n%s", diff)
	}
	for _, name := range replay.Mandatory {
		if !strings.Contains(section(t, doc, "## Events as JSON"), "`"+name+"`,") {
			t.Errorf("that %s is needed is not told", name)
		}
	}
	full := fsm.Event{N: 1, From: "a", Actor: "a", Reason: "a", RequestID: "a", Fingerprint: "a", Labels: map[string]string{"a": ""},
		Inputs: fsm.MustJSON(`{}`), Changes: fsm.MustJSON(`{}`), Image: fsm.MustJSON(`{}`), Cause: "a", Guard: "a", Sum: 1, Chain: 1, At: time.Now()}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(members, names(t, text)); diff != "" {
		t.Errorf("members of an event that has all (-CONTRACT.md +code):\n%s", diff)
	}
	if n := reflect.TypeFor[fsm.Event]().NumField(); n != len(members) {
		t.Errorf("an event has %d fields, the contract %d members", n, len(members))
	}

	example := block(t, doc, "json")
	var e fsm.Event
	if err := json.Unmarshal([]byte(example), &e); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil || again.String() != example {
		t.Errorf("the example is written as %s, %v", &again, err)
	}
	if e.Sum != driver.Checksum(&e) || e.Chain != driver.Chained(0, &e) {
		t.Errorf("the example has the sum %d and the chain %d, want %d and %d", e.Sum, e.Chain, driver.Checksum(&e), driver.Chained(0, &e))
	}
	sum, err := driver.Fingerprint(e.Operation, e.Actor, e.Reason, []driver.Input{
		{Name: "dedupe_key", Kind: driver.KindString}, {Name: "payload", Kind: driver.KindJSON, Value: `{"url":"https://example.com/"}`}})
	if err != nil || sum != e.Fingerprint {
		t.Errorf("the fingerprint of the example is %s, want %s, %v", e.Fingerprint, sum, err)
	}

	source, err := os.ReadFile(filepath.Join(root, "runtime", "driver", "own.go"))
	if err != nil {
		t.Fatal(err)
	}
	var code, told []string
	for _, m := range regexp.MustCompile(`(?m)^\tOp[A-Z]\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		code = append(code, m[1])
	}
	for _, row := range cells(t, doc, "## Events that no operation makes") {
		told = append(told, row[0])
	}
	if diff := cmp.Diff(code, told); diff != "" || len(code) < 4 {
		t.Errorf("operations of the runtime (-code +CONTRACT.md):\n%s", diff)
	}
}

// names returns the names of an object's members in their order.
func names(t *testing.T, text []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	var list []string
	depth, key := 0, true
	for {
		token, err := dec.Token()
		if err != nil {
			return list
		}
		switch d, isDelim := token.(json.Delim); {
		case isDelim && (d == '{' || d == '['):
			depth++
			key = true
		case isDelim:
			depth--
			key = true
		case depth == 1 && key:
			list = append(list, token.(string))
			key = false
		case depth == 1:
			key = true
		}
	}
}
