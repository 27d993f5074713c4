package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// beside compares this program with an earlier build of it, in turns: what a change gave.
func beside(ctx context.Context, l *lab, r *report, exe string, databases []string) error {
	var all []*side
	tell := func(what string, a, b *side) {
		b.name = "before"
		fmt.Fprintf(os.Stdout, "%s, %d × %d: cost %s (client's %s, server's %s), rate %s\n", what, a.processes, a.callers,
			number(a.to(b, turn.both)), number(a.to(b, func(t turn) float64 { return t.client })),
			number(a.to(b, func(t turn) float64 { return t.server })), number(a.to(b, rate)))
		all = append(all, a, b)
	}
	for _, database := range databases {
		if database == "jobs" {
			for _, x := range [][2]int{{1, 16}, {1, 100}, {4, 4}, {4, 25}} {
				for _, name := range []string{"ours", "ours, riverjob"} {
					a := &side{name: name, processes: x[0], callers: x[1]}
					b := &side{name: name, exe: exe, processes: x[0], callers: x[1]}
					if err := l.lives(ctx, a, b); err != nil {
						return err
					}
					tell("jobs, "+name, a, b)
				}
			}
			continue
		}
		for _, machine := range slices.Concat(machines, []string{"by id", "by one id", "read"}) {
			var sides []*side
			for _, x := range [][2]int{{1, 64}, {4, 16}, {1, 1}} {
				sides = append(sides, &side{name: now, processes: x[0], callers: x[1]}, &side{name: now, exe: exe,
					processes: x[0], callers: x[1]})
			}
			if err := l.measured(ctx, database, machine, sides...); err != nil {
				return err
			}
			for i := 0; i < len(sides); i += 2 {
				tell(database+", "+machine, sides[i], sides[i+1])
			}
		}
	}
	r.sides("Beside an earlier build", all)
	return nil
}
