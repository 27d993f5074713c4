package fsmimpl

import "fmt"

// Class is what a cell of the state by operation table does before any guard
// is looked at. The zero Class is none.
type Class uint8

// The classes.
const (
	// ClassReject: the operation is refused in this state.
	ClassReject Class = iota + 1
	// ClassRecordOnly: the call is appended to the log and changes nothing else.
	ClassRecordOnly
	// ClassTransition: the operation may move the record.
	ClassTransition
)

// String returns "reject", "record_only" or "transition".
func (c Class) String() string {
	switch c {
	case ClassReject:
		return "reject"
	case ClassRecordOnly:
		return "record_only"
	case ClassTransition:
		return "transition"
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}
