package oracle

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// How much one store is asked: so many calls, in so many new stores.
const (
	storedCases = 200
	freshStores = 12
)

// Stored makes one call for each cell of the matrix in a store: what is answered, what is
// stored then, and what its log folds to must be as decided, and so must what comes of the
// same request again. Each call has a record that is in no group with another one.
//
// Some calls it leaves to the pure methods alone: of very many those in between, and those
// whose records cannot be kept apart when there are enough stores already. What becomes of
// many records together is not its question: that is decided by the engine.
func (s *Suite[R]) Stored(t *testing.T, st Store) {
	calls := s.M.storedCalls()
	limit := storedCases
	if s.M.Short {
		limit /= 4
	}
	p := &pass[R]{Suite: s, t: t, reporter: reporter{Sink: t}, st: st}
	defer p.done()
	for i, c := range calls {
		if i%(1+len(calls)/limit) > 0 || !p.place(c) {
			s.leftCount++
			continue
		}
		p.stored(c)
		s.storedCount++
	}
}

// storedCall is a call that is made over a store, on a record of its own.
type storedCall struct {
	o    *Op
	pick bool // the machine looks for the record
	Case
}

// storedCalls lists, for each operation, a call in each state where it does something, in
// the first of these one for each way to decide, and a call in a state that refuses it. Of an
// operation that picks, the machine looks for the record of one of them as well.
func (m *Model) storedCalls() []storedCall {
	var list []storedCall
	add := func(o *Op, pick bool, c Case) {
		c = c.Clone()
		m.apart(o, &c, len(list)+1)
		list = append(list, storedCall{o, pick, c})
	}
	for _, o := range m.Ops {
		if !m.Exported(o) {
			continue
		}
		var cases []Case
		first, refused, picked := true, false, !o.Picks
		one := func(st *StateInfo, want func(Verdict) bool) bool {
			c, ok := m.Good(o, st, want)
			if ok {
				cases = append(cases, c)
			}
			return ok
		}
		for _, st := range m.From(o) {
			switch refuses := st != nil && o.Cells[st.Name].Kind == CellRefused; {
			case refuses:
				refused = refused || one(st, isRefusedByState)
			case first:
				cases = append(cases, m.ByWay(o, st)...)
				first = false
			default:
				one(st, func(v Verdict) bool { return v.Code == "" })
			}
		}
		for _, c := range cases {
			add(o, false, c)
			if !picked && Moves(m.Decide(o, c.Row, c.Call)) && m.AllHold(o.WhereFacts, o, c.Row, c.Call) {
				add(o, true, c)
				picked = true
			}
		}
	}
	return list
}

// apart gives all texts of a case an end of their own: what was equal or in order is so still,
// and no other case has the same.
func (m *Model) apart(o *Op, c *Case, n int) {
	own := fmt.Sprintf(" #%d", n)
	mark := func(k driver.Kind, v any) any {
		switch text, ok := v.(string); {
		case ok && k == driver.KindString:
			return text + own
		case ok && k == driver.KindSet:
			items := Members(text)
			for i := range items {
				items[i] += own
			}
			return SetOf(items...)
		}
		return v
	}
	c.Call.ID, c.Call.Peers = fmt.Sprintf("record-%d", n), map[string]int64{}
	for i := range c.Row.Values {
		c.Row.Values[i] = mark(m.FieldByName[m.Order[i]].Kind, c.Row.Values[i])
	}
	for _, f := range m.Sequences {
		if c.Call.Peers[f.Name] = 1; !o.Creates {
			c.Row.Values[f.Index] = int64(n)
		}
	}
	for _, in := range o.InputList {
		if v := c.Call.Inputs[in.Name]; v != nil {
			c.Call.Inputs[in.Name] = mark(in.Kind, v)
		}
	}
	if c.Row.ID, c.Row.Rev = c.Call.ID, 1; o.By == "system" {
		return
	}
	if c.Call.Actor += own; m.RequestID != "none" {
		c.Call.RequestID = "request" + own
	}
}

