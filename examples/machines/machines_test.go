package machines

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "run the generated tests and write the table of README.md")

var names = map[string]string{
	"riverjob": "River's job", "obanjob": "Oban's job", "batchjob": "AWS Batch's job",
	"paymentintent": "Stripe's PaymentIntent", "taskinstance": "Airflow's task instance",
	"checkrun": "GitHub's check run", "pod": "Kubernetes' Pod phase", "container": "OCI container", "stream": "HTTP/2 stream",
}

var order = []string{"riverjob", "obanjob", "batchjob", "paymentintent", "taskinstance", "checkrun", "pod", "container", "stream"}

const head = "|---|---|---|---|---|---|\n"

// TestTable holds the table of README.md equal to the specifications: nine of
// them, without a finding, each with its source. The last column is what the
// generated tests said when the table was written.
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
	cases := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^.*\[[^]]*\]\((\w+)\.yaml\).*\| (\d[\d ]*) \|$`).FindAllStringSubmatch(got, -1) {
		cases[m[1]] = m[2]
	}
	var rows []string
	for _, name := range order {
		rows = append(rows, row(t, name, cases))
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

func row(t *testing.T, name string, cases map[string]string) string {
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
	if *update {
		cases[name] = ran(t, name)
	}
	return fmt.Sprintf("| [%s](%s) | %d | %d | %d | %d | %s |",
		names[name], file, len(m.States), len(m.Operations), len(m.States)*operations, validate.Proof(m).Obligations, cases[name])
}

// ran runs the generated tests and returns how many cases they looked at.
func ran(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "./"+name).CombinedOutput()
	if err != nil {
		t.Fatalf("the tests of %s: %v\n%s", name, err, out)
	}
	m := regexp.MustCompile(`(\d+) cases of the pure layer.* (\d+) durable cases`).FindStringSubmatch(string(out))
	if m == nil {
		t.Fatalf("the tests of %s do not say how much they tried:\n%s", name, out)
	}
	sum := 0
	for _, n := range m[1:] {
		k, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		sum += k
	}
	return grouped(sum)
}

// grouped writes a number with spaces between thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s %03d", grouped(n/1000), n%1000)
}
