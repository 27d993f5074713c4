package faults

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// Row is one line of the table of figures.
type Row struct {
	Test    string `json:"test"`    // what was done
	Store   string `json:"store"`   // to what
	Figures string `json:"figures"` // how often, and what came out
	Control string `json:"control"` // what the same test found in something wrong
	How     string `json:"how"`     // how the fault was made

	Took   time.Duration `json:"took"`   // the test, its control included
	Longer float64       `json:"longer"` // in the short form: how many times as much the long form does; 0: as much
}

// Longer is how many times as often the long form makes a fault.
func Longer(short, long int) float64 { return float64(long) / float64(short) }

// tableEnv names the file that gets a line of JSON for each row.
const tableEnv = "FSMGEN_FAULTS_TABLE"

// Report logs the row, and adds it to the table that `make faults` prints.
func Report(t testing.TB, r Row) {
	t.Helper()
	t.Logf("%s · %s: %s (control: %s; made by %s)", r.Test, r.Store, r.Figures, r.Control, r.How)
	if Long() {
		r.Longer = 0
	}
	path := os.Getenv(tableEnv)
	if path == "" || t.Failed() {
		return
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
