package console

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// The bounds of what one page asks of a database.
const (
	queryTime = 2 * time.Second
	auditTime = time.Minute
	countMost = 10_000  // records that are counted of one state
	walkMost  = 100_000 // events that a list looks at
	pageRows  = 50      // records on a page
	pageLog   = 100     // events on a page
)

var placeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

var colour = regexp.MustCompile(`^(#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?)?$`)

// Machine is a machine that a console shows.
type Machine struct {
	place    Place
	schema   *driver.Schema
	table    driver.Table
	steps    []step
	holding  *holding // nil: nobody has records
	picture  string
	now      func() time.Time
	load     func(*driver.Row) error // why a record breaks a rule; nil: it breaks none
	audit    func(context.Context) iter.Seq2[audit.Finding, error]
	health   func() audit.Health
	named    func(*asked) error // what is wrong with the inputs
	would    func(context.Context, driver.Ref, *asked) error
	apply    func(context.Context, driver.Ref, *asked) (driver.Ref, error)
	create   func(context.Context, *asked) (at driver.Ref, made bool, err error)
	restore  func(ctx context.Context, id, actor, reason string) (bool, error)
	hasten   func(context.Context, driver.Delivery) (bool, error)
	abandon  func(ctx context.Context, d driver.Delivery, actor, reason string) error
	failed   func(context.Context, driver.Delivery) (string, error)
	counting *counting
	auditing *sync.Mutex // one audit at a time
	acting   *sync.Mutex // one step at a time, where the machine does not see to it that it is made once
	closed   error       // why it cannot be shown; nil: it can
}

// step is what the console knows of an operation.
type step struct {
	name, stored string
	from         []string // stored words
	by           fsmimpl.Actor
	creates      bool
	moves        []fsmimpl.Move
	feeds        []fsmimpl.Feed
	triggers     []fsmimpl.Trigger
	doc          string
	rules        []fsmimpl.Rule
	takes        []fsmimpl.Argument
	needs        string // why it cannot be called here; empty: it can
}

// asked is a call by name.
type asked struct {
	operation string
	id        string // of a creation
	values    map[string]any
	caller    fsmimpl.Caller
}

// Of returns a machine for a console: m is the Machine of a generated package, or what [fsm.NewMachine] returned.
// Its picture is shown where m has a method Picture, or EnginePicture where an operation has that name.
func Of[R any](p Place, m interface{ Core() *fsm.Machine[R] }) Machine {
	core := m.Core()
	e := core.Engine()
	call := func(a *asked) (fsmimpl.Call[R], error) {
		by := a.caller
		if e.Schema.RequestID == driver.Never { // the event has it beside
			by.Labels = maps.Clone(by.Labels)
			if by.Labels == nil {
				by.Labels = map[string]string{}
			}
			by.Labels[formLabel], by.RequestID = by.RequestID, ""
		}
		return e.Descriptor.Named(a.operation, a.id, a.values, by)
	}
	c := Machine{
		place: p, schema: e.Schema, auditing: new(sync.Mutex), acting: new(sync.Mutex), counting: newCounting(), table: e.Table, now: e.Now,
		load: func(row *driver.Row) error { _, err := e.Load(row); return err },
		audit: func(ctx context.Context) iter.Seq2[audit.Finding, error] {
			return audit.RunWith(ctx, core, audit.Options[R]{Apart: true})
		},
		health: func() audit.Health { return audit.HealthOf(core) },
		hasten: e.Hasten, abandon: e.Abandon, failed: e.Failed,
		named: func(a *asked) error {
			_, err := call(a)
			return err
		},
		would: func(ctx context.Context, at driver.Ref, a *asked) error {
			c, err := call(a)
			if err != nil {
				return err
			}
			return e.Would(ctx, at, c)
		},
		apply: func(ctx context.Context, at driver.Ref, a *asked) (driver.Ref, error) {
			c, err := call(a)
			if err != nil {
				return at, err
			}
			out, err := core.Apply(ctx, at, c)
			if err != nil {
				return at, err
			}
			return out.Ref(), nil
		},
		create: func(ctx context.Context, a *asked) (at driver.Ref, made bool, err error) {
			c, err := call(a)
			if err != nil {
				return at, false, err
			}
			out, err := core.Create(ctx, c)
			if err != nil {
				return at, false, err
			}
			made = !out.Replayed
			for i := range out.Events { // a second click is answered as the first
				made = made || c.RequestID != "" && out.Events[i].RequestID == c.RequestID
			}
			return out.Ref(), made, nil
		},
		restore: func(ctx context.Context, id, actor, reason string) (bool, error) {
			_, repaired, err := audit.Repair(ctx, core, id, actor, reason)
			return repaired, err
		},
	}
	switch drawn := m.(type) {
	case interface{ Picture() string }:
		c.picture = drawn.Picture()
	case interface{ EnginePicture() string }:
		c.picture = drawn.EnginePicture()
	}
	for _, o := range e.Descriptor.Operations {
		triggers := slices.Clone(o.Triggers)
		for i := range triggers {
			triggers[i].Plus = e.Plus(o, triggers[i])
		}
		c.steps = append(c.steps, step{
			name: o.Name, stored: o.Stored, from: o.From, by: o.By, creates: o.Creates,
			moves: o.Moves, feeds: o.Feeds, triggers: triggers, doc: o.Doc, rules: o.Rules, takes: o.Takes,
			needs: needs(o),
		})
	}
	c.holding = holdingOf(c.schema, c.steps)
	return c
}

