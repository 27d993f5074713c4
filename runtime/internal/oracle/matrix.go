package oracle

import (
	"fmt"
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
	To   string // cellMove: the state
}

// NewColumn is the column of the matrix that says what a creation makes.
const NewColumn = "(new)"

// parseMatrix reads the matrix into cells by operation and column.
func parseMatrix(text string) (cells map[string]map[string]Cell, operations, columns []string, err error) {
	cells = map[string]map[string]Cell{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		parts := strings.Split(line, "|")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if columns == nil {
			if parts[0] != "" || len(parts) < 3 {
				return nil, nil, nil, fmt.Errorf("matrix: the first line is %q, expected a blank, `(new)` and the states", strings.TrimSpace(line))
			}
			columns = parts[1:]
			continue
		}
		if len(parts) != len(columns)+1 {
			return nil, nil, nil, fmt.Errorf("matrix: line %q has %d columns, expected %d", parts[0], len(parts)-1, len(columns))
		}
		if cells[parts[0]] != nil {
			return nil, nil, nil, fmt.Errorf("matrix: operation %q has two lines", parts[0])
		}
		row := map[string]Cell{}
		for i, text := range parts[1:] {
			c, err := parseCell(text)
			if err != nil {
				return nil, nil, nil, fmt.Errorf("matrix: %s in %s: %w", parts[0], columns[i], err)
			}
			row[columns[i]] = c
		}
		cells[parts[0]] = row
		operations = append(operations, parts[0])
	}
	return cells, operations, columns, nil
}

func parseCell(text string) (Cell, error) {
	switch text {
	case ".":
		return Cell{}, nil
	case "refused":
		return Cell{Kind: CellRefused}, nil
	case "record only":
		return Cell{Kind: CellRecordOnly}, nil
	case "choose":
		return Cell{Kind: CellChoose}, nil
	}
	if to, ok := strings.CutPrefix(text, "-> "); ok {
		return Cell{Kind: CellMove, To: to}, nil
	}
	return Cell{}, fmt.Errorf("%q is no cell: expected `-> state`, `choose`, `record only`, `refused` or `.`", text)
}
