package fsmtest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// world is what a store has to hold: records with their log and the effects
// that wait. It is the model that the durable layer is compared with, and it
// knows nothing of locks, transactions or snapshots: one call after the other.
type world struct {
	m         *model
	rows      map[string]driver.Row
	log       []logged
	outbox    []pending
	performed []performed // effects that ran, in order
	commits   int
	fail      map[string]bool // effects that fail
	last      map[string]int64
	more      map[string]int64 // by guard: others that the store counts besides
	now       func() time.Time // the engine's clock
}

// logged is one event that has to be in the log.
type logged struct {
	fsm.Event
	inputs  map[string]any
	changed []string // stored names of the fields that differ
	after   driver.Row
	machine bool   // the request's scope is the machine
	print   string // what two calls with one request id must have in common
	commit  int
}

type pending struct {
	id       string
	rev      int64
	o        *operation
	due      time.Time
	attempts int
}

// performed is one effect that ran.
type performed struct {
	effect, id string
	rev        int64
	key        string
	inTx       bool
}

// expected is what a call has to lead to.
type expected struct {
	verdict               // with a code: refused
	row        driver.Row // the record as of the call
	events     []logged
	replayed   bool
	recordOnly bool
	existing   bool
	current    driver.Row
	stale      [2]int64    // with CodeStale: the revision, and the expected one
	step       *operation  // with a code: the step of `then` that is refused; nil: the operation itself
	undone     []performed // with a code: effects of the steps before it, in the transaction that is taken back
}

func newWorld(m *model) *world {
	return &world{m: m, rows: map[string]driver.Row{}, fail: map[string]bool{}, last: map[string]int64{}, now: func() time.Time { return theNow }}
}

func (w *world) clone() *world {
	c := *w
	c.rows = maps.Clone(w.rows)
	c.last = maps.Clone(w.last)
	c.log, c.outbox, c.performed = slices.Clone(w.log), slices.Clone(w.outbox), slices.Clone(w.performed)
	return &c
}

// seed puts a record into the world as Seed puts it into a store.
func (w *world) seed(r driver.Row) {
	w.rows[r.ID] = r
	w.commits++
	w.log = append(w.log, logged{Event: seedEvent(r), after: r, machine: true, commit: w.commits, print: "seed"})
	for _, name := range w.m.order {
		if f := w.m.fields[name]; f.kind == driver.KindSequence {
			k := w.sequenceKey(f, r)
			w.last[k] = max(w.last[k], r.Values[f.index].(int64))
		}
	}
}

// logs is the log of each record.
func (w *world) logs() map[string][]*logged {
	logs := map[string][]*logged{}
	for i := range w.log {
		id := w.log[i].ID
		logs[id] = append(logs[id], &w.log[i])
	}
	return logs
}

// groupKey writes the values of some fields; an absent one makes no group.
func (w *world) groupKey(fields []string, r driver.Row) string {
	var b strings.Builder
	for _, name := range fields {
		v := r.Values[w.m.fields[name].index]
		if v == nil {
			return ""
		}
		fmt.Fprintf(&b, "%v\x00", v)
	}
	return b.String() + "|"
}

// sequenceKey writes whose numbers a sequence counts. A record must have a number,
// so an absent value is one like any other here.
func (w *world) sequenceKey(f *field, r driver.Row) string {
	var b strings.Builder
	b.WriteString(f.Name)
	for _, name := range list(f.Per) {
		fmt.Fprintf(&b, "\x00%T %v", r.Values[w.m.fields[name].index], r.Values[w.m.fields[name].index])
	}
	return b.String()
}

// nextNumber follows all numbers that were given in the group of r, and those of
// the records that came into it with theirs. Behind the greatest there is none.
func (w *world) nextNumber(f *field, r driver.Row) int64 {
	key := w.sequenceKey(f, r)
	last := w.last[key]
	for _, o := range w.rows {
		if w.sequenceKey(f, o) == key {
			last = max(last, o.Values[f.index].(int64))
		}
	}
	if last == math.MaxInt64 {
		return 0
	}
	return last + 1
}

