package purekit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// testCase is one call and what must come of it. Records, inputs and changes are JSON
// objects; a time is "@now", "@now+1h" or "@now-1µs".
type testCase struct {
	In     string           // the state of the record; empty: there is none yet
	Given  string           // what the record holds besides
	Do     string           // the operation
	With   string           // its inputs
	By     string           // the actor; empty: ann; "-": nobody
	Why    string           // the reason; empty: "asked"; "-": none
	At     string           // the time; empty: "@now"
	Others map[string]int64 // by guard: how many others it is told of; by sequence: the next number

	Want  string // the event, or the refusal
	After string // what it changes
	Asks  string // the effects that the event lists, with commas between
}

// testCheck is a record, and the rules that it breaks: those with "should: " only should
// hold. With But it is the first one in its state but for that.
type testCheck struct{ In, Given, But, Broken string }

// testedPackage is the package as its tests reach it.
type testedPackage[R any] struct {
	Spec, Machine string // the file of the specification, as seen from the package; may be empty
	// Moves says where each operation leads: "open -> shut", for a creation "(new) -> open". In
	// "done -> (recorded)" a call changes nothing; in "lost -> (nothing)" the operation decides so.
	States   string
	Moves    map[string]string
	Stored   map[string]string // by operation: the value of its constant, where that is another one
	Cases    []testCase
	Checks   []testCheck
	Steps    []testCheck // a record, what a step changes of it, and the rule over a step that this breaks
	Ends     []testEnd
	Errors   map[string]error // by their names in the specification
	Words    []testVocabulary
	Check    func(R) []Violation
	Moved    func(before, after R) string // nil without rules over a step
	Equal    func(a, b R) bool
	Can      func(r R, operation string) error
	Possible func(R) []string
	Pure     func(r *R, operation string, c testCall) (event any, err error)

	Perform func(event any, r R) (performed []string) // nil: the machine has no effects

	// Do calls an operation by its name, with inputs that Sent has of the call. They are nil where
	// nothing can be called so, and where no operation has an input.
	Do    func(r *R, operation string, c testCall, inputs map[string]any) (event any, err error)
	Sent  func(operation string, c testCall) map[string]any
	Timed string // operations that need a time, with commas between
}

// Run runs all tests. It stops behind the first kind of test that fails: one fault has many faces.
func (p *testedPackage[R]) Run(t *testing.T) {
	for _, kind := range []struct {
		name string
		test func(*testing.T)
	}{{"words", p.words}, {"moves", p.moves}, {"cases", p.cases}, {"actors", p.actors}, {"checks", p.checks}, {"steps", p.steps}} {
		if !t.Run(kind.name, kind.test) {
			return
		}
	}
}

// words tests the texts of states and enums, and what the states say of themselves.
func (p *testedPackage[R]) words(t *testing.T) {
	for _, w := range p.Words {
		t.Run(w.Name, w.Test)
	}
	for name, err := range p.Errors {
		if named, ok := err.(interface{ ErrorName() string }); !ok || named.ErrorName() != name {
			t.Errorf("the error of %s has another name: %#v", name, err)
		}
	}
	var states []string
	for _, e := range p.Ends {
		states = append(states, e.State+e.how)
	}
	if got := strings.Join(states, ", "); got != p.States {
		t.Errorf("the states are %s, want %s", got, p.States)
	}
}

