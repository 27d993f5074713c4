package gen

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/spec"
)

// The runtime knows the column of a pick by one name, which stands in each dialect.
func TestParkingOfALongName(t *testing.T) {
	t.Parallel()
	m, found := spec.Parse("long.yaml", []byte(`
fsm: 1
machine: long
entity: Long
otherwise: reject
fields:
  due: optional time
guards:
  time_has_come: {when: due <= now, error: too_early}
states: {open: {}, shut: {terminal: true}}
operations:
  make: {creates: open, set: {due: input or absent}}
  `+strings.Repeat("take_", 20)+`it: {from: open, to: shut, next: {order: [created_at]}, require: [time_has_come]}
`))
	if found.HasErrors() {
		t.Fatal(found)
	}
	column := FactsOf(m).Parkings[0].Column
	if len(column) > maxColumn {
		t.Errorf("%s has %d bytes", column, len(column))
	}
	for name, text := range filesOf(t, m, Options{}) {
		if strings.HasSuffix(name, ".sql") && !strings.Contains(text, quoteName(column)+" ") {
			t.Errorf("the schema %s has no column %s", name, column)
		}
	}
}
