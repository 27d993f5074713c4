package gen

import (
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// One call in a store, as the interpreter plays it.

// ownID is the record that a case is about.
const ownID = "m-1"

// idle is a trigger that does not ask yet.
const idle = "idle"

// played is a call in a store, and what comes of it.
type played struct {
	tried
	beside  []interp.Record
	trigger string // of the engine: fsmcases.BySweep, fsmcases.ByStartup
	want    *interp.Refusal
	out     interp.Outcome
	first   int            // how many events the first transaction has
	events  []interp.Event // and those that follow when effects are delivered
	effects []string
	again   []string      // what the same request is
	retry   []interp.Call // with these inputs
	pure    bool          // the pure method answers the same
	noStore bool          // and the store cannot be brought there
	idle    bool          // nothing is to be done
	gives   ending        // the effect that gives up
}

// picks reports whether the machine chooses the record.
func (p *played) picks() bool {
	return (p.call.Op.Next != nil || p.call.Op.Each != nil) && p.before.State == nil
}

// stepRefused reports whether a step that follows the call is refused, and the call with it.
func (p *played) stepRefused() bool { return p.want != nil && p.want.Operation != p.call.Op.Name }

// agree reports whether a store answers as the pure method does.
func (s search) agree(x tried, p played) bool {
	if x.refusal != nil || p.want != nil {
		return x.refusal != nil && p.want != nil && x.refusal.Code == p.want.Code && x.refusal.Guard == p.want.Guard && x.refusal.Name == p.want.Name
	}
	return len(p.events) > 0 && p.events[0].To == x.done.To && p.out.RecordOnly == x.done.RecordOnly
}

// play plays a call in a world. It reports false where no store can be brought there.
func (s search) play(x tried, beside []interp.Record, trigger string) (played, bool) {
	return s.playTo(x, beside, trigger, ending{})
}

// playTo is play for a call whose effect may give up.
func (s search) playTo(x tried, beside []interp.Record, trigger string, gives ending) (played, bool) {
	m, given := s.m, beside != nil
	if more, bad := s.company(x, beside); bad { // the company makes no difference
		given = true
	} else if len(more) > 0 {
		if trigger != "" && slices.ContainsFunc(more, func(r interp.Record) bool { return s.due(r, x.call.At) || s.starts(r.State) }) {
			return played{}, false
		}
		beside = append(slices.Clone(beside), more...)
	}
	p := played{tried: x, beside: beside, trigger: trigger}
	w := interp.World{Records: map[string]interp.Record{}}
	for _, r := range beside {
		r.Rev = 1
		w.Records[r.ID] = r
	}
	c := x.call
	if x.before.State != nil {
		p.before.ID, p.before.Rev = ownID, 1
		w.Records[ownID] = p.before
	}
	for _, r := range w.Records {
		if !sound(m, r) || !seedable(m, r) {
			return p, false
		}
	}
	if w.Clash(m) || interp.Internal(m, c.Op) && len(c.Op.Triggers) == 0 { // nobody can call it
		return p, false
	}
	if !p.picks() {
		c.ID = ownID
	}
	if x.before.State != nil && m.ExpectedRev != spec.None {
		c.ExpectedRev = 1
	}
	switch {
	case trigger != "":
		c.Fired, c.ExpectedRev, c.Actor, c.Reason = true, 1, "", ""
	case m.RequestID != spec.None && c.Op.By != spec.BySystem:
		c.RequestID = "request-1"
	}
	if trigger == "" {
		p.others = w.Others(m, p.before, filledInputs(m, c))
		if x.before.State == nil && !creates(c.Op) {
			p.others = interp.Others{}
		}
		if d := x.others; !sameCounts(d, p.others) && !given {
			return p, false
		}
	}
	p.call = c
	list, next, refusal := interp.Pick(m, w, c, 1)
	switch p.want = refusal; {
	case refusal != nil:
		return p, true
	case len(list) > 1: // a case tells of one
		return p, false
	}
	if p.out = list[0]; p.out.Existing {
		return p, true
	}
	p.events, p.first = slices.Clone(p.out.Events), len(p.out.Events)
	p.performed(m, p.out.Events)
	for len(next.Outbox) > 0 {
		d := next.Outbox[0]
		var (
			out     interp.Outcome
			then    interp.World
			refusal *interp.Refusal
		)
		if d.Effect.Failed != nil && d.Effect.Name == gives.effect && p.gives.effect == "" {
			p.gives = gives
			p.effects = append(p.effects, gives.effect+" gives up")
			out, then, refusal = interp.GiveUp(m, next, d, gives.problem, c.At)
		} else {
			p.effects = append(p.effects, d.Effect.Name+" "+d.Key)
			out, then, refusal = interp.Deliver(m, next, d, c.At)
		}
		if refusal != nil {
			return p, false
		}
		p.events = append(p.events, out.Events...)
		p.performed(m, out.Events)
		next = then
	}
	return p, true
}

// performed notes the effects that are a part of a transaction.
func (p *played) performed(m *spec.Machine, events []interp.Event) {
	for _, e := range events {
		for _, x := range e.Asks {
			if x.Atomic {
				p.effects = append(p.effects, x.Name+" in the transaction: "+interp.EffectKey(m, x, p.recordAfter(m, e)))
			}
		}
	}
}

// recordAfter is the record as an event left it.
func (p *played) recordAfter(m *spec.Machine, last interp.Event) interp.Record {
	r := p.of(m)
	for _, e := range p.events {
		r = after(m, r, e)
		if e.Rev == last.Rev && e.N == last.N {
			break
		}
	}
	return r
}

// of is the record before the call.
func (p *played) of(m *spec.Machine) interp.Record {
	if p.before.State != nil {
		return p.before
	}
	if len(p.events) > 0 {
		for _, r := range p.beside {
			if r.ID == p.events[0].ID {
				r.Rev = 1
				return r
			}
		}
	}
	return interp.NewRecord(m, ownID)
}

// after applies one event.
func after(m *spec.Machine, r interp.Record, e interp.Event) interp.Record {
	if e.N > 0 {
		return r
	}
	for _, c := range e.Changes {
		r = r.With(m, c.Field.Name, c.On(r.Value(m, c.Field)))
	}
	if r.State, r.Rev = e.To, e.Rev; e.From == nil {
		r.CreatedAt, r.UpdatedAt = e.At, e.At
	}
	if e.At.After(r.UpdatedAt) {
		r.UpdatedAt = e.At
	}
	return r
}

// seedable reports whether a store can hold a record that it did not make.
func seedable(m *spec.Machine, r interp.Record) bool {
	if r.UpdatedAt.Before(r.CreatedAt) {
		return false
	}
	for i, f := range m.Fields {
		if f.Type.Kind == spec.KindSequence && r.Fields[i].Num > 1000 {
			return false // a store counts up to it
		}
	}
	return true
}

func filledInputs(m *spec.Machine, c interp.Call) interp.Call {
	if accepted, refusal := interp.Accept(m, c); refusal == nil {
		return accepted
	}
	return c
}

func sameCounts(a, b interp.Others) bool {
	for g, n := range a.Count {
		if n != b.Count[g] {
			return false
		}
	}
	for f, n := range a.Next {
		if n != b.Next[f] {
			return false
		}
	}
	return true
}

// answer names what came of a call.
func (p *played) answer() string {
	switch {
	case p.idle:
		return "idle"
	case p.want != nil:
		return p.want.Code + " " + p.want.Name
	case p.out.Existing:
		return "existing"
	}
	return p.events[0].ID + " to " + p.events[0].To.Name
}

// retries says what the same request is with other inputs. With an input that a retry
// recomputes it is the same.
func (s search) retries(list []played) {
	shown := map[string]bool{}
	for i := range list {
		p := &list[i]
		if p.noStore || p.trigger != "" || p.want != nil || p.out.Existing || p.call.RequestID == "" {
			continue
		}
		for _, in := range p.call.Op.Inputs {
			v := p.call.Inputs[in.Name]
			if shown[in.Name] || v.Kind == interp.KindAbsent {
				continue
			}
			c := p.call
			for _, next := range s.pool(p.tried, in.Type, in, func(spec.Term) bool { return false }) {
				if next == v || next.Kind == interp.KindAbsent {
					continue
				}
				c.Inputs = maps.Clone(p.call.Inputs)
				c.Inputs[in.Name] = next
				if _, refusal := interp.Accept(s.m, c); refusal != nil {
					continue
				}
				word := "reused"
				if interp.SameRequest(s.m, filledInputs(s.m, p.call), filledInputs(s.m, c)) {
					word = "replayed"
				}
				shown[in.Name] = true
				p.again = append(p.again, word)
				p.retry = append(p.retry, c)
				break
			}
		}
	}
}
