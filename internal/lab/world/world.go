package world

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
)

// World is what a store has to hold: records with their log and the effects
// that wait. It is the model that the durable layer is compared with, and it
// knows nothing of locks, transactions or snapshots: one call after the other.
type World struct {
	M         *Model
	Rows      map[string]driver.Row
	Log       []Logged
	outbox    []pending
	performed []oracle.Performed // effects that ran, in order
	commits   int
	Fail      map[string]bool // effects that fail
	last      map[string]int64
	More      map[string]int64 // by guard: others that the store counts besides
	now       func() time.Time // the engine's clock
}

// Logged is one event that has to be in the log.
type Logged struct {
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
	o        *oracle.Op
	due      time.Time
	attempts int
}

// Expected is what a call has to lead to.
type Expected struct {
	oracle.Verdict            // with a code: refused
	row            driver.Row // the record as of the call
	events         []Logged
	replayed       bool
	recordOnly     bool
	Existing       bool
	current        driver.Row
	stale          [2]int64           // with CodeStale: the revision, and the expected one
	step           *oracle.Op         // with a code: the step of `then` that is refused; nil: the operation itself
	undone         []oracle.Performed // with a code: effects of the steps before it, in the transaction that is taken back
}

func newWorld(m *Model) *World {
	return &World{
		M: m, Rows: map[string]driver.Row{}, Fail: map[string]bool{}, last: map[string]int64{},
		now: func() time.Time { return oracle.TheNow },
	}
}

// Clone is a world that can be changed by itself.
func (w *World) Clone() *World {
	c := *w
	c.Rows = maps.Clone(w.Rows)
	c.last = maps.Clone(w.last)
	c.Log, c.outbox, c.performed = slices.Clone(w.Log), slices.Clone(w.outbox), slices.Clone(w.performed)
	return &c
}

// Seed puts a record into the world as Seed puts it into a store.
func (w *World) Seed(r driver.Row) {
	w.Rows[r.ID] = r
	w.commits++
	w.Log = append(w.Log, Logged{Event: fsmtest.SeedEvent(r), after: r, machine: true, commit: w.commits, print: "seed"})
	for _, f := range w.M.Sequences {
		k := w.sequenceKey(f, r)
		w.last[k] = max(w.last[k], r.Values[f.Index].(int64))
	}
}

// Logs is the log of each record.
func (w *World) Logs() map[string][]*Logged {
	logs := map[string][]*Logged{}
	for i := range w.Log {
		id := w.Log[i].ID
		logs[id] = append(logs[id], &w.Log[i])
	}
	return logs
}

// groupKey writes the values of some fields; an absent one makes no group.
func (w *World) groupKey(fields []string, r driver.Row) string {
	var b strings.Builder
	for _, name := range fields {
		v := r.Values[w.M.FieldByName[name].Index]
		if v == nil {
			return ""
		}
		fmt.Fprintf(&b, "%v\x00", v)
	}
	return b.String() + "|"
}

// sequenceKey writes whose numbers a sequence counts. A record must have a number,
// so an absent value is one like any other here.
func (w *World) sequenceKey(f *oracle.FieldInfo, r driver.Row) string {
	var b strings.Builder
	b.WriteString(f.Name)
	for _, name := range oracle.List(f.Per) {
		fmt.Fprintf(&b, "\x00%T %v", r.Values[w.M.FieldByName[name].Index], r.Values[w.M.FieldByName[name].Index])
	}
	return b.String()
}

// NextNumber follows all numbers that were given in the group of r, and those of
// the records that came into it with theirs. Behind the greatest there is none.
func (w *World) NextNumber(f *oracle.FieldInfo, r driver.Row) int64 {
	key := w.sequenceKey(f, r)
	last := w.last[key]
	for _, o := range w.Rows {
		if w.sequenceKey(f, o) == key {
			last = max(last, o.Values[f.Index].(int64))
		}
	}
	if last == math.MaxInt64 {
		return 0
	}
	return last + 1
}

// Others lists the records of the group of r in these states, r itself left out.
func (w *World) Others(fields, in string, r driver.Row) []driver.Row {
	key := w.groupKey(oracle.List(fields), r)
	if key == "" {
		return nil
	}
	var found []driver.Row
	for _, id := range oracle.SortedKeys(w.Rows) {
		o := w.Rows[id]
		if id != r.ID && (in == "" || slices.Contains(oracle.List(in), w.M.StateOf(o.State).Name)) && w.groupKey(oracle.List(fields), o) == key {
			found = append(found, o)
		}
	}
	return found
}

