package enginetest

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
)

// Run runs what fsmcases.Run leaves out, over the same table and the same driver; engine
// is what only these suites call, and lookups are those of the specification.
func Run[R any](t *testing.T, table Table, d fsmcases.Package[R], engine func(machine any) *Engine[R], lookups ...Lookup) {
	t.Helper()
	m, err := world.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	m.Lookups = lookups
	s := &world.Suite[R]{M: m, D: d, Engine: engine, Audit: audited[R]}
	for _, st := range d.Stores {
		s.Stores = append(s.Stores, world.Store{Name: st.Name, Open: st.Open, Shared: shared[st.Name]})
	}
	if *traceFile != "" {
		traced := *s
		trace(&traced, t)
	}
	t.Run("records", func(t *testing.T) { records(s, t) })
	t.Run("schema", func(t *testing.T) { schema(s, t) })
	t.Run("queries", func(t *testing.T) { queries(s, t) })
	t.Run("imports", func(t *testing.T) { imports(s, t) })
	for _, st := range append([]world.Store{world.Memory}, s.Stores...) {
		t.Run(st.Name, durable(s, st))
	}
	t.Logf("%s: engine: %d durable cases, %d attempts past the engine", table.Machine, s.DurableCount, s.PromptCount)
}
