package enginetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
	"github.com/fsmgen/fsmgen/spec"
)

// Run judges a package by its specification, which lies where the package says. Engine is what
// only these suites call of an opened machine.
func Run[R any](t *testing.T, d fsmcases.Package[R], engine func(machine any) *Engine[R]) {
	t.Helper()
	m := specified(t, d.Spec)
	cases, err := world.ReadCases(m, d.Cases, d.Checks)
	if err != nil {
		t.Fatal(err)
	}
	s := &world.Suite[R]{M: m, D: d, Cases: cases, Engine: engine}
	for _, st := range d.Stores {
		s.Stores = append(s.Stores, world.Store{Name: st.Name, Open: st.Open, Shared: shared[st.Name]})
	}
	t.Run("records", func(t *testing.T) { records(s, t) })
	t.Run("schema", func(t *testing.T) { schema(s, t) })
	t.Run("queries", func(t *testing.T) { queries(s, t) })
	t.Run("imports", func(t *testing.T) { imports(s, t) })
	for _, st := range append([]world.Store{world.Memory}, s.Stores...) {
		t.Run(st.Name, func(t *testing.T) { durable(s, t, st) })
	}
	t.Logf("%s: engine: %d durable cases, %d attempts past the engine, %d calls by name", m.Name, s.DurableCount, s.PromptCount, s.NamedCount)
}

// specified reads the specification of a package.
func specified(t *testing.T, path string) *spec.Machine {
	t.Helper()
	src, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatalf("the specification of the package: %v", err)
	}
	m, found := spec.Parse(path, src)
	if m == nil {
		t.Fatal(found)
	}
	return m
}

// durable runs the suites of the durable layer over one store.
func durable[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	if s.D.Descriptor.Schema.SQL[st.Name] != "" { // it keeps the records in a database
		st.Open(t) // where there is no server for it, all is skipped here, and said once
		t.Run("prompt", func(t *testing.T) { promptOf(s, t, st) })
		t.Run("plans", func(t *testing.T) { plans(s, t, st) })
	}
	t.Run("walks", func(t *testing.T) { walks(s, t, st) })
	t.Run("batches", func(t *testing.T) { batches(s, t, st) })
	t.Run("effects", func(t *testing.T) { effects(s, t, st) })
	t.Run("reading", func(t *testing.T) { reading(s, t, st) })
	if len(s.M.Lookups) > 0 {
		t.Run("lookups", func(t *testing.T) { lookups(s, t, st) })
	}
	t.Run("handles", func(t *testing.T) { handles(s, t, st) })
	t.Run("joined", func(t *testing.T) { joined(s, t, st) })
}
