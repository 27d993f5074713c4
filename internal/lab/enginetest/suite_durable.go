package enginetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/lab/oracle"
	"github.com/fsmgen/fsmgen/internal/lab/world"
	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmtest"
)

// seed puts records into store and model. They have revision 1.
func seed[R any](h *world.Harness[R], rows ...driver.Row) {
	h.T.Helper()
	if err := fsmtest.Seed(h.Ctx, h.Store, h.S.D.Descriptor.Schema, rows...); err != nil {
		h.T.Fatal(err)
	}
	for _, r := range rows {
		r.Rev = 1
		h.W.Seed(r)
		if h.Note != nil {
			h.Note(world.Step[R]{Kind: "seed", Row: r})
		}
	}
}

// rows returns copies, which the caller may change.
func rows(k *world.MadeUp, name string, find func() []driver.Row) []driver.Row {
	k.Mu.Lock()
	rows, ok := k.Known[name]
	k.Mu.Unlock()
	if !ok {
		rows = find()
		k.Mu.Lock()
		if k.Known == nil {
			k.Known = map[string][]driver.Row{}
		}
		k.Known[name] = rows
		k.Mu.Unlock()
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Values = slices.Clone(rows[i].Values)
	}
	return rows
}

// durable runs the suites of the durable layer over one store.
func durable[R any](s *world.Suite[R], st world.Store) func(*testing.T) {
	return func(t *testing.T) {
		if s.D.Descriptor.Schema.SQL[st.Name] != "" { // it keeps the records in a database
			st.Open(t) // where there is no server for it, all is skipped here, and said once
			t.Run("prompt", func(t *testing.T) { promptOf(s, t, st) })
			t.Run("plans", func(t *testing.T) { plans(s, t, st) })
		}
		t.Run("transitions", func(t *testing.T) { transitions(s, t, st) })
		t.Run("creations", func(t *testing.T) { creations(s, t, st) })
		t.Run("others", func(t *testing.T) { others(s, t, st) })
		t.Run("inputs", func(t *testing.T) { storedInputs(s, t, st) })
		t.Run("next", func(t *testing.T) { next(s, t, st) })
		t.Run("batches", func(t *testing.T) { batches(s, t, st) })
		t.Run("effects", func(t *testing.T) { effects(s, t, st) })
		t.Run("triggers", func(t *testing.T) { triggers(s, t, st) })
		t.Run("startup", func(t *testing.T) { startup(s, t, st) })
		t.Run("reading", func(t *testing.T) { reading(s, t, st) })
		if len(s.M.Lookups) > 0 {
			t.Run("lookups", func(t *testing.T) { s.Lookups(t, st) })
		}
		t.Run("handles", func(t *testing.T) { handles(s, t, st) })
		t.Run("joined", func(t *testing.T) { joined(s, t, st) })
		t.Run("audited", func(t *testing.T) { s.Walk(t, st, world.WalkSource(0)) })
	}
}

// groupRules lists the fields by which records are grouped or unique, rule by rule.
func groupRules(m *world.Model) [][]string {
	var rules [][]string
	for _, u := range m.Uniques {
		rules = append(rules, oracle.List(u.Fields))
	}
	for _, g := range m.Guards {
		if g.Fewer > 0 {
			rules = append(rules, oracle.List(g.Same))
		}
	}
	for _, o := range m.Ops {
		if o.Dedupe != "" {
			rules = append(rules, oracle.List(o.Dedupe))
		}
	}
	for _, f := range m.FieldByName {
		if f.Kind == driver.KindSequence {
			rules = append(rules, oracle.List(f.Per))
		}
	}
	return rules
}

// grouped lists the fields that stand in some rule.
func grouped(m *world.Model) map[string]bool {
	g := map[string]bool{}
	for _, rule := range groupRules(m) {
		for _, name := range rule {
			g[name] = true
		}
	}
	return g
}

