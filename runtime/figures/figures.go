package figures

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Machine is a machine whose figures are asked for.
type Machine struct {
	schema   *driver.Schema
	table    driver.Table
	now      func() time.Time
	health   func() audit.Health
	triggers []trigger
	effects  []string          // those that are performed after the commit, by name
	names    map[string]string // of operations, by their stored words
	sorts    int64             // records of a state among which the oldest is looked for
}

// trigger is what makes an operation due.
type trigger struct {
	operation string
	from      []string
	fsmimpl.Trigger
	held func() time.Time // what was due before is left alone by the program; zero: nothing is
}

// Of returns the figures of a machine: m is the Machine of a generated package, or what [fsm.NewMachine] returned.
func Of[R any](m interface{ Core() *fsm.Machine[R] }) *Machine {
	core := m.Core()
	e := core.Engine()
	f := &Machine{
		schema: e.Schema, table: e.Table, now: e.Now, names: map[string]string{}, sorts: sortMost,
		health: func() audit.Health { return audit.HealthOf(core) },
	}
	for _, op := range e.Descriptor.Operations {
		f.names[op.Stored] = op.Name
		for _, t := range op.Triggers {
			if !t.Startup {
				t.Plus = e.Plus(op, t)
				f.triggers = append(f.triggers, trigger{op.Name, op.From, t, func() time.Time { return e.HeldBefore(op) }})
			}
		}
		for x := range op.Effects() {
			if !x.Atomic && !slices.Contains(f.effects, x.Name) {
				f.effects = append(f.effects, x.Name)
			}
		}
	}
	slices.Sort(f.effects)
	return f
}

// Name returns the machine's name.
func (m *Machine) Name() string { return m.schema.Machine }

// Now returns the time of the machine's clock.
func (m *Machine) Now() time.Time { return m.now() }

// Sweeps reports whether the machine has deadlines, which a sweeper has to look for.
func (m *Machine) Sweeps() bool { return len(m.triggers) > 0 }

// Health returns what is known without a question: see [audit.HealthOf].
func (m *Machine) Health() audit.Health { return m.health() }

// Options bound what is asked. The zero value of each is a good choice.
type Options struct {
	// Most is how many records of one state or one trigger are counted; zero is 100 000.
	Most int64
	// Within is the time for all questions, and a quarter of it that for each; zero is 2 s.
	Within time.Duration
}

// The bounds that Options do not set.
const (
	sortMost   = 10_000 // records among which the oldest is looked for
	outboxMost = 1_000  // entries of the outbox that are read
)

// Figures are how things stood at a time.
type Figures struct {
	At       time.Time // by the machine's clock
	States   []State   // in the order of the machine
	Triggers []Trigger
	Effects  []Effect
	// Cut says that more than the first 1 000 entries of the outbox are due: Effects count those alone.
	Cut bool
	// Late says that some questions were not answered in time.
	Late   bool
	Health audit.Health
}

// State is how many records are in a state.
type State struct {
	driver.StateInfo
	Count  int64
	Over   bool      // there are more: Count is the bound
	Known  bool      // it was counted in time
	Oldest time.Time // when the record in it that moved last longest ago moved; zero: there is none, or it was not asked for
}

// Trigger is what a sweeper should have done.
type Trigger struct {
	Operation, After string // After names what the deadline is made of, such as "lease"
	Count            int64
	Over, Known      bool
	Oldest           time.Time // the deadline that is over for longest; zero: there is none, or it is not known
}

// Effect is what a delivery should have done.
type Effect struct {
	Name   string
	Due    int       // entries
	Tried  int       // of those, how many were tried
	Oldest time.Time // since when the first of them is due
}

