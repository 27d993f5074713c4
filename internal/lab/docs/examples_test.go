package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExamples holds the READMEs of examples to their programs: each has one, the index names it, and its commands use
// flags that the program has.
func TestExamples(t *testing.T) {
	t.Parallel()
	index := read(t, "examples/README.md")
	programs, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("%d programs: %v", len(programs), err)
	}
	for _, program := range programs {
		folder := filepath.Dir(program)
		name := filepath.Base(folder)
		if !strings.Contains(index, "]("+name+"/README.md)") {
			t.Errorf("examples/README.md has no link to %s/README.md", name)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var source strings.Builder
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(data)
		}
		for _, body := range blocks(read(t, "examples/"+name+"/README.md"), "sh") {
			for _, m := range option.FindAllStringSubmatch(body, -1) {
				if !strings.Contains(source.String(), `"`+m[1]+`"`) {
					t.Errorf("examples/%s has no flag -%s", name, m[1])
				}
			}
		}
	}
}

var option = regexp.MustCompile(` -([a-z]+)\b`)
