package fsm

import (
	"context"
	"fmt"
	"iter"
)

// Finding is something that an audit found.
type Finding struct {
	ID      string // of the record
	Rev, N  int64  // of the event, where one is guilty
	Check   string // one of the Check constants
	Must    bool   // false: a SHOULD, or a warning
	Message string
}

// The checks of an audit.
const (
	CheckDecode   = "decode"   // the row is one of this machine's
	CheckRule     = "rule"     // presence and invariants of its state
	CheckRevision = "revision" // revisions count from 1 without a gap
	CheckNumber   = "number"   // record-only events count from 1 at each revision
	CheckChain    = "chain"    // each step starts where the one before it ended
	CheckSum      = "checksum" // no event was altered
	CheckRequest  = "request"  // no request id stands twice in one scope
	CheckFold     = "fold"     // the record equals the fold of its log
	CheckOrphan   = "orphan"   // no log is without its record
	CheckProbe    = "probe"    // what a probe of the world says
)

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %q at revision %d: %s", f.Check, f.ID, f.Rev, f.Message)
}

// Probe asks the world about a record; generated code makes one out of the
// machine's Probes.
type Probe[R any] func(ctx context.Context, r R) ([]Violation, error)

// Audit reads every record and its whole log and yields what is wrong with
// them; nothing at all when everything is right. It never writes. An error ends
// it. Records are read in pages, so it may run beside other work; each record
// is compared with its log in one consistent snapshot.
func (m *Machine[R]) Audit(ctx context.Context, probes ...Probe[R]) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		for row, err := range m.rows(ctx, Query{}) {
			var found []Finding
			if err == nil {
				found, err = m.auditRecord(ctx, row.ID, probes)
			}
			if err != nil {
				yield(Finding{}, err)
				return
			}
			for _, f := range found {
				if !yield(f, nil) {
					return
				}
			}
		}
		m.auditOrphans(ctx, yield)
	}
}

func (m *Machine[R]) auditOrphans(ctx context.Context, yield func(Finding, error) bool) {
	after := ""
	for {
		var ids []string
		err := m.table.View(ctx, func(r Reader) (err error) {
			ids, err = r.Orphans(after, pageSize)
			return err
		})
		if err != nil {
			yield(Finding{}, err)
			return
		}
		for _, id := range ids {
			after = id
			if !yield(Finding{ID: id, Check: CheckOrphan, Must: true, Message: "the log has no record"}, nil) {
				return
			}
		}
		if len(ids) < pageSize {
			return
		}
	}
}

// inspection is the audit of one record.
type inspection struct {
	schema   *Schema
	id       string
	folded   Row
	foldErr  error
	state    string // where the log is now
	rev, n   int64
	requests map[string]int64 // request id -> the revision it stands at
	found    []Finding
}

func (x *inspection) report(e *Event, check, format string, args ...any) {
	f := Finding{ID: x.id, Check: check, Must: true, Message: fmt.Sprintf(format, args...)}
	if e != nil {
		f.Rev, f.N = e.Rev, e.N
	}
	x.found = append(x.found, f)
}

// event looks at the next event of the log.
func (x *inspection) event(e *Event) {
	if sum := Checksum(e); sum != e.Sum {
		x.report(e, CheckSum, "the event's checksum is %08x, it says %08x", sum, e.Sum)
	}
	switch {
	case e.RecordOnly():
		if e.Rev != x.rev || e.N != x.n+1 {
			x.report(e, CheckNumber, "record-only event %d.%d follows %d.%d", e.Rev, e.N, x.rev, x.n)
		}
		if e.From != x.state || e.To != x.state {
			x.report(e, CheckChain, "it was recorded in state %q, the record was in %q", e.From, x.state)
		}
		x.n = e.N
	default:
		if e.Rev != x.rev+1 {
			x.report(e, CheckRevision, "revision %d follows %d", e.Rev, x.rev)
		}
		if e.From != x.state {
			x.report(e, CheckChain, "it starts in state %q, the step before it ended in %q", e.From, x.state)
		}
		x.rev, x.n, x.state = e.Rev, 0, e.To
		if x.foldErr == nil {
			x.fold(e)
		}
	}
	if e.RequestID != "" {
		if rev, twice := x.requests[e.RequestID]; twice {
			x.report(e, CheckRequest, "request id %q stands at revision %d too", e.RequestID, rev)
		}
		x.requests[e.RequestID] = e.Rev
	}
}

