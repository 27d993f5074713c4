package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/gen/chart/draw"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/live"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/console"
	"github.com/fsmgen/fsmgen/spec"
)

// Database is a live database, which the console shows for reading only.
type Database struct {
	shown string                                                 // its address, without a password
	reach func(context.Context, *spec.Machine) (*live.DB, error) // opens it

	turn chan struct{}       // holds a token while somebody looks at open, or opens
	open map[string]*live.DB // by the hash of the machine
}

// NewDatabase returns a database. It is opened for each machine when that is looked at, for reading only; shown is its
// address for people. Errors of open must not hold a password.
func NewDatabase(shown string, open func(context.Context, *spec.Machine) (*live.DB, error)) *Database {
	return &Database{shown: shown, reach: open, turn: make(chan struct{}, 1), open: map[string]*live.DB{}}
}

// Close closes what was opened.
func (d *Database) Close() error {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	var errs []error
	for _, db := range d.open {
		errs = append(errs, db.Close())
	}
	clear(d.open)
	return errors.Join(errs...)
}

// of opens the database for a machine, once. A server that does not answer keeps
// nobody whose own question has ended.
func (d *Database) of(ctx context.Context, m *spec.Machine) (*live.DB, error) {
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

// drawn is a machine over a database, with its picture.
type drawn struct {
	*live.DB
}

func (d drawn) Core() *fsm.Machine[interp.Record] { return d.Machine }

// Picture returns the picture, as pages take it.
func (d drawn) Picture() string { return string(draw.Live(chart.At(d.Spec, chart.Brief))) }

// consolePath is where the console is on the page.
const consolePath = "/db"

// console shows what the database holds of the machines as their files are now.
func (s *Server) console(w http.ResponseWriter, r *http.Request) {
	d := s.options.Database
	o := console.Options{
		Who:   func(*http.Request) (console.Viewer, error) { return console.Reader(d.shown), nil },
		Clean: func(err error) error { return err },
	}
	places := map[string]int{}
	for _, f := range s.files {
		v := f.now()
		name := v.Title()
		place := console.Place{Name: "database"}
		if places[name]++; places[name] > 1 {
			place.Name = fmt.Sprint("database-", places[name])
		}
		if !v.Usable() {
			wrong := errors.New("the specification has errors; fix them to see the database")
			o.Machines = append(o.Machines, console.Unopened(place, name, wrong))
			continue
		}
		db, err := d.of(r.Context(), v.Machine)
		if err != nil {
			o.Machines = append(o.Machines, console.Unopened(place, name, err))
			continue
		}
		o.Clean = db.Address.Clean
		o.Machines = append(o.Machines, console.Of(place, drawn{db}))
	}
	h, err := console.New(o)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	http.StripPrefix(consolePath, h).ServeHTTP(w, r)
}