// Read asks for all figures. What is not answered in time is left out; it is an error where that is everything. An
// error of the store ends it: with it comes what was answered before.
func (m *Machine) Read(ctx context.Context, o Options) (*Figures, error) {
	o.Most, o.Within = cmp.Or(o.Most, 100_000), cmp.Or(o.Within, 2*time.Second)
	f := &Figures{At: m.now(), Health: m.health()}
	for _, s := range m.schema.States {
		f.States = append(f.States, State{StateInfo: s})
	}
	for i := range m.triggers {
		f.Triggers = append(f.Triggers, Trigger{Operation: m.triggers[i].operation, After: m.after(&m.triggers[i])})
	}
	q := &questions{table: m.table, each: o.Within / 4}
	var cancel func()
	q.ctx, cancel = context.WithTimeout(ctx, o.Within)
	defer cancel()
	for i := range f.States {
		s := &f.States[i]
		s.Known = q.ask(func(r driver.Reader) (err error) {
			s.Count, s.Over, err = bounded(r, driver.Query{States: []string{s.Stored}}, o.Most)
			return err
		})
		if s.Known && !s.Terminal && s.Count > 0 {
			q.ask(func(r driver.Reader) error { return m.oldest(r, s) })
		}
	}
	for i := range f.Triggers {
		m.overdue(q, &m.triggers[i], &f.Triggers[i], f.At, o.Most)
	}
	if !m.schema.NoOutbox {
		q.ask(func(r driver.Reader) error { return m.outbox(r, f) })
	}
	f.Late = q.late
	switch {
	case q.err != nil:
		return f, q.err
	case ctx.Err() != nil:
		return f, ctx.Err()
	case !q.answered && q.late:
		return f, context.DeadlineExceeded
	}
	return f, nil
}

// questions are asked one after the other, until the store fails or their time is over.
type questions struct {
	ctx      context.Context
	table    driver.Table
	each     time.Duration
	answered bool  // one was
	late     bool  // one was not, for want of time
	err      error // of the store
}

// ask asks one of them and reports whether it was answered.
func (q *questions) ask(of func(driver.Reader) error) bool {
	if q.err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(q.ctx, q.each)
	defer cancel()
	err := q.table.View(ctx, of)
	switch {
	case err == nil:
		q.answered = true
	case ctx.Err() != nil:
		q.late = true
	default:
		q.err = err
	}
	return err == nil
}

// overdue asks for what a trigger should have done.
func (m *Machine) overdue(ask *questions, t *trigger, of *Trigger, at time.Time, most int64) {
	q := driver.Query{
		States: t.from, Where: []driver.Cond{{Column: t.After, By: t.By, Op: driver.OpLe, Value: driver.Time(at.Add(-t.Plus))}},
	}
	if held := t.held(); !held.IsZero() {
		q.Where = append(q.Where, driver.Cond{Column: t.After, By: t.By, Op: driver.OpGe, Value: driver.Time(held.Add(-t.Plus))})
	}
	of.Known = ask.ask(func(r driver.Reader) (err error) {
		of.Count, of.Over, err = bounded(r, q, most)
		return err
	})
	if !of.Known || of.Count == 0 {
		return
	}
	q.Order, q.Limit = []driver.Order{{Column: t.After, By: t.By}}, 1
	ask.ask(func(r driver.Reader) error {
		for row, err := range r.Rows(q) {
			if err != nil {
				return err
			}
			of.Oldest = m.due(&row, t)
		}
		return nil
	})
}

// bounded counts the rows of a query, up to a bound.
func bounded(r driver.Reader, q driver.Query, most int64) (n int64, over bool, err error) {
	q.Limit = int(most) + 1
	n, err = r.Count(q)
	return min(n, most), n > most, err
}

// oldest looks for the record in a state that moved last longest ago. Few are sorted by the database. Of many, the one
// in front of a line is taken: an index that leads by a time, such as that of a `next`, gives it at once.
func (m *Machine) oldest(r driver.Reader, of *State) error {
	q := driver.Query{States: []string{of.Stored}, Limit: 1, Order: []driver.Order{{Column: "updated_at"}}}
	if of.Over || of.Count > m.sorts {
		line := m.line(of.Stored)
		if line == nil {
			return nil
		}
		q.States, q.Order = line.States, line.Order
	}
	for row, err := range r.Rows(q) {
		if err != nil {
			return err
		}
		if row.State == of.Stored {
			of.Oldest = row.UpdatedAt
		}
	}
	return nil
}

// line returns an index in whose order the records of a state wait.
func (m *Machine) line(stored string) *driver.Index {
	for i := range m.schema.Indexes {
		x := &m.schema.Indexes[i]
		if len(x.Columns) > 0 || len(x.Order) == 0 || !slices.Contains(x.States, stored) {
			continue
		}
		first := x.Order[0]
		at := m.schema.Column(first.Column)
		timed := first.Column == "created_at" || at >= 0 && m.schema.Columns[at].Kind == driver.KindTime
		if timed && first.By == "" && !first.Descending && strings.HasPrefix(x.Name, "next.") {
			return x
		}
	}
	return nil
}

