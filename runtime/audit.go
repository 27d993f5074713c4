package fsm

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
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
	CheckDecode   = "decode"   // the row is one of this machine's: known words, no negative revision or counter
	CheckRule     = "rule"     // presence and invariants of its state
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

	CheckProjection = "projection" // each step moves the projection of its group as the machine allows
)

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %q at revision %d: %s", f.Check, f.ID, f.Rev, f.Message)
}

// Probe asks the world about a record; generated code makes one out of the
// machine's Probes.
type Probe[R any] func(ctx context.Context, r R) ([]fsmimpl.Violation, error)

// AuditOptions are the settings of an audit.
type AuditOptions[R any] struct {
	// Probes are asked about every record that can be decoded.
	Probes []Probe[R]
	// Progress is called after every page of records and at the end, in the
	// goroutine of the audit. Total is the number of records when it began.
	Progress func(done, total int64)
}

// Audit reads every record and its whole log and yields what is wrong with
// them; nothing at all when everything is right. It never writes. An error ends
// it. Records are read in pages, so it may run beside other work; each record
// is compared with its log in one consistent snapshot. What it keeps in memory
// does not grow with the number of records or the length of a log. Where the
// machine has a projection with transitions, it reads the log of all records at
// the end, once for some thousand groups, and twice where it finds something.
func (m *Machine[R]) Audit(ctx context.Context, probes ...Probe[R]) iter.Seq2[Finding, error] {
	return m.AuditWith(ctx, AuditOptions[R]{Probes: probes})
}

// AuditWith is Audit with settings. What it found so far is in Health.
func (m *Machine[R]) AuditWith(ctx context.Context, o AuditOptions[R]) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		run := m.health.begin(true, m.now())
		err := m.audit(ctx, &o, run, func(f Finding) bool {
			run.found(&f)
			return yield(f, nil)
		})
		run.end(err, m.now())
		if err != nil && err != errBrokenOff { //nolint:errorlint // it is not wrapped
			yield(Finding{}, err)
		}
	}
}

// errBrokenOff ends an audit whose reader has had enough.
var errBrokenOff = errors.New("the audit was broken off by its reader")

func (m *Machine[R]) audit(ctx context.Context, o *AuditOptions[R], run *checkRun, yield func(Finding) bool) error {
	total, err := m.total(ctx)
	if err != nil {
		return err
	}
	run.expect(total)
	var done int64
	report := func() {
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	for row, err := range m.rows(ctx, driver.Query{}) {
		var found []Finding
		if err == nil {
			found, err = m.auditRecord(ctx, row.ID, o.Probes)
		}
		if err != nil {
			return err
		}
		quarantined := false
		for _, f := range found {
			quarantined = quarantined || f.Must && f.Check != CheckProbe
			if !yield(f) {
				return errBrokenOff
			}
		}
		run.record(quarantined)
		if done++; done%pageSize == 0 {
			report()
		}
	}
	shared, err := m.auditUniques(ctx, yield)
	if err != nil {
		return err
	}
	if err := m.auditIndexes(ctx, shared, yield); err != nil {
		return err
	}
	if err := m.auditOrphans(ctx, yield); err != nil {
		return err
	}
	if err := m.auditProjection(ctx, yield); err != nil {
		return err
	}
	report()
	return nil
}

// total counts the records.
func (m *Machine[R]) total(ctx context.Context) (n int64, err error) {
	err = m.table.View(ctx, func(r driver.Reader) (err error) {
		n, err = r.Count(driver.Query{})
		return err
	})
	return n, err
}

func (m *Machine[R]) auditOrphans(ctx context.Context, yield func(Finding) bool) error {
	for after := ""; ; {
		var ids []string
		err := m.table.View(ctx, func(r driver.Reader) (err error) {
			ids, err = r.Orphans(after, pageSize)
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			after = id
			if !yield(Finding{ID: id, Check: CheckOrphan, Must: true, Message: "the log has no record"}) {
				return errBrokenOff
			}
		}
		if len(ids) < pageSize {
			return nil
		}
	}
}

// auditRecord inspects one record.
func (m *Machine[R]) auditRecord(ctx context.Context, id string, probes []Probe[R]) ([]Finding, error) {
	x := &inspection[R]{m: m, id: id}
	var rec R
	decoded := false
	err := m.table.View(ctx, func(r driver.Reader) error {
		*x = inspection[R]{m: m, id: id}
		decoded = false
		row, err := r.Row(id)
		if errors.Is(err, ErrNotFound) {
			return nil // it was purged since its page was read
		}
		if err != nil {
			return err
		}
		if err := x.log(r); err != nil {
			return err
		}
		rec, decoded = x.row(&row)
		return nil
	})
	if err != nil || !decoded {
		return x.found, err
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
