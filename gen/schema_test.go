package gen_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/spec"
)

// TestSchema holds the schema alone to the one of the generated package.
func TestSchema(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("job.yaml", []byte(schemaJob))
	if found.HasErrors() {
		t.Fatal(found)
	}
	for _, level := range gen.Levels {
		files, err := gen.Generate(m, gen.Options{Enforce: level})
		if err != nil {
			t.Fatal(err)
		}
		for _, dialect := range gen.Dialects {
			got, err := gen.Schema(m, dialect, level)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for _, f := range files {
				if f.Name == "job."+dialect+".sql" {
					want = string(f.Data)
				}
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("%s, %s (-package +alone):\n%s", dialect, level, diff)
			}
		}
	}
	for _, c := range []struct{ dialect, level, want string }{
		{"oracle", "full", `no schema for "oracle"; expected sqlite or postgres`},
		{"sqlite", "some", `unknown enforcement level "some"; expected none, checks or full`},
	} {
		if _, err := gen.Schema(m, c.dialect, c.level); err == nil || err.Error() != c.want {
			t.Errorf("%s, %s: %v, want %s", c.dialect, c.level, err, c.want)
		}
	}
	unsound, _ := spec.Parse("job.yaml", []byte(strings.Replace(schemaJob, "otherwise: reject\n", "", 1)))
	if _, err := gen.Schema(unsound, "sqlite", "full"); err == nil || !strings.Contains(err.Error(), "FSM101") {
		t.Errorf("a machine with an unclassified cell: %v, want FSM101", err)
	}
}

const schemaJob = `fsm: 1
machine: job
entity: Job
otherwise: reject
states:
  open: {}
  shut: {terminal: true}
operations:
  make: {creates: open}
  touch: {from: open, to: same}
  close: {from: open, to: shut}
`
