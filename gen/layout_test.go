package gen

import (
	"fmt"
	"go/format"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

// Every generated Go file is as gofmt leaves it.
func TestFilesAreFormatted(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("lengths.yaml", []byte(lengths()))
	if found.HasErrors() {
		t.Fatal(found)
	}
	list := []machine{{path: "lengths", Machine: m}, {path: "taskinstance", Machine: parse(t, "../examples/machines/taskinstance.yaml")}}
	for _, m := range list {
		for _, stores := range []string{"", "sqlite,postgres"} {
			for _, f := range generate(t, m.Machine, Options{TestStore: stores, EngineTests: true}) {
				if !strings.HasSuffix(f.Name, ".go") {
					continue
				}
				want, err := format.Source(f.Data)
				if err != nil {
					t.Fatalf("%s of %s: %v", f.Name, m.path, err)
				}
				if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(f.Data), "\n")); diff != "" {
					t.Errorf("%s of %s is not formatted (-gofmt +generated):\n%.3000s", f.Name, m.path, diff)
				}
			}
		}
	}
}

// lengths is a machine whose names are of very different lengths, on which the
// alignment of gofmt depends.
func lengths() string {
	var b strings.Builder
	b.WriteString("fsm: 1\nmachine: lengths\nentity: Lengths\notherwise: reject\nfields:\n  n: counter\nguards:\n")
	sizes := []int{14, 14, 48, 1, 3, 45, 2, 17, 18, 46, 50, 41, 39, 40, 6}
	name := func(prefix string, i int) string { return prefix + fmt.Sprint(i) + strings.Repeat("x", sizes[i]) }
	for i := range sizes {
		fmt.Fprintf(&b, "  %s: {when: n <= %d, error: %s}\n", name("g", i), i, name("e", i))
	}
	b.WriteString("states:\n")
	for i := range sizes {
		fmt.Fprintf(&b, "  %s: {}\n", name("s", i))
	}
	fmt.Fprintf(&b, "operations:\n  make: {creates: %s}\n", name("s", 0))
	for i := range sizes {
		fmt.Fprintf(&b, "  %s: {from: %s, to: %s, require: [%s]}\n", name("o", i), name("s", i), name("s", (i+1)%len(sizes)), name("g", i))
	}
	return b.String()
}