// pass is one run over one kind of store.
type pass[R any] struct {
	*Suite[R]
	reporter
	t     *testing.T
	st    Store
	fresh int // stores that were opened
	store fsm.Store
	d     *Durable[R]
	rows  []driver.Row // what the store has held
}

// place makes room for a call: its record stands in the store, and is in no group there. It
// reports whether that is so.
func (p *pass[R]) place(x storedCall) bool {
	_, v, _ := p.M.follow(x.o, x.Row, x.Call)
	rows := []driver.Row{x.Row, v.Row}
	if x.o.Creates { // so would be what is refused
		rows[0] = p.M.Blank(x.Call.ID)
		p.M.Apply(x.o, x.o.Always, p.M.Blank(x.Call.ID), &rows[0], x.Call)
	}
	if p.d == nil || x.pick || slices.ContainsFunc(rows, p.meets) {
		if p.fresh == freshStores {
			return false
		}
		p.open()
	}
	p.rows = append(p.rows, rows...)
	if x.o.Creates {
		return true
	}
	if err := Seed(p.t.Context(), p.store, p.D.Descriptor.Schema, x.Row); err != nil {
		p.t.Fatal(err)
	}
	return true
}

// meets reports whether a record has the fields of some rule in common with another one.
func (p *pass[R]) meets(r driver.Row) bool {
	return r.Values != nil && slices.ContainsFunc(p.M.groupings, func(fields string) bool {
		return slices.ContainsFunc(p.rows, func(other driver.Row) bool {
			return other.Values != nil && !slices.ContainsFunc(List(fields), func(name string) bool {
				i := p.M.FieldByName[name].Index
				return r.Values[i] == nil || r.Values[i] != other.Values[i]
			})
		})
	})
}

// open opens the machine on an empty store.
func (p *pass[R]) open() {
	p.fresh++
	p.store, p.rows = p.st.Open(p.t), nil
	if err := p.D.Migrate(p.t.Context(), p.store); err != nil {
		p.t.Fatalf("Migrate: %v", err)
	}
	d, err := p.D.Open(p.t.Context(), p.store, &Effects{}, fsm.WithClock(TheNow.UTC), fsm.WithCallerTime())
	if err != nil {
		p.t.Fatalf("Open: %v", err)
	}
	p.d = d
}

// follow decides a call and the steps that follow in the same transaction, on a record
// without others. It returns the last operation, what came of it, and the events by their names.
func (m *Model) follow(o *Op, r driver.Row, c Call) (*Op, Verdict, []string) {
	var events []string
	for {
		v := m.Decide(o, r, c)
		if v.Code != "" {
			return o, v, nil
		}
		events = append(events, fmt.Sprintf("%s %s from %q to %q %s", o.StoredName, o.EventName, r.State, v.Row.State, v.Kept))
		if v.RecordOnly || o.Then == "" || o.Effect != "" && !o.Atomic {
			return o, v, events
		}
		o, r = m.OpNamed(o.Then), v.Row
		c = Call{ID: c.ID, Actor: driver.SystemActor, At: c.At, Inputs: map[string]any{}}
	}
}

// stored makes a call, makes it again, and reads what is stored.
func (p *pass[R]) stored(x storedCall) {
	var at fsm.Target
	if !x.o.Creates && !x.pick {
		at = x.Row.Ref()
	}
	for _, again := range []bool{false, true} {
		if again && x.Call.RequestID == "" && (x.o.By != "system" || x.pick) {
			break
		}
		got, err := p.d.Do(p.t.Context(), x.o.Name, at, x.Call)
		if problem := p.answered(&x, again, got, err); problem != "" {
			p.Errorf("%s, again %t: %s\n\trecord: %s\n\tcall:   %s%s",
				x.o.Name, again, problem, p.M.ShowRow(x.Row), x.Call, p.M.Where(x.o, nil, nil))
			return
		}
	}
	if problem := p.kept(x); problem != "" {
		p.Errorf("%s, as it is stored: %s\n\trecord: %s\n\tcall:   %s", x.o.Name, problem, p.M.ShowRow(x.Row), x.Call)
	}
}