// others lists the records of the group of r in these states, r itself left out.
func (w *world) others(fields, in string, r driver.Row) []driver.Row {
	key := w.groupKey(list(fields), r)
	if key == "" {
		return nil
	}
	var found []driver.Row
	for _, id := range sortedKeys(w.rows) {
		o := w.rows[id]
		if id != r.ID && (in == "" || slices.Contains(list(in), w.m.stateOf(o.State).Name)) && w.groupKey(list(fields), o) == key {
			found = append(found, o)
		}
	}
	return found
}

// create is a call of an operation that makes a record.
func (w *world) create(o *operation, c Call) expected {
	if v := w.acceptCall(o, &c); v.code != "" {
		return expected{verdict: v}
	}
	if e, known := w.replay(o, "", c); known {
		return e
	}
	if v := w.acceptInputs(o, c); v.code != "" {
		return expected{verdict: v}
	}
	fresh := w.m.blank(c.ID)
	w.m.apply(o, o.effects, w.m.blank(c.ID), &fresh, c)
	if o.Dedupe != "" {
		wanted := fresh
		wanted.ID = "" // the record that has the id already counts too
		if found := w.others(o.Dedupe, o.DedupeIn, wanted); len(found) > 0 {
			return expected{row: found[0], existing: true, current: found[0]}
		}
	}
	if _, taken := w.rows[c.ID]; taken {
		return expected{verdict: refused(fsm.ErrExists)}
	}
	return w.commit(o, driver.Row{ID: c.ID}, c, c.RequestID != "", "")
}

// call is a call of an operation on a record that it names, at revision rev
// (0: none is named).
func (w *world) call(o *operation, id string, rev int64, c Call) expected {
	if v := w.acceptCall(o, &c); v.code != "" {
		return expected{verdict: v}
	}
	r, found := w.rows[id]
	if rev == 0 && w.m.ExpectedRev == "required" {
		return expected{verdict: refused(fsm.ErrInvalidInput, "rev")}
	}
	if o.By == "system" || c.fired {
		at := rev
		if at == 0 {
			at = r.Rev
		}
		c.RequestID = fmt.Sprintf("sys:%s:%d", o.stored, at)
	}
	if e, known := w.replay(o, id, c); known {
		return e
	}
	if v := w.acceptInputs(o, c); v.code != "" {
		return expected{verdict: v}
	}
	if !found {
		return expected{verdict: refused(fsm.ErrNotFound)}
	}
	asked := rev != 0 && (o.By == "system" || w.m.ExpectedRev != "none") &&
		o.cells[w.m.stateOf(r.State).Name].kind != cellRecordOnly
	if asked && rev != r.Rev {
		return expected{verdict: refused(fsm.ErrStale), stale: [2]int64{r.Rev, rev}}
	}
	c.ID = id
	return w.commit(o, r, c, false, "")
}

// peers counts what the guards and sequences of an operation ask for.
func (w *world) peers(o *operation, r driver.Row, c Call) map[string]int64 {
	grouped := r
	if o.creates {
		grouped = w.m.blank(c.ID)
		w.m.apply(o, o.effects, w.m.blank(c.ID), &grouped, c)
	}
	p := map[string]int64{}
	for _, g := range o.require {
		if g.Fewer > 0 {
			p[g.Name] = int64(len(w.others(g.Same, g.In, grouped))) + w.more[g.Name]
		}
	}
	for _, name := range w.m.order {
		if f := w.m.fields[name]; f.kind == driver.KindSequence && o.creates {
			p[name] = w.nextNumber(f, grouped)
		}
	}
	return p
}

// commit decides and writes one call with everything that follows in the same
// transaction. A step that is refused takes everything back.
func (w *world) commit(o *operation, r driver.Row, c Call, machine bool, cause string) expected {
	next := w.clone()
	next.commits++
	var e expected
	no := func(v verdict, first bool) expected {
		e := expected{verdict: v, undone: next.performed[len(w.performed):]}
		if !first || cause != "" {
			e.step = o
		}
		return e
	}
	for first := true; ; first = false {
		c.Peers = next.peers(o, r, c)
		v := w.m.decide(o, r, c)
		if v.code != "" {
			return no(v, first)
		}
		if u := next.uniqueBroken(v); u != nil {
			return no(verdict{code: fsm.ErrNotUnique, names: []string{u.Name}, error: u.Error, way: "unique " + u.Name}, first)
		}
		next.write(o, r, v, c, machine, cause)
		e.events = append(e.events, next.log[len(next.log)-1])
		e.row, e.current = v.row, v.row
		if first {
			e.verdict, e.recordOnly = v, v.recordOnly
		}
		if v.recordOnly {
			break
		}
		if o.Effect != "" && o.Atomic {
			if w.fail[o.Effect] {
				return expected{verdict: refused(fsm.ErrEffect), undone: next.performed[len(w.performed):]}
			}
			next.performed = append(next.performed, w.m.effectOf(o, v.row))
		}
		if o.Then == "" || o.Effect != "" && !o.Atomic {
			break
		}
		r, cause = v.row, o.stored
		o = w.m.operation(o.Then)
		c = Call{ID: c.ID, Actor: driver.SystemActor, At: c.At, Inputs: map[string]any{}}
		machine = false
	}
	*w = *next
	return e
}

