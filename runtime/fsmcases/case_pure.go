package fsmcases

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	fsm "github.com/fsmgen/fsmgen/runtime"
	"github.com/fsmgen/fsmgen/runtime/driver"
	"github.com/fsmgen/fsmgen/runtime/fsmimpl"
)

// words tests the texts of states and enums, and what the package says of itself.
func (p *Package[R]) words(t *testing.T) {
	for _, w := range p.Words {
		t.Run(w.Name, w.Test)
	}
	for name, err := range p.Errors {
		if named, ok := err.(interface{ ErrorName() string }); !ok || named.ErrorName() != name {
			t.Errorf("the error of %s has another name: %#v", name, err)
		}
	}
	var states, fields []string
	for _, e := range p.Ends {
		if e.Terminal {
			e.State += " (terminal)"
		}
		if e.Final {
			e.State += " (final)"
		}
		states = append(states, e.State)
	}
	for _, c := range p.Descriptor.Schema.Columns {
		text := c.Name
		if c.Stored != c.Name {
			text += " (" + c.Stored + ")"
		}
		fields = append(fields, text)
	}
	if got := strings.Join(states, ", "); got != p.States {
		t.Errorf("the states are %q, want %q", got, p.States)
	}
	if got := strings.Join(fields, ", "); got != p.Fields {
		t.Errorf("the fields are %q, want %q", got, p.Fields)
	}
	demands := map[driver.Demand]string{driver.Required: "required", driver.Optionally: "optional", driver.Never: "none"}
	schema := p.Descriptor.Schema
	demanded := func(version int, id, rev string) string {
		return fmt.Sprintf("version %d, request id %s, expected revision %s", version, id, rev)
	}
	got := demanded(schema.Version, demands[schema.RequestID], demands[schema.ExpectedRev])
	if want := demanded(p.Version, p.RequestID, p.ExpectedRev); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// turnedAway is the refusal of an operation that does not start in a state.
func (p *Package[R]) turnedAway(operation string, state End) string {
	leads := p.table(operation)
	var from []string
	for _, e := range p.Ends {
		if leads[e.State] != nil && !p.onlyRecords(operation, e.State) {
			from = append(from, e.State)
		}
	}
	code := fsm.ErrWrongState
	if state.Terminal {
		code = fsm.ErrTerminal
	}
	return fmt.Sprintf("refused %s (%s)", string(code), strings.Join(from, ", "))
}

// moves calls every operation in every state, and in none.
func (p *Package[R]) moves(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	possible := map[string][]string{}
	for _, o := range sortedKeys(p.Moves) {
		p.described(t, o)
		if p.creates(o) {
			p.made(t, o)
			continue
		}
		leads := p.table(o)
		c := &Case{}
		if i := slices.IndexFunc(p.Cases, func(c Case) bool { return c.Do == o }); i >= 0 {
			c = &p.Cases[i]
		}
		for _, e := range append(slices.Clone(p.Ends), End{}) {
			s := e.State
			var r R
			if s != "" {
				var err error
				if r, err = p.decoded(p.row(caseID, s, "")); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
			was := r
			can := p.Can(r, cmp.Or(p.Stored[o], o))
			_, err := p.Pure(&r, o, c.call(c.With))
			want := p.turnedAway(o, e)
			wrong := func(err error) bool { return refused(err) != want || p.aside(err, o, s, caseID) != "" }
			allowed := leads[s] != nil
			if allowed {
				possible[s] = append(possible[s], cmp.Or(p.Stored[o], o))
			}
			switch {
			case allowed && (can != nil || errors.Is(err, fsm.ErrWrongState) || errors.Is(err, fsm.ErrTerminal)):
				t.Errorf("%s in %s: Can says %v, and the call %v; want it allowed%s", o, s, can, err, p.where("operations", o))
			case !allowed && (wrong(can) || wrong(err)):
				t.Errorf("%s in %s: Can says %v, and the call %v; want %s%s", o, s, can, err, want, p.where("operations", o))
			case !allowed && !p.Equal(r, was):
				t.Errorf("%s in %s was refused, and changed the record", o, s)
			}
		}
	}
	for _, e := range p.Ends {
		r, err := p.decoded(p.row(caseID, e.State, ""))
		if err != nil {
			t.Fatalf("%s: %v", e.State, err)
		}
		want := slices.Sorted(slices.Values(possible[e.State]))
		if got := slices.Sorted(slices.Values(p.Possible(r))); !slices.Equal(got, want) {
			t.Errorf("in %s these are possible: %v, want %v", e.State, got, want)
		}
	}
	var none R
	if got := p.Possible(none); got != nil {
		t.Errorf("of a record without a state these are possible: %v", got)
	}
}

// made asks whether a record can be made once more.
func (p *Package[R]) made(t *report, operation string) {
	for _, e := range p.Ends {
		r, err := p.decoded(p.row(caseID, e.State, ""))
		if err != nil {
			t.Fatalf("%s: %v", e.State, err)
		}
		can, want := p.Can(r, cmp.Or(p.Stored[operation], operation)), p.turnedAway(operation, e)
		if refused(can) != want || p.aside(can, operation, e.State, caseID) != "" {
			t.Errorf("%s in %s: Can says %v, want %s", operation, e.State, can, want)
		}
	}
}

// creates reports whether an operation makes records.
func (p *Package[R]) creates(operation string) bool {
	return strings.HasPrefix(p.Moves[operation], "(new) -> ")
}

// table lists where an operation leads, by the state that it leads out of.
func (p *Package[R]) table(operation string) map[string][]string {
	table := map[string][]string{}
	for _, move := range list(p.Moves[operation]) {
		from, to, _ := strings.Cut(move, " -> ")
		table[from] = append(table[from], to)
	}
	return table
}

// onlyRecords reports whether a call in the state changes nothing.
func (p *Package[R]) onlyRecords(operation, state string) bool {
	return slices.Contains(p.table(operation)[state], "(recorded)")
}

// described compares what the package says of an operation to the engine, and to audits.
func (p *Package[R]) described(t *report, operation string) {
	i := slices.IndexFunc(p.Descriptor.Operations, func(o *fsmimpl.Operation[R]) bool { return o.Name == operation })
	if i < 0 {
		t.Errorf("the engine knows no operation %s", operation)
		return
	}
	o := p.Descriptor.Operations[i]
	var want, got []string
	for from, leads := range p.table(operation) {
		from = p.state(from)
		for _, to := range leads {
			if to != "(nothing)" {
				want = append(want, from+" -> "+p.state(to))
			}
		}
	}
	for _, m := range o.Moves {
		got = append(got, m.From+" -> "+m.To)
	}
	for _, from := range list(p.Records[operation]) {
		want = append(want, p.state(from)+" -> (recorded)")
	}
	for _, from := range o.Recorded {
		got = append(got, from+" -> (recorded)")
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("the engine knows the moves %q of %s, want %q", got, operation, want)
	}
	if stored := cmp.Or(p.Stored[operation], operation); o.Stored != stored {
		t.Errorf("the log has %q for %s, want %q", o.Stored, operation, stored)
	}
}

// pure makes the calls of the cases by the pure methods.
func (p *Package[R]) pure(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	for i := range p.Cases {
		c := &p.Cases[i]
		if c.Do == "" || c.By == BySweep || c.By == ByStartup || c.storesOnly() || !p.creates(c.Do) && c.In == "" {
			continue
		}
		if wrong := p.called(c); wrong != "" {
			t.Errorf("case %d: %s:\n\t%s%s", i, c, wrong, p.see(c, wrong))
		}
	}
}

// called makes the call of a case by the pure method; it says what is wrong.
func (p *Package[R]) called(c *Case) string {
	var r R
	before := driver.Row{ID: caseID}
	if c.In != "" {
		before = p.row(caseID, c.In, c.Given)
		var err error
		if r, err = p.Descriptor.Decode(before); err != nil {
			return fmt.Sprintf("Decode: %v", err)
		}
		if d := p.differ(before, p.Descriptor.Encode(&r)); d != "" {
			return "written again: " + d
		}
	}
	was, call := r, c.call(c.With)
	event, err := p.Pure(&r, c.Do, call)
	got := p.told(event, err)
	if got != c.Want {
		return fmt.Sprintf("%s\nwant\t%s", got, c.Want)
	}
	if err != nil {
		if d := p.aside(err, c.Do, c.In, caseID); d != "" {
			return got + ": " + d
		}
		if r := new(fsm.Refusal); errors.As(err, &r) && r.State != c.In {
			return fmt.Sprintf("%s: it says that the state was %q", got, r.State)
		}
		if !p.Equal(r, was) {
			return fmt.Sprintf("it was refused, and changed the record to %+v", r)
		}
		return ""
	}
	after := p.Descriptor.Encode(&r)
	if d := p.differ(p.rows(before, call.At, c.steps()[:1])[0], after); d != "" {
		return got + ": " + d
	}
	if same := c.In != "" && p.differ(before, after) == ""; p.Equal(r, was) != same || !p.Equal(r, r) {
		return fmt.Sprintf("Equal says that before and after are the same: %t", !same)
	}
	return ""
}

// limits makes calls with ids and actors that no call can have.
func (p *Package[R]) limits(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	long := strings.Repeat("a", driver.MaxID+1)
	seen := map[string]bool{}
	for i := range p.Cases {
		c := &p.Cases[i]
		call, what := c.call(c.With), ""
		switch {
		case p.creates(c.Do) && len(c.steps()) > 0:
			call.ID, what = long, "id"
		case c.Want == "refused "+string(fsm.ErrActorMissing):
			call.Actor, what = long, "actor"
		case c.Want == "refused "+string(fsm.ErrReasonMissing):
			call.Reason, what = "a\x00", "reason"
		}
		if what == "" || seen[c.Do+what] {
			continue
		}
		seen[c.Do+what] = true
		if _, err := p.instead(c, call); refused(err) != "refused invalid_input "+what || p.aside(err, c.Do, c.In, caseID) != "" {
			value := map[string]string{"id": call.ID, "actor": call.Actor, "reason": call.Reason}[what]
			t.Errorf("%s with the %s %.20q: %v %s", c, what, value, err, p.aside(err, c.Do, c.In, caseID))
		}
	}
	for i := range p.Cases {
		p.late(t, &p.Cases[i])
		p.unsound(t, &p.Cases[i])
	}
}

// instead makes another call of a case by the pure method.
func (p *Package[R]) instead(c *Case, call Call) (event any, err error) {
	var r R
	if c.In != "" {
		r, _ = p.Descriptor.Decode(p.row(caseID, c.In, c.Given))
	}
	return p.Pure(&r, c.Do, call)
}

// leaves returns what a field has after a call of a case; nil where the call is refused.
func (p *Package[R]) leaves(c *Case, call Call, field string) any {
	var r R
	if c.In != "" {
		r, _ = p.Descriptor.Decode(p.row(caseID, c.In, c.Given))
	}
	if _, err := p.Pure(&r, c.Do, call); err != nil {
		return nil
	}
	return normal(p.Descriptor.Encode(&r).Values[p.column(field)])
}

// late makes a call so late that an instant after it, which it sets, is in no calendar.
func (p *Package[R]) late(t *report, c *Case) {
	if len(c.steps()) == 0 || !p.creates(c.Do) && c.In == "" {
		return
	}
	for name, v := range object(c.After) {
		if !strings.HasPrefix(string(v), `"@now+`) || strings.Contains(c.With+c.Given+strconv.Quote(c.At), string(v)) {
			continue // an instant of the call or of the record, which stays what it is
		}
		if v.value(driver.KindTime) == p.Descriptor.Schema.Columns[p.column(name)].Default {
			continue // an instant of the specification
		}
		call := c.call(c.With)
		later := call
		later.At = call.At.Add(time.Second)
		if sum := p.leaves(c, later, name); sum != nil && sum == p.leaves(c, call, name) {
			continue // a sum of others
		}
		call.At = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
		event, err := p.instead(c, call)
		var r *fsm.Refusal
		switch {
		case err == nil && !reflect.ValueOf(event).FieldByName("Guard").IsZero(): // it is recorded for one, which comes first
		case err == nil:
			t.Errorf("%s in the last second of the calendar: it is not refused, though %s is after it", c, name)
		case errors.As(err, &r) && (r.Code == fsm.ErrGuard || r.Code == fsm.ErrInvariant): // which come first
		case errors.As(err, &r):
			// A length such as now - began may be too long before.
			wrong, set := p.aside(err, c.Do, c.In, caseID), string(object(c.After)[r.Name])
			length := slices.ContainsFunc(p.Descriptor.Schema.Columns, func(x driver.Column) bool {
				return x.Name == r.Name && x.Kind == driver.KindInt && p.leaves(c, later, r.Name) != p.leaves(c, c.call(c.With), r.Name)
			})
			if r.Code != fsm.ErrOverflow || wrong != "" || !strings.HasPrefix(set, `"@now+`) && !length {
				t.Errorf("%s in the last second of the calendar: %v %s", c, err, wrong)
			}
		}
	}
}

// unsound makes a call on records of its state that break a rule. Where that is why it is
// refused, the refusal says so.
func (p *Package[R]) unsound(t *report, c *Case) {
	if c.In == "" || len(c.steps()) == 0 {
		return
	}
	for _, check := range p.Checks {
		if check.In != c.In || check.Broken == "" {
			continue
		}
		row := p.row(caseID, c.In, c.Given)
		p.put(&row, check.But)
		r, err := p.Descriptor.Decode(row)
		if err != nil {
			continue // checks says so
		}
		_, err = p.Pure(&r, c.Do, c.call(c.With))
		var x *fsm.Refusal
		if errors.As(err, &x) && x.Code == fsm.ErrInvariant && (x.Name == "" || p.aside(err, c.Do, c.In, caseID) != "") {
			t.Errorf("%s, but %s: %v %s", c, check.But, err, p.aside(err, c.Do, c.In, caseID))
		}
	}
}

// storesOnly reports whether the answer follows from what a store has besides.
func (c *Case) storesOnly() bool {
	refusedFor := func(code fsm.Code) bool { return strings.HasPrefix(c.Want, "refused "+string(code)) }
	return c.Want == "existing" || len(c.Then) > 0 && len(c.steps()) == 0 || refusedFor(fsm.ErrNotUnique) || refusedFor(fsm.ErrExists)
}

// told tells what came of a pure call in one line.
func (p *Package[R]) told(event any, err error) string {
	if err != nil {
		return refused(err)
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

// checks looks at records that break rules, and at some that do not.
func (p *Package[R]) checks(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	first := map[string]driver.Row{}
	for _, c := range p.Checks {
		row, there := first[c.In]
		if !there {
			row = p.row(caseID, c.In, c.Given)
			first[c.In] = row
		}
		p.put(&row, c.But)
		r, err := p.Descriptor.Decode(row)
		if err != nil {
			t.Errorf("in %s, but %s: Decode: %v", c.In, c.But, err)
			continue
		}
		for name, found := range map[string][]fsm.Violation{"Check": p.Check(r), "Descriptor.Check": p.Descriptor.Check(&r)} {
			if got := broken(found, c.Broken); got != c.Broken {
				t.Errorf("in %s, but %s: %s says %q, want %q%s", c.In, c.But, name, got, c.Broken, p.where("states", c.In))
			}
		}
	}
	var none R
	if got := broken(p.Check(none), "state"); got != "state" {
		t.Errorf("a record in no state breaks %q, want state", got)
	}
}

// steps looks at records before and after a step.
func (p *Package[R]) steps(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	for _, c := range p.Steps {
		row, next := p.row(caseID, c.In, c.Given), p.row(caseID, c.In, c.Given)
		p.put(&next, c.But)
		before, err := p.Descriptor.Decode(row)
		after, failed := p.Descriptor.Decode(next)
		if err != nil || failed != nil {
			t.Errorf("%s and then %s: Decode: %v, %v", c.Given, c.But, err, failed)
			continue
		}
		if got := p.Descriptor.Moved(&before, &after); got != c.Broken {
			t.Errorf("%s and then %s breaks %q, want %q", c.Given, c.But, got, c.Broken)
		}
	}
}

// broken writes the rules that were found broken. What the type of a field asks for is
// its name alone where the case has it so.
func broken(found []fsm.Violation, want string) string {
	var rules []string
	wanted := strings.Split(want, "; ")
	for _, v := range found {
		rule := v.Rule
		if !v.Must {
			rule = "should: " + rule
		}
		if name, _, _ := strings.Cut(rule, " "); !slices.Contains(wanted, rule) && slices.Contains(wanted, name) {
			rule = name
		}
		rules = append(rules, rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, "; ")
}

// groups looks at what the projection makes of groups of records.
func (p *Package[R]) groups(test *testing.T) {
	t := &report{T: test}
	defer t.done()
	for i, g := range p.Groups {
		var records []R
		counts := map[string]int64{}
		for j, text := range g.Records {
			state, given, _ := strings.Cut(text, " ")
			row := p.row(fmt.Sprint("r-", j), state, given)
			r, err := p.decoded(row)
			if err != nil {
				t.Fatalf("group %d: %s: %v", i, text, err)
			}
			records = append(records, r)
			counts[row.State]++
		}
		got := p.Project(records)
		if got.State != g.State {
			t.Errorf("group %d: %q is projected to %q, want %q", i, g.Records, got.State, g.State)
		}
		if audited := p.Descriptor.Projection.State(counts); audited != g.State {
			t.Errorf("group %d: the audit takes %q for %q, want %q", i, g.Records, audited, g.State)
		}
		for name, v := range object(g.Fields) {
			is, there := got.Fields[name]
			if !there {
				is = got.Key[name]
			}
			if want := v.plain(); want != normal(is) {
				t.Errorf("group %d: %q has %s %s, want %s", i, g.Records, name, show(is), show(want))
			}
		}
	}
	p.derived(t)
}

// derived compares what is said of a projection besides.
func (p *Package[R]) derived(t *report) {
	if p.Derived.Entity == "" {
		return
	}
	d := p.Descriptor.Projection
	if key := strings.Join(d.Key, ", "); d.Entity != p.Derived.Entity || key != p.Derived.Key {
		t.Errorf("the audit knows %s by %s, want %s by %s", d.Entity, key, p.Derived.Entity, p.Derived.Key)
	}
	var known, led []string
	for _, m := range d.Moves {
		known = append(known, m.From+" -> "+m.To)
	}
	states := list(p.Derived.States)
	for _, from := range states {
		for _, to := range states {
			if p.Leads != nil && p.Leads(from, to) {
				led = append(led, from+" -> "+to)
			}
		}
	}
	want := list(p.Derived.Moves)
	for _, moves := range [][]string{want, known, led} {
		slices.Sort(moves)
	}
	if !slices.Equal(known, want) || p.Leads != nil && !slices.Equal(led, want) {
		t.Errorf("the audit allows the moves %q and Leads says %q, want %q", known, led, want)
	}
}
