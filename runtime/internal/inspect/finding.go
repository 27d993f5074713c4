package inspect

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
	CheckDecode   = "decode"   // the row is one of this machine's: known words, no negative revision or counter
	CheckRule     = "rule"     // presence and invariants of its state; a rule over a step, in each step of the log
	CheckUnique   = "unique"   // no two records hold the place that a unique rule gives to one
	CheckRevision = "revision" // revisions count from 1 without a gap
	CheckNumber   = "number"   // record-only events count from 1 at each revision
	CheckChain    = "chain"    // each step starts where the one before it ended
	CheckEdge     = "edge"     // each step is one that the machine can take
	CheckSum      = "checksum" // no event was altered, each can be read
	CheckHistory  = "history"  // no event was altered and given a new checksum
	CheckRequest  = "request"  // no request id stands twice in one scope
	CheckFold     = "fold"     // the record equals the fold of its log
	CheckBeyond   = "beyond"   // the log does not go on after the record's revision
	CheckOrphan   = "orphan"   // no log is without its record
	CheckIndex    = "index"    // the store finds each record under what it says, and under nothing else
	CheckProbe    = "probe"    // what a probe of the world says

	CheckFar        = "far"        // no deadline is more than five years ahead
	CheckProjection = "projection" // each step moves the projection of its group as the machine allows
)

// Checks are all checks.
var Checks = []string{
	CheckDecode, CheckRule, CheckUnique, CheckRevision, CheckNumber, CheckChain, CheckEdge, CheckSum, CheckHistory,
	CheckRequest, CheckFold, CheckBeyond, CheckOrphan, CheckIndex, CheckProbe, CheckFar, CheckProjection,
}
