package fsmtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
)

// durable runs the suites of the durable layer over one store.
func (s *suite[R]) durable(st Store) func(*testing.T) {
	return func(t *testing.T) {
		if s.d.Descriptor.Schema.SQL[st.Name] != "" { // it keeps the records in a database
			st.Open(t) // where there is no server for it, all is skipped here, and said once
			t.Run("prompt", func(t *testing.T) { s.prompt(t, st) })
			t.Run("plans", func(t *testing.T) { s.plans(t, st) })
		}
		t.Run("transitions", func(t *testing.T) { s.transitions(t, st) })
		t.Run("creations", func(t *testing.T) { s.creations(t, st) })
		t.Run("others", func(t *testing.T) { s.others(t, st) })
		t.Run("inputs", func(t *testing.T) { s.storedInputs(t, st) })
		t.Run("next", func(t *testing.T) { s.next(t, st) })
		t.Run("batches", func(t *testing.T) { s.batches(t, st) })
		t.Run("effects", func(t *testing.T) { s.effects(t, st) })
		t.Run("triggers", func(t *testing.T) { s.triggers(t, st) })
		t.Run("startup", func(t *testing.T) { s.startup(t, st) })
		t.Run("reading", func(t *testing.T) { s.reading(t, st) })
		t.Run("handles", func(t *testing.T) { s.handles(t, st) })
		t.Run("joined", func(t *testing.T) { s.joined(t, st) })
		t.Run("walks", func(t *testing.T) { s.walks(t, st) })
	}
}

// byWay returns, for an operation and a state, one case for each way in which
// the operation can be decided on a sound record without others.
func (m *model) byWay(o *operation, s *state) []theCase {
	var list []theCase
	seen := map[string]bool{}
	for c := range m.cases(o, s) {
		if s != nil && !m.sound(c.row) || slices.ContainsFunc(o.require, func(g *guard) bool { return g.Fewer > 0 && c.call.Peers[g.Name] != 0 }) {
			continue
		}
		v := m.decide(o, c.row, c.call)
		key := v.way + strings.Join(v.failing, ",")
		if v.code == "" {
			for i := range c.row.Values { // another set of changed fields is another way
				key += fmt.Sprint(" ", c.row.Values[i] != v.row.Values[i])
			}
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, c.clone())
		}
	}
	return list
}

// groupRules lists the fields by which records are grouped or unique, rule by rule.
func (m *model) groupRules() [][]string {
	var rules [][]string
	for _, u := range m.Uniques {
		rules = append(rules, list(u.Fields))
	}
	for _, g := range m.Guards {
		if g.Fewer > 0 {
			rules = append(rules, list(g.Same))
		}
	}
	for _, o := range m.operations {
		if o.Dedupe != "" {
			rules = append(rules, list(o.Dedupe))
		}
	}
	for _, f := range m.fields {
		if f.kind == driver.KindSequence {
			rules = append(rules, list(f.Per))
		}
	}
	return rules
}

// grouped lists the fields that stand in some rule.
func (m *model) grouped() map[string]bool {
	g := map[string]bool{}
	for _, rule := range m.groupRules() {
		for _, name := range rule {
			g[name] = true
		}
	}
	return g
}

// apart gives a case texts of its own in the fields by which records are
// grouped, so that cases in one store do not meet. It reports whether that
// keeps it apart in every group.
func (m *model) apart(o *operation, c *theCase, n int) bool {
	own := fmt.Sprintf(" #%d", n)
	for name := range m.grouped() {
		m.mark(o, c, name, own)
	}
	r := c.row
	if o.creates {
		r = m.blank(c.call.ID)
		m.apply(o, o.effects, m.blank(c.call.ID), &r, c.call)
	}
	for _, rule := range m.groupRules() {
		if !slices.ContainsFunc(rule, func(name string) bool {
			f := m.fields[name]
			s, ok := r.Values[f.index].(string)
			return r.Values[f.index] == nil || ok && f.kind == driver.KindString && strings.HasSuffix(s, own)
		}) {
			return false
		}
	}
	return true
}