// effectOf says how an effect is performed for a record.
func (m *model) effectOf(o *operation, r driver.Row) performed {
	p := performed{effect: o.Effect, id: r.ID, rev: r.Rev, inTx: o.Atomic}
	keys := list(o.EffectKey)
	if len(keys) == 0 {
		p.key = fmt.Sprintf("%s/%s/%d", m.Machine, r.ID, r.Rev)
		return p
	}
	parts := make([]string, len(keys))
	for i, name := range keys {
		var v any = r.ID
		if name == "rev" {
			v = r.Rev
		} else if name != "id" {
			v = r.Values[m.fields[name].index]
		}
		switch v := v.(type) {
		case nil:
			parts[i] = "-"
		case string:
			parts[i] = v
			if len(keys) > 1 {
				parts[i] = `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(v) + `"`
			}
		case time.Time:
			parts[i] = v.UTC().Format(time.RFC3339Nano)
		default:
			parts[i] = fmt.Sprint(v)
		}
	}
	p.key = strings.Join(parts, "/")
	return p
}

func (w *world) uniqueBroken(v verdict) *Unique {
	if v.recordOnly {
		return nil
	}
	for i := range w.m.Uniques {
		u := &w.m.Uniques[i]
		if slices.Contains(list(u.In), w.m.stateOf(v.row.State).Name) && len(w.others(u.Fields, u.In, v.row)) > 0 {
			return u
		}
	}
	// So are the numbers of a sequence and the fields of `dedupe_by`, in all
	// states and whatever changes them.
	for _, name := range w.m.order {
		f := w.m.fields[name]
		if f.kind != driver.KindSequence {
			continue
		}
		fields := strings.Join(append(list(f.Per), name), ",")
		if len(w.others(fields, "", v.row)) > 0 {
			return &Unique{Name: "sequence_" + name, Fields: fields}
		}
	}
	for _, o := range w.m.operations {
		if o.Dedupe != "" && o.DedupeIn == "" && len(w.others(o.Dedupe, "", v.row)) > 0 {
			return &Unique{Name: "dedupe_" + o.Name, Fields: o.Dedupe}
		}
	}
	return nil
}

// write appends the event and replaces the record.
func (w *world) write(o *operation, before driver.Row, v verdict, c Call, machine bool, cause string) {
	e := logged{Event: fsm.Event{
		ID: c.ID, Rev: v.row.Rev, Operation: o.stored, Name: o.event, From: before.State, To: v.row.State,
		At: driver.Time(c.At), Actor: c.Actor, Reason: c.Reason, RequestID: c.RequestID, Labels: c.Labels, Cause: cause, Guard: v.kept,
	}, inputs: w.m.sent(o, c), after: v.row, machine: machine, print: w.print(o, c), commit: w.commits}
	if v.recordOnly {
		e.N = 1
		for _, x := range w.log {
			if x.ID == c.ID && x.Rev == v.row.Rev {
				e.N = max(e.N, x.N+1)
			}
		}
		w.log = append(w.log, e)
		return
	}
	old := before.Values
	if o.creates {
		old = w.m.blank("").Values
		for _, name := range w.m.order {
			if f := w.m.fields[name]; f.kind == driver.KindSequence {
				w.last[w.sequenceKey(f, v.row)] = v.row.Values[f.index].(int64)
			}
		}
	}
	for i, name := range w.m.order {
		if old[i] != v.row.Values[i] {
			e.changed = append(e.changed, w.m.fields[name].Stored)
		}
	}
	w.log = append(w.log, e)
	w.rows[c.ID] = v.row
	w.outbox = slices.DeleteFunc(w.outbox, func(p pending) bool { return p.id == c.ID && p.o.Then != "" })
	if o.Effect != "" && !o.Atomic {
		w.outbox = append(w.outbox, pending{id: c.ID, rev: v.row.Rev, o: o, due: driver.Time(w.now())})
	}
}