// answered says what is wrong with an answer, or "". The numbers of sequences are the store's.
func (p *pass[R]) answered(x *storedCall, again bool, got fsm.Outcome[R], err error) string {
	after := p.D.Descriptor.Encode(&got.Record)
	for _, f := range p.M.Sequences {
		if n, ok := after.Values[f.Index].(int64); ok && err == nil {
			x.Call.Peers[f.Name] = n
		}
	}
	o, v, events := p.M.follow(x.o, x.Row, x.Call)
	var d Differences
	switch {
	case v.Code != "" && err == nil:
		return "was taken, want " + p.M.ShowVerdict(v)
	case v.Code != "" && x.pick:
		o, v = x.o, Refused(fsm.ErrNothingToDo)
		fallthrough
	case v.Code != "":
		return p.M.DiffRefusal(o, "", driver.Row{}, v, err, p.D.Errors)
	case err != nil:
		return fmt.Sprintf("refused: %v", err)
	}
	if wrong := p.M.DiffRows(v.Row, after); wrong != "" {
		d.Note("%s", wrong)
	}
	d.Add("Replayed", again, got.Replayed)
	d.Add("Existing", false, got.Existing)
	d.Add("RecordOnly", p.M.Decide(x.o, x.Row, x.Call).RecordOnly, got.RecordOnly)
	d.Add("number of events", len(events), len(got.Events))
	if len(got.Events) > 0 && !again { // a store may write it in another form
		d.Add("the inputs of the event", p.M.logged(x.o, x.Call), got.Events[0].Inputs.String())
	}
	for i, e := range got.Events[:min(len(events), len(got.Events))] {
		d.Add("event", events[i], fmt.Sprintf("%s %s from %q to %q %s", e.Operation, e.Name, e.From, e.To, e.Guard))
	}
	return d.String()
}

// logged is what an event holds of the inputs of a call.
func (m *Model) logged(o *Op, c Call) string {
	var inputs []driver.Input
	for _, in := range o.InputList {
		v := c.Inputs[in.Name]
		if v == nil {
			v = in.Empty()
		}
		inputs = append(inputs, driver.Input{Name: in.Name, Kind: in.Kind, Value: v})
	}
	text, err := driver.InputObject(inputs)
	if err != nil {
		return err.Error()
	}
	return text.String()
}

// kept says what is wrong with the record as it is read from the store, or with its log.
func (p *pass[R]) kept(x storedCall) string {
	_, v, _ := p.M.follow(x.o, x.Row, x.Call)
	want := v.Row
	r, err := p.d.Core.Record(p.t.Context(), x.Call.ID)
	switch {
	case v.Code != "" && x.o.Creates:
		if !errors.Is(err, fsm.ErrNotFound) {
			return fmt.Sprintf("%v, want no record", err)
		}
		return ""
	case v.Code != "":
		want = x.Row
	}
	if err != nil {
		return fmt.Sprint("the record: ", err)
	}
	if wrong := p.M.DiffRows(want, p.D.Descriptor.Encode(&r)); wrong != "" {
		return wrong
	}
	var log []fsm.Event
	for e, err := range p.d.Core.History(p.t.Context(), x.Call.ID) {
		if err != nil {
			return fmt.Sprint("the log: ", err)
		}
		log = append(log, e)
	}
	if r, err = p.D.Fold(log); err != nil {
		return fmt.Sprint("fold of the log: ", err)
	}
	if wrong := p.M.DiffRows(want, p.D.Descriptor.Encode(&r)); wrong != "" {
		return "the log folds to another record: " + wrong
	}
	return ""
}
