package live

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/audit"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// Audit reads every record and its whole log and yields what is wrong with them:
// see audit.Run. Probes of the world are not asked. The findings of one
// record come one after the other.
func (db *DB) Audit(ctx context.Context, progress func(done, total int64)) iter.Seq2[audit.Finding, error] {
	return func(yield func(audit.Finding, error) bool) {
		o := audit.Options[interp.Record]{Progress: progress}
		for f, err := range audit.RunWith(ctx, db.Machine, o) {
			if !yield(f, db.Address.Clean(err)) {
				return
			}
		}
	}
}

// Drift names the machine's indexes, triggers and functions that are others than the generated schema
// makes, each with what to do about it. Those of a later version are not known.
func (db *DB) Drift(ctx context.Context) ([]string, error) {
	s, ok := db.store.(drifter)
	if !ok || db.Beside {
		return nil, nil
	}
	return s.Drift(ctx, db.Machine.Schema(), db.generate)
}

// Proposal is what Repair would do to one record, or why it cannot.
type Proposal struct {
	ID      string
	Changes []Change // what the row would become; empty when Why says why not
	Missing bool     // the row is gone and would be made again
	Why     string   // why the record cannot be repaired from its log; empty when it can
}

// Change is one datum of a row that would become another.
type Change struct {
	Field    string // by its name in the specification; "state", "rev", "created_at" and "updated_at" too
	Old, New any    // as in fsm.Row.Values; the state in stored words
}

// ofRow are the checks that look at a row; all others look at the log.
var ofRow = []string{audit.CheckDecode, audit.CheckRule, audit.CheckFold, audit.CheckBeyond, audit.CheckOrphan, audit.CheckIndex}

// Propose says what Repair would do about what an audit found of one record. It
// changes nothing. The second result is false when there is nothing to repair:
// a SHOULD, or a rule across records alone.
func (db *DB) Propose(ctx context.Context, id string, found []audit.Finding) (Proposal, bool, error) {
	p := Proposal{ID: id}
	row, keys := false, false
	for _, f := range found {
		keys = keys || f.Check == audit.CheckIndex
		switch {
		case !f.Must:
		case f.Check == audit.CheckUnique:
			p.Why = "another record has the same unique values; call an operation that decides which one keeps them"
		case f.Rev > 0 || !slices.Contains(ofRow, f.Check):
			p.Why = "its log is incomplete, so the record cannot be rebuilt; an operator's operation has to decide"
			return p, true, nil
		default:
			row = true
		}
	}
	if !row {
		return p, p.Why != "", nil
	}
	folded, n, err := db.fold(ctx, id)
	switch {
	case err != nil:
		return p, true, db.Address.Clean(err)
	case n == 0 && keys:
		p.Why = "no record has this id; delete the leftover key by hand"
		return p, true, nil
	case n == 0:
		p.Why = "it has no log; delete the row, or create the record by an operation"
		return p, true, nil
	}
	have, err := db.Row(ctx, id)
	if errors.Is(err, ErrNoRecord) {
		p.Missing, err = true, nil
	}
	if err != nil {
		return p, true, err
	}
	p.Changes = db.changes(&have, &folded, p.Missing)
	if keys { // the store makes them again with the row
		p.Changes = append(p.Changes, Change{"index keys", "others", "those of the record"})
	}
	if len(p.Changes) == 0 {
		p.Why = "its row matches its log but breaks a rule: something other than the machine wrote the log; an operator's operation has to decide"
	} else {
		p.Why = ""
	}
	return p, true, nil
}

// fold makes the row of a record out of its log and says how many transitions that
// has. It keeps what came since the newest image.
func (db *DB) fold(ctx context.Context, id string) (row driver.Row, n int, err error) {
	var tail []fsm.Event
	for e, err := range db.Events(ctx, id, Place{}) {
		if err != nil {
			return row, 0, err
		}
		if e.RecordOnly() {
			continue
		}
		if !e.Image.IsZero() && e.Version == db.Spec.Version {
			tail = tail[:0]
		}
		tail = append(tail, e)
		n++
	}
	if n == 0 {
		return row, 0, nil
	}
	row, err = driver.FoldRow(db.Machine.Schema(), tail)
	return row, n, err
}

// changes lists what of a row would become another.
func (db *DB) changes(have, folded *driver.Row, missing bool) []Change {
	var list []Change
	add := func(name string, old, next any) {
		if missing {
			old = nil
		}
		if missing && next != nil || !missing && !same(old, next) {
			list = append(list, Change{name, old, next})
		}
	}
	add("state", have.State, folded.State)
	add("rev", have.Rev, folded.Rev)
	add("created_at", have.CreatedAt, folded.CreatedAt)
	add("updated_at", have.UpdatedAt, folded.UpdatedAt)
	for i, c := range db.Machine.Schema().Columns {
		var old any
		if i < len(have.Values) {
			old = have.Values[i]
		}
		add(c.Name, old, folded.Values[i])
	}
	return list
}

// same reports whether two values of rows are the same.
func same(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	return a == b
}

// Repair does what Propose says: the row becomes the fold of its log, which gets a
// record-only event that says who did it and why. It reports whether there was
// anything to do. The database must be open for writing.
func (db *DB) Repair(ctx context.Context, id, actor, reason string) (bool, error) {
	_, repaired, err := audit.Repair(ctx, db.Machine, id, actor, reason)
	return repaired, db.Address.Clean(err)
}
