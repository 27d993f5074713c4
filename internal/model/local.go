package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// local is one record as the checker sees it: what makes no difference to any
// rule has one value, and times are where they stand to the clock.
type local struct {
	record interp.Record
	edges  [][]edge // by operation: what the calls do; made when first asked for
	passes []uint16 // where time leads
	kept   []bool   // by operation: a call is recorded, and changes nothing
	heard  []heard  // what calls decide that change nothing
	gets   []int    // by operation: how many requirements some call gets to
	known  bool     // edges, passes, kept, heard and gets are made
	met    bool     // a state holds it
	perms  []int32  // by permutation: the local it becomes; -1 is not known yet
	keys   []int16  // by key of the machine: the group, -1 for none
}

// edge is what one call does to one record when no guard on others refuses it.
type edge struct {
	call  int32
	to    uint16
	stays bool   // nothing that matters changes
	wrong string // the promise that is broken, or empty

	branch *spec.Branch // that was taken, or nil
}

// none is the local of a record that is not there.
const none = ^uint16(0)

// groupKey is one combination of fields that tells records together.
type groupKey struct {
	fields []spec.FieldRef
	ids    map[string]int16
	values [][]interp.Value
}

// table holds all locals of a machine and what calls do to them.
type table struct {
	m     *spec.Machine
	pools *pools
	opts  Options
	heard []heard // what creations decide that make no record

	calls     []call
	byOp      [][]int32 // by operation: indices of calls
	locals    []*local
	index     map[string]uint16
	name      []byte // of a record, in the making
	perms     []permutation
	keys      []*groupKey
	keyOf     map[string]int // by field names: index in keys
	creates   [][]creation   // by operation
	tried     [][]attempt    // by operation: creations by which other records are looked for, those that make none too
	bounded   bool           // a counter reached its bound
	full      bool           // more kinds of records than can be numbered
	decisions int            // that the interpreter made
	thinned   []string       // operations whose inputs are not combined in every way
}

// creation is what one call that makes a record leads to.
type creation struct {
	call  int32
	group uint16 // the record with the values being set, by which guards and dedupe_by look for others
	to    uint16
	wrong string

	branch *spec.Branch
}

// attempt is a call of a creation, whatever comes of it, and how many requirements it gets to.
type attempt struct {
	group uint16
	gets  int
}

// gets returns how many requirements are asked before the record itself refuses, where
// guards on other records let the call pass.
func gets(op *spec.Operation, d interp.Decision, refusal *interp.Refusal) int {
	name := d.Guard
	if refusal != nil && refusal.Code == interp.CodeGuard {
		name = refusal.Guard
	}
	i := slices.IndexFunc(op.Require, func(r *spec.Requirement) bool {
		return (r.Guard.Peers == nil || r.Limit != nil) && r.Guard.Name == name
	})
	if i < 0 {
		return len(op.Require)
	}
	return i
}

func newTable(m *spec.Machine, o Options) *table {
	t := &table{m: m, opts: o, pools: newPools(classify(m), o), index: map[string]uint16{}, keyOf: map[string]int{}}
	t.byOp = make([][]int32, len(m.Operations))
	for i, op := range m.Operations {
		calls, all := t.pools.calls(m, op)
		if !all {
			t.thinned = append(t.thinned, op.Name)
		}
		for _, c := range calls {
			t.byOp[i] = append(t.byOp[i], int32(len(t.calls))) //nolint:gosec // a handful
			t.calls = append(t.calls, call{op, c, len(t.calls)})
		}
	}
	for _, key := range keys(m) {
		if name := keyName(key); !has(t.keyOf, name) {
			t.keyOf[name] = len(t.keys)
			t.keys = append(t.keys, &groupKey{fields: key, ids: map[string]int16{}})
		}
	}
	t.perms = permutations(t.pools)
	t.creates, t.tried = make([][]creation, len(m.Operations)), make([][]attempt, len(m.Operations))
	for i, op := range m.Operations {
		if len(op.Creates) > 0 {
			t.creations(i, op)
		}
	}
	return t
}

