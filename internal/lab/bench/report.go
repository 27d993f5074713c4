package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsmgen/fsmgen/internal/lab/bench/simulate"
)

// report collects the sections and the bars, which are judged together.
type report struct {
	head     strings.Builder
	sections strings.Builder
	bars     []bar
	costs    map[string]simulate.Cost // of a batch of transitions, by database, where it was measured
}

// bar is a figure beside what it should be.
type bar struct {
	what string
	want string
	got  string
	met  bool
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.sections, format, args...) }

// table writes rows under a header; the first column is to the left, the others
// to the right.
func (r *report) table(header []string, rows [][]string) {
	r.printf("| %s |\n|---%s|\n", strings.Join(header, " | "), strings.Repeat("|--:", len(header)-1))
	for _, row := range rows {
		r.printf("| %s |\n", strings.Join(row, " | "))
	}
	r.printf("\n")
}

// atMost adds a bar that is met up to the limit, and atLeast one from it on.
func (r *report) atMost(what string, got, limit float64, unit string) {
	r.bars = append(r.bars, bar{what, "≤ " + number(limit) + unit, number(got) + unit, got <= limit})
}

func (r *report) atLeast(what string, got, limit float64, unit string) {
	r.bars = append(r.bars, bar{what, "≥ " + number(limit) + unit, number(got) + unit, got >= limit})
}

// text returns the whole report: what was measured where, the bars, the
// sections, and the notes that people wrote beside it.
func (r *report) text(o options) (string, error) {
	var b strings.Builder
	b.WriteString(r.head.String())
	b.WriteString("## The bars\n\n| what | bar | measured | |\n|---|--:|--:|---|\n")
	for _, x := range r.bars {
		verdict := "met"
		if !x.met {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", x.what, x.want, x.got, verdict)
	}
	b.WriteString("\n" + r.sections.String())
	notes, err := os.ReadFile(filepath.Join(o.root, "internal/lab/bench/NOTES.md"))
	if err != nil {
		return "", err
	}
	b.Write(notes)
	return b.String(), nil
}

// number writes three digits that count.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100_000:
		return fmt.Sprintf("%.0f 000", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}