// Create is a call of an operation that makes a record.
func (w *World) Create(o *oracle.Op, c oracle.Call) Expected {
	if v := w.acceptCall(o, &c, false); v.Code != "" {
		return Expected{Verdict: v}
	}
	if e, known := w.replay(o, "", c); known {
		return e
	}
	if v := w.acceptInputs(o, c); v.Code != "" {
		return Expected{Verdict: v}
	}
	fresh := w.M.Blank(c.ID)
	w.M.Apply(o, o.Always, w.M.Blank(c.ID), &fresh, c)
	if o.Dedupe != "" {
		wanted := fresh
		wanted.ID = "" // the record that has the id already counts too
		if found := w.Others(o.Dedupe, o.DedupeIn, wanted); len(found) > 0 {
			return Expected{row: found[0], Existing: true, current: found[0]}
		}
	}
	if _, taken := w.Rows[c.ID]; taken {
		return Expected{Verdict: oracle.Refused(fsm.ErrExists)}
	}
	return w.Commit(o, driver.Row{ID: c.ID}, c, c.RequestID != "", "")
}

// Call is a call of an operation on a record that it names, at revision rev
// (0: none is named).
func (w *World) Call(o *oracle.Op, id string, rev int64, c oracle.Call) Expected {
	return w.call(o, id, rev, c, false)
}

// call is Call, or what a trigger issues: its actor is the system, and its request id is made of
// operation and revision.
func (w *World) call(o *oracle.Op, id string, rev int64, c oracle.Call, fired bool) Expected {
	if v := w.acceptCall(o, &c, fired); v.Code != "" {
		return Expected{Verdict: v}
	}
	if fired {
		c.Actor = driver.SystemActor
	}
	r, found := w.Rows[id]
	if rev == 0 && w.M.ExpectedRev == "required" {
		return Expected{Verdict: oracle.Refused(fsm.ErrInvalidInput, "rev")}
	}
	if o.By == "system" || fired {
		at := rev
		if at == 0 {
			at = r.Rev
		}
		c.RequestID = fmt.Sprintf("sys:%s:%d", o.StoredName, at)
	}
	if e, known := w.replay(o, id, c); known {
		return e
	}
	if v := w.acceptInputs(o, c); v.Code != "" {
		return Expected{Verdict: v}
	}
	if !found {
		return Expected{Verdict: oracle.Refused(fsm.ErrNotFound)}
	}
	asked := rev != 0 && (o.By == "system" || w.M.ExpectedRev != "none") &&
		o.Cells[w.M.StateOf(r.State).Name].Kind != oracle.CellRecordOnly
	if asked && rev != r.Rev {
		return Expected{Verdict: oracle.Refused(fsm.ErrStale), stale: [2]int64{r.Rev, rev}}
	}
	c.ID = id
	return w.Commit(o, r, c, false, "")
}

// peers counts what the guards and sequences of an operation ask for.
func (w *World) peers(o *oracle.Op, r driver.Row, c oracle.Call) map[string]int64 {
	grouped := r
	if o.Creates {
		grouped = w.M.Blank(c.ID)
		w.M.Apply(o, o.Always, w.M.Blank(c.ID), &grouped, c)
	}
	p := map[string]int64{}
	for _, g := range o.Guards {
		if g.Fewer > 0 {
			p[g.Name] = int64(len(w.Others(g.Same, g.In, grouped))) + w.More[g.Name]
		}
	}
	for _, f := range w.M.Sequences {
		if o.Creates {
			p[f.Name] = w.NextNumber(f, grouped)
		}
	}
	return p
}

