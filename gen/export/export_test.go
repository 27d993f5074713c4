package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens anew")

// shipped are the machines of the repository and those in testdata, by name.
func shipped(t *testing.T) map[string]*spec.Machine {
	t.Helper()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d specifications, expected five: %v", len(files), err)
	}
	own, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(own) == 0 {
		t.Fatalf("no specification in testdata: %v", err)
	}
	ms := make(map[string]*spec.Machine)
	for _, f := range append(append(files, own...), "../testdata/scenarios/givesup.yaml") {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, found := spec.Parse(f, src)
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		ms[m.Name] = m
	}
	return ms
}

// XState itself reads what the goldens hold, in `make exports-check`.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		x, err := XState(m)
		if err != nil {
			t.Fatal(err)
		}
		c, err := CSV(m)
		if err != nil {
			t.Fatal(err)
		}
		js, err := JSONSchema(m)
		if err != nil {
			t.Fatal(err)
		}
		ts, err := TypeScript(m)
		if err != nil {
			t.Fatal(err)
		}
		for ext, got := range map[string][]byte{".xstate.json": x, ".schema.json": js, ".ts": ts, ".csv": c, ".md": Matrix(m)} {
			file := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s changed; run with -update if that is meant (-want +got):\n%s", file, diff)
			}
			if !bytes.Contains(got, []byte(header)) {
				t.Errorf("%s does not say who made it", file)
			}
		}
		if !json.Valid(x) || !json.Valid(js) {
			t.Errorf("%s: no JSON", name)
		}
	}
}

// The matrix says of each cell what the machine says.
func TestMatrixClasses(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		data, err := CSV(m)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(m.Operations)+1 {
			t.Fatalf("%s has %d rows", name, len(rows))
		}
		for i, o := range m.Operations {
			for j, s := range m.States {
				got := rows[i+1][4+j]
				want := m.Class(s, o)
				ok := len(o.Creates) > 0 && got == "" ||
					want == spec.Reject && got == "reject" || want == spec.RecordOnly && got == "record_only" ||
					want == spec.Transition && slices.ContainsFunc(strings.Split(got, " | "), func(to string) bool { return m.State(to) != nil || to == "record_only" })
				if !ok && len(o.Creates) == 0 || len(o.Creates) > 0 && got != "" {
					t.Errorf("%s: %s in %s is %q, the machine says %v", name, o.Name, s.Name, got, want)
				}
			}
		}
	}
}
