package fsmtest

import (
	"testing"
)

// Run runs all tests of one generated package.
func Run[R any](t *testing.T, table Table, d Driver[R]) {
	t.Helper()
	m, err := compile(table)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite[R]{m: m, d: d}
	if *traceFile != "" {
		(&suite[R]{m: m, d: d}).trace(t)
	}
	t.Run("cells", s.cells)
	t.Run("inputs", s.inputs)
	t.Run("forbidden", s.forbidden)
	t.Run("invariants", s.invariants)
	t.Run("stateless", s.stateless)
	t.Run("classify", s.classify)
	t.Run("ends", s.ends)
	t.Run("records", s.records)
	t.Run("schema", s.schema)
	t.Run("words", s.words)
	if m.Projection != nil {
		t.Run("projection", s.projection)
	}
	t.Run("queries", s.queries)
	for _, st := range append([]Store{Memory}, d.Stores...) {
		t.Run(st.Name, s.durable(st))
	}
	t.Logf("%s: %s", table.Machine, s.counts())
}

// suite is one run of the tests, with what it has counted.
type suite[R any] struct {
	m    *model
	d    Driver[R]
	note func(TraceLine) // where a trace is written; nil without one

	cellCount, caseCount, soundCount, recordCount, durableCount, groupCount, promptCount int

	ways map[string]int
}
