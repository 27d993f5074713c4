package driver

import (
	"fmt"
	"time"
)

// Ref names a record at a revision. Rev 0 means "whatever revision it has",
// which only machines with `expected_rev: optional` or `none` accept.
type Ref struct {
	ID  string
	Rev int64
}

// Ref returns r, so that a Ref is a Target.
func (r Ref) Ref() Ref { return r }

// String returns "id@rev".
func (r Ref) String() string { return fmt.Sprintf("%s@%d", r.ID, r.Rev) }

// Event is one line of a record's log. All words are the stored ones: the
// first names of states, operations, events and fields.
type Event struct {
	ID          string
	Rev         int64 // the revision it made; a record-only event stands at the revision it found
	N           int64 // 0 for a transition; 1, 2, 3 ... for the record-only events of a revision
	Operation   string
	Name        string // the audit name
	From        string // empty for a creation
	To          string // the state after it; equal to From for a record-only event
	At          time.Time
	Actor       string
	Reason      string
	RequestID   string            // empty for a step of `then`; "sys:..." when the engine made it: see Call.RequestID
	RequestN    int64             // -1: the request's scope is the record; else its scope is the machine, and this is the index within a batch
	Fingerprint string            // of the request: see Fingerprint
	Labels      map[string]string // never read by a rule
	Inputs      JSON              // an object: all inputs by name
	Changes     JSON              // an object: the after-image of the changed fields; null is absent; a set lists the added members
	Image       JSON              // an object: all fields, created_at and updated_at; at rev 1 and every 64th revision, else the zero JSON
	Version     int               // of the specification
	Cause       string            // the operation whose `then` this is; empty otherwise
	Guard       string            // the guard that failed, where `on_refusal: record_only` kept the call
	Sum         uint32            // CRC-32C over all of the above but N, made by the engine: see Checksum
	Chain       uint32            // of the log up to here, made by the store: see Chained; 0 in the outcome of a call, and in stores that keep none
}

// RecordOnly reports whether the event changed nothing but the log.
func (e *Event) RecordOnly() bool { return e.N > 0 }

// Row is a record as stores hold it. Values stand in the order of
// Schema.Columns, each one of: nil (absent), string (string, enum word, JSON
// text, set as a sorted JSON array), int64 (int, counter, sequence), bool,
// time.Time (as Time returns it).
type Row struct {
	ID        string
	State     string // stored word
	Rev       int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Values    []any
	// Chain is that of the record's last transition, where the store keeps it in the row and
	// nobody else has changed the row since; 0: not known.
	Chain uint32
}

// Ref returns the row's id and revision.
func (r *Row) Ref() Ref { return Ref{r.ID, r.Rev} }