// moves calls every operation in every state, and in none.
func (p *testedPackage[R]) moves(t *testing.T) {
	var none R
	records := map[string]R{"": none}
	for _, e := range p.Ends {
		records[e.State] = p.record(t, e.State)
	}
	possible := map[string][]string{}
	for _, operation := range slices.Sorted(maps.Keys(p.Moves)) {
		if strings.HasPrefix(p.Moves[operation], "(new) -> ") {
			continue
		}
		leads := map[string]bool{}
		for _, move := range strings.Split(p.Moves[operation], ", ") {
			from, to, _ := strings.Cut(move, " -> ")
			leads[from] = leads[from] || to != "(recorded)"
		}
		var from []string
		for _, e := range p.Ends {
			if leads[e.State] {
				from = append(from, e.State)
			}
		}
		call := testCallOf(&testCase{})
		if i := slices.IndexFunc(p.Cases, func(c testCase) bool { return c.Do == operation }); i >= 0 {
			call = testCallOf(&p.Cases[i])
		}
		for _, e := range append(p.Ends, testEnd{}) {
			r := records[e.State]
			can := p.Can(r, cmp.Or(p.Stored[operation], operation))
			_, err := p.Pure(&r, operation, call)
			want := &Refusal{Code: ErrWrongState, Machine: p.Machine, Operation: operation, State: e.State, Allowed: strings.Join(from, ", ")}
			if strings.HasSuffix(e.how, "(terminal)") {
				want.Code = ErrTerminal
			}
			refuses := func(err error) bool {
				var r *Refusal
				return errors.As(err, &r) && *r == *want
			}
			_, allowed := leads[e.State]
			if allowed {
				possible[e.State] = append(possible[e.State], cmp.Or(p.Stored[operation], operation))
			}
			switch {
			case allowed && can != nil:
				t.Errorf("%s in %s: Can says %v%s", operation, e.State, can, p.see("operations", operation))
			case allowed && (errors.Is(err, ErrWrongState) || errors.Is(err, ErrTerminal)):
				t.Errorf("%s in %s: %v%s", operation, e.State, err, p.see("operations", operation))
			case !allowed && (!refuses(can) || !refuses(err)):
				t.Errorf("%s in %s: %v, and Can says %v, want %v%s", operation, e.State, err, can, want, p.see("operations", operation))
			case !allowed && !p.Equal(r, records[e.State]):
				t.Errorf("%s in %s was refused, and changed the record", operation, e.State)
			}
		}
	}
	for state, r := range records {
		slices.Sort(possible[state])
		if got := slices.Sorted(slices.Values(p.Possible(r))); !slices.Equal(got, possible[state]) {
			t.Errorf("in %q these are possible: %v, want %v", state, got, possible[state])
		}
	}
}

// cases makes the calls of the cases.
func (p *testedPackage[R]) cases(t *testing.T) {
	for i := range p.Cases {
		c := &p.Cases[i]
		var r, want R
		if c.In != "" {
			r = p.record(t, c.In, c.Given)
			want = r
		}
		was, call := r, testCallOf(c)
		event, err := p.Pure(&r, c.Do, call)
		got := p.told(event, err, c)
		if c.In != "" {
			p.byName(t, c, was, r, got)
		}
		if got != c.Want {
			t.Errorf("case %d: %+v:\n\t%s\nwant\t%s%s", i, *c, got, c.Want, p.see("operations", c.Do))
			continue
		}
		_, to, moved := strings.Cut(c.Want, " -> ")
		if moved = moved && err == nil && !strings.HasPrefix(to, "(recorded)"); moved {
			given := testObject(c.Given)
			at := testJSON(call.At)
			if c.In == "" {
				given["created_at"] = at
			}
			var updated time.Time
			if json.Unmarshal(given["updated_at"], &updated) != nil {
				updated = testNow.Add(-time.Hour)
			}
			if c.In == "" || call.At.After(updated) {
				given["updated_at"] = at
			}
			maps.Copy(given, testObject(c.After))
			want = p.recordOf(t, to, given)
		}
		if p.Perform != nil && err == nil {
			listed := strings.Join(event.(interface{ Effects() []string }).Effects(), ", ")
			if did := strings.Join(p.Perform(event, r), ", "); listed != c.Asks || did != c.Asks {
				t.Errorf("case %d: %+v:\n\tthe event lists the effects %q, and performs %q, want %q%s", i, *c, listed, did, c.Asks,
					p.see("operations", c.Do))
			}
		}
		if !p.Equal(r, want) || testText(r) != testText(want) {
			t.Errorf("case %d: %+v:\n\t%s, then %+v\nwant\t%+v%s", i, *c, got, r, want, p.see("operations", c.Do))
		}
		p.same(t, r, was)
	}
}

// same compares what Equal says of two records with what their JSON says.
func (p *testedPackage[R]) same(t *testing.T, a, b R) {
	t.Helper()
	if same := testText(a) == testText(b); p.Equal(a, b) != same {
		t.Errorf("%+v and %+v: Equal says that they are the same: %t", a, b, !same)
	}
}

