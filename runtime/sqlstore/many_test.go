package sqlstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// moves are writes of the script's machine: creations, or changes of what is on at
// revision 3.
func moves(create bool, ids ...string) []*driver.Write {
	var list []*driver.Write
	for _, id := range ids {
		w := &driver.Write{Prev: driver.Ref{ID: id, Rev: 3}, PrevState: "on", Row: &driver.Row{ID: id, State: "off", Rev: 4},
			Event: driver.Event{ID: id, Rev: 4, Operation: "go", From: "on", To: "off", RequestN: -1}}
		if create {
			w.Prev.Rev, w.PrevState, w.Row.Rev, w.Event.Rev, w.Event.From = 0, "", 1, 1, ""
		}
		list = append(list, w)
	}
	return list
}

// Many writes of one kind are one statement to a server, up to a bound.
func TestManyWritesAreOneStatement(t *testing.T) {
	t.Parallel()
	x, s := scriptedTx(t, Postgres(), mode{})
	ws := moves(false, "c", "a", "b")
	text, args := x.t.writing(true, ws...)
	if args[0] != true || args[1] != `{"a","b","c"}` {
		t.Errorf("%v, want the events behind those of their records, in the order of ids", args)
	}
	if plain, args := x.t.writing(false, ws...); args[0] != false || plain != text {
		t.Errorf("%v, want nothing of the transaction", args)
	}
	strict, asked := scriptedTx(t, Postgres(), mode{strict: true})
	asked.rows = []string{"a", "b", "c"}
	if err := strict.WriteMany(ws); err != nil || len(asked.given) == 0 || asked.given[0] != nil {
		t.Errorf("%v, %v: a strict transaction says that its batch is on its way", err, asked.given)
	}
	s.rows = []string{"a", "b", "c"}
	if err := x.WriteMany(ws); err != nil || !x.changed || !x.ran || x.last != ws[0] {
		t.Errorf("got %v, changed: %t, ran: %t, last: %v", err, x.changed, x.ran, x.last)
	}
	s.want(t, text)
	if !strings.Contains(text, "CASE WHEN $1 THEN greatest(pg_current_xact_id(),") {
		t.Errorf("nothing puts the events behind those of their records:\n%s", text)
	}

	made, _ := x.t.writing(true, moves(true, "d", "e")...)
	one, _ := x.t.writing(true, moves(false, "f")[0])
	s.asked, s.rows = nil, []string{"d", "e"}
	if err := x.WriteMany(append(moves(true, "d", "e"), moves(false, "f")...)); err != nil {
		t.Error(err)
	}
	s.want(t, made, one)

	s.asked, s.rows = nil, nil
	ids := make([]string, maxMany+1)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
		if i < maxMany {
			s.rows = append(s.rows, ids[i])
		}
	}
	if err := x.WriteMany(moves(false, ids...)); err != nil {
		t.Error(err)
	}
	s.want(t, text, one)
}

// Many writes of which one does nothing or is refused leave the transaction
// useless, for some of them may have been made.
func TestManyWritesAreAllOrNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows   []string
		refuse error
		want   error
	}{
		"one is elsewhere":  {[]string{"a"}, nil, driver.ErrMoved},
		"one record twice":  {[]string{"a", "a"}, nil, driver.ErrMoved},
		"a rule":            {nil, constraint, driver.ErrMoved},
		"another writer":    {nil, deadlock, fsm.ErrBusy},
		"the server ends":   {nil, state("57P01"), fsm.ErrBusy},
		"something unknown": {nil, state("22P02"), state("22P02")},
	} {
		x, s := scriptedTx(t, Postgres(), mode{})
		text, _ := x.t.writing(true, moves(false, "a", "b")...)
		s.rows, s.refuse[text] = c.rows, c.refuse
		for range 2 { // nothing is done after it
			if err := x.WriteMany(moves(false, "a", "b")); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
			if _, err := x.change("anything"); err == nil {
				t.Errorf("%s: the transaction goes on", name)
			}
		}
		s.want(t, text)
	}
	for i, id := range []string{"a", "b"} {
		x, s := scriptedTx(t, Postgres(), mode{})
		ws := moves(false, "a", "b")
		ws[i].Row.Values = []any{1}
		if err := x.WriteMany(ws); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the row of %q has 1 values", id)) {
			t.Errorf("got %v, want the row of %s, which does not fit", err, id)
		}
		s.want(t)
	}
}

// On SQLite many writes are made one after the other, until one is refused.
func TestManyWritesOnSQLite(t *testing.T) {
	t.Parallel()
	x, s := scriptedTx(t, SQLite(), mode{})
	if err := x.WriteMany(moves(false, "a", "b")); err != nil || len(s.asked) != 4 {
		t.Errorf("%v, asked %q, want an event and a row for each", err, s.asked)
	}
	s.asked, s.changed = nil, 0
	if err := x.WriteMany(moves(false, "a", "b")); !errors.Is(err, fsm.ErrDenied) || len(s.asked) != 1 {
		t.Errorf("%v, asked %q, want the event of the first one alone, which was suppressed", err, s.asked)
	}
}
