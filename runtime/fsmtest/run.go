package fsmtest

import (
	"testing"

	"github.com/fsmgen/fsmgen/runtime/internal/oracle"
)

// Run runs all tests of one generated package.
func Run[R any](t *testing.T, table Table, d Driver[R]) {
	t.Helper()
	m, err := oracle.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	s := &oracle.Suite[R]{M: m, D: d}
	t.Run("cells", s.Cells)
	t.Run("inputs", s.Inputs)
	t.Run("forbidden", s.Forbidden)
	t.Run("invariants", s.Invariants)
	t.Run("stateless", s.Stateless)
	t.Run("ends", s.Ends)
	t.Run("words", s.Words)
	if table.Projection != nil {
		t.Run("projection", s.Projection)
	}
	for _, st := range append([]Store{oracle.Memory}, d.Stores...) {
		t.Run(st.Name, func(t *testing.T) {
			if d.Descriptor.Schema.SQL[st.Name] != "" {
				st.Open(t) // where there is no server for it, all is skipped here, and said once
			}
			s.Walks(t, st)
		})
	}
	t.Logf("%s: %s", table.Machine, s.Counts())
}
