package prove

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/spec"
)

// Example is one step that fails: a record that satisfies everything that is
// promised of it, a call that is accepted, and the record after it. It is a
// counterexample to induction: no record need ever get there, but nothing in
// the specification keeps one from it.
type Example struct {
	Op     *spec.Operation
	From   *spec.State           // nil for a creation
	To     *spec.State           // nil when no branch is taken
	Before map[*spec.Field]Datum // empty for a creation
	After  map[*spec.Field]Datum
	Inputs map[*spec.Input]Datum
	Actor  string
	Now    time.Time

	texts    map[*spec.Field]bool // the fields whose text or time matters
	relevant map[*spec.Input]bool
	actor    bool // the actor matters
}

// Datum is what a field or an input holds in an example.
type Datum struct {
	Kind    spec.Kind
	Present bool
	Text    string // KindString, KindJSON (JSON text), KindEnum (the word)
	Num     int64  // KindInt, KindCounter, KindSequence; KindDuration: microseconds; KindBool as 0 or 1
	Time    time.Time
	Members []string // KindSet, sorted
}

// noon is the time of the call in every example.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world turns the numbers of a solution into data.
type world struct {
	*part
	sol   *solution
	texts map[int64]string
	spans map[int64]span // how long they are
	zero  int64          // the number of the time of the call
	words map[int64]string
}

func (s *part) world(sol *solution, words map[string]int64) *world {
	w := &world{part: s, sol: sol, texts: map[int64]string{}, spans: map[int64]span{}, words: map[int64]string{}}
	for word, n := range words {
		w.words[n] = word
	}
	if s.now != nil {
		w.zero = w.number(*s.now)
	}
	// Texts get short names in the order of their numbers.
	var nums []int64
	for n, number := range s.nums {
		if n > 0 && (number.kind == spec.KindString || number.kind == spec.KindJSON) {
			nums = append(nums, w.number(value{num: n}))
		}
	}
	long := func(v value) {
		if v.kind == spec.KindString && !v.absent {
			w.spans[w.number(v)] = w.spans[w.number(v)].both(v.length)
		}
	}
	for _, v := range s.fields {
		long(v)
	}
	for _, v := range s.inputs {
		long(v)
	}
	if s.long != nil {
		n := w.number(*s.long)
		w.spans[n] = w.spans[n].outside(s.within)
	}
	slices.Sort(nums)
	w.name(slices.Compact(nums))
	return w
}

// name gives texts to numbers in their order: constants of the file have their own, and the
// others get short ones between these.
func (w *world) name(nums []int64) {
	fixed := map[int64]string{}
	for text, n := range w.part.texts {
		fixed[w.number(value{num: n})] = text
	}
	below := ""
	for len(nums) > 0 {
		n := slices.IndexFunc(nums, func(n int64) bool { _, is := fixed[n]; return is })
		if n == 0 {
			below = fixed[nums[0]]
			w.texts[nums[0]], nums = below, nums[1:]
			continue
		}
		above := ""
		if n < 0 {
			n = len(nums)
		} else {
			above = fixed[nums[n]]
		}
		names := w.between(below, above, nums[:n])
		for i := range n {
			w.texts[nums[i]] = names[i]
		}
		nums = nums[n:]
	}
}

// between names texts in the order of their numbers, behind one text and before another,
// where there is one.
func (w *world) between(below, above string, nums []int64) []string {
	var first []string
	for k, prefix := range []string{"", "A", "0", "!", "\u4e00", "A", "0", below, below + "0", below + "\x01"} { // '!' < '0' < 'A' < 'a'
		names, last := make([]string, len(nums)), below
		good := true
		for i, n := range nums {
			name := prefix + letters(i, len(nums))
			if 1 <= k && k <= 4 { // texts of one character, in a row
				first, _ := utf8.DecodeRuneInString(prefix)
				name = string(first + rune(i))
			}
			names[i] = w.spans[n].fitted(name)
			good = good && names[i] > last
			last = names[i]
		}
		if good && (above == "" || last < above) {
			return names
		}
		if first == nil {
			first = names
		}
	}
	names, last := make([]string, len(nums)), below
	for i, n := range nums {
		last = w.spans[n].next(last)
		names[i] = last
	}
	if above == "" || last < above {
		return names
	}
	return first
}

