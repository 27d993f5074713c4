package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/internal/interp"
	"github.com/fsmgen/fsmgen/spec"
)

// The clock of every record stands still at epoch while a step is decided; in
// between, what was now becomes the past.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	day       = 24 * time.Hour
	pastUnit  = time.Hour  // between two instants of the past
	aheadUnit = 1000 * day // between two instants to come: longer than any duration of a file

	near   = time.Microsecond // how far a near instant is, which each length reaches
	nearby = time.Second      // and at most
	far    = 36_000 * day     // how far a far one is: less than the longest duration, so that it can be told
)

// call is one way of calling an operation.
type call struct {
	op    *spec.Operation
	call  interp.Call // At is epoch
	index int
}

// pools are the values that inputs take.
type pools struct {
	*classes
	workers, groups, words []string
}

func newPools(c *classes, o Options) *pools {
	p := &pools{classes: c, words: []string{"s1", "s2"}}
	for i := range o.Workers {
		p.workers = append(p.workers, fmt.Sprintf("w%d", i+1))
	}
	for i := range o.Groups {
		p.groups = append(p.groups, fmt.Sprintf("k%d", i+1))
	}
	return p
}

// texts returns the strings that a member of a class can be: names that stand for any,
// and the texts of the file.
func (p *pools) texts(n any) []string {
	r := p.root(n)
	names := p.words
	switch {
	case r == p.root(theActor{}):
		names = p.workers
	case p.keyed[r]:
		names = p.groups
	}
	var list []string
	for _, s := range names {
		list = append(list, fitted(p.lengths[r], s))
	}
	for _, s := range p.consts[r] {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// fitted is a name as long as a class asks, other than the other names. One of a single
// character is the rune of its letter and number.
func fitted(t spec.Type, name string) string {
	if t.Max != nil && *t.Max < int64(len(name)) {
		n, _ := strconv.Atoi(name[1:])
		name = string(rune(name[0])<<8 + rune(n))
	}
	if n := int64(utf8.RuneCountInString(name)); t.Min != nil && *t.Min > n {
		name += strings.Repeat("_", int(*t.Min-n))
	}
	return name
}

// values lists what an input can be; Absent is the first where it may be left out.
func (p *pools) values(in *spec.Input) []interp.Value {
	t := p.fitting(in)
	if !p.matters(in) {
		switch {
		case !t.Optional && (t.Kind != spec.KindSet || !p.presence[in]):
			return []interp.Value{constant(t)}
		case !p.presenceMatters(in):
			return []interp.Value{interp.Absent}
		}
		return []interp.Value{interp.Absent, constant(t)}
	}
	var list []interp.Value
	if t.Optional {
		list = append(list, interp.Absent)
	}
	switch t.Kind {
	case spec.KindString:
		for _, s := range p.texts(in) {
			list = append(list, interp.String(s))
		}
	case spec.KindJSON:
		list = append(list, interp.JSON("1"), interp.JSON("2"))
	case spec.KindSet:
		texts := p.texts(in)
		for bits := range 1 << len(texts) {
			var members []string
			for i, s := range texts {
				if bits&(1<<i) != 0 {
					members = append(members, s)
				}
			}
			list = append(list, interp.Set(members...))
		}
	case spec.KindEnum:
		for _, w := range t.Values {
			list = append(list, interp.Word(w.Name))
		}
	case spec.KindBool:
		list = append(list, interp.Bool(false), interp.Bool(true))
	case spec.KindTime:
		list = append(list, interp.Time(epoch.Add(10*day)))
		if p.ordered {
			list = append(list, interp.Time(epoch.Add(100*aheadUnit)), interp.Time(epoch.Add(-100*aheadUnit)))
		}
		if p.ordered || p.inFact[in] {
			list = append(list, interp.Time(epoch.Add(-time.Minute)))
		}
	case spec.KindInt, spec.KindCounter, spec.KindSequence:
		for _, n := range p.numbers(in) {
			list = append(list, interp.Int(n))
		}
	case spec.KindDuration:
		if r := p.root(in); len(p.ints[r]) == 0 && !p.keyed[r] {
			return append(list, constant(t)) // it separates near times from far ones, as each length does
		}
		for _, n := range p.numbers(in) {
			list = append(list, interp.Span(n))
		}
	}
	return list
}

// numbers lists the integers around those that facts name, as near as the input can come.
func (p *pools) numbers(in *spec.Input) []int64 {
	var list []int64
	t := p.fitting(in)
	for _, n := range p.ints[p.root(in)] {
		for _, n := range []int64{n - 1, n, n + 1} {
			if t.Max != nil {
				n = min(n, *t.Max)
			}
			if t.Min != nil {
				n = max(n, *t.Min)
			}
			list = append(list, n)
		}
	}
	if len(list) == 0 {
		low, n := int64(0), 2
		if t = t.Asked(); t.Min != nil {
			low = *t.Min
		}
		if p.keyed[p.root(in)] {
			n = len(p.groups)
		}
		for i := range n {
			list = append(list, low+int64(i))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// constant is the one value of what does not matter.
func constant(t spec.Type) interp.Value {
	switch t.Kind {
	case spec.KindString:
		return interp.String(t.Fitted("x"))
	case spec.KindInt:
		switch t = t.Asked(); {
		case t.Min != nil:
			return interp.Int(*t.Min)
		case t.Max != nil:
			return interp.Int(min(0, *t.Max))
		}
		return interp.Int(0)
	case spec.KindDuration:
		return interp.Span(min(max(int64(time.Hour/time.Microsecond), *t.Min), *t.Max))
	case spec.KindCounter:
		return interp.Int(0)
	case spec.KindSequence:
		return interp.Int(1)
	case spec.KindBool:
		return interp.Bool(false)
	case spec.KindTime:
		return interp.Time(epoch)
	case spec.KindJSON:
		return interp.JSON("{}")
	case spec.KindSet:
		return interp.Set("x")
	case spec.KindEnum:
		return interp.Word(t.Values[0].Name)
	}
	return interp.Absent
}

// mostCalls is how many ways of calling one operation are looked at in full.
const mostCalls = 256

// calls lists the ways of calling an operation that make a difference. Where
// there are too many, inputs are combined in pairs only, and all is false.
func (p *pools) calls(m *spec.Machine, op *spec.Operation) (list []interp.Call, all bool) {
	base := interp.Call{Op: op, At: epoch, Actor: p.workers[0], Inputs: map[string]interp.Value{}}
	if op.By == spec.ByOperator {
		base.Reason = "checked"
	}
	actors := p.workers[:1]
	if op.By != spec.BySystem && p.matters(theActor{}) {
		actors = p.texts(theActor{})
	}
	values := make([][]interp.Value, len(op.Inputs))
	total := len(actors)
	for i, in := range op.Inputs {
		values[i] = p.values(in)
		total = min(total*len(values[i]), 1<<20)
	}
	add := func(pick []int) {
		for _, actor := range actors {
			c := base
			c.Actor, c.Inputs = actor, map[string]interp.Value{}
			for i, in := range op.Inputs {
				if v := values[i][pick[i]]; v.Kind != interp.KindAbsent {
					c.Inputs[in.Name] = v
				}
			}
			// What Accept refuses is refused whatever the record is.
			if _, refusal := interp.Accept(m, c); refusal == nil {
				list = append(list, c)
			}
		}
	}
	if all = total <= mostCalls; all {
		every(values, add)
	} else {
		pairs(values, add)
	}
	return list, all
}

// every hands over all combinations, the first input changing fastest.
func every(values [][]interp.Value, add func([]int)) {
	for pick := make([]int, len(values)); ; {
		add(pick)
		i := 0
		for i < len(pick) && pick[i] == len(values[i])-1 {
			pick[i] = 0
			i++
		}
		if i == len(pick) {
			return
		}
		pick[i]++
	}
}

// pairs hands over the combinations in which at most two inputs are not what
// they are when they are present and the first of their values.
func pairs(values [][]interp.Value, add func([]int)) {
	base := make([]int, len(values))
	for i, list := range values {
		if list[0].Kind == interp.KindAbsent && len(list) > 1 {
			base[i] = 1
		}
	}
	add(base)
	for i := range values {
		for a := range values[i] {
			if a == base[i] {
				continue
			}
			pick := slices.Clone(base)
			pick[i] = a
			add(pick)
			for j := i + 1; j < len(values); j++ {
				for b := range values[j] {
					if b != base[j] {
						pick[j] = b
						add(pick)
					}
				}
				pick[j] = base[j]
			}
		}
	}
}
