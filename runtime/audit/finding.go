package audit

import (
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/internal/inspect"
)

// Finding is something that an audit found.
type Finding struct {
	ID      string // of the record
	Rev, N  int64  // of the event, where one is guilty
	Check   string // one of the Check constants
	Must    bool   // false: a SHOULD, or a warning
	Message string
}

// The checks of an audit. Each fault is named once: what follows from a fault
// that is named already is not reported by another check.
const (
	CheckDecode   = inspect.CheckDecode   // the row is one of this machine's: known words, no negative revision or counter
	CheckRule     = inspect.CheckRule     // presence and invariants of its state; a rule over a step, in each step of the log
	CheckUnique   = inspect.CheckUnique   // no two records hold the place that a unique rule gives to one
	CheckRevision = inspect.CheckRevision // revisions count from 1 without a gap
	CheckNumber   = inspect.CheckNumber   // record-only events count from 1 at each revision
	CheckChain    = inspect.CheckChain    // each step starts where the one before it ended
	CheckEdge     = inspect.CheckEdge     // each step is one that the machine can take
	CheckSum      = inspect.CheckSum      // no event was altered, each can be read
	CheckHistory  = inspect.CheckHistory  // no event was altered and given a new checksum
	CheckRequest  = inspect.CheckRequest  // no request id stands twice in one scope
	CheckFold     = inspect.CheckFold     // the record equals the fold of its log
	CheckBeyond   = inspect.CheckBeyond   // the log does not go on after the record's revision
	CheckOrphan   = inspect.CheckOrphan   // no log is without its record
	CheckIndex    = inspect.CheckIndex    // the store finds each record under what it says, and under nothing else
	CheckProbe    = inspect.CheckProbe    // what a probe of the world says

	CheckFar        = inspect.CheckFar        // no deadline is more than five years ahead
	CheckProjection = inspect.CheckProjection // each step moves the projection of its group as the machine allows
)

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %q at revision %d: %s", f.Check, f.ID, f.Rev, f.Message)
}
