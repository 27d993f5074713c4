package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/bench/commands"
)

// rings are the numbers of states that generation is measured with, and modelled
// those that the model checker is shown as well.
var (
	rings    = []int{10, 50, 100, 200, 400, 1000, 2000}
	modelled = 400
)

// generationSection writes what a run of the compiler takes.
func generationSection(o options, r *report) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp(o.scratch, "fsmgen-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	if err := commands.Build(ctx, root, dir); err != nil {
		return err
	}
	fsmgen := filepath.Join(dir, "fsmgen")
	list := []commands.Command{{Name: "start", Args: []string{fsmgen, "--help"}}}
	sqlc, version, noSQLC := commands.SQLC(ctx, o.sqlc)
	bySQLC := func(name, table, schema string) error {
		if noSQLC != nil {
			return nil
		}
		in := filepath.Join(dir, "sqlc", name)
		list = append(list, commands.Command{Name: "sqlc " + name, Dir: in, Args: []string{sqlc, "generate"}, Out: filepath.Join(in, "out")})
		return commands.SQLProject(in, table, schema)
	}
	shipped := []string{"jobstate", "lifecycle", "execution", "task", "ingest"}
	for _, name := range shipped {
		path, out := filepath.Join(root, "specs", name+".yaml"), filepath.Join(dir, "out", name)
		list = append(list,
			commands.Command{Name: "gen " + name, Args: []string{fsmgen, "gen", path, "-o", out}, Out: out},
			commands.Command{Name: "check " + name, Args: []string{fsmgen, "check", path}},
			commands.Command{Name: "model " + name, Args: []string{fsmgen, "check", "--model", path}})
		schema, err := exec.CommandContext(ctx, fsmgen, "sql", "--dialect", "postgres", path).Output()
		if err != nil {
			return fmt.Errorf("fsmgen sql of %s: %w", name, err)
		}
		if err := bySQLC(name, name, string(schema)); err != nil {
			return err
		}
	}
	peers := []string{"stringer", "enumer"}
	for _, n := range rings {
		path, out := filepath.Join(dir, fmt.Sprintf("ring%d.yaml", n)), filepath.Join(dir, "out", fmt.Sprint(n))
		if err := os.WriteFile(path, []byte(commands.Ring(n)), 0o644); err != nil {
			return err
		}
		list = append(list,
			commands.Command{Name: fmt.Sprint("gen ", n), Args: []string{fsmgen, "gen", path, "-o", out}, Out: out},
			commands.Command{Name: fmt.Sprint("check ", n), Args: []string{fsmgen, "check", path}})
		if n <= modelled {
			list = append(list, commands.Command{Name: fmt.Sprint("model ", n), Args: []string{fsmgen, "check", "--model", path}})
		}
		if err := bySQLC(fmt.Sprint(n), "ring", commands.RingTables(n)); err != nil {
			return err
		}
		enums := filepath.Join(dir, fmt.Sprint("enum", n))
		if err := os.MkdirAll(enums, 0o755); err != nil {
			return err
		}
		for name, text := range map[string]string{"go.mod": "module ring\n\ngo 1.26\n", "ring.go": commands.Enum(n)} {
			if err := os.WriteFile(filepath.Join(enums, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		for _, peer := range peers {
			list = append(list, commands.Command{Name: fmt.Sprint(peer, " ", n), Dir: enums, Args: []string{filepath.Join(dir, peer), "-type=State", "-output=" + peer + "_out.go.txt"}})
		}
	}
	results, err := commands.Run(ctx, o.rounds, list)
	if err != nil {
		return err
	}
	of := func(name string) commands.Result {
		for _, x := range results {
			if x.Name == name {
				return x
			}
		}
		panic("bench: nobody measured " + name) // the names are made above
	}
	start := of("start").Median()
	r.printf(`## Generation

Whole processes, the files written anew and synced; to start one that does nothing takes %s. Proof: %s. *Model* plays
the machine in a hostile world up to its bounds. A ring has n states, n + 2 operations and so about n² cells, each of which stands in the matrix of
the generated test: with 2 000 states that file alone has 4 000 000 cells. Beside it, what stringer and enumer take for an enum
with as many values, which is one of the things that a generated package holds; they load the package with go list.
%s

`, milliseconds(start), "`fsmgen check` shows that each transition keeps what its target promises", besideSQLC(version, noSQLC))
	cell := func(name string) string {
		if noSQLC != nil && strings.HasPrefix(name, "sqlc ") {
			return "–"
		}
		x := of(name)
		return fmt.Sprintf("%s, %.0f MB", milliseconds(x.Median()), float64(x.Memory)/1e6)
	}
	var rows [][]string
	for _, name := range shipped {
		rows = append(rows, []string{name, cell("gen " + name), cell("check " + name), cell("model " + name), cell("sqlc " + name)})
		r.atMost("generation of "+name+", beyond the start of the process", inMilliseconds(of("gen "+name).Median()-start), 10, " ms")
	}
	r.table([]string{"machine", "gen", "check with proof", "check --model", "sqlc"}, rows)
	rows = nil
	for _, n := range rings {
		model := "–"
		if n <= modelled {
			model = cell(fmt.Sprint("model ", n))
		}
		gen := of(fmt.Sprint("gen ", n))
		row := []string{fmt.Sprint(n), cell(gen.Name), number(float64((gen.Median() - start).Microseconds()) / float64(n)), cell(fmt.Sprint("check ", n)), model}
		for _, peer := range peers {
			row = append(row, cell(fmt.Sprint(peer, " ", n)))
		}
		rows = append(rows, append(row, cell(fmt.Sprint("sqlc ", n))))
	}
	r.table([]string{"a ring of so many states", "gen", "µs a state", "check with proof", "check --model", peers[0], peers[1], "sqlc"}, rows)
	last := of(fmt.Sprint("gen ", rings[len(rings)-1]))
	r.atMost("generation of 2 000 states", last.Median().Seconds(), 1, " s")
	half := of("gen 1000")
	r.atMost("generation: processor time of 2 000 states / of 1 000 (4 is linear in cells)", float64(last.Work())/float64(half.Work()), 4, " ×")
	return nil
}

// besideSQLC says what sqlc does here, or why it is not shown.
func besideSQLC(version string, err error) string {
	if err != nil {
		return "sqlc is not beside it, for there was none: " + err.Error() + " (`go install github.com/sqlc-dev/sqlc/cmd/sqlc@latest`, or `-sqlc` and its path)."
	}
	return "sqlc " + version + " makes Go of five queries that a store asks: for a machine over its generated schema for PostgreSQL, for a ring over two tables by hand, " +
		"whose state is one of n words. Built without cgo, it starts its parser in WebAssembly, which takes most of its time."
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func milliseconds(d time.Duration) string { return number(inMilliseconds(d)) + " ms" }
