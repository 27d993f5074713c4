package gen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/internal/prove"
	"github.com/fsmgen/fsmgen/spec"
)

// A generated test makes up its cases by itself, from values at the edge of each
// comparison. Where facts hang together, that can miss a guard, a branch or an
// invariant. So the table has a witness of it then, which the solver of the proof
// has found and the interpreter has verified, or says that there is none.

// witness is one line of them.
type witness struct {
	way            string
	in             *spec.State
	example        *prove.Example
	never, unknown string
}

// witnesses lists what the table says of the ways to decide an operation.
func witnesses(m *spec.Machine, o *spec.Operation) []witness {
	if len(o.Require)+len(o.Choose) == 0 {
		return nil
	}
	easy := obvious(m, o)
	var list []witness
	for _, w := range prove.Ways(m, o, func(w prove.Way) bool { return decided(m, o, w) }) {
		x := witness{way: "move", example: w.Witness}
		switch {
		case w.Guard != nil:
			x.way = "guard " + w.Guard.Name
		case w.Branch != nil:
			x.way = fmt.Sprint("branch ", slices.Index(o.Choose, w.Branch)+1)
		}
		switch {
		case w.Witness != nil && easy:
			continue
		case w.Witness != nil:
			x.in = w.Witness.From
		case w.Never && w.Guard != nil:
			continue // Implied says so
		case w.Never:
			x.never = "what its states promise, the guards and the branches above leave nothing"
		default:
			x.unknown = "the proof did not find out whether it can happen"
		}
		list = append(list, x)
	}
	return list
}

// decided reports whether the interpreter decides an example as the proof says.
func decided(m *spec.Machine, o *spec.Operation, w prove.Way) bool {
	r, c, others := exampleCall(m, o, w)
	if slices.ContainsFunc(interp.Check(m, r), func(v interp.Violation) bool { return v.Must }) && !creates(o) {
		return false
	}
	d, refusal := interp.Decide(m, r, c, others)
	guard := d.Guard
	if refusal != nil {
		guard = refusal.Guard
	}
	if w.Guard != nil {
		return guard == w.Guard.Name
	}
	if w.Branch == nil {
		return refusal == nil && !d.RecordOnly
	}
	if c, refusal = interp.Accept(m, c); refusal != nil || guard != w.Branch.Reject || d.RecordOnly != w.Branch.RecordOnly {
		return false
	}
	after := interp.Effects(m, &o.Effects, r, c)
	for _, b := range o.Choose {
		from := b.From == nil || slices.ContainsFunc(b.From, func(s spec.StateRef) bool { return s.State == r.State })
		if from && !slices.ContainsFunc(b.When, func(f *spec.Fact) bool { return !interp.Holds(m, f, after, c) }) {
			return b == w.Branch
		}
	}
	return false
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
	if w.Guard != nil && w.Guard.Peers != nil {
		others.Count[w.Guard.Name] = w.Guard.Peers.Than
	}
	c := interp.Call{Op: o, ID: "record-1", Actor: e.Actor, Reason: "because", At: e.Now, Inputs: map[string]interp.Value{}}
	for _, in := range o.Inputs {
		if d := e.Inputs[in]; d.Present {
			c.Inputs[in.Name] = datumValue(d)
		}
	}
	return r, c, others
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
	}
	return interp.Int(d.Num)
}

// breaches lists what the table says of the invariants of a state: a record that
// breaks each, and one that keeps all where they compare two things.
func breaches(m *spec.Machine, s *spec.State) []witness {
	var list []witness
	facts := slices.Concat(m.Invariant, s.Invariant)
	for _, f := range facts {
		x := witness{way: f.Text, in: s}
		found, never := prove.Breaks(m, s, f)
		switch {
		case found != nil && !interp.Holds(m, f, exampleRecord(m, found), interp.Call{}):
			if alone(f, facts) {
				continue
			}
			x.example = found
		case never:
			x.never = "it follows from the types"
		default:
			x.unknown = "the proof did not find out whether a record can break it"
		}
		list = append(list, x)
	}
	if slices.ContainsFunc(facts, func(f *spec.Fact) bool { return len(comparedIn(f)) > 1 }) {
		list = append(list, soundIn(m, s))
	}
	return list
}

// soundIn is what the table says of a record that breaks no rule of a state.
func soundIn(m *spec.Machine, s *spec.State) witness {
	x := witness{way: "sound", in: s}
	found, never := prove.Sound(m, s)
	switch {
	case found != nil && len(interp.Check(m, exampleRecord(m, found))) == 0:
		x.example = found
	case never:
		x.never = "its rules contradict each other"
	default:
		x.unknown = "the proof did not find out whether there can be one"
	}
	return x
}

// witnessList writes them as a key of the table.
func witnessList(m *spec.Machine, o *spec.Operation, list []witness) string {
	if len(list) == 0 {
		return ""
	}
	var lines []string
	for _, x := range list {
		lines = append(lines, "{"+strings.Join(x.entries(m, o), ", ")+"},\n")
	}
	return "Witnesses: []enginetest.Witness{\n" + strings.Join(lines, "") + "}"
}

