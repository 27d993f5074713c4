// Package main measures how strong the tests are that fsmgen generates.
//
// It makes mutants of the generated Go code and SQL of the five machines, and
// of the checks that live in the runtime: every guard, validation and invariant
// left out or turned around, every assignment and counter step left out, every
// target, event and column exchanged, every bound moved by one. It runs the
// generated tests on each mutant, and lists those that no test notices.
//
// All mutants of a package are in one binary behind a switch, so that a
// thousand take minutes. The tree is not touched: the compiler reads the
// mutated files through an overlay.
//
// A mutant that changes nothing a test could see is named in equivalent.txt
// with the reason. The exit status is 1 when a mutant survives that is not
// there, and when one is there that a test kills or that does not exist.
//
// What it does not do: it makes no mutants of the generator, whose work is
// compared with the interpreter elsewhere, and it does not measure the
// hand-written tests of the examples.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/mutants"
)

// judging is the pattern of the tests that judge a generated package, to compare two kinds of them.
var judging = flag.String("run", "", "judge generated packages by the tests of this pattern alone")

func main() {
	only := flag.String("only", "", "judge only groups whose name contains this text (several: with commas)")
	match := flag.String("mutant", "", "judge only mutants whose name contains this text")
	parallel := flag.Int("parallel", 2, "how many mutants are judged at the same time")
	verbose := flag.Bool("v", false, "print every mutant with what killed it")
	flag.Parse()
	ok, err := run(os.Stdout, *only, *match, *parallel, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run judges the groups and reports. It returns whether nothing is left to do.
func run(w io.Writer, only, match string, parallel int, verbose bool) (bool, error) {
	root, err := moduleRoot()
	if err != nil {
		return false, err
	}
	list, err := mutants.ReadEquivalents(filepath.Join(root, "internal", "lab", "mutate", "equivalent.txt"))
	if err != nil {
		return false, err
	}
	scratch, err := os.MkdirTemp("", "fsmgen-mutate-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	wanted := func(name string) bool {
		return slices.ContainsFunc(strings.Split(only, ","), func(s string) bool { return strings.Contains(name, s) })
	}
	var ends []func()
	atEnd := func(f func()) { ends = append(ends, f) }
	defer func() {
		for _, f := range ends {
			f()
		}
	}()
	var table []*tally
	ok, judged := true, map[string]bool{}
	for _, src := range sources() {
		if !slices.ContainsFunc(src.groups, wanted) {
			continue
		}
		groups, err := src.make(root, scratch, wanted, atEnd)
		if err != nil {
			return false, err
		}
		for _, g := range groups {
			if !wanted(g.name) {
				continue
			}
			judged[g.name] = true
			t, good := judgeGroup(w, root, g, list, match, parallel, verbose)
			table = append(table, t)
			ok = ok && good
		}
	}
	for _, e := range list {
		covered := slices.ContainsFunc(slices.Collect(maps.Keys(judged)), func(group string) bool {
			match, _ := filepath.Match(e.Where, group)
			return match
		})
		if match == "" && covered && !e.Used && only == "" {
			fmt.Fprintf(w, "equivalent.txt:%d: there is no such mutant: %s: %s\n", e.Line, e.Where, e.Pattern)
			ok = false
		}
	}
	printTable(w, table)
	return ok, nil
}

// judgeGroup runs every mutant of a group.
func judgeGroup(w io.Writer, root string, g *group, list []*mutants.Equivalent, match string, parallel int, verbose bool) (*tally, bool) {
	some := slices.DeleteFunc(slices.Clone(g.mutants), func(m *mutants.Mutant) bool { return !strings.Contains(m.Name(), match) })
	t := &tally{name: g.name, mutants: len(some), killers: map[string]int{}}
	fmt.Fprintf(w, "%s: %d mutants\n", g.name, len(some))
	good := true
	start := time.Now()
	work(root, parallel, len(some),
		func(i int) []string { return g.env(some[i]) },
		func(i int) []*judge { return g.judges(some[i]) },
		func(i int, v verdict) {
			m := some[i]
			known := slices.IndexFunc(list, func(e *mutants.Equivalent) bool { return e.Matches(g.name, m.Name()) })
			if known >= 0 {
				list[known].Used = true
			}
			switch {
			case v.killer != "" && known >= 0:
				good = false
				t.killed++
				fmt.Fprintf(w, "stale     %s: %s:%d %s: equivalent.txt:%d says that nothing notices it, %s does (%s)\n", g.name, m.File, m.Line, m.Name(), list[known].Line, v.killer, v.how)
			case v.killer != "":
				t.killed++
				if verbose {
					fmt.Fprintf(w, "killed    %s: %s:%d %s by %s: %s\n", g.name, m.File, m.Line, m.Name(), v.killer, v.how)
				}
			case known >= 0:
				t.equivalent++
			default:
				good = false
				t.survivors++
				fmt.Fprintf(w, "SURVIVOR  %s: %s:%d %s\n", g.name, m.File, m.Line, m.Name())
			}
			if v.killer != "" {
				t.killers[v.killer]++
			}
		})
	t.took = time.Since(start)
	return t, good
}

// printTable prints one line for each group, and the sum.
func printTable(w io.Writer, table []*tally) {
	sum := &tally{name: "all"}
	fmt.Fprintf(w, "\n%-22s %8s %8s %11s %10s %8s\n", "", "mutants", "killed", "equivalent", "survivors", "time")
	line := func(t *tally) {
		fmt.Fprintf(w, "%-22s %8d %8d %11d %10d %8s\n", t.name, t.mutants, t.killed, t.equivalent, t.survivors, t.took.Round(time.Second))
	}
	killers := map[string]int{}
	for _, t := range table {
		line(t)
		sum.mutants += t.mutants
		sum.killed += t.killed
		sum.equivalent += t.equivalent
		sum.survivors += t.survivors
		sum.took += t.took
		for k, n := range t.killers {
			killers[k] += n
		}
	}
	line(sum)
	fmt.Fprintln(w, "\nkilled by")
	for _, k := range slices.Sorted(maps.Keys(killers)) {
		fmt.Fprintf(w, "%8d  %s\n", killers[k], k)
	}
	if n := sum.mutants - sum.equivalent; n > 0 {
		fmt.Fprintf(w, "\nmutation score: %.1f %% (%d of %d mutants that change behaviour)\n", 100*float64(sum.killed)/float64(n), sum.killed, n)
	}
}

// source makes groups that share a binary.
type source struct {
	groups []string
	make   func(root, scratch string, wanted func(group string) bool, atEnd func(func())) ([]*group, error)
}

// sources returns all that is mutated.
func sources() []source {
	var list []source
	for _, dir := range machines {
		name := filepath.Base(dir)
		list = append(list, source{
			groups: []string{"pure/" + name, "durable/" + name, "handles/" + name, "sql/" + name},
			make: func(root, scratch string, wanted func(string) bool, _ func(func())) ([]*group, error) {
				return machineGroups(root, scratch, dir, wanted)
			},
		})
	}
	var files []string
	for _, e := range engineFiles {
		files = append(files, e.group())
	}
	return append(list, source{groups: files, make: engineGroups})
}
