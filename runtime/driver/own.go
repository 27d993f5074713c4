package driver

import (
	"fmt"
	"slices"
	"strings"
)

// Reserved begins the request ids that the engine makes.
const Reserved = "sys:"

// The operations of events that no operation of a machine makes.
const (
	OpMigrate = "migrate"  // a step by which a migration takes a record out of a state that is gone
	OpImport  = "__import" // a creation in any state: the record comes from elsewhere
	OpRepair  = "__repair" // recorded only: the row was put right after its log
	OpGiveUp  = "__giveup" // recorded only: an effect is not tried any more, because somebody said so
	OpRedact  = "__redact" // a transition that changes fields only: they were erased
	OpPurge   = "__purge"  // recorded only: the record was removed
	OpPurged  = "__purged" // an event that Purge has emptied
)

// RedactedMark stands in the place of the fingerprint of an event of which something
// was erased.
const RedactedMark = "redacted"

// Redacted reports whether something of the event was erased after it was logged.
// What it led to is told by the event of the operation OpRedact behind it.
func (e *Event) Redacted() bool { return e.Fingerprint == RedactedMark }

// Own reports whether the event is right although no operation makes it.
func (e *Event) Own(s *Schema) bool {
	switch e.Operation {
	case OpRepair, OpGiveUp:
		return e.RecordOnly()
	case OpImport:
		return !e.RecordOnly() && e.Rev == 1 && e.From == "" && s.Knows(e.To) && !e.Image.IsZero()
	}
	if e.Operation == OpRedact {
		return !e.RecordOnly() && e.Rev > 1 && e.From == e.To && strings.HasPrefix(e.RequestID, Reserved+OpRedact+":")
	}
	return e.Operation == OpMigrate && e.Actor == SystemActor && e.Rev > 1 && !e.RecordOnly() &&
		e.RequestID == fmt.Sprintf("%s%s:%d", Reserved, OpMigrate, e.Rev) && !s.Knows(e.From) && s.Knows(e.To)
}

// Knows reports whether a state is stored under that word.
func (s *Schema) Knows(stored string) bool {
	return slices.ContainsFunc(s.States, func(st StateInfo) bool { return st.Stored == stored })
}