func has[K comparable, V any](m map[K]V, k K) bool { _, ok := m[k]; return ok }

func keyName(key []spec.FieldRef) string {
	var b strings.Builder
	for _, f := range key {
		b.WriteString(f.Field.Name + " ")
	}
	return b.String()
}

// creations makes the outcomes of the calls of a creation.
func (t *table) creations(i int, op *spec.Operation) {
	fresh := interp.NewRecord(t.m, "")
	for _, n := range t.byOp[i] {
		c := t.calls[n].call
		d, refusal := interp.Decide(t.m, fresh, c, t.others())
		e := creation{call: n, group: none, branch: d.Branch}
		accepted, _ := interp.Accept(t.m, c) // accepted before: calls did
		grouped := interp.Effects(t.m, &op.Effects, fresh, accepted)
		grouped.State = t.m.States[0] // whichever: groups do not look at it
		e.group = t.intern(grouped)
		if a := (attempt{e.group, gets(op, d, refusal)}); !slices.Contains(t.tried[i], a) {
			t.tried[i] = append(t.tried[i], a)
		}
		switch {
		case refusal != nil && refusal.Code == interp.CodeInvariant:
			e.wrong = broken(refusal)
			e.to = none
		case refusal != nil || d.RecordOnly:
			t.heard = hear(t.heard, op, d, refusal)
			continue
		case t.aboveBound(d.Record):
			continue
		default:
			e.to = t.land(d)
		}
		t.creates[i] = append(t.creates[i], e)
	}
}

// others lets every guard on other records pass, and numbers from 1.
func (t *table) others() interp.Others {
	next := map[string]int64{}
	for _, f := range t.m.Fields {
		if f.Type.Kind == spec.KindSequence {
			next[f.Name] = 1
		}
	}
	count := map[string]int64{}
	for _, g := range t.m.Guards {
		if g.Peers != nil && g.Peers.Some {
			count[g.Name] = 1
		}
	}
	return interp.Others{Count: count, Next: next}
}

func broken(r *interp.Refusal) string {
	if r.Name == "choose" {
		return "no branch fits the record"
	}
	return fmt.Sprintf("%#q does not hold afterwards", r.Name)
}

// aboveBound reports whether a counter has gone further than is looked at.
func (t *table) aboveBound(r interp.Record) bool {
	for i, f := range t.m.Fields {
		if f.Type.Kind == spec.KindCounter && t.pools.matters(f) && r.Fields[i].Num > int64(t.opts.Counter) {
			t.bounded = true
			return true
		}
	}
	return false
}

// intern returns the number of the canonical form of a record.
func (t *table) intern(r interp.Record) uint16 { return t.number(t.canonical(r, false)) }

// land is intern for what a step leads to: the moment does not pass before the step that follows.
func (t *table) land(d interp.Decision) uint16 { return t.number(t.canonical(d.Record, d.Then != nil)) }

// settled returns the number of a record once its transaction is over.
func (t *table) settled(n uint16) uint16 { return t.intern(t.locals[n].record) }

func (t *table) number(r interp.Record) uint16 {
	b := strconv.AppendInt(t.name[:0], int64(r.State.Index), 10)
	for _, at := range []time.Time{r.CreatedAt, r.UpdatedAt} {
		b = strconv.AppendInt(append(b, ' '), at.UnixMicro(), 10)
	}
	for _, v := range r.Fields {
		b = strconv.AppendInt(append(b, '|', byte(v.Kind)), v.Num, 10)
		b = append(append(b, ' '), v.Text...)
	}
	t.name = b
	if n, ok := t.index[string(b)]; ok {
		return n
	}
	if len(t.locals) >= int(none) {
		t.full = true
		return 0
	}
	n := uint16(len(t.locals)) //nolint:gosec // below none
	t.index[string(b)] = n
	l := &local{record: r, perms: make([]int32, len(t.perms))}
	for i := range l.perms {
		l.perms[i] = -1
	}
	for _, k := range t.keys {
		l.keys = append(l.keys, k.of(t.m, r))
	}
	t.locals = append(t.locals, l)
	return n
}

