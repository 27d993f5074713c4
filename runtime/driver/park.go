package driver

import (
	"errors"
	"math"
)

// Parking says what a pick may park for: a record that it met and cannot take stands
// aside, so that those who come later do not meet it again.
type Parking struct {
	Column string     // beside those of the record: absent, a pick looks at the record; else see Parked
	Due    []Cond     // comparisons with now that the record has to pass
	Rules  []ParkRule // what others have to make room for
}

// ParkRule refuses a record while as many others with the same values of the columns
// are in the states. One of which a value is absent is never refused.
type ParkRule struct {
	Note    string // under this name it is noted that there may be room
	Columns []string
	States  []string
	Than    int64
}

// Parked is a record that a pick cannot take.
type Parked struct {
	ID     string
	Rev    int64
	Until  int64   // not before that time, in microseconds, with Rule < 0
	Rule   int     // not before others make room, by this one of the rules
	Groups [][]any // by each of the rules; nil where it refuses none of them
}

// AsItIs is Parked.Until of a record that no pick takes before it changes.
const AsItIs = math.MaxInt64

// ParkingTx is a Tx of a store that parks. A record stays parked until anything
// changes it, until its time, or until Wake finds that others made room.
type ParkingTx interface {
	Tx
	// Park parks those that are at their revision and surely refused until the
	// transaction ends, as far as nobody else has them, and returns how many.
	Park(p *Parking, list []Parked) (int, error)
	// Wake shows the records again whose time q.Stir has come, and of each group in
	// which there may be room as many as there may be room for, the first of those in
	// the query's states and order. Only without q.Lock it waits for who does the same. It
	// returns how much it did, and the id of a record that another writer has.
	Wake(q Query) (n int, held string, err error)
}

// ErrStir is the answer to a query with Stir: Wake has something to do first.
var ErrStir = errors.New("records are parked that a pick may take now")
