package variants_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

const root = "../../.."

// nobody is what is written of an error that no finding tells.
const nobody = "nobody"

// machine is a sound one and its variants with an error each. Without a file, each
// variant is a file of the folder.
type machine struct {
	Machine, File, Dir string
	Add                []edit
	Variants           []variant
}

type edit struct{ Old, New string }

type variant struct {
	What, File, Old, New string
	And                  edit // a second place of the same error
	Found, Why           string
}

// TestVariants demands that the machines are sound, that each error is found by what
// is written beside it, and that the page tells the same.
func TestVariants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("searches with the model checker")
	}
	data, err := os.ReadFile("testdata/variants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var machines []machine
	if err := yaml.Unmarshal(data, &machines); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "evidence", "variants.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := func(row string) {
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/evidence/variants.md does not say\n%s", row)
		}
	}
	var sum [4]int
	row := func(name string, n [4]int) {
		told(fmt.Sprintf("| %s | %d | %d | %d | %d |", name, n[0], n[1], n[2], n[3]))
	}
	for _, m := range machines {
		var base string
		if m.File != "" {
			base = read(t, filepath.Join(root, m.File))
			for _, e := range m.Add {
				base = replace(t, base, e)
			}
			check(t, m.Machine, "the machine without an error", base, nobody)
			if len(m.Variants) != 10 {
				t.Errorf("%s has %d variants, want 10", m.Machine, len(m.Variants))
			}
		}
		var n [4]int
		for _, v := range m.Variants {
			src := base
			if v.File != "" {
				src = read(t, filepath.Join(m.Dir, v.File+".yaml"))
			}
			for _, e := range []edit{{v.Old, v.New}, v.And} {
				if e.Old != "" {
					src = replace(t, src, e)
				}
			}
			check(t, m.Machine, v.What, src, v.Found)
			n[0]++
			switch {
			case v.Found == nobody:
				n[3]++
				told(fmt.Sprintf("| %s | %s | %s |", m.Machine, v.What, v.Why))
			case strings.HasPrefix(v.Found, "model "):
				n[2]++
			default:
				n[1]++
			}
		}
		row(m.Machine, n)
		for i := range sum {
			sum[i] += n[i]
		}
	}
	row("**all**", sum)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func replace(t *testing.T, src string, e edit) string {
	t.Helper()
	if n := strings.Count(src, e.Old); n != 1 {
		t.Errorf("%q stands %d times in the machine", e.Old, n)
	}
	return strings.Replace(src, e.Old, e.New, 1)
}

// check compares the first finding with what is written: an error before a warning,
// what `check` finds before what only the model checker does. The search is cut
// short, so that all of them take seconds.
func check(t *testing.T, name, what, src, want string) {
	t.Helper()
	m, found := validate.Source(name+".yaml", []byte(src))
	got := first(found)
	if got == nobody && m != nil {
		_, found = validate.Model(m, model.Options{MaxStates: 5000}, nil)
		if got = first(found); got != nobody {
			got = "model " + got
		}
	}
	if got != want {
		t.Errorf("%s, %s: found %s, want %s\n%v", name, what, got, want, found)
	}
}

func first(found spec.Diagnostics) string {
	for _, severity := range []spec.Severity{spec.Error, spec.Warning} {
		for _, d := range found {
			if d.Severity == severity {
				return d.Code
			}
		}
	}
	return nobody
}
