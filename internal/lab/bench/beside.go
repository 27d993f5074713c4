package main

import (
	"context"
	"fmt"
	"os"
)

// beside compares this program with an earlier build of it, in turns: what a change gave.
func beside(ctx context.Context, l *lab, r *report, exe string, databases []string) error {
	var all []*side
	for _, database := range databases {
		for _, machine := range machines {
			var sides []*side
			for _, x := range [][2]int{{1, 64}, {4, 16}, {1, 1}} {
				sides = append(sides, &side{name: now, processes: x[0], callers: x[1]}, &side{name: now, exe: exe,
					processes: x[0], callers: x[1]})
			}
			if err := l.measured(ctx, database, machine, sides...); err != nil {
				return err
			}
			for i := 0; i < len(sides); i += 2 {
				a, b := sides[i], sides[i+1]
				b.name = "before"
				fmt.Fprintf(os.Stdout, "%s, %s, %d × %d: cost %s (client's %s, server's %s), rate %s\n", database, machine, a.processes,
					a.callers,
					number(a.to(b, turn.both)), number(a.to(b, func(t turn) float64 { return t.client })),
					number(a.to(b, func(t turn) float64 { return t.server })), number(a.to(b, rate)))
			}
			all = append(all, sides...)
		}
	}
	r.sides("Beside an earlier build", all)
	return nil
}