// apart gives a case texts of its own in the fields by which records are
// grouped, so that cases in one store do not meet. It reports whether that
// keeps it apart in every group.
func apart(m *world.Model, o *oracle.Op, c *oracle.Case, n int) bool {
	own := fmt.Sprintf(" #%d", n)
	for name := range grouped(m) {
		mark(m, o, c, name, own)
	}
	r := c.Row
	if o.Creates {
		r = m.Blank(c.Call.ID)
		m.Apply(o, o.Always, m.Blank(c.Call.ID), &r, c.Call)
	}
	for _, rule := range groupRules(m) {
		if !slices.ContainsFunc(rule, func(name string) bool {
			f := m.FieldByName[name]
			s, ok := r.Values[f.Index].(string)
			return r.Values[f.Index] == nil || ok && f.Kind == driver.KindString && strings.HasSuffix(s, own)
		}) {
			return false
		}
	}
	return true
}

// mark gives a case a text of its own in one field.
func mark(m *world.Model, o *oracle.Op, c *oracle.Case, name, own string) {
	f := m.FieldByName[name]
	if f.Kind != driver.KindString {
		return
	}
	marked := func(v any) any {
		if s, ok := v.(string); ok {
			return s + own
		}
		return v
	}
	if c.Row.Values != nil {
		c.Row.Values[f.Index] = marked(c.Row.Values[f.Index])
	}
	for _, a := range o.Always.Set {
		from, ok := strings.CutPrefix(a.Value, "input.")
		if !ok {
			from = name
		}
		if in := o.InputNamed(from); a.Field == name && strings.HasPrefix(a.Value, "input") && c.Call.Inputs[in.Name] != nil {
			c.Call.Inputs[in.Name] = marked(c.Call.Inputs[in.Name])
		}
	}
}

// refusedLimit is in how many of the states that refuse it an operation is tried
// over a store: no store decides that, and the cells of the pure layer are all tried.
const refusedLimit = 12

// tried are the states in which an operation is tried over a store: those in which it
// does something, and of the others some, each operation beginning at another one.
func tried(m *world.Model, o *oracle.Op) []*oracle.StateInfo {
	var list []*oracle.StateInfo
	refused, first := 0, slices.Index(m.Ops, o)
	for i := range m.StateOrder {
		s := m.StateOrder[(first+i)%len(m.StateOrder)]
		if o.Cells[s.Name].Kind == oracle.CellRefused {
			if refused++; refused > refusedLimit {
				continue
			}
		}
		list = append(list, s)
	}
	return list
}

// othersLimit is for how many other operations a request id comes again.
const othersLimit = 12

// transitions runs every operation on a record in its states: the outcome, the
// stored record and the log must be as decided; then the call comes again, and
// other calls come under its request id.
func transitions[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		if o.Creates {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.NewHarness(t, st)
			if !h.M.Exported(o) {
				t.Skip("not exported: reached by `then` only")
			}
			n := 0
			for _, from := range tried(s.M, o) {
				for _, c := range s.M.ByWay(o, from) {
					n++
					c.Row.ID = fmt.Sprintf("record-%d", n)
					if !apart(s.M, o, &c, n) {
						h = s.NewHarness(t, st)
					}
					h.T = t
					transition(h, fmt.Sprintf("in %s, case %d", from.Name, n), o, c)
				}
			}
			s.DurableCount += n
		})
	}
}

