package main

import "context"

// The sides, by their names.
const (
	now    = "fsmgen"
	then   = "226093e"
	byHand = "by hand"
)

// machines are those that transitions are measured with; the first one is what a row
// speaks of that names none.
var machines = []string{"lifecycle", "paymentintent", "taskinstance", "account"}

// measured lets the sides of one machine take turns.
func (l *lab) measured(ctx context.Context, database, machine string, sides ...*side) error {
	for _, s := range sides {
		s.machine, s.database = machine, database
	}
	return l.compare(ctx, sides...)
}

// postgresRows compares transitions on PostgreSQL.
func postgresRows(ctx context.Context, l *lab, r *report) error {
	if l.dsn == "" {
		r.left("PostgreSQL", "there is no server")
		return nil
	}
	var toThen, toHand, spreadOut, alone, aloneThen []figure
	var many, few []*side
	for _, machine := range machines {
		one, four := &side{name: now, processes: 1, callers: 64}, &side{name: now, processes: 4, callers: 16}
		hand, hand4 := &side{name: byHand, processes: 1, callers: 64}, &side{name: byHand, processes: 4, callers: 16}
		sides := []*side{one, hand, four, hand4}
		old, old4 := &side{name: then, exe: l.then, processes: 1, callers: 64}, &side{name: then, exe: l.then,
			processes: 4, callers: 16}
		if l.then != "" {
			sides = append(sides, old, old4)
		}
		if err := l.measured(ctx, "postgres", machine, sides...); err != nil {
			return err
		}
		many = append(many, sides...)
		if l.then != "" {
			toThen = append(toThen, figure{machine, one.to(old, turn.both)}, figure{"4 processes", four.to(old4, turn.both)})
		}
		toHand = append(toHand, figure{machine, one.to(hand, turn.both)}, figure{"4 processes", four.to(hand4, turn.both)})
		spreadOut = append(spreadOut, figure{machine, four.to(one, turn.both)})
		caller, cte := &side{name: now, processes: 1, callers: 1}, &side{name: byHand, processes: 1, callers: 1}
		caller4, cte4 := &side{name: now, processes: 4, callers: 1}, &side{name: byHand, processes: 4, callers: 1}
		sides = []*side{caller, cte, caller4, cte4}
		oldCaller := &side{name: then, exe: l.then, processes: 1, callers: 1}
		if l.then != "" {
			sides = append(sides, oldCaller)
		}
		if err := l.measured(ctx, "postgres", machine, sides...); err != nil {
			return err
		}
		few = append(few, sides...)
		if l.then != "" {
			aloneThen = append(aloneThen, figure{machine, caller.to(oldCaller, turn.both)})
		}
		if machine == machines[0] {
			for name, s := range map[string]*side{"cost": one, "cost4": four, "alone": caller} {
				r.figure(name, number(s.of(turn.both)))
			}
		}
		alone = append(alone, figure{machine, caller.to(cte, rate)}, figure{"4 processes", caller4.to(cte4, rate)})
	}
	if l.then == "" {
		r.left("PostgreSQL, 64 callers: cost of a transition / at "+then, "this clone does not hold the commit")
	} else {
		r.atMost("pg-then", "PostgreSQL, 64 callers: cost of a transition / at "+then, 0.45, " ×", toThen...)
	}
	r.atMost("pg-hand", "the same / by hand", 1.3, " ×", toHand...)
	r.atMost("pg-processes", "the same, four processes with 16 callers / one with 64", 1.3, " ×", spreadOut...)
	if l.then != "" {
		r.atMost("pg-one-then", "PostgreSQL, one caller: cost of a transition / at "+then, 1.1, " ×", aloneThen...)
	}
	r.atLeast("pg-one", "PostgreSQL, one caller: rate / one CTE by hand", 0.9, " ×", alone...)
	r.sides("PostgreSQL, 64 callers", many)
	r.sides("PostgreSQL, one caller", few)
	return nil
}

// sqliteRows compares transitions in SQLite files.
func sqliteRows(ctx context.Context, l *lab, r *report) error {
	var toThen, toHand, alone, aloneThen []figure
	var all []*side
	for _, machine := range machines {
		one, hand := &side{name: now, processes: 1, callers: 64}, &side{name: byHand, processes: 1, callers: 64}
		caller, statements := &side{name: now, processes: 1, callers: 1}, &side{name: byHand, processes: 1, callers: 1}
		old, oldCaller := &side{name: then, exe: l.then, processes: 1, callers: 64}, &side{name: then, exe: l.then,
			processes: 1, callers: 1}
		sides := []*side{one, hand, caller, statements}
		if l.then != "" {
			sides = append(sides, old, oldCaller)
		}
		if err := l.measured(ctx, "sqlite", machine, sides...); err != nil {
			return err
		}
		all = append(all, sides...)
		if l.then != "" {
			toThen = append(toThen, figure{machine, one.to(old, turn.both)})
			aloneThen = append(aloneThen, figure{machine, caller.to(oldCaller, turn.both)})
		}
		toHand = append(toHand, figure{machine, one.to(hand, turn.both)})
		alone = append(alone, figure{machine, caller.to(statements, turn.both)})
	}
	if l.then == "" {
		r.left("SQLite, 64 callers: cost of a transition / at "+then, "this clone does not hold the commit")
	} else {
		r.atMost("lite-then", "SQLite, 64 callers: cost of a transition / at "+then, 0.7, " ×", toThen...)
	}
	r.atMost("lite-hand", "the same / by hand", 1.25, " ×", toHand...)
	one, four := &side{name: now, processes: 1, callers: 16}, &side{name: now, processes: 4, callers: 16}
	hand, old := &side{name: byHand, processes: 4, callers: 16}, &side{name: then, exe: l.then, processes: 1, callers: 16}
	sides := []*side{one, four, hand}
	if l.then != "" {
		sides = append(sides, old)
	}
	if err := l.measured(ctx, "sqlite", "lifecycle", sides...); err != nil {
		return err
	}
	all = append(all, sides...)
	if l.then != "" {
		r.atLeast("lite-file", "SQLite, 16 callers in each process that writes one file: rate / one process at "+then, 1,
			" ×",
			figure{"1 process", one.to(old, rate)}, figure{"4", four.to(old, rate)})
	}
	r.atLeast("lite-share", "the same: least share of a caller, of an equal share", 0.5, "", figure{"1 process",
		one.share()}, figure{"4", four.share()})
	if l.then != "" {
		r.atMost("lite-one-then", "SQLite, one caller: cost of a transition / at "+then, 1.1, " ×", aloneThen...)
	}
	r.atMost("lite-one", "SQLite, one caller: cost / prepared statements by hand", 1.1, " ×", alone...)
	r.sides("SQLite", all)
	r.table("SQLite, four processes with 16 callers write one file", []string{"side", "a second", "least share"},
		[][]string{
			{now, number(four.of(rate)), number(four.share())}, {byHand + " (SQLite's busy handler)", number(hand.of(rate)),
				number(hand.share())}})
	return nil
}