// letters names the texts so that their order is that of their indexes.
func letters(i, n int) string {
	if n <= 26 {
		return string(rune('a' + i))
	}
	return fmt.Sprintf("t%04d", i)
}

// number evaluates a value; a number that nothing asked for is what it prefers.
func (w *world) number(v value) int64 {
	if v.sum != nil {
		n := v.off
		for _, a := range v.sum {
			n += a.factor * w.number(value{num: a.num})
		}
		return n
	}
	if v.num == 0 {
		return v.off
	}
	n, ok := w.sol.nums[v.num]
	if !ok {
		n = w.part.nums[v.num].want
	}
	return n + v.off
}

func (w *world) holds(f formula) bool {
	switch f.op {
	case and, or:
		for _, k := range f.kids {
			if w.holds(k) == (f.op == or) {
				return f.op == or
			}
		}
		return f.op == and
	case isTrue:
		return w.sol.bools[f.v]
	case isFalse:
		return !w.sol.bools[f.v]
	case linear:
		return w.number(value{sum: f.sum, off: f.c}) >= 0
	case atMost:
		return w.number(value{num: f.x})-w.number(value{num: f.y}) <= f.c
	}
	return w.number(value{num: f.x})-w.number(value{num: f.y}) == f.c
}

// datum evaluates a value.
func (w *world) datum(v value) Datum {
	d := Datum{Kind: v.kind}
	if v.kind == spec.KindSet {
		d.Members = w.setOf(*v.set)
		d.Present = len(d.Members) > 0
		return d
	}
	if v.absent || v.maybe && !w.sol.bools[v.pres] {
		return d
	}
	d.Present = true
	n := w.number(v)
	switch v.kind {
	case spec.KindString:
		d.Text = v.length.fitted(w.texts[n])
	case spec.KindJSON:
		d.Text = w.texts[n]
		if c, constant := w.part.texts[d.Text]; !constant || w.part.nums[c].kind != spec.KindJSON || w.number(value{num: c}) != n {
			text, _ := json.Marshal(d.Text) // a text is JSON
			d.Text = string(text)
		}
	case spec.KindEnum:
		d.Text = w.words[n]
	case spec.KindTime:
		d.Time = noon.Add(time.Duration(n-w.zero) * time.Microsecond)
	default:
		d.Num = n
	}
	return d
}