// actors makes calls with an actor that no call can have.
func (p *testedPackage[R]) actors(t *testing.T) {
	for i := range p.Cases {
		c := &p.Cases[i]
		if c.Want != "refused actor_missing" {
			continue
		}
		var r R
		if c.In != "" {
			r = p.record(t, c.In, c.Given)
		}
		call := testCallOf(c)
		call.Actor = strings.Repeat("a", 256)
		if _, err := p.Pure(&r, c.Do, call); p.told(nil, err, c) != "refused invalid_input actor" {
			t.Errorf("%s by an actor of 256 bytes: %v", c.Do, err)
		}
	}
}

// checks looks at records that break rules, and at some that do not.
func (p *testedPackage[R]) checks(t *testing.T) {
	first := map[string]string{}
	for _, c := range p.Checks {
		if _, there := first[c.In]; !there {
			first[c.In] = c.Given
		}
		r := p.record(t, c.In, first[c.In], c.But)
		if got := testBroken(p.Check(r), c.Broken); got != c.Broken {
			t.Errorf("in %s, but %s: %q, want %q%s", c.In, c.But, got, c.Broken, p.see("states", c.In))
		}
		var back R
		if err := json.Unmarshal([]byte(testText(r)), &back); err != nil || !p.Equal(back, r) {
			t.Errorf("%s is read as %+v (%v)", testText(r), back, err)
		}
		p.same(t, r, p.record(t, c.In, first[c.In]))
	}
	var none R
	if got := testBroken(p.Check(none), "state"); got != "state" {
		t.Errorf("a record in no state breaks %q, want state", got)
	}
}

// steps looks at records before and after a step.
func (p *testedPackage[R]) steps(t *testing.T) {
	for _, c := range p.Steps {
		if got := p.Moved(p.record(t, c.In, c.Given), p.record(t, c.In, c.Given, c.But)); got != c.Broken {
			t.Errorf("%s and then %s breaks %q, want %q", c.Given, c.But, got, c.Broken)
		}
	}
}