// mark gives a case a text of its own in one field.
func (m *model) mark(o *operation, c *theCase, name, own string) {
	f := m.fields[name]
	if f.kind != driver.KindString {
		return
	}
	marked := func(v any) any {
		if s, ok := v.(string); ok {
			return s + own
		}
		return v
	}
	if c.row.Values != nil {
		c.row.Values[f.index] = marked(c.row.Values[f.index])
	}
	for _, a := range o.effects.set {
		from, ok := strings.CutPrefix(a.value, "input.")
		if !ok {
			from = name
		}
		if in := o.input(from); a.field == name && strings.HasPrefix(a.value, "input") && c.call.Inputs[in.Name] != nil {
			c.call.Inputs[in.Name] = marked(c.call.Inputs[in.Name])
		}
	}
}

// exported reports whether the durable layer offers the operation by name.
func (h *harness[R]) exported(o *operation) bool { return h.d.Operations[o.Name].Do != nil }

// refusedLimit is in how many of the states that refuse it an operation is tried
// over a store: no store decides that, and the cells of the pure layer are all tried.
const refusedLimit = 12

// tried are the states in which an operation is tried over a store: those in which it
// does something, and of the others some, each operation beginning at another one.
func (m *model) tried(o *operation) []*state {
	var list []*state
	refused, first := 0, slices.Index(m.operations, o)
	for i := range m.stateOrder {
		s := m.stateOrder[(first+i)%len(m.stateOrder)]
		if o.cells[s.Name].kind == cellRefused {
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
func (s *suite[R]) transitions(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if o.creates {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			h := s.newHarness(t, st)
			if !h.exported(o) {
				t.Skip("not exported: reached by `then` only")
			}
			n := 0
			for _, from := range s.m.tried(o) {
				for _, c := range s.m.byWay(o, from) {
					n++
					c.row.ID = fmt.Sprintf("record-%d", n)
					if !s.m.apart(o, &c, n) {
						h = s.newHarness(t, st)
					}
					h.t = t
					h.transition(fmt.Sprintf("in %s, case %d", from.Name, n), o, c)
				}
			}
			s.durableCount += n
		})
	}
}

func (h *harness[R]) transition(what string, o *operation, c theCase) {
	h.t.Helper()
	h.seed(c.row)
	ref := fsm.Ref{ID: c.row.ID, Rev: 1}
	call := c.call
	call.Labels = map[string]string{"trace": "t1"}
	caller := o.By != "system"
	if caller {
		call.RequestID = h.requestID()
		bare := call
		bare.Actor = ""
		if o.readsActor || o.By == "operator" {
			h.call(what+", without an actor", o, ref, bare)
		}
		if bare.Actor, bare.Reason = call.Actor, ""; o.By == "operator" {
			h.call(what+", without a reason", o, ref, bare)
		}
		if h.m.RequestID != "none" {
			bare := call
			bare.RequestID = ""
			if h.m.RequestID == "required" {
				h.call(what+", without a request id", o, ref, bare)
			}
			bare.RequestID = "sys:" + o.stored + ":1"
			h.call(what+", with the runtime's own kind of request id", o, ref, bare)
		}
	}
	other := call
	if caller {
		other.RequestID = h.requestID()
	}
	h.call(what+", at another revision", o, fsm.Ref{ID: ref.ID, Rev: 99}, other) // taken where it is recorded only
	h.call(what+", of an unknown record", o, fsm.Ref{ID: "nobody", Rev: 1}, call)
	if h.m.ExpectedRev == "required" {
		h.call(what+", without a revision", o, fsm.Ref{ID: ref.ID}, call)
	}
	unfit, some := h.m.unfit(o, other)
	if caller {
		unfit.RequestID = h.requestID()
	}
	if some { // the inputs come before whatever the record says
		h.call(what+", with a wrong input at another revision", o, fsm.Ref{ID: ref.ID, Rev: 99}, unfit)
		h.call(what+", with a wrong input of an unknown record", o, fsm.Ref{ID: "nobody", Rev: 1}, unfit)
	}
	h.same(what + ", before the call")

	held, err := h.s.d.Descriptor.Decode(h.w.rows[ref.ID])
	if err != nil {
		h.t.Fatal(err)
	}
	moved := h.w.rows[ref.ID].Rev
	var target fsm.Target = fsm.Ref{ID: ref.ID, Rev: moved}
	if h.n%2 == 0 {
		target, _ = any(held).(fsm.Target)
	}
	_, want := h.call(what, o, target, call)
	h.same(what)
	if want.code != "" || !caller || h.m.RequestID == "none" {
		if want.code == "" && !caller {
			h.call(what+", again", o, target, call) // two sweepers converge
			h.same(what + ", again")
		}
		return
	}

	again := call
	again.At = again.At.Add(time.Second)
	again.Labels = map[string]string{"trace": "t2"}
	h.call(what+", again", o, target, again)
	for _, in := range o.inputs {
		other := again
		other.Inputs = maps.Clone(call.Inputs)
		other.Inputs[in.Name] = another(&field{typ: in.typ, Field: Field{Name: in.Name}}, or2(call.Inputs[in.Name], in.empty()))
		if h.m.acceptable(o, in, other.Inputs[in.Name]) {
			h.call(what+", again with another "+in.Name, o, target, other)
		}
	}
	if some { // and after the request
		other := again
		other.Inputs = unfit.Inputs
		h.call(what+", again with a wrong input", o, target, other)
	}
	other = again
	other.Actor = "somebody else"
	h.call(what+", again by another actor", o, target, other)
	other = again
	other.Reason = "another reason"
	h.call(what+", again for another reason", o, target, other)
	tries, first := 0, slices.Index(h.m.operations, o)
	for i := range h.m.operations {
		p := h.m.operations[(first+i)%len(h.m.operations)]
		if p != o && !p.creates && p.By != "system" && h.exported(p) && tries < othersLimit {
			tries++
			for pc := range h.m.cases(p, h.m.stateOrder[0]) {
				reuse := pc.call
				reuse.RequestID = call.RequestID
				h.call(what+", its request id for "+p.Name, p, target, reuse)
				break
			}
		}
	}
	late := again
	late.RequestID, late.At = h.requestID(), time.Time{}
	h.call(what+", once more under a new request id", o, target, late)
	h.call(what+", the first call again after that", o, target, again)
	h.same(what + ", at the end")
}

// unfit returns a call with an input that its operation cannot take; false where
// it takes whatever can be written.
func (m *model) unfit(o *operation, c Call) (Call, bool) {
	for _, in := range o.inputs {
		for _, v := range []any{"", time.Time{}, int64(-1), int64(1 << 40)} {
			fits := false
			switch v.(type) {
			case string:
				fits = in.kind == driver.KindString
			case time.Time:
				fits = in.kind == driver.KindTime
			case int64:
				fits = in.kind == driver.KindInt
			}
			if fits && !m.acceptable(o, in, v) {
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
func (s *suite[R]) creations(t *testing.T, st Store) {
	for _, o := range s.m.operations {
		if !o.creates {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			for n, c := range s.m.byWay(o, nil) {
				h := s.newHarness(t, st)
				what := fmt.Sprintf("case %d", n+1)
				call := c.call
				call.RequestID = h.requestID()
				call.Labels = map[string]string{"trace": "t1"}
				if s.m.RequestID == "required" {
					bare := call
					bare.RequestID = ""
					h.create(what+", without a request id", o, bare)
				}
				_, want := h.create(what, o, call)
				h.same(what)
				s.durableCount++
				if want.code != "" {
					continue
				}
				if s.m.RequestID != "none" {
					again := call
					again.At = again.At.Add(time.Second)
					h.create(what+", again", o, again)
					other := again
					other.ID = ""
					h.create(what+", again without the id", o, other)
					other.ID = "another-id"
					h.create(what+", again for another id", o, other)
					other = again
					other.Actor = "somebody else"
					h.create(what+", again by another actor", o, other)
					for _, in := range o.inputs {
						other := again
						other.Inputs = maps.Clone(call.Inputs)
						other.Inputs[in.Name] = another(&field{typ: in.typ, Field: Field{Name: in.Name}}, or2(call.Inputs[in.Name], in.empty()))
						if s.m.acceptable(o, in, other.Inputs[in.Name]) {
							h.create(what+", again with another "+in.Name, o, other)
						}
					}
				}
				taken := call
				taken.RequestID = h.requestID()
				h.create(what+", its id once more", o, taken)
				if unfit, some := s.m.unfit(o, taken); some {
					h.create(what+", its id once more with a wrong input", o, unfit)
				}
				taken.ID, taken.RequestID = "record-2", h.requestID()
				h.create(what+", a second one", o, taken)
				h.same(what + ", at the end")

				h = s.newHarness(t, st)
				free := call
				free.ID = ""
				got, err := h.d.Operations[o.Name].Do(h.ctx, nil, free)
				if err != nil {
					t.Errorf("%s, without an id: %v", what, err)
				} else if id := s.d.Descriptor.Encode(&got.Record).ID; driver.CheckID(id) != nil {
					t.Errorf("%s, without an id: the record got the id %q", what, id)
				}
			}
		})
	}
}
