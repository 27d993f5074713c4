package machines

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the table of README.md")

var names = map[string]string{
	"riverjob": "River's job", "obanjob": "Oban's job", "batchjob": "AWS Batch's job",
	"paymentintent": "Stripe's PaymentIntent", "taskinstance": "Airflow's task instance",
	"checkrun": "GitHub's check run", "pod": "Kubernetes' Pod phase", "container": "OCI container", "stream": "HTTP/2 stream",
}

var order = []string{"riverjob", "obanjob", "batchjob", "paymentintent", "taskinstance", "checkrun", "pod", "container", "stream"}

const head = "|---|---|---|---|---|---|\n"

// TestTable holds the table of README.md equal to the specifications: nine of
// them, without a finding, each with its source. The last column counts the calls of the
// generated tests.
func TestTable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(order) {
		t.Errorf("there are %d specifications, the table knows %d", len(files), len(order))
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), head)
	got, after, end := strings.Cut(rest, "\n\n")
	if !ok || !end {
		t.Fatal("README.md has no table")
	}
	var rows []string
	for _, name := range order {
		rows = append(rows, row(t, name))
	}
	want := strings.Join(rows, "\n")
	if *update {
		if err := os.WriteFile("README.md", []byte(before+head+want+"\n\n"+strings.TrimLeft(after, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table of README.md is not up to date; go test ./examples/machines -update (-want +got):\n%s", d)
	}
}

func row(t *testing.T, name string) string {
	t.Helper()
	file := name + ".yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^# Source: (https://|RFC )`).Match(src) {
		t.Errorf("%s does not name its source in its head", file)
	}
	m, found := validate.Source(file, src)
	for _, d := range found {
		if d.Severity != spec.Info {
			t.Errorf("%s", d)
		}
	}
	if m == nil {
		t.FailNow()
	}
	operations := 0
	for _, o := range m.Operations {
		if len(o.Creates) == 0 {
			operations++
		}
	}
	return fmt.Sprintf("| [%s](%s) | %d | %d | %d | %d | %s |",
		names[name], file, len(m.States), len(m.Operations), len(m.States)*operations, validate.Proof(m).Obligations, calls(t, name))
}

// calls returns how many calls the generated tests make, each with what must come of it.
func calls(t *testing.T, name string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(name, name+"_fsm_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(src), "\nvar testCases = ")
	list, _, ok := strings.Cut(rest, "\n}\n")
	n := strings.Count(list, "\n\t{")
	if !ok || n == 0 {
		t.Fatalf("the tests of %s have no calls", name)
	}
	return grouped(n)
}

// grouped writes a number with spaces between thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s %03d", grouped(n/1000), n%1000)
}
