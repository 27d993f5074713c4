package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/child"
	"github.com/fsmgen/fsmgen/internal/lab/bench/hand"
	"github.com/fsmgen/fsmgen/internal/lab/bench/jobs"
	"github.com/fsmgen/fsmgen/internal/lab/bench/ours"
)

// parts are what is measured, in the order of the rows.
var parts = []struct {
	name string
	run  func(ctx context.Context, l *lab, r *report) error
}{
	{"postgres", postgresRows},
	{"jobs", jobRows},
	{"claims", claimRows},
	{"latency", latencyRow},
	{"sqlite", sqliteRows},
	{"memory", memoryRows},
	{"tool", toolRows},
	{"growth", growthRow},
	{"cores", coresRow},
}

type options struct {
	root    string        // of the repository
	rounds  int           // of each comparison
	turn    time.Duration // of a side within a round
	jobs    int           // of a turn of whole lives
	records int           // that growth is measured with
	waits   int           // jobs that latency is measured with
	scratch string        // folder for databases; empty: the system's
	short   bool
	alone   bool // nothing of an earlier commit is measured
}

func main() {
	// A child is this program with one argument, a config.
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "{") {
		fail(serve(context.Background(), os.Args[1]))
		return
	}
	o := options{}
	var out, only, before string
	var guard bool
	flag.StringVar(&o.root, "root", "../../..", "folder of the repository")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each comparison")
	flag.DurationVar(&o.turn, "turn", 400*time.Millisecond, "how long a side works within a round")
	flag.IntVar(&o.jobs, "jobs", 2000, "jobs of a turn of whole lives")
	flag.IntVar(&o.records, "records", 1_000_000, "records that growth is measured with")
	flag.IntVar(&o.waits, "waits", 300, "jobs that latency is measured with")
	flag.StringVar(&o.scratch, "scratch", "", "folder for databases, on the disk to be measured; empty: the system's")
	flag.BoolVar(&o.short, "short", false, "few rounds and records, and nothing that takes minutes")
	flag.StringVar(&out, "o", "", "folder of BENCHMARKS.md and the documents with its figures; empty: print")
	flag.StringVar(&only, "only", "", "what to measure, by comma: "+strings.Join(names(), ", ")+"; empty: all")
	flag.StringVar(&before, "beside", "",
		"an earlier build of this program, to be compared with this one instead of all else; -only names databases, or jobs")
	flag.BoolVar(&guard, "smoke", false, "measure a little and fail when a ratio is far from its bar")
	flag.Parse()
	if o.short {
		o.rounds, o.turn, o.jobs, o.records, o.waits = min(o.rounds, 3), min(o.turn, 250*time.Millisecond), min(o.jobs,
			1000), min(o.records, 100_000), min(o.waits, 100)
	}
	if guard {
		fail(smoke(context.Background(), o, os.Stdout))
		return
	}
	fail(run(context.Background(), o, out, only, before))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serve runs as a process of a side.
func serve(ctx context.Context, config string) error {
	var c child.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	if c.Machine == "jobs" {
		return jobs.Run(ctx, c)
	}
	if c.Side == byHand {
		return hand.Run(ctx, c)
	}
	return ours.Run(ctx, c)
}

func names() (list []string) {
	for _, p := range parts {
		list = append(list, p.name)
	}
	return list
}

// run measures and writes the report.
func run(ctx context.Context, o options, out, only, before string) (err error) {
	chosen := names()
	if only != "" {
		chosen = strings.Split(only, ",")
		for _, name := range chosen {
			if !slices.Contains(names(), name) {
				return fmt.Errorf("-only names %q; write %s", name, strings.Join(names(), ", "))
			}
		}
	}
	begun, load := time.Now(), loadAverage()
	o.alone = before != ""
	l, err := newLab(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.end()) }()
	var r report
	if before != "" {
		err := beside(ctx, l, &r, before, chosen)
		_, _ = fmt.Fprintln(os.Stdout, r.behind.String())
		return err
	}
	for _, p := range parts {
		if slices.Contains(chosen, p.name) {
			if err := p.run(ctx, l, &r); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	page := r.page(o, time.Since(begun), load)
	if out == "" {
		_, err := fmt.Fprintln(os.Stdout, page+"\n"+r.behind.String())
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "BENCHMARKS.md"), []byte(page), 0o644); err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(out, "docs", "evidence", "benchmarks.md"), []byte(method+r.behind.String()), 0o644)
	return errors.Join(err, fill(out, r.figures))
}
