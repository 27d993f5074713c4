package interp

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/fsmgen/fsmgen/spec"
)

// World is all the records of one machine with their log: what a store holds.
// Worlds are values: a step returns a new one and leaves the old as it was.
type World struct {
	Records map[string]Record // by id
	Log     []Event           // of all records, in the order of their commits
	Outbox  []Delivery        // effects that wait for being performed, oldest first
	Begun   map[string]Record // records that were there before the log: how each came about is not in it
}

// Delivery is work outside the record that waits for being done, at least once.
type Delivery struct {
	ID     string
	Rev    int64 // the revision whose commit asked for it
	N      int   // its number among those that this commit asked for
	Op     *spec.Operation
	Effect *spec.Effect
	Key    string // the text of its idempotency key
	Commit int    // the transaction that wrote it
}

// History returns the log of one record.
func (w World) History(id string) []Event {
	var events []Event
	for _, e := range w.Log {
		if e.ID == id {
			events = append(events, e)
		}
	}
	return events
}

// With returns the world with one more record, which was there before its log begins.
func (w World) With(r Record) World {
	next := w.clone()
	next.Records[r.ID] = r
	next.Begun = maps.Clone(w.Begun)
	if next.Begun == nil {
		next.Begun = map[string]Record{}
	}
	next.Begun[r.ID] = r
	return next
}

// At returns a record as it was at one of its revisions. It is an error when its log
// does not say so.
func (w World) At(m *spec.Machine, id string, rev int64) (Record, error) {
	return fold(m, w.Begun[id], slices.DeleteFunc(w.History(id), func(e Event) bool { return e.Rev > rev }))
}

// commits returns how many transactions the world has seen.
func (w World) commits() int {
	if len(w.Log) == 0 {
		return 0
	}
	return w.Log[len(w.Log)-1].Commit
}

// clone copies what a step may change.
func (w World) clone() World {
	w.Records = maps.Clone(w.Records)
	if w.Records == nil {
		w.Records = map[string]Record{}
	}
	w.Log = slices.Clip(w.Log)
	w.Outbox = slices.Clone(w.Outbox)
	return w
}

// GroupOf returns the values of the group that a guard counts for a call, in the order of
// its fields, and false when one is absent: then it counts nobody. For a creation r has
// what is being set: see [Effects].
func GroupOf(m *spec.Machine, req *spec.Requirement, r Record, c Call) ([]Value, bool) {
	key := make([]Value, len(req.Of))
	for i, f := range req.Of {
		if key[i] = term(m, f.Right, r, c); !key[i].IsPresent() {
			return nil, false
		}
	}
	return key, true
}

// Most returns how many others are too many for a guard and a call: 0 where the limit is absent or
// below 0, so that the guard refuses. For a creation r has what is being set: see [Effects].
func Most(m *spec.Machine, req *spec.Requirement, r Record, c Call) int64 {
	if req.Limit == nil {
		return req.Guard.Peers.Than
	}
	return max(term(m, req.Limit.Left, r, c).Num, 0)
}

// others counts what the operation must know of the other records.
func (w World) others(m *spec.Machine, r Record, c Call) Others {
	count := make(map[string]int64)
	grouped := r
	if len(c.Op.Creates) > 0 {
		grouped = Effects(m, &c.Op.Effects, r, c) // `same` means the value being set
	}
	for _, req := range c.Op.Require {
		if req.Guard.Peers != nil {
			count[req.Guard.Name] = int64(len(w.Counted(m, req, grouped, c)))
		}
	}
	next := make(map[string]int64)
	for _, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence && len(c.Op.Creates) > 0 {
			if last := w.last(m, f, grouped); last < math.MaxInt64 {
				next[f.Name] = last + 1
			}
		}
	}
	return Others{Count: count, Next: next}
}

// last returns the highest number of a sequence in the group of r: of those that
// its records have, whatever group they were made in, and of those that were given
// in it, since a number whose record has moved away is not given again. A group
// whose key is absent is a group like any other here: a number must be given.
func (w World) last(m *spec.Machine, f *spec.Field, r Record) int64 {
	var last int64
	look := func(o Record) {
		other := func(per *spec.Field) bool { return o.Value(m, per) != r.Value(m, per) }
		if !slices.ContainsFunc(f.Per, other) {
			last = max(last, o.Value(m, f).Num)
		}
	}
	for _, list := range []map[string]Record{w.Records, w.Begun} {
		for _, o := range list {
			look(o)
		}
	}
	for _, e := range w.Log {
		if e.From == nil {
			made, err := Fold(m, []Event{e})
			if err != nil {
				panic("interp: the event of a creation cannot be folded: " + err.Error())
			}
			look(made)
		}
	}
	return last
}

