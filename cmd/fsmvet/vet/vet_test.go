package vet

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// root returns the folder of the module, whose generated packages the fixtures use.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnalyzersAreValid(t *testing.T) {
	t.Parallel()
	if err := analysis.Validate(Analyzers); err != nil {
		t.Error(err)
	}
}

// Each analyzer finds what its fixture marks, and nothing else, and its fixes make what
// the golden file holds.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, a := range Analyzers {
		if a == Stale { // its fixtures are written by its own test
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.RunWithSuggestedFixes(t, root(t), a, "./cmd/fsmvet/vet/testdata/"+a.Name)
		})
	}
}

// Flags change what two of them find.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		analyzer         *analysis.Analyzer
		flag, value, dir string
	}{
		{Switch, "default-signifies-exhaustive", "false", "fsmswitchstrict"},
		{SQL, "tables", "jobs, others_events", "fsmsqlmore"},
	} {
		was := c.analyzer.Flags.Lookup(c.flag).Value.String()
		if err := c.analyzer.Flags.Set(c.flag, c.value); err != nil {
			t.Fatal(err)
		}
		analysistest.Run(t, root(t), c.analyzer, "./cmd/fsmvet/vet/testdata/"+c.dir)
		if err := c.analyzer.Flags.Set(c.flag, was); err != nil {
			t.Fatal(err)
		}
	}
}

// What libraries do that this module does not have is tried on stand-ins for them.
func TestOthers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(analysistest.TestData(), "others")
	analysistest.Run(t, dir, Effect, "example.com/shop")
	analysistest.Run(t, dir, Request, "example.com/retry")
}
