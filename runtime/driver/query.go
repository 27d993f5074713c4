package driver

import "time"

// Query selects rows.
type Query struct {
	IDs    []string // only rows with one of these ids, at most 1 000; nil: all
	States []string // stored words; nil: all
	Where  []Cond   // all must hold
	Order  []Order  // ties by id, ascending
	After  string   // only rows behind this one: without Order, ids above this one
	Behind []any    // with Order: what the row After holds of its keys, as in Row.Values
	Limit  int      // 0: all
	Lock   bool     // in a Tx: lock the rows, pass over those that another writer has locked
	Wait   bool     // with Lock, without Order: wait for those, by id

	Park *Parking  // in a ParkingTx: leave out what is parked
	Stir time.Time // with Park: ErrStir when Wake has something to do at that time
}

// Op is a comparison of a column.
type Op uint8

// The comparisons. A comparison with an absent value is false.
const (
	OpEq Op = iota + 1
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpPresent // a set is present when it is not empty
	OpAbsent
)

// Cond is one condition on a column: a stored field name, "created_at" or
// "updated_at".
type Cond struct {
	Column string
	By     string // with a time: the stored name of a length in microseconds, which is added to it; absent when either is
	Op     Op
	Value  any  // as in Row.Values; nil with OpPresent and OpAbsent
	Now    bool // in a Call: Value is the time at which the store is asked
}

// Order is one key of an order. Absent values come last.
type Order struct {
	Column     string // a stored field name, "created_at" or "updated_at"
	By         string // as in Cond
	Descending bool
}

// PeerQuery names a group of records.
type PeerQuery struct {
	Name     string   // of the guard or the sequence field
	Sequence bool     // ask for the next number instead of a count
	Columns  []string // stored names of the fields that make the group; none: all records
	Values   []any    // that its records have, of this record or of the call; when one is nil the group is empty
	States   []string // stored words of the states that count
	Except   string   // id of the record in question
	Locked   bool     // the lock of the group is enough: a store need not see to what the count rests on besides
	Hold     bool     // lock the group and count nothing, since the record may be about to leave States: 0
	Try      bool     // wait for nobody: ErrHeld where another writer has the group
}

// Key returns the value of a column of a row by which conditions and orders go: created_at and
// updated_at are columns too. With by it is the time of the column, later by the length there;
// nil where one of the two is absent.
func (s *Schema) Key(row *Row, column, by string) any {
	var v any
	switch column {
	case "created_at":
		v = row.CreatedAt
	case "updated_at":
		v = row.UpdatedAt
	default:
		v = row.Values[s.Column(column)]
	}
	if by == "" {
		return v
	}
	at, timed := v.(time.Time)
	length, known := s.Key(row, by, "").(int64)
	if !timed || !known {
		return nil
	}
	return Later(at, length)
}