// sent lists the inputs as the event has to hold them.
func (m *model) sent(o *operation, c Call) map[string]any {
	s := map[string]any{}
	for _, in := range o.inputs {
		v := c.Inputs[in.Name]
		if v == nil {
			v = in.empty()
		}
		s[in.Name] = v
	}
	return s
}

// print is what two calls with the same request id must have in common.
func (w *world) print(o *operation, c Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%s", o.Name, c.Actor, c.Reason)
	s := w.m.sent(o, c)
	for _, in := range o.inputs {
		if !in.Loose {
			fmt.Fprintf(&b, "\x00%s %s", in.Name, show(s[in.Name]))
		}
	}
	return b.String()
}

// acceptCall looks at who calls and why, and at the request id.
func (w *world) acceptCall(o *operation, c *Call) verdict {
	c.At = driver.Time(c.At)
	if o.By == "system" {
		c.Actor, c.RequestID = driver.SystemActor, ""
	}
	if w.m.RequestID == "none" {
		c.RequestID = ""
	}
	if v := w.m.acceptCaller(o, *c); v.code != "" {
		return v
	}
	switch {
	case o.By == "system":
	case c.RequestID == "" && !c.fired && w.m.RequestID == "required":
		return refused(fsm.ErrRequestMissing)
	case strings.HasPrefix(c.RequestID, "sys:"):
		return refused(fsm.ErrInvalidInput, "request_id", "RequestID", "")
	}
	return verdict{}
}

// acceptInputs looks at the inputs of a call, after its request.
func (w *world) acceptInputs(o *operation, c Call) verdict {
	if o.creates && c.ID == "" {
		c.ID = "the engine makes one"
	}
	return w.m.acceptInputs(o, c)
}

// replay answers a known request: in the scope of the machine without an id.
func (w *world) replay(o *operation, id string, c Call) (expected, bool) {
	if c.RequestID == "" {
		return expected{}, false
	}
	i := slices.IndexFunc(w.log, func(e logged) bool {
		return e.RequestID == c.RequestID && (id == "" && e.machine || id != "" && e.ID == id)
	})
	if i < 0 {
		return expected{}, false
	}
	first := w.log[i]
	if first.print != w.print(o, c) || o.creates && c.ID != "" && first.ID != c.ID {
		return expected{verdict: refused(fsm.ErrRequestReused)}, true
	}
	return w.replayOf(first), true
}

func (w *world) replayOf(first logged) expected {
	e := expected{replayed: true, recordOnly: first.N > 0, current: w.rows[first.ID]}
	for _, x := range w.log {
		if x.ID == first.ID && x.commit == first.commit {
			e.events = append(e.events, x)
			e.row = x.after
		}
	}
	return e
}

func (w *world) replayedBatch(requestID string) []expected {
	var list []expected
	for _, x := range w.log {
		if x.RequestID == requestID && x.machine {
			list = append(list, w.replayOf(x))
		}
	}
	return list
}

// due says whether a trigger of the operation asks for a record now.
func (w *world) due(o *operation, r driver.Row, now time.Time) bool {
	if k := o.cells[w.m.stateOf(r.State).Name].kind; k != cellMove && k != cellChoose {
		return false
	}
	return slices.ContainsFunc(o.Triggers, func(text string) bool {
		deadline, ok := w.m.deadline(text, r)
		return ok && !driver.Time(now).Before(deadline)
	})
}

// deadline reads a trigger `after f + d`; a startup trigger has none.
func (m *model) deadline(text string, r driver.Row) (time.Time, bool) {
	rest, ok := strings.CutPrefix(text, "after ")
	if !ok {
		return time.Time{}, false
	}
	name, plus, _ := strings.Cut(rest, " + ")
	t, ok := m.termValue(term{field: name}, nil, r, Call{}).(time.Time)
	if ok && plus != "" {
		t = t.Add(duration(plus))
	}
	return t, ok
}