// same lists the other records with the same values in the fields that are in
// these states (nil: in any), by id. A record with an absent value has no group.
func (w World) same(m *spec.Machine, fields []spec.FieldRef, in []spec.StateRef, r Record) []Record {
	key, ok := group(m, fields, r)
	if !ok {
		return nil
	}
	return w.sharing(m, fields, in, r.ID, key)
}

// sharing lists the records but one that have these values in the fields.
func (w World) sharing(m *spec.Machine, fields []spec.FieldRef, in []spec.StateRef, but string, key []Value) []Record {
	var found []Record
	for _, o := range w.Records {
		if o.ID == but || in != nil && !inStates(o.State, in) {
			continue
		}
		if k, ok := group(m, fields, o); ok && slices.Equal(k, key) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

// unique looks for a constraint that the record, once written, would break.
func (w World) unique(m *spec.Machine, op *spec.Operation, from *spec.State, r Record) *Refusal {
	for _, u := range m.Unique {
		if inStates(r.State, u.In) && len(w.same(m, u.Fields, u.In, r)) > 0 {
			return &Refusal{
				Code: CodeNotUnique, Operation: op.Name, State: name(from),
				Name: u.Name, Sentinel: cmp.Or(u.Error, u.Name), Message: u.Message,
			}
		}
	}
	// So are the numbers of a sequence and the fields of `dedupe_by`, in all
	// states and whatever changes them.
	implied := func(rule string, fields []spec.FieldRef) *Refusal {
		if len(w.same(m, fields, nil, r)) == 0 {
			return nil
		}
		return &Refusal{Code: CodeNotUnique, Operation: op.Name, State: name(from), Name: rule}
	}
	for _, f := range m.Fields {
		if f.Type.Kind != spec.KindSequence {
			continue
		}
		fields := []spec.FieldRef{{Field: f}}
		for _, per := range f.Per {
			fields = append(fields, spec.FieldRef{Field: per})
		}
		if refusal := implied("sequence_"+f.Name, fields); refusal != nil {
			return refusal
		}
	}
	for _, o := range m.Operations {
		if d := o.DedupeBy; d != nil && d.Unique == nil {
			if refusal := implied("dedupe_"+o.Name, d.Fields); refusal != nil {
				return refusal
			}
		}
	}
	return nil
}

// existing returns the record that `dedupe_by` finds for a creation.
func (w World) existing(m *spec.Machine, r Record, c Call) (Record, bool) {
	d := c.Op.DedupeBy
	if d == nil {
		return Record{}, false
	}
	var in []spec.StateRef
	if d.Unique != nil {
		in = d.Unique.In
	}
	made := Effects(m, &c.Op.Effects, r, c)
	made.ID = "" // a record under the id that is asked for is found as any other
	found := w.same(m, d.Fields, in, made)
	if len(found) == 0 {
		return Record{}, false
	}
	return found[0], true
}

// candidates returns the records that `next` looks at, in its order: those in
// `from` that pass `where`.
func (w World) candidates(m *spec.Machine, c Call) []Record {
	var fit []Record
	for _, r := range w.Records {
		if inStates(r.State, c.Op.From) && all(m, c.Op.Next.Where, r, c) {
			fit = append(fit, r)
		}
	}
	Sort(m, fit, c.Op.Next.Order)
	return fit
}

// Sort puts records into an order. Absent values come last, in both directions; ties are
// broken by id.
func Sort(m *spec.Machine, list []Record, order []spec.Order) {
	slices.SortFunc(list, func(a, b Record) int {
		for _, o := range order {
			x, y := a.Value(m, o.Field), b.Value(m, o.Field)
			by := x.Compare(y)
			if x.Kind == KindAbsent || y.Kind == KindAbsent || o.Descending {
				by = -by
			}
			if by != 0 {
				return by
			}
		}
		return cmp.Compare(a.ID, b.ID)
	})
}

// Others counts what an operation must know of the other records.
func (w World) Others(m *spec.Machine, r Record, c Call) Others { return w.others(m, r, c) }

// Clash reports whether two records of the world have what only one of them may have.
func (w World) Clash(m *spec.Machine) bool {
	for _, r := range w.Records {
		if w.unique(m, m.Operations[0], nil, r) != nil {
			return true
		}
	}
	return false
}
