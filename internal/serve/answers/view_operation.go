package answers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/chart"
	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

func operationOf(m *spec.Machine, o *spec.Operation) operationView {
	by := map[spec.Actor]string{spec.ByCaller: "caller", spec.BySystem: "system", spec.ByOperator: "operator"}
	v := operationView{
		Name: o.Name, Doc: o.Doc, By: by[o.By], Creates: len(o.Creates) > 0, Picks: o.Next != nil, Internal: interp.Internal(m, o),
		Actor: needsActor(m, o), From: []string{}, To: targetsOf(o), Inputs: []inputView{}, Guards: []guardView{},
		Effects: effectTexts(&o.Effects), Event: o.Event, Notes: notesOf(m, o), Place: placeOf(o.Pos, o.Name),
	}
	for _, f := range o.From {
		v.From = append(v.From, f.State.Name)
	}
	for _, in := range o.Inputs {
		v.Inputs = append(v.Inputs, inputOf(m, o, in))
	}
	for _, r := range o.Require {
		v.Guards = append(v.Guards, guardOf(r.Guard))
	}
	return v
}

func guardOf(g *spec.Guard) guardView {
	return guardView{Name: g.Name, Meaning: chart.Meaning(g), Error: g.Error, Message: g.Message, Doc: g.Doc, Place: placeOf(g.Pos, g.Name)}
}

// targetsOf says where an operation can lead.
func targetsOf(o *spec.Operation) []string {
	to := []string{}
	add := func(name string) {
		if !slices.Contains(to, name) {
			to = append(to, name)
		}
	}
	for _, b := range o.Choose {
		switch {
		case b.To != nil:
			add(b.To.State.Name)
		case b.Same:
			add("same")
		case b.RecordOnly:
			add("recorded only")
		case b.Reject != "":
			add("refused with " + b.Reject)
		}
	}
	if len(o.Choose) == 0 {
		switch {
		case len(o.Creates) > 0:
			add(o.Creates[0].State.Name)
		case o.To != nil:
			add(o.To.State.Name)
		case o.Same:
			add("same")
		}
	}
	return to
}

// usualSpan are 30 seconds.
const usualSpan = int64(30 * time.Second / time.Microsecond)

func inputOf(m *spec.Machine, o *spec.Operation, in *spec.Input) inputView {
	v := inputView{Name: in.Name, Kind: in.Type.Kind.String(), Type: typeText(in.Type), Doc: in.Doc, Optional: in.Type.Optional}
	if v.Doc == "" && in.Field != nil {
		v.Doc = in.Field.Doc
	}
	for _, w := range in.Type.Values {
		v.Words = append(v.Words, w.Name)
	}
	if in.Type.Kind == spec.KindDuration { // the type has its bounds
		v.Value = spec.SpanText(min(max(usualSpan, *in.Type.Min), *in.Type.Max))
		return v
	}
	bound := func(low, high *int64) {
		if low != nil {
			v.Min = strconv.FormatInt(*low, 10)
		}
		if high != nil {
			v.Max = strconv.FormatInt(*high, 10)
		}
	}
	bound(in.Type.Min, in.Type.Max)
	effects := []*spec.Effects{&o.Effects}
	for _, b := range o.Choose {
		effects = append(effects, &b.Effects)
	}
	for _, e := range effects {
		for _, a := range e.Set {
			if a.Value.Input != in {
				continue
			}
			bound(a.Field.Type.Min, a.Field.Type.Max)
			for _, other := range m.Operations {
				v.Deadline = v.Deadline || slices.ContainsFunc(other.Triggers, func(t spec.Trigger) bool { return t.After == a.Field })
			}
		}
	}
	return v
}

// typeText writes a type as the specification does, with room to break a line.
func typeText(t spec.Type) string { return strings.ReplaceAll(t.String(), "|", " | ") }

func effectTexts(e *spec.Effects) []string {
	list := []string{}
	for _, a := range e.Set {
		list = append(list, a.Field.Name+" = "+a.Value.Text)
	}
	for _, f := range e.Clear {
		list = append(list, "clear "+f.Field.Name)
	}
	for _, f := range e.Increment {
		list = append(list, f.Field.Name+" + 1")
	}
	for _, a := range e.Add {
		list = append(list, "add "+a.Value.Text+" to "+a.Field.Name)
	}
	for _, a := range e.Remove {
		list = append(list, "remove "+a.Value.Text+" from "+a.Field.Name)
	}
	for _, f := range e.Decrement {
		list = append(list, f.Field.Name+" - 1")
	}
	for _, f := range e.Reset {
		list = append(list, f.Field.Name+" = "+f.Field.Zero())
	}
	return list
}

// notesOf says what else there is to an operation.
func notesOf(m *spec.Machine, o *spec.Operation) []string {
	list := []string{}
	for _, b := range o.Choose {
		when := "otherwise"
		if len(b.When) > 0 {
			when = "when " + strings.Join(spec.FactTexts(b.When), " and ")
		}
		if b.From != nil {
			var from []string
			for _, f := range b.From {
				from = append(from, f.State.Name)
			}
			when = "from " + strings.Join(from, ", ") + ", " + when
		}
		one := &spec.Operation{Choose: []*spec.Branch{b}}
		text := when + ": " + strings.Join(targetsOf(one), "")
		if effects := effectTexts(&b.Effects); len(effects) > 0 {
			text += " (" + strings.Join(effects, ", ") + ")"
		}
		for _, e := range b.Asks {
			text += "; " + askText(m, e)
		}
		if b.Then != nil {
			text += "; then " + b.Then.Operation.Name
		}
		list = append(list, text)
	}
	for _, t := range o.Triggers {
		if t.Startup {
			list = append(list, "runs at startup")
		} else {
			list = append(list, "runs "+t.Text)
		}
	}
	if o.OnRefusalRecordOnly && len(o.Require) > 0 {
		list = append(list, "a guard that fails is logged as a record-only event")
	}
	if o.Next != nil {
		list = append(list, "the store may pick the record")
	}
	if o.Each != nil {
		list = append(list, fmt.Sprintf("one call can take each record that fits, at most %d", o.Each.Most))
	}
	if d := o.DedupeBy; d != nil {
		var names []string
		for _, f := range d.Fields {
			names = append(names, f.Field.Name)
		}
		list = append(list, "returns the record that has the same "+strings.Join(names, ", "))
	}
	for _, e := range o.Asks {
		list = append(list, askText(m, e))
	}
	for _, p := range o.Places {
		for _, e := range p.Enter {
			list = append(list, "entering "+p.Name+": "+askText(m, e))
		}
		for _, e := range p.Exit {
			list = append(list, "leaving "+p.Name+": "+askText(m, e))
		}
	}
	if o.Then != nil {
		list = append(list, "then "+o.Then.Operation.Name)
	}
	return list
}
