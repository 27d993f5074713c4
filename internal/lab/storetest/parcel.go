package storetest

import (
	_ "embed" // Spec
	"errors"
	"fmt"
	"slices"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// Spec is the specification of the suite's machine, for a generator.
//
//go:embed parcel.yaml
var Spec string

// The machine's own sentinels.
var (
	ErrSlotTaken = errors.New("the slot is taken")
	ErrNotHolder = errors.New("somebody else holds the parcel")
	ErrLaneFull  = errors.New("the lane is full")
	ErrTooHeavy  = errors.New("the parcel is too heavy")
)

// Parcel is the record of the suite's machine. State is the stored word.
type Parcel struct {
	ID        string
	State     string
	Rev       int64
	CreatedAt time.Time
	UpdatedAt time.Time

	Label   fsm.Optional[string]
	Lane    string
	Slot    fsm.Optional[string]
	Holder  fsm.Optional[string]
	Weight  fsm.Optional[int64]
	Fragile fsm.Optional[bool]
	Due     fsm.Optional[time.Time]
	Note    fsm.Optional[fsm.JSON]
	Size    fsm.Optional[string]
	Tags    fsm.Set
	Moves   int64
}

// Ref returns id and revision, so that a Parcel is a Target.
func (p Parcel) Ref() fsm.Ref { return fsm.Ref{ID: p.ID, Rev: p.Rev} }

// The places of the columns in a row's values.
const (
	colLabel = iota
	colLane
	colSlot
	colHolder
	colWeight
	colFragile
	colDue
	colNote
	colSize
	colTags
	colMoves
)

// Schema returns the schema of the suite's machine, without SQL.
func Schema() *driver.Schema {
	return &driver.Schema{
		Machine: "parcel", Entity: "Parcel", Version: 1, Hash: "storetest-parcel-1",
		Table: "parcel", Enforce: "full",
		RequestID: driver.Optionally, ExpectedRev: driver.Optionally,
		Columns: []driver.Column{
			{Name: "label", Stored: "label", Kind: driver.KindString, Optional: true},
			{Name: "lane", Stored: "lane", Kind: driver.KindString},
			{Name: "slot", Stored: "slot", Kind: driver.KindString, Optional: true},
			{Name: "holder", Stored: "holder", Kind: driver.KindString, Optional: true},
			{Name: "weight", Stored: "weight", Kind: driver.KindInt, Optional: true},
			{Name: "fragile", Stored: "fragile", Kind: driver.KindBool, Optional: true},
			{Name: "due", Stored: "due", Kind: driver.KindTime, Optional: true},
			{Name: "note", Stored: "note", Kind: driver.KindJSON, Optional: true},
			{Name: "size", Stored: "size", Kind: driver.KindEnum, Optional: true, Words: []string{"small", "large"}},
			{Name: "tags", Stored: "tags", Kind: driver.KindSet},
			{Name: "moves", Stored: "moves", Kind: driver.KindCounter},
		},
		States: []driver.StateInfo{
			{Name: "waiting", Stored: "waiting"},
			{Name: "held", Stored: "held"},
			{Name: "shelved", Stored: "shelved"},
			{Name: "sent", Stored: "sent", Terminal: true},
		},
		Uniques: []driver.UniqueRule{
			{Name: "one_per_slot", Columns: []string{"slot"}, States: []string{"shelved"}, Err: ErrSlotTaken},
			{Name: "dedupe_register", Columns: []string{"label"}},
		},
		Operations: []driver.OperationInfo{
			{Stored: "register", Creates: true, Sets: []int{colLabel, colLane, colWeight, colTags}},
			{Stored: "hold", Leaves: true, Sets: []int{colHolder, colDue}},
			{Stored: "touch", Stays: true, Sets: []int{colDue}},
			{Stored: "annotate", Stays: true, Sets: []int{colFragile, colNote, colSize}},
			{Stored: "shelve", Leaves: true, Stays: true, Sets: []int{colSlot, colHolder, colDue, colTags, colMoves}},
			{Stored: "weigh", Stays: true, Sets: []int{colWeight}},
			{Stored: "verify", Stays: true},
			{Stored: "release", Leaves: true, Sets: []int{colHolder, colDue}},
			{Stored: "bill", Stays: true, Sets: []int{colMoves}},
			{Stored: "expel", Leaves: true, Sets: []int{colHolder, colDue}},
			{Stored: "discard", Leaves: true},
			{Stored: "dispatch", Stays: true},
			{Stored: "arrive", Leaves: true, Sets: []int{colSlot}},
			{Stored: "send", Leaves: true, Sets: []int{colSlot}},
		},
		Indexes: []driver.Index{
			{Name: "next.hold", Columns: []string{"lane"}, Order: []driver.Order{{Column: "weight", Descending: true}}, States: []string{"waiting"}},
			{Name: "due.release", Order: []driver.Order{{Column: "due"}}, States: []string{"held"}},
			{Name: "peers.lane_open", Columns: []string{"lane"}, States: []string{"shelved"}},
			{Name: "lookup.in_lane", Columns: []string{"lane"}, Order: InLane.Order, States: InLane.States},
			{Name: "lookup.of_size", Columns: OfSize.Columns},
		},
		Worked: []driver.WorkedColumn{
			{Name: "_open", States: []string{"waiting", "held", "shelved"}},
			{Name: "_in_shelved", States: []string{"shelved"}},
			{Name: "_in_waiting", States: []string{"waiting"}},
			{Name: "_in_held_or_shelved", States: []string{"held", "shelved"}},
			{Name: "_in_waiting_or_held", States: []string{"waiting", "held"}},
			{Name: "_in_held", States: []string{"held"}},
			{Name: "_minute_due", Minute: "due"},
		},
	}
}

// The look-ups of the machine.
var (
	InLane = fsmimpl.Lookup{
		Name: "in_lane", Columns: []string{"lane"}, States: []string{"waiting", "held"},
		Order: []driver.Order{{Column: "created_at", Descending: true}, {Column: "label"}},
	}
	OfSize  = fsmimpl.Lookup{Name: "of_size", Columns: []string{"size"}}
	ByLabel = fsmimpl.Lookup{Name: "by_label", Columns: []string{"label"}}
)

// column makes a row's value of an optional field.
func column[T any](o fsm.Optional[T]) any {
	if v, ok := o.Get(); ok {
		return v
	}
	return nil
}

// field makes an optional field of a row's value.
func field[T any](v any, err *error) fsm.Optional[T] {
	if v == nil {
		return fsm.Optional[T]{}
	}
	t, ok := v.(T)
	if !ok {
		*err = errors.Join(*err, fmt.Errorf("a %T stands where a %T belongs", v, t))
	}
	return fsm.Some(t)
}

// Encode makes a row of a parcel.
func Encode(p *Parcel) driver.Row {
	tags, _ := p.Tags.MarshalJSON()
	var note any
	if j, ok := p.Note.Get(); ok {
		note = j.String()
	}
	return driver.Row{
		ID: p.ID, State: p.State, Rev: p.Rev, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		Values: []any{
			column(p.Label), p.Lane, column(p.Slot), column(p.Holder), column(p.Weight), column(p.Fragile),
			column(p.Due), note, column(p.Size), string(tags), p.Moves,
		},
	}
}

// Decode makes a parcel of a row.
func Decode(row driver.Row) (Parcel, error) {
	p := Parcel{ID: row.ID, State: row.State, Rev: row.Rev, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt}
	if len(row.Values) != colMoves+1 {
		return p, fmt.Errorf("the row has %d values, a parcel %d", len(row.Values), colMoves+1)
	}
	if !slices.Contains([]string{"waiting", "held", "shelved", "sent"}, row.State) {
		return p, fmt.Errorf("no state is stored as %q", row.State)
	}
	var err error
	v := row.Values
	p.Label = field[string](v[colLabel], &err)
	p.Lane, _ = field[string](v[colLane], &err).Get()
	p.Slot = field[string](v[colSlot], &err)
	p.Holder = field[string](v[colHolder], &err)
	p.Weight = field[int64](v[colWeight], &err)
	p.Fragile = field[bool](v[colFragile], &err)
	p.Due = field[time.Time](v[colDue], &err)
	if text, ok := field[string](v[colNote], &err).Get(); ok {
		note, parseErr := fsm.ParseJSON(text)
		err = errors.Join(err, parseErr)
		p.Note = fsm.Some(note)
	}
	p.Size = field[string](v[colSize], &err)
	if size, ok := p.Size.Get(); ok && size != "small" && size != "large" {
		err = errors.Join(err, fmt.Errorf("no size is stored as %q", size))
	}
	tags, _ := field[string](v[colTags], &err).Get()
	err = errors.Join(err, p.Tags.Scan(tags))
	p.Moves, _ = field[int64](v[colMoves], &err).Get()
	return p, err
}

// Check returns the rules that a parcel breaks.
func Check(p *Parcel) []fsm.Violation {
	var list []fsm.Violation
	must := func(ok bool, rule string) {
		if !ok {
			list = append(list, fsm.Violation{Rule: rule, Must: true})
		}
	}
	if p.State == "held" {
		must(p.Holder.Present(), "holder is present")
		must(p.Due.Present(), "due is present")
	} else {
		must(!p.Holder.Present(), "holder is absent")
	}
	if p.State == "shelved" {
		must(p.Slot.Present(), "slot is present")
	} else {
		must(!p.Slot.Present(), "slot is absent")
	}
	return list
}
