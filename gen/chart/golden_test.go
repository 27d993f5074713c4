package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fsmgen/fsmgen/spec"
)

var update = flag.Bool("update", false, "write the goldens anew")

// machine reads a specification.
func machine(t *testing.T, file string) *spec.Machine {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, found := spec.Parse(file, src)
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// shipped are the machines of the repository, by name.
func shipped(t *testing.T) map[string]*spec.Machine {
	t.Helper()
	files, err := filepath.Glob("../../specs/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d specifications, expected five: %v", len(files), err)
	}
	ms := make(map[string]*spec.Machine)
	for _, f := range files {
		ms[strings.TrimSuffix(filepath.Base(f), ".yaml")] = machine(t, f)
	}
	return ms
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s changed; run with -update if that is meant (-want +got):\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		for _, f := range Formats {
			got := f.Write(Of(m))
			golden(t, name+"."+f.Name+f.Ext, got)
			if diff := cmp.Diff(string(got), string(f.Write(Of(m)))); diff != "" {
				t.Errorf("%s of %s is not the same twice:\n%s", f.Name, name, diff)
			}
		}
	}
}

// With less detail: a machine without groups, one with many, and one in regions.
func TestGoldenOfDetails(t *testing.T) {
	t.Parallel()
	order := machine(t, "testdata/order.yaml")
	regions := Regions(order)
	for name, c := range map[string]*Chart{
		"order.regions":      Index(order, regions),
		"order.region":       regions[2].Chart(order, Brief),
		"lifecycle.brief":    At(machine(t, "../../specs/lifecycle.yaml"), Brief),
		"lifecycle.normal":   At(machine(t, "../../specs/lifecycle.yaml"), Guards),
		"givesup.brief":      At(machine(t, "../testdata/scenarios/givesup.yaml"), Brief),
		"givesup.full":       Of(machine(t, "../testdata/scenarios/givesup.yaml")),
		"taskinstance.brief": At(machine(t, "../../examples/machines/taskinstance.yaml"), Brief),
	} {
		for _, f := range Formats {
			golden(t, name+"."+f.Name+f.Ext, f.Write(c))
		}
	}
}

// Each text says what the machine has: every state, operation and guard.
func TestComplete(t *testing.T) {
	t.Parallel()
	for name, m := range shipped(t) {
		for _, f := range Formats {
			got := string(f.Write(Of(m)))
			want := func(kind, word string) {
				if !strings.Contains(got, word) {
					t.Errorf("%s of %s lacks the %s %s", f.Name, name, kind, word)
				}
			}
			for _, s := range m.States {
				want("state", s.Name)
			}
			for _, o := range m.Operations {
				want("operation", o.Name)
			}
			for _, o := range m.Operations {
				for _, r := range o.Require {
					want("guard", r.Guard.Name)
				}
			}
		}
	}
}

// Headers mark files as ours, so each text has one near its beginning.
func TestHeader(t *testing.T) {
	t.Parallel()
	for _, f := range Formats {
		got := string(f.Write(Of(machine(t, "../../specs/task.yaml"))))
		if lines := strings.SplitN(got, "\n", 9); !strings.Contains(strings.Join(lines[:8], "\n"), Header) {
			t.Errorf("%s: no header within eight lines:\n%s", f.Name, got)
		}
	}
}