// Commit decides and writes one call with everything that follows in the same
// transaction. A step that is refused takes everything back.
func (w *World) Commit(o *oracle.Op, r driver.Row, c oracle.Call, machine bool, cause string) Expected {
	next := w.Clone()
	next.commits++
	var e Expected
	no := func(v oracle.Verdict, first bool) Expected {
		e := Expected{Verdict: v, undone: next.performed[len(w.performed):]}
		if !first || cause != "" {
			e.step = o
		}
		return e
	}
	for first := true; ; first = false {
		c.Peers = next.peers(o, r, c)
		v := w.M.Decide(o, r, c)
		if v.Code != "" {
			return no(v, first)
		}
		if u := next.UniqueBroken(v); u != nil {
			return no(oracle.Verdict{Code: fsm.ErrNotUnique, Names: []string{u.Name}, Error: u.Error, Way: "unique " + u.Name}, first)
		}
		next.write(o, r, v, c, machine, cause)
		e.events = append(e.events, next.Log[len(next.Log)-1])
		e.row, e.current = v.Row, v.Row
		if first {
			e.Verdict, e.recordOnly = v, v.RecordOnly
		}
		if v.RecordOnly {
			break
		}
		if o.Effect != "" && o.Atomic {
			if w.Fail[o.Effect] {
				return Expected{Verdict: oracle.Refused(fsm.ErrEffect), undone: next.performed[len(w.performed):]}
			}
			next.performed = append(next.performed, w.M.effectOf(o, v.Row))
		}
		if o.Then == "" || o.Effect != "" && !o.Atomic {
			break
		}
		r, cause = v.Row, o.StoredName
		o = w.M.OpNamed(o.Then)
		c = oracle.Call{ID: c.ID, Actor: driver.SystemActor, At: c.At, Inputs: map[string]any{}}
		machine = false
	}
	*w = *next
	return e
}

