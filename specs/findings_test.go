package specs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// TestMachinesHaveNoFinding runs every rule of the compiler over the five
// machines: neither an error nor a warning.
func TestMachinesHaveNoFinding(t *testing.T) {
	t.Parallel()
	for _, m := range machines {
		file := m.name + ".yaml"
		machine, found := validate.Source(file, []byte(readFile(t, file)))
		found = slices.DeleteFunc(found, func(d spec.Diagnostic) bool { return d.Severity == spec.Info })
		if len(found) > 0 {
			t.Errorf("findings:\n%v", found)
			continue
		}
		if machine.Name != m.name {
			t.Errorf("%s: the machine is called %q", file, machine.Name)
		}
	}
}

// TestEveryMachineIsTested finds a specification that no table of this package
// knows.
func TestEveryMachineIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		if !slices.ContainsFunc(machines, func(m struct{ name, source string }) bool { return m.name == name }) {
			t.Errorf("%s is in no table of this package", file)
		}
		if _, ok := tables[name]; !ok {
			t.Errorf("%s has no transition table", file)
		}
	}
}

// TestDeclarationsAreDocumented asks for a doc text where a reader of the
// generated package meets a name for the first time.
func TestDeclarationsAreDocumented(t *testing.T) {
	t.Parallel()
	for _, m := range machines {
		machine := parseMachine(t, m.name)
		missing := func(what, name, doc string) {
			if doc == "" || !strings.HasSuffix(doc, ".") {
				t.Errorf("%s.yaml: the doc of %s %s is %q; want a sentence", m.name, what, name, doc)
			}
		}
		missing("machine", m.name, machine.Doc)
		for _, f := range machine.Fields {
			missing("field", f.Name, f.Doc)
		}
		for _, s := range machine.States {
			missing("state", s.Name, s.Doc)
		}
		for _, op := range machine.Operations {
			missing("operation", op.Name, op.Doc)
		}
	}
}