// testBroken writes the rules that were found broken. What the type of a field asks for
// is its name alone.
func testBroken(found []Violation, want string) string {
	var rules []string
	for _, v := range found {
		rule := v.Rule
		if !v.Must {
			rule = "should: " + rule
		}
		name, _, _ := strings.Cut(rule, " ")
		if wanted := strings.Split(want, "; "); !slices.Contains(wanted, rule) && slices.Contains(wanted, name) {
			rule = name
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, "; ")
}

// told tells what came of a call in one line.
func (p *testedPackage[R]) told(event any, err error, c *testCase) string {
	if err != nil {
		return p.refused(err, c)
	}
	v := reflect.ValueOf(event)
	from, to := "(new)", fmt.Sprint(v.FieldByName("To").Interface())
	if f := v.FieldByName("From"); !f.IsZero() {
		from = fmt.Sprint(f.Interface())
	}
	if v.FieldByName("RecordOnly").Bool() {
		if to != from {
			return fmt.Sprintf("recorded only, and moved from %s to %s", from, to)
		}
		to = "(recorded)"
	}
	if guard := v.FieldByName("Guard").String(); guard != "" {
		to += " for " + guard
	}
	return v.FieldByName("Name").String() + ": " + from + " -> " + to
}

// refused tells a refusal in one line.
func (p *testedPackage[R]) refused(err error, c *testCase) string {
	var r *Refusal
	if !errors.As(err, &r) {
		return fmt.Sprintf("%T: %v", err, err)
	}
	if r.Machine != p.Machine || r.Operation != c.Do || r.State != c.In {
		return fmt.Sprintf("the refusal is of operation %q of machine %q in state %q", r.Operation, r.Machine, r.State)
	}
	text := "refused " + string(r.Code)
	switch r.Code {
	case ErrGuard:
		text += fmt.Sprintf(" %s (%s)", r.Guard, r.ErrorName())
		if r.Message != "" {
			text += ": " + r.Message
		}
		if !errors.Is(err, p.Errors[r.ErrorName()]) {
			text += ", which is not the package's own error"
		}
	case ErrInvalidInput, ErrOverflow:
		text += " " + r.Name
		if r.Code == ErrInvalidInput && r.Message == "" {
			text += ", and does not say what is wrong"
		}
	case ErrWrongState, ErrTerminal:
		text += " (" + r.Allowed + ")"
	}
	return text
}

// record makes a record of a state and of what texts say of it.
func (p *testedPackage[R]) record(t *testing.T, state string, given ...string) R {
	t.Helper()
	fields := map[string]json.RawMessage{}
	for _, text := range given {
		maps.Copy(fields, testObject(text))
	}
	return p.recordOf(t, state, fields)
}

// recordOf makes a record, which was created an hour before the call, of its members in JSON.
func (p *testedPackage[R]) recordOf(t *testing.T, state string, fields map[string]json.RawMessage) R {
	t.Helper()
	for _, name := range []string{"created_at", "updated_at"} {
		if fields[name] == nil {
			fields[name] = testJSON(testNow.Add(-time.Hour))
		}
	}
	for _, e := range p.Ends {
		if e.State == state {
			fields["state"] = testJSON(e.word)
		}
	}
	var r R
	if err := json.Unmarshal(testJSON(fields), &r); err != nil {
		t.Fatalf("%s %s: %v", state, testText(fields), err)
	}
	return r
}

// testEnd says how a state ends a record.
type testEnd struct{ State, how, word string }

// testEnds returns what the states of a package say of themselves.
func testEnds[S interface {
	fmt.Stringer
	Terminal() bool
	MarshalText() ([]byte, error)
}](states []S) []testEnd {
	var list []testEnd
	for _, s := range states {
		word, _ := s.MarshalText()
		e := testEnd{State: s.String(), word: string(word)}
		if final, ok := any(s).(interface{ Final() bool }); ok && final.Final() {
			e.how = " (final)"
		}
		if s.Terminal() {
			e.how = " (terminal)"
		}
		list = append(list, e)
	}
	return list
}

// testCall is a call as the package is told of it.
type testCall struct {
	Actor, Reason string
	At            time.Time
	Inputs        map[string]json.RawMessage
	Peers         map[string]int64
}

// testNow is the time of a call.
var testNow = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func testCallOf(c *testCase) testCall {
	or := func(text, otherwise string) string { return strings.TrimPrefix(cmp.Or(text, otherwise), "-") }
	call := testCall{Actor: or(c.By, "ann"), Reason: or(c.Why, "asked"), At: testNow, Inputs: testObject(c.With), Peers: c.Others}
	if c.At != "" {
		call.At = testTime(c.At)
	}
	return call
}

// Now returns the time of the call as a caller's clock gives it.
func (c testCall) Now() time.Time { return testSent(c.At) }

// testSent is an instant as a caller has it: in some zone, and finer than what records keep.
func testSent(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(321 * time.Nanosecond).In(time.FixedZone("elsewhere", -5*3600))
}

// testInput returns an input: the zero value where the call does not send it.
func testInput[T any](c testCall, name string) T {
	var v T
	if text, sent := c.Inputs[name]; sent && json.Unmarshal(text, &v) != nil {
		var none T
		return none // no word of an enum
	}
	if at, ok := any(&v).(*time.Time); ok {
		*at = testSent(*at)
	}
	if length, ok := any(&v).(*time.Duration); ok { // microseconds, and a part of one
		const dust = 321 * time.Nanosecond
		if *length *= time.Microsecond; *length < 0 {
			*length -= dust
		} else {
			*length += dust
		}
	}
	return v
}

// testOptional returns an input that may be absent.
func testOptional[T any](c testCall, name string) Optional[T] {
	if _, sent := c.Inputs[name]; !sent {
		return Optional[T]{}
	}
	return Optional[T]{value: testInput[T](c, name), ok: true}
}

// testObject reads the members of an object, with times as JSON has them.
func testObject(text string) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	if text == "" {
		return members
	}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		panic(fmt.Sprintf("%s in a case: %v", text, err))
	}
	for name, v := range members {
		var s string
		if json.Unmarshal(v, &s) != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(s, "@@"); ok {
			members[name] = testJSON("@" + rest)
		} else if strings.HasPrefix(s, "@") {
			members[name] = testJSON(testTime(s))
		}
	}
	return members
}

