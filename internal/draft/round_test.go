package draft

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// moves lists what a machine does: operation, from, to.
func moves(m *spec.Machine) []string {
	set := map[string]bool{}
	for _, v := range m.Moves() {
		from := "-"
		if s := v.Source(); s != nil {
			from = s.Name
		}
		set[v.Operation.Name+": "+from+" -> "+v.To.Name] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func stateNames(m *spec.Machine) (list []string) {
	for _, s := range m.States {
		list = append(list, s.Name)
	}
	return list
}

// What `fsmgen diagram` draws of the shipped machines has, read again, their states and moves.
func TestPicturesComeBack(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := validate.Source(file, src)
		if m == nil {
			t.Fatalf("%s has errors", file)
		}
		for _, detail := range []chart.Detail{chart.Brief, chart.Guards, chart.Full} {
			picture := chart.Mermaid(chart.At(m, detail))
			d, err := From(strings.NewReader(string(picture)), Options{File: "x.mmd"})
			if err != nil {
				t.Errorf("%s, %s: %v", file, detail, err)
				continue
			}
			again, found := validate.Source("x.yaml", d.Text)
			if found.HasErrors() {
				t.Fatalf("%s: %v\n%s", file, found, d.Text)
			}
			if diff := cmp.Diff(stateNames(m), stateNames(again)); diff != "" {
				t.Errorf("%s, %s: states (-machine +draft):\n%s", file, detail, diff)
			}
			if diff := cmp.Diff(moves(m), moves(again)); diff != "" {
				t.Errorf("%s, %s: moves (-machine +draft):\n%s\n%s", file, detail, diff, d.Text)
			}
		}
	}
}
