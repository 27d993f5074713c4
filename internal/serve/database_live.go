package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/spec"
)

// What is listed at most: the page is for looking, not for exporting.
const (
	mostOverdue  = 50
	mostRecent   = 20
	mostEvents   = 500
	mostFindings = 200
)

// How long the page waits for a database.
const (
	readDeadline  = 30 * time.Second
	auditDeadline = 10 * time.Minute
)

// liveDatabase reads a database with package live.
type liveDatabase struct {
	shown string // its address, without a password
	now   func() time.Time
	reach func(context.Context, *spec.Machine) (*live.DB, error) // opens it

	turn chan struct{}       // holds a token while somebody looks at open, or opens
	open map[string]*live.DB // by the hash of the machine
}

// NewDatabase returns what the page reads of a database, and what closes it. It is
// opened for each machine when that is looked at, for reading only; shown is its
// address for people. Errors of open must not hold a password.
func NewDatabase(shown string, open func(context.Context, *spec.Machine) (*live.DB, error)) (Database, func() error) {
	d := &liveDatabase{shown: shown, now: time.Now, reach: open, turn: make(chan struct{}, 1), open: map[string]*live.DB{}}
	return d, d.close
}

func (d *liveDatabase) close() error {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	var errs []error
	for _, db := range d.open {
		errs = append(errs, db.Close())
	}
	clear(d.open)
	return errors.Join(errs...)
}

func (d *liveDatabase) Address() string { return d.shown }

// of opens the database for a machine, once. A server that does not answer keeps
// nobody whose own question has ended.
func (d *liveDatabase) of(ctx context.Context, m *spec.Machine) (*live.DB, error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	key := m.Name + " " + m.Hash
	if db := d.open[key]; db != nil {
		return db, nil
	}
	db, err := d.reach(ctx, m)
	if err != nil {
		return nil, err
	}
	d.open[key] = db
	return db, nil
}

func (d *liveDatabase) Overview(ctx context.Context, m *spec.Machine) (Overview, error) {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	now := d.now().UTC().Truncate(time.Second)
	v := Overview{Now: stamp(now), Counts: []StateCount{}, Overdue: []Overdue{}, Recent: []Listed{}}
	db, err := d.of(ctx, m)
	if err != nil {
		return v, err
	}
	counts, err := db.Machine.Count(ctx)
	if err != nil {
		return v, db.Address.Clean(err)
	}
	for _, s := range m.States {
		v.Counts = append(v.Counts, StateCount{State: s.Name, Count: counts[s.Stored()]})
	}
	for _, o := range m.Operations {
		for _, t := range o.Triggers {
			if t.Startup {
				continue
			}
			if err := d.overdue(ctx, db, o, t, now, &v); err != nil {
				return v, db.Address.Clean(err)
			}
		}
	}
	slices.SortStableFunc(v.Overdue, func(a, b Overdue) int { return a.due.Compare(b.due) })
	last := driver.Query{Order: []driver.Order{{Column: "updated_at", Descending: true}}, Limit: mostRecent}
	for r, err := range db.Machine.List(ctx, last) {
		var broken *fsm.Refusal
		if err != nil && (!errors.As(err, &broken) || broken.Code != fsm.ErrQuarantined) {
			return v, db.Address.Clean(err)
		}
		one := Listed{ID: r.ID, Rev: r.Rev, Updated: stamp(r.UpdatedAt), Broken: broken != nil}
		if r.State != nil {
			one.State = r.State.Name
		} else if broken != nil {
			one.State = broken.State
		}
		v.Recent = append(v.Recent, one)
	}
	return v, nil
}

// overdue lists the records for which a trigger is due.
func (d *liveDatabase) overdue(ctx context.Context, db *live.DB, o *spec.Operation, t spec.Trigger, now time.Time, v *Overview) error {
	by := ""
	if t.By != nil {
		by = t.By.Stored()
	}
	q := driver.Query{
		Where: []driver.Cond{{Column: t.After.Stored(), By: by, Op: driver.OpLe, Value: now.Add(-t.Plus)}},
		Order: []driver.Order{{Column: t.After.Stored(), By: by}}, Limit: mostOverdue + 1,
	}
	for _, s := range o.From {
		q.States = append(q.States, s.State.Stored())
	}
	n := 0
	for r, err := range db.Machine.List(ctx, q) {
		if err != nil && !errors.Is(err, fsm.ErrQuarantined) {
			return err
		}
		if n++; n > mostOverdue {
			v.More = true
			break
		}
		at := interp.Deadline(db.Spec, t, r)
		if r.State == nil || at.Kind != interp.KindTime {
			continue // an audit says what is wrong with it
		}
		due := at.AsTime()
		v.Overdue = append(v.Overdue, Overdue{
			ID: r.ID, Broken: err != nil, State: r.State.Name, Operation: o.Name, Field: waitsFor(t),
			Deadline: stamp(due), Late: lateBy(now.Sub(due)), due: due,
		})
	}
	return nil
}