// testTime reads "@now", "@now+1h" and "@now-1µs"; "@zero" is the zero time.
func testTime(text string) time.Time {
	if text == "@zero" {
		return time.Time{}
	}
	from, ok := strings.CutPrefix(text, "@now")
	if !ok {
		at, err := time.Parse(time.RFC3339Nano, text[1:])
		if err != nil {
			panic(err)
		}
		return at
	}
	d, err := time.ParseDuration(cmp.Or(from, "0s"))
	if err != nil {
		panic(err)
	}
	return testNow.Add(d)
}

func testJSON(v any) json.RawMessage { return json.RawMessage(testText(v)) }

func testText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// testVocabulary is a type of words, or a group of states, ready to be tested.
type testVocabulary struct {
	Name string
	Test func(*testing.T)
}

// testInGroup describes the method that asks whether a state is in a group of the
// specification. The names of the states in it are separated by commas.
func testInGroup[T fmt.Stringer](name string, in func(T) bool, states []T, names string) testVocabulary {
	return testVocabulary{name, func(t *testing.T) {
		group := testNames(names)
		for _, s := range states {
			if want := slices.Contains(group, s.String()); in(s) != want {
				t.Errorf("%s of %s is %t, want %t", name, s, in(s), want)
			}
		}
	}}
}

// testWords describes a type of words: its values in order, their names, and the words
// of JSON; none of these: the names. A word may stand in single quotes. Each of gone is an old word and the name that it is read as.
func testWords[T interface {
	~uint8 | ~uint16
	Valid() bool
	fmt.Stringer
	MarshalText() ([]byte, error)
}, P interface {
	*T
	UnmarshalText(text []byte) error
}](name string, values []T, names, stored string, gone ...string) testVocabulary {
	return testVocabulary{name, func(t *testing.T) {
		want, words := testNames(names), testNames(cmp.Or(stored, names))
		if len(values) != len(want) {
			t.Fatalf("%d values, want %d: %s", len(values), len(want), names)
		}
		reads := func(text, want string) {
			var v T
			if err := P(&v).UnmarshalText([]byte(text)); (err == nil) != (want != "") || err == nil && v.String() != want {
				t.Errorf("%q is read as %v (%v), want %q", text, v, err, want)
			}
		}
		for i, v := range values {
			if text, err := v.MarshalText(); v.String() != want[i] || string(text) != words[i] || err != nil || !v.Valid() {
				t.Errorf("value %d is %q, and written %q (%v), want %q and %q", i, v, text, err, want[i], words[i])
			}
			reads(words[i], want[i])
		}
		for _, word := range gone {
			old, now, _ := strings.Cut(word, ": ")
			reads(old, now)
		}
		for _, none := range []T{0, T(len(values) + 1), ^T(0)} {
			want := fmt.Sprintf("%s(%d)", name, uint16(none))
			if text, err := none.MarshalText(); none.Valid() || none.String() != want || err == nil {
				t.Errorf("%s is valid, is %q, or is written %q", want, none, text)
			}
		}
		for _, text := range []string{"", "no\tword", words[0] + "?", words[0] + " "} {
			reads(text, "")
		}
	}}
}

// testNames reads names separated by commas, which may stand in single quotes.
func testNames(text string) []string {
	var names []string
	for text = strings.TrimLeft(text, ", "); text != ""; text = strings.TrimLeft(text, ", ") {
		if !strings.HasPrefix(text, "'") {
			name, rest, _ := strings.Cut(text, ",")
			names, text = append(names, name), rest
			continue
		}
		end := 1 + strings.Index(strings.ReplaceAll(text[1:], "''", "--"), "'")
		names, text = append(names, strings.ReplaceAll(text[1:end], "''", "'")), text[end+1:]
	}
	return names
}

// see names the line on which the specification begins to speak of something; nothing
// where the specification does not lie beside the package.
func (p *testedPackage[R]) see(section, name string) string {
	text, err := os.ReadFile(filepath.FromSlash(p.Spec))
	if err != nil {
		return ""
	}
	key := regexp.MustCompile(`(^|[\s{,])["']?` + regexp.QuoteMeta(name) + `["']?\s*:`)
	in := false
	for i, line := range strings.Split(string(text), "\n") {
		if line != "" && !strings.ContainsAny(line[:1], " #}") {
			in = strings.HasPrefix(line, section+":")
		}
		if in && key.MatchString(line) {
			return fmt.Sprintf("\n\tsee %s:%d (%s)", p.Spec, i+1, name)
		}
	}
	return ""
}
