package enginetest

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	"github.com/fsmgen/fsmgen/runtime/fsmcases"
)

// RunTable holds a generated package against a table of its rules: every operation on every
// abstract record, and long walks over each store. It stops behind the first kind of test that
// fails: one fault has many faces. With -short it tries fewer cases and one walk over each store.
func RunTable[R any](t *testing.T, table Table, d fsmcases.Package[R]) {
	t.Helper()
	m, err := oracle.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	m.Short = testing.Short()
	s := &oracle.Suite[R]{M: m, D: d}
	for _, kind := range []struct {
		name string
		test func(*testing.T)
	}{
		{"cells", s.Cells}, {"inputs", s.Inputs}, {"forbidden", s.Forbidden}, {"invariants", s.Invariants},
		{"stateless", s.Stateless}, {"ends", s.Ends}, {"words", s.Words}, {"projection", s.Projection},
	} {
		if (kind.name != "projection" || table.Projection != nil) && !t.Run(kind.name, kind.test) {
			return
		}
	}
	walks := &world.Suite[R]{M: &world.Model{Model: m}, D: d}
	for _, st := range append([]fsmcases.Store{fsmcases.Memory}, d.Stores...) {
		if !t.Run(st.Name, func(t *testing.T) {
			if d.Descriptor.Schema.SQL[st.Name] != "" {
				st.Open(t) // where there is no server for it, all is skipped here, and said once
			}
			walks.Walks(t, world.Store{Name: st.Name, Open: st.Open})
		}) {
			return
		}
	}
	t.Logf("%s: %s, %d walks", table.Machine, s.Counts(), walks.DurableCount)
}