func transition[R any](h *world.Harness[R], what string, o *oracle.Op, c oracle.Case) {
	h.T.Helper()
	seed(h, c.Row)
	ref := fsm.Ref{ID: c.Row.ID, Rev: 1}
	call := c.Call
	call.Labels = map[string]string{"trace": "t1"}
	caller := o.By != "system"
	if caller {
		call.RequestID = h.RequestID()
		bare := call
		bare.Actor = ""
		if o.ReadsActor || o.By == "operator" {
			h.Call(what+", without an actor", o, ref, bare)
		}
		if bare.Actor, bare.Reason = call.Actor, ""; o.By == "operator" {
			h.Call(what+", without a reason", o, ref, bare)
		}
		if h.M.RequestID != "none" {
			bare := call
			bare.RequestID = ""
			if h.M.RequestID == "required" {
				h.Call(what+", without a request id", o, ref, bare)
			}
			bare.RequestID = "sys:" + o.StoredName + ":1"
			h.Call(what+", with the runtime's own kind of request id", o, ref, bare)
		}
	}
	other := call
	if caller {
		other.RequestID = h.RequestID()
	}
	h.Call(what+", at another revision", o, fsm.Ref{ID: ref.ID, Rev: 99}, other) // taken where it is recorded only
	h.Call(what+", of an unknown record", o, fsm.Ref{ID: "nobody", Rev: 1}, call)
	if h.M.ExpectedRev == "required" {
		h.Call(what+", without a revision", o, fsm.Ref{ID: ref.ID}, call)
	}
	unfit, some := unfit(h.M, o, other)
	if caller {
		unfit.RequestID = h.RequestID()
	}
	if some { // the inputs come before whatever the record says
		h.Call(what+", with a wrong input at another revision", o, fsm.Ref{ID: ref.ID, Rev: 99}, unfit)
		h.Call(what+", with a wrong input of an unknown record", o, fsm.Ref{ID: "nobody", Rev: 1}, unfit)
	}
	h.Same(what + ", before the call")

	held, err := h.S.D.Descriptor.Decode(h.W.Rows[ref.ID])
	if err != nil {
		h.T.Fatal(err)
	}
	moved := h.W.Rows[ref.ID].Rev
	var target fsm.Target = fsm.Ref{ID: ref.ID, Rev: moved}
	if h.N%2 == 0 {
		target, _ = any(held).(fsm.Target)
	}
	_, want := h.Call(what, o, target, call)
	h.Same(what)
	if want.Code != "" || !caller || h.M.RequestID == "none" {
		if want.Code == "" && !caller {
			h.Call(what+", again", o, target, call) // two sweepers converge
			h.Same(what + ", again")
		}
		return
	}

	again := call
	again.At = again.At.Add(time.Second)
	again.Labels = map[string]string{"trace": "t2"}
	h.Call(what+", again", o, target, again)
	for _, in := range o.InputList {
		other := again
		other.Inputs = maps.Clone(call.Inputs)
		other.Inputs[in.Name] = another(&oracle.FieldInfo{Typ: in.Typ, Field: oracle.Field{Name: in.Name}}, or2(call.Inputs[in.Name], in.Empty()))
		if h.M.Acceptable(o, in, other.Inputs[in.Name]) {
			h.Call(what+", again with another "+in.Name, o, target, other)
		}
	}
	if some { // and after the request
		other := again
		other.Inputs = unfit.Inputs
		h.Call(what+", again with a wrong input", o, target, other)
	}
	other = again
	other.Actor = "somebody else"
	h.Call(what+", again by another actor", o, target, other)
	other = again
	other.Reason = "another reason"
	h.Call(what+", again for another reason", o, target, other)
	tries, first := 0, slices.Index(h.M.Ops, o)
	for i := range h.M.Ops {
		p := h.M.Ops[(first+i)%len(h.M.Ops)]
		if p != o && !p.Creates && p.By != "system" && h.M.Exported(p) && tries < othersLimit {
			tries++
			for pc := range h.M.Cases(p, h.M.StateOrder[0]) {
				reuse := pc.Call
				reuse.RequestID = call.RequestID
				h.Call(what+", its request id for "+p.Name, p, target, reuse)
				break
			}
		}
	}
	late := again
	late.RequestID, late.At = h.RequestID(), time.Time{}
	h.Call(what+", once more under a new request id", o, target, late)
	h.Call(what+", the first call again after that", o, target, again)
	h.Same(what + ", at the end")
}

