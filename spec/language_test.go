package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fsmgen/fsmgen/spec"
)

// TestLanguage compares what each specification in testdata/language means and
// how it is printed with the goldens beside it.
func TestLanguage(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/language/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var fresh []txtar.File
			for _, f := range ar.Files {
				name, ok := strings.CutSuffix(f.Name, ".yaml")
				if !ok {
					continue
				}
				m, ds := parseTimed(t, f.Name, f.Data)
				if len(ds) > 0 {
					t.Fatalf("findings:\n%v", ds)
				}
				out := checkFormat(t, f.Data)
				if diff := cmp.Diff(comments(f.Data), comments(out)); diff != "" {
					t.Errorf("comments (-source +printed):\n%s\n%s", diff, out)
				}
				fresh = append(fresh, f,
					txtar.File{Name: name + ".meaning", Data: []byte(spec.Meaning(m))},
					txtar.File{Name: name + ".printed", Data: out})
			}
			if *update {
				ar.Files = fresh
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(ar.Files, fresh, cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
				t.Errorf("goldens (-want +got):\n%s", diff)
			}
		})
	}
}
