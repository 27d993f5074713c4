package mapped

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// path is how far the history of one record was followed.
type path struct {
	id    string
	there bool        // the table has the record
	state *spec.State // of the record; nil: unknown
	at    *spec.State // where the history is
	lost  bool        // it holds an unknown word: what follows is not judged by what came before
	moves int
	when  interp.Value
}

// history follows the moves of each record, in their order.
func (a *audit) history(ctx context.Context) (err error) {
	h := a.p.History
	can := map[[2]*spec.State]bool{}
	for _, v := range a.p.Machine.Moves() {
		can[[2]*spec.State{v.Source(), v.To}] = true
	}
	actor := "NULL"
	if h.Actor != "" {
		actor = column("h", h.Actor)
	}
	list, err := a.tx.QueryContext(ctx, "SELECT "+column("h", h.ID)+", "+column("t", a.p.ID)+", "+column("t", a.p.State.Name)+", "+
		column("h", h.From)+", "+column("h", h.To)+", "+column("h", h.At)+", "+actor+
		" FROM "+quoted(h.Table)+" AS h LEFT JOIN "+quoted(a.p.Table)+" AS t ON "+column("t", a.p.ID)+" = "+column("h", h.ID)+
		" ORDER BY "+column("h", h.ID)+", "+column("h", cmp.Or(h.Order, h.At)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	s, err := scan(list)
	if err != nil {
		return err
	}
	var at *path
	for {
		more, err := s.next()
		if err != nil {
			return err
		}
		id, _ := textOf(s.raw[0])
		if at != nil && (!more || at.id != id) {
			a.arrived(at)
			at = nil
		}
		if !more {
			return nil
		}
		if at == nil {
			word, _ := textOf(s.raw[2])
			at = &path{id: id, there: s.raw[1] != nil, state: a.p.States[word]}
			if !at.there {
				a.t.add(CheckHistory, "the history belongs to no record", true, id, "")
			}
		}
		a.result.Moves++
		a.step(at, s, can)
	}
}

// step judges one move.
func (a *audit) step(p *path, s *scanner, can map[[2]*spec.State]bool) {
	say := func(check, rule, value string) { a.t.add(check, rule, true, p.id, value) }
	from, created, fromKnown := a.wordOf(s.raw[3], true)
	to, _, toKnown := a.wordOf(s.raw[4], false)
	who, _ := textOf(s.raw[6])
	told := fmt.Sprintf("at %s by %s", shown(s.raw[5]), who)
	if who == "" {
		told = "at " + shown(s.raw[5])
	}
	when, problem := instant(s.raw[5], s.zoned[5], a.p.History.Zone, 0)
	switch {
	case problem != "":
		say(CheckHistory, "the time of a move: "+problem, shown(s.raw[5]))
	case p.when.Kind != interp.KindAbsent && when.Num < p.when.Num:
		say(CheckHistory, "the time of a move lies before that of the move before it", told)
	}
	if problem == "" {
		p.when = when
		if when.AsTime().After(a.o.Now) {
			say(CheckHistory, "a move is after now", told)
		}
	}
	for i, known := range []bool{fromKnown, toKnown} {
		if !known {
			say(CheckState, shown(s.raw[3+i])+" is no word of the mapping, in the history", told)
		}
	}
	if fromKnown && toKnown && !can[[2]*spec.State{from, to}] {
		say(CheckMove, fmt.Sprintf("no operation makes %s -> %s", name(from), name(to)), told)
	}
	first := p.moves == 0
	p.moves++
	switch {
	case !fromKnown || !first && p.lost:
	case first && !created && !can[[2]*spec.State{nil, from}]:
		say(CheckHistory, "the history begins where no record is made", "in "+name(from)+", "+told)
	case first:
	case created:
		say(CheckHistory, "the record is made twice", told)
	case p.at != from:
		say(CheckHistory, "a move begins elsewhere than the one before it ended",
			fmt.Sprintf("%s, then %s -> %s %s", name(p.at), name(from), shownState(to, s.raw[4]), told))
	}
	p.at, p.lost = to, !toKnown
}

// wordOf finds the state of a word of the history. An absent one is where a record is made, if none may be there.
func (a *audit) wordOf(raw any, none bool) (s *spec.State, created, known bool) {
	word, there := textOf(raw)
	if s = a.p.States[word]; s != nil && there {
		return s, false, true
	}
	if none && word == "" {
		return nil, true, true
	}
	return nil, false, false
}

func name(s *spec.State) string {
	if s == nil {
		return "(new)"
	}
	return s.Name
}

func shownState(s *spec.State, raw any) string {
	if s == nil {
		return shown(raw)
	}
	return s.Name
}

// arrived looks where the history of a record ended.
func (a *audit) arrived(p *path) {
	if p.there && p.state != nil && !p.lost && p.at != p.state {
		a.t.add(CheckHistory, "the history ends elsewhere than its record", true, p.id,
			"it ends in "+name(p.at)+", the record is "+p.state.Name)
	}
}

// without looks for records that have no history and are where none is made.
func (a *audit) without(ctx context.Context) (err error) {
	h := a.p.History
	made := map[*spec.State]bool{}
	for _, v := range a.p.Machine.Moves() {
		if v.Source() == nil {
			made[v.To] = true
		}
	}
	// Neither database reads the history once for each record, with an index or without.
	list, err := a.tx.QueryContext(ctx, "SELECT "+column("t", a.p.ID)+", "+column("t", a.p.State.Name)+" FROM "+quoted(a.p.Table)+
		" AS t LEFT JOIN (SELECT DISTINCT "+column("x", h.ID)+` AS "moved" FROM `+quoted(h.Table)+` AS x) AS h`+
		` ON h."moved" = `+column("t", a.p.ID)+` WHERE h."moved" IS NULL ORDER BY `+column("t", a.p.ID))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	for list.Next() {
		var id, word any
		if err := list.Scan(&id, &word); err != nil {
			return err
		}
		key, _ := textOf(id)
		text, _ := textOf(word)
		if s := a.p.States[text]; s != nil && !made[s] {
			a.t.add(CheckHistory, "the record has moved and has no history", true, key, "it is "+s.Name)
		}
	}
	return list.Err()
}