// fold applies the event; an image must say what the changes up to it say.
func (x *inspection) fold(e *Event) {
	plain := *e
	if e.Rev == 1 || x.folded.Rev > 0 {
		plain.Image = JSON{}
	}
	if x.foldErr = foldEvent(x.schema, &x.folded, &plain); x.foldErr != nil {
		x.report(e, CheckFold, "%v", x.foldErr)
		return
	}
	if e.Image.IsZero() {
		return
	}
	image := x.folded
	if err := applyImage(x.schema, &image, e); err != nil {
		x.report(e, CheckFold, "%v", err)
	} else if diff := differs(x.schema, &image, &x.folded); diff != "" {
		x.report(e, CheckFold, "the image and the changes differ: %s", diff)
	}
}

// differs says in which column two rows differ; empty when in none.
func differs(s *Schema, a, b *Row) string {
	switch {
	case a.State != b.State:
		return fmt.Sprintf("state is %q, not %q", a.State, b.State)
	case a.Rev != b.Rev:
		return fmt.Sprintf("rev is %d, not %d", a.Rev, b.Rev)
	case !a.CreatedAt.Equal(b.CreatedAt):
		return fmt.Sprintf("created_at is %v, not %v", a.CreatedAt, b.CreatedAt)
	case !a.UpdatedAt.Equal(b.UpdatedAt):
		return fmt.Sprintf("updated_at is %v, not %v", a.UpdatedAt, b.UpdatedAt)
	}
	for i := range s.Columns {
		if !sameValue(a.Values[i], b.Values[i]) {
			return fmt.Sprintf("%s is %v, not %v", s.Columns[i].Name, a.Values[i], b.Values[i])
		}
	}
	return ""
}

// auditRecord inspects one record.
func (m *Machine[R]) auditRecord(ctx context.Context, id string, probes []Probe[R]) ([]Finding, error) {
	x := &inspection{schema: m.schema, id: id}
	var rec R
	decoded := false
	err := m.table.View(ctx, func(r Reader) error {
		*x = inspection{schema: m.schema, id: id, requests: map[string]int64{}}
		decoded = false
		row, err := r.Row(id)
		if err != nil {
			return err
		}
		var scoped []Event // events whose request has the machine for its scope
		for e, err := range r.Events(id, 0) {
			if err != nil {
				return err
			}
			x.event(&e)
			if e.RequestN >= 0 && e.RequestID != "" {
				scoped = append(scoped, e)
			}
		}
		for i := range scoped {
			if err := x.scoped(r, &scoped[i]); err != nil {
				return err
			}
		}
		if x.foldErr == nil {
			if diff := differs(m.schema, &row, &x.folded); x.folded.Rev == 0 {
				x.report(nil, CheckFold, "the record has no log")
			} else if diff != "" {
				x.report(nil, CheckFold, "the record differs from the fold of its log: %s", diff)
			}
		}
		if rec, err = m.d.Decode(row); err != nil {
			x.report(nil, CheckDecode, "%v", err)
			return nil
		}
		decoded = true
		return nil
	})
	if err != nil || !decoded {
		return x.found, err
	}
	for _, v := range m.d.Check(&rec) {
		x.found = append(x.found, Finding{ID: id, Check: CheckRule, Must: v.Must, Message: v.String()})
	}
	for _, probe := range probes {
		violations, err := probe(ctx, rec)
		if err != nil {
			return nil, fmt.Errorf("probe %s %q: %w", m.schema.Machine, id, err)
		}
		for _, v := range violations {
			x.found = append(x.found, Finding{ID: id, Check: CheckProbe, Must: v.Must, Message: v.String()})
		}
	}
	return x.found, nil
}

// scoped checks that a request whose scope is the machine stands once in it.
func (x *inspection) scoped(r Reader, e *Event) error {
	events, err := r.Request("", e.RequestID)
	if err != nil {
		return err
	}
	n := 0
	for i := range events {
		if events[i].RequestN == e.RequestN {
			n++
		}
	}
	if n != 1 {
		x.report(e, CheckRequest, "request id %q, number %d, stands %d times", e.RequestID, e.RequestN, n)
	}
	return nil
}
