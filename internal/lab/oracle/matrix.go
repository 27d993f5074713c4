package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// cellKind says what an operation does in a state.
type cellKind uint8

const (
	cellNone cellKind = iota // "."
	CellRefused
	CellRecordOnly
	CellMove
	CellChoose
)

// Cell is what an operation does in a state.
type Cell struct {
	Kind cellKind
	To   string // of CellMove: the state
}

// NewColumn is the column of the matrix that says what a creation makes.
const NewColumn = "(new)"

// readMatrix reads what each operation of the table does, by columns.
func (m *Model) readMatrix() (rows []map[string]Cell, err error) {
	columns := []string{"", NewColumn}
	for _, s := range m.StateOrder {
		columns = append(columns, s.Name)
	}
	head := false
	for line := range strings.Lines(m.Matrix) {
		parts := split(line, "|")
		switch n := len(rows); {
		case len(parts) == 1 && parts[0] == "":
			continue
		case !head && !slices.Equal(parts, columns):
			return nil, fmt.Errorf("matrix: the columns are %q, expected the states of the table: %q", parts, columns)
		case !head:
			head = true
			continue
		case n == len(m.Operations) || parts[0] != m.Operations[n].Name:
			return nil, fmt.Errorf("matrix: line %d is %q, expected the operations of the table", n+1, parts[0])
		case len(parts) != len(columns):
			return nil, fmt.Errorf("matrix: line %q has %d columns, expected %d", parts[0], len(parts), len(columns))
		}
		row := map[string]Cell{}
		for i, text := range parts[1:] {
			if row[columns[i+1]], err = m.readCell(text); err != nil {
				return nil, fmt.Errorf("matrix: %s in %s: %w", parts[0], columns[i+1], err)
			}
		}
		rows = append(rows, row)
	}
	if len(rows) < len(m.Operations) {
		return nil, fmt.Errorf("matrix: operation %q has no line", m.Operations[len(rows)].Name)
	}
	return rows, nil
}

func (m *Model) readCell(text string) (Cell, error) {
	words := map[string]cellKind{".": cellNone, "refused": CellRefused, "record only": CellRecordOnly, "choose": CellChoose}
	if kind, ok := words[text]; ok {
		return Cell{Kind: kind}, nil
	}
	to, ok := strings.CutPrefix(text, "-> ")
	switch {
	case !ok:
		return Cell{}, fmt.Errorf("%q is no cell: expected `-> state`, `choose`, `record only`, `refused` or `.`", text)
	case m.StateByName[to] == nil:
		return Cell{}, fmt.Errorf("%q is not a state of the machine", to)
	}
	return Cell{Kind: CellMove, To: to}, nil
}