func (w *world) setOf(s set) []string {
	var members []string
	for i, e := range w.elems {
		if atom, ok := w.members[member{i, s.base}]; ok && s.base >= 0 && w.sol.bools[atom] && !w.went(s, w.number(e)) {
			members = append(members, w.texts[w.number(e)])
		}
	}
	for _, a := range s.added {
		if w.holds(w.present(a)) {
			members = append(members, w.texts[w.number(a)])
		}
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// went reports whether a set has lost the string of a number.
func (w *world) went(s set, n int64) bool {
	if slices.ContainsFunc(s.gone, func(g value) bool { return w.holds(w.present(g)) && w.number(g) == n }) {
		return true
	}
	return slices.ContainsFunc(s.less, func(l set) bool { return slices.Contains(w.setOf(l), w.texts[n]) })
}

// touch gives a number to everything that an example shows, so that the types
// of all of it are respected.
func (s *part) touch() {
	for _, f := range s.m.Fields {
		s.field(f)
	}
	for _, in := range s.op.Inputs {
		s.input(in)
	}
	s.clock()
	s.who()
}

// example tells a failing step.
func (w *work) example(s *part, to *spec.State, record after, sol *solution) *Example {
	v := s.world(sol, w.words)
	e := &Example{
		Op: s.op, From: s.from, To: to, Actor: v.texts[v.number(s.who())], Now: noon,
		Before: map[*spec.Field]Datum{}, After: map[*spec.Field]Datum{}, Inputs: map[*spec.Input]Datum{},
		texts: map[*spec.Field]bool{}, relevant: map[*spec.Input]bool{},
	}
	read := record.read(s.problem)
	for _, f := range slices.Concat(w.m.Fields, w.m.Builtin) {
		if s.from != nil {
			e.Before[f] = v.datum(s.field(f))
		}
		e.After[f] = v.datum(read(f))
	}
	for _, in := range s.op.Inputs {
		e.Inputs[in] = v.datum(s.input(in))
	}
	return e
}

// note says which facts the example is about: the texts and times that they
// compare are shown, and the inputs that they read.
func (e *Example) note(facts []*spec.Fact) {
	for _, f := range spec.Leaves(facts) {
		for _, t := range f.Names() {
			switch t.Kind {
			case spec.TermField, spec.TermOld:
				if f.Op != spec.Present && f.Op != spec.Absent {
					e.texts[t.Field] = true
				}
			case spec.TermInput:
				if t.Input != nil {
					e.relevant[t.Input] = true
				}
			case spec.TermActor:
				e.actor = true
			}
		}
	}
}

// follow says that the example is about what a step makes of fields that matter: what it sets them
// to is shown, but where they only need to be there.
func (e *Example) follow(steps []*spec.Effects, fields []*spec.Field, values bool) {
	for _, s := range steps { // the last ones first: a branch reads what the operation made
		for _, a := range s.Set {
			if !e.texts[a.Field] && !slices.Contains(fields, a.Field) {
				continue
			}
			for _, in := range a.Value.Inputs() {
				e.relevant[in] = true
			}
			for _, f := range a.Value.Fields() {
				e.texts[f] = e.texts[f] || values
			}
			e.actor = e.actor || values && a.Value.Kind == spec.ValueActor
		}
	}
}

// before renders the record before the step, and what came with the call.
func (e *Example) before(m *spec.Machine) string {
	text := "no record"
	if e.From != nil {
		text = e.record(m, e.Before)
	}
	var call []string
	for _, in := range e.Op.Inputs {
		if e.relevant[in] {
			call = append(call, "input."+in.Name+"="+show(e.Inputs[in], true))
		}
	}
	if e.actor && e.Op.By != spec.BySystem {
		call = append(call, "actor="+quoted(e.Actor))
	}
	if len(call) > 0 {
		text += " with " + strings.Join(call, ", ")
	}
	if e.From != nil { // no search says that a record gets there
		text += " (by induction: " + e.From.Name + " allows it)"
	}
	return text
}

func (e *Example) record(m *spec.Machine, data map[*spec.Field]Datum) string {
	var parts []string
	for _, f := range m.Fields {
		parts = append(parts, f.Name+"="+show(data[f], e.texts[f]))
	}
	for _, f := range m.Builtin {
		if e.texts[f] {
			parts = append(parts, f.Name+"="+show(data[f], true))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// show renders a datum; a text or a time only when it matters.
func show(d Datum, matters bool) string {
	switch d.Kind {
	case spec.KindSet:
		return "[" + strings.Join(d.Members, ", ") + "]"
	case spec.KindString, spec.KindJSON, spec.KindTime:
		if d.Present && !matters {
			return "present"
		}
	}
	if !d.Present {
		return "absent"
	}
	switch d.Kind {
	case spec.KindString:
		return quoted(d.Text)
	case spec.KindJSON, spec.KindEnum:
		return d.Text
	case spec.KindBool:
		return fmt.Sprint(d.Num != 0)
	case spec.KindDuration:
		return spec.SpanText(d.Num)
	case spec.KindTime:
		switch apart := d.Time.Sub(noon); {
		case apart > 0:
			return "now+" + spec.SpanText(apart.Microseconds())
		case apart < 0:
			return "now-" + spec.SpanText(-apart.Microseconds())
		}
		return "now"
	}
	return fmt.Sprint(d.Num)
}

// quoted writes a text; of a long one its begin, and how long it is.
func quoted(text string) string {
	const most, begin = 24, 8
	if r := []rune(text); len(r) > most {
		return fmt.Sprintf("%q (%d characters)", string(r[:begin])+"...", len(r))
	}
	return fmt.Sprintf("%q", text)
}
