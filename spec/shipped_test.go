package spec_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// specFiles returns the specifications that the project ships.
func specFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../specs/*.yaml")
	if len(files) < 5 || err != nil {
		t.Fatalf("found %d specifications, want at least 5 (%v)", len(files), err)
	}
	return files
}

func TestShippedSpecificationsResolve(t *testing.T) {
	t.Parallel()
	for _, file := range specFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, ds := spec.Parse(filepath.Base(file), src)
			if len(ds) > 0 || m == nil {
				t.Fatalf("findings:\n%v", ds)
			}
		})
	}
}
