package main

import (
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// whys says why rows are missed and what was tried, a line for each: its key, a colon,
// and the reason. People write it.
//
//go:embed whys.txt
var whys string

// report collects rows, and the tables behind them.
type report struct {
	rows    []row
	behind  strings.Builder
	figures map[string]string // that documents say
}

// row is a bar and the figures that are held to it.
type row struct {
	key, what, bar, got string
	met                 bool
}

// figure is one of them.
type figure struct {
	of    string // empty: it is the only one
	value float64
}

// atMost adds a row that is met when no figure is above the limit.
func (r *report) atMost(key, what string, limit float64, unit string, got ...figure) {
	r.add(key, what, "≤ "+number(limit)+unit, unit, func(v float64) bool { return v <= limit }, got)
}

// atLeast adds a row that is met when no figure is below the limit.
func (r *report) atLeast(key, what string, limit float64, unit string, got ...figure) {
	r.add(key, what, "≥ "+number(limit)+unit, unit, func(v float64) bool { return v >= limit }, got)
}

func (r *report) add(key, what, bar, unit string, met func(float64) bool, got []figure) {
	x := row{key: key, what: what, bar: bar, met: len(got) > 0}
	var parts []string
	for _, f := range got {
		x.met = x.met && met(f.value)
		parts = append(parts, strings.TrimSpace(f.of+" "+number(f.value)+unit))
	}
	x.got = strings.Join(parts, ", ")
	r.rows = append(r.rows, x)
	fmt.Fprintf(os.Stderr, "bench: %s: %s (%s)\n", what, x.got, bar)
}

// left adds a row that was not measured.
func (r *report) left(what, why string) {
	r.rows = append(r.rows, row{what: what, bar: "–", got: "not measured: " + why, met: true})
}

// figure notes what documents say.
func (r *report) figure(name, value string) {
	if r.figures == nil {
		r.figures = map[string]string{}
	}
	r.figures[name] = value
}

// table writes rows under a header; the first column is to the left.
func (r *report) table(title string, header []string, rows [][]string) {
	fmt.Fprintf(&r.behind, "## %s\n\n| %s |\n|---%s|\n", title, strings.Join(header, " | "), strings.Repeat("|--:",
		len(header)-1))
	for _, row := range rows {
		fmt.Fprintf(&r.behind, "| %s |\n", strings.Join(row, " | "))
	}
	r.behind.WriteString("\n")
}

// sides writes the figures of sides.
func (r *report) sides(title string, sides []*side) {
	var rows [][]string
	for _, s := range sides {
		var client, server, both []float64
		for _, t := range s.rounds {
			client, server, both = append(client, t.client), append(server, t.server), append(both, t.both())
		}
		rows = append(rows, []string{s.machine, s.name, fmt.Sprintf("%d × %d", s.processes, s.callers), number(s.of(rate)),
			number(s.of(turn.both)), spread(both), spread(client), spread(server)})
	}
	r.table(title, []string{"machine", "side", "processes × callers", "a second", "µs of processor", "from – to",
		"client's", "server's"}, rows)
}

func spread(values []float64) string {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return number(least) + " – " + number(most)
}

// page returns BENCHMARKS.md.
func (r *report) page(o options, took time.Duration, load string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Benchmarks

Written by `+"`make bench-report`"+`; do not edit. How each row is measured, and its figures in full:
[docs/evidence/benchmarks.md](docs/evidence/benchmarks.md).

    make bench-report               # writes both files on your machine (FORM=short: few rounds)
    make bench-smoke                # the guard of CI: allocations exactly, ratios with wide margins

Sides take turns within one run; a figure is the median of the ratios of %d rounds. *Cost* is processor time of clients
and server together, which repeats where a rate does not. *By hand* is as lean as the same promises allow: row, event,
request id, CHECKs, no trigger. "226093e" is this repository at that commit. Where no machine is named, it is lifecycle.

| | |
|---|---|
| processor, system | %s, %d for Go; %s/%s%s; %s |
| disk: a write of 8 kB and its fdatasync, p50 and p90 | %s |
| load average before, and after | %s; %s |
| took | %s |

## The bars

| what | bar | measured | |
|---|--:|---|---|
`, o.rounds, processor(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, kernel(), runtime.Version(), disk(o.scratch), load,
		loadAverage(), took.Round(time.Second))
	var missed []string
	why := map[string][]string{}
	bars := 0
	for _, x := range r.rows {
		verdict := "met"
		switch {
		case x.bar == "–":
			verdict = "–"
			bars--
		case !x.met:
			verdict = "**missed**"
			if why[x.key] == nil {
				missed = append(missed, x.key)
			}
			why[x.key] = append(why[x.key], x.what)
		}
		bars++
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", x.what, x.bar, x.got, verdict)
	}
	if len(missed) > 0 {
		b.WriteString("\n## Why rows are missed\n\n")
	}
	met := bars
	for _, key := range missed {
		met -= len(why[key])
		fmt.Fprintf(&b, "- *%s:* %s\n", strings.Join(why[key], "; "), reason(key))
	}
	r.figure("met", fmt.Sprint(met))
	r.figure("bars", fmt.Sprint(bars))
	return b.String()
}

// reason is what people wrote about a row that is missed.
func reason(key string) string {
	for line := range strings.Lines(whys) {
		if about, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && about == key {
			return why
		}
	}
	return "nobody has said why."
}

// number writes three digits that count.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 10_000:
		return count(int(v))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// count writes a number with blanks between thousands.
func count(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", count(n/1000), n%1000)
}