func (x witness) entries(m *spec.Machine, o *spec.Operation) []string {
	if x.example == nil {
		return []string{entry("Way", x.way, "Never", x.never, "Unknown", x.unknown)}
	}
	list := []string{entry("Way", x.way)}
	add := func(key string, pairs []string) {
		if len(pairs) > 0 {
			list = append(list, key+": "+rawText("{"+strings.Join(pairs, ", ")+"}"))
		}
	}
	e := x.example
	if x.in != nil {
		var pairs []string
		for _, f := range slices.Concat(m.Fields, m.Builtin) {
			if d := e.Before[f]; d.Present && (!f.Builtin || reads(m, f)) {
				pairs = append(pairs, strconv.Quote(f.Name)+": "+datumText(d, e.Now))
			}
		}
		if o != nil {
			list = append(list, entry("In", x.in.Name))
		}
		add("Record", pairs)
	}
	if o == nil {
		return list
	}
	var pairs []string
	for _, in := range o.Inputs {
		if d := e.Inputs[in]; d.Present {
			pairs = append(pairs, strconv.Quote(in.Name)+": "+datumText(d, e.Now))
		}
	}
	add("Inputs", pairs)
	if o.By != spec.BySystem {
		list = append(list, entry("Actor", e.Actor))
	}
	return list
}

// readsKey is the key of the fields that some fact or effect of a machine reads.
type readsKey struct{}

// reads reports whether some fact or effect of a machine reads a field.
func reads(m *spec.Machine, f *spec.Field) bool {
	return spec.Derived(m, readsKey{}, func(m *spec.Machine) map[*spec.Field]bool {
		read := map[*spec.Field]bool{}
		add := func(facts []*spec.Fact) {
			for _, x := range facts {
				read[x.Left.Field], read[x.Right.Field] = true, true
			}
		}
		add(m.Invariant)
		for _, s := range m.States {
			add(s.Invariant)
		}
		for _, o := range m.Operations {
			for _, r := range o.Require {
				add(r.When)
			}
			for _, b := range o.Choose {
				add(b.When)
			}
			for _, e := range allEffects(o) {
				for _, a := range e.Set {
					read[a.Value.Field] = true
				}
			}
		}
		return read
	})[f]
}

// rawText is a text of JSON in Go.
func rawText(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

// datumText writes a value as JSON; a time as it stands to that of the call.
func datumText(d prove.Datum, now time.Time) string {
	switch d.Kind {
	case spec.KindString, spec.KindEnum:
		return strconv.Quote(d.Text)
	case spec.KindJSON:
		return d.Text
	case spec.KindBool:
		return strconv.FormatBool(d.Num != 0)
	case spec.KindSet:
		b, _ := json.Marshal(d.Members) // texts of our own
		return string(b)
	case spec.KindTime:
		switch apart := d.Time.Sub(now); {
		case apart > 0:
			return fmt.Sprintf(`"now+%s"`, apart)
		case apart < 0:
			return fmt.Sprintf(`"now%s"`, apart)
		}
		return `"now"`
	}
	return strconv.FormatInt(d.Num, 10)
}

// most is how many fields and inputs a generated test tries with each other.
const most = 5

// obvious reports whether the cases that a generated test makes up by itself meet
// each way of an operation: no field or input is compared with two others, none
// is a set that is compared, and no branch reads what the operation has changed.
func obvious(m *spec.Machine, o *spec.Operation) bool {
	var facts []*spec.Fact
	for _, r := range o.Require {
		facts = append(facts, r.When...)
	}
	for _, b := range o.Choose {
		for _, f := range b.When {
			if slices.ContainsFunc(fieldsIn(f), func(f *spec.Field) bool { return changesField(&o.Effects, f) }) {
				return false
			}
		}
		facts = append(facts, b.When...)
	}
	read := map[string]bool{}
	for _, f := range facts {
		for _, t := range comparedIn(f) {
			read[t] = true
		}
	}
	facts = append(facts, m.Invariant...)
	for _, s := range o.From {
		facts = append(facts, s.State.Invariant...)
	}
	return len(read) <= most && !slices.ContainsFunc(facts, func(f *spec.Fact) bool { return !alone(f, facts) })
}

// alone reports whether a fact is about one thing, or about two that no other
// fact compares with a third.
func alone(f *spec.Fact, among []*spec.Fact) bool {
	sides := comparedIn(f)
	if len(sides) < 2 {
		return true
	}
	if f.Op == spec.In || f.Op == spec.NotIn || f.Op == spec.Covers {
		return false
	}
	for _, o := range among {
		others := comparedIn(o)
		shared := func(side string) bool { return side != "now" && side != "actor" && slices.Contains(others, side) }
		if o.Text != f.Text && len(others) > 1 && slices.ContainsFunc(sides, shared) {
			return false
		}
	}
	return true
}

// comparedIn names the sides of a fact that are no constants.
func comparedIn(f *spec.Fact) []string {
	var list []string
	for _, t := range []spec.Term{f.Left, f.Right} {
		switch t.Kind {
		case spec.TermField, spec.TermInput, spec.TermActor, spec.TermNow:
			list = append(list, t.Text)
		}
	}
	return slices.Compact(list)
}

func fieldsIn(f *spec.Fact) []*spec.Field {
	var list []*spec.Field
	for _, t := range []spec.Term{f.Left, f.Right} {
		if t.Kind == spec.TermField {
			list = append(list, t.Field)
		}
	}
	return list
}

// changesField reports whether effects write a field.
func changesField(e *spec.Effects, f *spec.Field) bool {
	in := func(refs []spec.FieldRef) bool {
		return slices.ContainsFunc(refs, func(r spec.FieldRef) bool { return r.Field == f })
	}
	sets := func(a spec.Assign) bool { return a.Field == f }
	return slices.ContainsFunc(e.Set, sets) || slices.ContainsFunc(e.Add, sets) || in(e.Clear) || in(e.Increment)
}