// unfit returns a call with an input that its operation cannot take; false where
// it takes whatever can be written.
func unfit(m *world.Model, o *oracle.Op, c oracle.Call) (oracle.Call, bool) {
	for _, in := range o.InputList {
		for _, v := range []any{"", time.Time{}, int64(-1), int64(1 << 40)} {
			fits := false
			switch v.(type) {
			case string:
				fits = in.Kind == driver.KindString
			case time.Time:
				fits = in.Kind == driver.KindTime
			case int64:
				fits = in.Kind == driver.KindInt
			}
			if fits && !m.Acceptable(o, in, v) {
				inputs := map[string]any{in.Name: v}
				for name, sent := range c.Inputs {
					if name != in.Name {
						inputs[name] = sent
					}
				}
				c.Inputs = inputs
				return c, true
			}
		}
	}
	return c, false
}

// or2 returns the first value that is there.
func or2(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

// creations makes records in every way, again, and over others.
func creations[R any](s *world.Suite[R], t *testing.T, st world.Store) {
	for _, o := range s.M.Ops {
		if !o.Creates {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for n, c := range s.M.ByWay(o, nil) {
				h := s.NewHarness(t, st)
				what := fmt.Sprintf("case %d", n+1)
				call := c.Call
				call.RequestID = h.RequestID()
				call.Labels = map[string]string{"trace": "t1"}
				if s.M.RequestID == "required" {
					bare := call
					bare.RequestID = ""
					h.Create(what+", without a request id", o, bare)
				}
				_, want := h.Create(what, o, call)
				h.Same(what)
				s.DurableCount++
				if want.Code != "" {
					continue
				}
				if s.M.RequestID != "none" && o.By != "system" {
					again := call
					again.At = again.At.Add(time.Second)
					h.Create(what+", again", o, again)
					other := again
					other.ID = ""
					h.Create(what+", again without the id", o, other)
					other.ID = "another-id"
					h.Create(what+", again for another id", o, other)
					other = again
					other.Actor = "somebody else"
					h.Create(what+", again by another actor", o, other)
					for _, in := range o.InputList {
						other := again
						other.Inputs = maps.Clone(call.Inputs)
						other.Inputs[in.Name] = another(&oracle.FieldInfo{Typ: in.Typ, Field: oracle.Field{Name: in.Name}}, or2(call.Inputs[in.Name], in.Empty()))
						if s.M.Acceptable(o, in, other.Inputs[in.Name]) {
							h.Create(what+", again with another "+in.Name, o, other)
						}
					}
				}
				taken := call
				taken.RequestID = h.RequestID()
				h.Create(what+", its id once more", o, taken)
				if unfit, some := unfit(s.M, o, taken); some {
					h.Create(what+", its id once more with a wrong input", o, unfit)
				}
				taken.ID, taken.RequestID = "record-2", h.RequestID()
				h.Create(what+", a second one", o, taken)
				h.Same(what + ", at the end")

				h = s.NewHarness(t, st)
				free := call
				free.ID = ""
				got, err := h.D.Do(h.Ctx, o.Name, nil, free)
				if err != nil {
					t.Errorf("%s, without an id: %v", what, err)
				} else if id := s.D.Descriptor.Encode(&got.Record).ID; driver.CheckID(id) != nil {
					t.Errorf("%s, without an id: the record got the id %q", what, id)
				}
			}
		})
	}
}

// unmoved tells that no case of an operation moves, as unseen does.
func unmoved(o *oracle.Op, t oracle.Sink) {
	const what = "no case moves"
	way := func(w oracle.Witness) bool { return w.Way == "move" || strings.HasPrefix(w.Way, "branch ") }
	if i := slices.IndexFunc(o.Witnesses, func(w oracle.Witness) bool { return way(w) && w.Never+w.Unknown != "" }); i >= 0 {
		oracle.Unseen(t, o.Witnesses, o.Witnesses[i].Way, what)
		return
	}
	t.Errorf("%s", what)
}