// after names what a trigger waits for.
func (m *Machine) after(t *trigger) string {
	name := func(stored string) string {
		if i := m.schema.Column(stored); i >= 0 {
			return m.schema.Columns[i].Name
		}
		return stored
	}
	text := name(t.After)
	if t.By != "" {
		text += " + " + name(t.By)
	}
	if t.Plus != 0 {
		text += " + " + t.Plus.String()
	}
	return text
}

// due returns a deadline that is over; zero where it is none.
func (m *Machine) due(row *driver.Row, t *trigger) time.Time {
	at, ok := m.schema.Key(row, t.After, t.By).(time.Time)
	if !ok {
		return time.Time{}
	}
	return at.Add(t.Plus)
}

// outbox counts the entries that are due.
func (m *Machine) outbox(r driver.Reader, f *Figures) error {
	list, err := r.Outbox(driver.Time(f.At), outboxMost+1)
	if err != nil {
		return err
	}
	if f.Cut = len(list) > outboxMost; f.Cut {
		list = list[:outboxMost]
	}
	f.Effects = nil // of a try before
	for _, name := range m.effects {
		f.Effects = append(f.Effects, Effect{Name: name})
	}
	for i := range list {
		d := &list[i]
		at := slices.IndexFunc(f.Effects, func(e Effect) bool { return e.Name == d.Effect })
		if at < 0 {
			at, f.Effects = len(f.Effects), append(f.Effects, Effect{Name: d.Effect})
		}
		e := &f.Effects[at]
		if e.Due++; e.Due == 1 {
			e.Oldest = d.Due
		}
		if d.Attempts > 0 {
			e.Tried++
		}
	}
	slices.SortFunc(f.Effects, func(a, b Effect) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// Move is how often a way was taken.
type Move struct {
	Operation, From, To string // by their names; From is empty for a creation
	Count               int
}

// Span is what happened in a stretch of time up to now, by the log.
type Span struct {
	Length time.Duration
	Moves  []Move    // the most frequent first
	Whole  bool      // all of it was read
	Read   time.Time // how far back the log was read
}

// slack is by how much events of the log may stand in another order than their times.
const slack = time.Minute

const batch = 500 // events that are read at once

// Moves reads the log from its end for the transitions within each length, of which the last is the longest: at most
// so many events, and for as long as is said.
func (m *Machine) Moves(ctx context.Context, lengths []time.Duration, most int, within time.Duration) ([]Span, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	now := m.now()
	spans, counts := make([]Span, len(lengths)), make([]map[Move]int, len(lengths))
	for i, length := range lengths {
		spans[i], counts[i] = Span{Length: length, Read: now}, map[Move]int{}
	}
	var cursor driver.Cursor
	looked, last := 0, now
	err := m.table.View(ctx, func(r driver.Reader) error {
		for looked < most {
			list, err := r.Newest(cursor, batch)
			if err != nil {
				return err
			}
			for i := range list {
				e := &list[i]
				cursor = e.Cursor
				if looked++; e.Unreadable != nil {
					continue
				}
				if last = e.At; e.N != 0 {
					continue
				}
				move := Move{Operation: m.operation(e.Operation), To: m.schema.StateName(e.To)}
				if e.From != "" {
					move.From = m.schema.StateName(e.From)
				}
				for k := range spans {
					if now.Sub(e.At) <= spans[k].Length {
						counts[k][move]++
					}
				}
			}
			whole := true
			for k := range spans {
				spans[k].Read = last
				spans[k].Whole = spans[k].Whole || len(list) < batch || last.Before(now.Add(-spans[k].Length-slack))
				whole = whole && spans[k].Whole
			}
			if whole {
				return nil
			}
		}
		return nil
	})
	if err != nil && (looked == 0 || ctx.Err() == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded)) {
		return nil, err
	}
	for k := range spans {
		for move, n := range counts[k] {
			move.Count = n
			spans[k].Moves = append(spans[k].Moves, move)
		}
		slices.SortFunc(spans[k].Moves, func(a, b Move) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		})
	}
	return spans, nil
}

// operation returns the name of a stored operation; what the machine does not know stays as it is stored.
func (m *Machine) operation(stored string) string {
	if name, ok := m.names[stored]; ok {
		return name
	}
	return stored
}
