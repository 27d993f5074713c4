// Package main prints the rows that tests of faults have reported, as one table.
//
//	go run ./internal/lab/faults/table FILE
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/faults"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: table FILE")
		os.Exit(2)
	}
	f, err := os.Open(os.Args[1])
	if err == nil {
		err = write(os.Stdout, f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// write prints the rows in the order of the tests; the last of the same test
// and store counts.
func write(w io.Writer, r io.Reader) error {
	var order []string
	rows := map[string]faults.Row{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row faults.Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return err
		}
		key := row.Test + "\x00" + row.Store
		if _, ok := rows[key]; !ok {
			order = append(order, key)
		}
		rows[key] = row
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if len(order) == 0 {
		return fmt.Errorf("no test has reported anything")
	}
	if _, err := fmt.Fprint(w, "| test | store | figures | control | how | took |\n|---|---|---|---|---|---|\n"); err != nil {
		return err
	}
	var took, long time.Duration
	for _, key := range order {
		row := rows[key]
		cells := []string{row.Test, row.Store, row.Figures, row.Control, row.How, row.Took.Round(time.Second / 10).String()}
		took += row.Took
		if row.Longer > 0 {
			estimate := time.Duration(float64(row.Took) * row.Longer)
			long += estimate
			cells[5] += fmt.Sprintf("; the long form about %v", estimate.Round(time.Second))
		} else {
			long += row.Took
		}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	note := fmt.Sprintf("%d rows, %v one after the other", len(order), took.Round(time.Second))
	if long > took {
		note += fmt.Sprintf("; the long form about %v at most, for here they shared the machine", long.Round(time.Second))
	}
	_, err := fmt.Fprintf(w, "\n%s.\n", note)
	return err
}
