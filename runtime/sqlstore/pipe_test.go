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
	told  []string
	fails map[string]error
	also  func(told string)
}

func (d *trips) Ended() bool { return false }

func (d *trips) Run(_ context.Context, _ time.Duration, trip Trip) (int64, error) {
	var told []string
	for _, part := range []struct {
		is   bool
		word string
	}{{trip.Begin, "BEGIN"}, {strings.Contains(trip.Text, "FOR NO KEY UPDATE SKIP LOCKED"), "look"}, {strings.Contains(trip.Text, " take"), "take"},
		{strings.Contains(trip.Text, "m: move"), "move"}, {trip.Text == "ROLLBACK", "ROLLBACK"}, {trip.Commit, "COMMIT"}} {
		if part.is {
			told = append(told, part.word)
		}
	}
	word := strings.Join(told, " ")
	d.told = append(d.told, word)
	if d.also != nil {
		d.also(word)
	}
	if err := d.fails[word]; err != nil {
		return 0, err
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
	both := []string{"BEGIN look", "take COMMIT"}
	for name, c := range map[string]struct {
		f      func(x *txn) error
		fails  map[string]error
		also   func(told string)
		told   []string
		want   error // nil: none
		broken bool
	}{
		"well":                   {f: take, told: both},
		"nothing":                {f: look, told: []string{"BEGIN look", "COMMIT"}},
		"not even a look":        {f: func(*txn) error { return nil }},
		"what nobody has locked": {f: func(x *txn) error { return x.WriteMany(moves(false, "a", "b")) }, told: []string{"BEGIN move", "COMMIT"}},
		"a kind beside it": {
			f: func(x *txn) error {
				return errors.Join(look(x), x.WriteMany(append(moves(false, "a", "b"), moves(true, "c")...)))
			},
			told: []string{"BEGIN look", "move", "", "COMMIT"},
		},
		"an error of f": {f: func(x *txn) error { return errors.Join(look(x), driver.ErrHeld) }, told: []string{"BEGIN look", "ROLLBACK"}, want: driver.ErrHeld},
		"too few":       {f: take, fails: map[string]error{both[1]: errors.New(tooFew + "1")}, told: append(both, "ROLLBACK"), want: driver.ErrMoved},
		"a rule":        {f: take, fails: map[string]error{both[1]: constraint}, told: append(both, "ROLLBACK"), want: driver.ErrMoved},
		"another writer": {
			f: take, fails: map[string]error{both[1]: deadlock}, told: append(both, "ROLLBACK"), want: fsm.ErrBusy,
		},
		"a rule at the commit":       {f: take, fails: map[string]error{both[1]: &CommitError{constraint}}, told: both, want: fsm.ErrInvariant, broken: true},
		"another one at the commit":  {f: take, fails: map[string]error{both[1]: &CommitError{deadlock}}, told: both, want: fsm.ErrBusy, broken: true},
		"no answer to the commit":    {f: take, fails: map[string]error{both[1]: &CommitError{lost}}, told: both, want: fsm.ErrAmbiguous, broken: true},
		"the server ends":            {f: take, fails: map[string]error{both[1]: &CommitError{state("57P01")}}, told: both, want: fsm.ErrAmbiguous, broken: true},
		"no answer to a lone commit": {f: look, fails: map[string]error{"COMMIT": &CommitError{lost}}, told: []string{"BEGIN look", "COMMIT"}, want: fsm.ErrAmbiguous, broken: true},
		"no way back": {
			f: take, fails: map[string]error{both[0]: context.DeadlineExceeded, "ROLLBACK": context.DeadlineExceeded},
			told: []string{both[0], "ROLLBACK"}, want: fsm.ErrBusy, broken: true,
		},
		"an error behind the commit": {
			f:    func(x *txn) error { return errors.Join(take(x), look(x)) },
			told: both, want: fsm.ErrAmbiguous, broken: true,
		},
		"the call ends before": {
			f: take, told: []string{both[0], "ROLLBACK"}, want: context.Canceled,
			also: func(told string) {
				if told == both[0] {
					gone()
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := drivenSession(t)
			d := &trips{fails: c.fails, also: c.also}
			s.native = d
			x, _ := scriptedTx(t, Postgres(), mode{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone = cancel
			broken, err := x.t.oncePiped(ctx, s, nil, mode{piped: true}, c.f)
			if !errors.Is(err, c.want) || broken != c.broken {
				t.Errorf("broken %t, %v; want %t, %v", broken, err, c.broken, c.want)
			}
			if diff := cmp.Diff(c.told, d.told); diff != "" {
				t.Errorf("trips (-want +got):\n%s", diff)
			}
		})
	}
}
