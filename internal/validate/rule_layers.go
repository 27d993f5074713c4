package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/spec"
)

// layerRules look for what the layers that a file chooses cannot do.
var layerRules = []Rule{
	{
		Code: "FSM028", Name: "pure package that would need a store", Severity: spec.Error, Run: needsStore,
		Doc: "A machine with `layers: [pure]`, or one generated with `--layers pure`, becomes a package without a store: its operations are\n" +
			"methods on a value, and it imports the standard library alone. What finds or compares records, wakes them up or performs an effect\n" +
			"again has nothing to work with there. Take it out of the file, or let the durable layer be generated too. An effect has its\n" +
			"`name` alone: the event of a step lists it, and the program performs it.\n" +
			"`--layers pure` leaves it out, and says so in one line for each kind: requests, `unique`, `lookup`, `dedupe_by`,\n" +
			"`next`, `then`, triggers, deliveries of effects and the steps that follow them, probes and the projection. None of them changes what an operation does to its record.",
	},
}

// Left is one kind of thing that a package of the pure layer alone is without, and that
// changes nothing of what an operation does to its record.
type Left struct {
	What    string // "the triggers of expire, which call it by the clock"
	Instead string // what its user does instead
	Pos     spec.Pos
	Mark    string // the text at Pos
}

// LeftOut lists what a package of the pure layer alone leaves out of a machine, in the
// order of the file.
func LeftOut(m *spec.Machine) []Left {
	if m.Alone() {
		return nil // it has nothing that would need one
	}
	var list []Left
	all := storeNeeds(m)
	for kind := range leftKinds {
		var names []string
		var first *storeNeed
		for i, x := range all {
			if x.kind != needKind(kind) {
				continue
			}
			if first == nil || x.pos.Before(first.pos) {
				first = &all[i]
			}
			if !slices.Contains(names, x.name) {
				names = append(names, x.name)
			}
		}
		if first == nil {
			continue
		}
		k := leftKinds[kind]
		what := k.many
		if len(names) == 1 {
			what = k.one
		}
		list = append(list, Left{
			What: strings.ReplaceAll(what, "<>", enumerate(names, "and")), Instead: k.instead,
			Pos: first.pos, Mark: first.mark,
		})
	}
	slices.SortStableFunc(list, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return list
}

// NeedsStore tells, as facts, each kind of thing of a machine that a package of the pure layer alone leaves out.
func NeedsStore(m *spec.Machine) spec.Diagnostics {
	var found spec.Diagnostics
	rule, _ := Explain("FSM028")
	p := &Pass{Machine: m, rule: &rule, found: &found}
	for _, l := range LeftOut(m) {
		p.report(finding{pos: l.Pos, mark: l.Mark}, "the pure package leaves out %s; %s", l.What, l.Instead)
		found[len(found)-1].Severity = spec.Info
	}
	found.Sort()
	return found
}

// needsStore reports all of it as an error, in a file that asks for a package without a store.
func needsStore(p *Pass) {
	if !p.Machine.Alone() {
		return
	}
	for _, x := range storeNeeds(p.Machine) {
		if x.kind != leftEffect && x.kind != leftAfter { // the keys of an effect are told below
			x.report(p)
		}
	}
	for _, u := range p.Machine.Uses {
		storeNeed{pos: u.Pos, mark: u.Name, hint: "take it out of the file", text: "`uses`: records of two machines move in one transaction of a store"}.report(p)
	}
	for _, e := range p.Machine.AllEffects() {
		for _, k := range e.More {
			storeNeed{pos: k.Pos, mark: k.Name, hint: "take it out of the file", text: fmt.Sprintf("`%s` of the effect %s: %s",
				k.Name, e.Name, effectKeys[k.Name]),
				fix: p.Machine.Without(k.Pos)}.report(p)
		}
	}
}

// effectKeys says why a pure package cannot have them.
var effectKeys = map[string]string{
	"key":    "nobody performs it again",
	"atomic": "there is no transaction",
	"then":   "nobody delivers it",

	"attempts": "nobody performs it again",
	"failed":   "nobody tries it",
}

// needKind says what becomes of a thing that needs a store, where a flag asks for a
// package without one.
type needKind int

const (
	leftRequests needKind = iota
	leftUnique
	leftLookup
	leftProbe
	leftProjection
	leftDedupe
	leftNext
	leftEach
	leftTrigger
	leftEffect
	leftAfter
	leftThen
)

// leftKinds are the texts of what is left out; <> stands for the names.
var leftKinds = [...]struct{ one, many, instead string }{
	leftRequests:   {one: "`requests`, by which a call that comes again counts once", instead: "call a method on the value that you have, once"},
	leftUnique:     {one: "the `unique` rule <>, which compares records", many: "the `unique` rules <>, which compare records", instead: "look for the other record before you call a method"},
	leftLookup:     {one: "the `lookup` <>, which finds records", many: "the `lookup`s <>, which find records", instead: "find the record where you keep it"},
	leftProbe:      {one: "the probe <>, which an audit asks", many: "the probes <>, which an audit asks", instead: "ask the world outside where you keep the record"},
	leftProjection: {one: "the projection <>, which is made of all records", instead: "count the states of your records"},
	leftDedupe:     {one: "`dedupe_by` of <>, which gives the record that is there already", many: "`dedupe_by` of <>, which give the record that is there already", instead: "look for it before you make one"},
	leftNext:       {one: "`next` of <>, which picks the record", many: "`next` of <>, which pick the record", instead: "choose one, and call the method on it"},
	leftEach:       {one: "`each` of <>, which takes all records that fit", many: "`each` of <>, which take all records that fit", instead: "call the method on each of them"},
	leftTrigger:    {one: "the trigger of <>, which runs it by the clock", many: "the triggers of <>, which run them by the clock", instead: "call the method when its time has come"},
	leftEffect: {one: "the delivery of the effect <>", many: "the delivery of the effects <>",
		instead: "call `Perform` of the event when the method has returned"},
	leftAfter: {one: "what follows an effect: <>", many: "what follows an effect: <>",
		instead: "call the method when the effect was performed, or when the program gives it up"},
	leftThen: {one: "`then` of <>", many: "`then` of <>", instead: "call the second method when the first one has returned"},
}

// storeNeed is one thing that needs a store.
type storeNeed struct {
	kind       needKind
	name       string // that its kind is told with
	pos        spec.Pos
	mark, hint string
	text       string // what a pure package cannot have
	fix        []spec.Edit
}

func (x storeNeed) report(p *Pass) {
	p.report(finding{pos: x.pos, mark: x.mark, hint: x.hint + ", or generate the durable layer too", fix: x.fix},
		"a pure package cannot have %s", x.text)
}

// storeNeeds lists what of a machine needs a store.
func storeNeeds(m *spec.Machine) (list []storeNeed) {
	const out = "take it out of the file"
	add := func(kind needKind, pos spec.Pos, name, mark, hint, format string, args ...any) {
		list = append(list, storeNeed{kind: kind, name: name, pos: pos, mark: mark, hint: hint, text: fmt.Sprintf(format, args...)})
	}
	if !m.RequestsAt.IsZero() {
		add(leftRequests, m.RequestsAt, "", "requests", out, "`requests`: a method is called once, on the value that the caller has")
	}
	for _, u := range m.Unique {
		add(leftUnique, u.Pos, u.Name, u.Name, out, "`unique`: it would have to know the other records")
	}
	for _, l := range m.Lookups {
		add(leftLookup, l.Pos, l.Name, l.Name, out, "`lookup`: it would have to find records")
	}
	for _, probe := range m.Probes {
		add(leftProbe, probe.Pos, probe.Name, probe.Name, out, "probes: it has no audit that would ask them")
	}
	if pr := m.Projection; pr != nil {
		add(leftProjection, pr.Pos, pr.Entity, "projection", out, "a projection: it would have to know all records")
	}
	for _, e := range m.AllEffects() {
		add(leftEffect, e.Pos, e.Name, "effect", "", "")
		if e.Then != nil {
			add(leftAfter, e.Then.Pos, fmt.Sprintf("%s after %s", e.Then.Operation.Name, e.Name), e.Then.Operation.Name, "", "")
		}
		if e.Failed != nil {
			add(leftAfter, e.Failed.Pos, fmt.Sprintf("%s where %s gave up", e.Failed.Operation.Name, e.Name), e.Failed.Operation.Name, "", "")
		}
	}
	for _, o := range m.Operations {
		if o.DedupeBy != nil {
			add(leftDedupe, o.DedupeBy.Pos, o.Name, "dedupe_by", out, "`dedupe_by`: it would have to find another record")
		}
		if o.Next != nil {
			add(leftNext, o.Next.Pos, o.Name, "next", out, "`next`: there is nothing to pick from")
		}
		if o.Each != nil {
			add(leftEach, o.Each.Pos, o.Name, "each", out, "`each`: there is nothing to choose from")
		}
		for _, t := range o.Triggers {
			add(leftTrigger, t.Pos, o.Name, t.Text, fmt.Sprintf("take it out, and call %s when its time has come", o.Name),
				"a trigger: nobody would look at the clock")
		}
		for _, then := range o.Followers() {
			next := then.Operation.Name
			add(leftThen, then.Pos, fmt.Sprintf("%s, after which %s comes", o.Name, next), next,
				"take it out, and call both methods", "`then`: there is no transaction around two steps")
		}
	}
	return list
}
