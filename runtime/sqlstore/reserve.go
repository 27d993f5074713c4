package sqlstore

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Who wants a place of a unique rule waits, on a server, for each transaction that took,
// left or changed a record in it and has not ended. So two that take and leave several
// places in crossing order would wait for each other. Who takes a place and has another
// one therefore locks all of them before, under numbers that all places share. The first
// ones of a transaction are waited for, in their order; later ones are tried, and a
// transaction that does not get them ends, waits for them with empty hands, and begins
// again. Who takes one place alone has nothing that another one waits for, and locks none.

// placeNumbers bounds the locks of one transaction.
const placeNumbers = 1024

// counts reports whether a unique rule counts records in a state.
func counts(u *driver.UniqueRule, state string) bool {
	return u.States == nil || slices.Contains(u.States, state)
}

// has reports whether a row has a place under a rule.
func (t *table) has(u *driver.UniqueRule, row *driver.Row) bool {
	return counts(u, row.State) && !slices.ContainsFunc(u.Columns, func(name string) bool { return row.Values[t.schema.Column(name)] == nil })
}

// enters reports whether a write takes a place, and touches whether its record has one
// before or afterwards, for all that can be known without the row of before.
func (t *table) enters(w *driver.Write) (enters, touches bool) {
	if w.Row == nil || t.fits(w) != nil {
		return false, false
	}
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		has := t.has(u, w.Row)
		had := w.Prev.Rev > 0 && counts(u, w.PrevState)
		touches = touches || had || has
		moves := slices.ContainsFunc(u.Columns, func(name string) bool { return slices.Contains(w.Changed, t.schema.Column(name)) })
		enters = enters || has && (!had || moves)
	}
	return enters, touches
}

// exchanges reports whether a move takes a place and has another one, before or afterwards.
// A creation by itself has none while it waits for the next: its statement gives way.
func (t *table) exchanges(w *driver.Write) bool {
	if w.Prev.Rev == 0 || len(t.schema.Uniques) == 0 {
		return false
	}
	enters, _ := t.enters(w)
	return enters && (w.Old == nil || len(t.placesOf(w.Row, w.Old)) > 1)
}

// placesOf returns the places of rows, each once.
func (t *table) placesOf(rows ...*driver.Row) (places []string) {
	for i := range t.schema.Uniques {
		u := &t.schema.Uniques[i]
		for _, row := range rows {
			if row == nil || !t.has(u, row) {
				continue
			}
			place := []byte(u.Name)
			for _, name := range u.Columns {
				place = fmt.Appendf(place, "\x00%v", row.Values[t.schema.Column(name)])
			}
			places = append(places, string(place))
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// numbersOf returns the numbers under which places are locked, in order, each once.
// Two places may have one number.
func numbersOf(places []string) (numbers []int) {
	for _, place := range places {
		h := fnv.New32a()
		h.Write([]byte(place))
		numbers = append(numbers, int(h.Sum32()%placeNumbers))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// arrayOf returns numbers as a server's array.
func arrayOf(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return "{" + strings.Join(words, ",") + "}"
}

// reserve locks the places that writes take, leave or change a record in. A transaction
// that has come to its first place locks nothing, for it may be the only one; when it is
// not, it begins again as one that locks.
func (x *txn) reserve(ws ...*driver.Write) error {
	enters, touches := false, false
	for _, w := range ws {
		e, has := x.t.enters(w)
		enters, touches = enters || e, touches || has
	}
	return x.reserveAs(enters, touches, ws...)
}

// reserveAs is reserve where it is known whether the writes take and touch places.
func (x *txn) reserveAs(enters, touches bool, ws ...*driver.Write) error {
	if x.err != nil || !x.t.dialect.server() {
		return x.err
	}
	first := !x.placed
	x.placed = x.placed || touches
	if x.beside != nil {
		x.beside.placed = x.beside.placed || touches
	}
	switch {
	case !touches, !enters && !x.mode.places:
		return nil // who takes none waits for none
	case !first && !x.mode.places:
		how := x.mode
		how.places = true
		return x.again(how)
	}
	var rows []*driver.Row
	for _, w := range ws {
		before, err := x.formerly(w)
		if err != nil {
			return err
		}
		rows = append(rows, w.Row, before)
	}
	places := x.t.placesOf(rows...)
	if len(places) == 0 || len(places) == 1 && !x.mode.places {
		return nil
	}
	return x.lockPlaces(numbersOf(places), !first || x.adopted)
}

// formerly returns the row that a write changes; nil where there is none.
func (x *txn) formerly(w *driver.Write) (*driver.Row, error) {
	switch {
	case w.Prev.Rev == 0, w.Old != nil:
		return w.Old, nil
	case x.was != nil && x.was.ID == w.Prev.ID && x.was.Rev == w.Prev.Rev:
		return x.was, nil
	}
	row, err := x.hold(w.Prev.ID)
	if errors.Is(err, driver.ErrNotFound) {
		return nil, nil
	}
	return &row, err
}

// lockPlaces locks places, or ends the transaction where they are tried and another
// one has them. One of the caller's goes on: its order is the caller's.
func (x *txn) lockPlaces(numbers []int, try bool) error {
	things := x.t.numbered(numbers)
	if !try {
		if err := x.asks(things...); err != nil {
			return err
		}
	}
	n, _, err := x.integer(x.t.dialect.lockPlaces(x.t, try), arrayOf(numbers))
	if err == nil && n < int64(len(numbers)) && !x.adopted {
		x.err = &met{what: "places of unique rules", things: things, wait: x.waits(func(x *txn) error { return x.lockPlaces(numbers, false) })}
		return x.err
	}
	return err
}
