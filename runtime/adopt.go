package fsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// tryImport looks at an import without making it, and lists all that speaks against it. A nil
// reader says that nothing is stored yet. It writes nothing.
func (m *Machine[R]) tryImport(r driver.Reader, rec R, c fsmimpl.Caller) (t inspect.Tried, err error) {
	call, row := m.importing(rec, c)
	t.Row = row
	q, id, err := m.creation(call)
	if refused := (*Refusal)(nil); errors.As(err, &refused) {
		t.Misfits = append(t.Misfits, m.misfit(refused, &row))
		return t, nil
	} else if err != nil {
		return t, err
	}
	if !q.own {
		t.Request = q.fingerprint + " " + q.RequestID
	}
	m.tick(q)
	t.Row.ID, t.Row.Rev = id, 1
	made, wrong := m.imported(q.op, &t.Row, q.at)
	for _, refused := range wrong {
		if refused.Code != ErrInvariant {
			t.Misfits = append(t.Misfits, m.misfit(refused, &t.Row))
			continue
		}
		for _, v := range m.d.Check(&made) {
			if v.Must {
				t.Misfits = append(t.Misfits, inspect.Misfit{Code: string(ErrInvariant), Rule: v.Rule, Value: m.valuesIn(v.Rule, &t.Row), Err: refused})
			}
		}
	}
	if len(t.Misfits) == 0 {
		if _, err := m.decideNew(q, id); err != nil {
			refused := (*Refusal)(nil)
			if !errors.As(err, &refused) {
				return t, err
			}
			t.Misfits = append(t.Misfits, m.misfit(refused, &t.Row))
		}
	}
	if r != nil {
		err = m.meets(r, q, &t)
	}
	return t, err
}

// meets looks for what is stored already: the request, the record, its tombstone, its places.
func (m *Machine[R]) meets(r driver.Reader, q *request[R], t *inspect.Tried) error {
	refuse := func(refused *Refusal) { t.Misfits = append(t.Misfits, m.misfit(refused, &t.Row)) }
	if !q.own {
		outs, err := m.known(r, q, "", q.RequestID)
		refused := (*Refusal)(nil)
		switch {
		case errors.As(err, &refused):
			refuse(refused)
			return nil
		case err != nil:
			return err
		case len(outs) > 0:
			t.Known, t.Misfits = true, nil // it was made, whatever is to be said of it now
			return nil
		}
	}
	there, err := r.Row(t.Row.ID)
	if err == nil {
		refuse(m.refusal(ErrExists, q.op, t.Row.ID, there.State))
		return nil
	} else if !errors.Is(err, driver.ErrNotFound) {
		return err
	}
	if purged, err := inspect.WasPurged(r, t.Row.ID); err != nil {
		return err
	} else if purged {
		refuse(m.refusal(ErrPurged, q.op, t.Row.ID, ""))
	}
	if !m.schema.Knows(t.Row.State) {
		return nil
	}
	for i := range m.schema.Uniques {
		u := &m.schema.Uniques[i]
		place, holds := inspect.PlaceOf(m.schema, u, &t.Row)
		if !holds {
			continue
		}
		place.Limit = 1
		rows, err := inspect.Collect(r, place)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			t.Misfits = append(t.Misfits, m.doubled(u, &t.Row, rows[0].ID))
		}
	}
	return nil
}

// doubled is the misfit of a record whose place of a unique rule another one holds.
func (m *Machine[R]) doubled(u *driver.UniqueRule, row *driver.Row, holder string) inspect.Misfit {
	r := m.refusal(ErrNotUnique, nil, row.ID, row.State)
	r.Operation, r.Name, r.Cause = driver.OpImport, u.Name, u.Err
	r.Message = fmt.Sprintf("%q holds it", holder)
	return inspect.Misfit{Code: string(ErrNotUnique), Rule: u.Name, Value: m.valuesIn(strings.Join(u.Columns, " "), row), Err: r}
}

// misfit makes a misfit of a refusal.
func (m *Machine[R]) misfit(r *Refusal, row *driver.Row) inspect.Misfit {
	f := inspect.Misfit{Code: string(r.Code), Rule: r.Name, Err: r}
	if f.Rule == "" {
		f.Rule = f.Code
	}
	if f.Value = m.valuesIn(f.Rule, row); f.Value == "" {
		f.Value = r.Message
	}
	return f
}