// waitsFor names what a trigger waits for.
func waitsFor(t spec.Trigger) string {
	if t.By != nil {
		return t.After.Name + " + " + t.By.Name
	}
	return t.After.Name
}

// lateBy writes a duration as people say it: the two largest units.
func lateBy(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d >= day:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

func (d *liveDatabase) History(ctx context.Context, m *spec.Machine, id string) (History, error) {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	v := History{Fields: []NamedText{}, Events: []LogEvent{}}
	db, err := d.of(ctx, m)
	if err != nil {
		return v, err
	}
	switch row, err := db.Row(ctx, id); {
	case errors.Is(err, live.ErrNoRecord):
	case err != nil:
		return v, err
	default:
		v.Record = &Listed{ID: row.ID, State: stateName(m, row.State), Rev: row.Rev, Updated: stamp(row.UpdatedAt)}
		for i, f := range m.Fields {
			if i < len(row.Values) {
				v.Fields = append(v.Fields, NamedText{f.Name, columnText(row.Values[i])})
			}
		}
	}
	for e, err := range db.Events(ctx, id, live.Place{}) {
		if err != nil {
			return v, err
		}
		if v.Events = append(v.Events, logEvent(m, &e)); len(v.Events) > 2*mostEvents {
			v.Events, v.More = slices.Delete(v.Events, 0, mostEvents), true
		}
	}
	if n := len(v.Events) - mostEvents; n > 0 {
		v.Events, v.More = v.Events[n:], true
	}
	return v, nil
}

// stateName returns the present name of a stored state; what the machine does not
// know is shown as it stands.
func stateName(m *spec.Machine, stored string) string {
	for _, s := range m.States {
		if s.Stored() == stored {
			return s.Name
		}
	}
	return stored
}

func columnText(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case time.Time:
		return stamp(v)
	}
	return fmt.Sprint(v)
}

func logEvent(m *spec.Machine, e *fsm.Event) LogEvent {
	operation := func(stored string) string {
		for _, o := range m.Operations {
			if o.Stored() == stored {
				return o.Name
			}
		}
		return stored
	}
	v := LogEvent{
		Rev: e.Rev, N: e.N, Operation: operation(e.Operation), Event: e.Name, To: stateName(m, e.To), At: stamp(e.At), Actor: e.Actor, Reason: e.Reason,
		Request: e.RequestID, RecordOnly: e.RecordOnly(), Changes: []NamedText{},
	}
	if e.From != "" {
		v.From = stateName(m, e.From)
	}
	if e.Cause != "" {
		v.Cause = operation(e.Cause)
	}
	var changes map[string]json.RawMessage
	if e.Changes.IsZero() || e.Changes.Decode(&changes) != nil {
		return v // an audit says what is wrong with it
	}
	for _, f := range m.Fields {
		raw, ok := changes[f.Stored()]
		if !ok {
			continue
		}
		text := jsonText(raw)
		switch micros, err := strconv.ParseInt(text, 10, 64); {
		case f.Type.Kind == spec.KindSet && string(raw) == "null":
			text = "empty"
		case f.Type.Kind == spec.KindDuration && err == nil:
			text = spec.SpanText(micros)
		}
		v.Changes = append(v.Changes, NamedText{f.Name, text})
	}
	return v
}

// jsonText writes a value of an event for people: texts without quotes.
func jsonText(raw json.RawMessage) string {
	var text string
	switch {
	case bytes.Equal(raw, []byte("null")):
		return "absent"
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

func (d *liveDatabase) Audit(ctx context.Context, m *spec.Machine) (Audit, error) {
	ctx, cancel := context.WithTimeout(ctx, auditDeadline)
	defer cancel()
	v := Audit{Findings: []AuditFinding{}}
	db, err := d.of(ctx, m)
	if err != nil {
		return v, err
	}
	for f, err := range db.Audit(ctx, func(done, _ int64) { v.Records = done }) {
		if err != nil {
			return v, err
		}
		if len(v.Findings) == mostFindings {
			v.More = true
			break
		}
		v.Findings = append(v.Findings, AuditFinding{ID: f.ID, Rule: f.Check, Text: f.Message, Must: f.Must})
	}
	return v, nil
}
