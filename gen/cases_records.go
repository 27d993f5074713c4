package gen

import (
	"fmt"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// The records that the search begins with.

// firstNumbers is what a call is told of other records where there are none.
func firstNumbers(m *spec.Machine, o *spec.Operation) interp.Others {
	others := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	for _, f := range sequences(m, o) {
		others.Next[f.Name] = 1
	}
	for _, g := range peerGuards(o) {
		if g.Peers.Some {
			others.Count[g.Name] = 1
		}
	}
	return others
}

// soundRecord is a record in a state that breaks no rule, where there is one.
func (s search) soundRecord(st *spec.State) interp.Record {
	if r, ok := s.known.sound[st]; ok {
		return r
	}
	r := s.findSound(st)
	s.known.sound[st] = r
	return r
}

func (s search) findSound(st *spec.State) interp.Record {
	r := interp.NewRecord(s.m, "").In(st)
	if e, _ := prove.Sound(s.m, st); e != nil {
		r = exampleRecord(s.m, e)
		r.ID, r.Rev = "", 0
	}
	r = s.filled(r)
	ruled := s.ruled(st)
	for i, f := range s.m.Fields { // no two fields have the same value, where the rules let them
		if r.Fields[i].Kind == interp.KindAbsent || f.Type.Kind == spec.KindBool || f.Type.Kind == spec.KindEnum || f.Type.Kind == spec.KindSet {
			continue
		}
		if next := r.With(s.m, f.Name, plainValue(f.Type, f.Type.Min, f.Name, i)); !ruled[f] || sound(s.m, next) || !sound(s.m, r) {
			r = next
		}
	}
	return r
}

// fullRecord is a sound record that holds as much as it can.
func (s search) fullRecord(st *spec.State) interp.Record {
	if r, ok := s.known.full[st]; ok {
		return r
	}
	r := s.soundRecord(st)
	defer func() { s.known.full[st] = r }()
	ruled := s.ruled(st)
	for i, f := range s.m.Fields {
		if r.Fields[i].IsPresent() {
			continue
		}
		v := plainValue(f.Type, f.Type.Min, f.Name, i)
		if f.Type.Kind == spec.KindSet {
			v = interp.Set(f.Name)
		}
		if next := r.With(s.m, f.Name, v); !ruled[f] || len(interp.Check(s.m, next)) == 0 {
			r = next
		}
	}
	return r
}

// sound reports whether a record breaks no rule that must hold.
func sound(m *spec.Machine, r interp.Record) bool {
	return !slices.ContainsFunc(interp.Check(m, r), func(v interp.Violation) bool { return v.Must })
}

// filled gives every mandatory field of a record a value.
func (s search) filled(r interp.Record) interp.Record {
	m := s.m
	for i, b := range []*time.Time{&r.CreatedAt, &r.UpdatedAt} {
		if b.IsZero() || !reads(m, m.Builtin[i]) {
			*b = noon.Add(-time.Hour)
		}
	}
	return r.WithAll(m, func(f *spec.Field) interp.Value {
		if v := r.Value(m, f); v.Kind != interp.KindAbsent || f.Type.Optional {
			return v
		}
		return plainValue(f.Type, f.Type.Min, f.Name, m.FieldIndex(f))
	})
}

// plainValue is a value of the n-th thing of its kind, other than that of the others.
func plainValue(t spec.Type, low *int64, name string, n int) interp.Value {
	switch t.Kind {
	case spec.KindString:
		t.Min = low
		return interp.String(t.Fitted(name))
	case spec.KindBool:
		return interp.Bool(false)
	case spec.KindTime:
		return interp.Time(noon.Add(time.Hour + time.Duration(n)*time.Minute))
	case spec.KindEnum:
		return interp.Word(t.Values[0].Name)
	case spec.KindJSON:
		return interp.JSON(fmt.Sprintf(`{"%s":%d}`, name, n))
	case spec.KindSet:
		return interp.Set()
	case spec.KindSequence, spec.KindCounter:
		return interp.Int(int64(n + 1))
	case spec.KindDuration:
		return interp.Span(min(*low+int64(n)*time.Second.Microseconds(), *t.Max))
	}
	if low == nil || *low == -spec.SumLimit {
		if low = new(int64); t.Max != nil {
			*low = min(0, *t.Max)
		}
	}
	if v := *low + int64(n); t.Max == nil || v <= *t.Max {
		return interp.Int(v)
	}
	return interp.Int(*low)
}

// exampleCall is an example as the interpreter takes it.
func exampleCall(m *spec.Machine, o *spec.Operation, w prove.Way) (interp.Record, interp.Call, interp.Others) {
	e := w.Witness
	r := interp.NewRecord(m, "record-1")
	others := interp.Others{Count: map[string]int64{}, Next: map[string]int64{}}
	if e.From != nil {
		r = exampleRecord(m, e)
	}
	for _, f := range m.Fields {
		if e.From == nil && f.Type.Kind == spec.KindSequence {
			others.Next[f.Name] = 1
		}
	}
	c := interp.Call{Op: o, ID: "record-1", Actor: e.Actor, Reason: "because", At: e.Now, Inputs: map[string]interp.Value{}}
	for _, in := range o.Inputs {
		if d := e.Inputs[in]; d.Present {
			c.Inputs[in.Name] = datumValue(d)
		}
	}
	for _, q := range peerRequirements(o) {
		switch refuses := q.Guard == w.Guard; {
		case q.Guard.Peers.Some && !refuses:
			others.Count[q.Guard.Name] = 1
		case refuses && !q.Guard.Peers.Some:
			others.Count[w.Guard.Name] = tooMany(m, q, r, filledInputs(m, c))
		}
	}
	return r, c, others
}

// tooMany is how many others are too many for a guard of a call.
func tooMany(m *spec.Machine, q *spec.Requirement, r interp.Record, c interp.Call) int64 {
	if creates(c.Op) {
		r = interp.Effects(m, &c.Op.Effects, r, c)
	}
	return interp.Most(m, q, r, c)
}

func exampleRecord(m *spec.Machine, e *prove.Example) interp.Record {
	r := interp.NewRecord(m, "record-1").In(e.From)
	r.Rev = 1
	r = r.WithAll(m, func(f *spec.Field) interp.Value {
		if d := e.Before[f]; d.Present {
			return datumValue(d)
		}
		return interp.Absent
	})
	for _, f := range m.Builtin {
		switch d := e.Before[f]; f.Name {
		case "created_at":
			r.CreatedAt = d.Time
		case "updated_at":
			r.UpdatedAt = d.Time
		}
	}
	return r
}

func datumValue(d prove.Datum) interp.Value {
	switch d.Kind {
	case spec.KindString:
		return interp.String(d.Text)
	case spec.KindBool:
		return interp.Bool(d.Num != 0)
	case spec.KindTime:
		return interp.Time(d.Time)
	case spec.KindJSON:
		return interp.JSON(d.Text)
	case spec.KindSet:
		return interp.Set(d.Members...)
	case spec.KindEnum:
		return interp.Word(d.Text)
	case spec.KindDuration:
		return interp.Span(d.Num)
	}
	return interp.Int(d.Num)
}

// readsKey is the key of the fields that some fact or effect of a machine reads.
type readsKey struct{}

// reads reports whether some fact or effect of a machine reads a field.
func reads(m *spec.Machine, f *spec.Field) bool {
	return spec.Derived(m, readsKey{}, func(m *spec.Machine) map[*spec.Field]bool {
		read := map[*spec.Field]bool{}
		add := func(facts []*spec.Fact) {
			for _, x := range spec.Leaves(facts) {
				for _, t := range x.Names() {
					read[t.Field] = true
				}
			}
		}
		add(m.Invariant)
		for _, s := range m.States {
			add(s.Invariant)
		}
		for _, o := range m.Operations {
			for _, r := range o.Require {
				add(r.Reads())
			}
			for _, b := range o.Choose {
				add(b.When)
			}
			for _, e := range allEffects(o) {
				for _, a := range e.Set {
					for _, f := range a.Value.Fields() {
						read[f] = true
					}
				}
			}
		}
		return read
	})[f]
}
