package draft

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the drafts in testdata")

// Each file of testdata has its draft beside it.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".golden") })
	if len(files) < 9 {
		t.Fatalf("%d files are too few", len(files))
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := passes(t, string(src), Options{File: filepath.Base(file)})
		text := string(got.Text) + "\n# Notes:\n"
		for _, n := range got.Notes {
			text += "# " + n.Kind + ": " + n.Text + "\n"
		}
		if *update {
			if err := os.WriteFile(file+".golden", []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
