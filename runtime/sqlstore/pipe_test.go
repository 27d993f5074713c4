package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// trips are those of a session, told by what they are.
type trips struct {
	told []string
	at   string // the one that fails
	err  error
	also func(told string)
}

func (d *trips) Ended() bool { return false }

func (d *trips) Run(_ context.Context, _ time.Duration, trip Trip) (int64, error) {
	var told []string
	for part, is := range map[string]bool{
		"look": strings.Contains(trip.Text, "FOR NO KEY UPDATE SKIP LOCKED"), "take": strings.Contains(trip.Text, "m: take"),
		"move": strings.Contains(trip.Text, "m: move"), "other": strings.Contains(trip.Text, "m: create"),
		"ROLLBACK": trip.Text == "ROLLBACK",
	} {
		if is && (part != "look" || trip.Each != nil && !strings.Contains(trip.Text, "m: move")) {
			told = append(told, part)
		}
	}
	if trip.Begin {
		told = append([]string{"BEGIN"}, told...)
	}
	if trip.Commit {
		told = append(told, "COMMIT")
	}
	word := strings.Join(told, " ")
	d.told = append(d.told, word)
	if d.also != nil {
		d.also(word)
	}
	if word == d.at {
		return 0, d.err
	}
	if trip.Each == nil {
		return 1, nil
	}
	for _, id := range []string{"a", "b"} {
		if err := trip.Each(&scripted{id: id}); err != nil {
			return 0, err
		}
	}
	return 2, nil
}

// A transaction that looks and then writes is two trips, and tells of each error what it means.
func TestPipe(t *testing.T) {
	t.Parallel()
	lost := errors.New("unexpected EOF")
	var gone context.CancelFunc
	look := func(x *txn) error {
		_, err := x.rows(&driver.Query{States: []string{"on"}, Limit: 2, Lock: true})
		return err
	}
	take := func(x *txn) error {
		if err := look(x); err != nil {
			return err
		}
		return x.WriteMany(moves(false, "a", "b"))
	}
	many := func(x *txn) error { return x.WriteMany(moves(false, "a", "b")) }
	kinds := func(x *txn) error { return x.WriteMany(append(moves(false, "a", "b"), moves(true, "c")...)) }
	then := func(f, g func(x *txn) error) func(x *txn) error {
		return func(x *txn) error { return errors.Join(f(x), g(x)) }
	}
	held := func(*txn) error { return driver.ErrHeld }
	none := func(*txn) error { return nil }
	leave := func(told string) {
		if told == "BEGIN look" {
			gone()
		}
	}
	const (
		first, second = "BEGIN look", "take COMMIT"
		both          = first + ", " + second
		bare          = first + ", COMMIT"
		back          = both + ", ROLLBACK"
	)
	for name, c := range map[string]struct {
		f      func(x *txn) error
		at     string // the trip that fails, so:
		err    error
		also   func(told string)
		told   string
		want   error // nil: none
		broken bool
	}{
		"well":                       {f: take, told: both},
		"nothing":                    {f: look, told: bare},
		"not even a look":            {f: none},
		"what nobody has locked":     {f: many, told: "BEGIN move, COMMIT"},
		"a kind beside it":           {f: then(look, kinds), told: "BEGIN look, move, other, COMMIT"},
		"an error of f":              {f: then(look, held), told: "BEGIN look, ROLLBACK", want: driver.ErrHeld},
		"too few":                    {f: take, at: second, err: errors.New(tooFew + "1"), told: back, want: driver.ErrMoved},
		"a rule":                     {f: take, at: second, err: constraint, told: back, want: driver.ErrMoved},
		"another writer":             {f: take, at: second, err: deadlock, told: back, want: fsm.ErrBusy},
		"a rule at the commit":       {f: take, at: second, err: &CommitError{constraint}, told: both, want: fsm.ErrInvariant, broken: true},
		"another one at the commit":  {f: take, at: second, err: &CommitError{deadlock}, told: both, want: fsm.ErrBusy, broken: true},
		"no answer to the commit":    {f: take, at: second, err: &CommitError{lost}, told: both, want: fsm.ErrAmbiguous, broken: true},
		"the server ends":            {f: take, at: second, err: &CommitError{state("57P01")}, told: both, want: fsm.ErrAmbiguous, broken: true},
		"no answer to a lone commit": {f: look, at: "COMMIT", err: &CommitError{lost}, told: bare, want: fsm.ErrAmbiguous, broken: true},
		"a lost connection":          {f: take, at: first, err: lost, told: "BEGIN look, ROLLBACK", want: lost},
		"an error behind the commit": {f: then(take, look), told: both, want: fsm.ErrAmbiguous, broken: true},
		"the call ends before":       {f: take, also: leave, told: "BEGIN look, ROLLBACK", want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := drivenSession(t)
			d := &trips{at: c.at, err: c.err, also: c.also}
			s.native = d
			x, _ := scriptedTx(t, Postgres(), mode{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone = cancel
			broken, err := x.t.oncePiped(ctx, s, nil, mode{piped: true}, c.f)
			if !errors.Is(err, c.want) || broken != c.broken {
				t.Errorf("broken %t, %v; want %t, %v", broken, err, c.broken, c.want)
			}
			if diff := cmp.Diff(c.told, strings.Join(d.told, ", ")); diff != "" {
				t.Errorf("trips (-want +got):\n%s", diff)
			}
		})
	}
}