// needs says why an operation cannot be called from a page; empty: it can.
func needs[R any](o *fsmimpl.Operation[R]) string {
	switch {
	case o.By == fsmimpl.BySystem:
		return "the machine runs it by itself"
	case o.Make == nil:
		return "it needs the program of the machine: " + o.Needs
	}
	return ""
}

// Unopened returns a machine that cannot be shown, and the reason, which stands in its place.
func Unopened(p Place, machine string, why error) Machine {
	return Machine{place: p, schema: &driver.Schema{Machine: machine, NoOutbox: true}, closed: why}
}

// look asks the database, within the time that a query has.
func (m *Machine) look(ctx context.Context, ask func(driver.Reader) error) error {
	if m.closed != nil {
		return m.closed
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	return m.table.View(ctx, ask)
}

// operation returns the name of a stored operation; what the machine does not know is shown as it is stored.
func (m *Machine) operation(stored string) string {
	for i := range m.steps {
		if m.steps[i].stored == stored {
			return m.steps[i].name
		}
	}
	return stored
}

// step returns an operation by its name.
func (m *Machine) step(name string) *step {
	for i := range m.steps {
		if m.steps[i].name == name {
			return &m.steps[i]
		}
	}
	return nil
}

// state returns the stored word of a state's name.
func (m *Machine) state(name string) (stored string, ok bool) {
	for i := range m.schema.States {
		if m.schema.States[i].Name == name {
			return m.schema.States[i].Stored, true
		}
	}
	return "", false
}

func (m *Machine) column(name string) *driver.Column {
	i := slices.IndexFunc(m.schema.Columns, func(c driver.Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &m.schema.Columns[i]
}

// requestError is a request that cannot be answered as it is.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func badRequest(text string) error { return &requestError{http.StatusBadRequest, text} }

// statusOf returns the status of an error.
func statusOf(err error) int {
	var asked *requestError
	switch {
	case errors.As(err, &asked):
		return asked.status
	case errors.Is(err, driver.ErrCursor):
		return http.StatusBadRequest
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, fsm.ErrBusy):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// problem says what went wrong, for people.
func (h *Handler) problem(err error) string {
	var asked *requestError
	switch {
	case errors.As(err, &asked):
		return asked.text
	case errors.Is(err, driver.ErrCursor):
		return "The log does not know this place any more. Begin at its end."
	case errors.Is(err, context.DeadlineExceeded):
		return "The database did not answer within " + queryTime.String() + ". Narrow what you ask for, or try again."
	}
	if h.o.Clean != nil {
		err = h.o.Clean(err)
	}
	return "The database cannot be read: " + err.Error()
}