// of returns the number of the group of a record, -1 when a field is absent.
func (k *groupKey) of(m *spec.Machine, r interp.Record) int16 {
	values := make([]interp.Value, len(k.fields))
	for i, f := range k.fields {
		if values[i] = r.Value(m, f.Field); !values[i].IsPresent() {
			return -1
		}
	}
	return k.among(values, true)
}

// among returns the number of the group with these values, -1 when not all are there.
func (k *groupKey) among(values []interp.Value, all bool) int16 {
	if !all {
		return -1
	}
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%d %d %q ", v.Kind, v.Num, v.Text)
	}
	id, ok := k.ids[b.String()]
	if !ok {
		id = int16(len(k.values)) //nolint:gosec // as many as there are values
		k.ids[b.String()] = id
		k.values = append(k.values, values)
	}
	return id
}

// canonical drops what makes no difference, and lets a moment pass: what was
// now is past, unless it is held.
func (t *table) canonical(r interp.Record, held bool) interp.Record {
	r.Fields = slices.Clone(r.Fields)
	r.ID, r.Rev = "", 1
	for i, f := range t.m.Fields {
		v := r.Fields[i]
		switch {
		case t.pools.matters(f):
		case v.Kind == interp.KindSet:
			if !t.pools.presence[f] || !v.IsPresent() {
				r.Fields[i] = interp.Set()
			} else {
				r.Fields[i] = constant(f.Type)
			}
		case f.Type.Optional && !t.pools.presence[f]:
			r.Fields[i] = interp.Absent
		case v.IsPresent():
			r.Fields[i] = constant(f.Type)
		}
	}
	for _, b := range t.m.Builtin {
		if t.pools.matters(b) {
			continue
		}
		if b.Name == "updated_at" {
			r.UpdatedAt = epoch
		} else {
			r.CreatedAt = epoch
		}
	}
	t.settle(&r, 0, held)
	return r
}

// times lists the instants of a record that matter.
func (t *table) times(r *interp.Record) (at []time.Time, set []func(time.Time)) {
	for i, f := range t.m.Fields {
		if f.Type.Kind == spec.KindTime && t.pools.matters(f) && r.Fields[i].Kind == interp.KindTime {
			at = append(at, r.Fields[i].AsTime())
			set = append(set, func(v time.Time) { r.Fields[i] = interp.Time(v) })
		}
	}
	for _, b := range t.m.Builtin {
		switch {
		case !t.pools.matters(b):
		case b.Name == "updated_at":
			at, set = append(at, r.UpdatedAt), append(set, func(v time.Time) { r.UpdatedAt = v })
		default:
			at, set = append(at, r.CreatedAt), append(set, func(v time.Time) { r.CreatedAt = v })
		}
	}
	return at, set
}

// settle brings the instants of a record to where they stand to the clock:
// before or after it, and in which order when times are compared with each
// other. The first `over` of those to come are past by now.
func (t *table) settle(r *interp.Record, over int, held bool) {
	at, set := t.times(r)
	if t.pools.reach {
		t.pools.stand(at, set, held)
		return
	}
	if !t.pools.ordered {
		for i, v := range at {
			switch {
			case held && v.Equal(epoch):
			case v.After(epoch):
				set[i](epoch.Add(aheadUnit))
			default:
				set[i](epoch.Add(-pastUnit))
			}
		}
		return
	}
	sorted := slices.Clone(at)
	slices.SortFunc(sorted, time.Time.Compare)
	sorted = slices.CompactFunc(sorted, time.Time.Equal)
	past := slices.IndexFunc(sorted, func(v time.Time) bool { return v.After(epoch) })
	if past < 0 {
		past = len(sorted)
	}
	past = min(past+over, len(sorted))
	for i, v := range at {
		n := slices.IndexFunc(sorted, v.Equal)
		switch {
		case held && v.Equal(epoch):
		case n < past:
			set[i](epoch.Add(-pastUnit * time.Duration(past-n)))
		default:
			set[i](epoch.Add(aheadUnit * time.Duration(n-past+1)))
		}
	}
}