// effectOf says how an effect is performed for a record.
func (m *Model) effectOf(o *oracle.Op, r driver.Row) oracle.Performed {
	p := oracle.Performed{Effect: o.Effect, ID: r.ID, Rev: r.Rev, InTx: o.Atomic}
	keys := oracle.List(o.EffectKey)
	if len(keys) == 0 {
		p.Key = fmt.Sprintf("%s/%s/%d", m.Machine, r.ID, r.Rev)
		return p
	}
	parts := make([]string, len(keys))
	for i, name := range keys {
		var v any = r.ID
		if name == "rev" {
			v = r.Rev
		} else if name != "id" {
			v = r.Values[m.FieldByName[name].Index]
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
	p.Key = strings.Join(parts, "/")
	return p
}

// UniqueBroken returns the unique rule that the record would break, nil for none.
func (w *World) UniqueBroken(v oracle.Verdict) *oracle.Unique {
	if v.RecordOnly {
		return nil
	}
	for i := range w.M.Uniques {
		u := &w.M.Uniques[i]
		if slices.Contains(oracle.List(u.In), w.M.StateOf(v.Row.State).Name) && len(w.Others(u.Fields, u.In, v.Row)) > 0 {
			return u
		}
	}
	// So are the numbers of a sequence and the fields of `dedupe_by`, in all
	// states and whatever changes them.
	for _, f := range w.M.Sequences {
		fields := strings.Join(append(oracle.List(f.Per), f.Name), ",")
		if len(w.Others(fields, "", v.Row)) > 0 {
			return &oracle.Unique{Name: "sequence_" + f.Name, Fields: fields}
		}
	}
	for _, o := range w.M.Ops {
		if o.Dedupe != "" && o.DedupeIn == "" && len(w.Others(o.Dedupe, "", v.Row)) > 0 {
			return &oracle.Unique{Name: "dedupe_" + o.Name, Fields: o.Dedupe}
		}
	}
	return nil
}

// write appends the event and replaces the record.
func (w *World) write(o *oracle.Op, before driver.Row, v oracle.Verdict, c oracle.Call, machine bool, cause string) {
	e := Logged{Event: fsm.Event{
		ID: c.ID, Rev: v.Row.Rev, Operation: o.StoredName, Name: o.EventName, From: before.State, To: v.Row.State,
		At: driver.Time(c.At), Actor: c.Actor, Reason: c.Reason, RequestID: c.RequestID, Labels: c.Labels, Cause: cause, Guard: v.Kept,
	}, inputs: w.M.sent(o, c), after: v.Row, machine: machine, print: w.print(o, c), commit: w.commits}
	if v.RecordOnly {
		e.N = 1
		for _, x := range w.Log {
			if x.ID == c.ID && x.Rev == v.Row.Rev {
				e.N = max(e.N, x.N+1)
			}
		}
		w.Log = append(w.Log, e)
		return
	}
	old := before.Values
	if o.Creates {
		old = w.M.Blank("").Values
		for _, f := range w.M.Sequences {
			w.last[w.sequenceKey(f, v.Row)] = v.Row.Values[f.Index].(int64)
		}
	}
	for i, name := range w.M.Order {
		if old[i] != v.Row.Values[i] {
			e.changed = append(e.changed, w.M.FieldByName[name].Stored)
		}
	}
	w.Log = append(w.Log, e)
	w.Rows[c.ID] = v.Row
	w.outbox = slices.DeleteFunc(w.outbox, func(p pending) bool { return p.id == c.ID && p.o.Then != "" })
	if o.Effect != "" && !o.Atomic {
		w.outbox = append(w.outbox, pending{id: c.ID, rev: v.Row.Rev, o: o, due: driver.Time(w.now())})
	}
}

// sent lists the inputs as the event has to hold them.
func (m *Model) sent(o *oracle.Op, c oracle.Call) map[string]any {
	s := map[string]any{}
	for _, in := range o.InputList {
		v := c.Inputs[in.Name]
		if v == nil {
			v = in.Empty()
		}
		s[in.Name] = v
	}
	return s
}

// print is what two calls with the same request id must have in common.
func (w *World) print(o *oracle.Op, c oracle.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\x00%s\x00%s", o.Name, c.Actor, c.Reason)
	s := w.M.sent(o, c)
	for _, in := range o.InputList {
		if !in.Loose {
			fmt.Fprintf(&b, "\x00%s %s", in.Name, oracle.Show(s[in.Name]))
		}
	}
	return b.String()
}

// acceptCall looks at who calls and why, and at the request id.
func (w *World) acceptCall(o *oracle.Op, c *oracle.Call, fired bool) oracle.Verdict {
	c.At = driver.Time(c.At)
	if o.By == "system" {
		c.Actor, c.RequestID = driver.SystemActor, ""
	}
	if w.M.RequestID == "none" {
		c.RequestID = ""
	}
	if v := w.M.AcceptCaller(o, *c); v.Code != "" {
		return v
	}
	switch {
	case o.By == "system":
	case c.RequestID == "" && !fired && w.M.RequestID == "required":
		return oracle.Refused(fsm.ErrRequestMissing)
	case strings.HasPrefix(c.RequestID, "sys:"):
		return oracle.Refused(fsm.ErrInvalidInput, "request_id", "RequestID", "")
	}
	return oracle.Verdict{}
}

// acceptInputs looks at the inputs of a call, after its request.
func (w *World) acceptInputs(o *oracle.Op, c oracle.Call) oracle.Verdict {
	if o.Creates && c.ID == "" {
		c.ID = "the engine makes one"
	}
	return w.M.AcceptInputs(o, c)
}

// replay answers a known request: in the scope of the machine without an id.
func (w *World) replay(o *oracle.Op, id string, c oracle.Call) (Expected, bool) {
	if c.RequestID == "" {
		return Expected{}, false
	}
	i := slices.IndexFunc(w.Log, func(e Logged) bool {
		return e.RequestID == c.RequestID && (id == "" && e.machine || id != "" && e.ID == id)
	})
	if i < 0 {
		return Expected{}, false
	}
	first := w.Log[i]
	if first.print != w.print(o, c) || o.Creates && c.ID != "" && first.ID != c.ID {
		return Expected{Verdict: oracle.Refused(fsm.ErrRequestReused)}, true
	}
	return w.replayOf(first), true
}

func (w *World) replayOf(first Logged) Expected {
	e := Expected{replayed: true, recordOnly: first.N > 0, current: w.Rows[first.ID]}
	for _, x := range w.Log {
		if x.ID == first.ID && x.commit == first.commit {
			e.events = append(e.events, x)
			e.row = x.after
		}
	}
	return e
}

func (w *World) replayedBatch(requestID string) []Expected {
	var list []Expected
	for _, x := range w.Log {
		if x.RequestID == requestID && x.machine {
			list = append(list, w.replayOf(x))
		}
	}
	return list
}

// due says whether a trigger of the operation asks for a record now.
func (w *World) due(o *oracle.Op, r driver.Row, now time.Time) bool {
	if k := o.Cells[w.M.StateOf(r.State).Name].Kind; k != oracle.CellMove && k != oracle.CellChoose {
		return false
	}
	return slices.ContainsFunc(o.Triggers, func(text string) bool {
		deadline, ok := w.M.Deadline(text, r)
		return ok && !driver.Time(now).Before(deadline)
	})
}

// Deadline reads a trigger `after f + d`; a startup trigger has none.
func (m *Model) Deadline(text string, r driver.Row) (time.Time, bool) {
	rest, ok := strings.CutPrefix(text, "after ")
	if !ok {
		return time.Time{}, false
	}
	name, plus, _ := strings.Cut(rest, " + ")
	t, ok := m.TermValue(oracle.Term{Field: name}, nil, r, oracle.Call{}).(time.Time)
	if ok && plus != "" {
		t = t.Add(oracle.Duration(plus))
	}
	return t, ok
}
