package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/simulate"
)

// parts are the sections of the report, in its order.
var parts = []struct {
	name string
	run  func(o options, r *report) error
}{
	{"pure", pureSection},
	{"generation", generationSection},
	{"sqlite", sqliteSection},
	{"postgres", postgresSection},
	{"river", riverSection},
	{"growth", growthSection},
	{"load", loadSection},
	{"scale", scaleSection},
}

type options struct {
	root    string // of the repository
	rounds  int
	turn    time.Duration // of a load over a database, within a round
	jobs    int           // of a round of whole lives
	soak    time.Duration // how long the soak lasts
	records int           // the most that growth is measured with
	scratch string        // folder for databases; empty: the system's
	sqlc    string        // the program that generation is shown beside
}

func main() {
	var o options
	var out, only string
	var guard bool
	flag.StringVar(&o.root, "root", "../../..", "folder of the repository")
	flag.IntVar(&o.rounds, "rounds", 6, "rounds of each measurement")
	flag.DurationVar(&o.turn, "turn", 400*time.Millisecond, "how long a load over a database works within a round")
	flag.IntVar(&o.jobs, "jobs", 2000, "jobs of a round of whole lives, a multiple of 100")
	flag.IntVar(&o.records, "records", 1_000_000, "the most records that growth is measured with, a power of ten")
	flag.DurationVar(&o.soak, "soak", time.Minute, "how long the soak lasts")
	flag.StringVar(&o.scratch, "scratch", "", "folder for databases, on the disk to be measured; empty: the system's")
	flag.StringVar(&o.sqlc, "sqlc", "sqlc", "the sqlc to show generation beside, a path or a name in PATH")
	flag.StringVar(&out, "o", "", "write the report into this file; empty: the standard output")
	flag.StringVar(&only, "only", "", "sections to measure, by comma: "+strings.Join(partNames(), ", ")+"; empty: all")
	flag.BoolVar(&guard, "smoke", false, "measure a little and fail when a ratio is far below its floor")
	flag.Parse()
	do := func() error { return run(o, out, only) }
	if guard {
		do = func() error { return smoke(os.Stdout) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// run measures the sections and writes the report.
func run(o options, out, only string) error {
	chosen := partNames()
	if only != "" {
		chosen = strings.Split(only, ",")
		for _, name := range chosen {
			if !slices.Contains(partNames(), name) {
				return fmt.Errorf("-only names %q; write %s", name, strings.Join(partNames(), ", "))
			}
		}
	}
	r := &report{costs: map[string]simulate.Cost{}}
	if err := opening(o, r); err != nil {
		return err
	}
	for _, p := range parts {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: measuring %s\n", p.name)
		if err := p.run(o, r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	text, err := r.text(o)
	if err != nil {
		return err
	}
	if out == "" {
		_, err := os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}