// valuesIn shows what a record has in the fields that a rule names: "refunded 5, paid 3".
func (m *Machine[R]) valuesIn(rule string, row *driver.Row) string {
	var list []string
	add := func(name string, v any) {
		if text := name + " " + shownValue(v); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, word := range strings.FieldsFunc(rule, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' }) {
		switch word {
		case "state":
			add(word, row.State)
		case "created_at":
			add(word, row.CreatedAt)
		case "updated_at":
			add(word, row.UpdatedAt)
		default:
			i := slices.IndexFunc(m.schema.Columns, func(c driver.Column) bool { return c.Name == word || c.Stored == word })
			if i >= 0 {
				add(m.schema.Columns[i].Name, row.Values[i])
			}
		}
	}
	return strings.Join(list, ", ")
}

// shownValue is a value of a row for people.
func shownValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		if len(v) > 80 {
			v = strings.ToValidUTF8(v[:80], "") + "…"
		}
		return fmt.Sprintf("%q", v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

// wouldSweep lists the steps that a sweep would take with a row now, in their order. Guards that ask for other
// records are not asked, and what follows a step by `then` is not told.
func (m *Machine[R]) wouldSweep(row driver.Row) (list []inspect.Fires, err error) {
	now := m.now()
	for _, op := range m.d.Operations {
		for _, t := range op.Triggers {
			at, timed := m.deadline(op, t, &row)
			if !timed || at.After(now) {
				continue
			}
			if at.Before(m.heldBefore(op)) {
				list = append(list, inspect.Fires{Operation: op.Name, Held: true})
				continue
			}
			rec, err := m.d.Decode(row)
			if err != nil {
				return list, err
			}
			c, err := op.System(&rec, now)
			if err != nil {
				return list, err
			}
			if c.Peers != nil {
				return append(list, inspect.Fires{Operation: op.Name}), nil
			}
			c.Operation, c.At = op, now
			s, err := m.decide(op, &c, &row, rec, row.ID, nil, origin{event: driver.Event{At: now, Actor: driver.SystemActor, RequestN: -1}})
			if refused := (*Refusal)(nil); errors.As(err, &refused) {
				continue
			} else if err != nil {
				return list, err
			}
			if list = append(list, inspect.Fires{Operation: op.Name}); s.write.Row != nil {
				row = s.row
			}
		}
	}
	return list, nil
}

// deadline returns when a trigger is due for a row; timed is false where it never is.
func (m *Machine[R]) deadline(op *fsmimpl.Operation[R], t fsmimpl.Trigger, row *driver.Row) (at time.Time, timed bool) {
	if t.Startup || !slices.Contains(op.From, row.State) {
		return at, false
	}
	at, timed = m.schema.Key(row, t.After, t.By).(time.Time)
	return at.Add(m.plus(op, t)), timed
}

// HoldDeadlines makes Sweep leave alone what was due before an instant, until the program says otherwise: an
// earlier instant releases what is due from then on, the zero time releases all. It holds deadlines of the named operations,
// or of all that have some. Records that were taken over from an older table would else
// be moved by the first sweep.
//
// The hold is one of this Machine. It stands in no log and no table, so each process that sweeps needs it, and a
// new start forgets it: call it after Open and before the first sweep. Calls by people and programs are as before.
func (m *Machine[R]) HoldDeadlines(before time.Time, operations ...string) error {
	for _, name := range operations {
		op := m.byName[name]
		if op == nil || !slices.ContainsFunc(op.Triggers, func(t fsmimpl.Trigger) bool { return !t.Startup }) {
			return fmt.Errorf("%s: HoldDeadlines names %q, which is no operation with a deadline", m.schema.Machine, name)
		}
	}
	for {
		old, next := m.held.Load(), map[string]time.Time{}
		if old != nil {
			maps.Copy(next, *old)
		}
		for _, op := range m.d.Operations {
			if len(operations) == 0 || slices.Contains(operations, op.Name) {
				next[op.Name] = driver.Time(before)
			}
		}
		if m.held.CompareAndSwap(old, &next) {
			return nil
		}
	}
}

// heldBefore returns the instant before which deadlines of an operation are held; zero: none is.
func (m *Machine[R]) heldBefore(op *fsmimpl.Operation[R]) time.Time {
	if held := m.held.Load(); held != nil {
		return (*held)[op.Name]
	}
	return time.Time{}
}