// passing lists what a record becomes when time goes on: the next instant
// passes, or, where instants are compared with the clock only, any of them.
func (t *table) passing(r interp.Record) []interp.Record {
	var list []interp.Record
	next := r
	next.Fields = slices.Clone(r.Fields)
	at, set := t.times(&next)
	if t.pools.reach {
		for _, moved := range t.pools.nearer(at) {
			for i := range at {
				set[i](moved[i])
			}
			t.settle(&next, 0, false)
			one := next
			one.Fields = slices.Clone(next.Fields)
			list = append(list, one)
		}
		return list
	}
	if !slices.ContainsFunc(at, func(v time.Time) bool { return v.After(epoch) }) {
		return nil
	}
	if t.pools.ordered {
		t.settle(&next, 1, false)
		return []interp.Record{next}
	}
	for i, v := range at {
		if !v.After(epoch) {
			continue
		}
		set[i](epoch.Add(-pastUnit))
		one := next
		one.Fields = slices.Clone(next.Fields)
		list = append(list, one)
		set[i](v)
	}
	return list
}

// at returns a local with its edges.
func (t *table) at(n uint16) *local {
	l := t.locals[n]
	if l.known {
		return l
	}
	l.known = true
	for _, next := range t.passing(l.record) {
		l.passes = append(l.passes, t.intern(next))
	}
	l.edges, l.kept, l.gets = make([][]edge, len(t.m.Operations)), make([]bool, len(t.m.Operations)), make([]int, len(t.m.Operations))
	for i, op := range t.m.Operations {
		if len(op.Creates) > 0 || t.m.Class(l.record.State, op) != spec.Transition {
			continue
		}
		for _, c := range t.byOp[i] {
			e, does, kept := t.decide(n, l, c)
			if does {
				l.edges[i] = append(l.edges[i], e)
			}
			l.kept[i] = l.kept[i] || kept
		}
	}
	return l
}

// decide makes the edge of one call, when it does anything. Kept says that the call
// is recorded only.
func (t *table) decide(from uint16, l *local, c int32) (e edge, does, kept bool) {
	r := l.record
	t.decisions++
	d, refusal := interp.Decide(t.m, r, t.calls[c].call, t.others())
	e = edge{call: c, to: from, branch: d.Branch}
	op := t.calls[c].op
	l.gets[op.Index] = max(l.gets[op.Index], gets(op, d, refusal))
	switch {
	case refusal != nil && refusal.Code == interp.CodeInvariant:
		e.wrong = broken(refusal)
		return e, true, false
	case refusal != nil || d.RecordOnly:
		l.heard = hear(l.heard, op, d, refusal)
		return e, false, refusal == nil
	case r.State.Terminal:
		e.wrong = fmt.Sprintf("%s is terminal, and the record changes", r.State.Name)
		return e, true, false
	}
	for i, f := range t.m.Fields {
		if f.Type.Kind == spec.KindCounter && !t.m.Lowers(f) && d.Record.Fields[i].Num < r.Fields[i].Num {
			e.wrong = fmt.Sprintf("the counter %s falls", f.Name)
			return e, true, false
		}
	}
	if t.aboveBound(d.Record) {
		return e, false, false
	}
	e.to = t.land(d)
	e.stays = e.to == from
	return e, true, false
}
